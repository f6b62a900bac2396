//! What the gate compares is what the lock holds.

use super::super::{Format, facts::facts, facts_length, gate};
use crate::prelude::*;

#[derive(Debug, Default, PartialEq, Property)]
struct Address {
    city: String,
    zip: Option<String>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}", version = 3, adopt, wide)]
#[table(reserved("Discount", "by_discount"), crate = "crate")]
#[table(index(by_email, row = "email_{{{email}", unique, keep(first_name, age)))]
#[table(index(anywhere, table = "Emails", partition = "{email}", row = "{department}_{id:06}", keys_only, when = !active))]
#[table(index(by_skill, row = "skill_{skills}_{id}", each(skills), keys_only))]
#[table(list(by_name, row = "names_{first_name}"))]
#[table(list(names, partition = "{first_name}", row = "names"))]
struct Employee {
    department: String,
    id: u32,
    first_name: String,
    email: Option<String>,
    #[table(default)]
    age: u8,
    active: bool,
    #[table(json)]
    skills: Vec<String>,
    #[table(chunked)]
    body: Vec<u8>,
    #[table(flatten)]
    address: Address,
    #[table(flatten)]
    days: [u32; 3],
    #[table(skip)]
    #[expect(dead_code, reason = "it is not stored")]
    seen: bool,
}

/// All of a schema is in the text, and the text says no more.
#[test]
fn a_schema_is_what_its_format_says() {
    let format = Format::of(Employee::SCHEMA).unwrap();
    let text = String::from_utf8(facts(Employee::SCHEMA)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, format.lines());
    let expected = [
        "adopt",
        "index anywhere cover keys",
        "index anywhere partition \"{Email:text?}\"",
        "index anywhere row \"{Department:text}_{Id:u32:06}\"",
        "index anywhere table Emails",
        "index anywhere when !Active",
        "index by_email cover keep",
        "index by_email keep Age",
        "index by_email keep FirstName",
        "index by_email row \"email_{{{Email:text?}\"",
        "index by_email unique",
        "index by_name cover list",
        "index by_name row \"names_{FirstName:text}\"",
        "index by_skill cover keys",
        "index by_skill each Skills",
        "index by_skill row \"skill_{Skills:text}_{Id:u32}\"",
        "index names cover keys",
        "index names partition \"{FirstName:text}\"",
        "index names row \"names!{_pk:text}!{_rk:text}\"",
        "index names table Company",
        "key partition \"{Department:text}\"",
        "key row \"empid_{Id:u32:06}\"",
        "property Active Edm.Boolean as bool",
        "property Age Edm.Int32 default as u8",
        "property Body Edm.Binary chunked as bytes",
        "property City Edm.String as string",
        "property Days00 Edm.Int64 as u32",
        "property Days01 Edm.Int64 as u32",
        "property Days02 Edm.Int64 as u32",
        "property Department Edm.String as string",
        "property Email Edm.String nullable as string",
        "property FirstName Edm.String as string",
        "property Id Edm.Int64 as u32",
        "property Skills Edm.String as json",
        "property Zip Edm.String nullable as string",
        "reserved Discount",
        "reserved by_discount",
        "table Company",
        "wide",
    ];
    assert_eq!(lines, expected);
}

proptest::proptest! {
    #[test]
    fn bytes_have_the_order_of_slices(a in "[ab]{0,40}", b in "[ab]{0,40}", rest in "[a-zé]{0,40}") {
        let (a, b) = (a + &rest, b + &rest);
        proptest::prop_assert_eq!(crate::schema::order(a.as_bytes(), b.as_bytes()), a.as_bytes().cmp(b.as_bytes()));
        let (a, b) = (rest.clone() + &a, rest + &b);
        proptest::prop_assert_eq!(crate::schema::order(a.as_bytes(), b.as_bytes()), a.as_bytes().cmp(b.as_bytes()));
    }
}

