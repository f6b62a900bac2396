//! When commits wait for the disk: the durability of a store as bounds of time and bytes.
//!
//! Commits nothing itself.

use std::time::{Duration, Instant};

use super::engine::Sync;

/// What a commit waits for before it is acknowledged, and so what a crash may undo.
///
/// Whatever the choice, a crash (of the process or of the machine) leaves a prefix of the commits, each batch whole
/// or absent, and ETags never repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Every commit is on the disk before it is acknowledged: one sync for all writers waiting at that moment.
    ///
    /// A crash loses nothing acknowledged. After a crash during writing, or within a fifth of a second after it, the
    /// next open walks through the file (about 2 s per GB); otherwise it takes about a millisecond. Such a walk needs the whole file to be
    /// sound: where the disk has damaged a page before, it is `Corrupt`, though all else could be read until then; and
    /// damage to what the very last commit wrote is taken for a commit that did not end, and that one undone. (With `QuickReopen` such is told.)
    /// So ask [`check`](super::EmbeddedStore::check) now and then, and keep backups.
    #[default]
    Durable,
    /// As `Durable`, and every open after a crash takes about a millisecond.
    ///
    /// Two syncs for each commit: about half as many commits from one writer, nine tenths from 64.
    QuickReopen,
    /// Commits are acknowledged at once and reach the disk together, every tenth of a second or 16 MiB.
    ///
    /// A crash, also of the process alone, loses at most the commits of the last tenth of a second. The first commit after
    /// ten seconds without one waits for the disk all the same; and after a crash timestamps may be ten seconds ahead of the
    /// clock, since ETags do not repeat; of several within them each adds a hundredth of a second.
    Relaxed,
    /// As `Relaxed`, with bounds for loading much data: 5 seconds or 256 MiB.
    ///
    /// Call [`flush`](super::EmbeddedStore::flush) at the end of the load.
    Bulk,
}

/// Stamps recorded ahead where commits do not wait for the disk: those of ten seconds, which is more than may be off it.
const RESERVE: u64 = 10 * 10_000_000;

/// Of these, the part that is recorded ahead of the stamps given out at least: a hundred thousand.
const LEAST_SHARE: u64 = 1_000;

/// How long the queue must be empty before a recovery point is made.
const IDLE: Duration = Duration::from_millis(200);

impl Durability {
    /// How long and how much acknowledged data may be off the disk; `None` if not at all.
    const fn bounds(self) -> Option<(Duration, usize)> {
        match self {
            Self::Durable | Self::QuickReopen => None,
            Self::Relaxed => Some((Duration::from_millis(100), 16 << 20)),
            Self::Bulk => Some((Duration::from_secs(5), 256 << 20)),
        }
    }

    /// How many stamps are recorded as given out before they are: so that none is given out again after a crash that undoes
    /// commits. One beyond those waits for the disk.
    pub(super) fn reserve(self) -> u64 {
        self.bounds().map_or(0, |_| RESERVE)
    }
}

/// The highest stamp to record as given out, where `last` was, and so many are recorded ahead. Where those given out are ahead of the clock
/// already, as after a crash, it is little above them: else crashes would add up.
pub(super) fn recorded(last: u64, now: u64, reserve: u64) -> u64 {
    match reserve {
        0 => last,
        _ => now.saturating_add(reserve).max(last.saturating_add(reserve / LEAST_SHARE)),
    }
}

/// What is not yet on the disk, and when it must be.
#[derive(Debug)]
pub(super) struct Pace {
    durability: Durability,
    /// Since when, and how many bytes.
    unsynced: Option<(Instant, usize)>,
    /// Since when a crash would need a walk through the file.
    unsettled: Option<Instant>,
}

impl Pace {
    /// At an open: the file is on the disk and has its recovery point.
    pub(super) const fn new(durability: Durability) -> Self {
        Self { durability, unsynced: None, unsettled: None }
    }

    /// What a commit of `bytes` must wait for.
    pub(super) fn sync_for(&self, bytes: usize, flush: bool, now: Instant) -> Sync {
        match self.durability.bounds() {
            None if self.durability == Durability::QuickReopen => Sync::RecoveryPoint,
            None => Sync::Disk,
            Some(_) if flush => Sync::Disk,
            Some((time, most)) => match self.unsynced {
                Some((since, before)) if now >= since + time || before + bytes >= most => Sync::Disk,
                _ if bytes >= most => Sync::Disk,
                _ => Sync::Deferred,
            },
        }
    }

    /// Whether a commit that waits for `sync` may leave that to another thread: not where others are acknowledged before it is
    /// over, nor where there are two.
    pub(super) const fn may_leave(&self, sync: Sync) -> bool {
        matches!((self.durability, sync), (Durability::Durable, Sync::Disk))
    }

    /// Notes a commit of `bytes` that waited for `sync`.
    pub(super) fn committed(&mut self, bytes: usize, sync: Sync, now: Instant) {
        match sync {
            Sync::Deferred => {
                let (since, before) = self.unsynced.unwrap_or((now, 0));
                self.unsynced = Some((since, before + bytes));
            }
            Sync::Disk | Sync::RecoveryPoint => self.unsynced = None,
        }
        self.unsettled = (sync != Sync::RecoveryPoint).then_some(now);
    }

    /// Whether acknowledged data is off the disk.
    pub(super) const fn is_unsynced(&self) -> bool {
        self.unsynced.is_some()
    }

    /// Whether no commit came for long enough to make a recovery point.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.unsettled.is_some_and(|since| now >= since + IDLE)
    }

    /// When the store must see to its disk if no request comes before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let settle = self.unsettled.map(|since| since + IDLE);
        let bound = self.durability.bounds().zip(self.unsynced).map(|((time, _), (since, _))| since + time);
        settle.into_iter().chain(bound).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durable_commits_wait_and_settle_when_idle() {
        let (mut pace, now) = (Pace::new(Durability::Durable), Instant::now());
        assert_eq!(pace.sync_for(10, false, now), Sync::Disk);
        assert_eq!(pace.deadline(), None);
        pace.committed(10, Sync::Disk, now);
        assert_eq!(pace.deadline(), Some(now + IDLE));
        pace.committed(0, Sync::RecoveryPoint, now);
        assert_eq!(pace.deadline(), None);
    }

    #[test]
    fn relaxed_commits_wait_when_time_or_bytes_are_used_up() {
        let (mut pace, now) = (Pace::new(Durability::Relaxed), Instant::now());
        assert_eq!(pace.sync_for(10, false, now), Sync::Deferred);
        pace.committed(10, Sync::Deferred, now);
        assert!(pace.is_unsynced());
        assert_eq!(pace.deadline(), Some(now + Duration::from_millis(100)));
        assert_eq!(pace.sync_for(10, false, now + Duration::from_millis(99)), Sync::Deferred);
        assert_eq!(pace.sync_for(10, false, now + Duration::from_millis(100)), Sync::Disk);
        assert_eq!(pace.sync_for(16 << 20, false, now), Sync::Disk);
        assert_eq!(pace.sync_for(10, true, now), Sync::Disk);
        pace.committed(10, Sync::Disk, now);
        assert!(!pace.is_unsynced());
    }

    #[test]
    fn quick_reopen_makes_every_commit_a_recovery_point() {
        let (mut pace, now) = (Pace::new(Durability::QuickReopen), Instant::now());
        assert_eq!(pace.sync_for(10, false, now), Sync::RecoveryPoint);
        pace.committed(10, Sync::RecoveryPoint, now);
        assert_eq!(pace.deadline(), None);
    }
}
