//! What the writers of source and target do, and how the target's outbox rows are delivered, one store request at a time.

use super::{Op, Restrict, Rows, Rule, Stage, State, WRITES};
use crate::protocol::cast::number;

/// Where an actor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Pc {
    Idle,
    /// Target's writer, against the rules: reads its primary only now.
    ReadLate,
    /// Target's writer: reads the source.
    ReadSource,
    /// Reads the back-reference.
    Look,
    /// Target's writer: has found it confirmed; reads its primary once more.
    CheckAgain,
    /// Target's writer: puts it, and touches the source.
    Put,
    /// Target's writer: the primary row and the outbox row.
    Commit,
    /// Source's writer: reads the target of an expired back-reference.
    ReadTarget,
    /// ..confirms it for the target.
    ConfirmForTarget,
    /// ..changes the target.
    Touch,
    /// ..removes the back-reference.
    Remove,
    /// Source's writer, against the rules: reads the source only now.
    ReadSourceLate,
    /// Source's writer: deletes the source.
    Erase,
    /// Delivers an outbox row: reads the back-reference.
    Settle,
    /// ..reads the target.
    SettleTarget(Stage),
    /// ..writes the back-reference: what it becomes.
    SettleWrite(Option<Stage>),
    /// ..removes the outbox row.
    Acknowledge,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Actor {
    pc: Pc,
    /// Writer: operations done.
    next: u8,
    slot: u8,
    /// Rows that are as this actor read or wrote them, as bits.
    current: u8,
}

const SOURCE: u8 = 1;
const BACK: u8 = 2;
const TARGET: u8 = 4;

impl Actor {
    pub(crate) const IDLE: Self = Self { pc: Pc::Idle, next: 0, slot: 0, current: 0 };
    /// In the place of a writer's count of operations: relays have no program.
    const RELAY: u8 = u8::MAX;

    fn over(self) -> Self {
        if self.next == Self::RELAY { Self::IDLE } else { Self { next: self.next + 1, ..Self::IDLE } }
    }

    fn again(self) -> Self {
        Self { next: self.next, ..Self::IDLE }
    }

    fn at(self, pc: Pc) -> Self {
        Self { pc, ..self }
    }

    /// After a request that told the ETags of these rows.
    fn knows(self, rows: u8, pc: Pc) -> Self {
        Self { pc, current: self.current | rows, ..self }
    }

    fn lacks(self, row: u8) -> bool {
        self.current & row == 0
    }

    fn delivering(slot: usize) -> Self {
        Self { pc: Pc::Settle, next: Self::RELAY, slot: slot as u8, current: 0 }
    }
}

