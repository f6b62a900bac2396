//! The second release: of one entity alone, so that there are three versions of it.

use tablemodel::prelude::*;

use super::before;

/// Properties are added, taken away, renamed and widened.
#[derive(Debug, TableEntity)]
#[table(name = "Items", version = 2, partition = "{shelf}", row = "i_{id:06}")]
pub(crate) struct Item {
    pub(crate) shelf: String,
    pub(crate) id: u32,
    pub(crate) quantity: u32,
    pub(crate) sold: Option<bool>,
    #[table(rename = "type")]
    pub(crate) kind: String,
    #[table(default)]
    pub(crate) stars: u8,
}

/// The model of the second release.
#[derive(TableModel)]
pub(crate) enum Shop {
    Item(Item),
    Person(before::Person),
    Order(before::Order),
    Team(before::Team),
    Member(before::Member),
    Badge(before::Badge),
    Book(before::Book),
    Picture(before::Picture),
    Film(before::Film),
    Flight(before::Flight),
    Event(before::Event),
    Adopted(before::Adopted),
}
