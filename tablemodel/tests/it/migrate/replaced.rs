//! An index that a new version has in another kind, under another name, or no more: rows of the older version are theirs until they are
//! written anew, and nobody else's.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind,
    prelude::*,
    store::fault::{Call, Request},
    testing::{Fault, Script, TestDatabase},
};

use super::{MODES, all_rows, assert_clean, next, program, store_of};

/// The first release of a person, with an index, and the second, with another.
macro_rules! releases {
    ($name:ident, [$($before:tt)*], [$($after:tt)*]) => {
        mod $name {
            pub(super) mod before {
                use tablemodel::prelude::*;

                #[derive(TableEntity)]
                #[table(name = "Club", partition = "{club}", row = "p_{id:04}", $($before)*)]
                pub(crate) struct Person {
                    pub(crate) club: String,
                    pub(crate) id: u32,
                    pub(crate) name: String,
                    pub(crate) badge: Option<u32>,
                }

                #[derive(TableModel)]
                pub(crate) enum Model {
                    Person(Person),
                }
            }

            pub(super) mod after {
                use tablemodel::{Upgrade, UpgradeError, prelude::*};

                #[derive(TableEntity)]
                #[table(name = "Club", entity_type = "Person", frozen, partition = "{club}", row = "p_{id:04}", $($before)*)]
                pub(crate) struct PersonV1 {
                    club: String,
                    id: u32,
                    name: String,
                    badge: Option<u32>,
                }

                #[derive(Debug, TableEntity)]
                #[table(name = "Club", version = 2, previous = PersonV1, partition = "{club}", row = "p_{id:04}", $($after)*)]
                pub(crate) struct Person {
                    pub(crate) club: String,
                    pub(crate) id: u32,
                    pub(crate) name: String,
                    pub(crate) badge: Option<u32>,
                }

                impl Upgrade<PersonV1> for Person {
                    fn upgrade(PersonV1 { club, id, name, badge }: PersonV1) -> Result<Self, UpgradeError> {
                        Ok(Self { club, id, name, badge })
                    }
                }

                #[derive(TableModel)]
                pub(crate) enum Model {
                    Person(Person),
                }
            }

            /// So many that opening does not write them anew.
            pub(super) async fn filled(mode: tablemodel::Consistency) -> tablemodel::testing::TestDatabase {
                let db = super::store_of::<before::Model>(mode).await;
                for id in 0..210 {
                    let (club, name) = (format!("c{}", id % 3), format!("n{}", id % 7));
                    db.insert(&before::Person { club, id, name, badge: Some(id) }).await.expect("written");
                }
                db.clock().advance(std::time::Duration::from_secs(130));
                db
            }
        }
    };
}

releases!(
    made_unique,
    [index(by_badge, table = "Badges", partition = "{badge:06}", row = "{club}_{id:04}", keys_only)],
    [index(by_badge, table = "Badges", partition = "{badge:06}", row = "b", unique, keys_only)]
);
releases!(
    made_unique_beside,
    [index(by_badge, row = "badge_{badge:06}_{id:04}", keys_only)],
    [index(by_badge, row = "badge_{badge:06}", unique, keys_only)]
);
releases!(
    put_elsewhere,
    [index(by_name, row = "n_{name}_{id:04}", keys_only)],
    [index(by_name, table = "Names", partition = "{name}", row = "{club}_{id:04}", keys_only)]
);
releases!(
    made_an_index,
    [list(by_name, table = "Names", partition = "{name}", row = "l")],
    [index(by_name, table = "Names", partition = "{name}", row = "i_{club}_{id:04}", keys_only)]
);
releases!(
    renamed,
    [index(by_name, row = "n_{name}_{id:04}", keys_only)],
    [index(named, row = "n_{name}_{id:04}", keys_only)]
);
releases!(
    other_claim,
    [index(by_badge, table = "Badges", partition = "x{badge:06}", row = "b", unique, keys_only)],
    [index(by_badge, table = "Badges", partition = "{badge:06}", row = "b", unique, keys_only)]
);

/// Verified, repaired, and what rows there are then.
async fn assert_left_alone(db: &Database, tables: &[&str], told: &str) {
    assert_clean(db, told).await;
    let mut before = Vec::new();
    for table in tables {
        before.push(all_rows(db, table).await);
    }
    assert_eq!(db.repair().await.expect("repaired").repaired, 0, "{told}");
    for (table, before) in tables.iter().zip(before) {
        assert_eq!(all_rows(db, table).await, before, "{told}: {table}");
    }
}

