//! Verification: walks every table of the model and proves that each entity has exactly its derived rows, wherever they
//! stand; and repair of what it finds.
//!
//! Online: what changes while it is walked, or is still on its way through the outbox, is looked at again before it is
//! reported. How tables are walked is `walk`'s, what a partition shows by itself is `check`'s, what several show is `elsewhere`'s, mending is
//! `repair`'s.

mod age;
mod check;
mod copies;
mod count;
mod elsewhere;
mod mend;
mod overdue;
mod owners;
mod readable;
mod relist;
mod repair;
mod walk;
mod wanted;

use std::{collections::HashMap, fmt, future::IntoFuture, pin::Pin};

use tablemodel_store::{ETag, RowKey};

pub use self::repair::{Repair, Repaired};
use self::{mend::Mend, owners::Owners};
use crate::{
    database::{Database, beside::Beside},
    error::Result,
};

/// What a walk found.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "what is wrong is reported here"]
pub struct Verified {
    /// Rows read.
    pub rows: u64,
    /// Primary rows among them.
    pub entities: u64,
    /// Derived rows and parts of entities among them.
    pub derived: u64,
    /// Rows that remember what was deleted, until they are swept.
    pub tombstones: u64,
    /// Outbox rows whose work is not done yet, and entities that move: rows of other partitions that they name are not
    /// reported.
    pub pending: u64,
    /// Rows of no type of the model, and of kinds that only a later release has.
    pub foreign: u64,
    /// What is wrong.
    pub violations: Vec<Violation>,
    /// Partitions in which each of several reads found something else wrong with the same row, since it was written all the while:
    /// what was wrong with that is not reported.
    pub unsettled: u64,
    /// Where to go on, if the walk stopped before the end.
    pub next: Option<Checkpoint>,
    /// Tombstones that a repair may take away, though nothing is wrong with them.
    litter: Vec<(&'static str, RowKey, ETag)>,
    /// What may be wrong with entities that were written all the while, and is right once they are written once more.
    restless: Vec<Violation>,
}

impl Verified {
    /// Takes note of what each of several reads found otherwise. Where all programs write what is asked for, an entity that is written
    /// once more has it.
    fn leave_open(&mut self, open: Vec<Violation>, strict: bool) {
        let (restless, others): (Vec<_>, Vec<_>) = open.into_iter().partition(|of| strict && of.mend.rewrites());
        self.unsettled += u64::from(!others.is_empty());
        self.restless.extend(restless);
    }

    /// Whether nothing is wrong, as far as could be told.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}

/// A row that is not as the model says.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The table, without the run-time prefix.
    pub table: String,
    /// The row, or where it should be.
    pub key: RowKey,
    /// What is wrong with it.
    pub kind: ViolationKind,
    /// The same in words.
    pub detail: String,
    /// What puts it right.
    mend: Mend,
}

impl Violation {
    /// One that only the user can put right.
    #[cfg(feature = "blob")]
    pub(super) fn unmendable(table: &str, key: RowKey, kind: ViolationKind, detail: String) -> Self {
        Self { table: table.to_owned(), key, kind, detail, mend: Mend::No }
    }

    /// The table and key of the row.
    fn row(&self) -> (&str, &RowKey) {
        (&self.table, &self.key)
    }
}

/// What can be wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ViolationKind {
    /// An entity lacks a derived row.
    Missing,
    /// A derived row belongs to no entity, or to one that does not want it.
    Dangling,
    /// A derived row holds other properties than its entity wants; or another program wrote an entity's row, of its first version, when all
    /// were written as a newer one already.
    Stale,
    /// A row cannot be read, or its key is not the key of its fields; or a part of an entity is missing.
    Corrupt,
    /// An entity of a version that this program does not write: of a newer program, or of an older one whose struct it does not name.
    UnknownVersion,
    /// A part of an entity that its head does not name, left by an interrupted write: nobody reads it.
    Orphan,
    /// A blob that an entity links is not there.
    MissingBlob,
    /// A blob that an entity links has another length, or is named as another row's; or the link is no name of a blob.
    DamagedBlob,
    /// An outbox row was not delivered, or a move not finished, for longer than the fence; or no relay will find it.
    Undelivered,
    /// A tombstone, or the outbox row by which it is swept, stands for longer than the fence, and nothing will sweep it.
    Leftover,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {} at {}: {}", self.kind, self.table, self.key, self.detail)
    }
}

/// How far a walk has come: good for this model, in any later run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The table, without the run-time prefix.
    pub table: String,
    /// The last row of the last partition that was checked.
    pub after: RowKey,
}

/// A walk over the tables, as it is asked for. Made by [`Database::verify`]; await it to run it.
#[must_use = "nothing is verified until it is awaited"]
pub struct Verify<'a> {
    db: Database,
    from: Option<Checkpoint>,
    rows: u64,
    /// Whether rows of an index that is written, and not readable yet, must be there too.
    strict: bool,
    progress: Option<Progress<'a>>,
    owners: Owners,
    beside: Beside,
}

/// What is told after each partition.
type Progress<'a> = Box<dyn FnMut(&Verified) + Send + 'a>;

impl fmt::Debug for Verify<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verify").field("from", &self.from).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Database {
    /// Walks every table of the model, and reports each row that is not as the model says.
    ///
    /// Cost: one request per 1,000 rows, and a point read for each row in another partition and for the entity of each (but few for the
    /// rows of an entity with many), 16 at a time; of the object store one for each blob that is linked, another for each move of one that is
    /// not where it was put, and each list in a blob as a whole; memory for the rows of two partitions, and 2,000 of small ones, which are
    /// checked together, within a runtime of tokio beside the reading of the next ones. Can run while the store is in use.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let verified = db.verify().await?;
    /// assert!(verified.is_clean());
    /// assert_eq!((verified.entities, verified.derived), (3, 3));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the store, and of an entity that the store keeps elsewhere than this program. Violations are not errors: they are in the
    /// report.
    pub fn verify<'a>(&self) -> Verify<'a> {
        Verify {
            db: self.clone(),
            from: None,
            rows: u64::MAX,
            strict: false,
            progress: None,
            owners: Owners::default(),
            beside: Beside::of_this_machine(),
        }
    }
}

impl<'a> Verify<'a> {
    /// Goes on where an earlier walk stopped.
    pub fn from(mut self, checkpoint: Checkpoint) -> Self {
        self.from = Some(checkpoint);
        self
    }

    /// Stops after about so many rows, at the end of a partition; [`Verified::next`] tells where to go on.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let mut verified = db.verify().rows(2).await?;
    /// while let Some(next) = verified.next {
    ///     verified = db.verify().from(next).rows(1_000).await?;
    /// }
    /// # Ok(())
    /// # });
    /// ```
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    /// Asks for the rows of an index that is written, and not readable yet, too; and not for blobs, of which no index is made.
    pub(in crate::database) fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Calls `report` after each partition, with what was found so far.
    pub fn progress(mut self, report: impl FnMut(&Verified) + Send + 'a) -> Self {
        self.progress = Some(Box::new(report));
        self
    }
}

/// Tells of a violation whether it is one of these.
fn among(found: &[Violation]) -> impl Fn(&Violation) -> bool {
    let mut of_rows: HashMap<&RowKey, Vec<&Violation>> = HashMap::new();
    for violation in found {
        of_rows.entry(&violation.key).or_default().push(violation);
    }
    move |violation| of_rows.get(&violation.key).is_some_and(|found| found.contains(&violation))
}

impl<'a> IntoFuture for Verify<'a> {
    type Output = Result<Verified>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Verified>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
