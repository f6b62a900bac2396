//! An entity with a mistake: nothing is said of what is asked of it.

use tablemodel::{Result, Seen, Stored, prelude::*};

#[derive(TableEntity)]
#[table(name = "Readings", partition = "{country}_{city}", row = "r_{at:day}_{id}", allow_scan)]
#[table(index(by_name, row = "n_{name}_{at:day}_{id}"), index(by_city, row = "c_{city}_{id}", keeps(name)))]
#[table(list(of_name row = "l_{name}"))]
struct Reading {
    country: String,
    city: String,
    id: u32,
    at: DateTime,
    #[table(dfault)]
    name: String,
}

#[derive(TableEntity)]
#[table(name = "Rooms", partition = "{house}_{flor:06}", row = "{number}")]
struct Room {
    house: String,
    floor: u32,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "Desks", partition = "{room}", row = "{id}")]
#[table(index(by_owner row = "o_{owner}_{id}"), index(by_color, row = "c_{color}_{id}", keep(owner) unique))]
struct Desk {
    room: String,
    id: u32,
    owner: String,
    color: String,
}

#[derive(TableEntity)]
#[table(name = "Rooms", partition = "all", row = "house_{number}", allow(append_hotspot), zebra)]
struct House {
    number: u32,
}

async fn uses(db: &Database, now: DateTime) -> Result<()> {
    Reading::find().country("a").city("b").at_day_between(now..).all(db).await?;
    let _: Vec<Option<Stored<Reading>>> =
        Reading::find().country("a").city("b").at_day(now).get_many([1_u32], db).await?;
    let seen: Vec<Seen<Reading>> = Reading::by_name().country("a").city("b").name("x").all(db).await?;
    for one in seen {
        let stored: Stored<Reading> = one.load(db).await?;
        let _ = stored.name.clone();
    }
    let _: Vec<Stored<Reading>> = Reading::by_city().country("a").city("b").all(db).await?;
    Reading::of_name().country("a").city("b").name("x").keys(db).await?;
    db.batch(Reading::in_partition("a", "b")).commit().await?;
    let _: Vec<Stored<Reading>> = Reading::scan_partition("a", "b").all(db).await?;
    db.batch(Room::in_partition("a", 3)).commit().await?;
    Room::find().house("a").floor(3).number_between(1..=4).first(2, db).await?;
    let _: Vec<Seen<Desk>> = Desk::by_owner().room("a").owner("b").all(db).await?;
    let _: Vec<Stored<Desk>> = Desk::by_color().room("a").color("b").all(db).await?;
    db.batch(House::in_partition()).commit().await?;
    House::scan_partition().all(db).await?;
    Ok(())
}

fn main() {}
