use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "People", partition = "{team}", row = "{name}")]
struct Person {
    team: String,
    name: String,
    #[table(blob)]
    portrait: Blob,
    #[table(blob)]
    film: Option<Blob>,
}

#[derive(TableEntity)]
#[table(name = "Files", partition = "{team}", row = "{name}")]
struct File {
    team: String,
    name: String,
    #[table(blob)]
    content: Vec<u8>,
}

#[derive(TableEntity)]
#[table(name = "Notes", partition = "{team}", row = "{name}")]
struct Note {
    team: String,
    name: String,
    content: Blob,
}

#[derive(Projection)]
#[table(of = Person)]
struct Card {
    #[table(blob)]
    portrait: Option<Blob>,
}

#[derive(Projection)]
#[table(of = Person)]
struct Unmarked {
    portrait: Blob,
}

async fn patched(db: Database) -> tablemodel::Result<()> {
    let path = Person::find().team("A").name("Ann");
    db.patch(path, Person::PORTRAIT.set(Blob::default())).await
}

fn queried() {
    Person::find().team("A").portrait("x");
}

fn main() {}
