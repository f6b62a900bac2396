//! `on_delete = restrict` (rule 5): a source may not be deleted while a target refers to it.
//!
//! The back-reference is a claim on the source's life: pending, EGT of the target, confirmed; released when the target leaves. What
//! putting it adds to a claim is the touch of the source's primary in the same EGT, so that a delete under way must fail.

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
        /// The target's image is read before the back-reference is put.
        ImageFirst,
        /// The back-reference is put before the target's EGT.
        BackReferenceBeforeEgt,
        /// ..in an EGT that changes the source's primary under its ETag.
        SourceTouched,
        /// A target's EGT that meets 412 starts again from the read and the back-reference.
        RegistersAgain,
        /// A delete reads the source first, then the back-references.
        SourceThenBackReferences,
        /// ..and deletes under the ETag that was read.
        DeleteUnderEtag,
        /// A delete removes a pending back-reference only after it read the target..
        TargetRead,
        /// ..and changed it under its ETag.
        TargetTouched,
        /// A release that meets a pending back-reference rewrites it.
        PendingRewrittenByRelease,
        /// Over one's own confirmed back-reference, the target is read once more.
        OwnConfirmedCheckedAgain,
        /// The target's EGT carries an outbox row.
        OutboxRow,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Target: begin to refer.
    Refer,
    /// Target: refer no more.
    Leave,
    /// Source: delete.
    Delete,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Stage {
    Pending,
    /// Pending past its expiry.
    Expired,
    Confirmed,
}

/// Writes in all.
const WRITES: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    source: bool,
    /// Whether it refers to the source.
    target: bool,
    back: Option<Stage>,
    /// Outbox rows of the target's writes.
    outbox: [bool; WRITES],
}

const TORN: &str = "a target refers to a deleted source";
const UNCONFIRMED: &str = "a target's back-reference is not confirmed";
const BLOCKED: &str = "a back-reference stands confirmed that no target wants";

impl Rows {
    const APART: Self = Self { source: true, target: false, back: None, outbox: [false; WRITES] };
    const REFERRING: Self = Self { target: true, back: Some(Stage::Confirmed), ..Self::APART };

    fn wrong(&self) -> Option<&'static str> {
        match (self.target, self.back == Some(Stage::Confirmed)) {
            (true, false) => Some(UNCONFIRMED),
            (false, true) => Some(BLOCKED),
            _ => None,
        }
    }
}

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, " source: {}", if self.source { "live" } else { "dead" })?;
        write!(out, " target: {}", if self.target { "refers" } else { "apart" })?;
        if let Some(stage) = self.back {
            write!(out, " ref {}", format!("{stage:?}").to_lowercase())?;
        }
        let waiting = self.outbox.iter().filter(|row| **row).count();
        if waiting > 0 { write!(out, " [out {waiting}]") } else { Ok(()) }
    }
}

/// Who does what to which rows.
#[derive(Clone, Copy)]
pub(crate) struct Restrict {
    rows: Rows,
    writers: &'static [&'static [Op]],
    relays: usize,
    /// Whether to ask what is wrong once all are dead, or only what is wrong meanwhile.
    settles: bool,
    off: Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    /// Writers, then relays.
    actors: [Actor; 4],
}

impl Restrict {
    fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    fn canonical(&self, mut state: State) -> State {
        sort_relays(&mut state.actors, self.writers.len(), self.relays);
        state
    }
}

impl Protocol for Restrict {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        State { rows: self.rows, actors: [Actor::IDLE; 4] }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, name) in WRITERS.into_iter().enumerate().take(self.writers.len()) {
            self.write(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        for (relay, name) in RELAYS.into_iter().enumerate().take(self.relays) {
            let index = self.writers.len() + relay;
            self.relay(state, index, &mut |what, s| steps.add(name, what, self.canonical(s)));
        }
        if state.rows.back == Some(Stage::Pending) {
            let mut s = *state;
            s.rows.back = Some(Stage::Expired);
            steps.add("time", "the back-reference expires", s);
        }
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn violated(&self, state: &State) -> Option<&'static str> {
        (state.rows.target && !state.rows.source).then_some(TORN)
    }

    fn settled(&self, rows: Rows) -> Option<&'static str> {
        if !self.settles {
            return None;
        }
        settle(rows, WRITES, |rows, slot| self.deliver(rows, slot), Rows::wrong)
    }
}
