//! Words that are given wrongly are taken for what they mean: nothing more is said of the field, and of what is asked of it.

use tablemodel::{Result, Stored, prelude::*};

#[derive(Debug, TableEntity)]
#[table(name = "Notes", partition = "", row = "{id}", wide = true)]
#[table(index(by_tag, row = "tag_{tags}_{id}", each(tags), keys_only), index(by_mail, row = "{mail}", unique = true, keys_only))]
struct Note {
    user: String,
    #[table(flatten)]
    id: u32,
    #[table(json = true)]
    tags: Vec<String>,
    mail: String,
    #[table(part = "cold", rname = "Hour", flatten)]
    hours: [u32; 24],
}

#[derive(Debug, Projection)]
#[table(off = Note)]
struct Card {
    mail: String,
    #[table(json)]
    tags: Vec<String>,
}

#[derive(Debug, TableEntity)]
#[table(name = "Trips", partition = "{user}", row = "{id}", wid)]
#[table(indx(by_town, row = "town_{towns}_{id}", each(towns), keys_only), lst(of_year, row = "year_{year}"))]
struct Trip {
    user: String,
    id: u32,
    year: u16,
    #[table(jsn)]
    towns: Vec<String>,
    #[table(flaten, part = "cold")]
    days: [u8; 31],
}

#[derive(Debug, Projection)]
#[table(of = Trip)]
struct Towns {
    #[table(json)]
    towns: Vec<String>,
}

async fn uses(db: &Database) -> Result<()> {
    let _: Vec<Stored<Note>> = Note::find().user("a").id_between(1..).all(db).await?;
    db.batch(Note::in_partition("a")).commit().await?;
    let _: Vec<Card> = Note::by_tag().user("a").tags("x").select::<Card>().all(db).await?;
    db.patch(Note::by_mail().user("a").mail("x"), Note::HOURS.set(3, 4_u32)).await?;
    let _: Vec<Towns> = Trip::by_town().user("a").towns("x").select::<Towns>().all(db).await?;
    Trip::of_year().user("a").year(2014).keys(db).await?;
    db.patch(Trip::find().user("a").id(3), Trip::DAYS.set(3, 4_u8)).await?;
    Ok(())
}

fn main() {}