macro_rules! left_alone {
    ($test:ident, $release:ident, $tables:expr) => {
        #[tokio::test]
        async fn $test() {
            for mode in MODES {
                let db = next::<$release::after::Model>(&$release::filled(mode).await).await;
                assert_left_alone(&db, &$tables, &format!("{mode:?}: deployed")).await;
                let path = $release::after::Person::find().club("c1").id(1);
                db.update(path, |person| Ok(person.name = "another".into())).await.expect("written");
                assert_clean(&db, &format!("{mode:?}: one is new")).await;
                let applied = db.migrations().apply().await.expect("applied");
                assert!(applied.is_complete(), "{mode:?}: {applied:?}");
                assert_left_alone(&db, &$tables, &format!("{mode:?}: applied")).await;
            }
        }
    };
}

left_alone!(
    rows_of_an_index_that_becomes_unique_elsewhere_are_right_until_they_are_written_anew,
    made_unique,
    ["Club", "Badges"]
);
left_alone!(
    rows_of_an_index_that_is_put_elsewhere_are_right_until_they_are_written_anew,
    put_elsewhere,
    ["Club", "Names"]
);
left_alone!(
    rows_of_a_list_that_becomes_an_index_are_right_until_they_are_written_anew,
    made_an_index,
    ["Club", "Names"]
);
left_alone!(rows_of_an_index_with_another_name_are_right_until_they_are_written_anew, renamed, ["Club"]);

#[tokio::test]
async fn the_row_of_an_index_that_is_called_otherwise_now_goes_with_its_entity() {
    use renamed::after::Person;
    for mode in MODES {
        let db = next::<renamed::after::Model>(&renamed::filled(mode).await).await;
        let of = |id: u32| Person::find().club(format!("c{}", id % 3)).id(id);
        db.update(of(1), |person| Ok(person.badge = None)).await.expect("written");
        assert_clean(&db, &format!("{mode:?}: written")).await;
        for id in 1..3 {
            let person = of(id).one(&db).await.expect("read").expect("there");
            db.delete(person).await.expect("deleted");
        }
        assert_clean(&db, &format!("{mode:?}: deleted")).await;
        let is_left = |row: &tablemodel::Row| row.key.row.ends_with("_0001") && row.properties.get("_dead").is_none();
        let left: Vec<_> = all_rows(&db, "Club").await.into_iter().filter(is_left).map(|row| row.key.row).collect();
        assert!(left.iter().all(|row| row == "p_0001"), "{mode:?}: {left:?}");
    }
}

#[tokio::test]
async fn an_entity_takes_its_value_along_to_another_row_key_while_the_claims_are_written_anew() {
    use other_claim::after::Person;
    // Where a claim is a commit of its own it takes a `rekey`, in any state.
    let db = next::<other_claim::after::Model>(&other_claim::filled(Consistency::Atomic).await).await;
    let of = |id: u32| Person::find().club("c1").id(id);
    db.update(of(1), |person| Ok(person.name = "new".into())).await.expect("written");
    let mut person = of(1).one(&db).await.expect("read").expect("there");
    person.id = 901;
    db.save(&mut person).await.expect("its own value goes with it");
    let mut other = of(4).one(&db).await.expect("read").expect("there");
    other.badge = Some(1);
    let taken = db.save(&mut other).await.expect_err("it is another's");
    assert!(matches!(taken.kind(), ErrorKind::UniqueViolation { .. }), "{taken:?}");
    let applied = db.migrations().apply().await.expect("applied");
    assert!(applied.is_complete(), "{applied:?}");
    assert_clean(&db, "applied").await;
}

/// What is counted, and copied twice; and then once.
mod dropped {
    pub(super) mod before {
        use tablemodel::prelude::*;

        #[derive(TableEntity)]
        #[table(name = "Teams", partition = "{name}", row = "team")]
        pub(crate) struct Team {
            pub(crate) name: String,
            pub(crate) colour: String,
            #[table(aggregate)]
            pub(crate) members: i64,
        }

        #[derive(Projection)]
        #[table(of = Team)]
        pub(crate) struct Shirt {
            pub(crate) colour: String,
        }

        #[derive(TableEntity)]
        #[table(name = "Members", partition = "{club}", row = "m_{id:04}", count(Team, key(name = team), into = members))]
        pub(crate) struct Member {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) team: String,
            pub(crate) other: Option<String>,
            #[table(copy_of(Team, key(name = other), on_delete = clear))]
            pub(crate) shirt: Option<Shirt>,
        }

