//! Cells as FORMAT.md draws them, what a target is told, and what is refused.

use tablemodel::{
    Consistency, ErrorKind, RowKey, Value,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use super::{Employee, MODES, Model, Team, assert_exact, contractor, database, employee, rows_in, settle, team, teams};

async fn cell(db: &TestDatabase, row: &str) -> Option<Vec<(String, Value)>> {
    let row = db.store().get("Company", &RowKey::new("A", row)).await.unwrap()?;
    let named = row.properties.iter().filter(|(name, _)| name.as_str() != "_seq");
    Some(named.map(|(name, value)| (name.as_str().to_owned(), value.to_value())).collect())
}

#[tokio::test]
async fn the_rows_are_those_that_the_format_page_draws() {
    let db = database(Consistency::Azure).await;
    db.insert(&employee(1, 3)).await.unwrap();
    let named =
        |pairs: Vec<(&str, Value)>| Some(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    let members =
        vec![("EntityType", Value::from("Team.~Members@1")), ("_count", Value::Int64(1)), ("_value", Value::Int64(1))];
    assert_eq!(cell(&db, "~~agg|team_03|Members").await, named(members));
    let hours = cell(&db, "~~agg|team_03|Hours").await.unwrap();
    let exact = hours.iter().find(|(name, _)| name == "_exact").map(|(_, value)| value.clone());
    // 0.1 is 0x1999999999999A * 2^-56, and 2^-56 is bit 1074 - 56 = 1018 of 2,176: 31 limbs of 32 bits and 26 bits on.
    let mut bytes = vec![0; 272];
    let mantissa = 0x0019_9999_9999_999A_u128 << 26;
    bytes[31 * 4..31 * 4 + 16].copy_from_slice(&mantissa.to_le_bytes());
    assert_eq!(exact, Some(Value::Binary(bytes)));
}

#[tokio::test]
async fn the_value_is_that_of_the_sources_whether_the_target_was_there_or_not() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&employee(1, 1)).await.unwrap();
        db.insert(&Employee { active: false, ..employee(2, 1) }).await.unwrap();
        assert_exact(&db, "no team").await;
        let path = || Team::find().company("A").number(1);
        assert_eq!(db.total(path(), Team::PAYROLL).await.unwrap(), 200, "there is no team");
        assert_eq!(db.total(path(), Team::HOURS).await.unwrap(), 0.2);
        assert_eq!(db.total(Team::find().company("B").number(1), Team::MEMBERS).await.unwrap(), 0);
        let stored = db.insert(&team(1)).await.unwrap();
        assert_eq!((stored.members, stored.payroll, stored.contractors), (1, 200, 0));
        db.insert(&contractor(1, 1)).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "a team").await;

        // Overwritten with other values: they are not asked.
        let mut stored = Team::find().company("A").number(1).one(&db).await.unwrap().unwrap();
        (stored.members, stored.payroll, stored.budget) = (99, 99, 5);
        db.save(&mut stored).await.unwrap();
        assert_eq!((stored.members, stored.payroll, stored.budget), (1, 200, 5));
        let upserted = db.upsert(&Team { budget: 6, ..team(1) }).await.unwrap();
        assert_eq!((upserted.members, upserted.budget), (1, 6));
        db.patch(Team::find().company("A").number(1), Team::BUDGET.set(7)).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "overwritten").await;

        // Gone, changed meanwhile, and there again.
        let stored = Team::find().company("A").number(1).one(&db).await.unwrap().unwrap();
        db.delete(stored).await.unwrap();
        db.insert(&employee(3, 1)).await.unwrap();
        assert_exact(&db, "deleted").await;
        assert_eq!(db.insert(&team(1)).await.unwrap().members, 2);
        settle(&db).await;
        assert_exact(&db, "there again").await;
    }
}

#[tokio::test]
async fn a_source_that_moves_is_taken_from_one_target_and_added_to_another() {
    for mode in MODES {
        let db = database(mode).await;
        for number in [1, 2] {
            db.insert(&team(number)).await.unwrap();
        }
        let mut jo = db.insert(&employee(1, 1)).await.unwrap();
        (jo.team, jo.salary, jo.hours) = (2, 300, None);
        db.save(&mut jo).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "another team").await;
        jo.id = 9;
        db.save(&mut jo).await.unwrap();
        let mut second = Team::find().company("A").number(2).one(&db).await.unwrap().unwrap();
        second.number = 5; // the target moves, and its sources do not follow
        db.save(&mut second).await.unwrap();
        assert_eq!((second.members, second.payroll), (0, 0));
        settle(&db).await;
        assert_exact(&db, "the target moved").await;
        db.delete(jo).await.unwrap();
        for stored in Team::find().company("A").all(&db).await.unwrap() {
            db.delete(stored).await.unwrap();
        }
        settle(&db).await;
        assert_exact(&db, "nothing left").await;
        assert!(!rows_in(&db, "Company").await.keys().any(|(_, row)| row.starts_with("~~agg|")));
    }
}

