//! A batch that changes a source, and takes a copy of one of its holders: that one is guarded, and follows.

use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::{MODES, settle};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Firm", partition = "{office}", row = "p_{id:04}")]
struct Person {
    office: String,
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Person)]
struct Name {
    name: String,
}

/// Copies a person, and is copied by errands.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Rooms", partition = "{number}", row = "room")]
struct Room {
    number: u32,
    office: String,
    tenant_id: u32,
    floor: u32,
    #[table(copy_of(Person, key(office = office, id = tenant_id)))]
    tenant: Option<Name>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Room)]
struct Floor {
    floor: u32,
}

/// In the partition of persons.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Firm", partition = "{office}", row = "x_{id:04}")]
struct Errand {
    office: String,
    id: u32,
    room: u32,
    #[table(copy_of(Room, key(number = room)))]
    to: Option<Floor>,
}

#[derive(TableModel)]
enum Model {
    Person(Person),
    Room(Room),
    Errand(Errand),
}

async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

#[tokio::test]
async fn a_holder_that_is_copied_in_the_same_batch_follows_its_source() {
    for mode in MODES {
        let db = database(mode).await;
        let mut person = db.insert(&Person { office: "A".into(), id: 1, name: "Jun".into() }).await.unwrap();
        let room = |number| Room { number, office: "A".into(), tenant_id: 1, floor: 3, tenant: None };
        for number in [1, 2] {
            db.insert(&room(number)).await.unwrap();
        }
        person = Person::find().office("A").id(1).one(&db).await.unwrap().unwrap_or(person);
        person.name = "June".into();
        let mut batch = db.batch(Person::in_partition("A"));
        batch.save(&mut person).insert(&Errand { office: "A".into(), id: 1, room: 1, to: None });
        batch.commit().await.unwrap();
        settle(&db).await;
        for number in [1, 2] {
            let room = Room::find().number(number).one(&db).await.unwrap().unwrap();
            assert_eq!(room.tenant.as_ref().map(|name| name.name.as_str()), Some("June"), "{mode:?} {number}");
        }
        let errand = Errand::find().office("A").id(1).one(&db).await.unwrap().unwrap();
        assert_eq!(errand.to, Some(Floor { floor: 3 }), "{mode:?}");
        assert_eq!(db.verify().await.unwrap().violations, Vec::new(), "{mode:?}");
        db.update(Room::find().number(1), |room| Ok(room.floor = 4)).await.unwrap();
        settle(&db).await;
        let errand = Errand::find().office("A").id(1).one(&db).await.unwrap().unwrap();
        assert_eq!(errand.to, Some(Floor { floor: 4 }), "{mode:?}");
    }
}
