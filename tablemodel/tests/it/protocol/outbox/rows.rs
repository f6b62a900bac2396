//! The rows of the outbox's model: primaries and their tombstones, entries in other partitions, outbox rows.
//!
//! Reads and conditional writes only; who does what when is the actors' business.

use std::fmt::{self, Debug};

/// Entities; each has its own partition.
pub(crate) const ENTITIES: usize = 2;
/// Values an entity may have; each wants one entry.
pub(crate) const VALUES: usize = 3;
/// Writes in all.
pub(crate) const WRITES: usize = 4;
/// Half-fences after which a tombstone may go.
pub(crate) const FENCE: u8 = 2;

/// A primary row. Sequence numbers stand for ticks: what matters is their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Primary {
    Absent,
    Live {
        value: u8,
        seq: u8,
    },
    /// `age`: half-fences since it was written or, if later, since its last outbox row went.
    Dead {
        seq: u8,
        age: u8,
    },
}

impl Primary {
    pub(crate) fn value(self) -> Option<u8> {
        if let Self::Live { value, .. } = self { Some(value) } else { None }
    }

    pub(crate) fn seq(self) -> Option<u8> {
        match self {
            Self::Absent => None,
            Self::Live { seq, .. } | Self::Dead { seq, .. } => Some(seq),
        }
    }
}

/// An index row in another partition; a tombstone if not live.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) seq: u8,
    pub(crate) live: bool,
    pub(crate) age: u8,
    /// Whose entry it is; bits, since a row shared against the rules has several.
    pub(crate) owners: u8,
}

/// `{entity, affected entries, sequence}`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Intent {
    pub(crate) entity: u8,
    pub(crate) seq: u8,
    /// Values whose entries may be affected, as bits.
    pub(crate) affected: u8,
}

/// What the clocks of the writers may say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Clock {
    /// The highest number given to the entity: now, one and two half-fences ago.
    pub(crate) top: [u8; 3],
}

/// All rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    pub(crate) primary: [Primary; ENTITIES],
    pub(crate) entry: [[Option<Entry>; VALUES]; ENTITIES],
    pub(crate) outbox: [Option<Intent>; WRITES],
    pub(crate) clock: [Clock; ENTITIES],
    /// The operation ids on each live primary, as bits.
    pub(crate) ops: [u8; ENTITIES],
}

impl Rows {
    /// No entity yet, and clocks that begin.
    pub(crate) fn empty() -> Self {
        Self {
            primary: [Primary::Absent; ENTITIES],
            entry: [[None; VALUES]; ENTITIES],
            outbox: [None; WRITES],
            clock: [Clock::default(); ENTITIES],
            ops: [0; ENTITIES],
        }
    }

    /// An entity with its entry delivered.
    pub(crate) fn with(mut self, entity: u8, value: u8) -> Self {
        let e = usize::from(entity);
        self.primary[e] = Primary::Live { value, seq: 1 };
        self.entry[e][usize::from(value)] = Some(Entry { seq: 1, live: true, age: 0, owners: 1 << entity });
        self.clock[e].top = [1; 3];
        self
    }

    pub(crate) fn has_outbox(&self, entity: usize) -> bool {
        self.outbox.iter().flatten().any(|intent| usize::from(intent.entity) == entity)
    }

    /// Half a fence passes.
    pub(crate) fn tick(&mut self, primaries_wait_for_delivery: bool) {
        for e in 0..ENTITIES {
            let waits = primaries_wait_for_delivery && self.has_outbox(e);
            if let Primary::Dead { age, .. } = &mut self.primary[e] {
                *age = if waits { 0 } else { (*age + 1).min(FENCE) };
            }
            let top = &mut self.clock[e].top;
            *top = [top[0], top[0], top[1]];
            for entry in self.entry[e].iter_mut().flatten().filter(|entry| !entry.live) {
                entry.age = (entry.age + 1).min(FENCE);
            }
        }
    }
}

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |value: usize| char::from(b'a' + value as u8);
        for e in 0..ENTITIES {
            match self.primary[e] {
                Primary::Absent if self.entry[e].iter().all(Option::is_none) => continue,
                Primary::Absent => write!(out, " e{e}: -")?,
                Primary::Live { value, seq } => write!(out, " e{e}: {}@{seq}", name(value.into()))?,
                Primary::Dead { seq, .. } => write!(out, " e{e}: dead@{seq}")?,
            }
            for (value, entry) in self.entry[e].iter().enumerate() {
                if let Some(entry) = entry {
                    write!(out, " {}{}@{}", if entry.live { "+" } else { "†" }, name(value), entry.seq)?;
                }
            }
        }
        for intent in self.outbox.iter().flatten() {
            let affected: String = (0..VALUES).filter(|v| intent.affected >> v & 1 == 1).map(name).collect();
            write!(out, " [out e{}@{} {affected}]", intent.entity, intent.seq)?;
        }
        Ok(())
    }
}
