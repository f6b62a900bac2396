//! Chunked values: texts and bytes beyond the 64 KiB of one property. Chunks stand in the entity's own row while it holds them
//! (1 MiB), else in parts behind it; beyond 4 MiB they are written in several batches and published by the last.
//! Cost: one range read; a write sends the rows that changed.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Articles", partition = "{section}", row = "{id:06}")]
#[table(index(by_title, row = "title_{title}_{id:06}", keys_only))]
struct Article {
    section: String,
    id: u32,
    title: String,
    reads: u32,
    #[table(chunked)]
    body: String,
    #[table(chunked)]
    scan: Option<Vec<u8>>,
}

#[derive(TableModel)]
enum Articles {
    Article(Article),
}

fn article(id: u32, words: usize, scan: Option<usize>) -> Article {
    let scan = scan.map(|bytes| vec![id as u8; bytes]);
    Article { section: "News".into(), id, title: format!("Article {id}"), reads: 0, body: "word ".repeat(words), scan }
}

fn told(what: &str, article: &Stored<Article>) {
    println!("{what}: {} characters, {} rows", article.body.chars().count(), article.etags().count());
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Articles>().await?;
    db.ensure_tables().await?;

    let short = db.insert(&article(1, 10, None)).await?;
    let long = db.insert(&article(2, 80_000, None)).await?;
    told("short", &short);
    told("long, in one row", &long);
    assert_eq!(long.etags().count(), 1);

    let mut scanned = db.insert(&article(3, 10, Some(3_000_000))).await?;
    told("with a scan of 3 MB, in one batch", &scanned);
    let large = db.insert(&article(4, 10, Some(20_000_000))).await?;
    told("with a scan of 20 MB, in several batches", &large);
    let found = Article::by_title().section("News").title("Article 4").id(4).one(&db).await?;
    assert!(found.as_deref() == Some(&article(4, 10, Some(20_000_000))));

    // The head alone is sent: the chunks stand in their parts.
    db.patch(Article::find().section("News").id(4), Article::READS.set(1_u32)).await?;

    scanned.scan = None;
    db.save(&mut scanned).await?;
    told("without the scan", &scanned);
    assert_eq!(scanned.etags().count(), 1, "its parts are gone");

    let refused = db.insert(&article(5, 10, Some(200_000_000))).await.map(drop);
    println!("{refused:?}");
    assert!(refused.is_err_and(|error| *error.kind() == ErrorKind::TooLarge));
    assert!(db.verify().await?.is_clean());
    Ok(())
}
