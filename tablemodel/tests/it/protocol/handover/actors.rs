//! What the mover, those who want its value, and relays do, one store request at a time.
//!
//! Claims as in [`claims`](super::super::claims), where each of their rules is switched off; here all of them hold.

use super::{ARRIVAL, Claim, HandOver, NEW, OLD, Op, Primary, Rows, Rule, Stage, State, WRITES};
use crate::protocol::cast::number;

/// Where an actor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Pc {
    Idle,
    /// Has found no entity: reads whether an intent stands.
    Intents,
    /// Reads the claim.
    Claim,
    /// Has found it its own, and confirmed: reads its primary once more.
    CheckAgain,
    PutClaim,
    /// Thief: reads the primary of the claim's owner, and its intent.
    Owner,
    OwnersIntent,
    Touch,
    ConfirmForOwner,
    /// Writes the primary: insert, delete or move.
    Commit,
    /// Reads the claim; then the primary, then the intent; then one conditional write.
    Settle,
    SettlePrimary(Stage),
    SettleIntent(Stage),
    SettleWrite(Option<Stage>),
    /// Removes the outbox row.
    Acknowledge,
    /// Delivers the intent: puts the entity in place of the reservation.
    Arrive,
    /// ..reads the claim.
    HandOver,
    /// ..reads the intent once more.
    ReadAgain,
    /// ..writes the claim for the new key.
    HandOverWrite,
    /// ..removes the intent.
    Clear,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Actor {
    pc: Pc,
    /// Writer: operations done.
    next: u8,
    key: u8,
    /// The outbox row that it delivers; [`WRITES`] for the intent.
    slot: u8,
    owner: u8,
    inserts: bool,
    /// Writer that finishes another's move, and starts again then.
    helps: bool,
    /// Its own primary, the owner's, the claim are as it read or wrote them.
    current: [bool; 3],
}

const OWN: usize = 0;
const OWNERS: usize = 1;
const CLAIM: usize = 2;

/// What a step wrote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrote {
    Nothing,
    Primary(u8),
    Claim,
}

impl Actor {
    pub(crate) const IDLE: Self =
        Self { pc: Pc::Idle, next: 0, key: 0, slot: 0, owner: 0, inserts: false, helps: false, current: [false; 3] };
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

    fn knows(mut self, row: usize, pc: Pc) -> Self {
        self.current[row] = true;
        self.at(pc)
    }

    fn moving(self) -> Self {
        Self { pc: Pc::Arrive, slot: WRITES as u8, key: NEW, current: [false; 3], ..self }
    }

    fn delivering(rows: &Rows, place: usize) -> Option<Self> {
        let relay = Self { next: Self::RELAY, ..Self::IDLE };
        match rows.outbox.get(place) {
            Some(row) => row.map(|key| Self { pc: Pc::Settle, key, slot: place as u8, ..relay }),
            None => rows.intent.then(|| relay.moving()),
        }
    }
}

