//! Rows that a store shows where they lie give what the same rows give through any other store: entity, ETag, key and row, or
//! the error in its very words.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures_util::TryStreamExt;
use proptest::prelude::*;
use tablemodel::{
    Database, ETag, Error, Properties, Row, RowKey, Value,
    prelude::*,
    store::{Action, Batch, EmbeddedStore, KeyRange, Query, TableStore, observe::ObservedStore},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", version = 2, partition = "{room}", row = "it_{id:04}")]
#[table(index(by_code, row = "code_{code}", unique, keys_only))]
struct Thing {
    room: String,
    id: u32,
    code: String,
    active: bool,
    amount: i64,
    note: Option<String>,
    bytes: Vec<u8>,
    #[table(json)]
    tags: Vec<String>,
    #[table(default)]
    level: u8,
    zone: String,
}

#[derive(TableModel)]
enum Model {
    Thing(Thing),
}

const ROOM: &str = "hall";

fn thing(id: u32) -> Thing {
    Thing {
        room: ROOM.into(),
        id,
        code: format!("c{id}"),
        active: id.is_multiple_of(2),
        amount: -i64::from(id),
        note: id.is_multiple_of(3).then(|| "naïve".to_owned()),
        bytes: vec![0xFF; id as usize],
        tags: vec!["a".into(); id as usize % 2],
        level: 7,
        zone: "z".into(),
    }
}

/// What another program may do to a row.
#[derive(Debug, Clone)]
enum Deed {
    Remove(prop::sample::Index),
    Set(prop::sample::Index, Value),
    Add(String, Value),
    Call(&'static str),
}

fn deed() -> impl Strategy<Value = Deed> {
    let value = prop_oneof![
        Just(Value::Int32(7)),
        Just(Value::Int64(1 << 40)),
        Just(Value::from("é")),
        Just(Value::Boolean(true)),
        Just(Value::Binary(vec![1, 2])),
    ];
    let types = ["Thing@1", "Thing@2", "Thing@3", "Thing.~dead@2", "Thing.by_code@2", "Other@2", "Thing", ""];
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Deed::Remove),
        (any::<prop::sample::Index>(), value.clone()).prop_map(|(at, value)| Deed::Set(at, value)),
        ("[A-Za-z_]{1,9}", value).prop_map(|(name, value)| Deed::Add(name, value)),
        prop::sample::select(types.to_vec()).prop_map(Deed::Call),
    ]
}

impl Deed {
    fn is_done_to(&self, properties: &mut Properties) {
        let name = |at: &prop::sample::Index, properties: &Properties| {
            let names: Vec<_> = properties.iter().map(|(name, _)| name.as_str().to_owned()).collect();
            at.get(&names).clone()
        };
        match self {
            Self::Remove(at) => drop(properties.remove(&name(at, properties))),
            Self::Set(at, value) => drop(properties.insert(name(at, properties).as_str(), value.clone())),
            Self::Add(name, value) => drop(properties.insert(name.as_str(), value.clone())),
            Self::Call(entity_type) => drop(properties.insert("EntityType", *entity_type)),
        }
    }
}

/// One file, through the store itself, and through one that shows nothing.
struct Both {
    store: EmbeddedStore,
    shown: Database,
    told: Database,
}

impl Both {
    async fn of(things: impl Iterator<Item = Thing>) -> Self {
        let store = EmbeddedStore::builder().open_backend(redb::backends::InMemoryBackend::new()).unwrap();
        let shown = Database::builder().with_embedded::<Model>(store.clone()).await.unwrap();
        shown.ensure_tables().await.unwrap();
        for thing in things {
            shown.insert(&thing).await.unwrap();
        }
        let observed = Arc::new(ObservedStore::new(Arc::new(store.clone())));
        let told = Database::builder().with_store::<Model>(observed).await.unwrap();
        Self { store, shown, told }
    }

    async fn row(&self, row: &str) -> Row {
        self.store.get("Things", &RowKey::new(ROOM, row)).await.unwrap().unwrap()
    }

    async fn put(&self, row: &str, properties: Properties) {
        let batch = Batch::new("Things", ROOM).with(row, Action::InsertOrReplace(properties));
        self.store.commit(&[batch]).await.unwrap();
    }

    async fn rows(&self) -> Vec<Row> {
        self.store.query(&Query::new("Things", KeyRange::partition(ROOM))).await.unwrap().rows
    }
}

/// All that there is to see of an entity.
type Sight = (Thing, RowKey, ETag, Row, i64, Option<u32>);

fn sight(stored: Stored<Thing>) -> Sight {
    let row = stored.row().clone();
    assert_eq!((stored.key(), stored.etag(), stored.timestamp()), (&row.key, &row.etag, row.timestamp));
    (Thing::clone(&stored), stored.key().clone(), stored.etag().clone(), row, stored.sequence(), stored.version())
}

fn seen<T, S>(read: Result<T, Error>, see: impl FnOnce(T) -> S) -> Result<S, String> {
    read.map(see).map_err(|error| format!("{error} {:?}", error.kind()))
}

