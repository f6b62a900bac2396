//! The reference: from the entities that live to the exact rows of all tables.
//!
//! Written by hand from FORMAT.md and the entities' attributes, with nothing of the planner's in it.

mod found;
mod totals;

use std::collections::BTreeMap;

use tablemodel::{Blob, Value};

pub(super) use self::found::{Found, differences, physical};
use self::totals::Totals;
use super::{Doc, Entity, Fan, Key, Person, Sponsor, Team, sponsor_key, steps::CONTENTS, team_key};

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
    CopyOutdated,
    CopyWithoutNumber,
    BackReferenceForgotten,
    CountsAll,
    SumSkipsOne,
    CellWithoutTargetGone,
    CellRounded,
    PartsOfPartitions,
    TargetOutOfStep,
    LinkElsewhere,
}

pub(super) const WRONG_RULES: [Rule; 19] = [
    Rule::CopyElsewhereShort,
    Rule::ConditionIgnoredElsewhere,
    Rule::EachOnce,
    Rule::ClaimKeepsCase,
    Rule::ClaimWithoutOwner,
    Rule::NoneIndexed,
    Rule::PartForgotten,
    Rule::ChunkLost,
    Rule::ListUnordered,
    Rule::CopyOutdated,
    Rule::CopyWithoutNumber,
    Rule::BackReferenceForgotten,
    Rule::CountsAll,
    Rule::SumSkipsOne,
    Rule::CellWithoutTargetGone,
    Rule::CellRounded,
    Rule::PartsOfPartitions,
    Rule::TargetOutOfStep,
    Rule::LinkElsewhere,
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
        Entity::Fan(f) => f.card.map(|card| Unique::Anywhere(format!("card_{card:03}"))).into_iter().collect(),
        Entity::Team(_) | Entity::Sponsor(_) => Vec::new(),
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
    let totals = Totals::of(&entities, rule);
    for (club, totals) in &totals {
        let has_target = entities.iter().any(|entity| entity.key() == team_key(club));
        rows.extend(totals.cells(club, has_target, rule));
    }
    for entity in &entities {
        let copies = Copies { entities: &entities, rule };
        let of = match entity {
            Entity::Person(person) => person_rows(person, entity.key(), rule),
            Entity::Doc(doc) => doc_rows(doc, entity.key(), rule),
            Entity::Team(team) => team_rows(team, entity.key(), &totals[&team.club], &copies),
            Entity::Fan(fan) => fan_rows(fan, entity.key(), &copies),
            Entity::Sponsor(sponsor) => sponsor_rows(sponsor, entity.key()),
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
        let place = match entity {
            Entity::Person(Person { club, zip: Some(zip), active: true, .. }) => {
                ("Everything".into(), club.clone(), format!("ids_{zip:03}"))
            }
            Entity::Doc(Doc { club, title, .. }) => ("Everything".into(), club.clone(), format!("docs_{title}")),
            _ => continue,
        };
        lists.entry(place).or_default().push(format!("\"{}\"", entity.key().1));
    }
    let list = |(place, mut keys): (Place, Vec<String>)| {
        keys.sort();
        if rule == Rule::ListUnordered {
            keys.reverse();
        }
        let count = Value::Int64(keys.len() as i64);
        let keys = format!("[{}]", keys.join(","));
        let is_of_docs = place.2.starts_with("docs_");
        let kind = if is_of_docs { "Doc.titled@1" } else { "Person.ids_by_zip@2" };
        let of_list = format!("everything/_doc/{}/{}/", in_name(&place.1), in_name(&place.2));
        let keys = match is_of_docs && keys.len() >= 10 {
            true => ("_keys_in", linked(&of_list, keys.as_bytes())),
            false => ("_keys", keys.into()),
        };
        let fields = [("EntityType", kind.into()), ("_count", count), keys];
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
    fn new(table: &str, key: Key, kind: &str, all: Fields) -> Self {
        let mut own = all.clone();
        own.insert("EntityType".into(), kind.into());
        let rows = [((table.into(), key.0.clone(), key.1.clone()), own)].into();
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

    /// Beside the source that is named.
    fn reference(&mut self, copy: &str, kind: &str, table: &str, source: Key, rule: Rule) {
        if rule == Rule::BackReferenceForgotten {
            return;
        }
        let ((partition, row), (holder, _)) = (&self.key, kind.split_once('.').unwrap());
        let lengths = [source.1.len(), partition.len()];
        let place = format!("~~ref|{}|{}|{holder}.{copy}|{}|{partition}|{row}", lengths[0], source.1, lengths[1]);
        let fields = self.away((table, source.0, place), kind, Some(&[]));
        fields.insert("_table".into(), "Everything".into());
    }
}

/// What is copied from whom.
struct Copies<'e> {
    entities: &'e [&'e Entity],
    rule: Rule,
}

impl Copies<'_> {
    fn team(&self, club: &str, to: &mut Fields) {
        let team = self.entities.iter().find_map(|entity| match entity {
            Entity::Team(team) if team.club == club => Some(team),
            _ => None,
        });
        let Some(team) = team else { return };
        let title = if self.rule == Rule::CopyOutdated { "Former" } else { &team.title };
        put(to, "Team_Title", Some(title.into()));
        self.number("Team", to);
    }

    fn sponsor(&self, id: Option<u8>, field: &str, to: &mut Fields) {
        let sponsor = self.entities.iter().find_map(|entity| match entity {
            Entity::Sponsor(sponsor) if Some(sponsor.id) == id => Some(sponsor),
            _ => None,
        });
        let Some(sponsor) = sponsor else { return };
        put(to, &format!("{field}_Name"), Some(sponsor.name.clone().into()));
        put(to, &format!("{field}_Tier"), sponsor.tier.map(|tier| Value::Int32(tier.into())));
        self.number(field, to);
    }

    /// That it is of a source that lives; which one is not the model's.
    fn number(&self, field: &str, to: &mut Fields) {
        if self.rule != Rule::CopyWithoutNumber {
            put(to, &format!("{field}__seq"), Some(true.into()));
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
    put(&mut all, "Rate", p.rate.map(Value::Double));
    let mut rows = Rows::new("Everything", key, "Person@2", all);
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

fn team_rows(t: &Team, key: Key, totals: &Totals, copies: &Copies<'_>) -> Physical {
    let mut all = Fields::new();
    put(&mut all, "Title", Some(t.title.clone().into()));
    put(&mut all, "SponsorId", t.sponsor_id.map(|id| Value::Int32(id.into())));
    let late = i64::from(copies.rule == Rule::TargetOutOfStep);
    put(&mut all, "Members", Some((totals.active + late).into()));
    put(&mut all, "Points", Some(totals.points.into()));
    put(&mut all, "Rates", Some(totals.rates()));
    copies.sponsor(t.sponsor_id, "Sponsor", &mut all);
    let mut rows = Rows::new("Everything", key, "Team@1", all);
    rows.here(format!("tt_{}", t.title), "Team.by_title@1", None);
    let titled = ("Cities", format!("title_{}", t.title), format!("team_{}", t.club));
    rows.away(titled, "Team.titled@1", Some(&["Members", "Rates"]));
    if let Some(id) = t.sponsor_id {
        rows.reference("sponsor", "Team.~sponsor@1", "Sponsors", sponsor_key(id), copies.rule);
    }
    rows.rows
}

fn fan_rows(f: &Fan, key: Key, copies: &Copies<'_>) -> Physical {
    let mut all = Fields::new();
    put(&mut all, "Nick", Some(f.nick.clone().into()));
    put(&mut all, "Card", f.card.map(|card| Value::Int64(card.into())));
    put(&mut all, "Backer", f.backer.map(|backer| Value::Int32(backer.into())));
    copies.team(&f.club, &mut all);
    copies.sponsor(f.backer, "Backing", &mut all);
    let mut rows = Rows::new("Everything", key, "Fan@1", all);
    rows.here(format!("nick_{}_{:02}", f.nick, f.id), "Fan.by_nick@1", None);
    let home = ("Cities", format!("fans_{}", f.nick), format!("f_{}_{:02}", f.club, f.id));
    rows.away(home, "Fan.home@1", None);
    if let Some(card) = f.card {
        rows.claim(format!("card_{card:03}"), "card", "Fan.by_card@1", &[], copies.rule);
    }
    rows.reference("team", "Fan.~team@1", "Everything", team_key(&f.club), copies.rule);
    if let Some(id) = f.backer {
        rows.reference("backing", "Fan.~backing@1", "Sponsors", sponsor_key(id), copies.rule);
    }
    rows.rows
}

fn sponsor_rows(s: &Sponsor, key: Key) -> Physical {
    let mut all = Fields::new();
    put(&mut all, "Name", Some(s.name.clone().into()));
    put(&mut all, "Tier", s.tier.map(|tier| Value::Int32(tier.into())));
    put(&mut all, "Note", Some(Value::Int32(s.note.into())));
    Rows::new("Sponsors", key, "Sponsor@1", all).rows
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
    put(&mut all, "Scan", d.scan.as_ref().map(|scan| scan_value(d, scan, rule)));
    let mut rows = Rows::new("Everything", key, "Doc@1", all);
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

/// A small value in the row; of a larger one the content, and where it stands.
fn scan_value(d: &Doc, scan: &Blob, rule: Rule) -> Value {
    let content = CONTENTS.iter().find(|content| Blob::from(content.as_bytes()) == *scan).expect("drawn");
    let place = if rule == Rule::LinkElsewhere { "elsewhere" } else { "everything" };
    match content.len() < 8 {
        true => Value::Binary(content.as_bytes().to_vec()),
        false => linked(&format!("{place}/_doc/_{}/d__{:02}/", d.club.to_lowercase(), d.id), content.as_bytes()),
    }
}

/// A key of letters, digits and `_` in the name of a blob.
fn in_name(key: &str) -> String {
    let encoded = |c: char| match c {
        '_' => "__".to_owned(),
        'A'..='Z' => format!("_{}", c.to_ascii_lowercase()),
        _ => c.to_string(),
    };
    key.chars().map(encoded).collect()
}

fn linked(place: &str, content: &[u8]) -> Value {
    format!("{} at {place}", String::from_utf8_lossy(content)).into()
}
