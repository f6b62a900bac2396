//! What writers, relays and the sweeper do, one store request at a time.
//!
//! An actor knows what it has read; whether a row is still as it was read (its ETag) is one bit, cleared by every write.

use super::{
    Op, Outbox, Rule, State,
    rows::{ENTITIES, Entry, Intent, Primary, Rows, VALUES, WRITES},
};
use crate::protocol::cast::number;

/// Where an actor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) enum Pc {
    #[default]
    Idle,
    /// Writer: has planned on the primary as read, and writes it under its ETag.
    Replace,
    /// Writer: has found no primary, and inserts it.
    Insert,
    /// Writer, against the rules: the outbox row in a request of its own.
    Log,
    /// Writer: the reply was lost; reads back.
    Recall,
    /// Relay: has read the outbox row; reads the primary.
    Look,
    /// Reads the next affected entry.
    Entry,
    /// Writes it.
    Write,
    /// Removes the outbox row.
    Acknowledge,
    /// Sweeper: removes the entry tombstone that it read.
    Sweep,
    /// Sweeper: removes the primary tombstone that it read.
    Bury,
}

/// A writer, a relay or the sweeper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Actor {
    pub(crate) pc: Pc,
    /// Writer: operations done.
    pub(crate) next: u8,
    /// Half-fences since this intent was begun.
    pub(crate) age: u8,
    entity: u8,
    /// The outbox row's place and number.
    slot: u8,
    seq: u8,
    /// The primary as planned or as read.
    image: Primary,
    /// Affected entries that are still to be seen to, as bits.
    todo: u8,
    /// Rows that are as this actor read them, as bits.
    current: u8,
}

impl Default for Actor {
    fn default() -> Self {
        Self { pc: Pc::Idle, next: 0, age: 0, entity: 0, slot: 0, seq: 0, image: Primary::Absent, todo: 0, current: 0 }
    }
}

impl Actor {
    fn idle(self) -> Self {
        Self { next: self.next, ..Self::default() }
    }

    /// A writer's operation is over, one way or the other.
    pub(crate) fn over(self) -> Self {
        Self { next: self.next + 1, ..Self::default() }
    }
}

fn primary_bit(entity: u8) -> u8 {
    1 << entity
}

fn entry_bit(row: usize, value: usize) -> u8 {
    1 << (ENTITIES + row * VALUES + value)
}

fn bit(value: Option<u8>) -> u8 {
    value.map_or(0, |value| 1 << value)
}

