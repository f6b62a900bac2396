//! Making the claims of an outbox row what the primary says: confirm, release, rewrite. Writers and relays do it alike.

use super::{
    Claims, Rule, State,
    actors::{Actor, Emit, Pc, Settling, claim_bit},
    rows::{Claim, Primary, Rows, Stage, WRITES},
};

impl Actor {
    /// In the place of a writer's count of operations: relays have no program.
    const RELAY: u8 = u8::MAX;

    fn picking(rows: &Rows, slot: usize) -> Option<Self> {
        let intent = rows.outbox[slot]?;
        let (entity, todo) = (intent.entity, intent.affected);
        Some(Self { pc: Pc::Settle, next: Self::RELAY, entity, slot: slot as u8, todo, ..Self::IDLE })
    }

    /// One affected claim is as the primary wants it.
    pub(crate) fn seen_to(self, value: usize) -> Self {
        let todo = self.todo & !(1 << value);
        let pc = if todo == 0 { Pc::Acknowledge } else { Pc::Settle };
        Self { pc, todo, current: 0, confirmed: false, image: Primary::Absent, ..self }
    }
}

impl Claims {
    pub(crate) fn relay(&self, state: &State, index: usize, emit: Emit<'_>) {
        if state.actors[index].pc != Pc::Idle {
            return self.settle(state, index, emit);
        }
        for slot in 0..WRITES {
            if let Some(actor) = Actor::picking(&state.rows, slot) {
                emit("reads an outbox row", state.with(index, actor, 0));
            }
        }
    }

    pub(crate) fn settle(&self, state: &State, index: usize, emit: Emit<'_>) {
        let mut s = *state;
        let before = s.actors[index];
        let (what, next, written) = self.settle_step(&mut s.rows, before);
        emit(what, s.with(index, next, written));
        if s.lost > 0 && written != 0 {
            s.lost -= 1;
            let again = Actor { pc: Pc::Settle, current: 0, ..before };
            emit("settles the claim; the reply is lost", s.with(index, again, written));
        }
    }

    /// A fresh relay sees to one outbox row, undisturbed.
    pub(crate) fn deliver(&self, rows: &mut Rows, slot: usize) {
        let Some(mut actor) = Actor::picking(rows, slot) else { return };
        while actor.pc != Pc::Idle {
            actor = self.settle_step(rows, actor).1;
        }
    }

    /// What it did, where that leaves the actor, and the rows it wrote.
    fn settle_step(&self, rows: &mut Rows, actor: Actor) -> (&'static str, Actor, u8) {
        let value = actor.todo.trailing_zeros() as usize;
        let primary_first = !self.obeys(Rule::ClaimThenPrimary);
        match actor.pc {
            Pc::Settle if primary_first => {
                let image = rows.primary[usize::from(actor.entity)];
                ("reads the primary", Actor { pc: Pc::SettlePrimary, image, ..actor }, 0)
            }
            Pc::SettlePrimary if primary_first => self.settle_claim(rows, actor, value),
            Pc::Settle => self.settle_claim(rows, actor, value),
            Pc::SettlePrimary => {
                let image = rows.primary[usize::from(actor.entity)];
                ("reads the primary", self.decide(Actor { image, ..actor }, value), 0)
            }
            Pc::SettleWrite(settling) => self.settle_write(rows, actor, settling, value),
            _ => {
                rows.outbox[usize::from(actor.slot)] = None;
                let is_writer = actor.next != Actor::RELAY;
                ("removes the outbox row", if is_writer { actor.over() } else { Actor::IDLE }, 0)
            }
        }
    }

    fn settle_claim(&self, rows: &Rows, actor: Actor, value: usize) -> (&'static str, Actor, u8) {
        let Some(claim) = rows.claim[value].filter(|claim| claim.owner == actor.entity) else {
            return ("finds no claim of this owner", actor.seen_to(value), 0);
        };
        let confirmed = claim.stage == Stage::Confirmed;
        let read = Actor { confirmed, current: claim_bit(value), ..actor };
        let next =
            if self.obeys(Rule::ClaimThenPrimary) { read.at(Pc::SettlePrimary) } else { self.decide(read, value) };
        ("reads the claim", next, 0)
    }

    /// With claim and primary read.
    fn decide(&self, actor: Actor, value: usize) -> Actor {
        let settling = match (actor.confirmed, actor.image.holds(value)) {
            (true, true) => return actor.seen_to(value),
            (false, true) => Settling::Confirm,
            (true, false) => Settling::Release,
            (false, false) if !self.obeys(Rule::OnlyConfirmedReleased) => Settling::Release,
            (false, false) if self.obeys(Rule::PendingRewrittenByRelease) => Settling::Rewrite,
            (false, false) => return actor.seen_to(value),
        };
        Actor { pc: Pc::SettleWrite(settling), image: Primary::Absent, confirmed: false, ..actor }
    }

    fn settle_write(
        &self,
        rows: &mut Rows,
        actor: Actor,
        settling: Settling,
        value: usize,
    ) -> (&'static str, Actor, u8) {
        let rule = match settling {
            Settling::Confirm => Rule::ConditionalConfirm,
            Settling::Release | Settling::Rewrite => Rule::ConditionalRelease,
        };
        if actor.current == 0 && self.obeys(rule) {
            return ("meets 412 on the claim", actor.at(Pc::Settle), 0);
        }
        let stage = rows.claim[value].map_or(Stage::Pending, |claim| claim.stage);
        let (what, claim) = match settling {
            Settling::Confirm => ("confirms the claim", Some(Stage::Confirmed)),
            Settling::Release => ("releases the claim", None),
            Settling::Rewrite => ("rewrites the pending claim", Some(stage)),
        };
        rows.claim[value] = claim.map(|stage| Claim { owner: actor.entity, stage });
        (what, actor.seen_to(value), claim_bit(value))
    }
}
