//! What stands in keys comes back from a read at a full key, whatever parts the keys are put together of.

use tablemodel::{DateTime, prelude::*};
use tablemodel_store::EmbeddedStore;

/// Each part is what is given at its place.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "InOrder", partition = "{region}", row = "{number:04}_{name}")]
struct InOrder {
    note: String,
    name: String,
    number: u32,
    region: String,
}

/// More are given than a path keeps in place.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Many", partition = "many_{region}_{desk:desc}", row = "{number:04}_{name}_{open}_{at}")]
struct Many {
    at: DateTime,
    desk: i64,
    name: String,
    note: String,
    number: u32,
    open: bool,
    region: String,
}

/// One of them stands in both keys.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Again", partition = "again_{region}", row = "{region}_{number:04}_{name}")]
struct Again {
    name: String,
    note: String,
    number: u32,
    region: String,
}

/// The first part is of what is given last, and does not say what that is.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Spread", partition = "{number:shard(4)}_spread_{region}", row = "{name}_{number:04}")]
struct Spread {
    name: String,
    note: String,
    number: u32,
    region: String,
}

/// A bucket of time before the time itself, and a text that is only stored as it is.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Day", partition = "day_{region}", row = "{at:day}_{at}_{name:lower}")]
struct Day {
    at: DateTime,
    name: String,
    note: String,
    region: String,
}

#[derive(TableModel)]
enum Model {
    InOrder(InOrder),
    Many(Many),
    Again(Again),
    Spread(Spread),
    Day(Day),
}

/// Inserts entities of one type and reads each at its full key.
macro_rules! assert_come_back {
    ($db:ident, $path:expr, $entities:expr) => {
        let entities = $entities;
        for entity in &entities {
            $db.insert(entity).await.unwrap();
        }
        for entity in entities {
            let path = $path(&entity);
            assert_eq!(path.one(&$db).await.unwrap().map(Stored::into_inner), Some(entity));
        }
    };
}

#[tokio::test]
async fn a_read_at_a_full_key_gives_what_stands_in_its_parts() {
    // It shows rows, as a file does.
    let store = EmbeddedStore::builder().open_backend(redb::backends::InMemoryBackend::new()).unwrap();
    let db = Database::builder().with_embedded::<Model>(store).await.unwrap();
    db.ensure_tables().await.unwrap();
    let at = |seconds: i64| DateTime::from_ticks(630_000_000_000_000_000 + seconds * 10_000_000);
    let (region, note) = (|n: u32| ["North", "South/É"][n as usize % 2].to_owned(), |n: u32| format!("note {n}"));
    let name = |n: u32| format!("Name {n}");
    assert_come_back!(
        db,
        |it: &InOrder| InOrder::find().region(&*it.region).number(it.number).name(&*it.name),
        [1, 2, 3].map(|n| InOrder { note: note(n), name: name(n), number: 10 - n, region: region(n) })
    );
    assert_come_back!(
        db,
        |it: &Many| Many::find()
            .region(&*it.region)
            .desk(it.desk)
            .number(it.number)
            .name(&*it.name)
            .open(it.open)
            .at(it.at),
        [1, 2, 3].map(|n| Many {
            at: at(n.into()),
            desk: 4 - i64::from(n),
            name: name(n),
            note: note(n),
            number: 7 * n,
            open: n == 2,
            region: region(n),
        })
    );
    assert_come_back!(
        db,
        |it: &Again| Again::find().region(&*it.region).number(it.number).name(&*it.name),
        [1, 2, 3].map(|n| Again { name: name(n), note: note(n), number: n, region: region(n) })
    );
    assert_come_back!(
        db,
        |it: &Spread| Spread::find().region(&*it.region).name(&*it.name).number(it.number),
        [1, 2, 3, 4, 5].map(|n| Spread { name: name(9 - n), note: note(n), number: n, region: region(n) })
    );
    assert_come_back!(
        db,
        |it: &Day| Day::find().region(&*it.region).at_day(it.at).at(it.at).name(&*it.name),
        [1, 2, 3].map(|n| Day { at: at(i64::from(n) * 90_000), name: name(n), note: note(n), region: region(n) })
    );
}