        #[derive(TableModel)]
        pub(crate) enum Model {
            Team(Team),
            Member(Member),
        }
    }

    pub(super) mod after {
        use tablemodel::{Upgrade, UpgradeError, prelude::*};

        pub(crate) use super::before::Team;

        #[derive(TableEntity)]
        #[table(name = "Members", entity_type = "Member", frozen, partition = "{club}", row = "m_{id:04}")]
        #[table(count(Team, key(name = team), into = members))]
        pub(crate) struct MemberV1 {
            club: String,
            id: u32,
            team: String,
            other: Option<String>,
        }

        #[derive(TableEntity)]
        #[table(name = "Members", version = 2, previous = MemberV1, partition = "{club}", row = "m_{id:04}")]
        #[table(count(Team, key(name = team), into = members))]
        pub(crate) struct Member {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) team: String,
            pub(crate) other: Option<String>,
        }

        impl Upgrade<MemberV1> for Member {
            fn upgrade(MemberV1 { club, id, team, other }: MemberV1) -> Result<Self, UpgradeError> {
                Ok(Self { club, id, team, other })
            }
        }

        #[derive(TableModel)]
        pub(crate) enum Model {
            Team(Team),
            Member(Member),
        }
    }
}

async fn counted(db: &Database) -> i64 {
    dropped::before::Team::find().name("red").one(db).await.expect("read").expect("there").members
}

#[tokio::test]
async fn what_an_older_program_left_is_delivered_but_for_a_copy_that_was_dropped() {
    use dropped::{after, before};
    let store: TestDatabase = store_of::<before::Model>(Consistency::Azure).await;
    for name in ["red", "blue"] {
        let team = before::Team { name: name.into(), colour: name.to_uppercase(), members: 0 };
        store.insert(&team).await.expect("written");
    }
    let member =
        |id| before::Member { club: "c".into(), id, team: "red".into(), other: Some("blue".into()), shirt: None };
    for id in 0..3 {
        store.insert(&member(id)).await.expect("written");
    }
    assert_eq!(counted(&store).await, 3);
    let one = before::Member::find().club("c").id(1).one(&store).await.expect("read").expect("there");
    assert_eq!(one.shirt.as_ref().map(|shirt| shirt.colour.as_str()), Some("BLUE"));
    store.fail(|call: &Call<'_>| match call.request {
        Request::Get(_, key) if key.row.starts_with("~~out|") => Some(Fault::CrashBefore),
        _ => None,
    });
    let _ = store.delete(one).await;
    store.fail(Script::new());
    let store = store.reopen::<before::Model>().await.expect("opened");
    store.clock().advance(Duration::from_secs(2_000));

    let db = next::<after::Model>(&store).await;
    let report = db.relay().drain().await.expect("drained");
    assert_eq!((report.waiting, counted(&db).await), (1, 2), "{report:?}");
    let old = program::<before::Model>(&store).await;
    let report = old.relay().drain().await.expect("drained");
    assert_eq!((report.delivered, counted(&old).await), (1, 2), "{report:?}");
    assert_clean(&old, "by the older program").await;
}

#[tokio::test]
async fn what_an_older_program_left_of_an_index_that_becomes_unique_is_delivered_as_it_meant_it() {
    use made_unique::{after, before};
    let store = made_unique::filled(Consistency::Azure).await;
    store.fail(|call: &Call<'_>| match call.request {
        Request::Get(_, key) if key.row.starts_with("~~out|") => Some(Fault::CrashBefore),
        _ => None,
    });
    let person = before::Person { club: "c0".into(), id: 900, name: "late".into(), badge: Some(900) };
    let _ = store.insert(&person).await;
    store.fail(Script::new());
    let store = store.reopen::<before::Model>().await.expect("opened");
    store.clock().advance(Duration::from_secs(2_000));

    let db = next::<after::Model>(&store).await;
    let report = db.relay().drain().await.expect("drained");
    assert_eq!((report.delivered, report.waiting), (1, 0), "{report:?}");
    assert_clean(&db, "delivered").await;
    let old = program::<before::Model>(&store).await;
    let is_its = |row: &tablemodel::Row| row.key == tablemodel::RowKey::new("000900", "c0_0900");
    assert!(all_rows(&old, "Badges").await.iter().any(is_its), "where its own version looks for it");
    assert_clean(&old, "by the older program").await;
}

#[tokio::test]
async fn who_shares_a_value_that_becomes_unique_is_told_before_it_is_applied() {
    use made_unique_beside::{after, before};
    for mode in MODES {
        let store = made_unique_beside::filled(mode).await;
        for id in [900, 903] {
            let person = before::Person { club: "c0".into(), id, name: "n".into(), badge: Some(0) }; // as the first of them
            store.insert(&person).await.expect("written");
        }
        store.clock().advance(Duration::from_secs(130));
        let db = next::<after::Model>(&store).await;
        let dry = db.migrations().apply().dry_run(None).await.expect("looked at");
        assert_eq!((dry.failed, dry.read), (2, 212), "{mode:?}: {dry:?}");
        assert!(
            dry.failures.iter().all(|failure| failure.error.contains("unique index `by_badge`")),
            "{mode:?}: {dry:?}"
        );
        let applied = db.migrations().apply().await.expect("applied");
        assert_eq!((applied.failed, applied.is_complete()), (2, false), "{mode:?}: {applied:?}");
    }
}
