//! What `verify` finds of the damages, and what `repair` leaves.

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{
    Consistency, Verified, ViolationKind,
    blob::object_store::{ObjectStoreExt, path::Path},
    store::{Action, Condition},
    testing::TestDatabase,
};

use super::{Place, Planted, Rows, copied, damages::Saboteur, healthy, stage, write};

const ENTITIES: u32 = 10_000;

/// Longer than anything is left alone for.
const LONG: Duration = Duration::from_secs(4_000);

/// A healthy store of so many entities, in this mode.
async fn prepared(mode: Consistency, entities: u32) -> (TestDatabase, Rows) {
    let source = healthy(entities).await;
    let mut rows = stage(&source).rows().await;
    let db = match mode {
        Consistency::Atomic => source,
        Consistency::Azure => {
            // Left for those who wait for their source, which they do not here.
            let is_awaited = |kind: &str| kind.ends_with(".~dead@1");
            rows.retain(
                |_, row| !matches!(row.get("EntityType"), Some(tablemodel::ValueRef::String(kind)) if is_awaited(kind)),
            );
            copied(&rows, &stage(&source).objects().await, mode).await
        }
    };
    db.clock().advance(LONG);
    let verified = db.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{mode:?}: {:?}", verified.violations.first());
    assert_eq!((verified.entities, verified.foreign, verified.pending), (entities.into(), 0, 0));
    (db, rows)
}

fn found(verified: &Verified) -> BTreeMap<Place, Vec<ViolationKind>> {
    let mut found: BTreeMap<Place, Vec<ViolationKind>> = BTreeMap::new();
    for violation in &verified.violations {
        let place = (violation.table.clone(), violation.key.partition.clone(), violation.key.row.clone());
        found.entry(place).or_default().push(violation.kind);
    }
    found
}

/// That what is found is what was planted, row by row.
fn assert_found(verified: &Verified, planted: &Planted, told: &str) {
    let found = found(verified);
    let missed: Vec<_> = planted.iter().filter(|(place, _)| !found.contains_key(*place)).collect();
    let invented: Vec<_> = found.iter().filter(|(place, _)| !planted.contains_key(*place)).collect();
    let misnamed: Vec<_> = planted
        .iter()
        .filter_map(|(place, name)| Some((name, found.get(place)?)))
        .filter(|(name, kinds)| !kinds.iter().all(|kind| may_be(name, *kind)))
        .collect();
    assert!(
        missed.is_empty() && invented.is_empty() && misnamed.is_empty(),
        "{told}: of {}, missed {}: {:#?}\ninvented {}: {:#?}\nmisnamed {misnamed:?}",
        planted.len(),
        missed.len(),
        missed.iter().take(30).collect::<Vec<_>>(),
        invented.len(),
        invented.iter().take(30).collect::<Vec<_>>(),
    );
}

/// What a damage may be called. A row that names another owner is missed by one and wanted by no other: either word is right.
fn may_be(name: &str, kind: ViolationKind) -> bool {
    match name {
        "missing" | "cell missing" => kind == ViolationKind::Missing,
        "another's" | "of another partition" => matches!(kind, ViolationKind::Stale | ViolationKind::Dangling),
        "dangling" => kind == ViolationKind::Dangling,
        "leftover" => matches!(kind, ViolationKind::Leftover | ViolationKind::Dangling),
        "undelivered" => kind == ViolationKind::Undelivered,
        "orphan" => kind == ViolationKind::Orphan,
        "half a link" => matches!(kind, ViolationKind::Corrupt | ViolationKind::DamagedBlob),
        "blob" => matches!(kind, ViolationKind::MissingBlob | ViolationKind::DamagedBlob),
        "of an unknown version" => kind == ViolationKind::UnknownVersion,
        name if CORRUPT.contains(&name) => kind == ViolationKind::Corrupt,
        _ => kind == ViolationKind::Stale,
    }
}

const CORRUPT: [&str; 7] =
    ["of a wrong type", "absent", "of fewer parts", "part lost", "part altered", "of another generation", "of no type"];

