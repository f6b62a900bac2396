//! What programs, their relay and repair do, one store request at a time.

use super::{Entity, Entry, Form, Known, Rows, Rule, Shadows, State, Switching, VALUES};

/// A program that knows the old form alone, or takes it for the truth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Old {
    /// What it knows; nothing before it begins.
    pub(crate) knows: Option<Known>,
    done: u8,
    read: Option<Entity>,
    ended: bool,
}

impl Old {
    pub(crate) const BEGUN: Self = Self { knows: Some(Known::FIRST), ..Self::NOT_YET };
    pub(crate) const NOT_YET: Self = Self { knows: None, done: 0, read: None, ended: false };

    pub(crate) fn is_alive(self) -> bool {
        self.knows.is_some() && !self.ended
    }
}

/// The program that takes the new form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct New {
    pub(crate) knows: Known,
    done: u8,
    /// The row that it is about to write over, and where that is.
    read: Option<(u8, Entry)>,
}

impl New {
    pub(crate) const BEGUN: Self = Self { knows: Known::FIRST, done: 0, read: None };
}

/// The new program's relay: as long as that takes the old form for the truth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Relay {
    Idle,
    /// By what its program knew as it began.
    Write {
        slot: u8,
        entity: Option<Entity>,
        todo: u8,
        shadows: Shadows,
    },
}

/// The new program's repair, likewise; it is planned on what the program knew.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Repair {
    Idle,
    Found { at: u8, entry: Entry },
    Judged { at: u8, entry: Entry, seq: u8 },
}

