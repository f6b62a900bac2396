//! Many tasks that insert sources of one total, which is kept in one cell, or in parts.
//!
//! By hand the writer thread adds one to a number, in the commit that writes the rows.

use std::path::Path;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tablemodel::{Database, TableEntity, TableModel};

use crate::{
    Result,
    keyed::{Entry, Keyed},
    report::Figure,
    side::CACHE_BYTES,
    turns::Turns,
};

/// The names of the workloads.
pub(crate) const NAMES: [&str; 2] =
    ["insert sources of one total, 64 tasks", "insert sources of a total in parts, 64 tasks"];
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

#[derive(TableModel)]
enum Site {
    Visit(Visit),
    Page(Page),
}

/// Both workloads, where they are wanted.
pub(crate) async fn measure(directory: &Path, quick: bool, wants: impl Fn(&str) -> bool) -> Result<Vec<Figure>> {
    let (entities, rounds) = if quick { (256, 2) } else { (4_096, 9) };
    let all = i64::from((rounds + 1) * entities);
    let mut figures = Vec::new();
    for (workload, is_in_parts) in NAMES.into_iter().zip([false, true]).filter(|(name, _)| wants(name)) {
        let path = |side: &str| directory.join(format!("{is_in_parts}.{side}"));
        let turns = Turns { workload, entities, goal: None, rounds };
        let by_hand = Keyed::open(&path("redb"))?;
        let theirs = async |round| insert_by_hand(&by_hand, round * entities, entities).await;
        let counted = if is_in_parts {
            let db = opened::<parts::Site>(&path("tablemodel")).await?;
            let visit = |number| parts::Visit { site: "A".to_owned(), number, on: 1 };
            let ours = async |round| insert(&db, round * entities, entities, visit).await;
            figures.push(turns.measure(ours, theirs).await?);
            db.total(parts::Page::find().site("A").id(1), parts::Page::VISITS).await?
        } else {
            let db = opened::<Site>(&path("tablemodel")).await?;
            let visit = |number| Visit { site: "A".to_owned(), number, on: 1 };
            let ours = async |round| insert(&db, round * entities, entities, visit).await;
            figures.push(turns.measure(ours, theirs).await?);
            db.total(Page::find().site("A").id(1), Page::VISITS).await?
        };
        if (counted, by_hand.counted(ROWS, TOTAL)?) != (all, all) {
            return Err(format!("{counted} of {all} are counted").into());
        }
    }
    Ok(figures)
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

/// The same by hand: the row of a visit holds what ours does.
async fn insert_by_hand(tables: &Keyed, first: u32, inserts: u32) -> Result<u32> {
    let tasks = (first..first + inserts).map(|number| {
        let tables = tables.clone();
        let visit = Entry { table: ROWS, key: format!("A\0visit_{number:06}"), value: vec![1] };
        tokio::spawn(async move { tables.insert_counted(vec![visit], TOTAL).await })
    });
    all_of(tasks).await.map(|()| inserts)
}

async fn all_of(tasks: impl Iterator<Item = tokio::task::JoinHandle<Result<()>>>) -> Result<()> {
    stream::iter(tasks).buffer_unordered(TASKS).map(|done| done?).try_collect::<Vec<()>>().await.map(drop)
}