/// What each kind of path gives.
async fn paths(db: &Database, ids: u32) -> Vec<Result<Vec<Sight>, String>> {
    let all = |stored: Vec<Stored<Thing>>| stored.into_iter().map(sight).collect::<Vec<_>>();
    let one = |stored: Option<Stored<Thing>>| stored.into_iter().map(sight).collect::<Vec<_>>();
    let things = || Thing::find().room(ROOM);
    let mut seen_by = vec![
        seen(things().all(db).await, all),
        seen(things().first(2, db).await, all),
        seen(things().id_between(1..3).all(db).await, all),
        seen(things().stream(db).try_collect().await, all),
        seen(Thing::by_code().room(ROOM).all(db).await, all),
    ];
    for id in 0..=ids {
        seen_by.push(seen(things().id(id).one(db).await, one));
        seen_by.push(seen(Thing::by_code().room(ROOM).code(format!("c{id}").as_str()).one(db).await, one));
    }
    seen_by
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_shown_give_what_rows_told_give(
        deeds in prop::collection::vec((any::<prop::sample::Index>(), deed()), 0..4),
        stray in prop::option::of(deed()),
    ) {
        run(async {
            const IDS: u32 = 4;
            let both = Both::of((0..IDS).map(thing)).await;
            if let Some(deed) = stray {
                // A row of another program, between two of the entity.
                let mut properties = both.row("it_0001").await.properties;
                deed.is_done_to(&mut properties);
                both.put("it_0001_x", properties).await;
            }
            for (at, deed) in deeds {
                let rows = both.rows().await;
                let Row { key, mut properties, .. } = at.get(&rows).clone();
                deed.is_done_to(&mut properties);
                both.put(&key.row, properties).await;
            }
            assert_eq!(paths(&both.shown, IDS).await, paths(&both.told, IDS).await);
        });
    }
}

#[test]
fn more_rows_than_are_shown_at_once_come_all_and_in_order() {
    run(async {
        const IDS: u32 = 700;
        let both = Both::of((0..IDS).map(thing)).await;
        let ids = |things: Vec<Stored<Thing>>| things.iter().map(|thing| thing.id).collect::<Vec<_>>();
        let things = || Thing::find().room(ROOM);
        assert_eq!(ids(things().all(&both.shown).await.unwrap()), (0..IDS).collect::<Vec<_>>());
        assert_eq!(ids(things().stream(&both.shown).try_collect().await.unwrap()), (0..IDS).collect::<Vec<_>>());
        for n in [0, 1, 256, 257, 600] {
            assert_eq!(ids(things().first(n, &both.shown).await.unwrap()), (0..n as u32).collect::<Vec<_>>());
        }
    });
}

#[test]
fn what_was_shown_is_saved_with_what_it_does_not_know() {
    run(async {
        let both = Both::of((0..2).map(thing)).await;
        let mut properties = both.row("it_0001").await.properties;
        properties.insert("Unknown", "kept");
        both.put("it_0001", properties).await;
        let mut stored = Thing::find().room(ROOM).id(1).one(&both.shown).await.unwrap().unwrap();
        let mut copy = Thing::find().room(ROOM).all(&both.shown).await.unwrap().remove(1).clone();
        stored.code = "new".into();
        both.shown.save(&mut stored).await.unwrap();
        let row = both.row("it_0001").await;
        assert_eq!(row.properties.get("Unknown").map(|value| value.to_value()), Some("kept".into()));
        assert_eq!(&row, stored.row());
        assert_eq!(Thing::by_code().room(ROOM).code("c1").one(&both.shown).await.unwrap().map(sight), None);
        copy.zone = "late".into();
        assert!(matches!(both.shown.save(&mut copy).await.unwrap_err().kind(), ErrorKind::Conflict { .. }));
    });
}

/// A panic in the user's own code is the user's: it is not taken for damage of the file.
#[test]
fn a_panic_while_a_row_is_read_goes_on() {
    #[derive(Debug, Clone, PartialEq, serde::Serialize)]
    struct Touchy;
    static IS_TOUCHED: AtomicBool = AtomicBool::new(false);
    impl<'de> serde::Deserialize<'de> for Touchy {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            assert!(!IS_TOUCHED.load(Ordering::SeqCst), "the user's own");
            serde::de::IgnoredAny::deserialize(from).map(|_| Self)
        }
    }
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Touchy", partition = "{room}", row = "t_{id:04}")]
    struct Holder {
        room: String,
        id: u32,
        #[table(json)]
        touchy: Vec<Touchy>,
    }
    #[derive(TableModel)]
    enum Holders {
        Holder(Holder),
    }
    run(async {
        let store = EmbeddedStore::builder().open_backend(redb::backends::InMemoryBackend::new()).unwrap();
        let db = Database::builder().with_embedded::<Holders>(store).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&Holder { room: "r".into(), id: 1, touchy: vec![Touchy] }).await.unwrap();
        IS_TOUCHED.store(true, Ordering::SeqCst);
        let panicked = |panic: Box<dyn std::any::Any + Send>| panic.downcast_ref::<&str>() == Some(&"the user's own");
        let one = tokio::spawn(Holder::find().room("r").id(1).one(&db)).await.unwrap_err();
        assert!(panicked(one.into_panic()));
        let all = tokio::spawn(Holder::find().room("r").all(&db)).await.unwrap_err();
        assert!(panicked(all.into_panic()));
    });
}
