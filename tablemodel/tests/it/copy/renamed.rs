//! What is copied gets another stored name: holders that were written before lack it, and can be read and written nevertheless.

use tablemodel::{Upgrade, UpgradeError, prelude::*, testing::TestDatabase};

mod old {
    use tablemodel::prelude::*;

    #[derive(Debug, TableEntity)]
    #[table(name = "Events", partition = "{venue}", row = "event_{id:06}")]
    pub(super) struct Event {
        pub(super) venue: String,
        pub(super) id: u32,
        pub(super) title: String,
    }

    #[derive(Debug, Projection)]
    #[table(of = Event)]
    pub(super) struct Card {
        pub(super) title: String,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Bookings", partition = "{customer}", row = "b_{id:06}")]
    pub(super) struct Booking {
        pub(super) customer: String,
        pub(super) id: u32,
        pub(super) venue: String,
        pub(super) event: u32,
        #[table(copy_of(Event, key(venue = venue, id = event)))]
        pub(super) show: Card,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Bookings", partition = "{customer}", row = "w_{id:06}")]
    pub(super) struct Wish {
        pub(super) customer: String,
        pub(super) id: u32,
        pub(super) venue: String,
        pub(super) event: u32,
        #[table(copy_of(Event, key(venue = venue, id = event)))]
        pub(super) show: Option<Card>,
    }

