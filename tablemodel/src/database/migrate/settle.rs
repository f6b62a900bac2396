//! Before an index is readable: the outbox is drained, what is to be counted is, and the tables are walked; what nobody wants is taken away, and what is
//! missing is written, until a walk finds nothing.
//!
//! The walk is `verify`'s, which takes an index that is being written for one that must be complete. Of a rewrite, no row of an
//! older version may be left.

use super::{
    counts::{Counted, count},
    record::Record,
    states::Owned,
    survey,
    targets::Targets,
    touch,
};
use crate::{
    database::{Violation, ViolationKind, calls::ATTEMPTS},
    error::{Error, ErrorKind, Result},
};

/// How often the tables are walked.
const ROUNDS: u32 = 5;
/// Rows of a walk after which the migration is kept.
const ROWS: u64 = 5_000;

/// What the walks did.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) scrubbed: u64,
    /// What is still wrong.
    pub(super) violations: Vec<Violation>,
    /// Partitions that were written too often to tell.
    unsettled: u64,
    /// Whether an entity that an older version wrote has come since: one that was on its way to another key.
    pub(super) left: bool,
}

/// Drains, counts, scrubs and checks; where nothing comes into being but new forms, drains alone.
pub(super) async fn settle(owned: &Owned, targets: &Targets, counted: &[Counted]) -> Result<Settled> {
    let mut settled = Settled::default();
    for _ in 0..ROUNDS {
        drain(owned).await?;
        count(owned, counted).await?;
        (settled.violations, settled.unsettled) = (Vec::new(), 0);
        if targets.build() {
            walk(owned, &mut settled).await?;
        }
        if settled.violations.is_empty() && settled.unsettled == 0 {
            break;
        }
    }
    owned.keep().await?;
    if settled.violations.is_empty() && settled.unsettled > 0 {
        let detail =
            format!("{} partitions are written more often than they can be checked; apply again", settled.unsettled);
        return Err(Error::new(ErrorKind::Unavailable, detail));
    }
    settled.left = survey::is_any_left(owned, &targets.rewritten()).await?;
    Ok(settled)
}

/// Tries once more what was set aside, where one walk finds rows that nobody wants: such a one may stand for a value that is free, since a
/// program without the index wrote its entity. Gives how much the walk put right.
pub(super) async fn free(owned: &Owned, record: &Record, counted: &[Counted]) -> Result<u64> {
    let mut settled = Settled::default();
    count(owned, counted).await?;
    walk(owned, &mut settled).await?;
    if settled.scrubbed > 0 {
        touch::retry(&owned.db, record).await?;
    }
    Ok(settled.scrubbed)
}

/// Walks until nothing is wrong with rows of these tables, as far as can be told, and puts right what can be. While others write.
pub(super) async fn scrub(owned: &Owned, is_concerned: impl Fn(&str) -> bool) -> Result<()> {
    let mut settled = Settled::default();
    for _ in 0..ROUNDS {
        (settled.violations, settled.unsettled) = (Vec::new(), 0);
        walk(owned, &mut settled).await?;
        settled.violations.retain(|of| is_concerned(&of.table));
        if settled.violations.is_empty() {
            return owned.keep().await;
        }
    }
    let first = settled.violations.first().map(|of| format!(", as {of}")).unwrap_or_default();
    let detail = format!(
        "{} rows are not as they should be{first}: see `verify`, put that right, and call it again",
        settled.violations.len()
    );
    Err(Error::new(ErrorKind::Unavailable, detail))
}

/// One walk: puts right what it finds.
async fn walk(owned: &Owned, settled: &mut Settled) -> Result<()> {
    let mut next = None;
    loop {
        let mut repair = owned.db.repair().strict().rows(ROWS);
        if let Some(checkpoint) = next.take() {
            repair = repair.from(checkpoint);
        }
        let round = repair.await?;
        settled.scrubbed += round.repaired;
        settled.unsettled += round.found.unsettled;
        settled.violations.extend(round.found.violations.into_iter().filter(concerns_indexes));
        owned.go_on().await?;
        match round.found.next {
            Some(checkpoint) => next = Some(checkpoint),
            None => return Ok(()),
        }
    }
}

/// Whether reads of an index could be wrong by it.
fn concerns_indexes(violation: &Violation) -> bool {
    match violation.kind {
        ViolationKind::Missing
        | ViolationKind::Dangling
        | ViolationKind::Stale
        | ViolationKind::Corrupt
        | ViolationKind::UnknownVersion => true,
        ViolationKind::Orphan
        | ViolationKind::MissingBlob
        | ViolationKind::DamagedBlob
        | ViolationKind::Undelivered
        | ViolationKind::Leftover => false,
    }
}

/// Delivers what the outbox holds now; what others write meanwhile is theirs to deliver. Where no outbox is written there is none.
pub(super) async fn drain(owned: &Owned) -> Result<()> {
    if owned.db.is_atomic() { Ok(()) } else { drain_all(owned).await }
}

/// The same, also of what was left in another mode.
pub(super) async fn drain_all(owned: &Owned) -> Result<()> {
    let mut failed = 0;
    for attempt in 0..ATTEMPTS {
        match owned.db.relay().hurry().await {
            Ok(report) if report.failed + report.unread + report.poisoned == 0 => return Ok(()),
            Ok(report) => failed = report.failed,
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::OutcomeUnknown) => {}
            Err(error) => return Err(error),
        }
        owned.db.pause(attempt).await;
    }
    Err(undelivered(failed, owned.call))
}

/// That the outbox is not empty, and what is to be done before the call is made again: that tries all of it, poisoned rows too.
fn undelivered(failed: u64, call: &str) -> Error {
    let what = match failed {
        0 => "outbox rows could not be read: see `db.verify()`".to_owned(),
        _ => format!(
            "{failed} outbox rows could not be delivered; no waiting mends those that `db.relay().poisoned()` lists: put right what \
             it says of each, or `discard` it"
        ),
    };
    Error::new(ErrorKind::Unavailable, format!("{what}; then call `{call}` again"))
}
