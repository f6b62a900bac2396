//! What writers do, one store request at a time: read, claim, steal, commit.

use super::{
    Claims, NOT_TAKEN, Op, REPEATED, Rule, State,
    rows::{Claim, ENTITIES, Intent, Primary, Stage},
};
use crate::protocol::cast::number;

/// Where an actor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Pc {
    Idle,
    /// Reads its primary, when that comes after the claim: against the rules.
    ReadLate,
    /// Reads the claim of the new value.
    Claim,
    /// Has found its own claim confirmed; reads its primary once more.
    CheckAgain,
    /// Writes the claim as pending.
    PutClaim,
    /// Thief: reads the primary of the claim's owner.
    Owner,
    /// Thief: changes it.
    Touch,
    /// Thief: confirms the claim for its owner.
    ConfirmForOwner,
    /// Writes the primary row and the outbox row.
    Commit,
    /// Was refused; gives its claim back.
    GiveBack,
    /// The reply was lost; reads back.
    Recall,
    /// Confirms the claim that it wrote.
    Confirm,
    /// Reads the next affected claim.
    Settle,
    /// Reads the primary.
    SettlePrimary,
    /// Confirms, releases, rewrites.
    SettleWrite(Settling),
    /// Removes the outbox row.
    Acknowledge,
}

/// What is to be done to an affected claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Settling {
    Confirm,
    Release,
    Rewrite,
}

/// A writer or a relay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Actor {
    pub(crate) pc: Pc,
    /// Writer: operations done.
    pub(crate) next: u8,
    pub(crate) entity: u8,
    pub(crate) slot: u8,
    /// The primary as read; then as the claim's settling read it.
    pub(crate) image: Primary,
    /// Thief: whose claim it is.
    pub(crate) owner: u8,
    /// Affected claims that are still to be seen to, as bits.
    pub(crate) todo: u8,
    /// Rows that are as this actor read or wrote them, as bits.
    pub(crate) current: u8,
    /// Primaries whose tombstones were written while this actor was at its intent, as bits.
    pub(crate) began_before: u8,
    /// The claim was found confirmed.
    pub(crate) confirmed: bool,
    /// The claim that it wrote was not pending for its entity before.
    pub(crate) fresh: bool,
}

impl Actor {
    pub(crate) const IDLE: Self = Self {
        pc: Pc::Idle,
        next: 0,
        entity: 0,
        slot: 0,
        image: Primary::Absent,
        owner: 0,
        todo: 0,
        current: 0,
        began_before: 0,
        confirmed: false,
        fresh: false,
    };

    /// Starts its operation again.
    pub(crate) fn again(self) -> Self {
        Self { next: self.next, began_before: self.began_before, ..Self::IDLE }
    }

    /// Its operation is over, one way or the other.
    pub(crate) fn over(self) -> Self {
        Self { next: self.next + 1, ..Self::IDLE }
    }

    pub(crate) fn at(self, pc: Pc) -> Self {
        Self { pc, ..self }
    }
}

pub(crate) fn primary_bit(entity: u8) -> u8 {
    1 << entity
}

pub(crate) fn claim_bit(value: usize) -> u8 {
    1 << (ENTITIES + value)
}

