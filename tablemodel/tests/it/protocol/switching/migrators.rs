//! Who contracts, and who takes the move back, one store request at a time.

use super::{
    Form, Rule, Shadows, State, Switching, WRITES,
    actors::{Emit, Relay},
};

/// The record of what is done, under whose ETag states are changed: whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Record {
    None,
    /// A switch, of this contractor.
    Switch(u8),
    Undo,
}

impl Record {
    pub(crate) const NONE: Self = Self::None;
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Contract {
    Begins,
    Looks,
    Closes,
    Waits,
    Drains,
    Changes,
    Tells,
    Removes,
    Fences,
    Sweeps,
    Finishes,
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rollback {
    Begins,
    Lowers,
    Drains,
    Removes,
    Done,
}

impl Switching {
    /// Whether no program lives that writes the old form as long as it may.
    fn none_lacks(state: &State) -> bool {
        state.old.iter().all(|old| !old.is_alive())
    }

    fn new_knows(state: &State) -> bool {
        state.new.knows == state.rows.known
    }

    pub(crate) fn contract(&self, state: &State, index: usize, emit: Emit<'_>) {
        let with = |contract| {
            let mut s = *state;
            s.contracts[index] = contract;
            s
        };
        let me = state.contracts[index];
        let is_changing = matches!(me, Contract::Closes | Contract::Changes | Contract::Finishes);
        let holds = state.record == Record::Switch(index as u8) || !self.obeys(Rule::HoldsTheRecord);
        if is_changing && !holds {
            return emit("finds that the record is another's", with(Contract::Done));
        }
        let mut s = *state;
        match me {
            Contract::Begins => self.take_record(state, index, emit),
            Contract::Looks if state.rows.known.form >= Form::New => emit("goes on", with(Contract::Tells)),
            Contract::Looks => {
                if Self::none_lacks(state) || !self.obeys(Rule::WaitsBeforeClosing) {
                    emit("finds no program of the old form", with(Contract::Closes));
                }
            }
            Contract::Closes => {
                s = with(Contract::Waits);
                if self.obeys(Rule::Closes) && s.rows.known.form == Form::Old {
                    s.rows.known.form = Form::Closed;
                }
                emit("closes the old form", s);
            }
            Contract::Waits => {
                let waits = self.obeys(Rule::WaitsAfterClosing);
                if (Self::none_lacks(state) && Self::new_knows(state)) || !waits {
                    emit("finds that all know", with(Contract::Drains));
                }
            }
            Contract::Drains => match (0..WRITES).find(|slot| state.rows.outbox[*slot] != 0) {
                Some(slot) if self.obeys(Rule::DrainsFirst) => {
                    self.deliver(&mut s.rows, slot);
                    emit("delivers", s);
                }
                _ => emit("finds nothing to deliver", with(Contract::Changes)),
            },
            Contract::Changes => {
                s = with(Contract::Tells);
                s.rows.known.form = Form::New;
                emit("makes the new form the one that is kept", s);
            }
            Contract::Tells => {
                if Self::new_knows(state) || !self.obeys(Rule::WaitsBeforeRemoving) {
                    emit("finds that all know", with(Contract::Removes));
                }
            }
            Contract::Removes => {
                s = with(Contract::Fences);
                (s.rows.old, s.rows.outbox) = (None, [0; WRITES]);
                emit("takes the old rows away", s);
            }
            Contract::Fences => {
                if state.relay == Relay::Idle || !self.obeys(Rule::PassesFence) {
                    emit("passes the fence", with(Contract::Sweeps));
                }
            }
            Contract::Sweeps => {
                s = with(Contract::Finishes);
                s.rows.new.iter_mut().for_each(|entry| *entry = entry.filter(|entry| entry.live));
                emit("takes the tombstones away", s);
            }
            Contract::Finishes => {
                s = with(Contract::Done);
                (s.rows.known.form, s.record) = (Form::Over, Record::None);
                emit("finishes", s);
            }
            Contract::Done => {}
        }
        self.fail(state, index, emit);
    }

    /// A record that is nobody's, or that of one who died or stalls; not before that is over which is taken back.
    fn take_record(&self, state: &State, index: usize, emit: Emit<'_>) {
        let mut s = *state;
        s.contracts[index] = Contract::Looks;
        s.record = Record::Switch(index as u8);
        let is_complete = state.rows.known.shadows == Shadows::Written && state.rows.known.form < Form::Over;
        match state.record {
            Record::None if is_complete => emit("takes the record", s),
            Record::Switch(_) if state.failures < self.failures => {
                s.failures += 1;
                emit("takes the record over", s);
            }
            _ => {}
        }
    }

    /// Another follows one that died; one that lives gives up, and opens the old form again where it can.
    fn fail(&self, state: &State, index: usize, emit: Emit<'_>) {
        let me = state.contracts[index];
        if state.failures == self.failures || matches!(me, Contract::Begins | Contract::Done) {
            return;
        }
        let mut s = State { failures: state.failures + 1, ..*state };
        s.contracts[index] = Contract::Begins;
        emit("dies, and another begins", s);
        let form = state.rows.known.form;
        let is_switched = form >= Form::New && self.obeys(Rule::KeepsTheSwitch);
        let holds = state.record == Record::Switch(index as u8) || !self.obeys(Rule::HoldsTheRecord);
        if holds && !is_switched && form < Form::Over {
            s.rows.known.form = Form::Old;
            s.record = Record::None;
            emit("gives up, and opens the old form", s);
        }
    }

    pub(crate) fn take_back(&self, state: &State, emit: Emit<'_>) {
        let mut s = *state;
        match state.rollback {
            Rollback::Begins => {
                if self.taken_back && state.record == Record::None && state.rows.known.form == Form::Old {
                    (s.record, s.rollback) = (Record::Undo, Rollback::Lowers);
                    emit("takes the record", s);
                }
            }
            Rollback::Lowers => {
                if !self.all_know(state) {
                    return;
                }
                match state.rows.known.shadows {
                    Shadows::Written => s.rows.known.shadows = Shadows::Deleted,
                    Shadows::Deleted => s.rows.known.shadows = Shadows::Ignored,
                    Shadows::Ignored | Shadows::Gone => s.rollback = Rollback::Drains,
                }
                emit("finds that all know, and lowers the state", s);
            }
            Rollback::Drains => match (0..WRITES).find(|slot| state.rows.outbox[*slot] != 0) {
                Some(slot) if self.obeys(Rule::DrainsBeforeTakingBack) => {
                    self.deliver(&mut s.rows, slot);
                    emit("delivers", s);
                }
                _ => {
                    s.rollback = Rollback::Removes;
                    emit("finds nothing to deliver", s);
                }
            },
            Rollback::Removes => {
                s.rows.new = [None; super::VALUES];
                (s.rows.known.shadows, s.record, s.rollback) = (Shadows::Gone, Record::None, Rollback::Done);
                emit("takes the shadows away", s);
            }
            Rollback::Done => {}
        }
    }

    /// Whether nothing is written any more by what was known before.
    fn all_know(&self, state: &State) -> bool {
        let now = state.rows.known;
        let programs = state.old.iter().all(|old| !old.is_alive() || old.knows == Some(now)) && Self::new_knows(state);
        let relay = match state.relay {
            Relay::Idle => true,
            Relay::Write { shadows, .. } => shadows == now.shadows,
        };
        (programs || !self.obeys(Rule::WaitsBeforeLowering)) && (relay || !self.obeys(Rule::WaitsForRelays))
    }
}