fn outcome(is_frozen: bool, newest: u32, locked: Option<&[&str]>) -> Result<(), String> {
    const LENGTH: usize = facts_length(Employee::SCHEMA);
    let gate = || gate::<LENGTH>(Employee::SCHEMA, is_frozen, newest, locked, 0);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(gate));
    panic.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn what_the_lock_says_passes_and_each_line_more_or_less_does_not() {
    let lines = Format::of(Employee::SCHEMA).unwrap().lines();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(outcome(false, 3, Some(&lines)), Ok(()));
    assert_eq!(outcome(true, 4, Some(&lines)), Ok(()));
    for at in 0..lines.len() {
        let mut less = lines.clone();
        let gone = less.remove(at);
        let message = outcome(false, 3, Some(&less)).err();
        assert_eq!(message.is_none(), gone.starts_with("reserved"), "{gone}");
        assert!(message.is_none_or(|message| message.contains(&format!("  + {gone}\n"))));
    }
    let mut more = lines.clone();
    more.insert(0, "adapt");
    assert!(outcome(false, 3, Some(&more)).unwrap_err().contains("  - adapt\n"));
}

#[test]
fn a_version_may_be_ahead_of_the_lock_and_not_behind() {
    assert_eq!(outcome(false, 2, None), Ok(()));
    assert!(outcome(false, 4, None).unwrap_err().contains("write `version = 4`"));
    assert!(outcome(true, 4, None).unwrap_err().contains("no version 3"));
}

/// A frozen struct that ties its entity to others, as one that moves has to.
mod tied {
    use super::*;

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{name}", row = "team", crate = "crate")]
    pub(super) struct Team {
        name: String,
        colour: String,
        #[table(aggregate)]
        members: i64,
    }

    #[derive(Projection)]
    #[table(of = Team, crate = "crate")]
    #[expect(dead_code, reason = "it is only compared")]
    pub(super) struct Shirt {
        colour: String,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{city}", row = "{id:06}", frozen, crate = "crate")]
    #[table(count(Team, key(name = team), into = members))]
    pub(super) struct Member {
        city: String,
        id: u32,
        team: String,
        #[table(copy_of(Team, key(name = team), on_delete = clear))]
        shirt: Option<Shirt>,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", partition = "{city}", row = "{id:06}", frozen, crate = "crate")]
    pub(super) struct Alone {
        city: String,
        id: u32,
        team: String,
    }
}

#[test]
fn a_frozen_struct_says_what_ties_it_whole_or_not_at_all() {
    const LENGTH: usize = facts_length(tied::Member::SCHEMA);
    const ALONE: usize = facts_length(tied::Alone::SCHEMA);
    let lines = Format::of(tied::Member::SCHEMA).unwrap().lines();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let passes = |gate: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(gate)).is_ok();
    let whole = |lines: &[&str]| passes(&|| gate::<LENGTH>(tied::Member::SCHEMA, true, 1, Some(lines), 0));
    let alone = |lines: &[&str]| passes(&|| gate::<ALONE>(tied::Alone::SCHEMA, true, 1, Some(lines), 0));
    assert!(whole(&lines) && alone(&lines));
    let ties = lines.iter().filter(|line| line.starts_with("copy ") || line.starts_with("aggregate "));
    assert!(ties.clone().count() >= 2, "{lines:?}");
    for tie in ties {
        let less: Vec<&str> = lines.iter().copied().filter(|line| line != tie).collect();
        assert!(!whole(&less), "{tie}");
        assert!(alone(&less), "{tie}");
    }
}

/// Its own property stays what it was; what the target calls the one that it tells is the target's to change.
#[test]
fn a_frozen_struct_names_the_keys_of_others_as_they_are_called_now() {
    const LENGTH: usize = facts_length(tied::Member::SCHEMA);
    let now = Format::of(tied::Member::SCHEMA).unwrap().lines();
    let locked = |from: &str, to: &str| {
        let mut lines: Vec<String> = now.iter().map(|line| line.replace(from, to)).collect();
        lines.sort_unstable();
        assert_ne!(lines, now);
        lines
    };
    let gate = |is_frozen: bool, lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let gate = || gate::<LENGTH>(tied::Member::SCHEMA, is_frozen, 1, Some(&lines), 0);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(gate));
        panic.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    };
    for of in ["aggregate Team.Members key ", "copy shirt key "] {
        let called = locked(&format!("{of}Name"), &format!("{of}Called"));
        assert_eq!(gate(true, &called), Ok(()), "{of}");
        assert!(gate(false, &called).unwrap_err().contains(&format!("  - {of}Called = Team\n  + {of}Name = Team\n")));
        let others = locked(&format!("{of}Name = Team"), &format!("{of}Called = City"));
        assert!(gate(true, &others).is_err(), "{of}");
    }
}
