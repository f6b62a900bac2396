//! Sources and targets that move to another partition, sources of several rows, and repair.

use tablemodel::{
    Consistency, ErrorKind, Properties, RowKey,
    prelude::*,
    store::{Action, Batch, Condition, StoreErrorKind},
    testing::{Fault, Script, TestDatabase},
};

use super::{Employee, MODES, Model, Team, database, employee, settle, team};

/// An employee in each of two departments, and a team in each.
async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    for department in ["A", "B"] {
        db.insert(&Employee { department: department.into(), ..employee(department.len() as u32, 1) }).await.unwrap();
        db.insert(&Team { company: department.into(), ..team(1) }).await.unwrap();
    }
    db
}

async fn members(db: &TestDatabase, company: &str) -> (i64, i64) {
    let path = || Team::find().company(company).number(1);
    let total = db.total(path(), Team::MEMBERS).await.unwrap();
    let held = path().one(db).await.unwrap().map(|team| team.members);
    assert_eq!(held.unwrap_or(total), total, "{company}");
    (total, db.total(path(), Team::PAYROLL).await.unwrap())
}

async fn assert_verified(db: &TestDatabase, told: &str) {
    assert_eq!(db.verify().await.unwrap().violations, [], "{told}");
}

async fn move_employee(db: &TestDatabase) -> tablemodel::Result<()> {
    let Some(mut jo) = Employee::find().department("A").id(1).one(db).await? else { return Ok(()) };
    (jo.department, jo.id, jo.salary) = ("B".into(), 2, 30);
    db.rekey(&mut jo).await
}

#[tokio::test]
async fn a_source_that_moves_away_leaves_the_total_of_its_old_partition_and_joins_the_new_one() {
    for mode in MODES {
        let db = prepared(mode).await;
        move_employee(&db).await.unwrap();
        settle(&db).await;
        assert_eq!([members(&db, "A").await, members(&db, "B").await], [(0, 0), (2, 130)]);
        assert_verified(&db, "moved").await;
    }
}

#[tokio::test]
async fn a_target_that_moves_away_takes_the_total_of_its_new_partition() {
    for mode in MODES {
        let db = prepared(mode).await;
        db.insert(&employee(7, 1)).await.unwrap();
        let there = Team::find().company("B").number(1).one(&db).await.unwrap().unwrap();
        db.delete(there).await.unwrap();
        settle(&db).await;
        let mut team_a = Team::find().company("A").number(1).one(&db).await.unwrap().unwrap();
        assert_eq!(team_a.members, 2);
        team_a.company = "B".into();
        db.rekey(&mut team_a).await.unwrap();
        assert_eq!(team_a.members, 1, "the value is read back");
        settle(&db).await;
        assert_eq!([members(&db, "A").await, members(&db, "B").await], [(2, 200), (1, 100)]);
        assert_verified(&db, "moved").await;
        assert_eq!(db.insert(&team(1)).await.unwrap().members, 2);
    }
}

