//! The shop as its third release keeps it. What `diff` says to write on a struct, the test writes.

use tablemodel::prelude::*;

/// The third version: a name returns, and a value is computed.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Items", version = 3, partition = "{shelf}", row = "i_{id:06}")]
pub(crate) struct Item {
    pub(crate) shelf: String,
    pub(crate) id: u32,
    pub(crate) quantity: u32,
    pub(crate) sold: Option<bool>,
    #[table(rename = "type")]
    pub(crate) kind: String,
    #[table(default)]
    pub(crate) stars: u8,
    pub(crate) colour: Option<String>,
    pub(crate) price: f64,
}

/// A value that was not there, and one that is stored otherwise.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "People", version = 2, partition = "{country}", row = "p_{id:06}")]
pub(crate) struct Person {
    pub(crate) country: String,
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) initial: String,
    pub(crate) height: u32,
}

/// Each index has changed in another way, one is gone and one is new.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Orders", version = 2, partition = "{customer}", row = "o_{id:06}")]
#[table(index(by_keys, row = "keys_{code}_{id:06}", keys_only))]
#[table(index(by_cover, row = "cover_{city}_{id:06}", keep(code)))]
#[table(index(by_place, table = "OrderPlaces", partition = "{city}", row = "{customer}_{id:06}", keys_only))]
#[table(index(by_code, row = "code_{code}", keys_only, unique))]
#[table(index(by_when, row = "when_{city}_{id:06}", keys_only, when = open))]
#[table(index(by_new, row = "new_{code}_{id:06}"))]
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

/// Others count it, and copy it; one name is another.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Members", version = 2, partition = "{club}", row = "t_{name}")]
pub(crate) struct Team {
    pub(crate) club: Club,
    pub(crate) name: String,
    pub(crate) colours: String,
    #[table(aggregate)]
    pub(crate) members: i64,
    pub(crate) motto: Option<String>,
}

/// What is copied.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Team)]
pub(crate) struct Colours {
    pub(crate) colours: String,
}

/// What becomes of the copy has changed.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Members", version = 2, partition = "{club}", row = "{id:06}")]
#[table(count(Team, key(club = club, name = team), into = members))]
pub(crate) struct Member {
    pub(crate) club: Club,
    pub(crate) id: u32,
    pub(crate) team: String,
    #[table(copy_of(Team, key(club = club, name = team), on_delete = keep))]
    pub(crate) wears: Option<Colours>,
}

/// It copies what must be there.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Badges", version = 2, partition = "{club}", row = "{id:06}")]
pub(crate) struct Badge {
    pub(crate) club: Club,
    pub(crate) id: u32,
    pub(crate) team: String,
    #[table(copy_of(Team, key(club = club, name = team), on_delete = restrict))]
    pub(crate) shows: Colours,
    pub(crate) note: Option<String>,
}

/// As many rows as it takes.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Books", version = 2, wide, partition = "{author}", row = "b_{id:06}")]
pub(crate) struct Book {
    pub(crate) author: String,
    pub(crate) id: u32,
    #[table(chunked)]
    pub(crate) text: Vec<u8>,
}

/// The value is beside the table.
#[derive(Debug, TableEntity)]
#[table(name = "Pictures", version = 2, partition = "{album}", row = "{id:06}")]
pub(crate) struct Picture {
    pub(crate) album: String,
    pub(crate) id: u32,
    #[table(blob)]
    pub(crate) pixels: Blob,
}

/// One property more.
#[derive(Debug, TableEntity)]
#[table(name = "Films", version = 2, partition = "{studio}", row = "{id:06}")]
pub(crate) struct Film {
    pub(crate) studio: String,
    pub(crate) id: u32,
    #[table(blob)]
    pub(crate) reel: Blob,
    pub(crate) title: Option<String>,
}

/// By origin.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Departures", version = 2, partition = "{origin}", row = "d_{carrier}_{number:05}")]
pub(crate) struct Flight {
    pub(crate) carrier: String,
    pub(crate) number: u32,
    pub(crate) origin: String,
}

/// Over more buckets, the newest first.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Events2", version = 2, partition = "e_{id:shard(4)}", row = "{id:desc}")]
pub(crate) struct Event {
    pub(crate) id: u32,
    pub(crate) what: String,
}

/// Rows of other programs are taken for its first version.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "Adopted", version = 2, adopt, partition = "{home}", row = "{id:06}")]
pub(crate) struct Adopted {
    pub(crate) home: String,
    pub(crate) id: u32,
}

/// The model of the third release.
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
