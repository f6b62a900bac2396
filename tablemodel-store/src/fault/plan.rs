//! Which fault happens at which call: scripts, seeded chances, or any closure.
//!
//! A plan only decides; the fault store carries it out.

use std::{collections::BTreeMap, time::Duration};

use crate::{Batch, Query, StoreError, StoreErrorKind, key::RowKey};

/// What goes wrong with one call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The call is not carried out; this is its answer.
    Error(StoreError),
    /// The call is carried out, and its answer lost: `OutcomeUnknown` for a call that writes, `Unavailable` for a read.
    LostReply,
    /// The process dies before the call: `Closed`, now and until the store is revived.
    CrashBefore,
    /// The process dies after the call was carried out: `Closed`, now and until the store is revived.
    CrashAfter,
    /// Only the first so many operations of a commit are carried out, then the process dies.
    ///
    /// No store may do that: it is for testing that a half-done batch is found out. Other calls: as `CrashBefore`.
    Torn {
        /// How many operations, over all batches, are carried out.
        operations: usize,
    },
    /// The call is carried out after a wait, unless the process died meanwhile.
    Delay(Duration),
    /// A query gives an empty page with a continuation, from which it goes on as it would have. Others: no fault.
    EmptyPage,
    /// A query gives so many rows at most, one at least. Others: no fault.
    ShortPage {
        /// How many rows.
        rows: usize,
    },
}

impl Fault {
    /// The call is not carried out and fails with this kind; it names no operation.
    pub fn error(kind: StoreErrorKind) -> Self {
        Self::Error(StoreError::new(kind, "injected fault"))
    }
}

/// A call about to be made.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// How many calls came before it; those refused because the store had crashed do not count.
    pub number: usize,
    /// What it asks.
    pub request: Request<'a>,
}

/// What a call asks.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    /// `create_table`
    CreateTable(&'a str),
    /// `delete_table`
    DeleteTable(&'a str),
    /// `list_tables`
    ListTables,
    /// `get`
    Get(&'a str, &'a RowKey),
    /// `query`
    Query(&'a Query),
    /// `commit`
    Commit(&'a [Batch]),
}

impl Request<'_> {
    /// Whether it changes the store.
    pub const fn writes(self) -> bool {
        match self {
            Self::CreateTable(_) | Self::DeleteTable(_) | Self::Commit(_) => true,
            Self::ListTables | Self::Get(..) | Self::Query(_) => false,
        }
    }
}

/// Decides what goes wrong. Asked once for each call, in the order of their numbers.
///
/// It may use the store itself, to act between two calls of another: on its own thread, by a future that needs no runtime to wake it. Such
/// calls are numbered with the others, and meet no fault. Calls of other threads wait until it has answered, for a second at most.
pub trait FaultPlan: Send + 'static {
    /// The fault for this call, or `None`.
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault>;
}

impl<F: FnMut(&Call<'_>) -> Option<Fault> + Send + 'static> FaultPlan for F {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        self(call)
    }
}

/// Faults at given call numbers, the first call being number 0; none elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Script(BTreeMap<usize, Fault>);

impl Script {
    /// No fault anywhere.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// And this fault at call `number`.
    pub fn at(mut self, number: usize, fault: Fault) -> Self {
        self.0.insert(number, fault);
        self
    }
}

impl FaultPlan for Script {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        self.0.get(&call.number).cloned()
    }
}

/// Faults by chance, the same for the same seed and calls.
#[derive(Debug, Clone)]
pub struct Chances {
    random: SplitMix64,
    chances: Vec<(u32, Fault)>,
}

impl Chances {
    /// No fault yet.
    pub const fn seeded(seed: u64) -> Self {
        Self { random: SplitMix64(seed), chances: Vec::new() }
    }

    /// And this fault at `per_mille` of 1,000 calls, apart from those of the faults before it.
    ///
    /// The shares of all faults must not exceed 1,000 together: what lies beyond never happens.
    pub fn with(mut self, per_mille: u32, fault: Fault) -> Self {
        self.chances.push((per_mille, fault));
        self
    }
}

impl FaultPlan for Chances {
    fn fault(&mut self, _: &Call<'_>) -> Option<Fault> {
        let mut drawn = (self.random.next() % 1000) as u32;
        for (per_mille, fault) in &self.chances {
            if drawn < *per_mille {
                return Some(fault.clone());
            }
            drawn -= per_mille;
        }
        None
    }
}

/// A small generator of numbers that look random. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014; the constants of its authors' reference implementation.
#[derive(Debug, Clone)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_its_published_sequence() {
        let mut random = SplitMix64(1234567);
        assert_eq!([random.next(), random.next()], [6457827717110365317, 3203168211198807973]);
    }
}
