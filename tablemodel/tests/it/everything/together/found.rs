//! What courses have found, each as a test of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tablemodel::{
    __private::{EntitySchema, ModelRow},
    Consistency, ErrorKind, Result, Violation, ViolationKind,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::super::{
    Fan, Model, Person, Sponsor, Team,
    release::{Before, Release},
    rooms::{assert_exact, empty, stage},
};
use crate::stall::Program;

pub(super) fn fan(id: u32) -> Fan {
    Fan { club: "A".into(), id, nick: "Ace".into(), card: Some(1), team: None, backer: None, backing: None }
}

pub(super) fn team(title: &str) -> Team {
    let (title, sponsor_id, sponsor) = (title.into(), None, None);
    Team { club: "A".into(), title, sponsor_id, sponsor, members: 0, points: 0, rates: 0.0 }
}

/// Who had it was written too, since it copies, and was taken for one that gives it up.
#[tokio::test]
async fn a_batch_takes_no_value_from_an_entity_that_follows_it() {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    db.insert(&fan(0)).await.unwrap();
    let mut batch = db.batch(Fan::in_partition("A"));
    batch.upsert(&team("Reds")).insert(&fan(1));
    let refused = batch.commit().await.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::UniqueViolation { .. }), "{refused:?}");
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_batch_takes_no_value_from_an_entity_that_it_saves_with_it() {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    let mut first = db.insert(&fan(0)).await.unwrap();
    first.nick = "Bee".into(); // what is written elsewhere, but not at the value
    let mut batch = db.batch(Fan::in_partition("A"));
    batch.save(&mut first).insert(&fan(1));
    let refused = batch.commit().await.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::UniqueViolation { .. }), "{refused:?}");
    assert!(db.verify().await.unwrap().is_clean());
}

/// That it is not there was written as what a copier rests on, and fell away against the caller's change of it.
#[tokio::test]
async fn a_batch_changes_nothing_that_is_gone_beside_one_that_copies_it() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let db = empty(mode).await;
        let mut read = db.insert(&team("Reds")).await.unwrap();
        db.delete(read.clone()).await.unwrap();
        let stage = stage(&db);
        stage.settle().await;
        read.title = "Blues".into();
        for saves in [true, false] {
            let mut batch = db.batch(Fan::in_partition("A"));
            batch.insert(&fan(0));
            if saves {
                batch.save(&mut read)
            } else {
                batch.delete(read.clone())
            };
            let refused = batch.commit().await.unwrap_err();
            let is_told = matches!(refused.kind(), ErrorKind::Conflict { .. } | ErrorKind::NotFound);
            assert!(is_told, "{mode:?}, {saves}: {refused:?}");
            assert_eq!(stage.entities().await.len(), 0, "{mode:?}, {saves}");
        }
    }
}

/// A program without an aggregate, an index or a list took what they hold for something that nobody wants.
#[tokio::test]
async fn a_release_before_repairs_nothing_that_only_a_later_one_keeps() {
    let mut undelivered = 0;
    for crash in 0..8 {
        let db = TestDatabase::new::<Model>().await.unwrap();
        db.insert(&team("Reds")).await.unwrap();
        db.insert(&person()).await.unwrap();
        let mut fan = db.insert(&fan(0)).await.unwrap();
        fan.nick = "Bee".into();
        db.fail(Script::new().at(crash, Fault::CrashAfter));
        let _ = db.save(&mut fan).await;
        db.fail(Script::new());
        let old = db.reopen::<<Before as Release>::Model>().await.unwrap();
        db.clock().advance(Duration::from_secs(3_600));
        let before = old.verify().await.unwrap();
        drop(old.repair().await.unwrap());
        let is_undelivered = |violation: &&Violation| violation.kind == ViolationKind::Undelivered;
        undelivered += before.violations.iter().filter(is_undelivered).count();
        assert!(before.violations.iter().all(|violation| is_undelivered(&violation)), "{:#?}", before.violations);
        let stage = stage(&db.reopen::<Model>().await.unwrap());
        stage.settle().await;
        assert_exact(&stage, &format!("died after call {crash}")).await;
        let team = Team::find().club("A").one(&stage.db).await.unwrap().expect("there");
        assert_eq!(team.members, 1, "died after call {crash}");
    }
    assert!(undelivered > 0, "all was delivered");
}

/// A program that knows of nobody who copies.
#[derive(Debug, TableModel)]
enum Lone {
    Sponsor(Sponsor),
}

#[tokio::test]
async fn a_relay_that_knows_no_copiers_leaves_them_to_others() {
    for crash in 0..8 {
        let db = TestDatabase::new::<Model>().await.unwrap();
        db.insert(&Sponsor { id: 0, name: "Acme".into(), tier: None, note: 0 }).await.unwrap();
        db.insert(&Fan { backer: Some(0), ..fan(0) }).await.unwrap();
        db.fail(Script::new().at(crash, Fault::CrashAfter));
        let _ = db.patch(Sponsor::find().id(0_u8), Sponsor::NAME.set("Bell")).await;
        db.fail(Script::new());
        let other = db.reopen::<Lone>().await.unwrap();
        db.clock().advance(Duration::from_secs(3_600));
        other.relay().run_once().await.unwrap();
        let _ = other.repair().await.unwrap();
        let stage = stage(&db.reopen::<Model>().await.unwrap());
        stage.settle().await;
        assert_exact(&stage, &format!("died after call {crash}")).await;
    }
}

