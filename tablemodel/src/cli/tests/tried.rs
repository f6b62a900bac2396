//! A newer program that was tried on a store and has gone: what `apply` of the older one makes of it, and what a dry run says before.

use super::Folder;
use crate::{
    cli::outcome::{DONE, DRIFTED, Outcome},
    prelude::*,
};

mod older {
    use crate::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Clubs", partition = "{id:03}", row = "club", crate = "crate")]
    pub(super) struct Team {
        pub(super) id: u32,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:06}", crate = "crate")]
    #[table(index(by_city, row = "city_{city}_{id:06}", keys_only))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) city: String,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Club {
        Team(Team),
        Person(Person),
    }
}

mod newer {
    use super::older::Team;
    use crate::prelude::*;

    /// Its index has the same name, and other keys.
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", version = 2, partition = "{club}", row = "p_{id:06}", crate = "crate")]
    #[table(previous = super::older::Person)]
    #[table(index(by_city, row = "town_{city}_{id:06}", keys_only))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
        pub(super) city: String,
    }

    impl crate::Upgrade<super::older::Person> for Person {
        fn upgrade(old: super::older::Person) -> Result<Self, crate::UpgradeError> {
            Ok(Self { club: old.club, id: old.id, city: old.city })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Club {
        Team(Team),
        Person(Person),
    }
}

/// A folder with a store of the older program's persons, to which the newer one has written a team, and this person if any.
fn tried(person: Option<newer::Person>) -> Folder {
    let folder = Folder::new();
    super::store::within(async {
        let db = Database::open::<older::Club>(folder.path("club.tablemodel")).await.unwrap();
        db.ensure_tables().await.unwrap();
        let all = (0..300).map(|id| older::Person { club: "c".into(), id, city: "Oslo".into() });
        assert!(db.bulk().insert_all(futures_util::stream::iter(all)).await.unwrap().failed.is_empty());
        db.close().await.unwrap();
        let db = Database::open::<newer::Club>(folder.path("club.tablemodel")).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&older::Team { id: 1 }).await.unwrap();
        if let Some(person) = person {
            db.insert(&person).await.unwrap();
        }
        db.close().await.unwrap();
    });
    folder
}

fn run(folder: &Folder, words: &[&str]) -> Outcome {
    let path = folder.path("club.tablemodel");
    let words: Vec<_> = words.iter().copied().chain(["--store", path.to_str().unwrap()]).collect();
    folder.answer::<older::Club>(&words)
}

#[test]
fn a_newer_program_that_left_no_row_is_forgotten_by_apply_and_not_by_its_dry_run() {
    let folder = tried(None);
    let newer = || run(&folder, &["plan"]).data["newer"].as_array().unwrap().len();
    assert_eq!(newer(), 1);
    assert_eq!(run(&folder, &["apply", "--dry-run"]).code, DONE);
    assert_eq!(newer(), 1, "a dry run writes nothing");
    let applied = run(&folder, &["apply"]);
    assert_eq!(applied.code, DONE, "{:?}", applied.lines);
    assert_eq!(newer(), 0);
}

#[test]
fn over_rows_of_a_newer_program_a_dry_run_is_refused_as_apply_is() {
    let folder = tried(Some(newer::Person { club: "c".into(), id: 900, city: "Rome".into() }));
    for words in [["apply"].as_slice(), &["apply", "--dry-run"]] {
        let refused = run(&folder, words);
        let told = refused.lines.join("\n");
        assert!(refused.code == DRIFTED && told.contains("the store is newer than this program"), "{words:?}: {told}");
    }
}
