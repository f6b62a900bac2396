//! Entities that many tasks write in every way at once: none of what they write is lost, and none is written over what nobody wrote.
//!
//! Each writes a stamp of its own, and says which one it has changed, so that the stamps of an entity are a chain.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use futures_util::future::join_all;
use tablemodel::{ErrorKind, prelude::*, testing::TestDatabase};

use crate::{
    crowds::program,
    migrate::{MODES, assert_clean, store_of},
    moves::together::Dice,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelves", partition = "{shop}", row = "slot_{id:03}")]
#[table(list(in_color, row = "l_{color}"))]
#[table(index(by_color, table = "Colors", partition = "{color}", row = "{shop}_{id:03}", keep(stamp)))]
#[table(count(Shelf, key(shop = shop), into = slots))]
#[table(sum(Shelf, key(shop = shop), of = stamp, into = stamps))]
#[table(count(Color, key(color = color), into = slots))]
struct Slot {
    shop: String,
    id: u32,
    stamp: i64,
    color: u32,
    note: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelves", partition = "{shop}", row = "shelf")]
struct Shelf {
    shop: String,
    motto: String,
    #[table(aggregate)]
    slots: i64,
    #[table(aggregate)]
    stamps: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Hues", partition = "{color}", row = "color")]
struct Color {
    color: u32,
    #[table(aggregate)]
    slots: i64,
}

/// One of each batch.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Shelves", partition = "{shop}", row = "s_{stamp:06}")]
struct Sale {
    shop: String,
    stamp: i64,
}

#[derive(TableModel)]
enum Model {
    Slot(Slot),
    Shelf(Shelf),
    Color(Color),
    Sale(Sale),
}

const TASKS: u64 = 32;
const SLOTS: u64 = 4;

/// What the tasks were told.
#[derive(Debug, Default)]
struct Told {
    /// Stamps that were written, of which slot.
    written: BTreeSet<(u32, i64)>,
    /// How often each was changed, or deleted.
    changed: BTreeMap<(u32, i64), u32>,
    /// Those that were written with a sale.
    sold: BTreeSet<i64>,
}

/// What a write did.
#[derive(Default)]
struct Done {
    /// The stamp that it has changed, if it knows.
    seen: Option<i64>,
    has_written: bool,
    has_sold: bool,
}

/// Of what was read before.
async fn write_read(db: &Database, dice: &mut Dice, new: &Slot, mut read: Stored<Slot>) -> tablemodel::Result<Done> {
    let (seen, kind) = (Some(read.stamp), dice.roll(3));
    if kind == 0 {
        return db.delete(read).await.map(|()| Done { seen, ..Done::default() });
    }
    *read = new.clone();
    if kind == 1 {
        return db.save(&mut read).await.map(|()| Done { seen, has_written: true, has_sold: false });
    }
    let (sale, motto) = (Sale { shop: "A".into(), stamp: new.stamp }, format!("{}", new.stamp));
    let mut batch = db.batch(Slot::in_partition("A"));
    batch.insert(&sale).save(&mut read).patch(Shelf::find().shop("A"), Shelf::MOTTO.set(motto));
    batch.commit().await.map(|()| Done { seen, has_written: true, has_sold: true })
}

async fn write(db: &Database, dice: &mut Dice, new: &Slot) -> tablemodel::Result<Done> {
    let path = || Slot::find().shop("A").id(new.id);
    let mut seen = None;
    let mut change = |slot: &mut Slot| {
        seen = (slot.stamp != 0).then_some(slot.stamp);
        *slot = new.clone();
        Ok(())
    };
    let stored = match dice.roll(8) {
        0 => db.insert(new).await?,
        1 => db.upsert(new).await?,
        2 | 3 => db.update(path(), change).await?,
        4 => db.update_or_insert(path(), || Slot { stamp: 0, ..new.clone() }, &mut change).await?,
        5 => {
            db.patch(path(), Slot::NOTE.set(format!("patched {}", new.stamp))).await?;
            return Ok(Done::default());
        }
        _ => match path().one(db).await? {
            Some(read) => return write_read(db, dice, new, read).await,
            None => return Ok(Done::default()),
        },
    };
    assert_eq!(stored.stamp, new.stamp, "each is given what it wrote");
    Ok(Done { seen, has_written: true, has_sold: false })
}

async fn live(db: &Database, seed: u64, task: u64, told: &Mutex<Told>) -> tablemodel::Result<()> {
    let mut dice = Dice(seed * 1_000 + task + 1);
    for round in 1..=6 {
        let stamp = task as i64 * 100 + round;
        let (id, color) = (dice.roll(SLOTS) as u32, dice.roll(2) as u32);
        let done = match write(db, &mut dice, &Slot { shop: "A".into(), id, stamp, color, note: String::new() }).await {
            Err(error) if is_of_others(error.kind()) => continue,
            done => done?,
        };
        let mut told = told.lock().unwrap();
        told.written.extend(done.has_written.then_some((id, stamp)));
        told.sold.extend(done.has_sold.then_some(stamp));
        if let Some(seen) = done.seen {
            *told.changed.entry((id, seen)).or_default() += 1;
        }
    }
    Ok(())
}

/// Whether another has inserted, changed or deleted it.
fn is_of_others(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::Conflict { .. })
}

async fn assert_told(db: &TestDatabase, told: &Told, of: &str) {
    assert_clean(db, of).await;
    for (at, times) in &told.changed {
        assert!(told.written.contains(at), "{of}: {at:?} was changed, and written by nobody");
        assert_eq!(*times, 1, "{of}: {at:?} was changed more than once, so that a write was lost");
    }
    let slots = Slot::find().shop("A").all(db).await.unwrap();
    for slot in &slots {
        let at = (slot.id, slot.stamp);
        assert!(told.written.contains(&at) && !told.changed.contains_key(&at), "{of}: {slot:?}");
        let seen = Slot::by_color().color(slot.color).shop("A").id(slot.id).one(db).await.unwrap();
        assert_eq!(seen.map(|seen| seen.stamp), Some(slot.stamp), "{of}");
    }
    let shelf = Shelf::find().shop("A").one(db).await.unwrap().expect("there");
    assert_eq!((shelf.slots, shelf.stamps), (slots.len() as i64, slots.iter().map(|slot| slot.stamp).sum()), "{of}");
    for number in 0..2 {
        let own = slots.iter().filter(|slot| slot.color == number).count();
        let color = Color::find().color(number).one(db).await.unwrap().expect("there");
        let listed = Slot::in_color().shop("A").color(number).keys(db).await.unwrap().len();
        assert_eq!((color.slots, listed), (own as i64, own), "{of}");
    }
    let sold: BTreeSet<_> = Sale::find().shop("A").all(db).await.unwrap().iter().map(|sale| sale.stamp).collect();
    assert_eq!(sold, told.sold, "{of}");
}

#[tokio::test]
async fn no_write_is_lost_where_many_write_one_entity_in_every_way() {
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (1..=2).map(move |seed| (mode, seed))) {
        let of = format!("{mode:?}, seed {seed}");
        let db = store_of::<Model>(mode).await;
        db.insert(&Shelf { shop: "A".into(), motto: String::new(), slots: 0, stamps: 0 }).await.unwrap();
        for color in 0..2 {
            db.insert(&Color { color, slots: 0 }).await.unwrap();
        }
        let (program, told) = (program::<Model>(&db).await, Mutex::default());
        for lived in join_all((0..TASKS).map(|task| live(&program, seed, task, &told))).await {
            lived.unwrap_or_else(|error| panic!("{of}: {error:?}"));
        }
        assert_told(&db, &told.into_inner().unwrap(), &of).await;
    }
}
