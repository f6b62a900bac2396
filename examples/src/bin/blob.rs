//! Blob: values too large for a row, kept beside the table with a link in the row; small ones stay in the row.
//! A blob is uploaded before its row is written, and what no row links is collected after a grace period.
//! Cost: a read of an entity fetches no blob; a new blob is one request before the write.

use std::time::Duration;

use futures_util::{TryStreamExt, stream};
use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
struct Employee {
    department: String,
    id: u32,
    #[table(blob(inline_below = 1024))]
    photo: Blob,
    #[table(blob)]
    film: Option<Blob>,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

fn employee(id: u32, photo: Vec<u8>) -> Employee {
    Employee { department: "Sales".into(), id, photo: photo.into(), film: None }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let folder = tempfile::tempdir().map_err(|error| tablemodel::Error::new(ErrorKind::Denied, error.to_string()))?;
    let file = folder.path().join("company.tablemodel");
    let db = Database::open::<Company>(&file).await?;
    db.ensure_tables().await?;

    db.insert(&employee(1, vec![1; 100])).await?;
    let frames = stream::iter((0..30_u8).map(|frame| Ok::<_, std::io::Error>(vec![frame; 1 << 20])));
    let film = Some(Blob::from_stream(frames)); // 30 MiB, of which 8 are in memory at a time
    let mut jones = db.insert(&Employee { film, ..employee(2, vec![2; 50_000]) }).await?;
    examples::print_rows(&db, "Company").await?;
    println!("blobs lie in {}.blobs", file.display());

    let mut length = 0;
    if let Some(film) = &jones.film {
        let mut pieces = film.stream(&db);
        while let Some(piece) = pieces.try_next().await? {
            length += piece.len();
        }
    }
    assert_eq!(length, 30 << 20);

    let before = jones.clone();
    jones.photo = vec![3; 60_000].into();
    db.save(&mut jones).await?;
    assert_eq!(before.photo.bytes(&db).await?.len(), 50_000, "one that read the entity before can still fetch");
    let collected = db.blobs().collect().await?;
    println!("{collected:?}");
    assert_eq!((collected.young, collected.deleted), (3, 0), "an hour has not passed");
    assert!(db.verify().await?.is_clean());
    db.close().await?;

    // Without a grace period, for the sake of the example: nothing else uses the database.
    let db = Database::builder().blob_grace(Duration::ZERO).open::<Company>(&file).await?;
    assert_eq!(db.blobs().collect().await?.waiting, 1);
    let collected = db.blobs().collect().await?;
    println!("{collected:?}");
    assert_eq!((collected.linked, collected.deleted, collected.deleted_bytes), (2, 1, 50_000));
    Ok(())
}
