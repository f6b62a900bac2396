//! Sequences of operations: what a step is, and how sequences are drawn.
//!
//! Nothing is run here.

use proptest::prelude::*;

use super::{Doc, Entity, Fan, Key, Person, SPONSORS, Sponsor, Team, of_any};

/// What is scanned, below and above what makes it a blob.
pub(super) const CONTENTS: [&str; 4] = ["short", "", "8 bytes.", "long enough for a blob"];

/// How many entities a caller holds at a time.
pub(super) const SLOTS: usize = 4;

/// What of an entity an operation sets: the drawn entity's fields whose bit is set, and its keys if it moves.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    pub(super) person: Person,
    pub(super) doc: Doc,
    pub(super) team: Team,
    pub(super) fan: Fan,
    pub(super) sponsor: Sponsor,
    pub(super) mask: u16,
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
    /// Patches what is copied of a sponsor.
    Rename(u8, String),
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
        (points, rate) in (0..4_i64, prop::option::of((-40..40_i8).prop_map(|quarters| f64::from(quarters) / 4.0))),
    ) -> Person {
        let skills = skills.into_iter().map(str::to_owned).collect();
        let (name, city, email) = (name.to_owned(), city.to_owned(), email.map(str::to_owned));
        Person { club, year, id, name, zip, active, seat, city, skills, email, points, rate }
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
        scan in prop::option::of(prop::sample::select(&CONTENTS[..])),
    ) -> Doc {
        let body = "abcdefgh".chars().cycle().take(body).collect();
        let (title, topic, scan) = (title.to_owned(), topic.map(str::to_owned), scan.map(|scan| scan.as_bytes().into()));
        Doc { club, id, title, topic, isbn, body, reads, likes, scan }
    }
}

prop_compose! {
    fn teams()(
        club in club(),
        title in prop::sample::select(vec!["Reds", "Blues"]),
        sponsor_id in prop::option::of(SPONSORS),
        told in 0..9_u8,
    ) -> Team {
        let title = title.to_owned();
        let (members, points, rates) = (told.into(), told.into(), told.into());
        Team { club, title, sponsor_id, sponsor: None, members, points, rates }
    }
}

prop_compose! {
    fn fans()(
        (club, id) in (club(), 0..3_u32),
        nick in prop::sample::select(vec!["Ace", "Bee"]),
        card in prop::option::of(0..2_u32),
        backer in prop::option::of(SPONSORS),
    ) -> Fan {
        Fan { club, id, nick: nick.to_owned(), card, team: None, backer, backing: None }
    }
}

fn names() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["Acme", "Bell"]).prop_map(str::to_owned)
}

prop_compose! {
    fn sponsors()(id in SPONSORS, name in names(), tier in prop::option::of(0..2_u8), note: u8) -> Sponsor {
        Sponsor { id, name, tier, note }
    }
}

// Boxed, since the tree of one strategy within another is made on the stack.
fn entities() -> BoxedStrategy<Entity> {
    prop_oneof![
        5 => persons().prop_map(Entity::Person),
        2 => docs().prop_map(Entity::Doc),
        2 => teams().prop_map(Entity::Team),
        3 => fans().prop_map(Entity::Fan),
        1 => sponsors().prop_map(Entity::Sponsor),
    ]
    .boxed()
}

fn edits() -> BoxedStrategy<Edit> {
    let all = (persons(), docs(), teams(), fans(), sponsors(), any::<u16>());
    all.prop_map(|(person, doc, team, fan, sponsor, mask)| Edit { person, doc, team, fan, sponsor, mask }).boxed()
}

fn keys() -> impl Strategy<Value = Key> {
    entities().prop_map(|entity| entity.key())
}

fn patches() -> impl Strategy<Value = Step> {
    let values = (0..9_i64, prop::option::of(0..9_i64));
    (0..2_u8, 0..2_u32, values).prop_map(|(club, id, (reads, likes))| Step::Patch(club, id, reads, likes))
}

fn changes() -> BoxedStrategy<Step> {
    prop_oneof![
        2 => entities().prop_map(Step::Insert),
        2 => entities().prop_map(Step::Upsert),
        4 => (0..SLOTS, edits()).prop_map(|(slot, edit)| Step::Save(slot, edit)),
        1 => patches(),
        1 => (SPONSORS, names()).prop_map(|(id, name)| Step::Rename(id, name)),
        2 => (0..SLOTS).prop_map(Step::Delete),
    ]
    .boxed()
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
}

/// What an edit can be made to.
pub(super) trait Editable {
    fn edit(&mut self, edit: &Edit, moves: bool);
}

/// The fields by their bits, and those of the key.
macro_rules! editable {
    ($($kind:ident from $field:ident: $($bit:literal $name:ident)*, key $($key:ident)*;)*) => {$(
        impl Editable for $kind {
            fn edit(&mut self, edit: &Edit, moves: bool) {
                let new = edit.$field.clone();
                $(if edit.takes($bit) {
                    self.$name = new.$name;
                })*
                if moves {
                    $(self.$key = new.$key;)*
                }
            }
        }
    )*};
}

editable! {
    Person from person: 0 name 1 zip 2 active 3 seat 4 city 5 skills 6 email 7 points 8 rate, key club year id;
    Doc from doc: 0 title 1 topic 2 isbn 3 body 4 reads 5 likes 6 scan, key club id;
    Team from team: 0 title 1 sponsor_id, key club;
    Fan from fan: 0 nick 1 card 2 backer, key club id;
    Sponsor from sponsor: 0 name 1 tier 2 note, key id;
}

impl Editable for Entity {
    fn edit(&mut self, edit: &Edit, moves: bool) {
        of_any!(Entity, self, entity => entity.edit(edit, moves));
    }
}
