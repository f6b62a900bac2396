//! Moves of entities that are tied to others.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

macro_rules! upgrade {
    ($old:ident => $new:ident) => {
        impl Upgrade<$old> for $new {
            fn upgrade(_: $old) -> Result<Self, UpgradeError> {
                Err(UpgradeError::new("never"))
            }
        }
    };
}

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
struct Old {
    p: String,
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Groups", partition = "{name}", row = "group")]
struct Group {
    name: String,
    text: String,
    #[table(aggregate)]
    things: i64,
    #[table(aggregate)]
    sizes: f64,
}

#[derive(Projection)]
#[table(of = Group)]
struct Card {
    text: String,
}

#[derive(Projection)]
#[table(of = Group)]
struct Whole {
    name: String,
    text: String,
}

/// A copy that the old form does not have.
#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
struct Holder {
    p: String,
    id: u32,
    name: String,
    #[table(copy_of(Group, key(name = name)))]
    card: Option<Card>,
}
upgrade!(Old => Holder);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
struct OldHolder {
    p: String,
    id: u32,
    name: String,
    #[table(copy_of(Group, key(name = name), on_delete = clear))]
    card: Option<Card>,
}

/// One that keeps what the old one clears.
#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = OldHolder, partition = "{p}", row = "t_{id}")]
struct Keeper {
    p: String,
    id: u32,
    name: String,
    #[table(copy_of(Group, key(name = name), on_delete = keep))]
    card: Option<Card>,
}
upgrade!(OldHolder => Keeper);

/// More of the source than the old form has.
#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = OldHolder, partition = "{p}", row = "t_{id}")]
struct More {
    p: String,
    id: u32,
    name: String,
    #[table(copy_of(Group, key(name = name), on_delete = clear))]
    card: Option<Whole>,
}
upgrade!(OldHolder => More);

/// The keys of the old form, in another table: its source could not tell them apart.
#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = OldHolder, partition = "{p}", row = "{id}")]
struct Same {
    p: String,
    id: u32,
    name: String,
    #[table(copy_of(Group, key(name = name), on_delete = clear))]
    card: Option<Card>,
}
upgrade!(OldHolder => Same);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
#[table(count(Group, key(name = name), into = things))]
struct Counted {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => Counted);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
#[table(count(Group, key(name = name), into = things))]
struct OldCounted {
    p: String,
    id: u32,
    name: String,
    size: i64,
}

/// Nothing of what the old form adds.
#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = OldCounted, partition = "{p}", row = "t_{id}")]
struct Uncounted {
    p: String,
    id: u32,
    name: String,
    size: i64,
}
upgrade!(OldCounted => Uncounted);

/// Another kind of total in the same property.
#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = OldCounted, partition = "{p}", row = "t_{id}")]
#[table(sum(Group, key(name = name), of = size, into = things))]
struct Summed {
    p: String,
    id: u32,
    name: String,
    size: i64,
}
upgrade!(OldCounted => Summed);

#[derive(TableEntity)]
#[table(name = "Things", entity_type = "Thing", frozen, partition = "{p}", row = "{id}")]
#[table(sum(Group, key(name = name), of = size, into = sizes))]
struct OldWhole {
    p: String,
    id: u32,
    name: String,
    size: i64,
}

/// The same total, of floats.
#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = OldWhole, partition = "{p}", row = "t_{id}")]
#[table(sum(Group, key(name = name), of = size, into = sizes))]
struct Broken {
    p: String,
    id: u32,
    name: String,
    size: f64,
}
upgrade!(OldWhole => Broken);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
struct Target {
    p: String,
    id: u32,
    #[table(aggregate)]
    count: i64,
}
upgrade!(Old => Target);

#[derive(TableEntity)]
#[table(name = "Others", entity_type = "Thing", version = 2, moved_from = Old, partition = "{p}", row = "t_{id}")]
struct Source {
    p: String,
    id: u32,
    name: String,
}
upgrade!(Old => Source);

#[derive(Projection)]
#[table(of = Source)]
struct Name {
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Neighbours", partition = "{p}", row = "n_{number}")]
struct Neighbour {
    p: String,
    number: u32,
    #[table(copy_of(Source, key(p = p, id = number)))]
    name: Option<Name>,
}

#[derive(TableModel)]
enum Model {
    Source(Source),
    Neighbour(Neighbour),
}

fn main() {}
