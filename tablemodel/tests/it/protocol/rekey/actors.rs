//! What movers, other writers and relays do, one store request at a time.

use super::{
    Op, Rekey, Rule, State,
    rows::{Intent, Primary, Rows, WRITES},
};
use crate::protocol::cast::number;

/// Where an actor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Pc {
    Idle,
    /// Reads the key that it wants.
    Look,
    /// Thief: reads the primary of the mover that reserved it.
    Mover,
    /// Thief: reads the mover's intent.
    MoversIntent,
    /// Thief: finishes the move.
    Finish(u8),
    /// Thief: changes the mover's primary.
    Touch,
    /// Reserves the key; an insert: writes its entity there.
    Take,
    /// Mover, against the rules: reads its old primary only now.
    ReadLate,
    /// Mover: tombstone and intent.
    Commit,
    /// Mover, against the rules: the intent in a request of its own.
    Log,
    /// Deletes what it read.
    Erase,
    /// Delivers the intent: reads the new key.
    Arrive,
    /// ..replaces the reservation by the image.
    Place,
    /// ..removes the intent.
    Clear,
    /// ..without reservations: goes back to the old key.
    Return,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Actor {
    pub(crate) pc: Pc,
    /// Writer: operations done.
    next: u8,
    /// The number of the move.
    by: u8,
    from: u8,
    to: u8,
    entity: u8,
    /// Thief: the reservation's move and the key it comes from.
    mover: (u8, u8),
    /// Keys that are as this actor read or wrote them, as bits.
    current: u8,
}

/// Thief: the mover's primary is as it was read. Apart from the same key's bit, since a mover may rob a move of its own entity,
/// and the image that its EGT rests on is the one read first.
const MOVER: u8 = 1 << 7;

impl Actor {
    pub(crate) const IDLE: Self =
        Self { pc: Pc::Idle, next: 0, by: 0, from: 0, to: 0, entity: 0, mover: (0, 0), current: 0 };
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

    /// Reads on from the wanted key.
    fn looks_again(self) -> Self {
        Self { pc: Pc::Look, mover: (0, 0), current: self.current & !MOVER, ..self }
    }

    fn read(self, key: u8) -> Self {
        Self { current: self.current | 1 << key, ..self }
    }

    pub(crate) fn forget(&mut self, written: u8) {
        let movers = if written >> self.mover.1 & 1 == 1 { MOVER } else { 0 };
        self.current &= !(written | movers);
    }

    fn has_read(&self, key: u8) -> bool {
        self.current >> key & 1 == 1
    }

    fn delivering(rows: &Rows, slot: usize) -> Option<Self> {
        let Intent { by, from, to, entity } = rows.intents[slot]?;
        Some(Self { pc: Pc::Arrive, next: Self::RELAY, by, from, to, entity, ..Self::IDLE })
    }
}

