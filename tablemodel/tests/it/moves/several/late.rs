//! Parts that a delivery left before it wrote their head, and that another meets: it writes anew what may be taken for nobody's
//! before the head is there, and what is not as it was.

use std::time::Duration;

use tablemodel::{
    Consistency, Row,
    store::{Action, Batch, Condition},
    testing::{Fault, Script, TestDatabase},
};

use super::{Before, Kept, assert_clean, filled, kept::notes, next, one_to_several, program, rows};
use crate::moves::kind;

type Old = one_to_several::first::Note;
type New = one_to_several::second::Note;

/// The parts of one note's shadow, if its delivery died when they were there and their head was not.
async fn left_at(call: usize) -> (TestDatabase, Vec<Row>, bool) {
    let store = filled::<one_to_several::before::Note>(Consistency::Azure, 2).await;
    let db = next::<<Old as Kept>::Model>(&store).await;
    db.migrations().apply().await.expect("applied");
    store.fail(Script::new().at(call, Fault::CrashBefore));
    store.forget_calls();
    let _ = db.insert(&Old::made(("S0", 9), ("Brut".into(), 3, 1))).await; // delivered after it is acknowledged
    let is_over = store.calls().len() < call; // the one that it dies before is none
    drop(db);
    store.fail(Script::new());
    let store = store.reopen::<<one_to_several::before::Note as Before>::Model>().await.expect("opened");
    let all = rows(&store, 2).await;
    let is_of_note = |row: &&Row| row.key.partition == "Brut" && row.key.row.starts_with("m_S0_00009");
    let found: Vec<_> = all.iter().filter(is_of_note).cloned().collect();
    let is_left = !found.is_empty() && found.iter().all(|row| kind(row) == "Note.~part@2");
    (store, if is_left { found } else { Vec::new() }, is_over)
}

async fn assert_delivered(store: &TestDatabase, told: &str) {
    let db = program::<<Old as Kept>::Model>(store).await;
    let begun = db.store().get("Titles", &rows(&db, 2).await[0].key).await.expect("read").expect("there").timestamp;
    assert_clean(&db, told).await;
    let parts: Vec<_> = rows(&db, 2).await.into_iter().filter(|row| row.key.row.starts_with("m_S0_00009 ~~")).collect();
    assert!(parts.len() > 1, "{told}");
    for part in parts {
        let age = part.timestamp.ticks().saturating_sub(begun.ticks());
        assert!(age > 40 * 60 * 10_000_000, "{told}: {} is as old as what was there before: {age}", part.key);
    }
    let was = notes::<Old>(&db).await.expect("read");
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    let db = next::<<New as Kept>::Model>(store).await;
    assert_eq!(notes::<New>(&db).await.expect("read"), was, "{told}");
}

#[tokio::test]
async fn parts_that_were_left_long_ago_or_altered_are_written_anew_before_their_head() {
    let mut met = 0;
    for call in 0.. {
        let (store, left, is_over) = left_at(call).await;
        if is_over {
            break;
        }
        if left.is_empty() {
            continue;
        }
        met += 1;
        let mut altered = left[0].properties.clone();
        altered.insert("Strange", 1_i32);
        let batch = Batch::new("Titles", left[0].key.partition.clone());
        let batch = batch.with(left[0].key.row.clone(), Action::Replace(altered, Condition::Exists));
        if met % 2 == 0 {
            store.store().commit(&[batch]).await.expect("planted");
        }
        store.clock().advance(Duration::from_secs(50 * 60));
        assert_delivered(&store, &format!("call {call}")).await;
    }
    assert!(met > 0, "no delivery died between");
}
