//! The index outbox (rules 1, 2, 3, 7, 8): entities, entries in other partitions, writers, relays that stall or die
//! anywhere, lost replies, a sweeper and the passing of half-fences.
//!
//! A list in another partition is the same thing with one contribution per owner, so it is here too.
//!
//! Time: an actor that is still at one intent at the second half-fence after it began gives it up; a tombstone may be swept
//! from the second half-fence after it was written. Real time allows less. The clocks of two writers may differ by a third of
//! the fence each way: so a fresh insert may take any number above those given out a fence ago.

mod actors;
mod rows;
mod scenarios;

use actors::{Actor, Pc};
use rows::{FENCE, Primary, Rows, VALUES, WRITES};

use super::{
    cast::{RELAYS, WRITERS, settle, sort_relays},
    checker::{Protocol, Steps},
    rules::{Off, rules},
};

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// A fresh insert starts at the clock's ticks, an insert over a tombstone at least at its number plus one.
        SequenceNeverGoesBack,
        /// Writers whose clock differs from the store's by more than a third of the fence do not insert.
        ClocksAgree,
        /// A deleted entity leaves a tombstone in place of its primary row.
        PrimaryTombstone,
        /// The primary tombstone stays for the fence.
        PrimarySweptAfterFence,
        /// ..counted from the delivery of the entity's last outbox row.
        PrimaryWaitsForDelivery,
        /// Where the relay finds no primary, it writes tombstones at the outbox row's number.
        OutboxRowHasSequence,
        /// An entry that goes becomes a tombstone.
        EntryTombstone,
        /// ..also where none is found: the write that would have made it may still be under way.
        TombstoneWhereNoneStood,
        /// An entry is written only over a lower number.
        SequenceGuard,
        /// Numbers are compared between writes of one owner: an entry's key contains its owner's.
        OneOwner,
        /// Entry tombstones stay for the fence.
        EntrySweptAfterFence,
        /// Relays and writers give up what they have held for half the fence.
        AbandonAfterHalf,
        /// Entries are written under the ETag that was read.
        ConditionalEntryWrite,
        /// Entry tombstones are removed under the ETag that was read.
        ConditionalEntryRemoval,
        /// Primary tombstones are removed under the ETag that was read.
        ConditionalPrimaryRemoval,
        /// The outbox row lands in the EGT of the primary row.
        OutboxInEgt,
        /// The primary is written under the ETag that was read.
        PrimaryIfMatch,
        /// A lost reply is resolved by the operation id, or is `OutcomeUnknown`.
        OperationId,
    }
}

/// One write of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Upsert with this value.
    Put(u8),
    Delete,
}

/// Who does what to which rows.
#[derive(Clone, Copy)]
pub(crate) struct Outbox {
    pub(crate) rows: Rows,
    /// Each writer's operations: (entity, what).
    pub(crate) writers: &'static [&'static [(u8, Op)]],
    pub(crate) relays: usize,
    pub(crate) lost: u8,
    pub(crate) half_fences: u8,
    pub(crate) off: Off,
}

const ACTORS: usize = 5;

/// Rows and actors: writers, then relays, then the sweeper.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    actors: [Actor; ACTORS],
    lost: u8,
    half_fences: u8,
    /// Writes that were carried out, as bits; and whether one was twice.
    done: u8,
    twice: bool,
}

impl Outbox {
    pub(crate) fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    fn sweeper(&self) -> usize {
        self.writers.len() + self.relays
    }

    fn tick(&self, state: &State) -> State {
        let mut s = *state;
        s.half_fences -= 1;
        s.rows.tick(self.obeys(Rule::PrimaryWaitsForDelivery));
        for (index, actor) in s.actors.iter_mut().enumerate() {
            let gives_up = actor.age > 0 && self.obeys(Rule::AbandonAfterHalf);
            if actor.pc == Pc::Idle || index >= self.sweeper() {
            } else if gives_up {
                *actor = if index < self.writers.len() { actor.over() } else { Actor::default() };
            } else {
                actor.age = 1;
            }
        }
        s
    }

    fn canonical(&self, mut state: State) -> State {
        sort_relays(&mut state.actors, self.writers.len(), self.relays);
        state
    }
}

impl Protocol for Outbox {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        State {
            rows: self.rows,
            actors: [Actor::default(); ACTORS],
            lost: self.lost,
            half_fences: self.half_fences,
            done: 0,
            twice: false,
        }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, name) in WRITERS.into_iter().enumerate().take(self.writers.len()) {
            self.write(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        for (relay, name) in RELAYS.into_iter().enumerate().take(self.relays) {
            let index = self.writers.len() + relay;
            self.relay(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        if self.half_fences > 0 {
            self.sweep(state, self.sweeper(), &mut |what, s| steps.add("sweeper", what, s));
        }
        if state.half_fences > 0 {
            steps.add("time", "half the fence passes", self.canonical(self.tick(state)));
        }
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn violated(&self, state: &State) -> Option<&'static str> {
        state.twice.then_some("one write was carried out twice")
    }

    fn settled(&self, rows: Rows) -> Option<&'static str> {
        settle(rows, WRITES, |rows, slot| self.deliver(rows, slot), |rows| self.wrong(rows))
    }
}

impl Outbox {
    /// The entries are exactly those that the primaries want.
    fn wrong(&self, rows: &Rows) -> Option<&'static str> {
        for (e, primary) in rows.primary.iter().enumerate() {
            for value in 0..VALUES {
                let wanted = primary.value() == Some(value as u8);
                let found = rows.entry[self.entry_row(e, value)][value];
                let live = found.is_some_and(|entry| entry.live && entry.owners >> e & 1 == 1);
                match (wanted, live) {
                    (true, false) => return Some("an entity misses its entry"),
                    (false, true) => return Some("an entry stands that its entity does not want"),
                    (true, true) if found.map(|entry| entry.seq) != primary.seq() => {
                        return Some("an entry holds an older image");
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// Where an entity's entries stand: against the rules, all share one row per value.
    fn entry_row(&self, entity: usize, _value: usize) -> usize {
        if self.obeys(Rule::OneOwner) { entity } else { 0 }
    }

    fn sweepable(&self, age: u8, rule: Rule) -> bool {
        age >= FENCE || !self.obeys(rule)
    }

    fn dead(&self, primary: Primary) -> bool {
        matches!(primary, Primary::Dead { age, .. } if self.sweepable(age, Rule::PrimarySweptAfterFence))
    }
}
