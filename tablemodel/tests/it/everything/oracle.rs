//! The reference: from the entities that live to the exact rows of all tables.
//!
//! Written by hand from FORMAT.md and the entities' attributes, with nothing of the planner's in it.

use std::collections::BTreeMap;

use tablemodel::{Properties, Value};

use super::{Doc, Entity, Key, Person};

type Place = (String, String, String);
type Fields = BTreeMap<String, Value>;

/// The rows of all tables, without ETags, times, operation ids and sequence numbers; the rows of an entity as one.
pub(super) type Physical = BTreeMap<Place, Fields>;

/// Faults of a planner that the comparison must catch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rule {
    Right,
    CopyElsewhereShort,
    ConditionIgnoredElsewhere,
    EachOnce,
    ClaimKeepsCase,
    ClaimWithoutOwner,
    NoneIndexed,
    PartForgotten,
    ChunkLost,
    ListUnordered,
}

pub(super) const WRONG_RULES: [Rule; 9] = [
    Rule::CopyElsewhereShort,
    Rule::ConditionIgnoredElsewhere,
    Rule::EachOnce,
    Rule::ClaimKeepsCase,
    Rule::ClaimWithoutOwner,
    Rule::NoneIndexed,
    Rule::PartForgotten,
    Rule::ChunkLost,
    Rule::ListUnordered,
];

/// The unique values that an entity wants, each with the scope in which it is unique.
pub(super) fn unique(entity: &Entity) -> Vec<Unique> {
    match entity {
        Entity::Person(p) => {
            let seat = p.seat.map(|seat| Unique::Here(p.club.clone(), format!("seat_{seat:03}")));
            let email = p.email.as_ref().map(|email| Unique::Anywhere(email.to_lowercase()));
            seat.into_iter().chain(email).collect()
        }
        Entity::Doc(d) => d.isbn.map(|isbn| Unique::Anywhere(format!("isbn_{isbn:03}"))).into_iter().collect(),
    }
}

/// A unique value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unique {
    /// In one partition: its row.
    Here(String, String),
    /// In all: the partition of its claim.
    Anywhere(String),
}

/// Every row of these entities.
pub(super) fn rows<'a>(entities: impl IntoIterator<Item = &'a Entity>, rule: Rule) -> Physical {
    let entities: Vec<_> = entities.into_iter().collect();
    let mut rows = lists(&entities, rule);
    for entity in entities {
        let of = match entity {
            Entity::Person(person) => person_rows(person, entity.key(), rule),
            Entity::Doc(doc) => doc_rows(doc, entity.key(), rule),
        };
        for (place, fields) in of {
            assert!(rows.insert(place.clone(), fields).is_none(), "two entities want {place:?}");
        }
    }
    rows
}

/// The lists that stand beside their entities.
fn lists(entities: &[&Entity], rule: Rule) -> Physical {
    let mut lists: BTreeMap<Place, Vec<String>> = BTreeMap::new();
    for entity in entities {
        if let Entity::Person(Person { club, zip: Some(zip), active: true, .. }) = entity {
            let place = ("Everything".into(), club.clone(), format!("ids_{zip:03}"));
            lists.entry(place).or_default().push(format!("\"{}\"", entity.key().1));
        }
    }
    let list = |(place, mut keys): (Place, Vec<String>)| {
        keys.sort();
        if rule == Rule::ListUnordered {
            keys.reverse();
        }
        let count = Value::Int64(keys.len() as i64);
        let keys = format!("[{}]", keys.join(","));
        let fields = [("EntityType", "Person.ids_by_zip@2".into()), ("_count", count), ("_keys", keys.into())];
        (place, fields.map(|(name, value): (&str, Value)| (name.to_owned(), value)).into())
    };
    lists.into_iter().map(list).collect()
}

/// The rows of one entity on their way.
struct Rows {
    key: Key,
    all: Fields,
    rows: Physical,
}

impl Rows {
    fn new(key: Key, kind: &str, all: Fields) -> Self {
        let mut own = all.clone();
        own.insert("EntityType".into(), kind.into());
        let rows = [(("Everything".into(), key.0.clone(), key.1.clone()), own)].into();
        Self { key, all, rows }
    }

    fn fields(&self, kept: Option<&[&str]>) -> Fields {
        let mut fields = self.all.clone();
        fields.retain(|name, _| kept.is_none_or(|kept| kept.contains(&name.as_str())));
        fields.insert("_rk".into(), self.key.1.clone().into());
        fields
    }