async fn plant_and_repair(mode: Consistency, entities: u32, times: usize) {
    let (db, rows) = prepared(mode, entities).await;
    let mut before = crate::everything::contents(&stage(&db)).await;
    let store = db.store();
    let mut saboteur = Saboteur::new(&rows, &*store);
    saboteur.plant(times).await;
    if mode == Consistency::Atomic {
        // A release that copied the entity may have left its tombstone: nothing is wrong with that, and a repair takes it away.
        saboteur.planted.retain(|(_, _, row), _| !row.starts_with("p_05555_"));
    }
    db.clock().advance(LONG);
    assert_found(&db.verify().await.expect("verify runs"), &saboteur.planted, &format!("{mode:?}"));
    let repaired = db.repair().await.expect("repair runs");
    assert_eq!(repaired.left, [], "{mode:?}");
    assert_eq!(repaired.repaired, repaired.found.violations.len() as u64, "{mode:?}");
    saboteur.lost.iter().for_each(|place| drop(before.remove(place)));
    stage(&db).settle().await;
    let verified = db.verify().await.expect("verify runs");
    assert!(verified.is_clean(), "{mode:?}: {:#?}", verified.violations);
    let after = crate::everything::contents(&stage(&db)).await;
    let differ = before.keys().chain(after.keys()).filter(|place| before.get(*place) != after.get(*place));
    let differ: Vec<_> = differ.map(|place| (place, before.get(place), after.get(place))).take(9).collect();
    assert!(differ.is_empty(), "{mode:?}: {differ:#?}");
}

#[tokio::test]
async fn all_that_is_planted_is_found_and_repaired_where_partitions_are_written_at_once() {
    Box::pin(plant_and_repair(Consistency::Atomic, ENTITIES, 2)).await;
}

#[tokio::test]
async fn all_that_is_planted_is_found_and_repaired_where_partitions_are_written_one_by_one() {
    Box::pin(plant_and_repair(Consistency::Azure, ENTITIES / 2, 1)).await;
}

#[tokio::test]
async fn what_cannot_be_repaired_is_found_told_of_its_entity_and_left_as_it_is() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let (db, rows) = prepared(mode, ENTITIES / 4).await;
        let (store, blobs) = (db.store(), db.blob_store());
        let mut saboteur = Saboteur::new(&rows, &*store);
        saboteur.corrupt(3).await;
        saboteur.two_owners(3).await;
        let objects = stage(&db).objects().await;
        let linked = saboteur.linked(6);
        for (nth, name) in linked.iter().enumerate() {
            let path = Path::from(name.as_str());
            match nth % 2 {
                0 => blobs.delete(&path).await.expect("deleted"),
                _ => drop(blobs.put(&path, vec![1; 3].into()).await.expect("put")),
            }
        }
        db.clock().advance(LONG);
        assert_found(&db.verify().await.expect("verify runs"), &saboteur.planted, &format!("{mode:?}"));
        let mut damaged = stage(&db).rows().await;
        let repaired = db.repair().await.expect("repair runs");
        assert_eq!(repaired.left.len(), repaired.found.violations.len(), "{mode:?}");
        let mut after = stage(&db).rows().await;
        for rows in [&mut damaged, &mut after] {
            rows.retain(|(table, ..), _| table != "tmdirty"); // marked before it shows that nothing can be written
        }
        assert!(after == damaged, "{mode:?}: repair touched what it cannot put right");
        for (place, row) in &saboteur.before {
            let put = match damaged.contains_key(place) {
                true => Action::Replace(row.clone(), Condition::Exists),
                false => Action::Insert(row.clone()),
            };
            write(&*store, place, put).await;
        }
        for name in linked {
            blobs.put(&Path::from(name.as_str()), objects[&name].clone().into()).await.expect("put");
        }
        let verified = db.verify().await.expect("verify runs");
        assert!(verified.is_clean(), "{mode:?}: {:#?}", verified.violations);
    }
}
