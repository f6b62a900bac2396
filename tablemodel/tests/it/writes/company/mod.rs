//! Tasks that meet in a row are written together by one of them: each is told what it would be told alone, whoever else goes away or is
//! refused, and whatever the store does.
//!
//! On one thread, with every call of the store letting others go first: so that all have read before the first of them writes.

mod faults;
mod gone;
mod hampered;
mod mixed;
mod rekeys;
mod updates;

use std::{sync::Arc, time::Duration};

use futures_util::future::{join, join_all};
use tablemodel::{
    Consistency, Error, ErrorKind,
    prelude::*,
    store::TableStore,
    testing::{CallKind, Script, TestDatabase},
};

use super::turns::Steps;
use crate::{
    bulk_abreast::{Owner, Pet, Town},
    dropped::Slow,
    migrate::{MODES, assert_clean, store_of},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "shop")]
struct Shop {
    shop: String,
    #[table(aggregate)]
    visits: i64,
    #[table(aggregate)]
    spent: i64,
}

/// Meets others where it is counted and listed, beside it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "v_{id:05}")]
#[table(index(by_ticket, row = "t_{ticket:05}", unique, keys_only))]
#[table(list(of_day, row = "d_{day}"))]
#[table(count(Shop, key(shop = shop), into = visits))]
#[table(sum(Shop, key(shop = shop), of = cents, into = spent))]
struct Visit {
    shop: String,
    id: u32,
    ticket: u32,
    day: u32,
    cents: u32,
    note: String,
}

/// Meets nobody.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shops", partition = "{shop}", row = "n_{id:05}")]
struct Note {
    shop: String,
    id: u32,
    text: String,
}

#[derive(TableModel)]
enum Model {
    Owner(Owner),
    Town(Town),
    Pet(Pet),
    Shop(Shop),
    Visit(Visit),
    Note(Note),
}

fn pet(id: u32) -> Pet {
    Pet { id, chip: 1_000 + id, town: id % 2, owner: id % 3, note: String::new(), card: None }
}

fn visit(id: u32) -> Visit {
    Visit { shop: "A".into(), id, ticket: 1_000 + id, day: id % 2, cents: id, note: String::new() }
}

/// With two owners of three, and one town of two.
async fn store(mode: Consistency) -> TestDatabase {
    let db = store_of::<Model>(mode).await;
    db.insert(&Town { number: 0, pets: 0, last_chip: None }).await.unwrap();
    db.insert(&Shop { shop: "A".into(), visits: 0, spent: 0 }).await.unwrap();
    for number in 0..2 {
        db.insert(&Owner { number, name: format!("owner {number}") }).await.unwrap();
    }
    db
}

/// A program over the store, whose calls take their time.
async fn program(db: &TestDatabase) -> Database {
    let builder = Database::builder().consistency(db.consistency()).clock(Arc::new(db.clock().clone()));
    let store: Arc<dyn TableStore> = Slow::over(db.store());
    builder.sleep(Arc::new(Steps)).with_store::<Model>(store).await.unwrap()
}

/// That all derived rows say what these entities do, which are all that there are.
async fn assert_exact(db: &TestDatabase, told: &str) -> (Vec<Pet>, Vec<Visit>) {
    db.fail(Script::new());
    for _ in 0..20 {
        db.clock().advance(Duration::from_secs(60));
        if db.relay().run_once().await.unwrap().is_settled() {
            break;
        }
    }
    assert_clean(db, told).await;
    let (mut pets, mut visits) = (Vec::new(), Vec::new());
    for id in 0..100 {
        pets.extend(Pet::find().id(id).one(db).await.unwrap().map(|pet| (*pet).clone()));
        visits.extend(Visit::find().shop("A").id(id).one(db).await.unwrap().map(|visit| (*visit).clone()));
    }
    for pet in &pets {
        let name = (pet.owner < 2).then(|| format!("owner {}", pet.owner));
        assert_eq!(pet.card.as_ref().map(|card| card.name.clone()), name, "{told}: {pet:?}");
    }
    for number in 0..2 {
        let chips: Vec<_> = pets.iter().filter(|pet| pet.town == number).map(|pet| pet.chip).collect();
        let town = || Town::find().number(number);
        assert_eq!(db.total(town(), Town::PETS).await.unwrap(), chips.len() as i64, "{told}");
        assert_eq!(db.total(town(), Town::LAST_CHIP).await.unwrap(), chips.into_iter().max(), "{told}");
        let listed = Visit::of_day().shop("A").day(number).keys(db).await.unwrap().len();
        assert_eq!(listed, visits.iter().filter(|visit| visit.day == number).count(), "{told}");
    }
    let shop = Shop::find().shop("A").one(db).await.unwrap().unwrap();
    let spent = visits.iter().map(|visit| i64::from(visit.cents)).sum();
    assert_eq!((shop.visits, shop.spent), (visits.len() as i64, spent), "{told}");
    (pets, visits)
}

fn commits(db: &TestDatabase) -> usize {
    db.calls().iter().filter(|call| matches!(call.call, CallKind::Commit { .. })).count()
}

