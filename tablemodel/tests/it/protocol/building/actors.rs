//! What programs and the migrator do, one store request at a time.

use super::{Building, Entity, Entry, Knows, Rows, Rule, State, VALUES};

/// A program that writes the entity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Program {
    pub(crate) knows: Knows,
    /// Writes to come.
    pub(crate) left: u8,
    /// The entity as it read it.
    pub(crate) read: Option<Entity>,
}

impl Program {
    /// It writes no more: its lease is over.
    fn is_gone(self) -> bool {
        self.left == 0
    }
}

/// A program's relay: one that is never scheduled again is dead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Relay {
    Idle,
    /// Has read the outbox row and what its program knew.
    Look {
        slot: u8,
        knows: Knows,
    },
    /// Has read the entity; entries to be seen to, as bits.
    Write {
        slot: u8,
        knows: Knows,
        entity: Entity,
        todo: u8,
    },
}

/// The backfill of the one entity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fill {
    Before,
    Look,
    Touch(Entity),
    After,
}

/// The scrub, one entry after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Scrub {
    At(u8),
    Found { at: u8, entry: Entry },
    Judged { at: u8, entry: Entry, entity: Entity },
    Done,
}

type Emit<'a> = &'a mut dyn FnMut(&'static str, State);

fn bit(value: u8) -> u8 {
    1 << value
}

impl Rows {
    /// The entity, written at the next number with an outbox row that names these entries.
    fn write(&mut self, value: u8, names: u8) {
        self.entity = Entity { value, seq: self.entity.seq + 1 };
        self.outbox[usize::from(self.entity.seq)] = names;
    }
}

impl Building {
    /// A program reads the entity, and writes it with what it then knows of the index; between writes it learns.
    pub(crate) fn write(&self, state: &State, index: usize, emit: Emit<'_>) {
        let program = state.programs[index];
        let with = |program| {
            let mut s = *state;
            s.programs[index] = program;
            s
        };
        let Some(read) = program.read else {
            if program.left > 0 {
                emit("reads the entity", with(Program { read: Some(state.rows.entity), ..program }));
            }
            if program.knows < state.rows.state && !self.old[index] {
                emit("learns of the state", with(Program { knows: state.rows.state, ..program }));
            }
            return;
        };
        if read != state.rows.entity {
            return emit("is refused, and begins again", with(Program { read: None, ..program }));
        }
        let mut s = with(Program { read: None, left: program.left - 1, ..program });
        let target = 1 + index as u8;
        let value = if read.value == target { (target + 1) % VALUES as u8 } else { target };
        let deletes = if program.knows >= Knows::DeleteOnly { bit(read.value) } else { 0 };
        let puts = if program.knows == Knows::WriteOnly { bit(value) } else { 0 };
        s.rows.write(value, deletes | puts);
        emit("writes the entity", s);
    }

    /// Whether a program's relay may begin: what its program knows is what the migrator waits for.
    fn may_deliver(&self, state: &State, index: usize) -> bool {
        let program = state.programs[index];
        !program.is_gone() || program.knows == state.rows.state || !self.obeys(Rule::RelaysKeepToLeases)
    }

    pub(crate) fn relay(&self, state: &State, index: usize, emit: Emit<'_>) {
        let mut s = *state;
        match state.relays[index] {
            Relay::Idle => {
                let Some(slot) = state.rows.outbox.iter().position(|names| *names != 0) else { return };
                if !self.may_deliver(state, index) {
                    return;
                }
                s.relays[index] = Relay::Look { slot: slot as u8, knows: state.programs[index].knows };
                emit("reads an outbox row", s);
            }
            Relay::Look { slot, knows } => {
                let todo = state.rows.outbox[usize::from(slot)];
                s.relays[index] = match todo {
                    0 => Relay::Idle,
                    todo => Relay::Write { slot, knows, entity: state.rows.entity, todo },
                };
                emit("reads the entity", s);
            }
            Relay::Write { slot, todo: 0, .. } => {
                s.rows.outbox[usize::from(slot)] = 0;
                s.relays[index] = Relay::Idle;
                emit("removes the outbox row", s);
            }
            Relay::Write { slot, knows, entity, todo } => {
                let value = todo.trailing_zeros() as u8;
                let (writes, wanted) = (knows == Knows::WriteOnly, entity.value == value);
                if writes || !wanted || !self.obeys(Rule::LeavesWhatIsWanted) {
                    self.put(&mut s.rows, value, entity, writes && wanted);
                }
                s.relays[index] = Relay::Write { slot, knows, entity, todo: todo & !bit(value) };
                emit("brings an entry to what the entity wants", s);
            }
        }
    }

    /// An entry is made what the entity, as it was read, wants of it.
    fn put(&self, rows: &mut Rows, value: u8, entity: Entity, live: bool) {
        let entry = &mut rows.entry[usize::from(value)];
        let is_newer = entry.is_none_or(|there| there.seq < entity.seq) || !self.obeys(Rule::SequenceGuard);
        if is_newer {
            let is_kept = live || self.obeys(Rule::EntryTombstone);
            *entry = is_kept.then_some(Entry { seq: entity.seq, live });
        }
    }

    /// What a fresh relay of the newest program does with an outbox row.
    pub(crate) fn deliver(&self, rows: &mut Rows, slot: usize) {
        let (entity, names) = (rows.entity, rows.outbox[slot]);
        for value in (0..VALUES as u8).filter(|value| names & bit(*value) != 0) {
            self.put(rows, value, entity, entity.value == value);
        }
        rows.outbox[slot] = 0;
    }

    /// Whether every live program knows the state.
    fn all_know(state: &State) -> bool {
        state.programs.iter().all(|program| program.is_gone() || program.knows == state.rows.state)
    }

    pub(crate) fn migrate(&self, state: &State, emit: Emit<'_>) {
        let mut s = *state;
        match (state.rows.state, state.fill) {
            (Knows::Absent | Knows::DeleteOnly, _) => {
                if Self::all_know(state) || !self.obeys(Rule::OneApart) {
                    let is_first = state.rows.state == Knows::Absent;
                    s.rows.state = if is_first { Knows::DeleteOnly } else { Knows::WriteOnly };
                    emit("moves the state on", s);
                }
            }
            (Knows::WriteOnly, Fill::Before) => {
                if Self::all_know(state) || !self.obeys(Rule::BackfillWhenAllWrite) {
                    s.fill = Fill::Look;
                    emit("begins the backfill", s);
                }
            }
            (Knows::WriteOnly, Fill::Look) => {
                s.fill = Fill::Touch(state.rows.entity);
                emit("reads the entity", s);
            }
            (Knows::WriteOnly, Fill::Touch(read)) => self.touch(s, read, emit),
            (Knows::WriteOnly, Fill::After) => self.scrub(state, emit),
        }
    }

    fn touch(&self, mut s: State, read: Entity, emit: Emit<'_>) {
        let is_current = s.rows.entity == read;
        s.fill = Fill::After;
        if !self.obeys(Rule::TouchesEntity) {
            self.put(&mut s.rows, read.value, read, true);
            return emit("writes the entry", s);
        }
        if !is_current && self.obeys(Rule::ConditionalTouch) {
            s.fill = Fill::Look;
            return emit("is refused, and begins again", s);
        }
        s.undone |= !is_current;
        s.rows.write(read.value, bit(read.value));
        emit("touches the entity", s);
    }

    fn scrub(&self, state: &State, emit: Emit<'_>) {
        let mut s = *state;
        match state.scrub {
            _ if !self.scrubs && !state.rows.readable => {
                (s.rows.readable, s.scrub) = (true, Scrub::Done);
                emit("makes the index readable", s);
            }
            Scrub::At(at) if usize::from(at) == VALUES => {
                (s.rows.readable, s.scrub) = (true, Scrub::Done);
                emit("makes the index readable", s);
            }
            Scrub::At(0) if self.obeys(Rule::DrainBeforeScrub) && s.rows.outbox.iter().any(|names| *names != 0) => {}
            Scrub::At(at) => {
                let live = state.rows.entry[usize::from(at)].filter(|entry| entry.live);
                s.scrub = live.map_or(Scrub::At(at + 1), |entry| Scrub::Found { at, entry });
                emit("reads an entry", s);
            }
            Scrub::Found { at, entry } => {
                let entity = state.rows.entity;
                s.scrub = if entity.value == at { Scrub::At(at + 1) } else { Scrub::Judged { at, entry, entity } };
                emit("reads its entity", s);
            }
            Scrub::Judged { at, entry, entity } => {
                let there = &mut s.rows.entry[usize::from(at)];
                if *there == Some(entry) || (there.is_some() && !self.obeys(Rule::ConditionalScrub)) {
                    let dead = Entry { seq: entity.seq, live: false };
                    *there = self.obeys(Rule::EntryTombstone).then_some(dead);
                }
                s.scrub = Scrub::At(at + 1);
                emit("takes the entry away", s);
            }
            Scrub::Done => {}
        }
    }
}
