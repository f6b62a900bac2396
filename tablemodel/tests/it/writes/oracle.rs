//! The reference model: from the entities that live to the exact rows that must stand in the table.
//!
//! Written by hand from FORMAT.md and the entities' attributes, with nothing of the planner's in it.

use std::collections::BTreeMap;

use tablemodel::{Row, Value};

use super::{Account, Member};

/// The rows of a table, without ETags, times and operation ids; the sequence number apart.
pub(crate) type Physical = BTreeMap<(String, String), BTreeMap<String, Value>>;

/// An entity of either type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entity {
    Member(Member),
    Account(Account),
}

/// An entity that lives, and what else its row holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Live {
    pub(crate) entity: Entity,
    pub(crate) sequence: i64,
    /// Which write made it so: no two writes have the same.
    pub(crate) version: u64,
    pub(crate) unknown: BTreeMap<String, Value>,
}

/// Faults of a planner that the comparison must catch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    Right,
    ConditionIgnored,
    CaseKept,
    KeptForgotten,
    NoneIndexed,
    CopyWithoutUnknown,
    OwnerForgotten,
}

pub(crate) const WRONG_RULES: [Rule; 6] = [
    Rule::ConditionIgnored,
    Rule::CaseKept,
    Rule::KeptForgotten,
    Rule::NoneIndexed,
    Rule::CopyWithoutUnknown,
    Rule::OwnerForgotten,
];

impl Entity {
    pub(crate) fn club(&self) -> &str {
        match self {
            Self::Member(member) => &member.club,
            Self::Account(account) => &account.club,
        }
    }

    /// The row key of the primary row.
    pub(crate) fn row(&self) -> String {
        match self {
            Self::Member(member) => format!("m_{:04}", member.id),
            Self::Account(account) => format!("a_{:04}", account.id),
        }
    }

    pub(crate) fn key(&self) -> (String, String) {
        (self.club().to_owned(), self.row())
    }

    /// The unique rows that it wants.
    pub(crate) fn unique_rows(&self) -> Vec<String> {
        match self {
            Self::Member(member) => member.email.iter().map(|email| email_row(email)).collect(),
            Self::Account(account) => account.badge.iter().map(|badge| format!("badge_{badge:06}")).collect(),
        }
    }

    fn properties(&self) -> BTreeMap<String, Value> {
        let mut to = BTreeMap::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                to.insert(name.to_owned(), value);
            }
        };
        match self {
            Self::Member(m) => {
                put("FirstName", Some(m.first_name.clone().into()));
                put("LastName", Some(m.last_name.clone().into()));
                put("Email", m.email.clone().map(Value::from));
                put("City", Some(m.city.clone().into()));
                put("IsActive", Some(m.is_active.into()));
                put("Note", m.note.clone().map(Value::from));
                put("Age", Some(Value::Int32(m.age.into())));
                put("Score", Some(m.points.into()));
                let skills: Vec<_> = m.skills.iter().map(|skill| format!("\"{skill}\"")).collect();
                put("Skills", Some(format!("[{}]", skills.join(",")).into()));
                put("Street", Some(m.address.street.clone().into()));
                put("Zip", m.address.zip.clone().map(Value::from));
            }
            Self::Account(a) => {
                put("Badge", a.badge.map(|badge| Value::Int64(badge.into())));
                put("Balance", Some(a.balance.into()));
                put("Memo", a.memo.clone().map(Value::from));
            }
        }
        to
    }
}

/// The text code of the few characters that the tests use.
fn text(text: &str) -> String {
    text.replace(' ', "$20").replace('/', ".~").replace('_', "$5F")
}

fn email_row(email: &str) -> String {
    // The last part of its key: nothing follows, so `_` stays as it is.
    format!("email_{}", email.to_lowercase().replace(' ', "$20").replace('/', ".~"))
}

/// Every row of these entities.
pub(crate) fn rows<'a>(live: impl IntoIterator<Item = &'a Live>, rule: Rule) -> Physical {
    live.into_iter().flat_map(|live| rows_of(live, rule)).collect()
}

fn rows_of(live: &Live, rule: Rule) -> Physical {
    let (club, own) = live.entity.key();
    let mut fields = live.entity.properties();
    fields.extend(live.unknown.clone());
    let mut rows = Physical::new();
    let mut put = |row: String, kind: &str, properties: BTreeMap<String, Value>| {
        let mut properties = properties;
        properties.insert("EntityType".into(), kind.into());
        rows.insert((club.clone(), row), properties);
    };
    let owned = |mut properties: BTreeMap<String, Value>| {
        if rule != Rule::OwnerForgotten {
            properties.insert("_rk".into(), own.clone().into());
        }
        properties
    };
    let kept = |names: &[&str]| {
        let mut kept = fields.clone();
        kept.retain(|name, _| names.contains(&name.as_str()) && rule != Rule::KeptForgotten);
        owned(kept)
    };
    match &live.entity {
        Entity::Member(m) => {
            put(own.clone(), "Member@3", fields.clone());
            let copy = if rule == Rule::CopyWithoutUnknown { live.entity.properties() } else { fields.clone() };
            put(format!("name_{}_{:04}", text(&m.last_name), m.id), "Member.by_name@3", owned(copy));
            match &m.email {
                Some(email) if rule == Rule::CaseKept => {
                    put(format!("email_{email}"), "Member.by_email@3", kept(&["FirstName", "Age"]));
                }
                Some(email) => put(email_row(email), "Member.by_email@3", kept(&["FirstName", "Age"])),
                None if rule == Rule::NoneIndexed => put("email_$".into(), "Member.by_email@3", kept(&[])),
                None => {}
            }
            put(format!("city_{}_{:04}", text(&m.city), m.id), "Member.by_city@3", kept(&[]));
            if m.is_active || rule == Rule::ConditionIgnored {
                put(format!("active_{:04}", m.id), "Member.active@3", kept(&["Score"]));
            }
            if !m.is_active {
                put(format!("lapsed_{:04}", m.id), "Member.lapsed@3", kept(&[]));
            }
            if m.note.is_some() {
                put(format!("noted_{:04}", m.id), "Member.noted@3", kept(&[]));
            }
        }
        Entity::Account(a) => {
            put(own.clone(), "Account@1", fields.clone());
            if let Some(badge) = a.badge {
                put(format!("badge_{badge:06}"), "Account.by_badge@1", kept(&[]));
            }
        }
    }
    rows
}

/// The rows that stand in the table, and their sequence numbers.
pub(crate) fn physical(rows: &BTreeMap<(String, String), Row>) -> (Physical, BTreeMap<(String, String), i64>) {
    let mut physical = Physical::new();
    let mut sequences = BTreeMap::new();
    for (key, row) in rows {
        let mut properties = BTreeMap::new();
        for (name, value) in row.properties.iter() {
            match (name.as_str(), value.to_value()) {
                ("_seq", Value::Int64(sequence)) => drop(sequences.insert(key.clone(), sequence)),
                ("_ops", _) => {}
                (name, value) => drop(properties.insert(name.to_owned(), value)),
            }
        }
        physical.insert(key.clone(), properties);
    }
    (physical, sequences)
}
