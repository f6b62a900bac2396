// A frozen struct says what its version added to, which the newest one keeps; what the newest keeps no more may be left out.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

#[derive(TableEntity)]
#[table(name = "Pages", entity_type = "LockedPage", partition = "{name}", row = "page")]
struct Page {
    name: String,
    #[table(aggregate)]
    visits: i64,
}

macro_rules! frozen {
    ($name:ident $(, $words:meta)?) => {
        #[derive(TableEntity)]
        #[table(name = "Pages", entity_type = "LockedVisit", partition = "{site}", row = "visit_{id:06}", frozen)]
        $(#[$words])?
        struct $name {
            site: String,
            id: u32,
        }
    };
}

macro_rules! newest {
    ($name:ident of $old:ident $(, $words:meta)?) => {
        #[derive(TableEntity)]
        #[table(name = "Pages", entity_type = "LockedVisit", version = 2, previous = $old)]
        #[table(partition = "{site}", row = "visit_{id:06}")]
        $(#[$words])?
        struct $name {
            site: String,
            id: u32,
            note: Option<String>,
        }

        impl Upgrade<$old> for $name {
            fn upgrade(_: $old) -> Result<Self, UpgradeError> {
                Err(UpgradeError::new("never"))
            }
        }
    };
}

frozen!(With, table(count(Page, key(name = site), into = visits)));
newest!(Visit of With, table(count(Page, key(name = site), into = visits)));

frozen!(Without);
newest!(WithoutToo of Without);

fn main() {}
