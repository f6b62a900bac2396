//! A shop as its first release kept it: an entity for each way in which what `diff` writes may look.

use tablemodel::prelude::*;

/// Every value of the next version is there already, and one of the version after that is not.
#[derive(Debug, TableEntity)]
#[table(name = "Items", partition = "{shelf}", row = "i_{id:06}")]
pub(crate) struct Item {
    pub(crate) shelf: String,
    pub(crate) id: u32,
    pub(crate) qty: u16,
    pub(crate) colour: String,
    pub(crate) sold: bool,
    #[table(rename = "type")]
    pub(crate) kind: String,
}

/// Values are computed.
#[derive(Debug, TableEntity)]
#[table(name = "People", partition = "{country}", row = "p_{id:06}")]
pub(crate) struct Person {
    pub(crate) country: String,
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) height: String,
}

/// Derived rows alone change.
#[derive(Debug, TableEntity)]
#[table(name = "Orders", partition = "{customer}", row = "o_{id:06}")]
#[table(index(by_gone, row = "gone_{city}_{id:06}", keys_only))]
#[table(index(by_keys, row = "keys_{city}_{id:06}", keys_only))]
#[table(index(by_cover, row = "cover_{city}_{id:06}", keys_only))]
#[table(index(by_place, row = "place_{city}_{id:06}", keys_only))]
#[table(index(by_code, row = "code_{code}_{id:06}", keys_only))]
#[table(index(by_when, row = "when_{city}_{id:06}", keys_only))]
#[table(list(in_city, row = "cities_{city}"))]
pub(crate) struct Order {
    pub(crate) customer: String,
    pub(crate) id: u32,
    pub(crate) city: String,
    pub(crate) code: String,
    pub(crate) open: bool,
}

/// What a club is called: the key of those who are counted, by a type of the program.
#[derive(Debug, Clone, PartialEq, KeyPart, Property)]
pub(crate) struct Club(pub(crate) String);

impl From<&str> for Club {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// Others count it, and copy it.
#[derive(Debug, TableEntity)]
#[table(name = "Members", partition = "{club}", row = "t_{name}")]
pub(crate) struct Team {
    pub(crate) club: Club,
    pub(crate) name: String,
    pub(crate) colours: String,
    #[table(aggregate)]
    pub(crate) members: i64,
}

/// What is copied.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Team)]
pub(crate) struct Colours {
    pub(crate) colours: String,
}

/// It is counted, and copies.
#[derive(Debug, TableEntity)]
#[table(name = "Members", partition = "{club}", row = "{id:06}")]
#[table(count(Team, key(club = club, name = team), into = members))]
pub(crate) struct Member {
    pub(crate) club: Club,
    pub(crate) id: u32,
    pub(crate) team: String,
    #[table(copy_of(Team, key(club = club, name = team), on_delete = clear))]
    pub(crate) wears: Option<Colours>,
}

/// It copies what must be there.
#[derive(Debug, TableEntity)]
#[table(name = "Badges", partition = "{club}", row = "{id:06}")]
pub(crate) struct Badge {
    pub(crate) club: Club,
    pub(crate) id: u32,
    pub(crate) team: String,
    #[table(copy_of(Team, key(club = club, name = team), on_delete = restrict))]
    pub(crate) shows: Colours,
}

/// It becomes several rows.
#[derive(Debug, TableEntity)]
#[table(name = "Books", partition = "{author}", row = "b_{id:06}")]
pub(crate) struct Book {
    pub(crate) author: String,
    pub(crate) id: u32,
    pub(crate) text: Vec<u8>,
}

/// A value goes beside the table.
#[derive(Debug, TableEntity)]
#[table(name = "Pictures", partition = "{album}", row = "{id:06}")]
pub(crate) struct Picture {
    pub(crate) album: String,
    pub(crate) id: u32,
    pub(crate) pixels: Vec<u8>,
}

/// A value lies beside the table.
#[derive(Debug, TableEntity)]
#[table(name = "Films", partition = "{studio}", row = "{id:06}")]
pub(crate) struct Film {
    pub(crate) studio: String,
    pub(crate) id: u32,
    #[table(blob)]
    pub(crate) reel: Blob,
}

/// It moves to other keys in another table.
#[derive(Debug, TableEntity)]
#[table(name = "Flights", partition = "{carrier}", row = "f_{number:05}")]
pub(crate) struct Flight {
    pub(crate) carrier: String,
    pub(crate) number: u32,
    pub(crate) origin: String,
}

/// It moves to other buckets, and its key is written otherwise.
#[derive(Debug, TableEntity)]
#[table(name = "Events", partition = "e_{id:shard(2)}", row = "{id}")]
pub(crate) struct Event {
    pub(crate) id: u32,
    pub(crate) what: String,
}

/// Rows of other programs are taken for its first version.
#[derive(Debug, TableEntity)]
#[table(name = "Adopted", partition = "{home}", row = "{id:06}")]
pub(crate) struct Adopted {
    pub(crate) home: String,
    pub(crate) id: u32,
}

/// The model of the first release.
#[derive(TableModel)]
pub(crate) enum Shop {
    Item(Item),
    Person(Person),
    Order(Order),
    Team(Team),
    Member(Member),
    Badge(Badge),
    Book(Book),
    Picture(Picture),
    Film(Film),
    Flight(Flight),
    Event(Event),
    Adopted(Adopted),
}
