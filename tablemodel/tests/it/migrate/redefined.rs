//! Indexes that a new version of their entity has otherwise: they are read once every row is of a version that has them so.

use tablemodel::{Consistency, ErrorKind, prelude::*};

use super::{MODES, assert_clean, first, next, program, store_of};

/// What the first release has.
mod narrow {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_name, row = "name_{name}_{id:04}", when = badge, keys_only))]
    #[table(index(by_city, row = "city_{city}_{id:04}", keys_only))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) city: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

/// The first once more, where who has no badge is not found by it; and the second, where everybody has one.
mod badges {
    pub(super) mod optional {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_badge, row = "badge_{badge:06}_{id:04}", keys_only))]
        #[table(index(by_number, table = "Badges", partition = "{badge:06}", row = "{club}_{id:04}", keys_only))]
        #[table(index(current, row = "cur_{id:04}", when = active, keys_only))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) badge: Option<u32>,
            pub(crate) active: Option<bool>,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }

    pub(super) mod required {
        use tablemodel::{Upgrade, UpgradeError, prelude::*};

        use super::optional;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", version = 2, previous = optional::Person)]
        #[table(partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_badge, row = "badge_{badge:06}_{id:04}", keys_only))]
        #[table(index(by_number, table = "Badges", partition = "{badge:06}", row = "{club}_{id:04}", keys_only))]
        #[table(index(current, row = "cur_{id:04}", when = active, keys_only))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) badge: u32,
            pub(crate) active: bool,
        }

        impl Upgrade<optional::Person> for Person {
            fn upgrade(old: optional::Person) -> Result<Self, UpgradeError> {
                let optional::Person { club, id, badge, active } = old;
                Ok(Self { club, id, badge: badge.unwrap_or(0), active: active.unwrap_or(true) })
            }
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }
}

/// Visits that are counted, and then added up by what was paid.
mod totals {
    #[derive(Debug, Clone, PartialEq, tablemodel::TableEntity)]
    #[table(name = "Site", partition = "{site}", row = "page_{id:03}", sharded(visits = i64))]
    pub(crate) struct Page {
        pub(crate) site: String,
        pub(crate) id: u8,
        #[table(aggregate)]
        pub(crate) guests: i64,
    }

    pub(super) mod counted {
        use tablemodel::prelude::*;

        use super::Page;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Site", entity_type = "Visit", partition = "{site}", row = "visit_{number:06}")]
        #[table(count(Page, key(site = site, id = on), into = visits))]
        #[table(count(Page, key(site = site, id = on), into = guests))]
        pub(crate) struct Visit {
            pub(crate) site: String,
            pub(crate) number: u32,
            pub(crate) on: u8,
            pub(crate) cents: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Site {
            Page(Page),
            Visit(Visit),
        }
    }

    pub(super) mod paid {
        use tablemodel::{Upgrade, UpgradeError, prelude::*};

        use super::{Page, counted};

        /// The other is counted as before, by a field that is renamed.
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Site", entity_type = "Visit", version = 2, previous = counted::Visit)]
        #[table(partition = "{site}", row = "visit_{number:06}")]
        #[table(sum(Page, key(site = site, id = page), of = cents, into = visits))]
        #[table(count(Page, key(site = site, id = page), into = guests))]
        pub(crate) struct Visit {
            pub(crate) site: String,
            pub(crate) number: u32,
            #[table(was = "On")]
            pub(crate) page: u8,
            pub(crate) cents: i64,
        }

