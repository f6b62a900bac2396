//! Bulk writing of entities of many partitions that copy the same sources and add to the same totals: where the store can, they are one
//! commit, which writes each of those once; what cannot go with the others comes out as if it went alone.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::stream;
use tablemodel::{
    BulkReport, Consistency, ErrorKind, RowKey,
    prelude::*,
    store::{Batch, Receipts, StoreError, StoreErrorKind, TableStore, observe::BatchRecord},
    testing::{CallKind, Fault, Script, TestDatabase},
};

use crate::{
    between::{Around, Between},
    faults,
    migrate::{MODES, assert_clean, store_of},
    points::points,
    stall::NoSleep,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Owners", partition = "{number}", row = "owner")]
pub(crate) struct Owner {
    pub(crate) number: u32,
    pub(crate) name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Owner)]
pub(crate) struct Card {
    pub(crate) name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Towns", partition = "{number}", row = "town")]
pub(crate) struct Town {
    pub(crate) number: u32,
    #[table(aggregate)]
    pub(crate) pets: i64,
    #[table(aggregate)]
    pub(crate) last_chip: Option<u32>,
}

/// Alone in its partition, with an index row elsewhere whose values are unique, and counted elsewhere.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Pets", partition = "{id:05}", row = "pet")]
#[table(index(by_chip, table = "Chips", partition = "{chip}", row = "chip", unique, keys_only))]
#[table(count(Town, key(number = town), into = pets))]
#[table(max(Town, key(number = town), of = chip, into = last_chip))]
pub(crate) struct Pet {
    pub(crate) id: u32,
    pub(crate) chip: u32,
    pub(crate) town: u32,
    pub(crate) owner: u32,
    pub(crate) note: String,
    #[table(copy_of(Owner, key(number = owner)))]
    pub(crate) card: Option<Card>,
}

/// What it copies must be there, and stay.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Licences", partition = "{id:05}", row = "licence")]
struct Licence {
    id: u32,
    owner: u32,
    #[table(copy_of(Owner, key(number = owner), on_delete = restrict))]
    card: Card,
}

/// What copies those that copy.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Collars", partition = "{id:05}", row = "collar")]
struct Collar {
    id: u32,
    pet: u32,
    #[table(copy_of(Pet, key(id = pet)))]
    worn_by: Option<Chip>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Pet)]
struct Chip {
    chip: u32,
}

#[derive(TableModel)]
enum Model {
    Owner(Owner),
    Town(Town),
    Pet(Pet),
    Licence(Licence),
    Collar(Collar),
}

fn owner(number: u32) -> Owner {
    Owner { number, name: format!("owner {number}") }
}

fn pet(id: u32, owner: u32) -> Pet {
    Pet { id, chip: 1_000 + id, town: id % 3, owner, note: String::new(), card: None }
}

fn licence(id: u32, owner: u32) -> Licence {
    Licence { id, owner, card: Card { name: String::new() } }
}

/// With the owners 0 to 5, and two towns of three: the others are not there.
async fn database(mode: Consistency) -> TestDatabase {
    let db = store_of::<Model>(mode).await;
    for number in 0..2 {
        db.insert(&Town { number, pets: 0, last_chip: None }).await.unwrap();
    }
    for number in 0..6 {
        db.insert(&owner(number)).await.unwrap();
    }
    db
}

async fn insert<E: TableEntity>(
    db: &TestDatabase,
    entities: impl IntoIterator<Item = E, IntoIter: Send>,
) -> BulkReport {
    db.bulk().insert_all(stream::iter(entities)).await.unwrap()
}

