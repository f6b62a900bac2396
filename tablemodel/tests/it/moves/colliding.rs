//! Two entities of the old form that come to one key of the new, in one table with it, and entities that cannot come there.

use tablemodel::{IndexState, Upgrade, UpgradeError, prelude::*};

use super::{MODES, assert_clean, before, filled, new_rows, next, program, states};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Flights", partition = "{carrier}", row = "f_{number:05}", moves_to = FlightV2)]
#[table(index(sorted, row = "o_{origin}_{number:05}", keys_only))]
#[table(index(anywhere, table = "ByOrigin", partition = "{origin}", row = "{carrier}_{number:05}", keys_only))]
struct Flight {
    carrier: String,
    number: u32,
    origin: String,
    seats: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Flights", entity_type = "Flight", version = 2, partition = "{origin}", row = "d_{number:05}")]
#[table(index(sorted, row = "s_{seats}_{number:05}", keys_only))]
struct FlightV2 {
    origin: String,
    number: u32,
    carrier: String,
    seats: i64,
}

impl Upgrade<Flight> for FlightV2 {
    fn upgrade(Flight { carrier, number, origin, seats }: Flight) -> Result<Self, UpgradeError> {
        match seats {
            0.. => Ok(Self { origin, number, carrier, seats }),
            _ => Err(UpgradeError::new("fewer seats than none")),
        }
    }
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum Model {
    Flight(Flight),
}

#[tokio::test]
async fn two_that_become_one_are_set_aside_and_nothing_is_readable_before_that_is_mended() {
    for mode in MODES {
        let store = filled(mode, 1, 201).await;
        let old = program::<before::Model>(&store).await;
        old.insert(&before::Flight { seats: 4, ..before::flight("C1", 3) }).await.expect("written");
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<Model>(&store).await;
        assert_eq!(db.migrations().apply().dry_run(None).await.expect("reckoned").failed, 1);
        let applied = db.migrations().apply().await.expect("applied");
        assert!(!applied.is_complete() && applied.failed == 1, "{mode:?}: {applied:?}");
        assert_eq!(states(&db).await, [IndexState::WriteOnly]);
        let failures = db.migrations().failures().await.expect("read");
        let told = &failures[0];
        assert!(["C0", "C1", "f_00003"].iter().all(|key| told.error.contains(key)), "{told:?}");
        assert_eq!(new_rows(&db).await.len(), 402, "one of the two has the key");

        let both = || Flight::find().carrier("C1").number(3);
        let mut second = both().one(&db).await.unwrap().unwrap();
        second.origin = "KBP".into();
        db.save(&mut second).await.expect("mended");
        assert_eq!(db.migrations().retry_failures().await.expect("tried again"), 0);
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{mode:?}: {applied:?}");
        assert_clean(&db, "mended").await;
        assert_eq!(new_rows(&db).await.len(), 404);

        // From now on a write that would come to another's key is refused, and so is one that cannot come anywhere.
        let clash = Flight { carrier: "C2".into(), number: 3, origin: "KBP".into(), seats: 1 };
        let refused = db.insert(&clash).await.unwrap_err();
        assert!(refused.to_string().contains("(C1, f_00003)"), "{refused:?}");
        let refused = db.insert(&Flight { seats: -1, number: 999, ..clash.clone() }).await.unwrap_err();
        assert!(matches!(refused.kind(), tablemodel::ErrorKind::UpgradeFailed { from: 1, to: 2 }), "{refused:?}");
        // What leaves a key leaves it to others, in one batch too.
        let mut batch = db.batch(Flight::in_partition("C1"));
        batch.delete(both().one(&db).await.unwrap().unwrap());
        batch.insert(&Flight { carrier: "C1".into(), ..clash.clone() });
        let _ = batch.commit().await; // one key twice: whatever it says, nothing is wrong afterwards
        assert_clean(&db, "afterwards").await;
    }
}

#[tokio::test]
async fn an_entity_that_cannot_be_upgraded_is_set_aside_and_can_be_deleted() {
    for mode in MODES {
        let store = filled(mode, 1, 201).await;
        let old = program::<before::Model>(&store).await;
        old.insert(&before::Flight { seats: -4, ..before::flight("C1", 3) }).await.expect("written");
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<Model>(&store).await;
        let applied = db.migrations().apply().await.expect("applied");
        assert!(!applied.is_complete() && applied.failed == 1, "{mode:?}: {applied:?}");
        let bad = Flight::find().carrier("C1").number(3).one(&db).await.unwrap().unwrap();
        db.delete(bad).await.expect("deleted");
        assert_eq!(db.migrations().retry_failures().await.expect("tried again"), 0);
        assert!(db.migrations().apply().await.expect("applied").is_complete());
        assert_clean(&db, "deleted").await;
    }
}

/// Whatever the numbers of the two are: that of who came later is the greater, and says nothing of the other.
#[tokio::test]
async fn who_comes_to_a_key_that_another_has_left_has_it() {
    for mode in MODES {
        for is_deleted in [false, true] {
            let store = filled(mode, 1, 3).await;
            let db = next::<Model>(&store).await;
            db.migrations().apply().await.expect("applied");
            let flight = |carrier: &str, origin: &str| Flight {
                carrier: carrier.into(),
                number: 3,
                origin: origin.into(),
                seats: 1,
            };
            let mut first = db.insert(&flight("C1", "KBP")).await.expect("inserted");
            store.clock().advance(std::time::Duration::from_secs(1));
            let mut second = db.insert(&flight("C2", "CDG")).await.expect("inserted");
            match is_deleted {
                true => db.delete(second).await.expect("deleted"),
                false => {
                    second.origin = "BRN".into();
                    db.save(&mut second).await.expect("saved");
                }
            }
            first.origin = "CDG".into();
            db.save(&mut first).await.expect("saved");
            assert_clean(&db, &format!("{mode:?}, {is_deleted}")).await;
            let entities = 3 + if is_deleted { 1 } else { 2 };
            assert_eq!(new_rows(&db).await.len(), 2 * entities, "{mode:?}, {is_deleted}");
            // And leaves it again.
            first.origin = "KBP".into();
            db.save(&mut first).await.expect("saved");
            assert_clean(&db, &format!("{mode:?}, {is_deleted}")).await;
            assert_eq!(new_rows(&db).await.len(), 2 * entities, "{mode:?}, {is_deleted}");
        }
    }
}
