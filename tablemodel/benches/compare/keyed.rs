//! Rows by text, written by hand on redb: tables of one file, a writer thread with group commit.
//!
//! The peer of entities that are several rows. It knows nothing of tablemodel.

use std::{
    path::Path,
    sync::{Arc, mpsc},
    thread,
};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use tokio::sync::oneshot;

use crate::{Result, side::CACHE_BYTES};

/// Requests that one commit takes at most.
const GROUP: usize = 256;

type Definition<'n> = TableDefinition<'n, &'static str, &'static [u8]>;

/// A row of a table.
pub(crate) struct Entry {
    pub(crate) table: &'static str,
    pub(crate) key: String,
    pub(crate) value: Vec<u8>,
}

struct Request {
    rows: Vec<Entry>,
    /// Whether the first must not exist.
    is_new: bool,
    /// Table and key of a number to which one is added.
    total: Option<(&'static str, &'static str)>,
    reply: oneshot::Sender<std::result::Result<(), String>>,
}

/// The tables of one file. Clones are one; the last one to go ends its thread.
#[derive(Clone)]
pub(crate) struct Keyed {
    database: Arc<Database>,
    queue: mpsc::Sender<Request>,
}

impl Keyed {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let database = Arc::new(Database::builder().set_cache_size(CACHE_BYTES).create(path)?);
        let (queue, requests) = mpsc::channel();
        let of_thread = Arc::clone(&database);
        thread::Builder::new().spawn(move || run(&of_thread, &requests))?;
        Ok(Self { database, queue })
    }

    /// Writes rows, all or none; the first must not exist.
    pub(crate) async fn insert(&self, rows: Vec<Entry>) -> Result<()> {
        self.write(rows, true, None).await
    }

    /// The same, if there are any, and adds one to the number at this key of a table.
    pub(crate) async fn insert_counted(&self, rows: Vec<Entry>, total: (&'static str, &'static str)) -> Result<()> {
        self.write(rows, true, Some(total)).await
    }

    /// Writes rows over what there is, all or none.
    pub(crate) async fn put(&self, rows: Vec<Entry>) -> Result<()> {
        self.write(rows, false, None).await
    }

    async fn write(&self, rows: Vec<Entry>, is_new: bool, total: Option<(&'static str, &'static str)>) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Request { rows, is_new, total, reply }).map_err(|_| "closed")?;
        Ok(answer.await??)
    }

    /// The values of rows of one table.
    pub(crate) fn values(&self, table: &'static str, keys: &[String]) -> Result<Vec<Vec<u8>>> {
        let table = self.database.begin_read()?.open_table(Definition::new(table))?;
        let value = |key: &String| Ok(table.get(key.as_str())?.ok_or("a row is missing")?.value().to_vec());
        keys.iter().map(value).collect()
    }

    /// What a number has come to.
    pub(crate) fn counted(&self, table: &'static str, total: &str) -> Result<i64> {
        let table = self.database.begin_read()?.open_table(Definition::new(table))?;
        count(table.get(total)?.as_ref().map(|value| value.value()))
    }

    /// The keys in a range of one table.
    pub(crate) fn keys(&self, table: &'static str, from: &str, until: &str) -> Result<Vec<String>> {
        let table = self.database.begin_read()?.open_table(Definition::new(table))?;
        table.range(from..until)?.map(|entry| Ok(entry?.0.value().to_owned())).collect()
    }
}

fn run(database: &Database, queue: &mpsc::Receiver<Request>) {
    while let Ok(first) = queue.recv() {
        let requests: Vec<_> = std::iter::once(first).chain(queue.try_iter()).take(GROUP).collect();
        let done = commit(database, &requests);
        for (at, request) in requests.into_iter().enumerate() {
            let answer = match &done {
                Ok(refused) if refused.contains(&at) => Err("the row exists".to_owned()),
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            };
            let _ = request.reply.send(answer);
        }
    }
}

/// Gives the requests that were refused.
fn commit(database: &Database, requests: &[Request]) -> Result<Vec<usize>> {
    let mut refused = Vec::new();
    let transaction = database.begin_write()?;
    for (at, request) in requests.iter().enumerate() {
        for (number, row) in request.rows.iter().enumerate() {
            let mut table = transaction.open_table(Definition::new(row.table))?;
            if number == 0 && request.is_new && table.get(row.key.as_str())?.is_some() {
                refused.push(at);
                break;
            }
            table.insert(row.key.as_str(), row.value.as_slice())?;
        }
        if let Some((table, total)) = request.total.filter(|_| !refused.contains(&at)) {
            let mut table = transaction.open_table(Definition::new(table))?;
            let before = count(table.get(total)?.as_ref().map(|value| value.value()))?;
            table.insert(total, (before + 1).to_le_bytes().as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(refused)
}

/// A number as it is kept; none is zero.
fn count(value: Option<&[u8]>) -> Result<i64> {
    Ok(value.map(|value| value.try_into().map(i64::from_le_bytes)).transpose()?.unwrap_or_default())
}
