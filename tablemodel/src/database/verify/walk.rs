//! The walk over the tables of the model: partitions of few rows are checked together, beside the reading of the next ones, and what is
//! found is told one by one, in the order of their keys.
//!
//! What is wrong with rows is told by `check` and `elsewhere`.

#[cfg(feature = "blob")]
use std::collections::HashMap;
use std::collections::{BTreeSet, HashSet};

use futures_util::{FutureExt, future::BoxFuture};
use tablemodel_store::{KeyRange, Query, Row, RowKey, StoreErrorKind};

use super::{Checkpoint, Verified, Verify, Violation, among, check::Check, owners::Owners};
use crate::{database::Database, error::Result};

/// How often a partition is read again that shows something else each time.
const READS: u32 = 5;
/// Rows of the partitions that are checked together, but for those of the last one.
const TOGETHER: usize = 1_000;

/// Partitions that are checked together.
#[derive(Default)]
struct Gathered {
    partitions: Vec<Vec<Row>>,
    rows: usize,
}

impl Gathered {
    /// The last row, if this one is of another partition.
    fn ends_before(&self, row: &Row) -> Option<&Row> {
        let last = self.partitions.last().and_then(|rows| rows.last());
        last.filter(|last| last.key.partition != row.key.partition)
    }

    fn take(&mut self, row: Row) {
        self.rows += 1;
        let is_new = self.ends_before(&row).is_some();
        match self.partitions.last_mut().filter(|_| !is_new) {
            Some(rows) => rows.push(row),
            None => self.partitions.push(vec![row]),
        }
    }
}

/// Partitions that are being looked through.
struct Begun {
    /// The last row of each.
    ends: Vec<RowKey>,
    rows: usize,
    checks: BoxFuture<'static, Result<Vec<Check>>>,
}

