//! The first write of an older row stores it as new, with exactly the derived rows of the new version.

use futures_util::stream;
use tablemodel::{
    Consistency, ErrorKind, Result,
    prelude::*,
    store::{Action, Batch, Condition},
};

use super::{MODES, Programs, assert_clean, person, programs, row, settle, standing, text, v1, v3};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Save,
    Update,
    Patch,
    Upsert,
    Upgrade,
    Batch,
    Bulk,
    Delete,
    DeleteAll,
}

pub(super) const KINDS: [Kind; 9] = [
    Kind::Save,
    Kind::Update,
    Kind::Patch,
    Kind::Upsert,
    Kind::Upgrade,
    Kind::Batch,
    Kind::Bulk,
    Kind::Delete,
    Kind::DeleteAll,
];

/// The employee 1, by the program of version 3.
pub(super) async fn run(db: &Database, kind: Kind) -> Result<()> {
    let path = || v3::Employee::find().department("Sales").id(1);
    match kind {
        Kind::Save => match path().one(db).await? {
            Some(mut one) => {
                one.years = 31;
                db.save(&mut one).await
            }
            None => Ok(()),
        },
        Kind::Update => db.update(path(), |one| Ok(one.years = 31)).await.map(drop),
        Kind::Patch => db.patch(path(), v3::Employee::SKILLS.set(vec!["x".into(), "y".into()])).await,
        Kind::Upsert => db.upsert(&v3::Employee { years: 31, ..person(1).v3() }).await.map(drop),
        Kind::Upgrade => match path().one(db).await? {
            Some(mut one) => db.upgrade(&mut one).await.map(drop),
            None => Ok(()),
        },
        Kind::Batch => {
            let Some(mut one) = path().one(db).await? else { return Ok(()) };
            one.years = 31;
            let mut batch = db.batch(v3::Employee::in_partition("Sales"));
            batch.save(&mut one).upsert(&v3::Employee { years: 40, ..person(4).v3() });
            batch.commit().await
        }
        Kind::Bulk => {
            let all = stream::iter([v3::Employee { years: 31, ..person(1).v3() }]);
            db.bulk().upsert_all(all).await?.into_result().map(drop)
        }
        Kind::Delete => match path().one(db).await? {
            Some(one) => db.delete(one).await,
            None => Ok(()),
        },
        Kind::DeleteAll => v3::Employee::find().department("Sales").id_between(1..=1).delete_all(db).await.map(drop),
    }
}

pub(super) async fn prepared(mode: Consistency) -> Programs {
    let all = programs(mode).await;
    for id in 1..=2 {
        all.v1.insert(&person(id).v1()).await.unwrap();
    }
    settle(&all.v1).await;
    all
}

/// A property that no version knows, put there by another program.
async fn plant_unknown(all: &Programs) {
    let extra = [("Extra", 7_i32)].into_iter().collect();
    let batch = Batch::new("Company", "Sales").with("empid_000001", Action::Merge(extra, Condition::Exists));
    all.v1.store().commit(&[batch]).await.unwrap();
}

#[tokio::test]
async fn each_kind_of_write_stores_the_row_as_new_with_its_derived_rows() {
    for mode in MODES {
        for kind in KINDS {
            let told = format!("{mode:?} {kind:?}");
            let all = prepared(mode).await;
            plant_unknown(&all).await;
            let before = row(&all.v3, "empid_000001").await.unwrap();
            assert_clean(&all.v3, &format!("{told}: before")).await;
            run(&all.v3, kind).await.unwrap();
            settle(&all.v3).await;
            let now = row(&all.v3, "empid_000001").await;
            let gone = matches!(kind, Kind::Delete | Kind::DeleteAll);
            if let Some(now) = now.filter(|_| !gone) {
                assert_eq!(text(&now, "EntityType").as_deref(), Some("Employee@3"), "{told}");
                assert_eq!(
                    now.properties.get("Extra"),
                    before.properties.get("Extra"),
                    "{told}: what nobody knows stays"
                );
                let sequence = |row: &Row| match row.properties.get("_seq").map(|value| value.to_value()) {
                    Some(tablemodel::Value::Int64(sequence)) => sequence,
                    _ => panic!("no sequence"),
                };
                match kind {
                    // As it is: above all that it may have had.
                    Kind::Upgrade => assert!(sequence(&now) > sequence(&before), "{told}"),
                    _ => assert_eq!(sequence(&now), sequence(&before) + 1, "{told}"),
                }
                assert!(
                    ["Name", "City", "Age", "Note"].iter().all(|old| now.properties.get(old).is_none()),
                    "{told}: {now:?}"
                );
            }
            assert_clean(&all.v3, &told).await;
            let left: Vec<_> = standing(&all.v3).await;
            let of_old = |row: &&String| row.contains("000001") && !row.contains("@3") && !row.contains("ids_by_city");
            let old: Vec<_> = left.iter().filter(of_old).filter(|row| row.contains("Employee")).collect();
            assert_eq!(old, Vec::<&String>::new(), "{told}: rows of version 1 stay behind: {left:#?}");
        }
    }
}

