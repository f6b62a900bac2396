//! The writer thread: takes what waits, writes it in one transaction, acknowledges it after the commit.
//!
//! The only thread that writes. Each write is checked before its first change, so a refused one changes nothing.

use std::sync::{Arc, mpsc::Receiver};

use redb::{ReadableTable, Table, WriteTransaction};
use tokio::sync::oneshot;

use super::{BY_EMAIL, BY_LAST_NAME, EMPLOYEES, Refused, record, record::Record, snapshot::Snapshots};
use crate::Result;

/// Requests that one commit takes at most.
const GROUP: usize = 256;
/// Employees of requests at which a commit takes no more: as many as tablemodel's 512 batches of a bulk load hold.
const GROUP_RECORDS: usize = 16_896;

/// What is asked of the writer.
pub(super) enum Write {
    /// Each must not exist; each is written or refused by itself.
    Insert(Vec<Record>),
    /// It must still have this version.
    Replace { record: Record, expected: u64 },
    /// It must still have this version.
    Delete { id: u32, expected: u64 },
}

impl Write {
    fn records(&self) -> usize {
        match self {
            Self::Insert(records) => records.len(),
            Self::Replace { .. } | Self::Delete { .. } => 1,
        }
    }
}

/// The answer: one for each record.
pub(super) type Reply = std::result::Result<Vec<std::result::Result<(), Refused>>, String>;

/// A write, and where to answer.
pub(super) struct Request {
    pub(super) write: Write,
    pub(super) reply: oneshot::Sender<Reply>,
}

/// Works until all senders are gone.
pub(super) fn run(snapshots: &Arc<Snapshots>, queue: &Receiver<Request>) {
    while let Ok(first) = queue.recv() {
        let (mut requests, mut records) = (Vec::new(), 0);
        let mut next = Some(first);
        while let Some(request) = next {
            records += request.write.records();
            requests.push(request);
            next = if requests.len() < GROUP && records < GROUP_RECORDS { queue.try_recv().ok() } else { None };
        }
        let (writes, waiting): (Vec<_>, Vec<_>) =
            requests.into_iter().map(|request| (request.write, request.reply)).unzip();
        let done = commit(snapshots, writes);
        snapshots.renew();
        match done {
            Ok(replies) => waiting.into_iter().zip(replies).for_each(|(to, reply)| drop(to.send(Ok(reply)))),
            Err(error) => waiting.into_iter().for_each(|to| drop(to.send(Err(error.to_string())))),
        }
    }
}

fn commit(snapshots: &Snapshots, writes: Vec<Write>) -> Result<Vec<Vec<std::result::Result<(), Refused>>>> {
    let transaction = snapshots.database.begin_write()?;
    let replies = {
        let mut tables = Tables::open(&transaction)?;
        writes.into_iter().map(|write| tables.write(write)).collect::<Result<_>>()?
    };
    transaction.commit()?;
    Ok(replies)
}

struct Tables<'t> {
    employees: Table<'t, u32, &'static [u8]>,
    by_email: Table<'t, &'static str, u32>,
    by_last_name: Table<'t, (&'static str, u32), &'static [u8]>,
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self> {
        Ok(Self {
            employees: transaction.open_table(EMPLOYEES)?,
            by_email: transaction.open_table(BY_EMAIL)?,
            by_last_name: transaction.open_table(BY_LAST_NAME)?,
        })
    }

    fn write(&mut self, write: Write) -> Result<Vec<std::result::Result<(), Refused>>> {
        match write {
            Write::Insert(records) => records.iter().map(|record| self.insert(record)).collect(),
            Write::Replace { record, expected } => Ok(vec![self.replace(&record, expected)?]),
            Write::Delete { id, expected } => Ok(vec![self.delete(id, expected)?]),
        }
    }

    fn insert(&mut self, record: &Record) -> Result<std::result::Result<(), Refused>> {
        if self.employees.get(record.id)?.is_some() {
            return Ok(Err(Refused::Exists));
        }
        if self.by_email.get(record.email.as_str())?.is_some() {
            return Ok(Err(Refused::EmailTaken));
        }
        self.employees.insert(record.id, record.value.as_slice())?;
        self.by_email.insert(record.email.as_str(), record.id)?;
        self.by_last_name.insert((record.last_name.as_str(), record.id), record.card.as_slice())?;
        Ok(Ok(()))
    }

    fn replace(&mut self, record: &Record, expected: u64) -> Result<std::result::Result<(), Refused>> {
        let (email, last_name) = match self.current(record.id, expected)? {
            Ok(old) => old,
            Err(refused) => return Ok(Err(refused)),
        };
        if email != record.email {
            if self.by_email.get(record.email.as_str())?.is_some() {
                return Ok(Err(Refused::EmailTaken));
            }
            self.by_email.remove(email.as_str())?;
            self.by_email.insert(record.email.as_str(), record.id)?;
        }
        if last_name != record.last_name {
            self.by_last_name.remove((last_name.as_str(), record.id))?;
        }
        self.by_last_name.insert((record.last_name.as_str(), record.id), record.card.as_slice())?;
        self.employees.insert(record.id, record.value.as_slice())?;
        Ok(Ok(()))
    }

    fn delete(&mut self, id: u32, expected: u64) -> Result<std::result::Result<(), Refused>> {
        let (email, last_name) = match self.current(id, expected)? {
            Ok(old) => old,
            Err(refused) => return Ok(Err(refused)),
        };
        self.employees.remove(id)?;
        self.by_email.remove(email.as_str())?;
        self.by_last_name.remove((last_name.as_str(), id))?;
        Ok(Ok(()))
    }

    /// The email and last name of the stored employee, if it has this version.
    fn current(&self, id: u32, expected: u64) -> Result<std::result::Result<(String, String), Refused>> {
        let Some(value) = self.employees.get(id)? else { return Ok(Err(Refused::Gone)) };
        if record::version(value.value())? != expected {
            return Ok(Err(Refused::Changed));
        }
        let (email, last_name) = record::indexed(value.value()).ok_or("a value cannot be read")?;
        Ok(Ok((email.to_owned(), last_name.to_owned())))
    }
}
