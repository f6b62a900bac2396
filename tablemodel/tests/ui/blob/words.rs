use tablemodel::prelude::*;

#[derive(Property)]
struct Album {
    #[table(blob)]
    cover: Blob,
}

#[derive(TableEntity)]
#[table(name = "People", partition = "{team}", row = "{portrait}")]
struct InKey {
    team: String,
    #[table(blob)]
    portrait: Blob,
}

#[derive(TableEntity)]
#[table(name = "People", partition = "{team}", row = "{name}")]
#[table(index(whole, row = "w_{name}"))]
#[table(index(kept, row = "k_{name}", keep(portrait)))]
#[table(index(sparse, row = "s_{name}", keys_only, when = portrait))]
struct InIndex {
    team: String,
    name: String,
    #[table(blob)]
    portrait: Option<Blob>,
}

#[derive(TableEntity)]
#[table(name = "People", partition = "{team}", row = "{name}")]
struct Words {
    team: String,
    name: String,
    #[table(blob, json)]
    a: Blob,
    #[table(blob(inline_below = 3, inline_below = 4))]
    doubled: Blob,
    #[table(blob, flatten)]
    b: Blob,
    #[table(blob, skip)]
    c: Blob,
    #[table(blob, default, method = "d")]
    d: Blob,
    #[table(blob = 3)]
    e: Blob,
    #[table(blob(inline_below = "32 KiB"))]
    f: Blob,
    #[table(blob(inline_below = 65537))]
    g: Blob,
    #[table(blob(inlined_below = 5))]
    h: Blob,
    #[table(rename = "H_length")]
    i: u64,
    #[table(blob, rename = "H")]
    j: Blob,
    #[table(chunked)]
    body: String,
    #[table(blob, rename = "Body_08")]
    k: Blob,
}

#[derive(TableEntity)]
#[table(name = "People", partition = "{team}", row = "{name}", blob)]
struct OnStruct {
    team: String,
    name: String,
}

fn main() {}