    /// In the entity's partition.
    fn here(&mut self, row: String, kind: &str, kept: Option<&[&str]>) {
        let mut fields = self.fields(kept);
        fields.insert("EntityType".into(), kind.into());
        self.rows.insert(("Everything".into(), self.key.0.clone(), row), fields);
    }

    /// In another.
    fn away(&mut self, place: (&str, String, String), kind: &str, kept: Option<&[&str]>) -> &mut Fields {
        let mut fields = self.fields(kept);
        fields.insert("EntityType".into(), kind.into());
        fields.insert("_pk".into(), self.key.0.clone().into());
        self.rows.entry((place.0.into(), place.1, place.2)).or_insert(fields)
    }

    fn claim(&mut self, value: String, row: &str, kind: &str, kept: &[&str], rule: Rule) {
        let fields = self.away(("Emails", value, row.into()), kind, Some(kept));
        fields.insert("_claim".into(), "confirmed".into());
        if rule == Rule::ClaimWithoutOwner {
            fields.remove("_pk");
        }
    }
}

fn put(fields: &mut Fields, name: &str, value: Option<Value>) {
    fields.extend(value.map(|value| (name.to_owned(), value)));
}

fn person_rows(p: &Person, key: Key, rule: Rule) -> Physical {
    let mut all = Fields::new();
    put(&mut all, "Name", Some(p.name.clone().into()));
    put(&mut all, "Zip", p.zip.map(|zip| Value::Int32(zip.into())));
    put(&mut all, "Active", Some(p.active.into()));
    put(&mut all, "Seat", p.seat.map(|seat| Value::Int64(seat.into())));
    put(&mut all, "City", Some(p.city.clone().into()));
    let skills: Vec<_> = p.skills.iter().map(|skill| format!("\"{skill}\"")).collect();
    put(&mut all, "Skills", Some(format!("[{}]", skills.join(",")).into()));
    put(&mut all, "Email", p.email.clone().map(Value::from));
    put(&mut all, "Points", Some(p.points.into()));
    let mut rows = Rows::new(key, "Person@2", all);
    let id = format!("{:05}_{:02}", p.year, p.id);
    let own = format!("{}_{id}", p.club);
    rows.here(format!("name_{}_{id}", p.name), "Person.by_name@2", None);
    match p.zip {
        Some(zip) => rows.here(format!("zip_{zip:03}_{id}"), "Person.by_zip@2", Some(&["Name", "Points"])),
        None if rule == Rule::NoneIndexed => rows.here(format!("zip_$_{id}"), "Person.by_zip@2", Some(&[])),
        None => {}
    }
    if p.active {
        rows.here(format!("active_{id}"), "Person.actives@2", Some(&[]));
    }
    if let Some(seat) = p.seat {
        rows.here(format!("seat_{seat:03}"), "Person.by_seat@2", Some(&["Name"]));
    }
    let copy = rows.away(("Cities", p.city.clone(), format!("c_{own}")), "Person.by_city@2", None);
    if rule == Rule::CopyElsewhereShort {
        copy.remove("Points");
    }
    if let Some(zip) = p.zip.filter(|_| p.active || rule == Rule::ConditionIgnoredElsewhere) {
        rows.away(("Cities", format!("rank_{zip:03}"), format!("r_{own}")), "Person.by_rank@2", Some(&["Points"]));
    }
    let most = if rule == Rule::EachOnce { 1 } else { usize::MAX };
    for skill in p.skills.iter().take(most) {
        rows.away(("Everything", format!("skill_{skill}"), format!("s_{own}")), "Person.by_skill@2", Some(&[]));
    }
    let called = ("Cities", format!("called_{}", p.name), format!("all!{}!{}", rows.key.0, rows.key.1));
    rows.away(called, "Person.called@2", Some(&[]));
    if let Some(email) = &p.email {
        let value = if rule == Rule::ClaimKeepsCase { email.clone() } else { email.to_lowercase() };
        rows.claim(value, "email", "Person.by_email@2", &["Name"], rule);
    }
    rows.rows
}