#[tokio::test]
async fn many_who_meet_are_few_commits() {
    for mode in MODES {
        let db = store(mode).await;
        let program = program(&db).await;
        db.forget_calls();
        for inserted in join_all((0..60).map(async |id| program.insert(&visit(id)).await)).await {
            inserted.unwrap();
        }
        // All of the first attempts, of which one is made; that of who has the first turn; and the others.
        assert!(commits(&db) <= 60 + 8, "{mode:?}: {} commits", commits(&db));
        assert_exact(&db, &format!("{mode:?}")).await;
    }
    let db = store(Consistency::Atomic).await;
    let program = program(&db).await;
    db.forget_calls();
    for inserted in join_all((0..60).map(async |id| program.insert(&pet(id)).await)).await {
        inserted.unwrap();
    }
    assert!(commits(&db) <= 60 + 8, "{} commits", commits(&db));
    assert_exact(&db, "pets").await;
}

#[tokio::test]
async fn each_is_told_of_its_own_change_and_may_change_it_again() {
    for mode in MODES {
        let db = store(mode).await;
        let program = program(&db).await;
        let told = format!("{mode:?}");
        let visits = join_all((0..60).map(async |id| program.insert(&visit(id)).await));
        let pets = join_all((0..60).map(async |id| program.insert(&pet(id)).await));
        let (visits, pets) = join(visits, pets).await;
        for (id, visited) in (0..).zip(visits) {
            let mut visited = visited.unwrap_or_else(|error| panic!("{told}: {error}"));
            assert_eq!(*visited, visit(id), "{told}");
            visited.cents += 1;
            db.save(&mut visited).await.unwrap_or_else(|error| panic!("{told}: {error}")); // its ETag is the one it has
        }
        for (id, inserted) in (0..).zip(pets) {
            let mut inserted = inserted.unwrap_or_else(|error| panic!("{told}: {error}"));
            assert_eq!((inserted.id, inserted.chip), (id, 1_000 + id), "{told}");
            inserted.chip += 1_000;
            db.save(&mut inserted).await.unwrap_or_else(|error| panic!("{told}: {error}"));
        }
        let (pets, visits) = assert_exact(&db, &told).await;
        assert_eq!((pets.len(), visits.len()), (60, 60), "{told}");
    }
}

#[tokio::test]
async fn who_is_refused_is_told_why_and_all_others_are_written() {
    for mode in MODES {
        let db = store(mode).await;
        db.insert(&visit(90)).await.unwrap();
        db.insert(&pet(90)).await.unwrap();
        let program = program(&db).await;
        let told = format!("{mode:?}");
        // The last three: a key that is there, a value that is, and one that another of them has.
        let unique = |id| match id {
            31 => 1_090,
            32 => 1_005,
            _ => 1_000 + id,
        };
        let visits = (0..30).chain([90, 31, 32]).map(|id| Visit { ticket: unique(id), ..visit(id) });
        let pets = (0..30).chain([90, 31, 32]).map(|id| Pet { chip: unique(id), ..pet(id) });
        let (visits, pets): (Vec<_>, Vec<_>) = (visits.collect(), pets.collect());
        let insert_visits = join_all(visits.iter().map(|visit| program.insert(visit)));
        let insert_pets = join_all(pets.iter().map(|pet| program.insert(pet)));
        let (visited, inserted) = join(insert_visits, insert_pets).await;
        let visited = visited.into_iter().map(|told| told.err()).collect::<Vec<_>>();
        let inserted = inserted.into_iter().map(|told| told.err()).collect::<Vec<_>>();
        for refused in [visited, inserted] {
            let kinds: Vec<_> = refused.iter().map(|error| error.as_ref().map(Error::kind)).collect();
            let is_violation = |at: usize| match kinds[at] {
                Some(ErrorKind::Unavailable) => mode == Consistency::Azure, // the other is about to take it
                kind => matches!(kind, Some(ErrorKind::UniqueViolation { .. })),
            };
            assert_eq!(kinds[30], Some(&ErrorKind::AlreadyExists), "{told}: {refused:?}");
            assert!(is_violation(31) && is_violation(5) != is_violation(32), "{told}: {refused:?}");
            assert_eq!(kinds.iter().flatten().count(), 3, "{told}: {refused:?}");
            for error in refused.iter().flatten() {
                assert_eq!(error.operation(), None, "{told}: {error:?}");
                assert!(error.key().is_some() && error.entity().is_some(), "{told}: {error:?}");
            }
            let key = refused[30].as_ref().and_then(|error| error.key()).expect("named").to_string();
            assert!(key.contains("00090"), "{told}: {key}");
        }
        let (pets, visits) = assert_exact(&db, &told).await;
        assert_eq!((pets.len(), visits.len()), (31, 31), "{told}");
    }
}

