//! What a dry run reckons is what the application then writes.

use std::time::Duration;

use tablemodel::{Consistency, ValueRef};

use super::{MODES, all_rows, next, store_of};

mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_name, row = "name_{name}_{id:04}", keep(city)))]
    #[table(index(anywhere, table = "People", partition = "{name}", row = "{club}_{id:04}", keys_only))]
    #[table(list(ids, row = "ids_{name}"))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) city: String,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

/// Nothing is built: the city is called otherwise.
mod after {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::before;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, previous = before::Person)]
    #[table(partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_name, row = "name_{name}_{id:04}", keep(town)))]
    #[table(index(anywhere, table = "People", partition = "{name}", row = "{club}_{id:04}", keys_only))]
    #[table(list(ids, row = "ids_{name}"))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        #[table(was = "City")]
        pub(crate) town: String,
    }

    impl Upgrade<before::Person> for Person {
        fn upgrade(old: before::Person) -> Result<Self, UpgradeError> {
            let before::Person { club, id, name, city } = old;
            Ok(Self { club, id, name, town: city })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

#[tokio::test]
async fn derived_rows_of_entities_that_are_rewritten_are_counted() {
    for mode in MODES {
        let store = store_of::<before::Club>(mode).await;
        for id in 0..240 {
            let name = format!("n{}", id % 3);
            store.insert(&before::Person { club: "c".into(), id, name, city: "Oslo".into() }).await.expect("written");
        }
        store.clock().advance(Duration::from_secs(130));
        let db = next::<after::Club>(&store).await;
        let dry = db.migrations().apply().dry_run(None).await.expect("read");
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
        let mut anew = 0;
        for table in ["Club", "People"] {
            for row in all_rows(&db, table).await {
                let Some(ValueRef::String(kind)) = row.properties.get("EntityType") else { continue };
                anew += u64::from(["Person.by_name@2", "Person.anywhere@2"].contains(&kind));
            }
        }
        assert_eq!((dry.read, dry.rows, anew), (240, 480, 480), "{mode:?}");
        assert!(dry.requests >= if mode == Consistency::Azure { 720 } else { 1 }, "{mode:?}: {dry:?}");
    }
}
