//! Fields whose types name the struct itself, by `Self`: in keys, in groups, in lists, in frozen structs.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Things", partition = "{tenant}", row = "thing_{id}")]
#[table(index(by_tag, row = "tag_{tags}_{id}", each(tags)))]
struct Thing {
    tenant: String,
    id: [u8; Self::ID_BYTES],
    #[table(flatten)]
    days: [u32; Self::WEEK],
    #[table(json)]
    tags: Vec<<Self as Tagged>::Tag>,
    #[table(default = Self::usual)]
    weight: u32,
    #[table(default = Self::TOP)]
    most: u32,
    #[table(default = Grade::Journeyman)]
    grade: Grade,
}

#[derive(Property)]
enum Grade {
    Apprentice,
    Journeyman,
}

trait Tagged {
    type Tag;
}

impl Tagged for Thing {
    type Tag = String;
}

impl Thing {
    const ID_BYTES: usize = 4;
    const WEEK: usize = 7;
    const TOP: u32 = u32::MAX;

    fn usual() -> u32 {
        3
    }
}

#[derive(TableEntity)]
#[table(name = "Former", frozen, partition = "{tenant}", row = "{id}")]
struct Former {
    tenant: String,
    id: [u8; Self::ID_BYTES],
}

impl Former {
    const ID_BYTES: usize = 4;
}

#[derive(Property)]
struct Group {
    bytes: [u8; Self::LENGTH],
}

impl Group {
    const LENGTH: usize = 2;
}

#[derive(Projection)]
#[table(of = Thing)]
struct Heavy {
    id: [u8; Self::ID_BYTES],
    weight: u32,
}

impl Heavy {
    const ID_BYTES: usize = 4;
}

fn main() {
    let _ = Thing::find().tenant("a").id([1, 2, 3, 4]).select::<Heavy>();
    let _ = Thing::by_tag().tenant("a").tags("b");
    let _ = [Grade::Apprentice, Grade::Journeyman];
    let _ = (Former::SCHEMA.version, std::mem::size_of::<Group>());
}