type Emit<'a> = &'a mut dyn FnMut(&'static str, State);

impl State {
    /// The same with `index` moved on to `actor`, after a write to the rows of `written`.
    fn with(mut self, index: usize, actor: Actor, written: u8) -> Self {
        self.actors[index] = actor;
        self.actors.iter_mut().for_each(|actor| actor.current &= !written);
        self
    }
}

impl Outbox {
    pub(crate) fn write(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        match actor.pc {
            Pc::Idle => self.plan(state, index, emit),
            Pc::Replace | Pc::Insert => self.commit(state, index, emit),
            Pc::Log => {
                let mut s = *state;
                s.rows.outbox[usize::from(actor.slot)] = Some(actor.intent());
                emit("writes its outbox row", s.with(index, Actor { pc: Pc::Entry, ..actor }, 0));
            }
            Pc::Recall => {
                let recognised = state.rows.ops[usize::from(actor.entity)] >> actor.slot & 1 == 1;
                let (what, next) = match (recognised, self.obeys(Rule::OperationId)) {
                    (true, true) => ("recognises its write", Actor { pc: Pc::Entry, ..actor }),
                    (false, true) => ("gives OutcomeUnknown", actor.over()),
                    (_, false) => ("takes its own write for another's", actor.idle()),
                };
                emit(what, state.with(index, next, 0));
            }
            _ => {
                emit("leaves the rest to relays", state.with(index, actor.over(), 0));
                self.apply(state, index, emit);
            }
        }
    }

    /// Reads the primary and plans the next operation on it.
    fn plan(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let Some(&(entity, op)) = self.writers[index].get(usize::from(actor.next)) else { return };
        let found = state.rows.primary[usize::from(entity)];
        if op == Op::Delete && found.value().is_none() {
            return emit("finds nothing to delete", state.with(index, actor.over(), 0));
        }
        let slot = number(self.writers, index, actor.next);
        let mut planned = None;
        for seq in self.numbers(&state.rows, entity, found) {
            if planned.replace(seq) == Some(seq) {
                continue; // both clocks say the same
            }
            let (image, wanted) = match op {
                Op::Put(value) => (Primary::Live { value, seq }, Some(value)),
                Op::Delete => (Primary::Dead { seq, age: 0 }, None),
            };
            let todo = bit(found.value()) | bit(wanted);
            let inserts = found == Primary::Absent;
            let (pc, current) = if inserts { (Pc::Insert, 0) } else { (Pc::Replace, primary_bit(entity)) };
            let next = Actor { pc, entity, slot, seq, image, todo, current, ..actor };
            emit("reads the primary", state.with(index, next, 0));
        }
    }

    /// The numbers that a write may take: by the slowest clock and by the fastest.
    fn numbers(&self, rows: &Rows, entity: u8, found: Primary) -> [u8; 2] {
        let keeps = self.obeys(Rule::SequenceNeverGoesBack);
        let [newest, _, a_fence_ago] = rows.clock[usize::from(entity)].top;
        match found {
            Primary::Live { seq, .. } => [seq + 1; 2],
            Primary::Dead { seq, .. } if keeps => [seq + 1; 2],
            Primary::Absent if keeps && self.obeys(Rule::ClocksAgree) => [a_fence_ago + 1, newest + 1],
            Primary::Dead { .. } | Primary::Absent => [1; 2],
        }
    }

    /// The EGT: the primary row and the outbox row.
    fn commit(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let e = usize::from(actor.entity);
        let holds = match actor.pc {
            Pc::Insert => state.rows.primary[e] == Primary::Absent,
            _ => actor.current != 0 || !self.obeys(Rule::PrimaryIfMatch),
        };
        if !holds {
            return emit("meets 409 or 412", state.with(index, actor.idle(), 0));
        }
        let mut s = *state;
        let dies = actor.image.value().is_none();
        s.rows.primary[e] = if dies && !self.obeys(Rule::PrimaryTombstone) { Primary::Absent } else { actor.image };
        s.rows.clock[e].top[0] = s.rows.clock[e].top[0].max(actor.seq);
        s.twice |= s.done >> actor.slot & 1 == 1;
        s.done |= 1 << actor.slot;
        if self.lost > 0 {
            s.rows.ops[e] = if dies { 0 } else { s.rows.ops[e] | 1 << actor.slot };
        }
        let one_egt = self.obeys(Rule::OutboxInEgt);
        if one_egt {
            s.rows.outbox[usize::from(actor.slot)] = Some(actor.intent());
        }
        let next = Actor { pc: if one_egt { Pc::Entry } else { Pc::Log }, current: 0, ..actor };
        emit("commits its EGT", s.with(index, next, primary_bit(actor.entity)));
        if s.lost > 0 && one_egt {
            s.lost -= 1;
            let next = Actor { pc: Pc::Recall, ..next };
            emit("commits its EGT; the reply is lost", s.with(index, next, primary_bit(actor.entity)));
        }
    }

    pub(crate) fn relay(&self, state: &State, index: usize, emit: Emit<'_>) {
        if state.actors[index].pc != Pc::Idle {
            return self.apply(state, index, emit);
        }
        for slot in 0..WRITES {
            if let Some(actor) = Actor::picking(&state.rows, slot) {
                emit("reads an outbox row", state.with(index, actor, 0));
            }
        }
    }

    /// One step of delivering an outbox row.
    fn apply(&self, state: &State, index: usize, emit: Emit<'_>) {
        let mut s = *state;
        let mut actor = state.actors[index];
        let before = actor;
        let (what, written) = self.deliver_step(&mut s.rows, &mut actor);
        emit(what, s.with(index, actor, written));
        if s.lost > 0 && before.pc == Pc::Write && written != 0 {
            s.lost -= 1;
            let again = Actor { pc: Pc::Entry, current: 0, ..before };
            emit("writes the entry; the reply is lost", s.with(index, again, written));
        }
    }

    /// A fresh relay sees to one outbox row, undisturbed.
    pub(crate) fn deliver(&self, rows: &mut Rows, slot: usize) {
        let Some(mut actor) = Actor::picking(rows, slot) else { return };
        while actor.pc != Pc::Idle {
            self.deliver_step(rows, &mut actor);
        }
    }

    /// Moves the actor on; what it did, and the rows it wrote.
    fn deliver_step(&self, rows: &mut Rows, actor: &mut Actor) -> (&'static str, u8) {
        match actor.pc {
            Pc::Look => {
                actor.image = match rows.primary[usize::from(actor.entity)] {
                    Primary::Dead { seq, .. } => Primary::Dead { seq, age: 0 },
                    primary => primary,
                };
                actor.pc = Pc::Entry;
                ("reads the primary", 0)
            }
            Pc::Entry => self.read_entry(rows, actor),
            Pc::Write => self.write_entry(rows, actor),
            _ => {
                rows.outbox[usize::from(actor.slot)] = None;
                let is_writer = actor.pc == Pc::Acknowledge && actor.next != Actor::RELAY;
                *actor = if is_writer { actor.over() } else { Actor::default() };
                ("removes the outbox row", 0)
            }
        }
    }

    fn read_entry(&self, rows: &Rows, actor: &mut Actor) -> (&'static str, u8) {
        let value = actor.todo.trailing_zeros() as usize;
        let row = self.entry_row(usize::from(actor.entity), value);
        let found = rows.entry[row][value];
        let seq = actor.image.seq().unwrap_or(actor.seq);
        let guarded = self.obeys(Rule::SequenceGuard) && !self.unnumbered(actor);
        let newer = guarded && found.is_some_and(|found| found.seq >= seq);
        let wanted = actor.image.value() == Some(value as u8);
        let passes = self.removes(actor, value) || !wanted && !self.obeys(Rule::TombstoneWhereNoneStood);
        if newer || passes && found.is_none() {
            actor.seen_to(value);
            return ("finds the entry newer, or as it should be", 0);
        }
        actor.pc = Pc::Write;
        actor.current = entry_bit(row, value);
        ("reads an entry", 0)
    }

    fn write_entry(&self, rows: &mut Rows, actor: &mut Actor) -> (&'static str, u8) {
        let value = actor.todo.trailing_zeros() as usize;
        let row = self.entry_row(usize::from(actor.entity), value);
        if actor.current == 0 && self.obeys(Rule::ConditionalEntryWrite) {
            actor.pc = Pc::Entry;
            return ("meets 409 or 412 on the entry", 0);
        }
        let live = actor.image.value() == Some(value as u8);
        let seq = actor.image.seq().unwrap_or(actor.seq);
        let others = rows.entry[row][value].map_or(0, |entry| entry.owners) & !(1 << actor.entity);
        let owners = others | u8::from(live) << actor.entity;
        rows.entry[row][value] =
            if self.removes(actor, value) { None } else { Some(Entry { seq, live: owners != 0, age: 0, owners }) };
        actor.seen_to(value);
        (if live { "writes the entry" } else { "writes the entry's tombstone" }, entry_bit(row, value))
    }

    /// Against the rules: the entry is deleted, and nothing is left in its place.
    fn removes(&self, actor: &Actor, value: usize) -> bool {
        let dies = actor.image.value() != Some(value as u8);
        dies && (self.unnumbered(actor) || !self.obeys(Rule::EntryTombstone))
    }

    /// Against the rules: no primary, and no number in the outbox row either.
    fn unnumbered(&self, actor: &Actor) -> bool {
        actor.image == Primary::Absent && !self.obeys(Rule::OutboxRowHasSequence)
    }

    pub(crate) fn sweep(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let (e, value) = (usize::from(actor.entity), usize::from(actor.slot));
        let is_entry = actor.pc == Pc::Sweep;
        let rule = if is_entry { Rule::ConditionalEntryRemoval } else { Rule::ConditionalPrimaryRemoval };
        let removes = actor.current != 0 || !self.obeys(rule);
        let mut s = *state;
        match actor.pc {
            Pc::Idle => return self.look_for_tombstones(state, index, emit),
            _ if !removes => return emit("meets 412", s.with(index, Actor::default(), 0)),
            Pc::Sweep => s.rows.entry[e][value] = None,
            _ => s.rows.primary[e] = Primary::Absent,
        }
        let written = if is_entry { entry_bit(e, value) } else { primary_bit(actor.entity) };
        emit("removes the tombstone", s.with(index, Actor::default(), written));
    }

    fn look_for_tombstones(&self, state: &State, index: usize, emit: Emit<'_>) {
        for e in 0..ENTITIES {
            let entity = e as u8;
            let waits = self.obeys(Rule::PrimaryWaitsForDelivery) && state.rows.has_outbox(e);
            if self.dead(state.rows.primary[e]) && !waits {
                let next = Actor { pc: Pc::Bury, entity, current: primary_bit(entity), ..Actor::default() };
                emit("reads a primary tombstone", state.with(index, next, 0));
            }
            for value in 0..VALUES {
                let Some(entry) = state.rows.entry[e][value] else { continue };
                if !entry.live && self.sweepable(entry.age, Rule::EntrySweptAfterFence) {
                    let (slot, current) = (value as u8, entry_bit(e, value));
                    let next = Actor { pc: Pc::Sweep, entity, slot, current, ..Actor::default() };
                    emit("reads an entry tombstone", state.with(index, next, 0));
                }
            }
        }
    }
}

impl Actor {
    /// In the place of a writer's count of operations: relays have no program.
    const RELAY: u8 = u8::MAX;

    fn intent(&self) -> Intent {
        Intent { entity: self.entity, seq: self.seq, affected: self.todo }
    }

    /// A relay that has read the outbox row of `slot`.
    fn picking(rows: &Rows, slot: usize) -> Option<Self> {
        let Intent { entity, seq, affected } = rows.outbox[slot]?;
        let relay = Self { next: Self::RELAY, ..Self::default() };
        Some(Self { pc: Pc::Look, entity, slot: slot as u8, seq, todo: affected, ..relay })
    }

    /// One affected entry is as the image wants it.
    fn seen_to(&mut self, value: usize) {
        self.todo &= !(1 << value);
        self.current = 0;
        self.pc = if self.todo == 0 { Pc::Acknowledge } else { Pc::Entry };
    }
}
