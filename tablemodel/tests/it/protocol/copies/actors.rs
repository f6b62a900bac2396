//! What the writers of source and target do, and how an outbox row of either is delivered, one store request at a time.

use super::{
    Copies, Op, Rule, State,
    rows::{ABSENT, BackReference, CASCADES, Intent, Rows, Source, Target, WRITES},
};
use crate::protocol::cast::number;

/// Where an actor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Pc {
    Idle,
    /// Source's writer, against the rules: reads the back-references before the EGT.
    LookBefore,
    /// Target's writer, against the rules: puts the back-reference before the EGT.
    RegisterBefore,
    /// Target's writer: reads the source to copy it.
    ReadToCopy,
    /// Writes the primary row and the outbox row.
    Commit,
    /// Source's outbox row: reads the back-references.
    BackReferences,
    /// Target's outbox row: reads the target.
    Look,
    /// Target's outbox row: writes the back-reference, by an atomic "if the number is lower".
    Register,
    /// Either: reads the target, for the copy.
    ReadTarget,
    /// Either: reads the source, for the copy.
    ReadSource,
    /// Either: writes the copy.
    WriteCopy,
    /// Removes the outbox row.
    Acknowledge,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Actor {
    pub(crate) pc: Pc,
    /// Writer: operations done.
    pub(crate) next: u8,
    slot: u8,
    /// The outbox row is the source's.
    of_source: bool,
    source: Source,
    target: Target,
    /// Source's writer: whether it saw a back-reference before its EGT.
    seen: Option<bool>,
    /// Source and target are as this actor read them.
    pub(crate) current: [bool; 2],
}

pub(crate) const SOURCE: usize = 0;
pub(crate) const TARGET: usize = 1;

impl Actor {
    pub(crate) const IDLE: Self = Self {
        pc: Pc::Idle,
        next: 0,
        slot: 0,
        of_source: false,
        source: ABSENT,
        target: Target { refers: false, seq: 0, copy: ABSENT },
        seen: None,
        current: [false; 2],
    };
    /// In the place of a writer's count of operations: relays have no program.
    const RELAY: u8 = u8::MAX;

    fn over(self) -> Self {
        Self { next: self.next + 1, ..Self::IDLE }
    }

    fn again(self) -> Self {
        Self { next: self.next, ..Self::IDLE }
    }

    /// With what was read forgotten, at the next step of the delivery.
    fn at(self, pc: Pc) -> Self {
        Self { pc, source: ABSENT, target: Self::IDLE.target, current: [false; 2], ..self }
    }

    fn delivering(rows: &Rows, slot: usize) -> Option<Self> {
        let (pc, of_source, seen) = match rows.outbox[slot]? {
            Intent::Source { seen } => (Pc::BackReferences, true, seen),
            Intent::Target => (Pc::Look, false, None),
        };
        Some(Self { pc, next: Self::RELAY, slot: slot as u8, of_source, seen, ..Self::IDLE })
    }
}

