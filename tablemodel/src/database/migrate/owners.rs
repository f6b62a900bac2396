//! Whose a range of a backfill is: one worker's, of whatever program, for half a minute after it last said so.
//!
//! A range is taken, kept, carried on and let go under its ETag alone, so that who has lost it learns of it. Times decide only
//! when another may try.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::try_join_all;
use tablemodel_store::StoreErrorKind;

use super::{
    backfill::Backfill,
    living::is_dead,
    patience::Patience,
    record::{self, Range},
    states::holds,
};
use crate::{
    database::{
        calls::ATTEMPTS,
        outbox::{is_race, later},
    },
    error::{Error, ErrorKind, Result},
};

/// For how long a range is its worker's, unless it says so again.
const OWNED: Duration = Duration::from_secs(30);
/// What is left of that when it does.
const LEFT: Duration = Duration::from_secs(20);

impl Backfill<'_, '_> {
    /// Sees to every range that nobody has, by so many workers. Whether all are done then. Who leads the migration waits for
    /// those that others have, and takes them over where those are gone.
    pub(super) async fn run(&self, workers: usize) -> Result<bool> {
        let mut patience = Patience::new(self.db().environment(), Duration::MAX);
        loop {
            let ranges = record::ranges(self.db(), &self.owned.id).await?;
            let done = ranges.iter().map(|range| range.touched + range.passed + range.failed).sum();
            self.sums(|sums| sums.done = done);
            if ranges.iter().all(|range| range.done) {
                return Ok(true);
            }
            let free: VecDeque<_> = ranges.into_iter().filter(|range| self.is_free(range)).collect();
            if !free.is_empty() {
                let queue = Mutex::new(free);
                try_join_all((0..workers.max(1)).map(|_| self.work(&queue))).await?;
                patience.renew();
            } else if !self.owned.leads {
                return Ok(false);
            } else if !patience.lasts().await {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    "another program has ranges of the migration; apply again",
                ));
            }
            self.owned.keep().await?;
            self.obey().await?;
            if self.is_stopped() {
                return Ok(false);
            }
        }
    }

    fn is_free(&self, range: &Range) -> bool {
        let is_own = range.owner.as_ref() == Some(&*self.owned.me); // left behind by a worker that has ended
        let is_live = range.owner.as_ref().is_some_and(|owner| !is_own && !is_dead(self.db(), owner));
        let is_held = is_live && holds(range.lease, self.owned.now(), OWNED);
        !range.done && !is_held
    }

    async fn work(&self, queue: &Mutex<VecDeque<Range>>) -> Result<()> {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(mut range) = next.filter(|_| !self.is_stopped()) else { return Ok(()) };
            range.owner = Some(self.owned.me.clone());
            if self.save(&mut range).await? {
                self.range(range).await?;
            }
        }
    }

    /// Says again that the range is this worker's, where that is due; whether it still was.
    pub(super) async fn hold(&self, range: &mut Range) -> Result<bool> {
        let is_due = later(self.owned.now(), LEFT) > range.lease;
        if is_due { self.save(range).await } else { Ok(true) }
    }

    /// Leaves the range to whoever goes on with it.
    pub(super) async fn let_go(&self, mut range: Range) -> Result<()> {
        range.owner = None;
        self.save(&mut range).await.map(drop)
    }

    /// Says how far the range is, and whose; whether it still was this worker's.
    pub(super) async fn save(&self, range: &mut Range) -> Result<bool> {
        for attempt in 0..ATTEMPTS {
            range.lease = later(self.owned.now(), OWNED);
            match self.db().commit_unleased(&[range.batch(self.db(), &self.owned.id)], attempt).await {
                Ok(receipts) => {
                    range.etag = receipts.first().and_then(|batch| batch.first()).and_then(|row| row.etag.clone());
                    return Ok(true);
                }
                Err(error) if is_race(error.kind()) => return self.reread(range).await,
                Err(error) if matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::OutcomeUnknown) => {
                    self.db().pause(attempt).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the cursor of a range could not be saved; apply again"))
    }

    /// Whether the range stands as it was to be written, since a reply was lost.
    async fn reread(&self, range: &mut Range) -> Result<bool> {
        let there =
            record::ranges(self.db(), &self.owned.id).await?.into_iter().find(|there| there.number == range.number);
        let Some(there) = there else { return Ok(false) };
        // Not its lease: an attempt whose reply was lost said another one.
        let is_same =
            Range { etag: None, lease: range.lease, ..there.clone() } == Range { etag: None, ..range.clone() };
        range.etag = there.etag;
        Ok(is_same)
    }
}
