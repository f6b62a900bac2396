//! Sequences of operations: what a step is, and how sequences are drawn.
//!
//! Nothing is run here.

use proptest::prelude::*;

use super::{Account, Address, Member, oracle::Entity, txn::Key};

/// How many entities a caller holds at a time.
pub(crate) const SLOTS: usize = 4;

/// What of an entity an operation sets; the key may change by `id`.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) id: Option<u32>,
    pub(crate) member: Member,
    pub(crate) account: Account,
    /// Which fields of the drawn entity are taken over.
    pub(crate) mask: u16,
}

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Reads an entity into a slot.
    Read {
        slot: usize,
        key: Key,
    },
    Insert(Entity),
    Upsert(Entity),
    Save {
        slot: usize,
        edit: Edit,
    },
    Update {
        key: Key,
        edit: Edit,
    },
    Patch {
        key: Key,
        balance: i64,
        memo: Option<String>,
    },
    Delete {
        slot: usize,
    },
    Batch {
        club: String,
        parts: Vec<Step>,
    },
    Bulk(Vec<Entity>),
    Tick(u64),
}

fn club() -> impl Strategy<Value = String> {
    prop_oneof![4 => Just("A".to_owned()), 1 => Just("B".to_owned())]
}

fn members() -> impl Strategy<Value = Member> {
    let names = prop::sample::select(vec!["Jones", "O Brien", "a/b", "x_y"]);
    let email = prop::option::weighted(0.8, prop::sample::select(vec!["a@x", "A@x", "b@x", "C d@x", "e_f@x"]));
    let note = prop::option::of(prop::sample::select(vec!["", "n1"]));
    let zip = prop::option::of(Just("9".to_owned()));
    let keys = (club(), 0..4_u32, names, email, note, zip);
    (keys, any::<bool>(), 0..3_u8, 0..3_i64, 0..3_usize).prop_map(|(keys, is_active, age, points, skills)| {
        let (club, id, name, email, note, zip) = keys;
        Member {
            club,
            id,
            first_name: format!("F{age}"),
            last_name: name.into(),
            email: email.map(Into::into),
            city: if points == 0 { "Oslo" } else { "Rome" }.into(),
            is_active,
            note: note.map(Into::into),
            age,
            points,
            skills: vec!["s".into(); skills],
            address: Address { street: format!("S{points}"), zip },
        }
    })
}

fn accounts() -> impl Strategy<Value = Account> {
    let badge = prop::option::weighted(0.8, 0..3_u32);
    let memo = prop::option::of(Just("m".to_owned()));
    (club(), 0..3_u32, badge, 0..4_i64, memo).prop_map(|(club, id, badge, balance, memo)| Account {
        club,
        id,
        badge,
        balance,
        memo,
    })
}

fn entities() -> impl Strategy<Value = Entity> {
    prop_oneof![2 => members().prop_map(Entity::Member), 1 => accounts().prop_map(Entity::Account)]
}

fn edits() -> impl Strategy<Value = Edit> {
    let id = prop::option::weighted(0.15, 0..4_u32);
    (id, members(), accounts(), any::<u16>()).prop_map(|(id, member, account, mask)| Edit { id, member, account, mask })
}

fn keys() -> impl Strategy<Value = Key> {
    entities().prop_map(|entity| entity.key())
}

fn account_keys() -> impl Strategy<Value = Key> {
    accounts().prop_map(|account| Entity::Account(account).key())
}

fn patches() -> impl Strategy<Value = Step> {
    let memo = prop::option::of(Just("p".to_owned()));
    (account_keys(), 0..9_i64, memo).prop_map(|(key, balance, memo)| Step::Patch { key, balance, memo })
}

fn changes() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => entities().prop_map(Step::Insert),
        2 => entities().prop_map(Step::Upsert),
        4 => (0..SLOTS, edits()).prop_map(|(slot, edit)| Step::Save { slot, edit }),
        1 => patches(),
        2 => (0..SLOTS).prop_map(|slot| Step::Delete { slot }),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..SLOTS, keys()).prop_map(|(slot, key)| Step::Read { slot, key }),
        8 => changes(),
        2 => (keys(), edits()).prop_map(|(key, edit)| Step::Update { key, edit }),
        4 => (club(), prop::collection::vec(changes(), 1..6)).prop_map(|(club, parts)| Step::Batch { club, parts }),
        1 => prop::collection::vec(entities(), 0..6).prop_map(Step::Bulk),
        1 => (0..5_u64).prop_map(Step::Tick),
    ]
}

/// Sequences of so many steps.
pub(crate) fn sequences(count: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(steps(), count..=count)
}

impl Edit {
    fn takes(&self, bit: u16) -> bool {
        self.mask & (1 << bit) != 0
    }

    pub(crate) fn member(&self, to: &mut Member) {
        let from = self.member.clone();
        to.id = self.id.unwrap_or(to.id);
        let takes = |bit| self.takes(bit);
        if takes(0) {
            to.first_name = from.first_name;
        }
        if takes(1) {
            to.last_name = from.last_name;
        }
        if takes(2) {
            to.email = from.email;
        }
        if takes(3) {
            to.city = from.city;
        }
        if takes(4) {
            to.is_active = from.is_active;
        }
        if takes(5) {
            to.note = from.note;
        }
        if takes(6) {
            to.age = from.age;
        }
        if takes(7) {
            to.points = from.points;
        }
        if takes(8) {
            to.skills = from.skills;
        }
        if takes(9) {
            to.address = from.address;
        }
    }

    pub(crate) fn account(&self, to: &mut Account) {
        let from = self.account.clone();
        to.id = self.id.unwrap_or(to.id);
        if self.takes(0) {
            to.badge = from.badge;
        }
        if self.takes(1) {
            to.balance = from.balance;
        }
        if self.takes(2) {
            to.memo = from.memo;
        }
    }

    pub(crate) fn entity(&self, to: &mut Entity) {
        match to {
            Entity::Member(member) => self.member(member),
            Entity::Account(account) => self.account(account),
        }
    }
}
