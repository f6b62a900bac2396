//! Shadows that are not as they should be: found, told apart, and put right.

use tablemodel::{
    Database, Row, ViolationKind,
    store::{Action, Batch, Condition},
};

use super::{MODES, NEW, assert_clean, filled, first, live_rows, next};

#[tokio::test]
async fn a_shadow_that_is_missing_stale_or_nobodys_is_found_and_put_right() {
    for mode in MODES {
        for (table, of) in [(NEW[0], "Flight@2"), (NEW[0], "Flight.sorted@2"), (NEW[1], "Flight.of_carrier@2")] {
            for (planted, found) in [
                ("missing", ViolationKind::Missing),
                ("stale", ViolationKind::Stale),
                ("orphan", ViolationKind::Dangling),
            ] {
                let store = filled(mode, 1, 20).await;
                let db = next::<first::Model>(&store).await;
                db.migrations().apply().await.expect("applied");
                assert_clean(&db, "applied").await;
                let rows = live_rows(&db, table).await;
                let row = rows.into_iter().find(|row| super::kind(row) == of).expect("a shadow");
                plant(&db, table, &row, planted, "[\"C7\",\"f_00001\"]").await;
                let told = format!("{mode:?}: {planted} {of}");
                let verified = db.verify().await.expect("verify runs");
                assert_eq!(verified.violations.len(), 1, "{told}: {:#?}", verified.violations);
                assert_eq!(verified.violations[0].kind, found, "{told}");
                let repaired = db.repair().await.expect("repair runs");
                assert_eq!((repaired.repaired, repaired.left.len()), (1, 0), "{told}: {repaired:#?}");
                assert_clean(&db, &told).await;
            }
        }
    }
}

/// Takes a shadow away, alters it, or puts one beside it of an entity that is not there, `nobody`.
pub(super) async fn plant(db: &Database, table: &str, row: &Row, planted: &str, nobody: &str) {
    let mut properties = row.properties.clone();
    let (key, action) = match planted {
        "missing" => (row.key.row.clone(), Action::Delete(Condition::Exists)),
        "stale" => {
            properties.insert("Strange", 1_i32);
            (row.key.row.clone(), Action::Replace(properties, Condition::Exists))
        }
        _ => {
            properties.insert("_moved", nobody);
            (format!("{}9", row.key.row), Action::Insert(properties))
        }
    };
    let batch = Batch::new(table, row.key.partition.clone()).with(key, action);
    db.store().commit(&[batch]).await.expect("planted");
}
