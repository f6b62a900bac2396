//! The dirty marker (rule 6): writers that mark a partition before they write an outbox row into it, and remember for a while
//! that they did; relays that look only where a marker stands, and remove it when its life is over.
//!
//! What an outbox row says does not matter here, only whether a relay can find it. Time is counted: a request lands within
//! [`REQUEST`] of being sent, or never.

use std::fmt::{self, Debug};

use super::{
    checker::{Protocol, Steps},
    report::{finds, holds},
    rules::{Off, rules},
};

/// A marker's life, from when its writer made it up.
const LIFE: u8 = 4;
/// The longest that a request may be under way.
const REQUEST: u8 = 1;

rules! {
    /// What must hold; switched off one at a time.
    Rule {
        /// The marker is written before the EGT.
        MarkerFirst,
        /// A writer remembers its marker for less than its life.
        RememberedForLess,
        /// ..by two request lifetimes, not one: another's marker, made up earlier, may land later.
        ByTwoRequests,
        /// A marker is removed only when its life is over.
        RemovedAfterLife,
        /// ..and the partition was read empty.
        RemovedIfEmpty,
        /// ..after that.
        EmptyAfterLife,
        /// ..and its ETag is unchanged.
        ConditionalRemoval,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    /// When its life is over.
    marker: Option<u8>,
    /// Outbox rows of the partition, as bits.
    outbox: u8,
}

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marker = self.marker.map_or("unmarked".to_owned(), |expires| format!("marked until {expires}"));
        write!(out, "{marker}, {} outbox rows", self.outbox.count_ones())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Pc {
    Idle,
    /// Writer: the marker is under way, until then.
    Marking {
        expires: u8,
        lands_by: u8,
    },
    /// Writer: the EGT is under way, until then.
    Committing {
        lands_by: u8,
    },
    /// Writer, against the rules: the marker comes after.
    MarkingLate,
    /// Writer: removes its outbox row.
    Acknowledge,
    /// Relay: has read the marker.
    Marked {
        life_over: bool,
    },
    /// Relay: removes the marker, if its life was over.
    Remove {
        life_over: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Actor {
    pc: Pc,
    /// Writer: writes done.
    next: u8,
    /// Writer: until when the marker stands that it wrote.
    trusts: u8,
    /// Relay: the marker is as it was read.
    current: bool,
    /// Relay: when the marker that it read is over.
    expires: u8,
}

const ACTORS: usize = 4;
const NAMES: [&str; ACTORS] = ["writer 0", "writer 1", "relay 0", "relay 1"];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    rows: Rows,
    now: u8,
    actors: [Actor; ACTORS],
}

#[derive(Clone, Copy)]
struct Marker {
    /// Writes of each writer.
    writes: [u8; 2],
    relays: usize,
    until: u8,
    off: Off,
}

impl Marker {
    fn obeys(&self, rule: Rule) -> bool {
        !self.off.has(rule)
    }

    /// Whether a writer may still rely on the marker that it wrote.
    fn remembers(&self, writer: Actor, now: u8) -> bool {
        let margin = match (self.obeys(Rule::RememberedForLess), self.obeys(Rule::ByTwoRequests)) {
            (false, _) => return writer.trusts > 0,
            (true, false) => REQUEST,
            (true, true) => 2 * REQUEST,
        };
        now + margin <= writer.trusts
    }

    /// The writer's next step, and whether it wrote the marker.
    fn write(&self, s: &mut State, index: usize) -> Option<(&'static str, bool)> {
        let now = s.now;
        let writer = &mut s.actors[index];
        let lands_by = now + REQUEST;
        let (what, pc, marks) = match writer.pc {
            Pc::Idle if writer.next == self.writes[index] => return None,
            Pc::Idle if self.remembers(*writer, now) || !self.obeys(Rule::MarkerFirst) => {
                ("sends its EGT", Pc::Committing { lands_by }, false)
            }
            Pc::Idle => ("sends a marker", Pc::Marking { expires: now + LIFE, lands_by }, false),
            Pc::Marking { lands_by, .. } | Pc::Committing { lands_by } if now > lands_by => {
                writer.next += 1;
                ("gives up", Pc::Idle, false)
            }
            Pc::Marking { expires, .. } => {
                writer.trusts = expires;
                s.rows.marker = Some(expires);
                ("marks the partition", Pc::Idle, true)
            }
            Pc::Committing { .. } => {
                s.rows.outbox |= 1 << (index as u8 * 2 + writer.next);
                let late = !self.obeys(Rule::MarkerFirst);
                ("commits its EGT", if late { Pc::MarkingLate } else { Pc::Acknowledge }, false)
            }
            Pc::MarkingLate => {
                s.rows.marker = Some(now + LIFE);
                ("marks the partition", Pc::Acknowledge, true)
            }
            _ => {
                s.rows.outbox &= !(1 << (index as u8 * 2 + writer.next));
                writer.next += 1;
                ("removes its outbox row", Pc::Idle, false)
            }
        };
        s.actors[index].pc = pc;
        Some((what, marks))
    }

    fn relay(&self, s: &mut State, index: usize) -> Option<&'static str> {
        let (now, rows) = (s.now, &mut s.rows);
        let relay = &mut s.actors[index];
        let is_over = |expires: u8| now > expires || !self.obeys(Rule::RemovedAfterLife);
        let what = match relay.pc {
            Pc::Idle => {
                let expires = rows.marker?;
                (relay.current, relay.expires) = (true, expires);
                relay.pc = Pc::Marked { life_over: is_over(expires) };
                "reads the marker"
            }
            Pc::Marked { life_over } => {
                let goes_on = rows.outbox == 0 || !self.obeys(Rule::RemovedIfEmpty);
                if !goes_on {
                    rows.outbox = 0;
                }
                relay.pc = if goes_on { Pc::Remove { life_over } } else { Pc::Idle };
                if goes_on { "reads the partition" } else { "reads the partition, delivers what it finds" }
            }
            Pc::Remove { life_over } => {
                let later = !self.obeys(Rule::EmptyAfterLife) && is_over(relay.expires);
                let same = relay.current || !self.obeys(Rule::ConditionalRemoval);
                let removes = (life_over || later) && same;
                relay.pc = Pc::Idle;
                if removes {
                    rows.marker = None;
                }
                if removes { "removes the marker" } else { "leaves the marker" }
            }
            _ => return None,
        };
        if relay.pc == Pc::Idle {
            (relay.current, relay.expires) = (false, 0);
        }
        Some(what)
    }
}

impl Protocol for Marker {
    type State = State;
    type Rows = Rows;

    fn start(&self) -> State {
        let actor = Actor { pc: Pc::Idle, next: 0, trusts: 0, current: false, expires: 0 };
        State { rows: Rows { marker: None, outbox: 0 }, now: 0, actors: [actor; ACTORS] }
    }

    fn steps(&self, state: &State, steps: &mut Steps<State>) {
        for (index, name) in NAMES.into_iter().enumerate().take(2 + self.relays) {
            let mut s = *state;
            let what = if index < 2 {
                self.write(&mut s, index).map(|(what, marks)| {
                    if marks {
                        s.actors.iter_mut().for_each(|actor| actor.current = false);
                    }
                    what
                })
            } else {
                let before = s.rows.marker;
                let what = self.relay(&mut s, index);
                if s.rows.marker != before {
                    s.actors.iter_mut().for_each(|actor| actor.current = false);
                }
                what
            };
            if let Some(what) = what {
                steps.add(name, what, s);
            }
        }
        if state.now < self.until {
            steps.add("time", "passes", State { now: state.now + 1, ..*state });
        }
    }

    fn rows(&self, state: &State) -> Rows {
        state.rows
    }

    fn settled(&self, rows: Rows) -> Option<&'static str> {
        (rows.outbox != 0 && rows.marker.is_none()).then_some(HIDDEN)
    }
}

const HIDDEN: &str = "an outbox row stands where no marker says so";

const ONE: Marker = Marker { writes: [2, 0], relays: 2, until: 8, off: Off::NONE };
const TWO: Marker = Marker { writes: [1, 2], relays: 1, until: 7, off: Off::NONE };

#[test]
fn a_marker_stands_wherever_an_outbox_row_does() {
    holds("one writer, two relays", &ONE);
    holds("two writers", &TWO);
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let protocol = if matches!(rule, Rule::ByTwoRequests | Rule::ConditionalRemoval) { TWO } else { ONE };
        finds(&format!("without {rule:?}"), &Marker { off: protocol.off.and(rule), ..protocol }, HIDDEN);
    }
}
