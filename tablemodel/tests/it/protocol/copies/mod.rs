//! Copies (rule 5): a source, a target that refers to it and copies it, the back-reference beside the source.
//!
//! The target's EGT carries an outbox row like that of any entity with rows elsewhere; delivering it puts the back-reference,
//! then reads the source again, then makes the copy new. A lost reply adds nothing here: the writer recognises its write and
//! goes on, or stops, which is a death.

mod actors;
mod rows;
mod scenarios;

use actors::Actor;
use rows::{Rows, WRITES};

use super::{
    cast::{RELAYS, WRITERS, settle, sort_relays},
    checker::{Protocol, Steps},
    rules::{Off, rules},
};

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// The source's EGT carries an outbox row whether or not back-references were seen.
        OutboxAlways,
        /// ..a delete's too.
        DeletesToo,
        /// The relay reads the back-references after the EGT.
        BackReferencesAfterEgt,
        /// The target's EGT carries an outbox row too: who registers may die half way.
        TargetHasOutboxRow,
        /// Back-reference, reading the source and making the copy new come after the target's EGT, not (only) before.
        RegisteredAfterEgt,
        /// The back-reference is put first, then the source is read.
        BackReferenceFirst,
        /// The source is read again after the target's EGT and the back-reference.
        SourceReadAgain,
        /// The target keeps the number of the source that its copy was made from, and only a higher one is copied.
        CopiedSequence,
        /// A copy that is equal but made from a lower number is rewritten all the same.
        EqualIsNotNew,
        /// The source is read after the target on which the copy's write is conditional.
        SourceReadLast,
        /// The copy is written under the target's ETag.
        CopyUnderEtag,
        /// Back-references obey the guard of entries.
        BackReferenceGuard,
        /// ..and leave tombstones as entries do.
        BackReferenceTombstone,
    }
}

/// One write of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Source: upsert with this value.
    Put(u8),
    /// Source: delete.
    Delete,
    /// Target: begin to refer.
    Refer,
    /// Target: refer no more, or be deleted.
    Leave,
}

/// Who does what to which rows.
#[derive(Clone, Copy)]
pub(crate) struct Copies {
    pub(crate) rows: Rows,
    pub(crate) writers: &'static [&'static [Op]],
    pub(crate) relays: usize,
    /// Whether the target is deleted with its source, or keeps an empty copy.
    pub(crate) cascades: bool,
    /// What a control is not about.
    pub(crate) tolerates: &'static [&'static str],
    pub(crate) off: Off,
}

const ACTORS: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    /// Writers, then relays.
    actors: [Actor; ACTORS],
}

impl Copies {
    fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    fn canonical(&self, mut state: State) -> State {
        sort_relays(&mut state.actors, self.writers.len(), self.relays);
        state
    }
}

impl Protocol for Copies {
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
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn settled(&self, rows: Rows) -> Option<&'static str> {
        // Twice over: cascades leave outbox rows of their own.
        let deliver = |rows: &mut Rows, place| self.deliver(rows, place % WRITES);
        settle(rows, 2 * WRITES, deliver, |rows| match rows.outbox.iter().any(Option::is_some) {
            true => Some("a relay does not come to an end"),
            false => rows.wrong(self.cascades).filter(|wrong| !self.tolerates.contains(wrong)),
        })
    }
}