#[tokio::test]
async fn a_move_whose_total_would_overflow_is_refused_before_it_begins() {
    for mode in MODES {
        let db = prepared(mode).await;
        let rich = Employee { department: "B".into(), salary: i64::MAX - 100, ..employee(9, 1) };
        db.insert(&rich).await.unwrap();
        assert_eq!(move_employee(&db).await.unwrap_err().kind(), &ErrorKind::Overflow);
        assert_eq!(members(&db, "A").await, (1, 100));
        settle(&db).await;
        assert_verified(&db, "refused").await;
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_of_a_move_leaves_the_source_in_one_total() {
    let mut points = 0;
    let errors = [StoreErrorKind::Unavailable, StoreErrorKind::OutcomeUnknown, StoreErrorKind::Denied];
    let faults = [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply].into_iter().chain(errors.map(Fault::error));
    let faults: Vec<_> = faults.collect();
    for mode in MODES {
        let whole = prepared(mode).await;
        let db = whole.fork().expect("in memory");
        db.forget_calls();
        move_employee(&db).await.unwrap();
        for call in 0..db.calls().len() {
            for fault in faults.clone() {
                let told = format!("{mode:?} {fault:?} at call {call}");
                let db = whole.fork().expect("in memory");
                db.fail(Script::new().at(call, fault));
                let result = move_employee(&db).await;
                db.fail(Script::new());
                let db = db.reopen::<Model>().await.unwrap();
                settle(&db).await;
                let now = [members(&db, "A").await, members(&db, "B").await];
                let (before, after) = ([(1, 100), (1, 100)], [(0, 0), (2, 130)]);
                assert!(now == after || (now == before && result.is_err()), "{told}: {now:?}");
                assert_verified(&db, &told).await;
                points += 1;
            }
        }
    }
    assert!(points > 50, "{points}");
}

#[tokio::test]
async fn repair_makes_cells_and_targets_what_the_sources_come_to() {
    for mode in MODES {
        let db = prepared(mode).await;
        let row = "~~agg|team_01|Members";
        let there = db.store().get("Company", &RowKey::new("A", row)).await.unwrap().unwrap().properties;
        let (mut wrong, mut unreadable) = (there.clone(), there.clone());
        wrong.insert("_value", 5_i64);
        unreadable.insert("_value", "x");
        let stray = "~~agg|team_09|Members";
        let mut wrong_team = Properties::new();
        wrong_team.insert("Payroll", 1_i64);
        let faults = [
            (row, Action::InsertOrReplace(wrong)),
            (row, Action::InsertOrReplace(unreadable)),
            (row, Action::Delete(Condition::Exists)),
            (stray, Action::Insert(there)),
            ("team_01", Action::Merge(wrong_team, Condition::Exists)),
        ];
        for (row, action) in faults {
            let told = format!("{mode:?} {row} {action:?}");
            db.store().commit(&[Batch::new("Company", "A").with(row, action)]).await.unwrap();
            let repaired = db.repair().await.unwrap();
            assert!(repaired.repaired > 0, "{told}");
            assert_eq!(repaired.left, [], "{told}");
            settle(&db).await;
            assert_verified(&db, &told).await;
            assert_eq!([members(&db, "A").await, members(&db, "B").await], [(1, 100), (1, 100)], "{told}");
        }
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Papers", partition = "{folder}", row = "paper_{id:04}")]
#[table(count(Folder, key(name = folder), into = papers), sum(Folder, key(name = folder), of = pages, into = pages))]
struct Paper {
    folder: String,
    id: u32,
    pages: i64,
    #[table(chunked)]
    body: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Papers", partition = "{name}", row = "folder")]
struct Folder {
    name: String,
    #[table(aggregate)]
    papers: i64,
    #[table(aggregate)]
    pages: i64,
}

#[derive(TableModel)]
enum Archive {
    Paper(Paper),
    Folder(Folder),
}

#[tokio::test]
async fn a_source_of_several_rows_counts_once_however_many_batches_it_takes() {
    for length in [10, 1_000_000, 5_000_000] {
        let db = TestDatabase::new::<Archive>().await.unwrap();
        db.insert(&Folder { name: "F".into(), papers: 0, pages: 0 }).await.unwrap();
        let folder = async |db: &TestDatabase| {
            let folder = Folder::find().name("F").one(db).await.unwrap().unwrap();
            (folder.papers, folder.pages)
        };
        let paper = Paper { folder: "F".into(), id: 1, pages: 3, body: "x".repeat(length) };
        let mut stored = db.insert(&paper).await.unwrap();
        assert_eq!(folder(&db).await, (1, 3), "{length}");
        (stored.pages, stored.body) = (4, "y".repeat(length));
        db.save(&mut stored).await.unwrap();
        assert_eq!(folder(&db).await, (1, 4), "{length}");
        let stored = db.upsert(&Paper { pages: 5, ..paper }).await.unwrap();
        assert_eq!(folder(&db).await, (1, 5), "{length}");
        assert_verified(&db, "written").await;
        db.delete(stored).await.unwrap();
        assert_eq!(folder(&db).await, (0, 0), "{length}");
        assert_verified(&db, "deleted").await;
    }
}
