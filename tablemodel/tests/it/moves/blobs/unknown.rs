//! Programs of a move that lack the field of a blob: what they move takes the link along, and the blob stays.

use std::{sync::Arc, time::Duration};

use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::*;
use crate::moves::{Passing, live_rows};

/// A release that lacks films.
mod lacking {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "People", entity_type = "Person", frozen, partition = "{team}", row = "p_{name}")]
    pub(super) struct PersonV1 {
        pub(super) team: String,
        pub(super) name: String,
        #[table(blob(inline_below = 16))]
        pub(super) portrait: Blob,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Members", version = 2, partition = "{name}", row = "m_{team}", moved_from = PersonV1)]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) team: String,
        #[table(blob(inline_below = 16))]
        pub(super) image: Blob,
    }

    impl Upgrade<PersonV1> for Person {
        fn upgrade(PersonV1 { team, name, portrait }: PersonV1) -> Result<Self, UpgradeError> {
            Ok(Self { name, team, image: portrait })
        }
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Person(Person),
    }
}

/// One that lacks all blobs.
mod bare {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "People", entity_type = "Person", frozen, partition = "{team}", row = "p_{name}")]
    pub(super) struct PersonV1 {
        pub(super) team: String,
        pub(super) name: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Members", version = 2, partition = "{name}", row = "m_{team}", moved_from = PersonV1)]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) team: String,
    }

    impl Upgrade<PersonV1> for Person {
        fn upgrade(PersonV1 { team, name }: PersonV1) -> Result<Self, UpgradeError> {
            Ok(Self { name, team })
        }
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Model {
        Person(Person),
    }
}

async fn moved<M: TableModel>(mode: Consistency) -> (TestDatabase, Database) {
    let (store, _) = filled(mode).await;
    let db = next::<M>(&store).await;
    assert!(db.migrations().apply().await.expect("applied").is_complete());
    assert_no_litter(&db, &store, "applied").await;
    db.migrations().contract().await.expect("switched");
    (store, db)
}

#[tokio::test]
async fn a_blob_that_the_program_of_a_move_does_not_know_outlives_the_switch() {
    for mode in MODES {
        let (store, db) = moved::<lacking::Model>(mode).await;
        let links = linked(&db).await;
        assert_eq!((links.len(), live_rows(&db, "People").await.len()), (5, 0), "{mode:?}: films too");
        assert_no_litter(&db, &store, "switched").await;
        let mut lee = lacking::Person::find().name("lee").team("A").one(&db).await.expect("read").expect("there");
        lee.image = large(50).into();
        db.save(&mut lee).await.expect("saved");
        assert_no_litter(&db, &store, "saved").await;
        assert_eq!(linked(&db).await.intersection(&links).count(), 4, "{mode:?}: one is another");
    }
}

#[tokio::test]
async fn blobs_of_a_table_that_a_program_without_blobs_moved_from_are_collected_once_nobody_links_them() {
    for mode in MODES {
        let (store, db) = moved::<bare::Model>(mode).await;
        assert_no_litter(&db, &store, "switched").await;
        assert_eq!(linked(&db).await.len(), 5, "{mode:?}");
        let lee = bare::Person::find().name("lee").team("A").one(&db).await.expect("read").expect("there");
        db.delete(lee).await.expect("deleted");
        assert_no_litter(&db, &store, "deleted").await;
        assert_eq!(linked(&db).await.len(), 3, "{mode:?}");
    }
}

#[tokio::test]
async fn a_program_without_a_place_for_blobs_sets_an_entity_aside_that_links_one() {
    for mode in MODES {
        let (store, _) = filled(mode).await;
        let builder = Database::builder().clock(Arc::new(store.clock().clone())).consistency(mode);
        let builder = builder.sleep(Arc::new(Passing(store.clock().clone()))).deadline(Duration::MAX);
        let db = builder.with_store::<bare::Model>(store.store()).await.expect("opened");
        db.ensure_tables().await.expect("ensured");
        assert_eq!(db.migrations().apply().await.expect("applied").failed, 3, "{mode:?}");
        let failures = db.migrations().failures().await.expect("read");
        let is_told = |error: &str| error.contains("which this program does not know, links a blob");
        assert!(failures.iter().all(|failure| is_told(&failure.error)), "{failures:?}");
        assert!(db.migrations().contract().await.is_err(), "{mode:?}: not before they are seen to");
        assert_eq!((new_rows(&db).await, linked(&db).await.len()), (0, 5), "{mode:?}");
    }
}