/// A program whose teams copy, and that knows of nobody else who does, nor of any who count in them: the derive would ask for those.
pub(super) struct Teams;

impl TableModel for Teams {
    const ENTITIES: &'static [&'static EntitySchema] = &[Sponsor::SCHEMA, Team::SCHEMA];

    fn from_row(row: ModelRow) -> Result<Self> {
        row.unknown()
    }
}

/// A program that came later renames a sponsor, and dies at this call; the other's relay goes on by what it knows. How often that left a row.
async fn renamed_beside(old: &TestDatabase, crash: usize) -> u64 {
    let (told, new) = (format!("died after call {crash}"), old.reopen::<Model>().await.unwrap());
    new.ensure_tables().await.unwrap();
    new.insert(&Sponsor { id: 0, name: "Acme".into(), tier: None, note: 0 }).await.unwrap();
    new.insert(&Team { sponsor_id: Some(0), ..team("Reds") }).await.unwrap();
    new.insert(&Fan { backer: Some(0), ..fan(0) }).await.unwrap();
    new.fail(Script::new().at(crash, Fault::CrashAfter));
    let _ = new.patch(Sponsor::find().id(0_u8), Sponsor::NAME.set("Bell")).await;
    new.fail(Script::new());
    let (new, mut left) = (old.reopen::<Model>().await.unwrap(), 0);
    for _ in 0..4 {
        old.clock().advance(Duration::from_secs(15)); // its first rounds are before it looks at the states again
        let round = old.relay().run_once().await.unwrap();
        assert_eq!((round.failed, round.poisoned), (0, 0), "{told}");
        left += round.waiting;
    }
    let stage = stage(&new);
    stage.settle().await;
    assert_exact(&stage, &told).await;
    left
}

#[tokio::test]
async fn a_relay_that_ran_before_there_were_copiers_leaves_them_to_others() {
    let mut left = 0;
    for crash in 0..8 {
        left += renamed_beside(&TestDatabase::new::<Lone>().await.unwrap(), crash).await;
    }
    assert!(left > 0, "all was delivered");
}

#[tokio::test]
async fn a_relay_that_knows_some_copiers_leaves_the_others_to_others() {
    let mut left = 0;
    for crash in 0..8 {
        left += renamed_beside(&TestDatabase::new::<Teams>().await.unwrap(), crash).await;
    }
    assert!(left > 0, "all was delivered");
}

/// Nothing that it knows says that others count now in what nobody counted in.
#[tokio::test]
async fn a_program_that_ran_before_there_were_sources_repairs_no_total_of_theirs() {
    let old = TestDatabase::new::<Teams>().await.unwrap();
    old.insert(&team("Reds")).await.unwrap();
    let new = old.reopen::<Model>().await.unwrap();
    new.ensure_tables().await.unwrap();
    new.insert(&person()).await.unwrap();
    old.clock().advance(Duration::from_secs(61));
    drop(old.repair().await.unwrap());
    let team = Team::find().club("A").one(&new).await.unwrap().expect("there");
    assert_eq!((team.members, team.points), (1, 1));
    let stage = stage(&new);
    stage.settle().await;
    assert_exact(&stage, "repaired by a program without sources").await;
}

#[tokio::test]
async fn what_a_release_before_exports_is_built_anew_before_it_is_read() {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&team("Reds")).await.unwrap();
    db.insert(&Person { email: Some("a@x".into()), ..person() }).await.unwrap();
    db.insert(&fan(0)).await.unwrap();
    let mut lines = Vec::new();
    let old = db.reopen::<<Before as Release>::Model>().await.unwrap();
    old.export(&mut lines).await.unwrap();
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.drop_tables().await.unwrap();
    db.import(lines.as_slice()).await.unwrap();
    let db = db.reopen::<Model>().await.unwrap();
    db.ensure_tables().await.unwrap();
    let unready = Person::by_email().email("a@x").one(&db).await.unwrap_err();
    assert!(matches!(unready.kind(), ErrorKind::IndexNotReady { .. }), "{unready:?}");
    assert!(db.migrations().apply().await.unwrap().is_complete());
    let stage = stage(&db);
    stage.settle().await;
    assert_exact(&stage, "built anew").await;
}

pub(super) fn person() -> Person {
    Person {
        club: "A".into(),
        year: 2014,
        id: 1,
        name: "Ann".into(),
        zip: Some(7),
        active: true,
        seat: None,
        city: "Oslo".into(),
        skills: Vec::new(),
        email: None,
        points: 1,
        rate: None,
    }
}