fn doc_rows(d: &Doc, key: Key, rule: Rule) -> Physical {
    let mut all = Fields::new();
    put(&mut all, "Title", Some(d.title.clone().into()));
    put(&mut all, "Topic", d.topic.clone().map(Value::from));
    put(&mut all, "Isbn", d.isbn.map(|isbn| Value::Int64(isbn.into())));
    let lost = if rule == Rule::ChunkLost { d.body.len().saturating_sub(1) } else { d.body.len() };
    put(&mut all, "Body", Some(d.body[..lost].into()));
    if rule != Rule::PartForgotten {
        put(&mut all, "Reads", Some(d.reads.into()));
    }
    put(&mut all, "Likes", d.likes.map(Value::from));
    let mut rows = Rows::new(key, "Doc@1", all);
    rows.here(format!("title_{}_{:02}", d.title, d.id), "Doc.by_title@1", Some(&[]));
    if let Some(topic) = &d.topic {
        let place = ("Cities", format!("topic_{topic}"), format!("t_{}_{:02}", d.club, d.id));
        rows.away(place, "Doc.by_topic@1", Some(&["Title"]));
    }
    if let Some(isbn) = d.isbn {
        rows.claim(format!("isbn_{isbn:03}"), "isbn", "Doc.by_isbn@1", &[], rule);
    }
    rows.rows
}

/// The rows that stand in the tables, those of one entity joined, and chunks put together; and the claims that are
/// pending, with their owners.
pub(super) fn physical(rows: BTreeMap<Place, Properties>) -> (Physical, BTreeMap<String, Key>) {
    let (mut physical, mut parts, mut pending) = (Physical::new(), Vec::new(), BTreeMap::new());
    for (place, properties) in rows {
        let mut fields: Fields =
            properties.iter().map(|(name, value)| (name.as_str().to_owned(), value.to_value())).collect();
        assert!(fields.remove("_seq").is_some(), "{place:?} has no sequence number");
        fields.remove("_ops");
        if fields.get("_claim") == Some(&Value::from("pending")) && place.0 == "Emails" {
            pending.insert(place.1, (text(&fields, "_pk"), text(&fields, "_rk")));
        } else if fields.get("EntityType") == Some(&Value::from("Doc.~part@1")) {
            parts.push((place, fields));
        } else {
            physical.insert(place, fields);
        }
    }
    for ((table, partition, row), mut fields) in parts {
        let head = (table, partition, text(&fields, "_rk"));
        let fits = row.strip_prefix(&head.2).is_some_and(|tail| tail.starts_with(" ~~"));
        let Some(head) = physical.get_mut(&head).filter(|_| fits) else { panic!("{row} is nobody's part: {fields:?}") };
        fields.retain(|name, _| name != "EntityType" && name != "_rk");
        let found = head.entry("found".into()).or_insert(Value::Int32(0));
        *found = Value::Int32(if let Value::Int32(found) = found { *found + 1 } else { 1 });
        head.extend(fields);
    }
    physical.values_mut().for_each(join);
    (physical, pending)
}

fn text(fields: &Fields, name: &str) -> String {
    match fields.get(name) {
        Some(Value::String(text)) => text.to_string(),
        other => panic!("{name} is {other:?}: {fields:?}"),
    }
}

/// That the parts are as many as the head says, and the chunks of the body as one.
fn join(fields: &mut Fields) {
    let found = fields.remove("found");
    assert_eq!(fields.remove("_parts"), found, "parts: {fields:?}");
    assert_eq!(fields.remove("_sum").is_some(), found.is_some(), "the sum of digests: {fields:?}");
    fields.remove("_gen");
    let Some(Value::Int32(chunks)) = fields.remove("Body_n") else { return };
    let mut body = String::new();
    for chunk in 0..chunks {
        let chunk = fields.remove(&format!("Body_{chunk:02}"));
        let Some(Value::String(chunk)) = chunk else { panic!("a chunk is missing: {fields:?}") };
        assert!(chunk.encode_utf16().count() <= 32_768);
        body.push_str(&chunk);
    }
    fields.insert("Body".into(), body.into());
}

/// Where what is and what should be differ.
pub(super) fn differences(is: &Physical, should: &Physical) -> Vec<String> {
    let places = is.keys().chain(should.keys().filter(|place| !is.contains_key(*place)));
    let differing = places.filter(|place| is.get(*place) != should.get(*place));
    differing
        .map(|place| format!("{place:?}\n  is     {:?}\n  should {:?}", is.get(place), should.get(place)))
        .collect()
}