#[tokio::test]
async fn sources_and_targets_of_one_batch_meet_in_one_write_of_each_row() {
    for mode in MODES {
        let db = database(mode).await;
        let mut one = db.insert(&team(1)).await.unwrap();
        let gone = db.insert(&employee(1, 1)).await.unwrap();
        assert_eq!(db.save(&mut one).await.unwrap_err().operation(), None); // it counts another member by now
        let mut one = Team::find().company("A").number(1).one(&db).await.unwrap().unwrap();
        one.budget = 3;
        let mut batch = db.batch(Team::in_partition("A"));
        batch.insert(&employee(2, 1)).insert(&employee(3, 2)).save(&mut one).insert(&contractor(1, 1));
        batch.delete(gone).insert(&team(2)).insert(&contractor(2, 2)).upsert(&employee(2, 2));
        batch.commit().await.unwrap();
        settle(&db).await;
        assert_exact(&db, "one batch").await;
        // What the batch refreshed is current: it can be saved.
        assert_eq!((one.members, one.contractors, one.budget), (0, 1, 3));
        one.budget = 4;
        db.save(&mut one).await.unwrap();
        let mut batch = db.batch(Team::in_partition("A"));
        batch.delete(one).insert(&employee(7, 1));
        batch.commit().await.unwrap();
        settle(&db).await;
        assert_exact(&db, "the target goes as a source comes").await;
    }
}

#[tokio::test]
async fn a_target_that_a_caller_read_before_is_a_conflict_also_beside_a_source() {
    let db = database(Consistency::Azure).await;
    let mut stale = db.insert(&team(1)).await.unwrap();
    db.insert(&employee(1, 1)).await.unwrap();
    stale.budget = 3;
    let mut batch = db.batch(Team::in_partition("A"));
    batch.insert(&employee(2, 1)).save(&mut stale);
    let error = batch.commit().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Conflict { current: Some(_) }), "{error:?}");
    assert_eq!(error.operation(), Some(1));
    settle(&db).await;
    assert_exact(&db, "nothing of the batch").await;
}

#[tokio::test]
async fn a_change_of_no_term_touches_no_cell() {
    let db = database(Consistency::Atomic).await;
    db.insert(&team(1)).await.unwrap();
    let mut jo = db.insert(&employee(1, 1)).await.unwrap();
    jo.name = "Jolanda".into();
    db.forget_calls();
    db.save(&mut jo).await.unwrap();
    assert_eq!(db.calls().len(), 1);
}

#[tokio::test]
async fn what_a_cell_cannot_hold_is_refused_before_anything_is_written() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&Employee { salary: i64::MAX, ..employee(1, 1) }).await.unwrap();
        let before = rows_in(&db, "Company").await;
        let refused = [
            (
                Employee { salary: 1, ..employee(2, 1) },
                ErrorKind::Overflow,
                "aggregate `payroll` of `Team` would be beyond its type (its row key: `team_01`)",
            ),
            (
                Employee { hours: Some(f64::NAN), ..employee(2, 1) },
                ErrorKind::Invalid,
                "field `hours` is summed, and is infinite or not a number",
            ),
            (Employee { hours: Some(f64::INFINITY), ..employee(2, 1) }, ErrorKind::Invalid, "field `hours` is summed"),
        ];
        for (wrong, kind, told) in refused {
            let error = db.insert(&wrong).await.unwrap_err();
            assert_eq!(error.kind(), &kind);
            assert!(error.to_string().contains(told), "{error}");
        }
        assert_eq!(rows_in(&db, "Company").await, before);
        // Beyond the type on the way, and back within one batch.
        let mut batch = db.batch(Team::in_partition("A"));
        batch
            .insert(&Employee { salary: i64::MAX, ..employee(3, 1) })
            .insert(&Employee { salary: -i64::MAX, ..employee(4, 1) });
        batch.commit().await.unwrap();
        assert_exact(&db, "back within its type").await;
    }
}

#[tokio::test]
async fn writers_who_meet_take_turns() {
    let db = database(Consistency::Atomic).await;
    db.insert(&team(1)).await.unwrap();
    let tasks = (1..=16).map(|id| {
        let db = db.clone();
        async move {
            loop {
                match db.insert(&employee(id, 1)).await {
                    Ok(_) => return,
                    Err(error) if error.is_retryable() => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    futures_util::future::join_all(tasks).await;
    assert_eq!(teams(&db).await[0].members, 16);
    assert_exact(&db, "16 writers").await;
}

#[tokio::test]
async fn a_cell_that_is_not_as_it_should_be_is_found_and_never_counted_on() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    let jo = db.insert(&employee(1, 1)).await.unwrap();
    assert_eq!(db.verify().await.unwrap().violations, []);
    let row = "~~agg|team_01|Members";
    let there = db.store().get("Company", &RowKey::new("A", row)).await.unwrap().unwrap();
    let mut wrong = there.properties.clone();
    wrong.insert("_value", 5_i64);
    let put = |properties| Batch::new("Company", "A").with(row, Action::InsertOrReplace(properties));
    db.store().commit(&[put(wrong)]).await.unwrap();
    let found: Vec<_> = db.verify().await.unwrap().violations.iter().map(ToString::to_string).collect();
    assert_eq!(found, [format!("Stale in Company at (A, {row}): the cell is not what its sources come to")]);

    let mut unreadable = there.properties.clone();
    unreadable.insert("_value", "x");
    db.store().commit(&[put(unreadable)]).await.unwrap();
    let error = db.insert(&employee(2, 1)).await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (&ErrorKind::Corrupt, Some(&RowKey::new("A", row))));

    let gone = Batch::new("Company", "A").with(row, Action::Delete(Condition::Exists));
    db.store().commit(&[gone]).await.unwrap();
    let error = db.delete(jo).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Corrupt);
    assert!(error.to_string().contains("counts fewer sources than it has"), "{error}");
}
