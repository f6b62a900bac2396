//! Many tasks that insert sources of one total: kept in parts, beside kept in one cell.
//!
//! Both are ours: no work by hand is compared.

use std::path::Path;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tablemodel::{Database, TableEntity, TableModel};

use crate::{Result, report::Figure, side::CACHE_BYTES, turns::Turns};

/// The name of the workload.
pub(crate) const NAME: &str = "insert sources of one total, 64 tasks";
const TASKS: usize = 64;
/// Two writers meet in one of sixteen parts; what else a write takes is the same.
const GOAL: f64 = 2.0;

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

/// Sources written a second, in parts and in one cell.
pub(crate) async fn measure(directory: &Path, quick: bool) -> Result<Figure> {
    let (inserts, rounds) = if quick { (256, 2) } else { (4_096, 9) };
    let in_parts = opened::<parts::Site>(&directory.join("parts.tablemodel")).await?;
    let in_one = opened::<Site>(&directory.join("one.tablemodel")).await?;
    let figure = Turns { workload: NAME, entities: inserts, goal: Some(GOAL), rounds }.measure(
        async |round| {
            insert(&in_parts, round * inserts, inserts, |number| parts::Visit { site: "A".to_owned(), number, on: 1 })
                .await
        },
        async |round| {
            insert(&in_one, round * inserts, inserts, |number| Visit { site: "A".to_owned(), number, on: 1 }).await
        },
    );
    let figure = figure.await?;
    let all = i64::from((rounds + 1) * inserts);
    let counted = [
        in_parts.total(parts::Page::find().site("A").id(1), parts::Page::VISITS).await?,
        in_one.total(Page::find().site("A").id(1), Page::VISITS).await?,
    ];
    if counted == [all; 2] { Ok(figure) } else { Err(format!("{counted:?} of {all} are counted").into()) }
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
        tokio::spawn(async move { db.insert(&visit).await.map(drop) })
    });
    let inserted = stream::iter(tasks).buffer_unordered(TASKS).map(|done| done?.map_err(crate::Error::from));
    inserted.try_collect::<Vec<()>>().await?;
    Ok(inserts)
}
