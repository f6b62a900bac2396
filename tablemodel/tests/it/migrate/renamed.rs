//! Properties that a new version calls otherwise, or has others in place of: what is made of them is read at once only where it is said
//! which they were.

use tablemodel::{Consistency, ErrorKind, prelude::*};

use super::{MODES, assert_clean, program, store_of};

/// Two names, and what they owe: all four are renamed at once, and an index and a total then mean the other of two. Once it is said which is
/// which, and once it is not.
mod names {
    pub(super) mod before {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_name, row = "a_{fore}_{id:04}", keys_only))]
        #[table(sum(House, key(club = club), of = paid, into = dues))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) fore: String,
            pub(crate) last: String,
            pub(crate) paid: i64,
            pub(crate) owed: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", partition = "{club}", row = "house", sharded(dues = i64))]
        pub(crate) struct House {
            pub(crate) club: String,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
            House(House),
        }
    }

    macro_rules! release {
        ($name:ident, $index:literal, $of:ident, [$($given:meta)?] [$($family:meta)?] [$($got:meta)?]) => {
            pub(super) mod $name {
                use tablemodel::{Upgrade, UpgradeError, prelude::*};

                use super::before::{self, House};

                #[derive(Debug, Clone, PartialEq, TableEntity)]
                #[table(name = "Club", entity_type = "Person", version = 2, previous = before::Person)]
                #[table(partition = "{club}", row = "p_{id:04}")]
                #[table(index(by_name, row = $index, keys_only))]
                #[table(sum(House, key(club = club), of = $of, into = dues))]
                pub(crate) struct Person {
                    pub(crate) club: String,
                    pub(crate) id: u32,
                    $(#[$given])?
                    pub(crate) given: String,
                    $(#[$family])?
                    pub(crate) family: String,
                    $(#[$got])?
                    pub(crate) got: i64,
                    pub(crate) open: i64,
                }

                impl Upgrade<before::Person> for Person {
                    fn upgrade(old: before::Person) -> Result<Self, UpgradeError> {
                        let before::Person { club, id, fore, last, paid, owed } = old;
                        Ok(Self { club, id, given: fore, family: last, got: paid, open: owed })
                    }
                }

                #[derive(Debug, Clone, PartialEq, TableModel)]
                pub(crate) enum Club {
                    Person(Person),
                    House(House),
                }
            }
        };
    }

    release!(unsaid, "a_{family}_{id:04}", open, [] [] []);
    release!(said, "a_{given}_{id:04}", got, [table(was = "Fore")][table(was = "Last")][table(was = "Paid")]);
}

/// A city is gone and a depot has come, and points in place of cents: another thing each, under the same index and the same total.
mod swapped {
    pub(super) mod before {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_place, row = "a_{city}_{id:04}", keys_only))]
        #[table(sum(House, key(club = club), of = cents, into = dues))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) city: String,
            pub(crate) cents: i64,
        }

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", partition = "{club}", row = "house", sharded(dues = i64))]
        pub(crate) struct House {
            pub(crate) club: String,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
            House(House),
        }
    }

    pub(super) mod after {
        use tablemodel::{Upgrade, UpgradeError, prelude::*};

        use super::before::{self, House};

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", entity_type = "Person", version = 2, previous = before::Person)]
        #[table(partition = "{club}", row = "p_{id:04}")]
        #[table(index(by_place, row = "a_{depot}_{id:04}", keys_only))]
        #[table(sum(House, key(club = club), of = points, into = dues))]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) depot: String,
            pub(crate) points: i64,
        }

        impl Upgrade<before::Person> for Person {
            fn upgrade(before::Person { club, id, cents, .. }: before::Person) -> Result<Self, UpgradeError> {
                Ok(Self { club, id, depot: format!("D{}", id % 3), points: cents / 100 })
            }
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
            House(House),
        }
    }
}

async fn named(mode: Consistency) -> tablemodel::testing::TestDatabase {
    use names::before::{Club, House, Person};
    let store = store_of::<Club>(mode).await;
    let old = program::<Club>(&store).await;
    old.insert(&House { club: "c0".into() }).await.expect("written");
    for id in 0..210 {
        let (fore, last) = (format!("f{}", id % 7), format!("l{}", id % 3));
        old.insert(&Person { club: "c0".into(), id, fore, last, paid: 2, owed: 5 }).await.expect("written");
    }
    drop(old);
    store.clock().advance(std::time::Duration::from_secs(130));
    store
}

#[tokio::test]
async fn what_is_made_of_another_of_two_that_were_renamed_is_read_once_all_is_rewritten() {
    use names::{
        before::House,
        unsaid::{Club, Person},
    };
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = named(mode).await;
        let db = program::<Club>(&store).await;
        let found = async || Person::by_name().club("c0").family("l1").count(&db).await;
        let error = found().await.expect_err("they are found by their first names");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        let dues = async || db.total(House::find().club("c0"), House::DUES).await;
        let error = dues().await.expect_err("it is what they have paid");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        db.ensure_tables().await.expect("ensured");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_eq!(found().await.expect("readable"), 70, "{told}");
        assert_eq!(dues().await.expect("all is added anew"), 1_050, "{told}");
        assert_clean(&db, &told).await;
    }
}

#[tokio::test]
async fn what_is_said_to_be_renamed_is_read_at_once() {
    use names::{
        before::House,
        said::{Club, Person},
    };
    for mode in MODES {
        let store = named(mode).await;
        let db = program::<Club>(&store).await;
        let found = Person::by_name().club("c0").given("f1").count(&db).await.expect("as before");
        assert_eq!(found, 30, "{mode:?}");
        assert_eq!(db.total(House::find().club("c0"), House::DUES).await.expect("as before"), 420, "{mode:?}");
    }
}

#[tokio::test]
async fn what_came_in_place_of_another_is_not_taken_for_it_renamed() {
    use swapped::{
        after::{Club, Person},
        before::{self, House},
    };
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<before::Club>(mode).await;
        let old = program::<before::Club>(&store).await;
        old.insert(&House { club: "c0".into() }).await.expect("written");
        for id in 0..210 {
            let (club, city) = ("c0".to_owned(), "Oslo".to_owned());
            old.insert(&before::Person { club, id, city, cents: 500 }).await.expect("written");
        }
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = program::<Club>(&store).await;
        let new = Person { club: "c0".into(), id: 211, depot: "D1".into(), points: 7 };
        db.insert(&new).await.expect("written");
        let found = async || Person::by_place().club("c0").depot("D1").count(&db).await;
        let error = found().await.expect_err("the others are found by their city");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        let dues = async || db.total(House::find().club("c0"), House::DUES).await;
        let error = dues().await.expect_err("cents, and points");
        assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
        db.ensure_tables().await.expect("ensured");
        let applied = db.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{told}: {applied:?}");
        assert_eq!(found().await.expect("readable"), 71, "{told}");
        assert_eq!(dues().await.expect("all are points"), 1_057, "{told}");
        assert_clean(&db, &told).await;
    }
}