#[tokio::test]
async fn batches_go_together_each_of_them_all_or_nothing() {
    for mode in MODES {
        let db = store(mode).await;
        db.insert(&visit(90)).await.unwrap();
        let program = program(&db).await;
        let told = format!("{mode:?}");
        db.forget_calls();
        // Of the fifth the second change is refused.
        let commit = async |task: u32| {
            let mut seen = db.insert(&Note { shop: "A".into(), id: task, text: String::new() }).await?;
            seen.text.push_str("seen");
            let mut batch = program.batch(Visit::in_partition("A"));
            batch.insert(&visit(2 * task)).insert(&visit(if task == 5 { 90 } else { 2 * task + 1 })).save(&mut seen);
            batch.commit().await.map(|()| seen)
        };
        for (task, written) in (0..).zip(join_all((0..20).map(commit)).await) {
            match written {
                Ok(mut note) => {
                    note.text.push('!');
                    db.save(&mut note).await.unwrap_or_else(|error| panic!("{told}, {task}: {error}"));
                }
                Err(error) => {
                    assert_eq!((task, error.kind()), (5, &ErrorKind::AlreadyExists), "{told}: {error}");
                    assert_eq!(error.operation(), Some(1), "{told}: {error}");
                    assert_eq!(error.key().map(|key| key.row.as_str()), Some("v_00090"), "{told}: {error}");
                }
            }
        }
        // 20 notes, two of each batch that were too early and what was made together, in halves.
        assert!(commits(&db) <= 20 + 20 + 19 + 16, "{told}: {} commits", commits(&db));
        let (_, visits) = assert_exact(&db, &told).await;
        let there: Vec<_> = visits.iter().map(|visit| visit.id).collect();
        assert_eq!(there, (0..10).chain(12..40).chain([90]).collect::<Vec<_>>(), "{told}");
        for task in 0..20 {
            let note = Note::find().shop("A").id(task).one(&db).await.unwrap().expect("inserted");
            assert_eq!(note.text, if task == 5 { "" } else { "seen!" }, "{told}");
        }
    }
}

/// A number that looks like chance.
fn dice(seed: u32, number: u32, sides: u32) -> u32 {
    let mixed = seed.wrapping_mul(0x9E37_79B9) ^ number.wrapping_mul(0x85EB_CA6B);
    (mixed ^ (mixed >> 15)).wrapping_mul(0xC2B2_AE35).swap_bytes() % sides
}

/// One of many tasks, with a visit and a pet of its own: what it does succeeds, and leaves what it says.
async fn live(db: &Database, seed: u32, id: u32) -> tablemodel::Result<(Option<Visit>, Option<Pet>)> {
    let (mut visited, mut owned): (Option<Stored<Visit>>, Option<Stored<Pet>>) = (None, None);
    for round in 0..6 {
        let roll = |sides| dice(seed * 1_000 + id, round * 10 + sides, sides);
        let (day, cents, chip, town) = (roll(2), roll(90), 1_000 + id + 100 * roll(5), roll(3) % 2);
        visited = match visited.take() {
            None => Some(db.insert(&Visit { day, cents, ..visit(id) }).await?),
            Some(_) if roll(4) == 0 => Some(db.upsert(&Visit { day, cents, ..visit(id) }).await?),
            Some(mut visited) if roll(5) < 2 => {
                (visited.day, visited.cents) = (day, cents);
                db.save(&mut visited).await?;
                Some(visited)
            }
            Some(visited) if roll(7) == 0 => {
                db.delete(visited).await?;
                None
            }
            Some(_) => {
                db.patch(Visit::find().shop("A").id(id), Visit::NOTE.set(format!("r{round}"))).await?;
                let add = |visit: &mut Visit| Ok(visit.cents += 1);
                Some(db.update(Visit::find().shop("A").id(id), add).await?)
            }
        };
        owned = match owned.take() {
            None => Some(db.upsert(&Pet { chip, town, ..pet(id) }).await?),
            Some(owned) if roll(8) == 0 => {
                db.delete(owned).await?;
                None
            }
            Some(mut owned) if roll(6) < 3 => {
                (owned.chip, owned.town, owned.owner) = (chip, town, roll(3));
                db.save(&mut owned).await?;
                Some(owned)
            }
            Some(_) => Some(db.update(Pet::find().id(id), |pet| Ok(pet.note.push('.'))).await?),
        };
    }
    Ok((visited.map(|visited| (*visited).clone()), owned.map(|owned| (*owned).clone())))
}

#[tokio::test]
async fn writes_of_all_kinds_go_together_and_leave_what_each_said() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (0..4).map(move |seed| (mode, seed))) {
        let db = store(mode).await;
        let program = program(&db).await;
        let told = format!("{mode:?}, seed {seed}");
        let (mut pets, mut visits) = (Vec::new(), Vec::new());
        for lived in join_all((0..40).map(|id| live(&program, seed, id))).await {
            let (visited, owned) = lived.unwrap_or_else(|error| panic!("{told}: {error}"));
            visits.extend(visited);
            pets.extend(owned.map(|pet| Pet { card: None, ..pet }));
        }
        let (mut there, visited) = assert_exact(&db, &told).await;
        there.iter_mut().for_each(|pet| pet.card = None); // is looked at there; with a store of the second kind it comes later
        assert_eq!((there, visited), (pets, visits), "{told}");
    }
}