pub(crate) type Emit<'a> = &'a mut dyn FnMut(&'static str, State);

/// What an actor did, where that leaves it, and the key it wrote.
type Step = (&'static str, Actor, Option<u8>);

impl Rekey {
    pub(crate) fn write(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let Some(&op) = self.writers[index].get(usize::from(actor.next)) else { return };
        if matches!(actor.pc, Pc::Arrive | Pc::Place | Pc::Clear) {
            self.emit(state, index, emit, |_| ("leaves the rest to relays", actor.over(), None));
        }
        self.emit(state, index, emit, |rows| match actor.pc {
            Pc::Idle => self.begin(rows, number(self.writers, index, actor.next), actor, op),
            Pc::Look => self.look(rows, actor, op),
            Pc::Mover | Pc::MoversIntent | Pc::Finish(_) | Pc::Touch => self.steal(rows, actor),
            Pc::Take => self.take(rows, actor, op),
            _ => self.go_on(rows, actor),
        });
    }

    pub(crate) fn relay(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        if actor.pc != Pc::Idle {
            return self.emit(state, index, emit, |rows| self.go_on(rows, actor));
        }
        for slot in 0..WRITES {
            if let Some(actor) = Actor::delivering(&state.rows, slot) {
                self.emit(state, index, emit, |_| ("reads an intent", actor, None));
            }
        }
    }

    fn emit(&self, state: &State, index: usize, emit: Emit<'_>, step: impl FnOnce(&mut Rows) -> Step) {
        let mut s = *state;
        let (what, next, written) = step(&mut s.rows);
        let cleared = written.map_or(0, |key| 1 << key);
        s.actors[index] = next;
        s.changed(cleared);
        emit(what, s);
    }

    /// A fresh relay sees to one intent, undisturbed.
    pub(crate) fn deliver(&self, rows: &mut Rows, slot: usize) {
        let Some(mut actor) = Actor::delivering(rows, slot) else { return };
        while actor.pc != Pc::Idle {
            actor = self.go_on(rows, actor).1;
        }
    }

    fn begin(&self, rows: &Rows, by: u8, actor: Actor, op: Op) -> Step {
        let actor = Actor { by, ..actor };
        let (Op::Move(from, _) | Op::Delete(from)) = op else {
            let Op::Insert(to) = op else { unreachable!("the other operations have a key to begin from") };
            return ("begins", Actor { to, entity: by + 2, ..actor.at(Pc::Look) }, None);
        };
        let late = !self.obeys(Rule::ImageBeforeReservation);
        match (op, rows.primary[usize::from(from)]) {
            (Op::Move(_, to), _) if late => ("begins", Actor { from, to, ..actor.at(Pc::Look) }, None),
            (Op::Move(_, to), Primary::Live(entity)) => {
                ("reads the entity", Actor { from, to, entity, ..actor.at(Pc::Look) }.read(from), None)
            }
            (_, Primary::Live(entity)) => {
                ("reads the entity", Actor { from, entity, ..actor.at(Pc::Erase) }.read(from), None)
            }
            _ => ("finds nothing there", actor.over(), None),
        }
    }

    fn look(&self, rows: &Rows, actor: Actor, op: Op) -> Step {
        let moves = matches!(op, Op::Move(..));
        let read = actor.read(actor.to);
        match rows.primary[usize::from(actor.to)] {
            Primary::Live(_) => ("says: taken", actor.over(), None),
            Primary::Absent | Primary::Dead if moves && !self.obeys(Rule::TargetReserved) => {
                ("finds the new key free", actor.at(Pc::Commit), None)
            }
            Primary::Absent | Primary::Dead => ("finds the key free", read.at(Pc::Take), None),
            Primary::Reserved { by, .. } if by == actor.by => ("finds its own reservation", read.at(Pc::Take), None),
            Primary::Reserved { from, .. }
                if !self.obeys(Rule::ReservationNamesMove) && moves && from == actor.from =>
            {
                ("takes the reservation for its own", read.at(Pc::Take), None)
            }
            Primary::Reserved { expired: false, .. } => ("says: try again", actor.over(), None),
            Primary::Reserved { by, from, .. } => {
                let pc = if self.obeys(Rule::PrimaryThenIntent) { Pc::Mover } else { Pc::MoversIntent };
                ("finds an expired reservation", Actor { mover: (by, from), ..read.at(pc) }, None)
            }
        }
    }

    fn steal(&self, rows: &mut Rows, actor: Actor) -> Step {
        let (by, from) = actor.mover;
        let in_order = self.obeys(Rule::PrimaryThenIntent);
        match actor.pc {
            Pc::Mover => {
                let next = if in_order { Pc::MoversIntent } else { Pc::Touch };
                ("reads the mover's primary", Actor { current: actor.current | MOVER, ..actor.at(next) }, None)
            }
            Pc::MoversIntent => {
                let next = match rows.intents.iter().flatten().find(|intent| intent.by == by) {
                    Some(intent) if self.obeys(Rule::ThiefReadsIntent) => Pc::Finish(intent.entity),
                    _ if !in_order => Pc::Mover,
                    _ if self.obeys(Rule::MoverTouched) => Pc::Touch,
                    _ => Pc::Take,
                };
                ("reads the mover's intent", actor.at(next), None)
            }
            Pc::Finish(entity) => {
                if !actor.has_read(actor.to) {
                    return ("meets 412", actor.looks_again(), None);
                }
                rows.primary[usize::from(actor.to)] = Primary::Live(entity);
                ("finishes the move; says: taken", actor.over(), Some(actor.to))
            }
            _ => {
                if actor.current & MOVER == 0 && self.obeys(Rule::ConditionalTouch) {
                    return ("meets 412", actor.looks_again(), None);
                }
                let primary = &mut rows.primary[usize::from(from)];
                if *primary == Primary::Absent {
                    *primary = Primary::Dead;
                }
                ("touches the mover's primary", actor.at(Pc::Take), Some(from))
            }
        }
    }

    fn take(&self, rows: &mut Rows, actor: Actor, op: Op) -> Step {
        let Actor { by, from, to, entity, .. } = actor;
        if !actor.has_read(to) && (self.obeys(Rule::ConditionalReservation) || matches!(op, Op::Insert(_))) {
            return ("meets 409 or 412", actor.looks_again(), None);
        }
        let Op::Move(..) = op else {
            rows.primary[usize::from(to)] = Primary::Live(entity);
            rows.born |= 1 << entity;
            return ("inserts its entity", actor.over(), Some(to));
        };
        rows.primary[usize::from(to)] = Primary::Reserved { by, from, expired: false };
        let next = if self.obeys(Rule::ImageBeforeReservation) { Pc::Commit } else { Pc::ReadLate };
        let next = Actor { mover: (0, 0), current: actor.current & !MOVER, ..actor.at(next) };
        ("reserves the new key", next, Some(to))
    }

    /// What follows once the keys are read: the EGT, and the delivery of the intent, which relays do alike.
    fn go_on(&self, rows: &mut Rows, actor: Actor) -> Step {
        let Actor { by, from, to, entity, .. } = actor;
        match actor.pc {
            Pc::ReadLate => match rows.primary[usize::from(from)] {
                Primary::Live(entity) => {
                    ("reads the entity", Actor { entity, ..actor.at(Pc::Commit) }.read(from), None)
                }
                _ => ("finds nothing there", actor.over(), None),
            },
            Pc::Erase | Pc::Commit if !actor.has_read(from) && self.obeys(Rule::OldUnderEtag) => {
                let restarts = actor.pc == Pc::Erase || self.obeys(Rule::ReservesAgain);
                ("meets 412", if restarts { actor.again() } else { actor.at(Pc::ReadLate) }, None)
            }
            Pc::Erase => {
                rows.primary[usize::from(from)] = Primary::Dead;
                rows.died |= 1 << entity;
                ("deletes the entity", actor.over(), Some(from))
            }
            Pc::Commit => {
                let one_egt = self.obeys(Rule::IntentInEgt);
                if one_egt && !self.log(rows, actor) {
                    return ("meets 409: an intent stands", actor.over(), None);
                }
                rows.primary[usize::from(from)] = Primary::Dead;
                let next = Actor { current: 0, ..actor.at(if one_egt { Pc::Arrive } else { Pc::Log }) };
                ("commits its EGT", next, Some(from))
            }
            Pc::Log => {
                self.log(rows, actor);
                ("writes its intent", actor.at(Pc::Arrive), None)
            }
            Pc::Arrive => self.arrive(rows, actor),
            Pc::Place => {
                if !actor.has_read(to) && self.obeys(Rule::ConditionalPlacing) {
                    return ("meets 412", actor.at(Pc::Arrive), None);
                }
                rows.primary[usize::from(to)] = Primary::Live(entity);
                ("writes the entity at the new key", actor.at(Pc::Clear), Some(to))
            }
            Pc::Return => {
                let slot = self.slot(by, from);
                if rows.intents[slot].is_none() || rows.primary[usize::from(from)] != Primary::Dead {
                    return ("cannot go back", actor.over(), None);
                }
                rows.intents[slot] = None;
                rows.primary[usize::from(from)] = Primary::Live(entity);
                ("goes back to the old key", actor.over(), Some(from))
            }
            _ => {
                rows.intents[self.slot(by, from)] = None;
                ("removes the intent", actor.over(), None)
            }
        }
    }

    fn arrive(&self, rows: &Rows, actor: Actor) -> Step {
        let read = actor.read(actor.to);
        let next =
            match rows.primary[usize::from(actor.to)] {
                Primary::Reserved { by, .. } if by == actor.by => read.at(Pc::Place),
                Primary::Reserved { from, .. } if !self.obeys(Rule::ReservationNamesMove) && from == actor.from => {
                    read.at(Pc::Place)
                }
                Primary::Absent | Primary::Dead if !self.obeys(Rule::TargetReserved) => read.at(Pc::Place),
                Primary::Live(entity) if entity != actor.entity && !self.obeys(Rule::TargetReserved) => {
                    if self.returns { actor.at(Pc::Return) } else { actor.over() }
                }
                Primary::Absent | Primary::Dead if !self.obeys(Rule::OnlyReservationReplaced) => read.at(Pc::Place),
                _ => Actor { current: 0, ..actor.at(Pc::Clear) },
            };
        ("reads the new key", next, None)
    }

    /// Writes the intent, unless one with its key stands.
    fn log(&self, rows: &mut Rows, actor: Actor) -> bool {
        let place = &mut rows.intents[self.slot(actor.by, actor.from)];
        let free = place.is_none();
        if free {
            *place = Some(Intent { by: actor.by, from: actor.from, to: actor.to, entity: actor.entity });
        }
        free
    }

    /// Where an intent stands: its key holds the old row key, and the number.
    fn slot(&self, by: u8, from: u8) -> usize {
        usize::from(if self.obeys(Rule::IntentKeyHasNumber) { by } else { from })
    }
}