    /// Keeps what it copied.
    #[derive(Debug, TableEntity)]
    #[table(name = "Bookings", partition = "{customer}", row = "s_{id:06}")]
    pub(super) struct Stub {
        pub(super) customer: String,
        pub(super) id: u32,
        pub(super) venue: String,
        pub(super) event: u32,
        #[table(copy_of(Event, key(venue = venue, id = event), on_delete = keep))]
        pub(super) show: Option<Card>,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Event(Event),
        Booking(Booking),
        Wish(Wish),
        Stub(Stub),
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "Events", version = 2, previous = old::Event, partition = "{venue}", row = "event_{id:06}")]
struct Event {
    venue: String,
    id: u32,
    #[table(was = "Title")]
    name: String,
    seats: u32,
}

impl Upgrade<old::Event> for Event {
    fn upgrade(old: old::Event) -> Result<Self, UpgradeError> {
        Ok(Self { venue: old.venue, id: old.id, name: old.title, seats: 7 })
    }
}

/// Its only property has another name.
#[derive(Debug, PartialEq, Projection)]
#[table(of = Event)]
struct Card {
    name: String,
}

/// One that was not copied before is copied too.
#[derive(Debug, PartialEq, Projection)]
#[table(of = Event)]
struct Seats {
    name: String,
    seats: u32,
}

#[derive(Debug, TableEntity)]
#[table(name = "Bookings", version = 2, previous = old::Booking, partition = "{customer}", row = "b_{id:06}")]
struct Booking {
    customer: String,
    id: u32,
    venue: String,
    event: u32,
    #[table(copy_of(Event, key(venue = venue, id = event)))]
    show: Card,
}

impl Upgrade<old::Booking> for Booking {
    fn upgrade(old: old::Booking) -> Result<Self, UpgradeError> {
        let show = Card { name: old.show.title }; // of which nothing is stored: a copy is its source's
        Ok(Self { customer: old.customer, id: old.id, venue: old.venue, event: old.event, show })
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "Bookings", version = 2, previous = old::Wish, partition = "{customer}", row = "w_{id:06}")]
struct Wish {
    customer: String,
    id: u32,
    venue: String,
    event: u32,
    #[table(copy_of(Event, key(venue = venue, id = event)))]
    show: Option<Seats>,
}

impl Upgrade<old::Wish> for Wish {
    fn upgrade(old: old::Wish) -> Result<Self, UpgradeError> {
        Ok(Self { customer: old.customer, id: old.id, venue: old.venue, event: old.event, show: None })
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "Bookings", version = 2, previous = old::Stub, partition = "{customer}", row = "s_{id:06}")]
struct Stub {
    customer: String,
    id: u32,
    venue: String,
    event: u32,
    #[table(copy_of(Event, key(venue = venue, id = event), on_delete = keep))]
    show: Option<Seats>,
}

impl Upgrade<old::Stub> for Stub {
    fn upgrade(old: old::Stub) -> Result<Self, UpgradeError> {
        Ok(Self { customer: old.customer, id: old.id, venue: old.venue, event: old.event, show: None })
    }
}

#[derive(Debug, TableModel)]
enum Model {
    Event(Event),
    Booking(Booking),
    Wish(Wish),
    Stub(Stub),
}

/// Holders of the first version.
async fn filled(db: &TestDatabase) {
    db.insert(&old::Event { venue: "a".into(), id: 1, title: "Tosca".into() }).await.unwrap();
    for id in 0..60 {
        let (customer, venue) = ("c".to_owned(), "a".to_owned());
        let show = old::Card { title: String::new() };
        db.insert(&old::Booking { customer: customer.clone(), id, venue: venue.clone(), event: 1, show })
            .await
            .unwrap();
        db.insert(&old::Wish { customer, id, venue, event: 1, show: None }).await.unwrap();
    }
}

/// A stub of an event that is gone.
async fn kept(db: &TestDatabase) {
    let event = old::Event { venue: "a".into(), id: 2, title: "Aida".into() };
    db.insert(&event).await.unwrap();
    let stub = old::Stub { customer: "c".into(), id: 1, venue: "a".into(), event: 2, show: None };
    db.insert(&stub).await.unwrap();
    let event = old::Event::find().venue("a").id(2).one(db).await.unwrap().expect("there");
    db.delete(event).await.unwrap();
    super::settle(db).await;
}

async fn names(db: &Database, id: u32) -> (String, Option<String>) {
    let booking = Booking::find().customer("c").id(id).one(db).await.unwrap().expect("there");
    let wish = Wish::find().customer("c").id(id).one(db).await.unwrap().expect("there");
    (booking.show.name.clone(), wish.show.as_ref().map(|card| card.name.clone()))
}

#[tokio::test]
async fn holders_of_what_was_renamed_are_read_and_copy_it_anew_with_their_next_write() {
    for is_atomic in [false, true] {
        let before = match is_atomic {
            true => TestDatabase::atomic::<old::Model>().await.unwrap(),
            false => TestDatabase::new::<old::Model>().await.unwrap(),
        };
        filled(&before).await;
        kept(&before).await;
        before.clock().advance(std::time::Duration::from_secs(130));
        let db = crate::migrate::program::<Model>(&before).await;
        assert_eq!(names(&db, 1).await, ("Tosca".to_owned(), None), "what it was called, and what lacks something");
        db.update(Booking::find().customer("c").id(1), |_| Ok(())).await.unwrap();
        db.update(Wish::find().customer("c").id(1), |_| Ok(())).await.unwrap();
        let tosca = ("Tosca".to_owned(), Some("Tosca".to_owned()));
        assert_eq!(names(&db, 1).await, tosca, "as the source says");
        db.ensure_tables().await.unwrap();
        assert!(db.migrations().apply().await.unwrap().is_complete());
        for id in [1, 2, 59] {
            assert_eq!(names(&db, id).await, tosca);
        }
        db.update(Event::find().venue("a").id(1), |event| Ok(event.name = "Carmen".into())).await.unwrap();
        super::settle(&before).await;
        assert_eq!(names(&db, 2).await, ("Carmen".to_owned(), Some("Carmen".to_owned())));
        let stub = Stub::find().customer("c").id(1).one(&db).await.unwrap().expect("there");
        assert!(stub.show.is_none(), "how many seats there were is not known");
        let key = tablemodel::RowKey::new("c", "s_000001");
        let row = db.store().get("Bookings", &key).await.unwrap().expect("there");
        assert_eq!(row.properties.get("Show_Name"), Some(tablemodel::ValueRef::String("Aida")), "what was kept stays");
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{:#?}", verified.violations);
    }
}
