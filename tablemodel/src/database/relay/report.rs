//! What a round of a relay came to, as figures.
//!
//! Nothing is done here.

/// What one round of a relay did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RelayReport {
    /// Partitions looked at.
    pub partitions: u64,
    /// Outbox rows whose work was done.
    pub delivered: u64,
    /// Outbox rows whose work failed: they are tried again later. So are entities on their way to another key that cannot arrive while what
    /// keeps them is being [moved](crate::moves).
    pub failed: u64,
    /// Partitions whose outbox cannot be read, since a row of it is damaged, or was not read to its end, since what it holds took half
    /// the fence: they are tried again.
    pub unread: u64,
    /// Outbox rows that are not due yet: a writer may be at work on them, or an attempt failed not long ago. Those of newer
    /// versions too, of programs with indexes or copies that this one lacks, and work that only a later release has: a relay of such a program
    /// sees to them.
    pub waiting: u64,
    /// Outbox rows that failed too often: see [`Relay::poisoned`](crate::Relay::poisoned).
    pub poisoned: u64,
    /// Delivered outbox rows whose tombstones wait for the fence, or until the last outbox row of their entity is delivered too.
    pub fenced: u64,
    /// Delivered outbox rows whose tombstones were swept.
    pub swept: u64,
}

impl RelayReport {
    /// Whether every change has reached every row; tombstones may be left.
    pub fn is_settled(&self) -> bool {
        self.failed + self.unread + self.waiting + self.poisoned == 0
    }
}