/// That every pet has its owner's name as it is, and each its chip, and that towns count them; gives how many there are.
async fn assert_exact(db: &TestDatabase, told: &str) -> u64 {
    db.fail(Script::new());
    for _ in 0..20 {
        db.clock().advance(Duration::from_secs(60));
        if db.relay().run_once().await.unwrap().is_settled() {
            break;
        }
    }
    assert_clean(db, told).await;
    let (mut towns, mut chips) = ([(0, None); 3], BTreeSet::new());
    for id in 0..400 {
        let Some(pet) = Pet::find().id(id).one(db).await.unwrap() else { continue };
        let owner = Owner::find().number(pet.owner).one(db).await.unwrap();
        let name = owner.map(|owner| owner.name.clone());
        assert_eq!(pet.card.as_ref().map(|card| card.name.clone()), name, "{told}: {pet:?}");
        assert!(chips.insert(pet.chip), "{told}: {pet:?}");
        let by_chip = Pet::by_chip().chip(pet.chip).one(db).await.unwrap();
        assert_eq!(by_chip.map(|found| found.id), Some(id), "{told}");
        let town = &mut towns[pet.town as usize];
        *town = (town.0 + 1, town.1.max(Some(pet.chip)));
    }
    for (number, (count, last)) in (0..).zip(towns) {
        let town = || Town::find().number(number);
        assert_eq!(db.total(town(), Town::PETS).await.unwrap(), count, "{told}: {number}");
        assert_eq!(db.total(town(), Town::LAST_CHIP).await.unwrap(), last, "{told}: {number}");
        if let Some(town) = town().one(db).await.unwrap() {
            assert_eq!((town.pets, town.last_chip), (count, last), "{told}: {number}");
        }
    }
    towns.into_iter().map(|(count, _)| count as u64).sum()
}

/// The commits from here on: for each, the row keys and tables that it writes.
fn commits(db: &TestDatabase) -> Vec<Vec<(String, String, usize)>> {
    let commits = db.calls().into_iter().filter_map(|call| match call.call {
        CallKind::Commit { batches } => Some(batches),
        _ => None,
    });
    let rows = |batch: BatchRecord| (batch.table, batch.partition, batch.operations.len());
    commits.map(|batches| batches.into_iter().map(rows).collect()).collect()
}

