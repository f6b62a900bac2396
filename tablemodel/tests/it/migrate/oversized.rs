//! Entities that the new version could not store: a dry run tells those that the application then sets aside.

use super::{MODES, next, store_of};

/// A row of nearly 1 MiB.
mod before {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:04}")]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        #[table(flatten)]
        pub(crate) texts: [String; 16],
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

/// A motto of 2,000 bytes more, and the whole of it in another table.
mod after {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::before;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, previous = before::Person)]
    #[table(partition = "{club}", row = "p_{id:04}")]
    #[table(index(by_name, table = "People", partition = "{name}", row = "{club}_{id:04}"))]
    pub(crate) struct Person {
        pub(crate) club: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        #[table(flatten)]
        pub(crate) texts: [String; 16],
        pub(crate) motto: String,
    }

    impl Upgrade<before::Person> for Person {
        fn upgrade(old: before::Person) -> Result<Self, UpgradeError> {
            let before::Person { club, id, name, texts } = old;
            Ok(Self { club, id, name, texts, motto: "m".repeat(1_000) })
        }
    }

    #[derive(Debug, Clone, PartialEq, TableModel)]
    pub(crate) enum Club {
        Person(Person),
    }
}

#[tokio::test]
async fn what_would_be_too_large_is_told_before() {
    for mode in MODES {
        let store = store_of::<before::Club>(mode).await;
        // Some 1,000 bytes are free, so that the motto does not fit; or 2,800, and then its row in `People` does not.
        for (id, last) in (0_u32..).zip([100, 32_000, 31_100].into_iter().chain(vec![10; 210])) {
            let length = |at| match at {
                _ if last < 1_000 => 1,
                15 => last,
                _ => 32_768,
            };
            let texts = std::array::from_fn(|at| "t".repeat(length(at)));
            store
                .insert(&before::Person { club: "c".into(), id, name: "n".repeat(300), texts })
                .await
                .expect("written");
        }
        store.clock().advance(std::time::Duration::from_secs(130));
        let db = next::<after::Club>(&store).await;
        let dry = db.migrations().apply().dry_run(None).await.expect("read");
        let told: Vec<_> = dry.failures.iter().map(|failure| failure.key.row.as_str()).collect();
        assert_eq!((dry.failed, &told), (2, &vec!["p_0001", "p_0002"]), "{mode:?}: {:?}", dry.failures);
        assert!(dry.failures[0].error.contains("the row has 10"), "{mode:?}: {:?}", dry.failures);
        assert!(dry.failures[1].error.contains("a row of `by_name` cannot be stored"), "{mode:?}: {:?}", dry.failures);
        assert_eq!(db.migrations().apply().await.expect("applied").failed, 2, "{mode:?}");
        let aside = db.migrations().failures().await.expect("read");
        let mut aside: Vec<_> = aside.iter().map(|failure| failure.key.row.as_str()).collect();
        aside.sort_unstable();
        assert_eq!(aside, told, "{mode:?}");
    }
}