pub(crate) type Emit<'a> = &'a mut dyn FnMut(&'static str, State);

impl State {
    /// The same with `index` moved on, after a write to the rows of `written`; a writer knows the ETag of what it wrote.
    pub(crate) fn with(mut self, index: usize, actor: Actor, written: u8) -> Self {
        self.changed(written);
        self.actors[index] = actor;
        self
    }

    fn bury(&mut self, entity: u8, by: usize) {
        self.rows.primary[usize::from(entity)] = Primary::Dead;
        for (_, actor) in
            self.actors.iter_mut().enumerate().filter(|(index, actor)| *index != by && actor.pc != Pc::Idle)
        {
            actor.began_before |= primary_bit(entity);
        }
    }
}

impl Claims {
    fn op(&self, index: usize, actor: Actor) -> Option<(u8, Op)> {
        self.writers[index].get(usize::from(actor.next)).copied()
    }

    pub(crate) fn write(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let Some((entity, op)) = self.op(index, actor) else { return };
        match (actor.pc, op) {
            (Pc::Idle, _) => self.begin(state, index, entity, op, emit),
            (Pc::ReadLate, _) => {
                let image = state.rows.primary[usize::from(entity)];
                let current = actor.current | primary_bit(entity);
                emit("reads the primary", state.with(index, Actor { pc: Pc::Commit, image, current, ..actor }, 0));
            }
            (Pc::CheckAgain, Op::Put(value)) => {
                let stale = state.rows.primary[usize::from(entity)].holds(value.into());
                let next = if stale { actor.again() } else { actor.at(Pc::PutClaim) };
                emit("reads its primary once more", state.with(index, next, 0));
            }
            (Pc::Claim, Op::Put(value)) => self.look_at_claim(state, index, usize::from(value), emit),
            (Pc::PutClaim, Op::Put(value)) => self.put_claim(state, index, usize::from(value), emit),
            (Pc::Owner | Pc::Touch | Pc::ConfirmForOwner, Op::Put(value)) => {
                self.steal(state, index, usize::from(value), emit);
            }
            (Pc::Commit, _) => {
                self.refuse(state, index, op, emit);
                self.commit(state, index, op, emit);
            }
            (Pc::GiveBack, Op::Put(value)) => self.give_back(state, index, usize::from(value), emit),
            (Pc::Recall, _) => {
                let recognised = state.rows.ops[usize::from(entity)] >> actor.slot & 1 == 1;
                let (what, next) = match (recognised, self.obeys(Rule::OperationId)) {
                    (true, true) => ("recognises its write", actor.at(Pc::Settle)),
                    (false, true) => ("gives OutcomeUnknown", actor.over()),
                    (_, false) => ("takes its own write for another's", actor.again()),
                };
                emit(what, state.with(index, next, 0));
            }
            (Pc::Confirm, Op::Put(value)) => self.confirm(state, index, usize::from(value), emit),
            _ => {
                emit("leaves the rest to relays", state.with(index, actor.over(), 0));
                self.settle(state, index, emit);
            }
        }
    }

    fn begin(&self, state: &State, index: usize, entity: u8, op: Op, emit: Emit<'_>) {
        let actor = state.actors[index];
        let image = state.rows.primary[usize::from(entity)];
        let current = primary_bit(entity);
        let slot = number(self.writers, index, actor.next);
        let read = Actor { entity, slot, image, current, ..actor };
        match (op, image) {
            (Op::Delete, Primary::Live(_)) => emit("reads the primary", state.with(index, read.at(Pc::Commit), 0)),
            (Op::Delete, _) => emit("finds nothing to delete", state.with(index, actor.over(), 0)),
            (Op::Put(value), _) if image.holds(value.into()) => {
                emit("has the value already", state.with(index, actor.over(), 0));
            }
            (Op::Put(_), _) if !self.obeys(Rule::ImageBeforeClaim) => {
                let unread = Actor { image: Primary::Absent, current: 0, ..read };
                emit("begins with the claim", state.with(index, unread.at(Pc::Claim), 0));
            }
            (Op::Put(_), _) => emit("reads the primary", state.with(index, read.at(Pc::Claim), 0)),
        }
    }

    fn look_at_claim(&self, state: &State, index: usize, value: usize, emit: Emit<'_>) {
        let mut s = *state;
        let read = Actor { current: state.actors[index].current | claim_bit(value), ..state.actors[index] };
        let (what, next) = match s.rows.claim[value] {
            None => ("finds no claim", read.at(Pc::PutClaim)),
            Some(claim) if claim.owner == read.entity && self.obeys(Rule::RewrittenAsPending) => {
                let checks = claim.stage == Stage::Confirmed && self.obeys(Rule::OwnConfirmedCheckedAgain);
                ("finds its own claim", read.at(if checks { Pc::CheckAgain } else { Pc::PutClaim }))
            }
            Some(claim) if claim.owner == read.entity => ("relies on its own claim", read.at(Pc::Commit)),
            Some(Claim { stage: Stage::Confirmed, .. }) => ("says: taken", read.over()),
            Some(Claim { stage: Stage::Pending, owner }) if self.obeys(Rule::TheftAfterExpiry) => {
                if self.obeys(Rule::PendingIsNotTaken) {
                    ("says: try again", read.over())
                } else {
                    let had = s.had[usize::from(owner)] >> value & 1 == 1;
                    s.wrong = (!had).then_some(NOT_TAKEN);
                    ("says: taken", read.over())
                }
            }
            Some(claim) => {
                let pc = if self.obeys(Rule::OwnerRead) { Pc::Owner } else { Pc::Touch };
                ("finds another's expired claim", Actor { pc, owner: claim.owner, ..read })
            }
        };
        emit(what, s.with(index, next, 0));
    }

    fn put_claim(&self, state: &State, index: usize, value: usize, emit: Emit<'_>) {
        let mut s = *state;
        let actor = s.actors[index];
        if actor.current & claim_bit(value) == 0 && self.obeys(Rule::ConditionalClaim) {
            return emit("meets 409 or 412 on the claim", s.with(index, actor.at(Pc::Claim), 0));
        }
        let was_pending =
            s.rows.claim[value].is_some_and(|claim| claim.owner == actor.entity && claim.stage != Stage::Confirmed);
        let fresh = self.refuses && !(was_pending && self.obeys(Rule::OnlyItsOwnGivenBack));
        s.rows.claim[value] = Some(Claim { owner: actor.entity, stage: Stage::Pending });
        let pc = if self.obeys(Rule::ImageBeforeClaim) { Pc::Commit } else { Pc::ReadLate };
        let next = Actor { pc, owner: 0, fresh, current: actor.current | claim_bit(value), ..actor };
        emit("writes the claim as pending", s.with(index, next, claim_bit(value)));
        if s.lost > 0 {
            s.lost -= 1;
            let next = Actor { pc: Pc::Claim, owner: 0, current: actor.current & !claim_bit(value), ..actor };
            emit("writes the claim; the reply is lost", s.with(index, next, claim_bit(value)));
        }
    }

    fn steal(&self, state: &State, index: usize, value: usize, emit: Emit<'_>) {
        let mut s = *state;
        let actor = s.actors[index];
        let owner = usize::from(actor.owner);
        let bit = primary_bit(actor.owner);
        match actor.pc {
            Pc::Owner => {
                let has = s.rows.primary[owner].holds(value);
                let pc = match (has, self.obeys(Rule::OwnerTouched)) {
                    (true, _) => Pc::ConfirmForOwner,
                    (false, true) => Pc::Touch,
                    (false, false) => Pc::PutClaim,
                };
                emit(
                    "reads the owner's primary",
                    s.with(index, Actor { pc, current: actor.current | bit, ..actor }, 0),
                );
            }
            Pc::ConfirmForOwner => {
                if actor.current & claim_bit(value) == 0 && self.obeys(Rule::ConditionalConfirm) {
                    return emit("meets 412 on the claim", s.with(index, actor.at(Pc::Claim), 0));
                }
                s.rows.claim[value] = Some(Claim { owner: actor.owner, stage: Stage::Confirmed });
                emit("confirms it for the owner; says: taken", s.with(index, actor.over(), claim_bit(value)));
            }
            _ => {
                let read = actor.current & bit != 0 || !self.obeys(Rule::OwnerRead);
                if !read && self.obeys(Rule::ConditionalTouch) {
                    return emit("meets 412 on the owner's primary", s.with(index, actor.at(Pc::Claim), 0));
                }
                let next = Actor { pc: Pc::PutClaim, current: actor.current & !bit, ..actor };
                match s.rows.primary[owner] {
                    Primary::Absent if !self.obeys(Rule::AbsentOwnerBuried) => {
                        emit("finds no primary to touch", s.with(index, next, 0));
                    }
                    Primary::Absent | Primary::Dead => {
                        s.bury(actor.owner, index);
                        emit("writes a tombstone for the owner", s.with(index, next, bit));
                    }
                    Primary::Live(_) => emit("touches the owner's primary", s.with(index, next, bit)),
                }
            }
        }
    }

    /// The EGT is refused for another reason, or is not tried again.
    fn refuse(&self, state: &State, index: usize, op: Op, emit: Emit<'_>) {
        let actor = state.actors[index];
        if self.refuses && matches!(op, Op::Put(_)) {
            let next = if actor.fresh { actor.at(Pc::GiveBack) } else { actor.over() };
            emit("is refused", state.with(index, next, 0));
        }
    }

    fn give_back(&self, state: &State, index: usize, value: usize, emit: Emit<'_>) {
        let mut s = *state;
        let actor = s.actors[index];
        if actor.current & claim_bit(value) == 0 && self.obeys(Rule::ConditionalGivingBack) {
            return emit("meets 404 or 412 on the claim", s.with(index, actor.over(), 0));
        }
        s.rows.claim[value] = None;
        emit("gives its claim back", s.with(index, actor.over(), claim_bit(value)));
    }

    /// The EGT: the primary row and the outbox row.
    fn commit(&self, state: &State, index: usize, op: Op, emit: Emit<'_>) {
        let mut s = *state;
        let actor = s.actors[index];
        let (e, bit) = (usize::from(actor.entity), primary_bit(actor.entity));
        let holds = match actor.image {
            Primary::Absent => s.rows.primary[e] == Primary::Absent,
            _ => actor.current & bit != 0 || !self.obeys(Rule::PrimaryIfMatch),
        };
        if !holds {
            let next = if self.obeys(Rule::ClaimsAgain) { actor.again() } else { actor.at(Pc::ReadLate) };
            return emit("meets 409 or 412", s.with(index, next, 0));
        }
        let old = if let Primary::Live(value) = actor.image { 1 << value } else { 0 };
        let new = if let Op::Put(value) = op { 1 << value } else { 0 };
        let again = s.done >> actor.slot & 1 == 1;
        s.done |= 1 << actor.slot;
        s.had[e] |= new;
        match op {
            Op::Put(value) => s.rows.primary[e] = Primary::Live(value),
            Op::Delete => s.bury(actor.entity, index),
        }
        if self.lost > 0 {
            s.rows.ops[e] = if new == 0 { 0 } else { s.rows.ops[e] | 1 << actor.slot };
            s.wrong = again.then_some(REPEATED);
        }
        if self.obeys(Rule::OutboxRow) {
            s.rows.outbox[usize::from(actor.slot)] = Some(Intent { entity: actor.entity, affected: old | new });
        }
        let pc = if new == 0 { Pc::Settle } else { Pc::Confirm };
        let (image, current) = (Primary::Absent, actor.current & !bit);
        let next = Actor { pc, todo: old | new, image, current, fresh: false, ..actor };
        emit("commits its EGT", s.with(index, next, bit));
        if s.lost > 0 {
            s.lost -= 1;
            emit(
                "commits its EGT; the reply is lost",
                s.with(index, Actor { pc: Pc::Recall, current: 0, ..next }, bit),
            );
        }
    }

    /// Straight after the EGT: under the ETag with which the claim was written.
    fn confirm(&self, state: &State, index: usize, value: usize, emit: Emit<'_>) {
        let mut s = *state;
        let actor = s.actors[index];
        if actor.current & claim_bit(value) == 0 && self.obeys(Rule::ConditionalConfirm) {
            return emit("meets 412 on the claim", s.with(index, Actor { pc: Pc::Settle, current: 0, ..actor }, 0));
        }
        s.rows.claim[value] = Some(Claim { owner: actor.entity, stage: Stage::Confirmed });
        let next = Actor { current: 0, ..actor.seen_to(value) };
        emit("confirms its claim", s.with(index, next, claim_bit(value)));
        if s.lost > 0 {
            s.lost -= 1;
            let next = Actor { pc: Pc::Settle, current: 0, ..actor };
            emit("confirms its claim; the reply is lost", s.with(index, next, claim_bit(value)));
        }
    }
}
