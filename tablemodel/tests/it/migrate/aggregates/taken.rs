//! Sources that are counted where others were, and many cells in one partition.

use tablemodel::{
    ErrorKind,
    prelude::*,
    testing::{CallKind, CallRecord, TestDatabase},
};

use super::super::{MODES, assert_clean, next};

/// Persons are counted.
mod first {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
    #[table(count(Team, key(club = club), into = members))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team")]
    pub(super) struct Team {
        pub(super) club: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Club {
        Person(Person),
        Team(Team),
    }
}

/// Guests are, who are new to the store.
mod second {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "g_{id:04}")]
    #[table(count(Team, key(club = club), into = members))]
    pub(super) struct Guest {
        pub(super) club: String,
        pub(super) id: u32,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team")]
    pub(super) struct Team {
        pub(super) club: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Club {
        Person(Person),
        Guest(Guest),
        Team(Team),
    }
}

#[tokio::test]
async fn a_new_entity_is_not_counted_in_the_cells_of_another() {
    for mode in MODES {
        let store = crate::migrate::store_of::<first::Club>(mode).await;
        store.insert(&first::Team { club: "c".into(), members: 0 }).await.expect("inserted");
        for id in 0..3 {
            store.insert(&first::Person { club: "c".into(), id }).await.expect("inserted");
        }
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<second::Club>(&store).await;
        let plan = db.migrations().plan().await.expect("planned");
        assert_eq!((plan.steps.len(), plan.unsupported.len(), plan.dropped.len()), (0, 1, 1), "{mode:?}: {plan:?}");
        for id in 0..5 {
            db.insert(&second::Guest { club: "c".into(), id }).await.expect("inserted");
        }
        let path = || second::Team::find().club("c");
        let error = db.total(path(), second::Team::MEMBERS).await.expect_err("it is not built");
        assert_eq!(*error.kind(), ErrorKind::IndexNotReady { index: "Members" }, "{mode:?}");
        assert_clean(&db, &format!("{mode:?}, beside")).await;
        db.migrations().contract().await.expect("taken away");
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{mode:?}");
        assert_eq!(db.total(path(), second::Team::MEMBERS).await.expect("built"), 5, "{mode:?}");
        assert_eq!(path().one(&db).await.expect("read").expect("there").members, 5, "{mode:?}");
        assert_clean(&db, &format!("{mode:?}, built")).await;
    }
}

/// Teams of one partition, and what adds to each.
mod many {
    pub(super) mod before {
        use tablemodel::prelude::*;

        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
        pub(crate) struct Person {
            pub(crate) club: String,
            pub(crate) id: u32,
            pub(crate) team: u8,
        }

        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Club {
            Person(Person),
        }
    }

    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}")]
    #[table(count(Team, key(club = club, number = team), into = members))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) team: u8,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team_{number:03}")]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) number: u8,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(super) enum Club {
        Person(Person),
        Team(Team),
    }
}

#[tokio::test]
async fn the_cells_of_a_partition_are_counted_by_one_look_at_it() {
    let store = TestDatabase::new::<many::before::Club>().await.expect("a database in memory");
    let person = |id| many::before::Person { club: "c".into(), id, team: u8::try_from(id % 60).unwrap() };
    let report = store.bulk().insert_all(futures_util::stream::iter((0..240).map(person))).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    store.clock().advance(std::time::Duration::from_secs(130));
    let db = next::<many::Club>(&store).await;
    store.forget_calls();
    assert!(db.migrations().apply().await.expect("applied").is_complete());
    let is_read = |call: &&CallRecord| matches!(&call.call, CallKind::Query { table, .. } if table == "Club");
    let reads = store.calls().iter().filter(is_read).count();
    assert!(reads < 20, "{reads} for 60 cells");
    for number in 0..60 {
        let team = many::Team::find().club("c").number(number);
        assert_eq!(db.total(team, many::Team::MEMBERS).await.expect("built"), 4);
    }
    assert_clean(&db, "many").await;
}