pub(super) type Emit<'a> = &'a mut dyn FnMut(&'static str, State);

fn bit(value: u8) -> u8 {
    1 << value
}

fn bits(value: Option<u8>) -> u8 {
    value.map_or(0, bit)
}

impl Switching {
    pub(crate) fn write_old(&self, state: &State, index: usize, emit: Emit<'_>) {
        let program = state.old[index];
        let with = |program| {
            let mut s = *state;
            s.old[index] = program;
            s
        };
        let Some(knows) = program.knows else {
            return emit("begins", with(Old { knows: Some(state.rows.known), ..program }));
        };
        if program.ended {
            return;
        }
        if program.read.is_none() {
            emit("ends", with(Old { ended: true, ..program }));
            if knows != state.rows.known {
                emit("learns of the form", with(Old { knows: Some(state.rows.known), ..program }));
            }
        }
        let Some(value) = self.old[index].get(usize::from(program.done)) else { return };
        if knows.form > Form::Old && self.obeys(Rule::KeepsToClosed) {
            return;
        }
        match (program.read, state.rows.old) {
            (None, Some(entity)) => emit("reads the entity", with(Old { read: Some(entity), ..program })),
            (None, None) => {}
            (Some(read), there) if there != Some(read) => {
                emit("is refused, and begins again", with(Old { read: None, ..program }));
            }
            (Some(read), _) => {
                let mut s = with(Old { read: None, done: program.done + 1, ..program });
                let seq = read.seq + 1;
                s.rows.old = Some(Entity { value: *value, seq });
                s.rows.outbox[usize::from(seq)] = match knows.shadows {
                    Shadows::Written => bits(read.value) | bits(*value),
                    Shadows::Deleted => bits(read.value) & !bits(*value),
                    Shadows::Ignored | Shadows::Gone => 0,
                };
                s.rows.truth = *value;
                emit("writes the old form", s);
            }
        }
    }

    pub(crate) fn write_new(&self, state: &State, emit: Emit<'_>) {
        let program = state.new;
        let with = |program| State { new: program, ..*state };
        // What is planned on what it knew is over before it says that it knows more.
        if program.knows != state.rows.known && program.read.is_none() && state.repair == Repair::Idle {
            emit("learns of the form", with(New { knows: state.rows.known, ..program }));
        }
        let Some(value) = self.new.get(usize::from(program.done)).filter(|_| program.knows.form >= Form::New) else {
            return;
        };
        let Some((at, read)) = program.read else {
            let live = (0..VALUES).find_map(|at| state.rows.new[at].filter(|row| row.live).map(|row| (at as u8, row)));
            if let Some(live) = live {
                emit("reads a row of the new form", with(New { read: Some(live), ..program }));
            }
            return;
        };
        if state.rows.new[usize::from(at)] != Some(read) {
            return emit("is refused, and begins again", with(New { read: None, ..program }));
        }
        let mut s = with(New { read: None, done: program.done + 1, ..program });
        // An insert over a tombstone is at a higher number than that.
        let to = value.and_then(|value| state.rows.new[usize::from(value)]);
        let seq = 1 + to.map_or(read.seq, |to| to.seq.max(read.seq));
        let leaves = program.knows.form == Form::New && self.obeys(Rule::LeavesTombstones);
        s.rows.new[usize::from(at)] = leaves.then_some(Entry { seq, live: false });
        if let Some(value) = value {
            s.rows.new[usize::from(*value)] = Some(Entry { seq, live: true });
        }
        s.rows.truth = *value;
        emit("writes the new form", s);
    }

    pub(crate) fn relay(&self, state: &State, emit: Emit<'_>) {
        let mut s = *state;
        match state.relay {
            Relay::Idle => {
                let slot = state.rows.outbox.iter().position(|names| *names != 0);
                let Some(slot) = slot.filter(|_| state.new.knows.form < Form::New) else { return };
                let (entity, todo) = (state.rows.old, state.rows.outbox[slot]);
                s.relay = Relay::Write { slot: slot as u8, entity, todo, shadows: state.new.knows.shadows };
                emit("reads an outbox row and the entity", s);
            }
            Relay::Write { slot, todo: 0, .. } => {
                s.rows.outbox[usize::from(slot)] = 0;
                s.relay = Relay::Idle;
                emit("removes the outbox row", s);
            }
            Relay::Write { slot, entity, todo, shadows } => {
                let value = todo.trailing_zeros() as u8;
                self.put(&mut s.rows, value, entity, slot, shadows);
                s.relay = Relay::Write { slot, entity, todo: todo & !bit(value), shadows };
                emit("brings a shadow to what the entity wants", s);
            }
        }
    }

    /// A shadow is made what the entity, as it was read, wants of it; one that it wants, and that is not written any more, is left alone.
    fn put(&self, rows: &mut Rows, value: u8, entity: Option<Entity>, slot: u8, shadows: Shadows) {
        let (seq, live) = match entity {
            Some(entity) => (entity.seq, entity.value == Some(value) && shadows < Shadows::Ignored),
            None => (slot, false),
        };
        if live && shadows == Shadows::Deleted {
            return;
        }
        let there = &mut rows.new[usize::from(value)];
        if there.is_none_or(|there| there.seq < seq) || !self.obeys(Rule::SequenceGuard) {
            *there = Some(Entry { seq, live });
        }
    }

    /// What a fresh relay does with an outbox row.
    pub(crate) fn deliver(&self, rows: &mut Rows, slot: usize) {
        let (entity, names, shadows) = (rows.old, rows.outbox[slot], rows.known.shadows);
        for value in (0..VALUES as u8).filter(|value| names & bit(*value) != 0) {
            self.put(rows, value, entity, slot as u8, shadows);
        }
        rows.outbox[slot] = 0;
    }

    /// Takes away a shadow that no entity of the old form wants.
    pub(crate) fn repair(&self, state: &State, emit: Emit<'_>) {
        let mut s = *state;
        match state.repair {
            Repair::Idle if state.new.knows.form < Form::New && state.new.knows.shadows == Shadows::Written => {
                for at in 0..VALUES as u8 {
                    let Some(entry) = state.rows.new[usize::from(at)].filter(|entry| entry.live) else { continue };
                    s.repair = Repair::Found { at, entry };
                    emit("reads a shadow", s);
                }
            }
            Repair::Idle => {}
            Repair::Found { at, entry } => {
                let is_pending = state.rows.outbox.iter().any(|names| *names != 0);
                s.repair = match state.rows.old {
                    _ if is_pending => Repair::Idle,
                    Some(entity) if entity.value == Some(at) => Repair::Idle,
                    Some(entity) => Repair::Judged { at, entry, seq: entity.seq },
                    None => Repair::Judged { at, entry, seq: entry.seq },
                };
                emit("reads its entity", s);
            }
            Repair::Judged { at, entry, seq } => {
                let there = &mut s.rows.new[usize::from(at)];
                if *there == Some(entry) {
                    *there = Some(Entry { seq, live: false });
                }
                s.repair = Repair::Idle;
                emit("takes the shadow away", s);
            }
        }
    }
}
