//! Notes of any form, read by every path, and written by every operation.
//!
//! Of the forms of the module above.

use tablemodel::{ErrorKind, prelude::*};

use super::Notes;
use crate::moves::together::Dice;

/// Notes as the first program wrote them.
pub(crate) trait Before: TableEntity + Clone {
    type Model: TableModel;

    fn made(key: (&str, u32), value: (String, u32, i64)) -> Self;
}

/// A form of notes.
pub(crate) trait Kept: TableEntity + Clone + PartialEq + std::fmt::Debug {
    type Model: TableModel;

    fn made(key: (&str, u32), value: (String, u32, i64)) -> Self;

    fn place(&self) -> (String, u32);

    fn told(&self) -> (String, u32, i64);

    fn set(&mut self, value: (String, u32, i64));

    async fn one(db: &Database, key: (&str, u32), title: &str) -> tablemodel::Result<Option<Stored<Self>>>;

    async fn patch(db: &Database, key: (&str, u32), title: &str, stars: i64) -> tablemodel::Result<()>;

    /// Those of a partition, as each path gives them.
    async fn read(db: &Database, partition: &str) -> tablemodel::Result<Vec<Stored<Self>>>;

    /// How many the index elsewhere names there.
    async fn named(db: &Database, partition: &str) -> tablemodel::Result<usize>;

    async fn write_together(db: &Database, notes: &[Self]) -> tablemodel::Result<()>;
}

macro_rules! kept {
    ($note:ident, $model:ident, $partition:ident, $elsewhere:ident by $by:ident, |$key:ident, $title:ident| $path:expr) => {
        impl $crate::moves::several::Kept for $note {
            type Model = $model;

            fn made(key: (&str, u32), value: (String, u32, i64)) -> Self {
                Self::of(key.0, key.1, value)
            }

            fn place(&self) -> (String, u32) {
                (self.shelf.clone(), self.id)
            }

            fn told(&self) -> (String, u32, i64) {
                (self.title.clone(), self.pages, self.stars)
            }

            fn set(&mut self, value: (String, u32, i64)) {
                *self = Self::of(&self.shelf, self.id, value);
            }

            async fn one(db: &Database, $key: (&str, u32), $title: &str) -> tablemodel::Result<Option<Stored<Self>>> {
                $path.one(db).await
            }

            async fn patch(db: &Database, $key: (&str, u32), $title: &str, stars: i64) -> tablemodel::Result<()> {
                db.patch($path, $note::STARS.set(stars)).await
            }

            async fn read(db: &Database, partition: &str) -> tablemodel::Result<Vec<Stored<Self>>> {
                let found = $note::find().$partition(partition).all(db).await?;
                let scanned = $note::scan_partition(partition).all(db).await?;
                let rows = $model::rows($note::in_partition(partition)).all(db).await?;
                assert_eq!((scanned.len(), rows.len()), (found.len(), found.len()));
                for ((row, scanned), note) in rows.into_iter().zip(scanned).zip(&found) {
                    let $model::Note(row) = row;
                    assert_eq!((&row, &*scanned), (&**note, &**note));
                }
                assert_eq!($note::find().$partition(partition).count(db).await?, found.len() as u64);
                assert_eq!($note::sorted().$partition(partition).all(db).await?.len(), found.len());
                Ok(found)
            }

            async fn named(db: &Database, partition: &str) -> tablemodel::Result<usize> {
                Ok($note::$elsewhere().$by(partition).all(db).await?.len())
            }

            async fn write_together(db: &Database, notes: &[Self]) -> tablemodel::Result<()> {
                let Some(first) = notes.first() else { return Ok(()) };
                let mut batch = db.batch($note::in_partition(&first.$partition));
                notes.iter().for_each(|note| {
                    batch.upsert(note);
                });
                batch.commit().await.map(drop)
            }
        }
    };
}
pub(crate) use kept;

/// The notes of a form, by every path of it; each is whole.
pub(super) async fn notes<N: Kept>(db: &Database) -> tablemodel::Result<Notes> {
    let (mut notes, mut named) = (Notes::new(), 0);
    for partition in super::TITLES {
        for note in N::read(db, partition).await? {
            let (shelf, id) = note.place();
            assert_eq!(*note, N::made((&shelf, id), note.told()), "it is whole");
            notes.insert((shelf, id), note.told());
        }
        named += N::named(db, partition).await?;
    }
    assert_eq!(named, notes.len());
    Ok(notes)
}

/// Inserts it. Over what remembers that another was deleted, whether a lost reply was a refusal cannot be told: it is tried again.
async fn insert<N: Kept>(db: &Database, new: &N) -> tablemodel::Result<()> {
    match db.insert(new).await {
        Err(error) if *error.kind() == ErrorKind::OutcomeUnknown => match db.insert(new).await {
            Err(error) if *error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other.map(drop),
        },
        other => other.map(drop),
    }
}

/// One operation by chance, and what it means to the model. No other note than those of the model has its titles changed.
pub(super) async fn step<N: Kept>(db: &Database, dice: &mut Dice, model: &mut Notes) {
    let shelf = super::SHELVES[dice.roll(2) as usize];
    let (key, id) = ((shelf.to_owned(), dice.roll(8) as u32), |key: &(String, u32)| key.1);
    let title = super::TITLES[dice.roll(4) as usize].to_owned();
    let value = (title, dice.roll(6) as u32, dice.roll(100) as i64);
    let was = model.get(&key).cloned();
    let new = N::made((&key.0, id(&key)), value.clone());
    let old_title = was.as_ref().map_or("none", |(title, ..)| title).to_owned();
    let there = N::one(db, (&key.0, key.1), &old_title).await.expect("read");
    assert_eq!(there.as_deref().map(Kept::told), was);
    match (dice.roll(7), there) {
        (0, None) => insert(db, &new).await.expect("inserted"),
        (1, Some(mut there)) => {
            there.set((old_title, value.1, value.2));
            db.save(&mut there).await.expect("saved");
            model.insert(key, there.told());
            return;
        }
        (2, Some(there)) => {
            N::patch(db, (&key.0, key.1), &old_title, value.2).await.expect("patched");
            let (title, pages, _) = there.told();
            model.insert(key, (title, pages, value.2));
            return;
        }
        (3, Some(there)) => {
            db.delete(there).await.expect("deleted");
            model.remove(&key);
            return;
        }
        (4, Some(mut there)) => {
            there.set(value.clone());
            db.rekey(&mut there).await.expect("moved");
        }
        (5, None) => N::write_together(db, &[new]).await.expect("committed"),
        (6, None) => {
            let report = db.bulk().upsert_all(futures_util::stream::iter([new])).await.expect("begun");
            assert!(report.failed.is_empty(), "{report:?}");
        }
        (0, Some(mut there)) => {
            there.set((old_title.clone(), value.1, value.2));
            db.upsert(&*there).await.expect("upserted");
            model.insert(key, (old_title, value.1, value.2));
            return;
        }
        _ => return,
    }
    model.insert(key, value);
}
