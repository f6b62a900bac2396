//! The rows of the model of claims: primaries, one claim per value, outbox rows.

use std::fmt::{self, Debug};

pub(crate) const ENTITIES: usize = 3;
pub(crate) const VALUES: usize = 2;
/// Writes in all.
pub(crate) const WRITES: usize = 4;

pub(crate) const UNCONFIRMED: &str = "an owner's claim is not confirmed";
pub(crate) const BLOCKED: &str = "a value that nobody has stays confirmed";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Primary {
    Absent,
    Dead,
    Live(u8),
}

impl Primary {
    pub(crate) fn holds(self, value: usize) -> bool {
        self == Self::Live(value as u8)
    }
}

/// Who may have a value: in the index's own partition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Claim {
    pub(crate) owner: u8,
    pub(crate) stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Stage {
    Pending,
    /// Pending past its expiry.
    Expired,
    Confirmed,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Intent {
    pub(crate) entity: u8,
    /// Values whose claims may be affected, as bits.
    pub(crate) affected: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    pub(crate) primary: [Primary; ENTITIES],
    pub(crate) claim: [Option<Claim>; VALUES],
    pub(crate) outbox: [Option<Intent>; WRITES],
    /// The operation ids on each live primary, as bits.
    pub(crate) ops: [u8; ENTITIES],
}

impl Rows {
    pub(crate) const EMPTY: Self = Self {
        primary: [Primary::Absent; ENTITIES],
        claim: [None; VALUES],
        outbox: [None; WRITES],
        ops: [0; ENTITIES],
    };

    /// An entity that has the value, its claim confirmed.
    pub(crate) const fn with(mut self, entity: u8, value: u8) -> Self {
        self.primary[entity as usize] = Primary::Live(value);
        self.claim[value as usize] = Some(Claim { owner: entity, stage: Stage::Confirmed });
        self
    }

    /// What stays wrong when no outbox row is left.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
        for value in 0..VALUES {
            let holder = self.primary.iter().position(|primary| primary.holds(value));
            let confirmed = self.claim[value].filter(|claim| claim.stage == Stage::Confirmed);
            let owner = confirmed.map(|claim| usize::from(claim.owner));
            match (holder, owner) {
                (Some(_), None) => return Some(UNCONFIRMED),
                (None, Some(_)) => return Some(BLOCKED),
                (holder, owner) if holder != owner => return Some("a value is confirmed for one who has it not"),
                _ => {}
            }
        }
        None
    }
}

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |value: usize| char::from(b'a' + value as u8);
        for (e, primary) in self.primary.iter().enumerate() {
            match primary {
                Primary::Absent => {}
                Primary::Dead => write!(out, " e{e}: dead")?,
                Primary::Live(value) => write!(out, " e{e}: {}", name((*value).into()))?,
            }
        }
        for (value, claim) in self.claim.iter().enumerate() {
            if let Some(Claim { owner, stage }) = claim {
                write!(out, " {}: e{owner} {}", name(value), format!("{stage:?}").to_lowercase())?;
            }
        }
        for intent in self.outbox.iter().flatten() {
            let affected: String = (0..VALUES).filter(|v| intent.affected >> v & 1 == 1).map(name).collect();
            write!(out, " [out e{} {affected}]", intent.entity)?;
        }
        Ok(())
    }
}
