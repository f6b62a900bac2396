//! The explorer: every state that a protocol can reach, breadth first, so that the first wrong one has the shortest trace.
//!
//! Knows nothing of entities, relays or claims; it may not skip a state.
//!
//! Death is not a step. An actor that is never scheduled again is dead or stalled, and [`Protocol::settled`] asks of every
//! set of rows ever reached: if all actors died now and a fresh relay ran to its end, would the rows be right?

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    hash::{BuildHasherDefault, Hash, Hasher},
};

/// A protocol under exploration: its rows, its actors as explicit program counters, and what is wrong.
pub(crate) trait Protocol {
    /// Rows, actors and what must be remembered to judge them; in canonical form.
    type State: Copy + Eq + Hash + Debug;
    /// What the stores hold, without the actors.
    type Rows: Copy + Eq + Hash + Debug;

    fn start(&self) -> Self::State;
    fn steps(&self, state: &Self::State, steps: &mut Steps<Self::State>);
    fn rows(&self, state: &Self::State) -> Self::Rows;
    /// What may be true in no state.
    fn violated(&self, _state: &Self::State) -> Option<&'static str> {
        None
    }
    /// What is wrong once every actor is dead, every deadline past, and a fresh relay has run to its end.
    fn settled(&self, rows: Self::Rows) -> Option<&'static str>;
}

/// The successors of one state.
pub(crate) struct Steps<S>(Vec<(Label, S)>);

/// Who did what.
pub(crate) type Label = (&'static str, &'static str);

impl<S> Steps<S> {
    pub(crate) fn add(&mut self, who: &'static str, what: &'static str, state: S) {
        self.0.push(((who, what), state));
    }
}

/// What an exploration found.
pub(crate) struct Outcome {
    pub(crate) states: usize,
    /// Distinct contents of the stores, each settled.
    pub(crate) rows: usize,
    pub(crate) wrong: Option<Wrong>,
}

/// The shortest way to a wrong state.
pub(crate) struct Wrong {
    pub(crate) what: &'static str,
    pub(crate) trace: String,
    pub(crate) steps: usize,
}

/// Multiply and rotate: states are many and small, and nobody chooses them to collide.
#[derive(Default)]
pub(crate) struct Fast(u64);

impl Fast {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            self.mix(chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
    }
    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }
    fn write_u16(&mut self, word: u16) {
        self.mix(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }
    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }
    fn write_isize(&mut self, word: isize) {
        self.mix(word as u64);
    }
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

type FastHash = BuildHasherDefault<Fast>;

/// Explores until a wrong state or until there is nothing new.
pub(crate) fn explore<P: Protocol>(protocol: &P) -> Outcome {
    let mut search = Search { protocol, found: Vec::new(), known: HashMap::default(), settled: HashSet::default() };
    let wrong = search.run();
    Outcome { states: search.found.len(), rows: search.settled.len(), wrong }
}

struct Search<'a, P: Protocol> {
    protocol: &'a P,
    found: Vec<Found<P::State>>,
    known: HashMap<P::State, (), FastHash>,
    settled: HashSet<P::Rows, FastHash>,
}

struct Found<S> {
    state: S,
    from: usize,
    label: Label,
}

impl<P: Protocol> Search<'_, P> {
    fn run(&mut self) -> Option<Wrong> {
        let mut steps = Steps(Vec::new());
        let mut next = 0;
        if let Some(wrong) = self.meet(0, ("", "start"), self.protocol.start()) {
            return Some(wrong);
        }
        while let Some(found) = self.found.get(next) {
            let state = found.state;
            self.protocol.steps(&state, &mut steps);
            for (label, state) in steps.0.drain(..) {
                if let Some(wrong) = self.meet(next, label, state) {
                    return Some(wrong);
                }
            }
            next += 1;
        }
        None
    }

    fn meet(&mut self, from: usize, label: Label, state: P::State) -> Option<Wrong> {
        if self.known.insert(state, ()).is_some() {
            return None;
        }
        self.found.push(Found { state, from, label });
        let rows = self.protocol.rows(&state);
        let fresh = self.settled.insert(rows);
        let settles = || if fresh { self.protocol.settled(rows) } else { None };
        let what = self.protocol.violated(&state).or_else(settles)?;
        Some(self.wrong(what))
    }

    /// The way to the state found last.
    fn wrong(&self, what: &'static str) -> Wrong {
        let mut at = self.found.len() - 1;
        let mut lines = Vec::new();
        while at != 0 {
            let Found { state, from, label: (who, does) } = &self.found[at];
            lines.push(format!("{who:>8} {does:<44} {:?}", self.protocol.rows(state)));
            at = *from;
        }
        lines.push(format!("{:>8} {:<44} {:?}", "", "start", self.protocol.rows(&self.found[0].state)));
        lines.reverse();
        Wrong { what, steps: lines.len() - 1, trace: format!("{}\n  => {what}", lines.join("\n")) }
    }
}

/// Two actors that each add one to a number, by a read and a write.
struct Counter {
    conditional: bool,
}

/// The number, and each actor: what it has read, or that it is done.
type Count = (u8, [Option<u8>; 2], [bool; 2]);

impl Protocol for Counter {
    type State = Count;
    type Rows = (u8, bool);

    fn start(&self) -> Count {
        (0, [None; 2], [false; 2])
    }

    fn steps(&self, state: &Count, steps: &mut Steps<Count>) {
        for at in (0..2).filter(|at| !state.2[*at]) {
            let mut next = *state;
            match state.1[at].filter(|read| !self.conditional || *read == state.0) {
                Some(read) => (next.0, next.1[at], next.2[at]) = (read + 1, None, true),
                None => next.1[at] = Some(state.0),
            }
            steps.add(["one", "other"][at], "steps", next);
        }
    }

    fn rows(&self, state: &Count) -> (u8, bool) {
        (state.0, state.2 == [true; 2])
    }

    fn settled(&self, (count, done): (u8, bool)) -> Option<&'static str> {
        (done && count != 2).then_some("an addition was lost")
    }
}

#[test]
fn the_first_wrong_state_is_found_by_its_shortest_way() {
    let outcome = explore(&Counter { conditional: false });
    let wrong = outcome.wrong.expect("found");
    assert_eq!((wrong.what, wrong.steps), ("an addition was lost", 4), "{}", wrong.trace);
    assert_eq!(wrong.trace.lines().count(), 6, "the start, four steps and the verdict: {}", wrong.trace);
}

#[test]
fn every_state_is_visited_once() {
    let outcome = explore(&Counter { conditional: true });
    assert!(outcome.wrong.is_none());
    // Neither begun; one has read; both have; one is done, and the other has not read, or the old, or the new; both done.
    assert_eq!(outcome.states, 1 + 2 + 1 + 2 * 3 + 1);
}
