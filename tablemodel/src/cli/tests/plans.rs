//! Plans on record: those that a call was about, and no others; and what is told while something is not finished.

use serde_json::json;

use super::{
    Folder,
    clubs::{forgetful, mended, new, old, unique},
    store::{fill, within},
};
use crate::{
    Error, ErrorKind,
    cli::outcome::{DONE, DRIFTED, Outcome, SET_ASIDE},
    format::Fingerprint,
    migrations::{Contracted, Migrations},
    prelude::*,
    testing::TestDatabase,
};

/// Persons are counted.
mod counted {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}", crate = "crate")]
    #[table(count(Team, key(club = club), into = members))]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team", crate = "crate")]
    pub(super) struct Team {
        pub(super) club: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Club {
        Person(Person),
        Team(Team),
    }
}

/// Guests are, in the same property.
mod exchanged {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "p_{id:04}", crate = "crate")]
    pub(super) struct Person {
        pub(super) club: String,
        pub(super) id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "g_{id:04}", crate = "crate")]
    #[table(count(Team, key(club = club), into = members))]
    pub(super) struct Guest {
        pub(super) club: String,
        pub(super) id: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Club", partition = "{club}", row = "team", crate = "crate")]
    pub(super) struct Team {
        pub(super) club: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Club {
        Person(Person),
        Guest(Guest),
        Team(Team),
    }
}

fn plan(id: &str) -> (String, Fingerprint) {
    (id.to_owned(), Fingerprint::of_text(id))
}

#[test]
fn a_plan_that_came_to_nothing_is_forgotten_and_never_taken_for_applied() {
    within(async {
        let db = TestDatabase::atomic::<old::Club>().await.unwrap();
        let migrations = db.migrations();
        let in_force = async || migrations.plans().await.unwrap().into_iter().map(|plan| plan.id).collect::<Vec<_>>();
        let (ours, other, third) = ([plan("0001_ours")], [plan("0001_other")], [plan("0001_ours"), plan("0002_third")]);
        migrations.begin_plans(&other).await.unwrap(); // whose `apply` was refused
        migrations.begin_plans(&ours).await.unwrap();
        migrations.finish_plans(&ours, None).await.unwrap();
        assert_eq!(in_force().await, ["0001_ours"]);

        migrations.begin_plans(&third).await.unwrap();
        migrations.finish_plans(&ours, None).await.unwrap();
        assert_eq!(in_force().await, ["0001_ours"], "the other one was not what was applied");
        migrations.finish_plans(&other, None).await.unwrap();
        assert_eq!(in_force().await, ["0001_ours"], "it is forgotten");
    });
}

fn run<M: TableModel>(folder: &Folder, words: &str) -> Outcome {
    let path = folder.path("club.tablemodel");
    let words: Vec<_> = words.split(' ').chain(["--store", path.to_str().unwrap()]).collect();
    folder.answer::<M>(&words)
}

#[test]
fn what_cannot_be_built_yet_is_named_and_its_plan_is_not_applied() {
    let folder = Folder::new();
    within(async {
        let db = Database::open::<counted::Club>(folder.path("club.tablemodel")).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.insert(&counted::Person { club: "c".into(), id: 1 }).await.unwrap();
        db.close().await.unwrap();
        let db = Database::open::<exchanged::Club>(folder.path("club.tablemodel")).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.close().await.unwrap();
    });
    std::fs::create_dir_all(folder.path("tablemodel/migrations")).unwrap();
    std::fs::write(folder.path("tablemodel/migrations/0001_guests.toml"), "id = \"0001_guests\"\nparent = \"\"\n")
        .unwrap();
    let released = |words| run::<exchanged::Club>(&folder, words);
    for words in ["apply --dry-run", "apply"] {
        let refused = released(words);
        let told = refused.lines.join("\n");
        assert!(refused.code == DRIFTED && told.contains("Guest.~Team.Members  absent  cannot be built"), "{told}");
        assert!(!told.contains("nothing to do") && refused.data["unsupported"][0]["entity"] == "Guest", "{told}");
    }
    assert!(released("plan").lines.contains(&"plan 0001_guests: not applied".to_owned()));
    assert_eq!(released("contract").code, DONE);
    assert_eq!(released("apply").code, DONE);
    assert!(!released("plan").lines.contains(&"plan 0001_guests: not applied".to_owned()));
}

#[test]
fn what_is_not_finished_is_not_contracted_and_who_could_end_it_is_told() {
    let folder = Folder::new();
    fill(&folder.path("club.tablemodel"), 300);
    within(async {
        let db = Database::open::<unique::Club>(folder.path("club.tablemodel")).await.unwrap();
        let mut one = unique::Person::find().club("c1").id(6).one(&db).await.unwrap().unwrap();
        one.badge = 11; // as that of person 11
        db.save(&mut one).await.unwrap();
        db.close().await.unwrap();
    });
    assert_eq!(run::<unique::Club>(&folder, "apply").code, SET_ASIDE);
    let refused = run::<unique::Club>(&folder, "contract");
    let told = refused.lines.join("\n");
    assert!(refused.code == DRIFTED && told.contains("finish it by `apply`, or take it back by `rollback`"), "{told}");
}

#[test]
fn a_plan_whose_migration_the_program_had_made_before_is_taken_back_with_it() {
    let folder = Folder::new();
    assert_eq!(folder.run::<old::Club>("init"), DONE);
    assert_eq!(folder.run::<unique::Club>("diff --name badges"), DONE);
    fill(&folder.path("club.tablemodel"), 100); // so few that they are written anew at once
    within(async {
        let db = Database::open::<unique::Club>(folder.path("club.tablemodel")).await.unwrap();
        db.ensure_tables().await.unwrap();
        db.close().await.unwrap();
    });
    let released = |words| run::<unique::Club>(&folder, words);
    assert_eq!(released("apply").lines, ["nothing to do"]);
    assert_eq!(released("status").data["plans"][0]["migration"], json!(null));
    assert_eq!(released("rollback").code, DONE);
    assert_eq!(released("status").data["plans"], json!([]));
    assert_eq!(released("plan").data["plans"], json!(["0001_badges"]));
    assert_eq!(released("apply").code, DONE);
    assert_eq!(released("status").data["plans"][0]["migration"], "0003");
}

/// Begins to take back, or away, and is stopped.
fn stopped<M: TableModel>(folder: &Folder, work: impl AsyncFnOnce(&Migrations) -> Result<Contracted, Error>) {
    within(async {
        let db = Database::open::<M>(folder.path("club.tablemodel")).await.unwrap();
        let error = work(&db.migrations().stop_when(|| true)).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Stopped, "{error:?}");
        db.close().await.unwrap();
    });
}

