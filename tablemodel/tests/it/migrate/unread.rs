//! Versions that rows may be of and the model does not read: a `previous` was left out.

use std::time::Duration;

use tablemodel::{
    ErrorKind,
    migrations::{MigrationPlan, Unread},
    prelude::*,
};

use super::{MODES, filled, first, next, program, rewrites::second};

/// A second release that does not name the first.
mod forgetful {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, partition = "{club}", row = "p_{id:04}")]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) town: String,
        pub(crate) badge: Option<u32>,
        pub(crate) visits: i64,
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

async fn plan(db: &Database) -> MigrationPlan {
    db.migrations().plan().await.expect("planned")
}

#[tokio::test]
async fn a_version_that_rows_may_be_of_and_the_model_does_not_read_is_planned_for_by_name() {
    for mode in MODES {
        let store = filled(mode, 1, 210).await;
        let unread = |version, reads| Unread { entity: "Person".into(), version, reads };
        assert_eq!(plan(&next::<first::Club>(&store).await).await.unread, []);
        assert_eq!(plan(&program::<forgetful::Club>(&store).await).await.unread, [unread(1, 2)], "{mode:?}");
        let refused = forgetful::Person::find()
            .club("c0")
            .id(1)
            .one(&program::<forgetful::Club>(&store).await)
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::UnknownVersion);

        let two = program::<second::Club>(&store).await;
        two.ensure_tables().await.expect("ensured");
        assert_eq!(plan(&two).await.unread, []);
        two.migrations().apply().await.expect("applied");
        drop(two);
        store.clock().advance(Duration::from_secs(130));
        assert_eq!(plan(&program::<forgetful::Club>(&store).await).await.unread, [], "{mode:?}: all are of the second");
        let two = program::<second::Club>(&store).await;
        two.migrations().rollback().await.expect("taken back");
        drop(two);
        assert_eq!(
            plan(&program::<forgetful::Club>(&store).await).await.unread,
            [unread(1, 2)],
            "{mode:?}: the first writes again"
        );
    }
}
