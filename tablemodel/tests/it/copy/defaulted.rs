//! Holders of another program that lack a property which reads as a default: they follow their sources, and stay in their indexes.

use tablemodel::{
    RowKey, Value, ValueRef,
    prelude::*,
    store::{Action, Batch},
    testing::TestDatabase,
};

use super::{Employee, Name, employee};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Tasks", adopt, partition = "{team}", row = "t_{id:04}")]
#[table(index(by_grade, row = "grade_{grade:02}_{id:04}", keys_only))]
struct Task {
    team: String,
    id: u32,
    #[table(default = 3)]
    grade: u8,
    #[table(default = 1)]
    boss: u32,
    #[table(copy_of(Employee, key(department = team, id = boss), on_delete = clear))]
    who: Option<Name>,
}

#[derive(TableModel)]
#[allow(dead_code, reason = "the tests read by path")]
enum Model {
    Employee(Employee),
    Task(Task),
}

#[tokio::test]
async fn a_holder_that_another_program_left_without_a_default_follows_its_source() {
    for db in [TestDatabase::new::<Model>().await, TestDatabase::atomic::<Model>().await] {
        let db = db.expect("a database");
        db.migrations().apply().await.expect("built");
        db.insert(&employee("A", 1)).await.expect("inserted");
        for id in 1..=2 {
            db.insert(&Task { team: "A".into(), id, grade: 3, boss: 1, who: None }).await.expect("inserted");
        }
        db.relay().run_once().await.expect("the relay runs");
        for (id, theirs) in [(1, None), (2, Some(("Boss", Value::from(1))))] {
            let replaced = Action::InsertOrReplace(theirs.into_iter().collect());
            let batch = Batch::new("Tasks", "A").with(format!("t_{id:04}"), replaced);
            db.store().commit(&[batch]).await.expect("planted");
        }
        let rename = |boss: &mut Employee| {
            boss.first_name = "other".to_owned();
            Ok(())
        };
        db.update(Employee::find().department("A").id(1), rename).await.expect("updated");
        db.relay().run_once().await.expect("the relay runs");
        for id in 1..=2 {
            let row =
                db.store().get("Tasks", &RowKey::new("A", format!("t_{id:04}"))).await.expect("read").expect("there");
            assert_eq!(row.properties.get("Grade"), Some(ValueRef::Int32(3)), "task {id} is stored with its defaults");
            let task = Task::by_grade().team("A").grade(3).id(id).one(&db).await.expect("read").expect("there");
            assert_eq!((task.boss, task.who.as_ref().map(|who| &*who.first_name)), (1, Some("other")), "task {id}");
        }
        let verified = db.verify().await.expect("verify runs");
        assert!(verified.is_clean(), "{:#?}", verified.violations);
    }
}