pub(crate) type Emit<'a> = &'a mut dyn FnMut(&'static str, State);

impl State {
    fn with(mut self, index: usize, actor: Actor, written: Option<usize>) -> Self {
        if let Some(row) = written {
            self.actors.iter_mut().for_each(|actor| actor.current[row] = false);
        }
        self.actors[index] = actor;
        self
    }
}

impl Copies {
    pub(crate) fn write(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let Some(&op) = self.writers[index].get(usize::from(actor.next)) else { return };
        let rows = state.rows;
        match actor.pc {
            Pc::Idle => emit("reads its primary", state.with(index, self.plan(&rows, index, actor, op), None)),
            Pc::LookBefore => {
                let seen = Some(rows.back.is_some_and(|back| back.live));
                emit("reads the back-references", state.with(index, Actor { pc: Pc::Commit, seen, ..actor }, None));
            }
            Pc::RegisterBefore => {
                let mut s = *state;
                let what = self.register(&mut s.rows, actor.target);
                emit(what, s.with(index, Actor { pc: Pc::ReadToCopy, ..actor }, None));
            }
            Pc::ReadToCopy if self.cascades && rows.source.value.is_none() => {
                emit("finds no source to refer to", state.with(index, actor.over(), None));
            }
            Pc::ReadToCopy => {
                let target = Target { copy: rows.source, ..actor.target };
                emit("reads the source", state.with(index, Actor { pc: Pc::Commit, target, ..actor }, None));
            }
            Pc::Commit => self.commit(state, index, emit),
            _ => {
                emit("leaves the rest to relays", state.with(index, actor.over(), None));
                self.deliver_on(state, index, emit);
            }
        }
    }

    fn plan(&self, rows: &Rows, index: usize, actor: Actor, op: Op) -> Actor {
        let slot = number(self.writers, index, actor.next);
        let looks = !self.obeys(Rule::OutboxAlways) || !self.obeys(Rule::BackReferencesAfterEgt);
        let numbered = |value| Source { value, seq: rows.source.seq + 1 };
        let of_source = Actor { slot, of_source: true, current: [true, false], ..actor };
        let of_target = Actor { slot, current: [false, true], ..actor };
        let refers = |refers| Target { refers, seq: rows.target.seq + 1, copy: ABSENT };
        let pc = if looks { Pc::LookBefore } else { Pc::Commit };
        match op {
            Op::Put(value) => Actor { pc, source: numbered(Some(value)), ..of_source },
            Op::Delete if rows.source.value.is_none() => actor.over(),
            Op::Delete => Actor { pc, source: numbered(None), ..of_source },
            Op::Refer if rows.target.refers => actor.over(),
            Op::Refer if !self.obeys(Rule::RegisteredAfterEgt) => {
                Actor { pc: Pc::RegisterBefore, target: refers(true), ..of_target }
            }
            Op::Refer => Actor { pc: Pc::ReadToCopy, target: refers(true), ..of_target },
            Op::Leave if !rows.target.refers => actor.over(),
            Op::Leave => Actor { pc: Pc::Commit, target: refers(false), ..of_target },
        }
    }

    fn commit(&self, state: &State, index: usize, emit: Emit<'_>) {
        let mut s = *state;
        let actor = s.actors[index];
        let row = if actor.of_source { SOURCE } else { TARGET };
        if !actor.current[row] {
            return emit("meets 409 or 412", s.with(index, actor.again(), None));
        }
        let dies = actor.source.value.is_none();
        let announced = match (actor.of_source, dies) {
            (true, _) if !self.obeys(Rule::OutboxAlways) => actor.seen == Some(true),
            (true, true) => self.obeys(Rule::DeletesToo),
            (true, false) => true,
            (false, _) if actor.target.refers && !self.obeys(Rule::RegisteredAfterEgt) => false,
            (false, _) => self.obeys(Rule::TargetHasOutboxRow),
        };
        let seen = actor.seen.filter(|_| !self.obeys(Rule::BackReferencesAfterEgt));
        let (intent, pc) = if actor.of_source {
            s.rows.source = actor.source;
            (Intent::Source { seen }, Pc::BackReferences)
        } else {
            s.rows.target = actor.target;
            (Intent::Target, Pc::Look)
        };
        s.rows.outbox[usize::from(actor.slot)] = announced.then_some(intent);
        let delivers = announced || !actor.of_source && self.obeys(Rule::RegisteredAfterEgt);
        let next = if delivers { Actor { seen, ..actor.at(pc) } } else { actor.over() };
        emit("commits its EGT", s.with(index, next, Some(row)));
    }

    pub(crate) fn relay(&self, state: &State, index: usize, emit: Emit<'_>) {
        if state.actors[index].pc != Pc::Idle {
            return self.deliver_on(state, index, emit);
        }
        for slot in 0..WRITES {
            if let Some(actor) = Actor::delivering(&state.rows, slot) {
                emit("reads an outbox row", state.with(index, actor, None));
            }
        }
    }

    fn deliver_on(&self, state: &State, index: usize, emit: Emit<'_>) {
        let mut s = *state;
        let (what, next, written) = self.deliver_step(&mut s.rows, s.actors[index]);
        emit(what, s.with(index, next, written));
    }

    /// A fresh relay sees to one outbox row, undisturbed.
    pub(crate) fn deliver(&self, rows: &mut Rows, slot: usize) {
        let Some(mut actor) = Actor::delivering(rows, slot) else { return };
        while actor.pc != Pc::Idle {
            actor = self.deliver_step(rows, actor).1;
        }
    }

    /// What it did, where that leaves the actor, and the row it wrote.
    fn deliver_step(&self, rows: &mut Rows, actor: Actor) -> (&'static str, Actor, Option<usize>) {
        let source_last = self.obeys(Rule::SourceReadLast);
        let copying = if source_last { Pc::ReadTarget } else { Pc::ReadSource };
        match actor.pc {
            Pc::BackReferences => {
                let found = actor.seen.unwrap_or(rows.back.is_some_and(|back| back.live));
                let pc = if found { copying } else { Pc::Acknowledge };
                ("reads the back-references", Actor { seen: None, ..actor.at(pc) }, None)
            }
            Pc::Look => {
                let next = if self.obeys(Rule::BackReferenceFirst) { Pc::Register } else { copying };
                ("reads the target", Actor { target: rows.target, ..actor.at(next) }, None)
            }
            Pc::Register => {
                let what = self.register(rows, actor.target);
                let more =
                    actor.target.refers && self.obeys(Rule::SourceReadAgain) && self.obeys(Rule::BackReferenceFirst);
                (what, actor.at(if more { copying } else { Pc::Acknowledge }), None)
            }
            Pc::ReadTarget => {
                let next = if source_last { Pc::ReadSource } else { Pc::WriteCopy };
                let current = [false, true];
                let next = if rows.target.refers {
                    Actor { target: rows.target, source: actor.source, current, ..actor.at(next) }
                } else {
                    self.copied(rows, actor)
                };
                ("reads the target", next, None)
            }
            Pc::ReadSource => {
                let next = if source_last { Pc::WriteCopy } else { Pc::ReadTarget };
                ("reads the source", Actor { pc: next, source: rows.source, ..actor }, None)
            }
            Pc::WriteCopy => self.write_copy(rows, actor, copying),
            _ => {
                rows.outbox[usize::from(actor.slot)] = None;
                let is_writer = actor.next != Actor::RELAY;
                ("removes the outbox row", if is_writer { actor.over() } else { Actor::IDLE }, None)
            }
        }
    }

    /// The copy is seen to; what is left of the outbox row.
    fn copied(&self, rows: &Rows, actor: Actor) -> Actor {
        let late = !self.obeys(Rule::BackReferenceFirst) && !actor.of_source;
        Actor {
            target: if late { rows.target } else { Actor::IDLE.target },
            ..actor.at(if late { Pc::Register } else { Pc::Acknowledge })
        }
    }

    /// As any entry in another partition: over a lower number only, and a tombstone where it goes.
    fn register(&self, rows: &mut Rows, target: Target) -> &'static str {
        let newer = rows.back.is_some_and(|back| back.seq >= target.seq);
        if newer && self.obeys(Rule::BackReferenceGuard) {
            return "finds the back-reference newer, or as it should be";
        }
        let back = BackReference { live: target.refers, seq: target.seq };
        let gone = !target.refers && !self.obeys(Rule::BackReferenceTombstone);
        rows.back = (!gone).then_some(back);
        if target.refers { "writes the back-reference" } else { "writes the back-reference's tombstone" }
    }

    fn write_copy(&self, rows: &mut Rows, actor: Actor, copying: Pc) -> (&'static str, Actor, Option<usize>) {
        let Actor { source, target, .. } = actor;
        let older = target.copy.seq < source.seq || !self.obeys(Rule::CopiedSequence);
        let passes = target.copy.value == source.value && !self.obeys(Rule::EqualIsNotNew);
        if !older || passes {
            return ("finds the copy as new", self.copied(rows, actor), None);
        }
        if !actor.current[TARGET] && self.obeys(Rule::CopyUnderEtag) {
            return ("meets 412 on the target", actor.at(copying), None);
        }
        if self.cascades && source.is_dead() {
            let seq = rows.target.seq + 1;
            rows.target = Target { refers: false, seq, copy: ABSENT };
            rows.outbox[CASCADES + usize::from(seq)] = Some(Intent::Target); // an outbox row's key has its number
            return ("deletes the target with it", self.copied(rows, actor), Some(TARGET));
        }
        let base = if self.obeys(Rule::CopyUnderEtag) { rows.target } else { target };
        rows.target = Target { copy: source, ..base };
        ("writes the copy", self.copied(rows, actor), Some(TARGET))
    }
}
