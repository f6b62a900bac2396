//! Unique values in other partitions (rule 4): claim pending, EGT of the owner, confirm; release; theft after expiry; what a
//! refused writer gives back.
//!
//! Writers, relays, lost replies, expiry at any moment, and primary tombstones that are swept after the fence: here, when no
//! actor is left that began before the tombstone was written.

mod actors;
mod rows;
mod scenarios;
mod settle;

use actors::Actor;
use rows::{Primary, Rows, Stage, VALUES, WRITES};

use super::{
    cast::{RELAYS, WRITERS, settle, sort_relays},
    checker::{Protocol, Steps},
    rules::{Off, rules},
};

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// The image under the EGT is read before the claim is written.
        ImageBeforeClaim,
        /// A claim is rewritten as pending even if it is one's own.
        RewrittenAsPending,
        /// ..but not while the primary has the value: over one's own confirmed claim, the primary is read once more after the
        /// claim; if it has the value, the image was old.
        OwnConfirmedCheckedAgain,
        /// An EGT that meets 409 or 412 starts again from the read and the claim.
        ClaimsAgain,
        /// A pending claim is stolen only past its expiry. (So that two writers do not rob each other for ever: the touch alone
        /// makes theft safe.)
        TheftAfterExpiry,
        /// A thief reads the owner's primary, and confirms for an owner that has the value.
        OwnerRead,
        /// A thief changes the owner's primary before it takes the claim.
        OwnerTouched,
        /// ..and where there is none, writes a tombstone.
        AbsentOwnerBuried,
        /// ..under the ETag that was read.
        ConditionalTouch,
        /// A claim is written under the ETag that was read.
        ConditionalClaim,
        /// A claim is confirmed under the ETag that was read or written.
        ConditionalConfirm,
        /// A release reads the claim, then the primary.
        ClaimThenPrimary,
        /// A release deletes only a confirmed claim.
        OnlyConfirmedReleased,
        /// ..under its ETag.
        ConditionalRelease,
        /// A release that meets a pending claim of an owner without the value rewrites it, so that no confirmation under way
        /// can land on it.
        PendingRewrittenByRelease,
        /// The EGT carries an outbox row that names the old value and the new.
        OutboxRow,
        /// A writer that is refused gives back no claim that was pending for its entity before: another may count on it.
        OnlyItsOwnGivenBack,
        /// ..and gives a claim back under the ETag that it left it with.
        ConditionalGivingBack,
        /// Another's pending claim is "try again", not "taken".
        PendingIsNotTaken,
        /// Reads pass over pending claims.
        ReadsSkipPending,
        /// Primary tombstones stay until all who began before them have given up.
        TombstoneForTheFence,
        /// The primary is written under the ETag that was read.
        PrimaryIfMatch,
        /// A lost reply is resolved by the operation id, or is `OutcomeUnknown`.
        OperationId,
    }
}

/// One write of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Put(u8),
    Delete,
}

/// Who does what to which rows.
#[derive(Clone, Copy)]
pub(crate) struct Claims {
    pub(crate) rows: Rows,
    pub(crate) writers: &'static [&'static [(u8, Op)]],
    pub(crate) relays: usize,
    pub(crate) lost: u8,
    /// Whether primary tombstones are swept.
    pub(crate) sweeps: bool,
    /// Whether a writer may be refused for good, by its own batch, and gives its claim back.
    pub(crate) refuses: bool,
    /// Whether to ask what is wrong once all are dead, or only what is wrong meanwhile.
    pub(crate) settles: bool,
    pub(crate) off: Off,
}

const TWICE: &str = "two entities have one unique value";
const NEVER_HAD: &str = "a reader finds an entity under a value that it never had";
const NOT_TAKEN: &str = "a value is said to be taken that nobody else ever had";
const REPEATED: &str = "one write was carried out twice";

const ACTORS: usize = 5;

/// Rows and actors: writers, then relays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    actors: [Actor; ACTORS],
    lost: u8,
    /// Values each entity has ever had, as bits.
    had: [u8; rows::ENTITIES],
    /// Writes that were carried out, as bits.
    done: u8,
    wrong: Option<&'static str>,
}

impl Claims {
    fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    fn canonical(&self, mut state: State) -> State {
        sort_relays(&mut state.actors, self.writers.len(), self.relays);
        state
    }

    fn expire(&self, state: &State, steps: &mut Steps<State>) {
        for value in 0..VALUES {
            let mut s = *state;
            if let Some(claim) = &mut s.rows.claim[value]
                && claim.stage == Stage::Pending
            {
                claim.stage = Stage::Expired;
                steps.add("time", "a claim expires", s);
            }
        }
    }

    /// Tombstones go when nobody is left who began before them; who did may give up.
    fn sweep(&self, state: &State, steps: &mut Steps<State>) {
        for e in 0..rows::ENTITIES {
            let held = state.actors.iter().any(|actor| actor.began_before >> e & 1 == 1);
            if state.rows.primary[e] == Primary::Dead && !(held && self.obeys(Rule::TombstoneForTheFence)) {
                let mut s = *state;
                s.rows.primary[e] = Primary::Absent;
                s.changed(1 << e);
                steps.add("sweeper", "removes a primary tombstone", s);
            }
        }
        for (index, actor) in state.actors.iter().enumerate().filter(|(_, actor)| actor.began_before != 0) {
            let mut s = *state;
            s.actors[index] = if index < self.writers.len() { actor.over() } else { Actor::IDLE };
            steps.add("time", "an actor gives up", self.canonical(s));
        }
    }
}

impl State {
    /// Rows were written: nobody's read of them is current any more.
    fn changed(&mut self, written: u8) {
        self.actors.iter_mut().for_each(|actor| actor.current &= !written);
    }
}

impl Protocol for Claims {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        let had = self.rows.primary.map(|primary| if let Primary::Live(value) = primary { 1 << value } else { 0 });
        State { rows: self.rows, actors: [Actor::IDLE; ACTORS], lost: self.lost, had, done: 0, wrong: None }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, name) in WRITERS.into_iter().enumerate().take(self.writers.len()) {
            self.write(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        for (relay, name) in RELAYS.into_iter().enumerate().take(self.relays) {
            let index = self.writers.len() + relay;
            self.relay(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        self.expire(state, steps);
        if self.sweeps {
            self.sweep(state, steps);
        }
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn violated(&self, state: &State) -> Option<&'static str> {
        let holders = |value| state.rows.primary.iter().filter(|primary| primary.holds(value)).count();
        if (0..VALUES).any(|value| holders(value) > 1) {
            return Some(TWICE);
        }
        let never_had = |(value, claim): (usize, &Option<rows::Claim>)| {
            let shown = |claim: &rows::Claim| claim.stage == Stage::Confirmed || !self.obeys(Rule::ReadsSkipPending);
            claim.filter(shown).is_some_and(|claim| state.had[usize::from(claim.owner)] >> value & 1 == 0)
        };
        if state.rows.claim.iter().enumerate().any(never_had) {
            return Some(NEVER_HAD);
        }
        state.wrong
    }

    fn settled(&self, mut rows: Rows) -> Option<&'static str> {
        if !self.settles {
            return None;
        }
        for claim in rows.claim.iter_mut().flatten().filter(|claim| claim.stage == Stage::Pending) {
            claim.stage = Stage::Expired;
        }
        settle(rows, WRITES, |rows, slot| self.deliver(rows, slot), Rows::wrong)
    }
}
