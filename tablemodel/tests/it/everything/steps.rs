//! Sequences of operations: what a step is, and how sequences are drawn.
//!
//! Nothing is run here.

use proptest::prelude::*;

use super::{Doc, Entity, Key, Person};

/// How many entities a caller holds at a time.
pub(super) const SLOTS: usize = 4;

/// What of an entity an operation sets: the drawn entity's fields whose bit is set. Keys stay.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub(super) person: Person,
    pub(super) doc: Doc,
    pub(super) mask: u8,
}

/// One step of a sequence.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Reads an entity into a slot.
    Read(usize, Key),
    Insert(Entity),
    Upsert(Entity),
    Save(usize, Edit),
    /// To the keys that the edit's entities have.
    Rekey(usize, Edit),
    Update(Key, Edit),
    /// Of a document.
    Patch(u8, u32, i64, Option<i64>),
    Delete(usize),
    Batch(String, Vec<Step>),
    Bulk(Vec<Entity>),
    /// So many seconds pass.
    Tick(u64),
    Relay,
}

fn club() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just("A".to_owned()), 1 => Just("B".to_owned())]
}

prop_compose! {
    fn persons()(
        (club, year, id) in (club(), 2014..2016_u16, 0..2_u32),
        name in prop::sample::select(vec!["Jones", "Ann"]),
        zip in prop::option::of(0..2_u8),
        active: bool,
        seat in prop::option::of(0..3_u32),
        city in prop::sample::select(vec!["Oslo", "Rome"]),
        skills in prop::sample::subsequence(vec!["rust", "sql", "tea"], 0..3),
        email in prop::option::weighted(0.7, prop::sample::select(vec!["a@x", "A@x", "b@x", "C@x", "d@x"])),
        points in 0..4_i64,
    ) -> Person {
        let skills = skills.into_iter().map(str::to_owned).collect();
        let (name, city, email) = (name.to_owned(), city.to_owned(), email.map(str::to_owned));
        Person { club, year, id, name, zip, active, seat, city, skills, email, points }
    }
}

prop_compose! {
    fn docs()(
        (club, id) in (club(), 0..2_u32),
        title in prop::sample::select(vec!["Long", "Short"]),
        topic in prop::option::of(prop::sample::select(vec!["art", "law"])),
        isbn in prop::option::weighted(0.7, 0..3_u32),
        body in prop::sample::select(vec![1, 10, 300, 33_000]),
        (reads, likes) in (0..4_i64, prop::option::of(0..3_i64)),
    ) -> Doc {
        let body = "abcdefgh".chars().cycle().take(body).collect();
        Doc { club, id, title: title.to_owned(), topic: topic.map(str::to_owned), isbn, body, reads, likes }
    }
}

fn entities() -> impl Strategy<Value = Entity> {
    prop_oneof![3 => persons().prop_map(Entity::Person), 1 => docs().prop_map(Entity::Doc)]
}

fn edits() -> impl Strategy<Value = Edit> {
    (persons(), docs(), any::<u8>()).prop_map(|(person, doc, mask)| Edit { person, doc, mask })
}

fn keys() -> impl Strategy<Value = Key> {
    entities().prop_map(|entity| entity.key())
}

fn patches() -> impl Strategy<Value = Step> {
    let values = (0..9_i64, prop::option::of(0..9_i64));
    (0..2_u8, 0..2_u32, values).prop_map(|(club, id, (reads, likes))| Step::Patch(club, id, reads, likes))
}

fn changes() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => entities().prop_map(Step::Insert),
        2 => entities().prop_map(Step::Upsert),
        4 => (0..SLOTS, edits()).prop_map(|(slot, edit)| Step::Save(slot, edit)),
        1 => patches(),
        2 => (0..SLOTS).prop_map(Step::Delete),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..SLOTS, keys()).prop_map(|(slot, key)| Step::Read(slot, key)),
        8 => changes(),
        2 => (0..SLOTS, edits()).prop_map(|(slot, edit)| Step::Rekey(slot, edit)),
        2 => (keys(), edits()).prop_map(|(key, edit)| Step::Update(key, edit)),
        4 => (club(), prop::collection::vec(changes(), 1..5)).prop_map(|(club, parts)| Step::Batch(club, parts)),
        1 => prop::collection::vec(entities(), 0..5).prop_map(Step::Bulk),
        2 => (0..700_u64).prop_map(Step::Tick),
        1 => Just(Step::Relay),
    ]
}

/// Sequences of so many steps.
pub(super) fn sequences(count: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(steps(), count..=count)
}

impl Edit {
    fn takes(&self, bit: u8) -> bool {
        self.mask & (1 << bit) != 0
    }

    pub(super) fn person(&self, to: &mut Person) {
        let from = self.person.clone();
        let old = std::mem::replace(to, from);
        (to.club, to.year, to.id) = (old.club, old.year, old.id);
        let kept = |bit| !self.takes(bit);
        if kept(0) {
            to.name = old.name;
        }
        if kept(1) {
            to.zip = old.zip;
        }
        if kept(2) {
            to.active = old.active;
        }
        if kept(3) {
            to.seat = old.seat;
        }
        if kept(4) {
            to.city = old.city;
        }
        if kept(5) {
            to.skills = old.skills;
        }
        if kept(6) {
            to.email = old.email;
        }
        if kept(7) {
            to.points = old.points;
        }
    }

    pub(super) fn doc(&self, to: &mut Doc) {
        let from = self.doc.clone();
        let old = std::mem::replace(to, from);
        (to.club, to.id) = (old.club, old.id);
        let kept = |bit| !self.takes(bit);
        if kept(0) {
            to.title = old.title;
        }
        if kept(1) {
            to.topic = old.topic;
        }
        if kept(2) {
            to.isbn = old.isbn;
        }
        if kept(3) {
            to.body = old.body;
        }
        if kept(4) {
            to.reads = old.reads;
        }
        if kept(5) {
            to.likes = old.likes;
        }
    }

    pub(super) fn entity(&self, to: &mut Entity) {
        match to {
            Entity::Person(person) => self.person(person),
            Entity::Doc(doc) => self.doc(doc),
        }
    }
}