#[tokio::test]
async fn holders_of_one_source_are_one_commit_that_writes_the_source_once() {
    let db = database(Consistency::Atomic).await;
    let before = commits(&db).len();
    let report = insert(&db, (0..300).map(|id| pet(id, 1))).await;
    assert_eq!((report.written, report.failed.len(), report.batches), (300, 0, 1), "{:?}", report.failed.first());
    let commits = commits(&db).split_off(before);
    assert_eq!(commits.len(), 1, "{commits:?}");
    assert!(commits[0].iter().all(|(_, _, rows)| *rows <= 100), "{commits:?}");
    let owners: usize = commits[0].iter().filter(|(table, ..)| table == "Owners").map(|(_, _, rows)| rows).sum();
    assert_eq!(owners, 301, "a back-reference for each, and the owner");
    let towns: usize = commits[0].iter().filter(|(table, ..)| table == "Towns").map(|(_, _, rows)| rows).sum();
    assert_eq!(
        towns,
        600 + 6 + 2,
        "what each counts and ranks as, two cells for each town, and the towns that are there"
    );
    assert_eq!(assert_exact(&db, "loaded").await, 300);
    let renamed = db
        .update(Owner::find().number(1), |owner| {
            owner.name = "another".into();
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(renamed.name, "another");
    assert_eq!(assert_exact(&db, "renamed").await, 300);
}

#[tokio::test]
async fn holders_of_many_sources_and_of_none_are_written_and_follow_them() {
    for mode in MODES {
        let db = database(mode).await;
        let report = insert(&db, (0..350).map(|id| pet(id, id % 7))).await;
        assert_eq!((report.written, report.failed.len()), (350, 0), "{mode:?}: {:?}", report.failed.first());
        db.insert(&owner(6)).await.unwrap(); // some wait for it
        assert_eq!(assert_exact(&db, &format!("{mode:?}")).await, 350);
        let again = (100..400).map(|id| Pet { chip: 5_000 + id, ..pet(id, (id + 1) % 9) });
        let report = db.bulk().upsert_iter(again).await.unwrap();
        assert_eq!((report.written, report.failed.len()), (300, 0), "{mode:?}: {:?}", report.failed.first());
        assert_eq!(assert_exact(&db, &format!("{mode:?}, again")).await, 400);
    }
}

#[tokio::test]
async fn who_is_refused_is_named_and_all_others_are_written() {
    for mode in MODES {
        let db = database(mode).await;
        db.insert(&pet(77, 3)).await.unwrap();
        db.insert(&Pet { chip: 1_200, ..pet(399, 3) }).await.unwrap();
        let mut pets: Vec<_> = (0..300).map(|id| pet(id, id % 7)).collect(); // the chip of the 200th is taken
        pets[150].chip = 1_020; // another of the load has it: one of the two comes first
        pets.push(Pet { owner: 5, ..pet(11, 1) }); // the second of its key
        let report = insert(&db, pets).await;
        let told = format!("{mode:?}: {:?}", report.failed);
        assert_eq!((report.written, report.failed.len()), (297, 4), "{told}");
        let kind = |id: u32| {
            let key = RowKey::new(format!("{id:05}"), "pet");
            report.failed.iter().find(|error| error.key() == Some(&key)).map(|error| error.kind().clone())
        };
        assert_eq!([kind(77), kind(11)], [const { Some(ErrorKind::AlreadyExists) }; 2], "{told}");
        let is_violation = |id| matches!(kind(id), Some(ErrorKind::UniqueViolation { .. }));
        assert!(is_violation(200) && is_violation(20) != is_violation(150), "{told}");
        assert_eq!(assert_exact(&db, &told).await, 299);
        let licences = insert(&db, (0..60).map(|id| licence(id, id % 7))).await;
        let mut lacks: Vec<_> =
            licences.failed.iter().filter_map(|error| error.key()).map(|key| key.partition.clone()).collect();
        lacks.sort();
        assert_eq!(licences.written + lacks.len() as u64, 60, "{mode:?}");
        let expected: Vec<_> = (0..60).filter(|id| id % 7 == 6).map(|id| format!("{id:05}")).collect();
        assert_eq!(lacks, expected, "{mode:?}: {:?}", licences.failed);
        let held = db.delete(Owner::find().number(2).one(&db).await.unwrap().unwrap()).await.unwrap_err();
        assert!(matches!(held.kind(), ErrorKind::Restricted { .. }), "{mode:?}: {held}");
    }
}

#[tokio::test]
async fn those_that_others_wait_for_are_followed() {
    for mode in MODES {
        let db = database(mode).await;
        let collars = insert(&db, (0..60).map(|id| Collar { id, pet: id % 40, worn_by: None })).await;
        assert_eq!((collars.written, collars.failed.len()), (60, 0), "{mode:?}: {:?}", collars.failed.first());
        for chips in [1_000, 3_000] {
            let pets = (0..90).map(|id| Pet { chip: chips + id, ..pet(id, id % 7) });
            let report = db.bulk().upsert_iter(pets).await.unwrap();
            assert_eq!((report.written, report.failed.len()), (90, 0), "{mode:?}: {:?}", report.failed.first());
            assert_eq!(assert_exact(&db, &format!("{mode:?}, {chips}")).await, 90);
            for id in 0..60 {
                let collar = Collar::find().id(id).one(&db).await.unwrap().unwrap();
                let chip = collar.worn_by.as_ref().map(|pet| pet.chip);
                assert_eq!(chip, Some(chips + id % 40), "{mode:?}: {collar:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_fault_at_any_store_call_loses_no_entity() {
    let load = || (0..10).map(|id| pet(id, id % 3 * 3)); // one of them is not there
    for mode in MODES {
        let whole = database(mode).await;
        let db = whole.fork().expect("in memory");
        assert_eq!(insert(&db, load()).await.written, 10, "{mode:?}");
        let calls = db.calls().len();
        let faults = faults::of_one_call();
        for (fault, at) in
            faults.iter().flat_map(|fault| points(calls, 24, "abreast").into_iter().map(move |at| (fault, at)))
        {
            let told = format!("{mode:?}, {fault:?} at call {at} of {calls}");
            let db = whole.fork().expect("in memory");
            db.fail(Script::new().at(at, fault.clone()));
            let report = insert(&db, load()).await;
            assert_eq!(report.written + report.failed.len() as u64, 10, "{told}");
            let is_passing = !matches!(fault, Fault::Error(error) if error.kind() == StoreErrorKind::ConditionNotMet);
            if is_passing {
                assert_eq!(report.failed.len(), 0, "{told}: {:?}", report.failed.first());
            }
            assert_eq!(assert_exact(&db, &told).await, report.written, "{told}");
        }
    }
}

#[tokio::test]
async fn lost_replies_and_a_busy_store_write_nothing_twice() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (0..8).map(move |seed| (mode, seed))) {
        let db = database(mode).await;
        db.fail(faults::now_and_then(seed));
        let report = insert(&db, (0..90).map(|id| pet(id, id % 7))).await;
        let told = format!("{mode:?}, seed {seed}");
        let there = assert_exact(&db, &told).await;
        let unknown = report.failed.iter().filter(|error| *error.kind() == ErrorKind::OutcomeUnknown).count() as u64;
        assert!((report.written..=report.written + unknown).contains(&there), "{told}: {there} of {}", report.written);
    }
}

/// Renames an owner right before a commit that would write pets of it, or as often as there is one.
struct Renaming {
    db: Database,
    always: bool,
    done: AtomicBool,
}

#[async_trait]
impl Between for Renaming {
    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        if batches.iter().any(|batch| batch.table == "Pets") && (self.always || !self.done.swap(true, Ordering::SeqCst))
        {
            let rename = |owner: &mut Owner| {
                owner.name.push('!');
                Ok(())
            };
            self.db.update(Owner::find().number(1), rename).await.expect("renamed");
        }
        inner.commit(batches).await
    }
}

#[tokio::test]
async fn a_source_that_changes_before_the_commit_is_copied_as_it_is_then() {
    for (mode, always) in MODES.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
        let db = database(mode).await;
        let between = Renaming { db: (*db).clone(), always, done: AtomicBool::new(false) };
        let builder = Database::builder().consistency(mode).clock(Arc::new(db.clock().clone()));
        let builder = builder.sleep(Arc::new(NoSleep)).deadline(Duration::MAX);
        let other = builder.with_store::<Model>(Around::over(db.store(), between)).await.unwrap();
        let report = other.bulk().insert_iter((0..40).map(|id| pet(id, id % 2))).await.unwrap();
        let told = format!("{mode:?}, {always}: {:?}", report.failed.first());
        assert_eq!(report.written + report.failed.len() as u64, 40, "{told}");
        if !always {
            assert_eq!(report.failed.len(), 0, "{told}");
        }
        assert!(report.failed.iter().all(|error| *error.kind() == ErrorKind::Unavailable), "{told}");
        assert!(report.written >= 20, "{told}: those of the other owner are not in its way");
        assert_eq!(assert_exact(&db, &told).await, report.written);
    }
}

#[tokio::test]
async fn loads_beside_each_other_and_changes_of_the_source_leave_all_as_it_is_to_be() {
    for mode in MODES {
        let db = database(mode).await;
        let renames = async {
            for number in 0..40 {
                let rename = |owner: &mut Owner| {
                    owner.name = format!("name {number}");
                    Ok(())
                };
                db.update(Owner::find().number(number % 3), rename).await.unwrap();
            }
        };
        let loads = [0, 100, 200].map(|from| insert(&db, (from..from + 100).map(|id| pet(id, id % 3))));
        let (reports, ()) = tokio::join!(futures_util::future::join_all(loads), renames);
        for report in reports {
            assert_eq!((report.written, report.failed.len()), (100, 0), "{mode:?}: {:?}", report.failed.first());
        }
        assert_eq!(assert_exact(&db, &format!("{mode:?}")).await, 300);
    }
}
