//! Defaults that a stored `None` would be read back as.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Employee {
    department: String,
    id: u32,
    #[table(default = Some(18))]
    age: Option<u8>,
    #[table(default = unnamed)]
    nick: Option<String>,
    #[table(default)]
    own: Option<u8>,
    #[table(skip, default = Some(3))]
    cached: Option<u8>,
    #[table(flatten)]
    address: Address,
    #[table(default)]
    timeout: Timeout,
}

/// Its own default is something, and `None` is what is stored as nothing.
#[derive(Property)]
struct Timeout(Option<u32>);

impl Default for Timeout {
    fn default() -> Self {
        Self(Some(30))
    }
}

#[derive(Property)]
struct Address {
    #[table(default = Some(3000))]
    zip: Option<u32>,
}

#[derive(Projection)]
#[table(of = Employee)]
struct Card {
    #[table(default = Some(18))]
    age: Option<u8>,
}

fn unnamed() -> Option<String> {
    None
}

fn main() {}
