//! Tasks that are written together, and of which some go away and write again.

use tablemodel::{Consistency, prelude::*};
use tokio::task::{JoinSet, yield_now};

use super::{Pet, Visit, assert_exact, dice, pet, program, store, visit};
use crate::{dropped::dropped_after, migrate::MODES};

const TASKS: u32 = 20;

/// Whether tasks meet in one partition, or elsewhere.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Visits,
    Pets,
}

impl Kind {
    async fn upsert(self, db: &Database, id: u32, note: String, number: u32) -> tablemodel::Result<()> {
        match self {
            Self::Visits => db.upsert(&Visit { note, cents: number, ..visit(id) }).await.map(drop),
            Self::Pets => db.upsert(&Pet { note, town: number % 2, ..pet(id) }).await.map(drop),
        }
    }

    async fn patch(self, db: &Database, id: u32, note: String) -> tablemodel::Result<()> {
        match self {
            Self::Visits => db.patch(Visit::find().shop("A").id(id), Visit::NOTE.set(note)).await,
            Self::Pets => db.patch(Pet::find().id(id), Pet::NOTE.set(note)).await,
        }
    }

    async fn note(self, db: &Database, id: u32) -> Option<String> {
        match self {
            Self::Visits => Visit::find().shop("A").id(id).one(db).await.expect("read").map(|visit| visit.note.clone()),
            Self::Pets => Pet::find().id(id).one(db).await.expect("read").map(|pet| pet.note.clone()),
        }
    }

    /// One whose upserts are dropped, and who then writes something else; gives what is there instead some time later.
    async fn impatient(self, db: Database, seed: u32, id: u32) -> Option<String> {
        for round in 0..6 {
            let roll = |sides| dice(seed * 1_000 + id, round * 10 + sides, sides);
            let upsert = self.upsert(&db, id, format!("old {round}"), roll(9));
            let (done, _) = dropped_after(roll(160) as usize + 1, upsert).await;
            done.unwrap_or(Ok(())).expect("upserted");
            let new = format!("new {round}");
            self.patch(&db, id, new.clone()).await.expect("patched");
            for _ in 0..roll(200) {
                yield_now().await;
            }
            let there = self.note(&db, id).await;
            if there.as_ref() != Some(&new) {
                return Some(format!("{id}: {there:?}, and not {new}"));
            }
        }
        None
    }
}

#[tokio::test]
async fn what_one_wanted_who_went_away_is_not_written_over_what_it_wrote_since() {
    let kinds = MODES.map(|mode| (mode, Kind::Visits)).into_iter().chain([(Consistency::Atomic, Kind::Pets)]);
    for ((mode, kind), seed) in kinds.flat_map(|of| (0..6).map(move |seed| (of, seed))) {
        let db = store(mode).await;
        for id in 0..TASKS {
            kind.upsert(&db, id, String::new(), 0).await.unwrap();
        }
        let (ours, others) = (program(&db).await, program(&db).await);
        let told = format!("{mode:?}, {kind:?}, seed {seed}");
        let mut tasks = JoinSet::new();
        for id in 0..TASKS {
            tasks.spawn(kind.impatient(ours.clone(), seed, id));
        }
        // Another program sees to it that what is made together has to be made again.
        tasks.spawn(async move {
            for id in 50..80 {
                let _ = kind.upsert(&others, id, String::new(), 1).await; // it may lose each time
                for _ in 0..7 {
                    yield_now().await;
                }
            }
            None
        });
        while let Some(ended) = tasks.join_next().await {
            assert_eq!(ended.expect("no task panics"), None, "{told}");
        }
        assert_exact(&db, &told).await;
    }
}
