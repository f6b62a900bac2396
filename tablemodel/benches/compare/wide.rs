//! Reading one wide entity: 365 counters, two rows of ours, one value by hand.
//!
//! Files of its own, since no employee is wide.

use std::path::Path;

use redb::{ReadableDatabase, TableDefinition};
use tablemodel::{Database, Path as _, TableEntity, TableModel};

use crate::{Result, employee::mixed, report::Figure, side::CACHE_BYTES, turns::Turns};

/// The name of the workload.
pub(crate) const NAME: &str = "read a 365-property wide entity";
/// Entities in a file.
const COUNT: u32 = 2_000;
const DAYS: usize = 365;
const YEARS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("years");

/// Messages on each day of a year.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Years", wide, partition = "{office}", row = "{id:08}")]
struct Year {
    office: String,
    id: u32,
    #[table(flatten)]
    day: [u32; DAYS],
}

#[derive(TableModel)]
enum Years {
    Year(Year),
}

fn year(id: u32) -> Year {
    let day = std::array::from_fn(|day| mixed(u64::from(id) << 32 | day as u64) as u32);
    Year { office: "Seattle".to_owned(), id, day }
}

/// Both sides in turn.
pub(crate) async fn measure(directory: &Path, quick: bool) -> Result<Figure> {
    let (rounds, reads) = if quick { (2, 200) } else { (21, 4_000) };
    let ours = ours(&directory.join("years.tablemodel")).await?;
    let by_hand = by_hand(&directory.join("years.redb"))?;
    let ids = |round: u32| {
        (0..reads).map(move |at| (mixed(u64::from(round) << 32 | u64::from(at)) % u64::from(COUNT)) as u32)
    };
    let turns = Turns { workload: NAME, entities: COUNT, goal: None, rounds };
    turns
        .measure(
            async |round| {
                for id in ids(round) {
                    let found = Year::find().office("Seattle").id(id).one(&ours).await?.ok_or("a year is missing")?;
                    check(id, &found.day)?;
                }
                Ok(reads)
            },
            async |round| {
                let snapshot = by_hand.begin_read()?.open_table(YEARS)?;
                for id in ids(round) {
                    let found = snapshot.get(id)?.ok_or("a year is missing")?;
                    check(id, &read(found.value())?)?;
                }
                Ok(reads)
            },
        )
        .await
}

async fn ours(path: &Path) -> Result<Database> {
    let db = Database::builder().cache_bytes(CACHE_BYTES).open::<Years>(path).await?;
    db.ensure_tables().await?;
    db.bulk().insert_all(futures_util::stream::iter((0..COUNT).map(year))).await?.into_result()?;
    Ok(db)
}

/// A version, then the days.
fn by_hand(path: &Path) -> Result<redb::Database> {
    let database = redb::Database::builder().set_cache_size(CACHE_BYTES).create(path)?;
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(YEARS)?;
        for id in 0..COUNT {
            let days = year(id).day.into_iter().flat_map(u32::to_le_bytes);
            let value: Vec<u8> = 1_u64.to_le_bytes().into_iter().chain(days).collect();
            table.insert(id, value.as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(database)
}

fn read(value: &[u8]) -> Result<[u32; DAYS]> {
    let (_version, days) = value.split_first_chunk::<8>().ok_or("a value is too short")?;
    let (days, _) = days.as_chunks::<4>();
    let mut read = [0; DAYS];
    read.iter_mut().zip(days).for_each(|(day, bytes)| *day = u32::from_le_bytes(*bytes));
    Ok(read)
}

fn check(id: u32, days: &[u32; DAYS]) -> Result<()> {
    let right = days.last() == Some(&(mixed(u64::from(id) << 32 | 364) as u32));
    if right { Ok(()) } else { Err("a side gave a wrong answer".into()) }
}
