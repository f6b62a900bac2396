//! Words that are unknown, misspelt, misplaced, doubled or of the wrong kind: each is named, all at once.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(nam = "Company", entity_typ = "X", versoin = 2, partition = "{department}", row = "{id}")]
#[table(name = "Company", name = "Twice", rename_all = "Pascal", version = 0, adopt = true)]
#[table(index(by_email, row = "email_{email}", uniqe, kep(age)), allow(hotspot), zebra)]
struct Misspelt {
    department: String,
    id: u32,
    #[table(jsn)]
    email: String,
    #[table(default = )]
    age: u8,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
#[table(slice = "{at:day}", wide, index(elsewhere, partition = "{email}", row = "{id}"), index(row = "x"))]
struct Later {
    department: String,
    id: u32,
    email: String,
    #[table(chunked)]
    body: Vec<u8>,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{id}")]
struct Conflicts {
    department: String,
    id: u32,
    #[table(skip, json, rename = "X")]
    a: u8,
    #[table(flatten, default)]
    b: u8,
    #[table(json, method = "d")]
    c: u8,
    #[table(method = "e")]
    d: u8,
    #[table(json, default = Some(3))]
    f: Option<u8>,
}

#[derive(TableEntity)]
#[table]
#[table = "x"]
#[table(name "Company", = 3, partition("x"), row = 3)]
struct Broken {
    department: String,
}

// No word of these is an error of its own: what a struct with errors leaves behind is enough for its users.
async fn used_all_the_same(db: &Database) -> tablemodel::Result<()> {
    let found = Misspelt::find().department("Sales").id(3).one(db).await?;
    let _ = found.map(|mut stored| stored.age += 1);
    let _ = Misspelt::by_email().department("Sales").email_starts_with("a").all(db).await?;
    let _ = (Misspelt::AGE, Later::find().department("x").id_between(1..2));
    let _ = db.batch(Conflicts::in_partition("Sales"));
    Ok(())
}

fn main() {}
