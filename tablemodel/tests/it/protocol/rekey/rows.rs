//! The rows of the model of rekey: a few keys, each in a partition of its own, and the intents beside them.

use std::fmt::{self, Debug};

pub(crate) const KEYS: usize = 3;
/// Writes in all.
pub(crate) const WRITES: usize = 4;

pub(crate) const TWICE: &str = "an entity exists twice";
pub(crate) const NOWHERE: &str = "an entity exists nowhere";
pub(crate) const RISEN: &str = "a deleted entity exists";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Primary {
    Absent,
    Dead,
    /// A tombstone that says which move, from which key, is about to come here.
    Reserved {
        by: u8,
        from: u8,
        expired: bool,
    },
    /// Which entity: told apart here, whatever key it has.
    Live(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Intent {
    /// Which move.
    pub(crate) by: u8,
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) entity: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    pub(crate) primary: [Primary; KEYS],
    pub(crate) intents: [Option<Intent>; WRITES],
    /// Entities that were inserted, and that were deleted, as bits: not stored, but what the rows are judged by.
    pub(crate) born: u8,
    pub(crate) died: u8,
}

impl Rows {
    /// One entity, at the first key.
    pub(crate) const ONE: Self = Self {
        primary: [Primary::Live(0), Primary::Absent, Primary::Absent],
        intents: [None; WRITES],
        born: 1,
        died: 0,
    };
    /// A second, at the third key.
    pub(crate) const TWO: Self =
        Self { primary: [Primary::Live(0), Primary::Absent, Primary::Live(1)], born: 3, ..Self::ONE };

    fn places(&self, entity: u8) -> usize {
        self.primary.iter().filter(|primary| **primary == Primary::Live(entity)).count()
    }

    /// What may never be.
    pub(crate) fn violated(&self) -> Option<&'static str> {
        (0..8).find_map(|entity| match self.places(entity) {
            0 => None,
            _ if self.died >> entity & 1 == 1 => Some(RISEN),
            1 => None,
            _ => Some(TWICE),
        })
    }

    /// What may not be in the end.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
        let lives = |entity: &u8| (self.born & !self.died) >> entity & 1 == 1;
        (0..8).filter(lives).any(|entity| self.places(entity) == 0).then_some(NOWHERE)
    }
}

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, primary) in self.primary.iter().enumerate() {
            match primary {
                Primary::Absent => write!(out, " k{key}: -")?,
                Primary::Dead => write!(out, " k{key}: dead")?,
                Primary::Reserved { by, from, expired } => {
                    write!(
                        out,
                        " k{key}: {}reserved by move {by} of k{from}",
                        if *expired { "expired, " } else { "" }
                    )?;
                }
                Primary::Live(entity) => write!(out, " k{key}: entity {entity}")?,
            }
        }
        for Intent { by, from, to, entity } in self.intents.iter().flatten() {
            write!(out, " [move {by}: entity {entity} k{from} to k{to}]")?;
        }
        Ok(())
    }
}
