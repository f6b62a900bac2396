//! Bulk: many entities, grouped by partition and written in as many batches as that takes, several at once.
//! Not atomic as a whole: each batch is, and what could not be written is reported, entity by entity.
//! Cost: one request per 100 rows of a partition; at most 20,000 entities are held in memory, however long the stream.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Readings", partition = "{sensor}", row = "{second}")]
struct Reading {
    sensor: String,
    second: u32,
    value: f64,
}

#[derive(TableModel)]
enum Laboratory {
    Reading(Reading),
}

fn reading(number: u32) -> Reading {
    let sensor = ["north", "south", "east"].into_iter().cycle().nth(number as usize % 3).unwrap_or_default();
    Reading { sensor: sensor.to_owned(), second: number / 3, value: f64::from(number).sin() }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Laboratory>().await?;
    db.ensure_tables().await?;
    db.insert(&reading(42)).await?; // this one is there already

    let mut last = 0;
    let readings = (0..3_000).map(reading);
    let report = db.bulk().progress(|written| last = written).insert_iter(readings).await?;
    println!("{} written in {} batches; refused: {:?}", report.written, report.batches, report.failed);
    assert_eq!((report.written, report.failed.len()), (2_999, 1), "the one that was there, and no other, is refused");
    assert!(report.failed.iter().all(|error| *error.kind() == ErrorKind::AlreadyExists));
    assert_eq!(last, 2_999, "progress was told to the end");

    let again = db.bulk().upsert_iter((0..3_000).map(reading)).await?.into_result()?;
    println!("{} replaced in {} batches", again.written, again.batches);
    assert_eq!(again.written, 3_000);
    assert_eq!(Reading::find().sensor("north").count(&db).await?, 1_000);
    Ok(())
}
