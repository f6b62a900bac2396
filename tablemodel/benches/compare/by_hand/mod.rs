//! The peer: what a good engineer would write for this one entity directly on redb, with the same promises.
//!
//! One table and two index tables, one writer thread with group commit, unique check, removal of old index rows,
//! optimistic versions, reads from a snapshot that is kept. It knows nothing of tablemodel.

mod record;
mod snapshot;
mod writer;

use std::{
    collections::VecDeque,
    fmt,
    path::Path,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

use redb::{Database, TableDefinition};
use tokio::sync::oneshot;

use self::{
    record::Record,
    snapshot::Snapshots,
    writer::{Reply, Request, Write},
};
use crate::{Result, employee::Employee, side::Side};

const EMPLOYEES: TableDefinition<'static, u32, &'static [u8]> = TableDefinition::new("employees");
const BY_EMAIL: TableDefinition<'static, &'static str, u32> = TableDefinition::new("by_email");
const BY_LAST_NAME: TableDefinition<'static, (&'static str, u32), &'static [u8]> = TableDefinition::new("by_last_name");

/// Employees in one request of a bulk load.
const CHUNK: usize = 256;
/// Requests of a bulk load that wait at a time: as many employees as tablemodel has in flight.
const CHUNKS_IN_FLIGHT: usize = 132;

/// Employees kept in a redb file. Clones are one; the last one to go closes it.
#[derive(Clone)]
pub(crate) struct ByHand(Arc<Shared>);

struct Shared {
    snapshots: Arc<Snapshots>,
    queue: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

/// Why a write was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Exists,
    EmailTaken,
    Changed,
    Gone,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {self:?}")
    }
}

impl std::error::Error for Refused {}

impl ByHand {
    fn send(&self, write: Write) -> Result<oneshot::Receiver<Reply>> {
        let (reply, answer) = oneshot::channel();
        let queue = self.0.queue.as_ref().ok_or("closed")?;
        queue.send(Request { write, reply }).map_err(|_| "closed")?;
        Ok(answer)
    }

    async fn write(&self, write: Write) -> Result<std::result::Result<(), Refused>> {
        let answers = self.send(write)?.await??;
        answers.into_iter().next().ok_or_else(|| "no answer".into())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Side for ByHand {
    type Kept = (Employee, u64);

    async fn open(path: &Path, cache_bytes: usize) -> Result<Self> {
        let database = Database::builder().set_cache_size(cache_bytes).create(path)?;
        let first = database.begin_write()?;
        first.open_table(EMPLOYEES)?;
        first.open_table(BY_EMAIL)?;
        first.open_table(BY_LAST_NAME)?;
        first.commit()?;
        let snapshots = Arc::new(Snapshots::new(database));
        let (queue, requests) = mpsc::channel();
        let of_thread = Arc::clone(&snapshots);
        let thread = thread::Builder::new().spawn(move || writer::run(&of_thread, &requests))?;
        Ok(Self(Arc::new(Shared { snapshots, queue: Some(queue), thread: Some(thread) })))
    }

    async fn bulk(&self, employees: Vec<Employee>) -> Result<()> {
        let mut waiting = VecDeque::with_capacity(CHUNKS_IN_FLIGHT);
        for chunk in employees.chunks(CHUNK) {
            let records = chunk.iter().map(|employee| Record::new(employee, 1)).collect();
            waiting.push_back(self.send(Write::Insert(records))?);
            if waiting.len() >= CHUNKS_IN_FLIGHT
                && let Some(oldest) = waiting.pop_front()
            {
                oldest.await??.into_iter().collect::<std::result::Result<(), _>>()?;
            }
        }
        for answer in waiting {
            answer.await??.into_iter().collect::<std::result::Result<(), _>>()?;
        }
        Ok(())
    }

    async fn insert(&self, employee: Employee) -> Result<Self::Kept> {
        let version = 1;
        self.write(Write::Insert(vec![Record::new(&employee, version)])).await??;
        Ok((employee, version))
    }

    async fn get(&self, id: u32) -> Result<Option<Self::Kept>> {
        self.0.snapshots.current()?.get(id)
    }

    async fn by_email(&self, email: &str) -> Result<Option<Self::Kept>> {
        self.0.snapshots.current()?.by_email(email)
    }

    async fn range(&self, first: u32, last: u32) -> Result<Vec<Self::Kept>> {
        self.0.snapshots.current()?.range(first, last)
    }

    async fn emails_of(&self, last_name: &str) -> Result<Vec<String>> {
        self.0.snapshots.current()?.emails_of(last_name)
    }

    async fn rename(&self, id: u32, last_name: &str) -> Result<Self::Kept> {
        loop {
            let (mut employee, expected) = self.0.snapshots.current()?.get(id)?.ok_or(Refused::Gone)?;
            last_name.clone_into(&mut employee.last_name);
            let version = expected + 1;
            match self.write(Write::Replace { record: Record::new(&employee, version), expected }).await? {
                Ok(()) => return Ok((employee, version)),
                Err(Refused::Changed) => {}
                Err(refused) => return Err(refused.into()),
            }
        }
    }

    async fn delete(&self, (employee, expected): Self::Kept) -> Result<()> {
        Ok(self.write(Write::Delete { id: employee.id, expected }).await??)
    }

    async fn each(&self, see: impl FnMut(&Employee) + Send) -> Result<()> {
        let mut see = see;
        self.0.snapshots.current()?.each(|employee| see(&employee))
    }

    async fn close(self) -> Result<()> {
        drop(self);
        Ok(())
    }

    fn employee(kept: &Self::Kept) -> &Employee {
        &kept.0
    }
}
