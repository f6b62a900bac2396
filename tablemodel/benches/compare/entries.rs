//! Inserts of an entity with three index rows beside it and two in other partitions: six rows, one wait for the disk.
//!
//! By hand they are six rows of six tables, written in one transaction.

use std::path::Path;

use tablemodel::{Database, TableEntity, TableModel};

use crate::{
    Result,
    employee::mixed,
    keyed::{Entry, Keyed},
    report::Figure,
    side::CACHE_BYTES,
    turns::Turns,
};

/// The names of the workloads.
pub(crate) const NAMES: [&str; 2] = ["insert of 6 rows, 1 task", "insert of 6 rows, 64 tasks"];
/// At least how fast it must be, as a share of the speed by hand.
const GOAL: f64 = 0.7;
const ROWS: u32 = 6;

/// A document.
#[expect(clippy::duplicated_attributes, reason = "indexes keep the same fields")]
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Documents", partition = "{folder}", row = "doc_{id:08}")]
#[table(index(by_title, row = "title_{title}_{id:08}", keys_only))]
#[table(index(by_author, row = "author_{author}_{id:08}", keep(title)))]
#[table(index(by_length, row = "length_{length:010}_{id:08}", keys_only))]
#[table(index(authors, table = "Authors", partition = "{author}", row = "{folder}_{id:08}", keep(title)))]
#[table(index(titles, table = "Titles", partition = "{title}", row = "{folder}_{id:08}", keys_only))]
struct Document {
    folder: String,
    id: u32,
    title: String,
    author: String,
    length: u32,
    text: String,
}

#[derive(TableModel)]
enum Library {
    Document(Document),
}

fn document(id: u32) -> Document {
    let bits = mixed(id.into());
    Document {
        folder: format!("folder {}", bits % 64),
        id,
        title: format!("Report {}", bits % 1_000_000),
        author: format!("Author {}", bits >> 32 & 0xFFF),
        length: (bits >> 40 & 0xFFFF) as u32,
        text: "Minutes of the meeting about the minutes of the meeting before it. ".repeat(3),
    }
}

/// Both workloads, where they are wanted.
pub(crate) async fn measure(directory: &Path, quick: bool, wants: impl Fn(&str) -> bool) -> Result<Vec<Figure>> {
    let ours = ours(&directory.join("documents.tablemodel")).await?;
    let by_hand = Keyed::open(&directory.join("documents.redb"))?;
    let mut figures = Vec::new();
    for ((workload, tasks), first) in NAMES.into_iter().zip([1, 64]).zip([0, 10_000_000]) {
        if !wants(workload) {
            continue;
        }
        let each = if quick { 4 } else { 1_024_u32.div_ceil(8 * tasks).max(16) };
        let turns = Turns { workload, entities: 0, goal: Some(GOAL), rounds: if quick { 2 } else { 21 } };
        let figure = turns.measure(
            async |round| {
                let db = ours.clone();
                let insert = move |id| {
                    let db = db.clone();
                    async move { Ok(db.insert(&document(id)).await.map(drop)?) }
                };
                spread(first + round * tasks * each, tasks, each, insert).await
            },
            async |round| {
                let tables = by_hand.clone();
                let insert = move |id| {
                    let tables = tables.clone();
                    async move { tables.insert(rows(&document(id))).await }
                };
                spread(first + round * tasks * each, tasks, each, insert).await
            },
        );
        figures.push(figure.await?);
    }
    Ok(figures)
}

/// Inserts so many by each of so many tasks; gives the number of rows.
async fn spread<F>(
    first: u32,
    tasks: u32,
    each: u32,
    insert: impl Fn(u32) -> F + Clone + Send + Sync + 'static,
) -> Result<u32>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let writers = (0..tasks).map(|task| {
        let insert = insert.clone();
        tokio::spawn(async move {
            for at in 0..each {
                insert(first + task * each + at).await?;
            }
            Ok::<_, crate::Error>(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(tasks * each * ROWS)
}

async fn ours(path: &Path) -> Result<Database> {
    let db = Database::builder().cache_bytes(CACHE_BYTES).open::<Library>(path).await?;
    db.ensure_tables().await?;
    Ok(db)
}

/// The same six rows, each in a table of its own.
fn rows(document: &Document) -> Vec<Entry> {
    let Document { folder, id, title, author, length, text } = document;
    let key = format!("{folder}/{id:08}");
    let mut value = 1_u64.to_le_bytes().to_vec();
    value.extend_from_slice(&length.to_le_bytes());
    for text in [title, author, text] {
        value.extend_from_slice(&(text.len() as u32).to_le_bytes());
        value.extend_from_slice(text.as_bytes());
    }
    let row = |table, key, value: &[u8]| Entry { table, key, value: value.to_vec() };
    let owner = key.as_bytes();
    vec![
        row("documents", key.clone(), &value),
        row("by title", format!("{folder}/{title}/{id:08}"), owner),
        row("by author", format!("{folder}/{author}/{id:08}"), title.as_bytes()),
        row("by length", format!("{folder}/{length:010}/{id:08}"), owner),
        row("authors", format!("{author}/{key}"), title.as_bytes()),
        row("titles", format!("{title}/{key}"), owner),
    ]
}
