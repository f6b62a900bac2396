//! Indexes of one name whose rows stand in another table from release to release: whoever takes one away finds its rows.

use std::time::Duration;

use tablemodel::{Consistency, IndexState, Upgrade, UpgradeError, prelude::*, testing::TestDatabase};

use super::{MODES, all_rows, assert_clean, filled, first, next, states};

/// A release of this version whose index, if it has it, has its rows in this table.
macro_rules! release {
    ($name:ident, ($($version:tt)*) $(, $table:literal)?) => {
        mod $name {
            use tablemodel::prelude::*;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}", $($version)*)]
            $(#[table(index(by_city, table = $table, partition = "{city}", row = "{club}_{id:04}", keys_only))])?
            pub(super) struct Person {
                pub(super) club: String,
                pub(super) id: u32,
                pub(super) name: String,
                pub(super) city: String,
                pub(super) badge: Option<u32>,
                pub(super) visits: i64,
            }

            #[derive(Debug, Clone, PartialEq, TableModel)]
            pub(super) enum Club {
                Person(Person),
            }
        }
    };
}

release!(towns, (version = 1), "Towns");
release!(cities, (version = 1), "Cities");
release!(second, (version = 2, previous = super::towns::Person), "Cities");
release!(settled, (version = 2), "Cities");
release!(without, (version = 2));

impl Upgrade<towns::Person> for second::Person {
    fn upgrade(old: towns::Person) -> Result<Self, UpgradeError> {
        let towns::Person { club, id, name, city, badge, visits } = old;
        Ok(Self { club, id, name, city, badge, visits })
    }
}

/// More than are migrated unasked.
const PERSONS: u32 = 210;

async fn build(db: &Database, told: &str) {
    let applied = db.migrations().apply().await.expect("applied");
    assert!(applied.is_complete(), "{told}: {applied:?}");
    assert_eq!(states(db).await, [IndexState::Readable], "{told}");
}

#[tokio::test]
async fn an_index_that_was_recorded_with_another_table_is_taken_back_with_its_rows() {
    for mode in MODES {
        let (store, told) = (filled(mode, 1, PERSONS).await, format!("{mode:?}"));
        next::<towns::Club>(&store).await; // recorded, and never built
        store.clock().advance(Duration::from_secs(130));
        let db = next::<cities::Club>(&store).await;
        for _ in 0..2 {
            build(&db, &told).await;
            assert_eq!(all_rows(&db, "Cities").await.len(), PERSONS as usize, "{told}");
            let gone = db.migrations().rollback().await.expect("taken back");
            assert_eq!((gone.rows, all_rows(&db, "Cities").await.len()), (u64::from(PERSONS), 0), "{told}");
        }
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn an_index_that_came_back_in_another_table_is_taken_away_with_its_rows() {
    for mode in MODES {
        let (store, told) = (filled(mode, 1, PERSONS).await, format!("{mode:?}"));
        let db = next::<towns::Club>(&store).await;
        build(&db, &told).await;
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        next::<first::Club>(&store).await.migrations().contract().await.expect("taken away");
        let db = next::<cities::Club>(&store).await;
        build(&db, &told).await;
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<first::Club>(&store).await;
        let gone = db.migrations().contract().await.expect("taken away");
        let left = all_rows(&db, "Cities").await.len() + all_rows(&db, "Towns").await.len();
        assert_eq!((gone.rows, left), (u64::from(PERSONS), 0), "{told}");
    }
}

/// The same where nobody took it away: a program without it wrote, so that it lapsed.
#[tokio::test]
async fn an_index_that_lapsed_and_came_back_in_another_table_is_taken_away_with_its_rows() {
    let (store, told) = (filled(tablemodel::Consistency::Azure, 1, PERSONS).await, "Azure");
    let db = next::<towns::Club>(&store).await;
    build(&db, told).await;
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    let old = next::<first::Club>(&store).await;
    old.insert(&first::person("c0", 5_000)).await.expect("written");
    drop(old);
    store.clock().advance(Duration::from_secs(130));
    let db = next::<cities::Club>(&store).await;
    build(&db, told).await;
    assert_eq!(all_rows(&db, "Towns").await.len(), 0);
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    let db = next::<first::Club>(&store).await;
    db.migrations().contract().await.expect("taken away");
    assert_eq!(all_rows(&db, "Cities").await.len(), 0);
}

/// A program of a release before drops the tables of one that has an index more: nothing is left of it.
#[tokio::test]
async fn a_program_drops_the_tables_of_indexes_that_it_lacks() {
    for mode in MODES {
        let store = filled(mode, 1, 3).await;
        let db = next::<cities::Club>(&store).await;
        db.migrations().apply().await.expect("applied");
        assert_eq!(all_rows(&db, "Cities").await.len(), 3, "{mode:?}");
        store.store().create_table("Others").await.expect("made");
        let old = super::program::<first::Club>(&store).await;
        old.drop_tables().await.expect("dropped");
        assert_eq!(old.list_tables().await.expect("listed"), ["Others"], "{mode:?}");
    }
}

/// In the Azure mode a program that has not looked at the states for a minute does so before it reads.
#[tokio::test]
async fn without_tables_nothing_is_wrong_and_entities_are_told_not_to_be_registered() {
    for mode in MODES {
        let store = filled(mode, 1, 3).await;
        let reader = next::<first::Club>(&store).await;
        super::program::<first::Club>(&store).await.drop_tables().await.expect("dropped");
        store.clock().advance(Duration::from_secs(130));
        let fresh = super::program::<first::Club>(&store).await;
        let asked = if mode == Consistency::Azure { vec![fresh, reader] } else { vec![fresh] };
        for db in asked {
            assert!(db.verify().await.expect("there is nothing").is_clean(), "{mode:?}");
            assert_eq!(db.repair().await.expect("there is nothing").repaired, 0, "{mode:?}");
            let read = first::Person::find().club("c0").all(&db).await.unwrap_err();
            assert_eq!(*read.kind(), ErrorKind::Unsupported, "{mode:?}: {read}");
        }
    }
}

/// A store all rows of which were rewritten as of a version that has the index in another table.
async fn rewritten(mode: Consistency) -> TestDatabase {
    let (store, told) = (filled(mode, 1, PERSONS).await, format!("{mode:?}"));
    let db = next::<towns::Club>(&store).await;
    build(&db, &told).await;
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    let db = next::<second::Club>(&store).await;
    build(&db, &told).await;
    assert_clean(&db, &told).await;
    assert_eq!(all_rows(&db, "Cities").await.len(), PERSONS as usize, "{told}");
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    store
}

#[tokio::test]
async fn an_index_that_a_version_has_in_another_table_is_exported_with_its_rows() {
    for mode in MODES {
        let db = next::<settled::Club>(&rewritten(mode).await).await;
        let mut lines = Vec::new();
        db.export(&mut lines).await.expect("exported");
        let copy = Database::in_memory::<settled::Club>().await.expect("a database in memory");
        copy.import(lines.as_slice()).await.expect("imported");
        let found = settled::Person::by_city().city("Oslo").all(&copy).await.expect("readable");
        assert_eq!(found.len(), PERSONS as usize / 3, "{mode:?}");
    }
}

#[tokio::test]
async fn an_index_that_a_version_has_in_another_table_is_taken_away_with_its_rows() {
    for mode in MODES {
        let db = next::<without::Club>(&rewritten(mode).await).await;
        let gone = db.migrations().contract().await.expect("taken away");
        assert_eq!((gone.rows, all_rows(&db, "Cities").await.len()), (u64::from(PERSONS), 0), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}