pub(crate) type Emit<'a> = &'a mut dyn FnMut(&'static str, State);

/// What an actor did, where that leaves it, and the rows it wrote.
type Step = (&'static str, Actor, u8);

impl Restrict {
    pub(crate) fn write(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let Some(&op) = self.writers[index].get(usize::from(actor.next)) else { return };
        let actor = Actor { slot: number(self.writers, index, actor.next), ..actor };
        if actor.pc == Pc::Settle {
            step(state, index, emit, |_| ("leaves the rest to relays", actor.over(), 0));
        }
        step(state, index, emit, |rows| match (actor.pc, op) {
            (Pc::Settle | Pc::SettleTarget(_) | Pc::SettleWrite(_) | Pc::Acknowledge, _) => self.settle(rows, actor),
            (_, Op::Refer) => self.refer(rows, actor),
            (_, Op::Leave) => self.leave(rows, actor),
            (_, Op::Delete) => self.delete(rows, actor),
        });
    }

    pub(crate) fn relay(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        if actor.pc != Pc::Idle {
            return step(state, index, emit, |rows| self.settle(rows, actor));
        }
        for slot in (0..WRITES).filter(|slot| state.rows.outbox[*slot]) {
            step(state, index, emit, |_| ("reads an outbox row", Actor::delivering(slot), 0));
        }
    }

    /// A fresh relay sees to one outbox row, undisturbed.
    pub(crate) fn deliver(&self, rows: &mut Rows, slot: usize) {
        let mut actor = if rows.outbox[slot] { Actor::delivering(slot) } else { Actor::IDLE };
        while actor.pc != Pc::Idle {
            actor = self.settle(rows, actor).1;
        }
    }

    fn refer(&self, rows: &mut Rows, actor: Actor) -> Step {
        let early = self.obeys(Rule::BackReferenceBeforeEgt);
        match actor.pc {
            Pc::Idle if !self.obeys(Rule::ImageFirst) => ("begins", actor.at(Pc::ReadSource), 0),
            Pc::Idle if rows.target => ("refers already", actor.over(), 0),
            Pc::Idle => ("reads the target", actor.knows(TARGET, Pc::ReadSource), 0),
            Pc::ReadSource if !rows.source => ("finds no source", actor.over(), 0),
            Pc::ReadSource => ("reads the source", actor.knows(SOURCE, if early { Pc::Look } else { Pc::Commit }), 0),
            Pc::Look => {
                let checks = rows.back == Some(Stage::Confirmed) && self.obeys(Rule::OwnConfirmedCheckedAgain);
                ("reads the back-reference", actor.knows(BACK, if checks { Pc::CheckAgain } else { Pc::Put }), 0)
            }
            Pc::CheckAgain => {
                let next = if rows.target { actor.again() } else { actor.at(Pc::Put) };
                ("reads the target once more", next, 0)
            }
            Pc::Put => {
                let touches = self.obeys(Rule::SourceTouched);
                if actor.lacks(BACK) || touches && actor.lacks(SOURCE) {
                    return ("meets 409 or 412", actor.again(), 0);
                }
                rows.back = Some(Stage::Pending);
                let next = if self.obeys(Rule::ImageFirst) { Pc::Commit } else { Pc::ReadLate };
                let touched = if touches { SOURCE } else { 0 };
                ("puts the back-reference, pending", actor.at(next), BACK | touched)
            }
            Pc::ReadLate if rows.target => ("refers already", actor.over(), 0),
            Pc::ReadLate => ("reads the target", actor.knows(TARGET, Pc::Commit), 0),
            _ => self.commit(rows, actor, true),
        }
    }

    fn leave(&self, rows: &mut Rows, actor: Actor) -> Step {
        match actor.pc {
            Pc::Idle if !rows.target => ("does not refer", actor.over(), 0),
            Pc::Idle => ("reads the target", actor.knows(TARGET, Pc::Commit), 0),
            _ => self.commit(rows, actor, false),
        }
    }

    fn commit(&self, rows: &mut Rows, actor: Actor, refers: bool) -> Step {
        if actor.lacks(TARGET) {
            let restarts = !refers || self.obeys(Rule::RegistersAgain);
            return ("meets 412", if restarts { actor.again() } else { actor.at(Pc::ReadLate) }, 0);
        }
        rows.target = refers;
        rows.outbox[usize::from(actor.slot)] = self.obeys(Rule::OutboxRow);
        ("commits its EGT", Actor { current: 0, ..actor.at(Pc::Settle) }, TARGET)
    }

    fn delete(&self, rows: &mut Rows, actor: Actor) -> Step {
        let source_first = self.obeys(Rule::SourceThenBackReferences);
        match actor.pc {
            Pc::Idle if !rows.source => ("finds no source", actor.over(), 0),
            Pc::Idle if !source_first => ("begins", actor.at(Pc::Look), 0),
            Pc::Idle => ("reads the source", actor.knows(SOURCE, Pc::Look), 0),
            Pc::Look => match rows.back {
                None => {
                    ("finds no back-reference", actor.at(if source_first { Pc::Erase } else { Pc::ReadSourceLate }), 0)
                }
                Some(Stage::Confirmed) => ("says: referred to", actor.over(), 0),
                Some(Stage::Pending) => ("says: try again", actor.over(), 0),
                Some(Stage::Expired) if !self.obeys(Rule::TargetRead) => {
                    ("finds it expired", actor.knows(BACK, Pc::Remove), 0)
                }
                Some(Stage::Expired) => ("finds it expired", actor.knows(BACK, Pc::ReadTarget), 0),
            },
            Pc::ReadTarget => {
                let next = match (rows.target, self.obeys(Rule::TargetTouched)) {
                    (true, _) => Pc::ConfirmForTarget,
                    (false, true) => Pc::Touch,
                    (false, false) => Pc::Remove,
                };
                ("reads the target", actor.knows(TARGET, next), 0)
            }
            Pc::Touch if actor.lacks(TARGET) => ("meets 412", actor.again(), 0),
            Pc::Touch => ("touches the target", actor.at(Pc::Remove), TARGET),
            Pc::Remove | Pc::ConfirmForTarget if actor.lacks(BACK) => ("meets 412", actor.again(), 0),
            Pc::ConfirmForTarget => {
                rows.back = Some(Stage::Confirmed);
                ("confirms it for the target; says: referred to", actor.over(), BACK)
            }
            Pc::Remove => {
                rows.back = None;
                ("removes the back-reference", actor.again(), BACK)
            }
            Pc::ReadSourceLate => ("reads the source", actor.knows(SOURCE, Pc::Erase), 0),
            _ if actor.lacks(SOURCE) && self.obeys(Rule::DeleteUnderEtag) => ("meets 412", actor.again(), 0),
            _ => {
                rows.source = false;
                ("deletes the source", actor.over(), SOURCE)
            }
        }
    }

    /// As a claim is settled: back-reference, then target, then one conditional write.
    fn settle(&self, rows: &mut Rows, actor: Actor) -> Step {
        match actor.pc {
            Pc::Settle => match rows.back {
                None if !self.obeys(Rule::BackReferenceBeforeEgt) && rows.target => {
                    rows.back = Some(Stage::Confirmed);
                    ("puts the back-reference", actor.at(Pc::Acknowledge), BACK)
                }
                None => ("finds no back-reference", actor.at(Pc::Acknowledge), 0),
                Some(stage) => ("reads the back-reference", actor.knows(BACK, Pc::SettleTarget(stage.clockless())), 0),
            },
            Pc::SettleTarget(stage) => {
                let next = match (stage, rows.target) {
                    (Stage::Confirmed, true) => Pc::Acknowledge,
                    (Stage::Confirmed, false) => Pc::SettleWrite(None),
                    (_, true) => Pc::SettleWrite(Some(Stage::Confirmed)),
                    (_, false) if self.obeys(Rule::PendingRewrittenByRelease) => Pc::SettleWrite(Some(Stage::Pending)),
                    (_, false) => Pc::Acknowledge,
                };
                ("reads the target", actor.at(next), 0)
            }
            Pc::SettleWrite(_) if actor.lacks(BACK) => ("meets 412", actor.at(Pc::Settle), 0),
            Pc::SettleWrite(Some(Stage::Confirmed)) => {
                rows.back = Some(Stage::Confirmed);
                ("confirms the back-reference", actor.at(Pc::Acknowledge), BACK)
            }
            Pc::SettleWrite(None) => {
                rows.back = None;
                ("releases the back-reference", actor.at(Pc::Acknowledge), BACK)
            }
            Pc::SettleWrite(Some(_)) => ("rewrites the pending back-reference", actor.at(Pc::Acknowledge), BACK),
            _ => {
                rows.outbox[usize::from(actor.slot)] = false;
                ("removes the outbox row", actor.over(), 0)
            }
        }
    }
}

impl Stage {
    /// Expiry says nothing to those who settle.
    fn clockless(self) -> Self {
        if self == Self::Expired { Self::Pending } else { self }
    }
}

fn step(state: &State, index: usize, emit: Emit<'_>, step: impl FnOnce(&mut Rows) -> Step) {
    let mut s = *state;
    let (what, next, written) = step(&mut s.rows);
    s.actors[index] = next;
    s.actors.iter_mut().for_each(|actor| actor.current &= !written);
    emit(what, s);
}
