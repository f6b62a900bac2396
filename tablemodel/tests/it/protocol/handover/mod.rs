//! Rekey of an entity that has a unique value elsewhere: its claim names the old key, and goes over to the new one.
//!
//! One entity with the value moves from key 0 to key 1, whose reservation it has ([`rekey`](super::rekey) says how), while others
//! want the value, at the old key too. An intent that stands counts as having what its image has.

mod actors;
mod scenarios;

use std::fmt::{self, Debug};

use actors::Actor;

use super::{
    cast::{RELAYS, WRITERS, settle, sort_relays},
    checker::{Protocol, Steps},
    rules::{Off, rules},
};

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// A release finds an intent standing as good as the value itself.
        ReleaseReadsIntent,
        /// So does a thief.
        ThiefReadsIntent,
        /// ..after the owner's primary.
        PrimaryThenIntent,
        /// A write to a key without an entity first finishes a move whose intent stands there.
        MoveFinishedFirst,
        /// The claim goes over to the new key before the intent is removed.
        HandedOver,
        /// ..only if the intent still stands once the claim was read.
        IntentReadAgain,
        /// ..under the claim's ETag.
        ConditionalHandOver,
        /// ..as pending: then it is settled as any claim of the new key.
        HandedOverAsPending,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Moves the entity at key 0 to key 1.
    Move,
    /// A new entity with the value.
    Insert(u8),
    Delete(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Primary {
    Absent,
    Dead,
    /// For the move.
    Reserved,
    /// With the value.
    Live,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Claim {
    owner: u8,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Stage {
    Pending,
    Expired,
    Confirmed,
}

const OLD: u8 = 0;
const NEW: u8 = 1;
const KEYS: usize = 3;
/// Writes in all; the last place is for the outbox row that arrives with the entity at the new key.
const WRITES: usize = 5;
const ARRIVAL: usize = WRITES - 1;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    primary: [Primary; KEYS],
    claim: Option<Claim>,
    intent: bool,
    /// Whose claim may be affected.
    outbox: [Option<u8>; WRITES],
}

const TWICE: &str = "two entities have one unique value";
const UNCONFIRMED: &str = "an owner's claim is not confirmed";
const BLOCKED: &str = "a value that nobody has stays confirmed";

impl Rows {
    /// An entity at the old key.
    const ONE: Self = Self {
        primary: [Primary::Live, Primary::Reserved, Primary::Absent],
        claim: Some(Claim { owner: OLD, stage: Stage::Confirmed }),
        intent: false,
        outbox: [None; WRITES],
    };

    fn under_way(&self) -> bool {
        self.intent && self.primary[usize::from(NEW)] == Primary::Reserved
    }

    fn violated(&self) -> Option<&'static str> {
        let live = self.primary.iter().filter(|primary| **primary == Primary::Live).count();
        (live + usize::from(self.under_way()) > 1).then_some(TWICE)
    }

    fn wrong(&self) -> Option<&'static str> {
        let holder = self.primary.iter().position(|primary| *primary == Primary::Live);
        let confirmed = self.claim.filter(|claim| claim.stage == Stage::Confirmed);
        match (holder, confirmed.map(|claim| usize::from(claim.owner))) {
            (None, Some(_)) => Some(BLOCKED),
            (holder, owner) => (holder != owner).then_some(UNCONFIRMED),
        }
    }
}

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, primary) in self.primary.iter().enumerate() {
            write!(out, " k{key}: {}", format!("{primary:?}").to_lowercase())?;
        }
        if let Some(Claim { owner, stage }) = self.claim {
            write!(out, " claim: k{owner} {}", format!("{stage:?}").to_lowercase())?;
        }
        if self.intent {
            write!(out, " [move]")?;
        }
        self.outbox.iter().flatten().try_for_each(|key| write!(out, " [out k{key}]"))
    }
}

/// Who does what to which rows.
#[derive(Clone, Copy)]
pub(crate) struct HandOver {
    writers: &'static [&'static [Op]],
    relays: usize,
    /// An outbox row of the old key that was not delivered yet.
    pending: bool,
    off: Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    /// Writers, then relays.
    actors: [Actor; 4],
}

impl HandOver {
    fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    fn canonical(&self, mut state: State) -> State {
        sort_relays(&mut state.actors, self.writers.len(), self.relays);
        state
    }
}

impl Protocol for HandOver {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        let mut rows = Rows::ONE;
        if self.pending {
            rows.claim = Some(Claim { owner: OLD, stage: Stage::Pending });
            rows.outbox[ARRIVAL - 1] = Some(OLD);
        }
        State { rows, actors: [Actor::IDLE; 4] }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, name) in WRITERS.into_iter().enumerate().take(self.writers.len()) {
            self.write(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        for (relay, name) in RELAYS.into_iter().enumerate().take(self.relays) {
            let index = self.writers.len() + relay;
            self.relay(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        let mut s = *state;
        if let Some(claim) = &mut s.rows.claim
            && claim.stage == Stage::Pending
        {
            claim.stage = Stage::Expired;
            steps.add("time", "the claim expires", s);
        }
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn violated(&self, state: &State) -> Option<&'static str> {
        state.rows.violated()
    }

    fn settled(&self, rows: Rows) -> Option<&'static str> {
        // The intent has a place of its own, and its delivery adds an outbox row.
        let deliver = |rows: &mut Rows, place| self.deliver(rows, place % (WRITES + 1));
        settle(rows, 2 * (WRITES + 1), deliver, |rows| rows.violated().or(rows.wrong()))
    }
}