pub(crate) type Emit<'a> = &'a mut dyn FnMut(&'static str, State);
type Step = (&'static str, Actor, Wrote);

impl HandOver {
    pub(crate) fn write(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        let Some(&op) = self.writers[index].get(usize::from(actor.next)) else { return };
        let number = number(self.writers, index, actor.next);
        if matches!(actor.pc, Pc::Arrive | Pc::Settle | Pc::HandOver | Pc::Clear) && !actor.helps {
            step(state, index, emit, |_| ("leaves the rest to relays", actor.over(), Wrote::Nothing));
        }
        step(state, index, emit, |rows| match actor.pc {
            Pc::Idle => begin(rows, Actor { slot: number, ..actor }, op),
            Pc::Intents => {
                let next = if rows.intent && actor.key == OLD && self.obeys(Rule::MoveFinishedFirst) {
                    Actor { helps: true, ..actor.moving() }
                } else {
                    actor.at(Pc::Claim)
                };
                ("reads the intents", next, Wrote::Nothing)
            }
            Pc::Claim | Pc::CheckAgain | Pc::PutClaim => claim(rows, actor),
            Pc::Owner | Pc::OwnersIntent | Pc::Touch | Pc::ConfirmForOwner => self.steal(rows, actor),
            Pc::Commit => commit(rows, actor, op),
            _ => self.deliver_step(rows, actor),
        });
    }

    pub(crate) fn relay(&self, state: &State, index: usize, emit: Emit<'_>) {
        let actor = state.actors[index];
        if actor.pc != Pc::Idle {
            return step(state, index, emit, |rows| self.deliver_step(rows, actor));
        }
        for place in 0..=WRITES {
            if let Some(actor) = Actor::delivering(&state.rows, place) {
                step(state, index, emit, |_| ("reads an outbox row or intent", actor, Wrote::Nothing));
            }
        }
    }

    /// A fresh relay sees to one outbox row or the intent, undisturbed.
    pub(crate) fn deliver(&self, rows: &mut Rows, place: usize) {
        let Some(mut actor) = Actor::delivering(rows, place) else { return };
        while actor.pc != Pc::Idle {
            actor = self.deliver_step(rows, actor).1;
        }
    }

    fn steal(&self, rows: &mut Rows, actor: Actor) -> Step {
        let owners = &mut rows.primary[usize::from(actor.owner)];
        let in_order = self.obeys(Rule::PrimaryThenIntent);
        let has = *owners == Primary::Live;
        match actor.pc {
            Pc::Owner if has => ("reads the owner's primary", actor.knows(OWNERS, Pc::ConfirmForOwner), Wrote::Nothing),
            Pc::Owner => {
                let next = if in_order { Pc::OwnersIntent } else { Pc::Touch };
                ("reads the owner's primary", actor.knows(OWNERS, next), Wrote::Nothing)
            }
            Pc::OwnersIntent => {
                let moves = rows.intent && actor.owner == OLD && self.obeys(Rule::ThiefReadsIntent);
                let next = match (moves, in_order) {
                    (true, _) => actor.over(),
                    (false, true) => actor.at(Pc::Touch),
                    (false, false) => actor.at(Pc::Owner),
                };
                ("reads the owner's intents", next, Wrote::Nothing)
            }
            Pc::ConfirmForOwner if actor.current[CLAIM] => {
                rows.claim = Some(Claim { owner: actor.owner, stage: Stage::Confirmed });
                ("confirms it for the owner; says: taken", actor.over(), Wrote::Claim)
            }
            Pc::Touch if actor.current[OWNERS] => {
                if *owners == Primary::Absent {
                    *owners = Primary::Dead;
                }
                ("touches the owner's primary", actor.at(Pc::PutClaim), Wrote::Primary(actor.owner))
            }
            _ => ("meets 412", actor.at(Pc::Claim), Wrote::Nothing),
        }
    }

    /// One step of delivering an outbox row or the intent.
    fn deliver_step(&self, rows: &mut Rows, actor: Actor) -> Step {
        match actor.pc {
            Pc::Settle | Pc::SettlePrimary(_) | Pc::SettleIntent(_) | Pc::SettleWrite(_) => self.settle(rows, actor),
            Pc::Acknowledge => {
                rows.outbox[usize::from(actor.slot)] = None;
                ("removes the outbox row", actor.over(), Wrote::Nothing)
            }
            _ => self.hand_over(rows, actor),
        }
    }

    fn hand_over(&self, rows: &mut Rows, actor: Actor) -> Step {
        let owner = rows.claim.map(|claim| claim.owner);
        match actor.pc {
            Pc::Arrive => {
                let next = if self.obeys(Rule::HandedOver) { Pc::HandOver } else { Pc::Clear };
                let place = &mut rows.primary[usize::from(NEW)];
                if !rows.intent || *place != Primary::Reserved {
                    return ("finds the entity arrived", actor.at(next), Wrote::Nothing);
                }
                *place = Primary::Live;
                rows.outbox[ARRIVAL] = Some(NEW);
                ("writes the entity at the new key", actor.at(next), Wrote::Primary(NEW))
            }
            Pc::HandOver if owner == Some(OLD) => {
                let again = self.obeys(Rule::IntentReadAgain);
                let next = if again { Pc::ReadAgain } else { Pc::HandOverWrite };
                ("reads the claim", actor.knows(CLAIM, next), Wrote::Nothing)
            }
            Pc::HandOver => ("finds the claim handed over", actor.at(Pc::Settle), Wrote::Nothing),
            Pc::ReadAgain => {
                let next = if rows.intent { Pc::HandOverWrite } else { Pc::Clear };
                ("reads the intent once more", actor.at(next), Wrote::Nothing)
            }
            Pc::HandOverWrite if !actor.current[CLAIM] && self.obeys(Rule::ConditionalHandOver) => {
                ("meets 412 on the claim", actor.at(Pc::HandOver), Wrote::Nothing)
            }
            Pc::HandOverWrite => {
                let pending = self.obeys(Rule::HandedOverAsPending);
                let stage = if pending { Stage::Pending } else { Stage::Confirmed };
                rows.claim = Some(Claim { owner: NEW, stage });
                let next = if pending { Pc::Settle } else { Pc::Clear };
                ("hands the claim over", actor.at(next), Wrote::Claim)
            }
            _ => {
                rows.intent = false;
                ("removes the intent", if actor.helps { actor.again() } else { actor.over() }, Wrote::Nothing)
            }
        }
    }

    /// As in [`claims`](super::super::claims), but for the intent.
    fn settle(&self, rows: &mut Rows, actor: Actor) -> Step {
        let found = rows.claim.filter(|claim| claim.owner == actor.key);
        match actor.pc {
            Pc::Settle => match found {
                None => ("finds no claim of this owner", actor.settled(), Wrote::Nothing),
                Some(Claim { stage, .. }) => {
                    ("reads the claim", actor.knows(CLAIM, Pc::SettlePrimary(stage)), Wrote::Nothing)
                }
            },
            Pc::SettlePrimary(stage) => {
                let next = match (stage, rows.primary[usize::from(actor.key)]) {
                    (Stage::Confirmed, Primary::Live) => actor.settled(),
                    (_, Primary::Live) => actor.at(Pc::SettleWrite(Some(Stage::Confirmed))),
                    (stage, _) if self.obeys(Rule::ReleaseReadsIntent) => actor.at(Pc::SettleIntent(stage)),
                    (stage, _) => actor.at(release(stage)),
                };
                ("reads the primary", next, Wrote::Nothing)
            }
            Pc::SettleIntent(stage) => {
                let moves = rows.intent && actor.key == OLD;
                ("reads the intents", if moves { actor.settled() } else { actor.at(release(stage)) }, Wrote::Nothing)
            }
            Pc::SettleWrite(becomes) if actor.current[CLAIM] => {
                rows.claim = becomes.map(|stage| Claim { owner: actor.key, stage });
                ("settles the claim", actor.settled(), Wrote::Claim)
            }
            _ => ("meets 412 on the claim", actor.at(Pc::Settle), Wrote::Nothing),
        }
    }
}

impl Actor {
    /// The claim is as the primary wants it; what is left of the delivery.
    fn settled(self) -> Self {
        self.at(if usize::from(self.slot) == WRITES { Pc::Clear } else { Pc::Acknowledge })
    }
}

/// Nobody has the value at this key: a confirmed claim goes, a pending one is rewritten.
fn release(stage: Stage) -> Pc {
    Pc::SettleWrite(if stage == Stage::Confirmed { None } else { Some(stage) })
}

fn begin(rows: &Rows, actor: Actor, op: Op) -> Step {
    let key = match op {
        Op::Move => OLD,
        Op::Insert(key) | Op::Delete(key) => key,
    };
    let found = rows.primary[usize::from(key)];
    let read = Actor { key, ..actor };
    let next = match (op, found) {
        (Op::Insert(_), Primary::Absent) => Actor { inserts: true, ..read.at(Pc::Intents) },
        (Op::Insert(_), Primary::Dead) => read.knows(OWN, Pc::Intents),
        (Op::Move | Op::Delete(_), Primary::Live) => read.knows(OWN, Pc::Commit),
        _ => actor.over(),
    };
    ("reads the primary", next, Wrote::Nothing)
}

fn claim(rows: &mut Rows, actor: Actor) -> Step {
    match (actor.pc, rows.claim) {
        (Pc::Claim, None) => ("finds no claim", actor.knows(CLAIM, Pc::PutClaim), Wrote::Nothing),
        (Pc::Claim, Some(Claim { owner, stage })) if owner == actor.key => {
            let next = if stage == Stage::Confirmed { Pc::CheckAgain } else { Pc::PutClaim };
            ("finds its own claim", actor.knows(CLAIM, next), Wrote::Nothing)
        }
        (Pc::Claim, Some(Claim { stage: Stage::Expired, owner })) => {
            ("finds another's expired claim", Actor { owner, ..actor.knows(CLAIM, Pc::Owner) }, Wrote::Nothing)
        }
        (Pc::Claim, Some(_)) => ("says: taken, or try again", actor.over(), Wrote::Nothing),
        (Pc::CheckAgain, _) => {
            let stale = rows.primary[usize::from(actor.key)] == Primary::Live;
            let next = if stale { actor.again() } else { actor.at(Pc::PutClaim) };
            ("reads its primary once more", next, Wrote::Nothing)
        }
        _ if !actor.current[CLAIM] => ("meets 409 or 412 on the claim", actor.at(Pc::Claim), Wrote::Nothing),
        _ => {
            rows.claim = Some(Claim { owner: actor.key, stage: Stage::Pending });
            ("writes the claim as pending", actor.at(Pc::Commit), Wrote::Claim)
        }
    }
}

/// The EGT. A move leaves the claim to the delivery of its intent.
fn commit(rows: &mut Rows, actor: Actor, op: Op) -> Step {
    let primary = &mut rows.primary[usize::from(actor.key)];
    let holds = if actor.inserts { *primary == Primary::Absent } else { actor.current[OWN] };
    if !holds {
        return ("meets 409 or 412", actor.again(), Wrote::Nothing);
    }
    *primary = if matches!(op, Op::Insert(_)) { Primary::Live } else { Primary::Dead };
    let done = Actor { current: [false; 3], inserts: false, owner: 0, ..actor };
    let next = if op == Op::Move {
        rows.intent = true;
        done.moving()
    } else {
        rows.outbox[usize::from(actor.slot)] = Some(actor.key);
        done.at(Pc::Settle)
    };
    ("commits its EGT", next, Wrote::Primary(actor.key))
}

fn step(state: &State, index: usize, emit: Emit<'_>, step: impl FnOnce(&mut Rows) -> Step) {
    let mut s = *state;
    let (what, next, wrote) = step(&mut s.rows);
    s.actors[index] = next;
    for actor in &mut s.actors {
        match wrote {
            Wrote::Nothing => {}
            Wrote::Claim => actor.current[CLAIM] = false,
            Wrote::Primary(key) => {
                actor.current[OWN] &= actor.key != key;
                actor.current[OWNERS] &= actor.owner != key;
            }
        }
    }
    emit(what, s);
}
