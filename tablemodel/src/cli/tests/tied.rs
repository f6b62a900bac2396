//! A release whose new entity is tied to one that is kept: `apply` before the new program was ever started.

use serde_json::json;

use super::store::Store;
use crate::{cli::outcome::DONE, prelude::*};

/// Counted in a society, and with a copy of a town, neither of which the store knows.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:06}", crate = "crate")]
#[table(count(Society, key(name = club), into = members))]
struct Person {
    club: String,
    id: u32,
    city: String,
    badge: u32,
    #[table(copy_of(Town, key(name = city), on_delete = clear))]
    town: Option<Card>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Societies", partition = "{name}", row = "society", crate = "crate")]
struct Society {
    name: String,
    #[table(aggregate)]
    members: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Towns", partition = "{name}", row = "town", crate = "crate")]
struct Town {
    name: String,
    country: String,
}

/// What persons know of their town.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Town, crate = "crate")]
struct Card {
    country: String,
}

#[derive(TableModel)]
#[table(crate = "crate")]
enum Club {
    Person(Person),
    Society(Society),
    Town(Town),
}

#[test]
fn what_a_release_ties_to_an_entity_is_made_before_it_is_applied() {
    let store = Store::with(300);
    let applied = store.json::<Club>(DONE, "apply");
    assert_eq!((&applied["failed"], &applied["touched"]), (&json!(0), &json!(300)), "{applied}");
    assert_eq!(store.json::<Club>(DONE, "verify")["violations"], json!([]));
}