impl Verify<'_> {
    pub(super) async fn run(mut self) -> Result<Verified> {
        if self.db.may_have_moved() {
            Box::pin(self.db.look_at_states()).await?;
        }
        for schema in self.db.model().iter().copied() {
            self.db.0.registry.get(schema)?; // else its rows would be taken for nobody's
        }
        let mut verified = Verified::default();
        let tables: BTreeSet<_> = self.db.entity_tables();
        let from = self.from.take();
        for table in tables {
            let after = match &from {
                Some(checkpoint) if table < checkpoint.table.as_str() => continue,
                Some(checkpoint) if table == checkpoint.table => Some(checkpoint.after.clone()),
                _ => None,
            };
            self.table(table, after, &mut verified).await?;
            if verified.next.is_some() {
                break;
            }
        }
        Ok(verified)
    }

    async fn table(&mut self, table: &'static str, after: Option<RowKey>, verified: &mut Verified) -> Result<()> {
        let range = KeyRange::Table { after, before_partition: None };
        let mut query = Query::new(self.db.table_name(table), range);
        let (mut gathered, mut begun) = (Gathered::default(), None::<Begun>);
        loop {
            let page = match self.db.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(()),
                other => other?,
            };
            for row in page.rows {
                let read = begun.as_ref().map_or(0, |begun| begun.rows) + gathered.rows;
                let is_all = verified.rows + read as u64 >= self.rows;
                if (is_all || gathered.rows >= TOGETHER) && gathered.ends_before(&row).is_some() {
                    let next = self.begin(table, std::mem::take(&mut gathered), !is_all).await?;
                    self.end(table, begun.replace(next), true, verified).await?;
                    if is_all {
                        self.end(table, begun.take(), true, verified).await?;
                    }
                    if verified.next.is_some() {
                        return Ok(());
                    }
                }
                gathered.take(row);
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        self.end(table, begun, true, verified).await?;
        if verified.next.is_some() {
            return Ok(());
        }
        let last = self.begin(table, gathered, false).await?;
        self.end(table, Some(last), false, verified).await
    }

    /// Begins to look through whole partitions; as a task where more is read meanwhile.
    async fn begin(&mut self, table: &'static str, gathered: Gathered, goes_on: bool) -> Result<Begun> {
        let Gathered { partitions, rows } = gathered;
        let mut ends = Vec::with_capacity(partitions.len());
        ends.extend(partitions.iter().filter_map(|rows| rows.last()).map(|row| row.key.clone()));
        let partitions = self.db.with_all_readable_keys(table, partitions).await?;
        let (db, strict) = (self.db.clone(), self.strict);
        let looking = async move { looked_through(&db, table, partitions, strict) };
        let checks = if goes_on { self.beside.begin(looking) } else { looking.boxed() };
        Ok(Begun { ends, rows, checks })
    }

    /// Ends the checks of whole partitions. Where more follow, it may be enough after any of them.
    async fn end(
        &mut self,
        table: &'static str,
        begun: Option<Begun>,
        goes_on: bool,
        verified: &mut Verified,
    ) -> Result<()> {
        let Some(Begun { ends, checks, .. }) = begun else { return Ok(()) };
        let mut checks = checks.await?;
        self.db.check_elsewhere(&mut checks, &self.owners).await?;
        #[cfg(feature = "blob")]
        let mut of_blobs = {
            let links = checks.iter().filter(|_| !self.strict).flat_map(|check| check.links.iter().cloned()).collect();
            by_partition(self.db.check_links(table, links).await?)
        };
        let mut left = checks.len();
        for (check, after) in checks.into_iter().zip(ends) {
            let mut check = self.settled(table, &after.partition, check, verified).await?;
            verified.violations.append(&mut check.violations);
            #[cfg(feature = "blob")]
            verified.violations.extend(of_blobs.remove(&after.partition).unwrap_or_default());
            self.note(table, check, verified);
            left -= 1;
            if verified.rows >= self.rows && (goes_on || left > 0) {
                verified.next = Some(Checkpoint { table: table.to_owned(), after });
                return Ok(());
            }
        }
        Ok(())
    }

    /// The check of a partition: where something is wrong, once more on a fresh read, until that finds the same, or each row was right
    /// once.
    async fn settled(
        &mut self,
        table: &'static str,
        partition: &str,
        mut check: Check,
        verified: &mut Verified,
    ) -> Result<Check> {
        let mut confirmed = Vec::new();
        for attempt in 0..=READS {
            if check.violations.is_empty() {
                break;
            }
            if attempt == READS {
                let open = std::mem::take(&mut check.violations);
                verified.leave_open(open.into_iter().filter(|of| !self.is_of_kept_cell(of)).collect(), self.strict);
                break;
            }
            let rows = self.db.read_partition(table, partition).await?;
            let again = self.db.check_partition(table, rows, self.strict, &Owners::default()).await?;
            let before = std::mem::replace(&mut check, again).violations;
            let now = std::mem::take(&mut check.violations);
            let (same, others): (Vec<_>, Vec<_>) = now.into_iter().partition(among(&before));
            // A row of the others that was right once was written since, or is being written.
            let open: HashSet<&RowKey> = before.iter().map(|of| &of.key).collect();
            let is_told = among(&confirmed);
            check.violations = others.into_iter().filter(|of| open.contains(&of.key) && !is_told(of)).collect();
            drop(is_told);
            confirmed.extend(same);
        }
        check.violations = confirmed;
        Ok(check)
    }

    /// Of a walk before something is readable: whether a cell is another than its sources each time, and of an aggregate that was complete before.
    fn is_of_kept_cell(&self, of: &Violation) -> bool {
        let kept = |(target, property)| self.db.not_kept(target, property, false);
        self.strict && self.db.cell_of(of).map(kept).is_some_and(|not_kept| matches!(not_kept, Ok(None)))
    }

    /// Adds what a partition holds to the report.
    fn note(&mut self, table: &'static str, check: Check, verified: &mut Verified) {
        verified.rows += check.rows;
        verified.entities += check.entities;
        verified.derived += check.derived;
        verified.tombstones += check.tombstones;
        verified.pending += check.pending;
        verified.foreign += check.foreign;
        verified.litter.extend(check.litter.into_iter().map(|(key, etag)| (table, key, etag)));
        if let Some(progress) = &mut self.progress {
            progress(verified);
        }
    }
}

#[cfg(feature = "blob")]
fn by_partition(found: Vec<Violation>) -> HashMap<String, Vec<Violation>> {
    let mut of_each: HashMap<_, Vec<_>> = HashMap::new();
    for violation in found {
        of_each.entry(violation.key.partition.clone()).or_default().push(violation);
    }
    of_each
}

/// What partitions show by themselves, in their order.
fn looked_through(db: &Database, table: &'static str, partitions: Vec<Vec<Row>>, strict: bool) -> Result<Vec<Check>> {
    partitions.into_iter().map(|rows| Check::of(db, table, rows, strict)).collect()
}

impl Database {
    async fn with_all_readable_keys(&self, table: &str, mut partitions: Vec<Vec<Row>>) -> Result<Vec<Vec<Row>>> {
        for rows in &mut partitions {
            *rows = self.with_readable_keys(table, std::mem::take(rows)).await?;
        }
        Ok(partitions)
    }

    pub(super) async fn check_partition(
        &self,
        table: &'static str,
        rows: Vec<Row>,
        strict: bool,
        owners: &Owners,
    ) -> Result<Check> {
        let partitions = self.with_all_readable_keys(table, vec![rows]).await?;
        let mut checks = looked_through(self, table, partitions, strict)?;
        self.check_elsewhere(&mut checks, owners).await?;
        Ok(checks.pop().unwrap_or_default())
    }

    pub(super) async fn read_partition(&self, table: &str, partition: &str) -> Result<Vec<Row>> {
        Ok(self.query_all(Query::new(self.table_name(table), KeyRange::partition(partition))).await?)
    }
}
