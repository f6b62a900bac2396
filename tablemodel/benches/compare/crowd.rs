//! Many tasks that meet in one row: sources of a total, which is kept in one cell or in parts, and updates of one entity.
//!
//! By hand the writer thread adds one to a number, in the commit that writes the rows.

use std::path::Path;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tablemodel::{Database, Path as _, TableEntity, TableModel};

use crate::{
    Result,
    keyed::{Entry, Keyed},
    report::Figure,
    side::CACHE_BYTES,
    turns::Turns,
};

/// The names of the workloads.
pub(crate) const NAMES: [&str; 3] = [
    "insert sources of one total, 64 tasks",
    "insert sources of a total in parts, 64 tasks",
    "update one entity, 64 tasks",
];
const TASKS: usize = 64;
/// The table of the peer.
const ROWS: &str = "visits";
const TOTAL: &str = "total";

/// Pages whose visits are counted in parts.
mod parts {
    use tablemodel::{TableEntity, TableModel};

    #[derive(Debug, TableEntity)]
    #[table(name = "Site", partition = "{site}", row = "visit_{number:06}")]
    #[table(count(Page, key(site = site, id = on), into = visits))]
    pub(super) struct Visit {
        pub(super) site: String,
        pub(super) number: u32,
        pub(super) on: u8,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Site", partition = "{site}", row = "page_{id:03}", sharded(visits = i64))]
    pub(super) struct Page {
        site: String,
        id: u8,
    }

    #[derive(TableModel)]
    pub(super) enum Site {
        Visit(Visit),
        Page(Page),
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "Site", partition = "{site}", row = "visit_{number:06}")]
#[table(count(Page, key(site = site, id = on), into = visits))]
struct Visit {
    site: String,
    number: u32,
    on: u8,
}

#[derive(Debug, TableEntity)]
#[table(name = "Site", partition = "{site}", row = "page_{id:03}")]
struct Page {
    site: String,
    id: u8,
    #[table(aggregate)]
    visits: i64,
}

#[derive(Debug, TableEntity)]
#[table(name = "Site", partition = "{site}", row = "counter")]
struct Counter {
    site: String,
    number: i64,
}

#[derive(TableModel)]
enum Site {
    Visit(Visit),
    Page(Page),
    Counter(Counter),
}

/// The workloads, where they are wanted.
pub(crate) async fn measure(directory: &Path, quick: bool, wants: impl Fn(&str) -> bool) -> Result<Vec<Figure>> {
    let (entities, rounds) = if quick { (256, 2) } else { (4_096, 9) };
    let mut figures = Vec::new();
    for (number, workload) in (0..).zip(NAMES).filter(|(_, name)| wants(name)) {
        let by_hand = Keyed::open(&directory.join(format!("crowd{number}.redb")))?;
        let ours = directory.join(format!("crowd{number}.tablemodel"));
        let turns = Turns { workload, entities, goal: None, rounds };
        let (figure, counted) = match number {
            0 => sources_of_one(turns, &ours, &by_hand).await?,
            1 => sources_of_parts(turns, &ours, &by_hand).await?,
            _ => updates(turns, &ours, &by_hand).await?,
        };
        let all = i64::from((rounds + 1) * entities);
        if (counted, by_hand.counted(ROWS, TOTAL)?) != (all, all) {
            return Err(format!("{workload}: {counted} of {all} are counted").into());
        }
        figures.push(figure);
    }
    Ok(figures)
}

/// The figure, and what ours has counted.
type Counted = (Figure, i64);

async fn sources_of_one(turns: Turns, ours: &Path, by_hand: &Keyed) -> Result<Counted> {
    let db = opened::<Site>(ours).await?;
    let visit = |number| Visit { site: "A".to_owned(), number, on: 1 };
    let ours = async |round| insert(&db, round * turns.entities, turns.entities, visit).await;
    let figure = turns.measure(ours, async |round| counted_by_hand(by_hand, round, turns.entities, true).await).await?;
    Ok((figure, db.total(Page::find().site("A").id(1), Page::VISITS).await?))
}

async fn sources_of_parts(turns: Turns, ours: &Path, by_hand: &Keyed) -> Result<Counted> {
    let db = opened::<parts::Site>(ours).await?;
    let visit = |number| parts::Visit { site: "A".to_owned(), number, on: 1 };
    let ours = async |round| insert(&db, round * turns.entities, turns.entities, visit).await;
    let figure = turns.measure(ours, async |round| counted_by_hand(by_hand, round, turns.entities, true).await).await?;
    Ok((figure, db.total(parts::Page::find().site("A").id(1), parts::Page::VISITS).await?))
}

async fn updates(turns: Turns, ours: &Path, by_hand: &Keyed) -> Result<Counted> {
    let db = opened::<Site>(ours).await?;
    let path = || Counter::find().site("A");
    db.insert(&Counter { site: "A".to_owned(), number: 0 }).await?;
    let ours = async |_| {
        let tasks = (0..turns.entities).map(|_| {
            let db = db.clone();
            let add = |counter: &mut Counter| {
                counter.number += 1;
                Ok(())
            };
            tokio::spawn(async move { Ok(db.update(path(), add).await.map(drop)?) })
        });
        all_of(tasks).await.map(|()| turns.entities)
    };
    let figure =
        turns.measure(ours, async |round| counted_by_hand(by_hand, round, turns.entities, false).await).await?;
    let counter = path().one(&db).await?.ok_or("the counter is gone")?;
    Ok((figure, counter.number))
}

async fn opened<M: TableModel>(path: &Path) -> Result<Database> {
    let db = Database::builder().cache_bytes(CACHE_BYTES).open::<M>(path).await?;
    db.ensure_tables().await?;
    Ok(db)
}

/// Each in a task of its own, so many at once.
async fn insert<E>(db: &Database, first: u32, inserts: u32, visit: impl Fn(u32) -> E) -> Result<u32>
where
    E: TableEntity + Send + Sync + 'static,
{
    let tasks = (first..first + inserts).map(|number| {
        let (db, visit) = (db.clone(), visit(number));
        tokio::spawn(async move { Ok(db.insert(&visit).await.map(drop)?) })
    });
    all_of(tasks).await.map(|()| inserts)
}

/// The same by hand: the row of a visit, where there are some, holds what ours does.
async fn counted_by_hand(tables: &Keyed, round: u32, entities: u32, has_visits: bool) -> Result<u32> {
    let tasks = (round * entities..(round + 1) * entities).map(|number| {
        let tables = tables.clone();
        let visit = Entry { table: ROWS, key: format!("A\0visit_{number:06}"), value: vec![1] };
        let rows = has_visits.then_some(visit).into_iter().collect();
        tokio::spawn(async move { tables.insert_counted(rows, (ROWS, TOTAL)).await })
    });
    all_of(tasks).await.map(|()| entities)
}

async fn all_of(tasks: impl Iterator<Item = tokio::task::JoinHandle<Result<()>>>) -> Result<()> {
    stream::iter(tasks).buffer_unordered(TASKS).map(|done| done?).try_collect::<Vec<()>>().await.map(drop)
}