        impl Upgrade<counted::Visit> for Visit {
            fn upgrade(old: counted::Visit) -> Result<Self, UpgradeError> {
                let counted::Visit { site, number, on, cents } = old;
                Ok(Self { site, number, page: on, cents })
            }
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Site {
            Page(Page),
            Visit(Visit),
        }
    }
}

/// The second: all persons are found by their name, and a town is a city renamed.
mod wide {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::narrow;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, previous = narrow::Person)]
    #[table(partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_name, row = "name_{name}_{id:04}", keys_only))]
    #[table(index(by_city, row = "city_{town}_{id:04}", keys_only))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        #[table(was = "City")]
        pub(crate) town: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    impl Upgrade<narrow::Person> for Person {
        fn upgrade(old: narrow::Person) -> Result<Self, UpgradeError> {
            let narrow::Person { club, id, name, city, badge, visits } = old;
            Ok(Self { club, id, name, town: city, badge, visits })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

#[tokio::test]
async fn an_index_that_shows_more_than_before_is_read_once_all_is_rewritten() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<narrow::Club>(mode).await;
        let old = program::<narrow::Club>(&store).await;
        for id in 0..210 {
            let first::Person { club, name, city, badge, visits, .. } = first::person("c0", id);
            old.insert(&narrow::Person { club, id, name, city, badge, visits }).await.expect("written");
        }
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = match mode {
            Consistency::Azure => next::<wide::Club>(&store).await,
            Consistency::Atomic => program::<wide::Club>(&store).await,
        };
        let error = wide::Person::by_name().club("c0").name("n1").all(&db).await.expect_err("they are not there yet");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        let oslo = wide::Person::by_city().club("c0").town("Oslo").count(&db).await.expect("renamed, and no more");
        assert_eq!(oslo, 70, "{told}");
        db.ensure_tables().await.expect("ensured");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_eq!(wide::Person::by_name().club("c0").name("n1").count(&db).await.expect("readable"), 30, "{told}");
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn an_index_whose_part_was_optional_is_read_once_all_is_rewritten() {
    use badges::{optional, required};
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<optional::Club>(mode).await;
        let old = program::<optional::Club>(&store).await;
        for id in 0..210 {
            let (badge, active) = ((id % 3 == 0).then_some(id), [Some(true), Some(false), None][id as usize % 3]);
            old.insert(&optional::Person { club: "c0".into(), id, badge, active }).await.expect("written");
        }
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = program::<required::Club>(&store).await;
        let by_badge = required::Person::by_badge().club("c0").badge(0).all(&db).await.map(drop);
        let by_number = required::Person::by_number().badge(0).all(&db).await.map(drop);
        let current = required::Person::current().club("c0").all(&db).await.map(drop);
        for error in [by_badge, by_number, current].map(|read| read.expect_err("most are not there")) {
            assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        }
        db.ensure_tables().await.expect("ensured");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_eq!(required::Person::current().club("c0").count(&db).await.expect("readable"), 140, "{told}");
        assert_eq!(required::Person::by_badge().club("c0").badge(0).count(&db).await.expect("readable"), 141, "{told}");
        assert_eq!(required::Person::by_number().badge(0).count(&db).await.expect("readable"), 141, "{told}");
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn a_total_that_means_another_thing_is_told_once_all_is_rewritten() {
    use totals::{Page, counted, paid};
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<counted::Site>(mode).await;
        let old = program::<counted::Site>(&store).await;
        old.insert(&Page { site: "a".into(), id: 1, guests: 0 }).await.expect("written");
        for number in 0..300 {
            old.insert(&counted::Visit { site: "a".into(), number, on: 1, cents: 5 }).await.expect("written");
        }
        let page = || Page::find().site("a").id(1);
        assert_eq!(old.total(page(), Page::VISITS).await.expect("counted"), 300, "{told}");
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = program::<paid::Site>(&store).await;
        db.insert(&paid::Visit { site: "a".into(), number: 300, page: 1, cents: 7 }).await.expect("written");
        let error = db.total(page(), Page::VISITS).await.expect_err("neither a number nor a sum");
        assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "Visits" }, "{told}: {error}");
        assert_eq!(db.total(page(), Page::GUESTS).await.expect("as before"), 301, "{told}");
        db.ensure_tables().await.expect("ensured");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_eq!(db.total(page(), Page::VISITS).await.expect("all are paid"), 1_507, "{told}");
        assert_eq!(db.total(page(), Page::GUESTS).await.expect("all are counted"), 301, "{told}");
        assert_clean(&db, &told).await;
    }
}
