//! The switch of an entity to the form that it moves to: who may write which form when, and what is taken away after it.
//!
//! One entity, whose shadows are complete. Two programs of the old form of which one begins at any time, a program of the new
//! form that writes it once it may, a relay and a repair that see to shadows as long as their program takes the old form for the
//! truth, two who contract, and one who takes the move back. How shadows come to be complete is the family of `building`, and how a state is
//! left for the next: here all are one; a shadow is written in one step, under its guard. Programs may end, or die, anywhere. Who contracts may
//! die, give up, or stall and be followed by the other: that it has lost the record, it learns where it would change it. Judged are rows alone:
//! whatever dies then, the last write that was acknowledged is what the form that is kept says, and nothing else; of a move that was taken
//! back nothing is left.

mod actors;
mod migrators;
mod scenarios;

use actors::{New, Old, Relay, Repair};
use migrators::{Contract, Record, Rollback};

use super::{
    checker::{Protocol, Steps},
    rules::{Off, rules},
};

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// No program that lacks the new form lives when the old one is closed.
        WaitsBeforeClosing,
        /// The old form is closed before the new one is kept.
        Closes,
        /// A program that finds the old form closed writes nothing.
        KeepsToClosed,
        /// ..and every live program has learnt of it before the new one is kept.
        WaitsAfterClosing,
        /// What outbox rows there are is delivered before the new form is kept.
        DrainsFirst,
        /// Who gives up opens the old form again only where it is the one that is kept.
        KeepsTheSwitch,
        /// Every live program knows of the new form before old rows are taken away.
        WaitsBeforeRemoving,
        /// A shadow is written only over a lower number.
        SequenceGuard,
        /// What the new form deletes becomes a tombstone until all is over.
        LeavesTombstones,
        /// Tombstones are taken away once nothing is under way to shadows.
        PassesFence,
        /// Who contracts changes states only while the record is its own.
        HoldsTheRecord,
        /// A state is left for the one below it once every live program knows of it.
        WaitsBeforeLowering,
        /// ..and what relays deliver by an earlier one is over, or refused.
        WaitsForRelays,
        /// What outbox rows there are is delivered before shadows are taken away.
        DrainsBeforeTakingBack,
    }
}

/// What the registry says of the entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Form {
    Old,
    Closed,
    New,
    /// ..and nothing is left of the move.
    Over,
}

/// How far a move is taken back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Shadows {
    Written,
    /// Deleted where found, and written no more.
    Deleted,
    Ignored,
    /// ..and taken away.
    Gone,
}

/// What a program knows of the registry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Known {
    pub(crate) form: Form,
    pub(crate) shadows: Shadows,
}

impl Known {
    pub(crate) const FIRST: Self = Self { form: Form::Old, shadows: Shadows::Written };
}

/// What the entity says; each value has a key of its own in the new form.
pub(crate) const VALUES: usize = 3;
/// Numbers of the entity's writes in the old form.
pub(crate) const WRITES: usize = 3;

/// The entity in its old form; without a value it is a tombstone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Entity {
    pub(crate) value: Option<u8>,
    pub(crate) seq: u8,
}

/// A row of the new form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Entry {
    pub(crate) seq: u8,
    pub(crate) live: bool,
}

/// What the stores hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rows {
    /// Nothing once it was taken away.
    pub(crate) old: Option<Entity>,
    /// By the number of the write: the shadows that its outbox row names, as bits.
    pub(crate) outbox: [u8; WRITES],
    pub(crate) new: [Option<Entry>; VALUES],
    pub(crate) known: Known,
    /// What was acknowledged last; not a row.
    pub(crate) truth: Option<u8>,
}

/// What the programs write, and how it is gone about.
#[derive(Clone, Copy)]
pub(crate) struct Switching {
    /// Of each program of the old form: what it writes; nothing deletes.
    pub(crate) old: [&'static [Option<u8>]; 2],
    /// Of the program of the new form.
    pub(crate) new: &'static [Option<u8>],
    /// How often a contraction may be given up, die, or be taken over.
    pub(crate) failures: u8,
    /// Whether somebody takes the move back.
    pub(crate) taken_back: bool,
    pub(crate) off: Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    old: [Old; 2],
    new: New,
    relay: Relay,
    repair: Repair,
    contracts: [Contract; 2],
    rollback: Rollback,
    record: Record,
    failures: u8,
}

pub(crate) const LOST: &str = "the form that is kept misses what was written last";
pub(crate) const STRAY: &str = "a row of the new form stands that nobody wrote last";

impl Switching {
    pub(crate) fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }
}

impl Rows {
    fn wrong(&self) -> Option<&'static str> {
        if self.known.form < Form::New && self.old.and_then(|old| old.value) != self.truth {
            return Some(LOST);
        }
        if matches!(self.known.shadows, Shadows::Deleted | Shadows::Ignored) {
            return None; // on the way
        }
        let live = |value: usize| self.new[value].is_some_and(|entry| entry.live);
        let wanted = self.truth.filter(|_| self.known.shadows == Shadows::Written).map(usize::from);
        if wanted.is_some_and(|value| !live(value)) {
            return Some(LOST);
        }
        (0..VALUES).any(|value| wanted != Some(value) && live(value)).then_some(STRAY)
    }
}

impl Protocol for Switching {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        let mut new = [None; VALUES];
        new[0] = Some(Entry { seq: 0, live: true });
        let old = Some(Entity { value: Some(0), seq: 0 });
        let rows = Rows { old, outbox: [0; WRITES], new, known: Known::FIRST, truth: Some(0) };
        State {
            rows,
            old: [Old::BEGUN, Old::NOT_YET],
            new: New::BEGUN,
            relay: Relay::Idle,
            repair: Repair::Idle,
            contracts: [Contract::Begins; 2],
            rollback: Rollback::Begins,
            record: Record::NONE,
            failures: 0,
        }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, name) in ["old 0", "old 1"].into_iter().enumerate() {
            self.write_old(state, index, &mut |what, s| steps.add(name, what, s));
        }
        self.write_new(state, &mut |what, s| steps.add("new", what, s));
        self.relay(state, &mut |what, s| steps.add("relay", what, s));
        self.repair(state, &mut |what, s| steps.add("repair", what, s));
        for (index, name) in ["contract 0", "contract 1"].into_iter().enumerate() {
            self.contract(state, index, &mut |what, s| steps.add(name, what, s));
        }
        self.take_back(state, &mut |what, s| steps.add("rollback", what, s));
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    /// While the old form is kept a fresh relay delivers what there is; afterwards nobody looks at what the old form left.
    fn settled(&self, mut rows: Rows) -> Option<&'static str> {
        if rows.known.form < Form::New {
            (0..WRITES).for_each(|slot| self.deliver(&mut rows, slot));
        }
        rows.wrong()
    }
}
