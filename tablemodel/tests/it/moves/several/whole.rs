//! The whole way of notes of several rows: there and back, and on as entities of the new form.

use tablemodel::{Consistency, ErrorKind, IndexState, prelude::*};

use super::{
    Before, Kept, assert_clean, filled,
    kept::{notes, step},
    next, of_all, orphans, program, rows,
};
use crate::moves::{states, together::Dice};

/// That nothing of a form is left, or nobody's part of the other.
async fn assert_alone(db: &Database, gone: u32, told: &str) {
    let left = rows(db, gone).await;
    assert!(left.is_empty(), "{told}: {:?}", left.iter().map(|row| &row.key).collect::<Vec<_>>());
    assert_eq!(orphans(db, 3 - gone).await, Vec::<String>::new(), "{told}");
}

async fn moved<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    let told = format!("{told} {mode:?}");
    let store = filled::<Was>(mode, 20).await;
    let db = next::<Old::Model>(&store).await;
    let mut was = notes::<Old>(&db).await.expect("read");
    let reckoned = db.migrations().apply().dry_run(None).await.expect("reckoned");
    assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
    assert_clean(&db, &told).await;
    // So few entities are moved at the opening already where partitions are written at once.
    let due = if mode == Consistency::Azure { rows(&db, 2).await.len() } else { 0 };
    assert_eq!(due as u64, reckoned.rows, "{told}");
    assert_eq!((orphans(&db, 1).await, orphans(&db, 2).await), (vec![], vec![]), "{told}");
    assert_eq!(notes::<Old>(&db).await.expect("read"), was, "{told}");

    let mut dice = Dice(7);
    for _ in 0..20 {
        step::<Old>(&db, &mut dice, &mut was).await;
    }
    assert_clean(&db, &told).await;
    assert_eq!(notes::<Old>(&db).await.expect("read"), was, "{told}");
    assert_eq!(orphans(&db, 2).await, Vec::<String>::new(), "{told}: what is not named any more is gone");
    drop(db);

    let db = next::<New::Model>(&store).await;
    assert_eq!(notes::<New>(&db).await.expect("complete shadows can be read"), was, "{told}");
    let refused = db.insert(&New::made(("S1", 900), ("Alba".into(), 3, 0))).await.unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::NotSwitched { from: 1 });
    store.clock().advance(std::time::Duration::from_secs(130));
    db.migrations().contract().await.expect("switched");
    assert_alone(&db, 1, &told).await;
    assert_clean(&db, &told).await;
    assert_eq!(notes::<New>(&db).await.expect("read"), was, "{told}");

    for _ in 0..60 {
        step::<New>(&db, &mut dice, &mut was).await;
    }
    assert_clean(&db, &told).await;
    assert_eq!(notes::<New>(&db).await.expect("read"), was, "{told}");
    assert_alone(&db, 1, &told).await;
}

#[tokio::test]
async fn notes_of_every_form_move_to_every_other_and_are_entities_of_it() {
    of_all!(moved);
}

async fn taken_back<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    let told = format!("{told} {mode:?}");
    let store = filled::<Was>(mode, 12).await;
    let db = next::<Old::Model>(&store).await;
    let mut was = notes::<Old>(&db).await.expect("read");
    let rows_before = rows(&db, 1).await.len();
    for _ in 0..2 {
        db.migrations().apply().await.expect("applied");
        assert_eq!(states(&db).await, [IndexState::Readable]);
        let contracted = db.migrations().rollback().await.expect("taken back");
        assert!(contracted.rows > 0, "{told}");
        assert_alone(&db, 2, &told).await;
        assert_clean(&db, &told).await;
    }
    assert_eq!(
        (notes::<Old>(&db).await.expect("read"), rows(&db, 1).await.len()),
        (was.clone(), rows_before),
        "{told}"
    );
    let mut dice = Dice(5);
    for _ in 0..10 {
        step::<Old>(&db, &mut dice, &mut was).await;
    }
    assert_clean(&db, &told).await;
    assert_alone(&db, 2, &told).await;
}

#[tokio::test]
async fn a_move_of_notes_of_every_form_is_taken_back_with_every_part() {
    of_all!(taken_back);
}

async fn carried<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    let store = filled::<Was>(mode, 6).await;
    let db = next::<Old::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    let was = notes::<Old>(&db).await.expect("read");
    let mut lines = Vec::new();
    let exported = db.export(&mut lines).await.expect("exported");
    let copy = crate::migrate::store_of::<Was::Model>(mode).await;
    for table in copy.store().list_tables().await.expect("listed") {
        copy.store().delete_table(&table).await.expect("an empty store");
    }
    let imported = program::<New::Model>(&copy).await;
    assert_eq!(imported.import(lines.as_slice()).await.expect("imported").rows, exported.rows, "{told}");
    imported.ensure_tables().await.expect("ensured");
    assert_clean(&imported, told).await;
    assert_eq!(notes::<New>(&imported).await.expect("read"), was, "{told}");
    imported.migrations().contract().await.expect("switched");
    assert_eq!(notes::<New>(&imported).await.expect("read"), was, "{told}");
    assert_alone(&imported, 1, told).await;
}

#[tokio::test]
async fn an_export_holds_both_forms_whole() {
    of_all!(carried);
}