#[test]
fn what_takes_rows_away_is_gone_on_with_by_the_command_that_began_it() {
    let folder = Folder::new();
    fill(&folder.path("club.tablemodel"), 300);
    let says = |outcome: Outcome, code: u8, words: &str| {
        let told = outcome.lines.join("\n");
        assert!(outcome.code == code && told.contains(words), "{words}: {told}");
        outcome.data
    };
    assert_eq!(run::<new::Club>(&folder, "apply").code, DONE);
    stopped::<new::Club>(&folder, async |migrations| migrations.rollback().await);
    let plan = says(run::<new::Club>(&folder, "plan"), DONE, "migration 0002 is not finished: `rollback` goes on");
    assert_eq!((&plan["unfinished"], &plan["goes_on"]), (&json!("0002"), &json!("rollback")));
    for words in ["pause", "resume", "set --rate 5"] {
        says(run::<new::Club>(&folder, words), DRIFTED, "stop the `rollback` (Ctrl-C)");
    }
    assert_eq!(run::<new::Club>(&folder, "rollback").code, DONE);

    assert_eq!(run::<new::Club>(&folder, "apply").code, DONE);
    stopped::<old::Club>(&folder, async |migrations| migrations.contract().await);
    let plan =
        says(run::<old::Club>(&folder, "plan --check"), DONE, "migration 0004 is not finished: `contract` goes on");
    assert_eq!((&plan["due"], &plan["goes_on"]), (&json!(false), &json!("contract")));
    says(run::<old::Club>(&folder, "pause"), DRIFTED, "stop the `contract` (Ctrl-C)");
    says(run::<old::Club>(&folder, "rollback"), DRIFTED, "no way back: call `contract`");
    assert_eq!(run::<old::Club>(&folder, "contract").code, DONE);
}

#[test]
fn rows_stay_of_the_version_that_is_taken_back_and_versions_that_are_not_read_are_told() {
    let folder = Folder::new();
    fill(&folder.path("club.tablemodel"), 300);
    for command in ["plan", "apply"] {
        let told = run::<forgetful::Club>(&folder, command);
        let unread = told.lines.iter().find(|line| line.starts_with("Person@1  unread  ")).expect(command);
        assert!(unread.contains("before version 2: name the older structs by `previous`"), "{command}: {unread}");
    }
    // `apply` would be refused.
    let checked = run::<forgetful::Club>(&folder, "plan --check");
    assert_eq!((checked.code, &checked.data["due"]), (DRIFTED, &json!(true)), "{:?}", checked.lines);
    assert_eq!(checked.data["unread"], json!([{ "entity": "Person", "version": 1, "reads": 2 }]));

    assert_eq!(run::<mended::Club>(&folder, "apply").code, DONE);
    assert_eq!(run::<forgetful::Club>(&folder, "plan").data["unread"], json!([]));
    let back = run::<mended::Club>(&folder, "rollback").lines;
    let line = "  Person@2  absent  taken back: rows that were written as this version stay so";
    assert_eq!(back.get(1).map(String::as_str), Some(line), "{back:?}");
}

#[test]
fn a_program_that_cannot_read_what_rows_may_be_of_applies_nothing_and_has_no_plan_on_record() {
    let folder = Folder::new();
    fill(&folder.path("club.tablemodel"), 300);
    assert_eq!(folder.run::<old::Club>("init"), DONE);
    assert_eq!(folder.run::<forgetful::Club>("diff --name town --no-rename"), DONE); // and what is next is not done yet
    for command in ["apply", "apply --dry-run"] {
        let refused = run::<forgetful::Club>(&folder, command);
        assert_eq!(refused.code, DRIFTED, "{command}: {:?}", refused.lines);
        assert_eq!(refused.data["unread"], json!([{ "entity": "Person", "version": 1, "reads": 2 }]));
        assert!(refused.lines.iter().all(|line| line.contains("name the older structs by `previous`")), "{refused:?}");
    }
    assert_eq!(run::<forgetful::Club>(&folder, "status").data["plans"], json!([]));

    assert_eq!(run::<mended::Club>(&folder, "apply").code, DONE);
    assert_eq!(run::<mended::Club>(&folder, "status").data["plans"][0]["plan"], "0001_town");
    assert_eq!(run::<forgetful::Club>(&folder, "apply").code, DONE); // none is of the first any more
}
