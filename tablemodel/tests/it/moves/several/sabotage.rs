//! Parts of shadows that are not as they should be: found, told apart, and put right; and those that may be about to be published, left alone.

use std::time::Duration;

use tablemodel::{
    Consistency, Row, ViolationKind,
    store::{Action, Batch, Condition},
};

use super::{Before, Kept, assert_clean, filled, kept::notes, next, of_all, orphans, rows};
use crate::moves::kind;

/// The table in which a row of the new form stands.
async fn table_of(db: &tablemodel::Database, row: &Row) -> &'static str {
    for table in ["Titles", "Notes"] {
        if db.store().get(table, &row.key).await.ok().flatten().is_some() {
            return table;
        }
    }
    panic!("{} stands nowhere", row.key)
}

async fn damaged<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    for planted in
        ["missing", "altered", "surplus", "surplus under another generation", "head missing", "head nobody's"]
    {
        let told = format!("{told} {mode:?}: {planted}");
        let store = filled::<Was>(mode, 5).await;
        let db = next::<Old::Model>(&store).await;
        db.migrations().apply().await.expect("applied");
        assert_clean(&db, &told).await;
        let was = notes::<Old>(&db).await.expect("read");
        let new = rows(&db, 2).await;
        let Some(part) = new.iter().rev().find(|row| kind(row) == "Note.~part@2") else { return }; // of one row
        let (table, head) = (table_of(&db, part).await, part.key.row.split(" ~~").next().expect("its head").to_owned());
        let mut properties = part.properties.clone();
        let (mut key, mut action) = (part.key.row.clone(), Action::Delete(Condition::Exists));
        let mut found = ViolationKind::Missing;
        match planted {
            "missing" => {}
            "altered" => {
                properties.insert("Strange", 1_i32);
                (action, found) = (Action::Replace(properties, Condition::Exists), ViolationKind::Stale);
            }
            "surplus" => {
                key = format!("{}99", &key[..key.len() - 2]);
                (action, found) = (Action::Insert(properties), ViolationKind::Orphan);
            }
            "surplus under another generation" => {
                key = format!("{head} ~~00000000c0ffee00~01");
                (action, found) = (Action::Insert(properties), ViolationKind::Orphan);
            }
            "head missing" => key = head,
            _ => {
                let head = new.iter().find(|row| row.key.row == head && row.key.partition == part.key.partition);
                let mut properties = head.expect("there").properties.clone();
                properties.insert("_moved", "[\"S7\",\"n_00001\"]");
                (key, action) = ("m_S7_00001".to_owned(), Action::Insert(properties));
                found = ViolationKind::Dangling;
            }
        }
        let batch = Batch::new(table, part.key.partition.clone()).with(key, action);
        db.store().commit(&[batch]).await.expect("planted");
        let is_young = found == ViolationKind::Orphan;
        let verified = db.verify().await.expect("verify runs");
        assert_eq!(
            verified.is_clean(),
            is_young,
            "{told}: a young part may be about to be published: {:#?}",
            verified.violations
        );
        if is_young {
            store.clock().advance(Duration::from_secs(3_700));
        }
        let verified = db.verify().await.expect("verify runs");
        let kinds: Vec<_> = verified.violations.iter().map(|violation| violation.kind).collect();
        assert_eq!(kinds, [found], "{told}: {:#?}", verified.violations);
        let repaired = db.repair().await.expect("repair runs");
        assert_eq!((repaired.repaired, repaired.left.len()), (1, 0), "{told}: {repaired:#?}");
        store.clock().advance(Duration::from_secs(3_700));
        let repaired = db.repair().await.expect("repair runs"); // what stood under a head that was missing
        assert!(repaired.left.is_empty(), "{told}: {repaired:#?}");
        assert_clean(&db, &told).await;
        assert_eq!(orphans(&db, 2).await, Vec::<String>::new(), "{told}");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<New::Model>(&store).await;
        assert_eq!(notes::<New>(&db).await.expect("read"), was, "{told}");
    }
}

#[tokio::test]
async fn a_part_that_is_missing_altered_or_nobodys_is_found_and_put_right() {
    of_all!(damaged);
}