/// The list had the key when it was read, and none when it was written: so it was left alone.
#[tokio::test]
async fn what_is_inserted_while_it_is_deleted_is_in_its_lists() {
    for mode in [Consistency::Azure, Consistency::Atomic] {
        let base = empty(mode).await;
        base.insert(&person()).await.unwrap();
        for at in 0.. {
            let db = base.fork().expect("in memory");
            let other = db.reopen::<Model>().await.unwrap();
            let delete = async move {
                let there = Person::find().club("A").year(2014).id(1).one(&other).await.unwrap();
                other.delete(there.expect("not deleted yet")).await.unwrap();
            };
            let program = Program::stalling_in::<Model>(mode, &db, at, delete.boxed()).await;
            let inserted = program.db.insert(&person()).await;
            if !program.has_stalled() {
                assert!(at > 1, "{at} calls");
                break;
            }
            assert!(at > 0 || inserted.is_ok(), "{mode:?}: {inserted:?}");
            let stage = stage(&db);
            stage.settle().await;
            assert_exact(&stage, &format!("{mode:?}, deleted before call {at}")).await;
        }
    }
}

/// The total had no source when it was read, and one when its entity was: taking one away and adding one seemed to change nothing.
#[tokio::test]
async fn what_replaces_an_entity_that_was_on_its_way_is_summed_up() {
    let base = TestDatabase::new::<Model>().await.unwrap();
    let first = base.insert(&Person { points: 0, ..person() }).await.unwrap();
    for at in 0.. {
        let db = base.fork().expect("in memory");
        let mut moved = first.clone();
        moved.id = 2;
        db.fail(Script::new().at(at, Fault::CrashAfter));
        let is_whole = db.rekey(&mut moved).await.is_ok();
        db.fail(Script::new());
        let db = db.reopen::<Model>().await.unwrap();
        db.clock().advance(Duration::from_secs(61));
        db.upsert(&Person { id: 2, points: 3, ..person() }).await.unwrap();
        let stage = stage(&db);
        stage.settle().await;
        assert_exact(&stage, &format!("died after call {at}")).await;
        if is_whole {
            assert!(at > 4, "{at} calls");
            break;
        }
    }
}

/// Another let it arrive and changed it, and the caller held what it had moved for current.
#[tokio::test]
async fn who_moved_an_entity_that_another_has_changed_since_does_not_write_over_it() {
    let base = TestDatabase::new::<Model>().await.unwrap();
    let first = base.insert(&person()).await.unwrap();
    let (find, mut met) = (|id: u32| Person::find().club("A").year(2014).id(id), 0);
    for at in 0.. {
        let db = base.fork().expect("in memory");
        let other = db.reopen::<Model>().await.unwrap();
        let renamed = Arc::new(AtomicBool::new(false));
        let renames = Arc::clone(&renamed);
        let meanwhile = async move {
            other.clock().advance(Duration::from_secs(61));
            other.relay().run_once().await.unwrap();
            let is_there = other.update(find(2), |p| Ok(p.name = "Eva".into())).await.is_ok();
            renames.store(is_there, Ordering::SeqCst);
        };
        let program = Program::stalling::<Model>(&db, at, meanwhile.boxed()).await;
        let mut moved = first.clone();
        moved.id = 2;
        let is_moved = program.db.rekey(&mut moved).await.is_ok();
        if is_moved && renamed.load(Ordering::SeqCst) {
            met += 1;
            moved.points = 9;
            let saved = program.db.save(&mut moved).await.unwrap_err();
            assert!(matches!(saved.kind(), ErrorKind::Conflict { .. }), "before call {at}: {saved:?}");
        }
        if !program.has_stalled() {
            assert!(met > 0, "of {at} calls");
            break;
        }
    }
}

/// Two relays deliver one outbox row. The one that comes later saw the entity later, and leaves a newer tombstone; the other says
/// which one is to be swept.
#[tokio::test]
async fn a_tombstone_of_a_relay_that_was_late_is_swept() {
    let base = TestDatabase::new::<Model>().await.unwrap();
    let first = base.insert(&fan(0)).await.unwrap();
    for at in 0.. {
        let db = base.fork().expect("in memory");
        let mut fan = first.clone();
        fan.nick = "Bee".into();
        db.fail(Script::new().at(3, Fault::CrashAfter)); // the outbox row is there, and nothing delivered
        let _ = db.save(&mut fan).await;
        let other = db.reopen::<Model>().await.unwrap();
        db.clock().advance(Duration::from_secs(61));
        let meanwhile = async move {
            other.relay().run_once().await.unwrap();
            other.update(Fan::find().club("A").id(0), |fan| Ok(fan.card = None)).await.unwrap();
        };
        let program = Program::stalling::<Model>(&db, at, meanwhile.boxed()).await;
        program.db.relay().run_once().await.unwrap();
        if !program.has_stalled() {
            assert!(at > 5, "{at} calls");
            break;
        }
        let stage = stage(&db);
        stage.settle().await;
        assert_exact(&stage, &format!("before call {at}")).await;
    }
}
