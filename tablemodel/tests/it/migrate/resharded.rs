//! Another number of shards: the entity moves to another table, as with any other change of its keys.

use tablemodel::{Upgrade, UpgradeError, prelude::*};

use super::{MODES, all_rows, assert_clean, next, store_of};

mod four {
    use super::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Hits", entity_type = "Hit", partition = "{day}_{id:shard(4)}", row = "{id:06}")]
    pub(super) struct Hit {
        pub(super) day: String,
        pub(super) id: u32,
        pub(super) page: String,
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Hits {
        Hit(Hit),
    }
}

mod eight {
    use super::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Hits8", entity_type = "Hit", version = 2, moved_from = four::Hit)]
    #[table(partition = "{day}_{id:shard(8)}", row = "{id:06}")]
    pub(super) struct Hit {
        pub(super) day: String,
        pub(super) id: u32,
        pub(super) page: String,
    }

    impl Upgrade<four::Hit> for Hit {
        fn upgrade(four::Hit { day, id, page }: four::Hit) -> Result<Self, UpgradeError> {
            Ok(Self { day, id, page })
        }
    }

    #[derive(Debug, TableModel)]
    pub(super) enum Hits {
        Hit(Hit),
    }
}

#[tokio::test]
async fn the_number_of_shards_changes_by_a_move_to_another_table() {
    for mode in MODES {
        let store = store_of::<four::Hits>(mode).await;
        let hit = |id| four::Hit { day: "monday".into(), id, page: format!("/{id}") };
        let report = store.bulk().insert_all(futures_util::stream::iter((0..250).map(hit))).await.expect("written");
        assert!(report.failed.is_empty(), "{report:?}");
        store.clock().advance(std::time::Duration::from_secs(130));
        let partitions = |rows: &[tablemodel::Row]| {
            rows.iter().map(|row| row.key.partition.clone()).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(partitions(&all_rows(&store, "Hits").await), 4);

        let db = next::<eight::Hits>(&store).await;
        db.migrations().apply().await.expect("applied");
        let all = eight::Hit::find().day("monday").all(&db).await.expect("merged from eight shards");
        let ids: Vec<_> = all.iter().map(|hit| hit.id).collect();
        assert_eq!(ids, (0..250).collect::<Vec<_>>(), "{mode:?}: in order");
        assert_clean(&db, "applied").await;
        db.migrations().contract().await.expect("switched");
        assert_eq!(partitions(&all_rows(&db, "Hits8").await), 8, "{mode:?}");
        assert!(all_rows(&db, "Hits").await.is_empty(), "{mode:?}: of the old shards nothing is left");
        let found = eight::Hit::find().day("monday").id(77).one(&db).await.expect("read").expect("there");
        assert_eq!(found.page, "/77");
        assert_clean(&db, "switched").await;
    }
}
