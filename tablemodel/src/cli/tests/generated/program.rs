//! The program of the third release, with all that `diff` wrote: rows of the first one are read as the third's. The test beside it makes
//! it one file of a package of its own, in which FOLDER is where `diff` was run.

// Where the structs are in the program that ran `diff`.
mod cli {
    pub(crate) mod tests {
        pub(crate) mod generated {
            #[path = "FOLDER/src/after.rs"]
            pub(crate) mod after;
            #[path = "FOLDER/src/before.rs"]
            pub(crate) mod before;
        }
    }
}
#[path = "FOLDER/tablemodel/frozen/mod.rs"]
pub mod frozen;
#[path = "FOLDER/src/upgrades/mod.rs"]
mod upgrades;

use cli::tests::generated::{after, before};
use tablemodel::{ErrorKind, Result, prelude::*, testing::TestDatabase};

#[tokio::main]
async fn main() {
    run().await.unwrap_or_else(|error| panic!("{error:?}"));
}

async fn run() -> Result<()> {
    let old = TestDatabase::atomic::<before::Shop>().await?;
    fill(&old).await?;
    let db = old.reopen::<after::Shop>().await?;
    check(&db, Some(1)).await?; // nothing is written anew yet
    assert!(matches!(flight(&db).await.unwrap_err().kind(), ErrorKind::NotSwitched { from: 1 }));

    db.update(after::Member::find().club(after::Club::from("Go")).id(1), |_| Ok(())).await?; // stored as new, and counted already
    let reds = || after::Team::find().club(after::Club::from("Go")).name("Reds");
    assert_eq!(db.total(reds(), after::Team::MEMBERS).await?, 1);

    db.ensure_tables().await?; // so few rows are written anew at once
    db.migrations().contract().await?;
    check(&db, None).await?;
    let there = after::Flight { carrier: "SK".into(), number: 7, origin: "OSL".into() };
    assert_eq!(flight(&db).await?, Some(there));
    let event = after::Event::find().id(9).one(&db).await?.expect("moved");
    assert_eq!(event.into_inner(), after::Event { id: 9, what: "tea".into() });
    assert!(db.migrations().plan().await?.is_empty());
    assert!(after::Order::by_place().city("Oslo").customer("Ann").id(1).exists(&db).await?);
    assert!(after::Order::by_code().customer("Ann").code("c1").exists(&db).await?);
    let verified = db.verify().await?;
    assert!(verified.is_clean(), "{verified:?}");
    Ok(())
}

async fn flight(db: &Database) -> Result<Option<after::Flight>> {
    Ok(after::Flight::find().origin("OSL").carrier("SK").number(7).one(db).await?.map(|found| found.into_inner()))
}

/// As the first release does.
async fn fill(db: &Database) -> Result<()> {
    use before::*;
    let (colour, kind) = ("red".into(), "cup".into());
    db.insert(&Item { shelf: "A".into(), id: 1, qty: 3, colour, sold: true, kind }).await?;
    db.insert(&Person { country: "NO".into(), id: 1, name: "Jun".into(), height: "172".into() }).await?;
    let (city, code) = ("Oslo".into(), "c1".into());
    db.insert(&Order { customer: "Ann".into(), id: 1, city, code, open: true }).await?;
    db.insert(&Team { club: "Go".into(), name: "Reds".into(), colours: "red".into(), members: 0 }).await?;
    db.insert(&Member { club: "Go".into(), id: 1, team: "Reds".into(), wears: None }).await?;
    let shows = Colours { colours: "none".into() }; // ignored: a write fills it
    db.insert(&Badge { club: "Go".into(), id: 1, team: "Reds".into(), shows }).await?;
    db.insert(&Book { author: "Ann".into(), id: 1, text: vec![1, 2, 3] }).await?;
    db.insert(&Picture { album: "a".into(), id: 1, pixels: vec![7; 9000] }).await?;
    db.insert(&Film { studio: "s".into(), id: 1, reel: Blob::from(vec![8; 9000]) }).await?;
    db.insert(&Flight { carrier: "SK".into(), number: 7, origin: "OSL".into() }).await?;
    db.insert(&Event { id: 9, what: "tea".into() }).await?;
    db.insert(&Adopted { home: "h".into(), id: 1 }).await?;
    Ok(())
}

/// All that does not move, as the third release reads it; rows are of the version `of`, or of the newest.
async fn check(db: &Database, of: Option<u32>) -> Result<()> {
    use after::*;
    let item = Item::find().shelf("A").id(1).one(db).await?.expect("an item");
    assert_eq!(item.version(), Some(of.unwrap_or(3)));
    let (kind, colour) = ("cup".into(), None);
    let expected = Item { shelf: "A".into(), id: 1, quantity: 3, sold: Some(true), kind, stars: 0, colour, price: 1.5 };
    assert_eq!(item.into_inner(), expected);
    let person = Person::find().country("NO").id(1).one(db).await?.expect("a person");
    assert_eq!(person.version(), Some(of.unwrap_or(2)));
    let (name, initial) = ("Jun".into(), "J".into());
    assert_eq!(person.into_inner(), Person { country: "NO".into(), id: 1, name, initial, height: 172 });
    let order = Order::find().customer("Ann").id(1).one(db).await?.expect("an order");
    let (city, code) = ("Oslo".into(), "c1".into());
    assert_eq!(order.into_inner(), Order { customer: "Ann".into(), id: 1, city, code, open: true });
    let team = Team::find().club(Club::from("Go")).name("Reds").one(db).await?.expect("a team");
    assert_eq!((team.members, team.colours.as_str(), &team.motto), (1, "red", &None));
    let member = Member::find().club(Club::from("Go")).id(1).one(db).await?.expect("a member");
    assert_eq!(member.wears, Some(Colours { colours: "red".into() }));
    let badge = Badge::find().club(Club::from("Go")).id(1).one(db).await?.expect("a badge");
    assert_eq!((badge.shows.colours.as_str(), &badge.note), ("red", &None));
    let book = Book::find().author("Ann").id(1).one(db).await?.expect("a book");
    assert_eq!(book.into_inner(), Book { author: "Ann".into(), id: 1, text: vec![1, 2, 3] });
    let picture = Picture::find().album("a").id(1).one(db).await?.expect("a picture");
    assert_eq!(picture.pixels.bytes(db).await?, vec![7; 9000]);
    let film = Film::find().studio("s").id(1).one(db).await?.expect("a film");
    assert_eq!((film.reel.bytes(db).await?, &film.title), (vec![8; 9000].into(), &None));
    let adopted = Adopted::find().home("h").id(1).one(db).await?.expect("one more");
    assert_eq!(adopted.into_inner(), Adopted { home: "h".into(), id: 1 });
    Ok(())
}
