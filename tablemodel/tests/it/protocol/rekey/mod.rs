//! Rekey: an entity moves to a key in another partition, where another program may move or insert one too.
//!
//! The target key is claimed as a unique value is (rule 4): a *reservation*, which is a tombstone that says whose it is, is
//! written there first; then the EGT of the old partition puts a tombstone in place of the entity and beside it the intent with
//! the whole new image; then the image replaces the reservation. Whoever wants a reserved key after its expiry finishes the move
//! if its intent stands, else changes the mover's primary, so that its EGT must fail, and takes the key.

mod actors;
mod rows;
mod scenarios;

use actors::Actor;
use rows::{KEYS, Primary, Rows, WRITES};

use super::{
    cast::{RELAYS, WRITERS, settle, sort_relays},
    checker::{Protocol, Steps},
    rules::{Off, rules},
};

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// The target key is reserved before the EGT.
        TargetReserved,
        /// The old primary is read before the reservation is written.
        ImageBeforeReservation,
        /// An EGT that meets 412 starts again from the read and the reservation.
        ReservesAgain,
        /// The old primary is replaced under the ETag that was read.
        OldUnderEtag,
        /// The intent lands in the EGT that puts the tombstone.
        IntentInEgt,
        /// A reservation is written under the ETag that was read.
        ConditionalReservation,
        /// A reservation is not swept as tombstones are: its intent may be waiting.
        ReservationNotSwept,
        /// A thief finishes a move whose intent stands.
        ThiefReadsIntent,
        /// ..and reads it after the mover's primary.
        PrimaryThenIntent,
        /// A thief changes the mover's primary before it takes the reservation.
        MoverTouched,
        /// ..under the ETag that was read.
        ConditionalTouch,
        /// The image replaces the reservation only.
        OnlyReservationReplaced,
        /// ..that of this very move: another move of the same key is another's.
        ReservationNamesMove,
        /// ..under the ETag that was read.
        ConditionalPlacing,
        /// The intent's key holds the number of its move, so that removing it twice does not remove the next one.
        IntentKeyHasNumber,
    }
}

/// One write of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Moves what lives at the first key to the second.
    Move(u8, u8),
    /// A new entity.
    Insert(u8),
    Delete(u8),
}

/// Who does what to which rows.
#[derive(Clone, Copy)]
pub(crate) struct Rekey {
    pub(crate) rows: Rows,
    pub(crate) writers: &'static [&'static [Op]],
    pub(crate) relays: usize,
    /// Without reservations: whether an entity that finds its new key taken goes back to the old one, or waits.
    pub(crate) returns: bool,
    pub(crate) off: Off,
}

const ACTORS: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    /// Writers, then relays.
    actors: [Actor; ACTORS],
}

impl State {
    /// Keys were written: nobody's read of them is current any more.
    fn changed(&mut self, written: u8) {
        self.actors.iter_mut().for_each(|actor| actor.forget(written));
    }
}

impl Rekey {
    fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    fn canonical(&self, mut state: State) -> State {
        sort_relays(&mut state.actors, self.writers.len(), self.relays);
        state
    }
}

impl Protocol for Rekey {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        State { rows: self.rows, actors: [Actor::IDLE; ACTORS] }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, name) in WRITERS.into_iter().enumerate().take(self.writers.len()) {
            self.write(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        for (relay, name) in RELAYS.into_iter().enumerate().take(self.relays) {
            let index = self.writers.len() + relay;
            self.relay(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        for key in 0..KEYS {
            let mut s = *state;
            let Primary::Reserved { expired, .. } = &mut s.rows.primary[key] else { continue };
            if !*expired {
                *expired = true;
                steps.add("time", "a reservation expires", s);
            } else if !self.obeys(Rule::ReservationNotSwept) {
                s.rows.primary[key] = Primary::Absent;
                s.changed(1 << key);
                steps.add("sweeper", "removes a reservation", s);
            }
        }
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn violated(&self, state: &State) -> Option<&'static str> {
        state.rows.violated()
    }

    fn settled(&self, rows: Rows) -> Option<&'static str> {
        settle(rows, WRITES, |rows, slot| self.deliver(rows, slot), |rows| rows.violated().or(rows.wrong()))
    }
}