/// Every row by name, once.
#[tokio::test]
async fn what_only_the_old_version_derived_goes_in_the_same_batch() {
    let all = prepared(Consistency::Atomic).await;
    run(&all.v3, Kind::Save).await.unwrap();
    let expected = [
        "Company Sales department: Department@1",
        "Company Sales email_E2@X: Employee.by_email@1",
        "Company Sales email_e1@x: Employee.by_email@3",
        "Company Sales empid_000001: Employee@3",
        "Company Sales empid_000002: Employee@1",
        "Company Sales city_Bonn: Employee.ids_by_city@2",
        "Company Sales last_L1_000001: Employee.by_last_name@3",
        "Company Sales name_F2 L2_000002: Employee.by_name@1",
        "Company Sales town_Bonn: Employee.ids_by_town@3",
        "Emails E2@X Sales_000002: Employee.anywhere@1",
        "Mails e1@x mail: Employee.by_mail@3",
    ];
    let found: Vec<_> = standing(&all.v3).await.into_iter().filter(|row| !row.contains("~~")).collect();
    let named = |row: &String| expected.iter().any(|wanted| wanted.replace("F2 L2", "F2$20L2") == *row);
    assert!(found.iter().all(named) && found.len() == expected.len(), "{found:#?}");
    let sales = v3::Department::find_sales(&all.v3).await;
    assert_eq!((sales.employees, sales.oldest), (2, Some(31)));
    assert_eq!(sales.manager, Some(v3::Card { email: "e1@x".into() }), "the copy follows what the upgrade made");
    assert_clean(&all.v3, "after").await;
}

impl v3::Department {
    pub(super) async fn find_sales(db: &Database) -> Self {
        Self::find().name("Sales").one(db).await.unwrap().unwrap().into_inner()
    }
}

#[tokio::test]
async fn a_save_of_what_another_changed_is_a_conflict_as_ever() {
    for mode in MODES {
        let all = prepared(mode).await;
        let path = || v3::Employee::find().department("Sales").id(1);
        let mut stale = path().one(&all.v3).await.unwrap().unwrap();
        let by_old = v1::Employee::find().department("Sales").id(1);
        all.v1.update(by_old, |one| Ok(one.age = 44)).await.unwrap();
        stale.years = 31;
        let error = all.v3.save(&mut stale).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Conflict { .. }), "{error}");
        let mut stale = stale.clone();
        assert!(matches!(all.v3.upgrade(&mut stale).await.unwrap_err().kind(), ErrorKind::Conflict { .. }));
        assert_eq!(path().one(&all.v3).await.unwrap().unwrap().years, 44);
        assert_clean(&all.v3, "after").await;
    }
}

#[tokio::test]
async fn a_value_that_becomes_unique_by_the_upgrade_is_refused() {
    for mode in MODES {
        let all = programs(mode).await;
        all.v1.insert(&person(1).v1()).await.unwrap();
        all.v1.insert(&v1::Employee { email: "e1@x".into(), ..person(2).v1() }).await.unwrap();
        run(&all.v3, Kind::Upgrade).await.unwrap_err();
        let mut two = v3::Employee::find().department("Sales").id(2).one(&all.v3).await.unwrap().unwrap();
        let error = all.v3.upgrade(&mut two).await;
        // Whoever is first has it; the other stays as it was, and is told.
        let first = error.is_ok();
        let again = run(&all.v3, Kind::Upgrade).await;
        assert!(!(first && again.is_ok()), "both have one value");
        settle(&all.v3).await;
        assert_clean(&all.v3, "after").await;
    }
}

/// A copy is of what its source is: also where a program of an older version wrote it from an older source.
#[tokio::test]
async fn an_older_program_and_a_newer_one_keep_one_aggregate() {
    for mode in MODES {
        let all = prepared(mode).await;
        all.v3.insert(&person(3).v3()).await.unwrap();
        all.v1.insert(&v1::Employee { age: 60, ..person(4).v1() }).await.unwrap();
        all.v2.insert(&person(5).v2()).await.unwrap();
        let sales = v3::Department::find_sales(&all.v3).await;
        assert_eq!((sales.employees, sales.oldest), (5, Some(60)));
        let four = v3::Employee::find().department("Sales").id(4).one(&all.v3).await.unwrap().unwrap();
        all.v3.delete(four).await.unwrap();
        let sales = v3::Department::find_sales(&all.v3).await;
        assert_eq!((sales.employees, sales.oldest), (4, Some(30)));
        settle(&all.v3).await;
        assert_clean(&all.v3, "after").await;
    }
}
