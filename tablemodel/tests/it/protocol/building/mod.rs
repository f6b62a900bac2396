//! An index that is built while programs write: its states, the programs that learn of them late or never, the backfill, the
//! drain and the scrub.
//!
//! One entity, entries in another partition, two programs of which each has a writer and a relay, and a migrator. What the
//! outbox family explores of relays is not repeated: an entry is written in one step, under its guard. Judged are rows alone
//! from when the index is readable: whatever dies then, a fresh relay leaves exactly the entity's entry.

mod actors;
mod scenarios;

use actors::{Fill, Program, Relay, Scrub};

use super::{
    cast::settle,
    checker::{Protocol, Steps},
    rules::{Off, rules},
};

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// A state is left only when every live program knows of it.
        OneApart,
        /// The backfill begins when every live program writes the index.
        BackfillWhenAllWrite,
        /// The backfill writes the entity, whose intent names the entry, and not the entry.
        TouchesEntity,
        /// ..under the ETag that was read.
        ConditionalTouch,
        /// A program whose lease is over takes up no outbox row.
        RelaysKeepToLeases,
        /// A relay whose program does not write the index yet leaves an entry alone that the entity wants.
        LeavesWhatIsWanted,
        /// What outbox rows there are is delivered before the scrub.
        DrainBeforeScrub,
        /// The scrub takes entries away under the ETag that was read.
        ConditionalScrub,
        /// An entry that goes becomes a tombstone, also where none stood.
        EntryTombstone,
        /// An entry is written only over a lower number.
        SequenceGuard,
    }
}

/// How far a program knows the index to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Knows {
    Absent,
    DeleteOnly,
    WriteOnly,
}

pub(crate) const VALUES: usize = 4;
/// Numbers of the entity's writes: the first, those of the writers, the touch.
pub(crate) const WRITES: usize = 7;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Entity {
    pub(crate) value: u8,
    pub(crate) seq: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Entry {
    pub(crate) seq: u8,
    pub(crate) live: bool,
}

/// What the stores hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rows {
    pub(crate) entity: Entity,
    /// By the number of the write: the entries that its outbox row names, as bits; none where there is no such row.
    pub(crate) outbox: [u8; WRITES],
    pub(crate) entry: [Option<Entry>; VALUES],
    pub(crate) state: Knows,
    pub(crate) readable: bool,
}

/// Who writes, and how it is gone about.
#[derive(Clone, Copy)]
pub(crate) struct Building {
    /// The writes of each program.
    pub(crate) writes: [u8; 2],
    /// A program that does not have the index in its model learns of nothing.
    pub(crate) old: [bool; 2],
    /// Whether stray entries are looked for before the index is readable.
    pub(crate) scrubs: bool,
    pub(crate) off: Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    programs: [Program; 2],
    relays: [Relay; 2],
    fill: Fill,
    scrub: Scrub,
    /// A touch was written over a write that it had not read.
    undone: bool,
}

impl Building {
    pub(crate) fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    /// The entry is exactly the entity's.
    fn wrong(rows: &Rows) -> Option<&'static str> {
        let live = |value: usize| rows.entry[value].is_some_and(|entry| entry.live);
        let wanted = usize::from(rows.entity.value);
        if !live(wanted) {
            return Some(MISSES);
        }
        (0..VALUES).any(|value| value != wanted && live(value)).then_some(STALE)
    }
}

pub(crate) const MISSES: &str = "the entity misses its entry";
pub(crate) const STALE: &str = "an entry stands that the entity does not want";
pub(crate) const UNDONE: &str = "a touch undid a write";

impl Protocol for Building {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        let entity = Entity { value: 0, seq: 0 };
        let rows = Rows { entity, outbox: [0; WRITES], entry: [None; VALUES], state: Knows::Absent, readable: false };
        let program = |left| Program { knows: Knows::Absent, left, read: None };
        State {
            rows,
            programs: self.writes.map(program),
            relays: [Relay::Idle; 2],
            fill: Fill::Before,
            scrub: Scrub::At(0),
            undone: false,
        }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, [writer, relay]) in [["writer 0", "relay 0"], ["writer 1", "relay 1"]].into_iter().enumerate() {
            self.write(state, index, &mut |what, s| steps.add(writer, what, s));
            self.relay(state, index, &mut |what, s| steps.add(relay, what, s));
        }
        self.migrate(state, &mut |what, s| steps.add("migrator", what, s));
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn violated(&self, state: &State) -> Option<&'static str> {
        state.undone.then_some(UNDONE)
    }

    fn settled(&self, rows: Rows) -> Option<&'static str> {
        if !rows.readable {
            return None;
        }
        settle(rows, WRITES, |rows, slot| self.deliver(rows, slot), Self::wrong)
    }
}
