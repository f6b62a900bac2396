//! The commands over a store: each on a file, by its words, with its exit code, text and JSON.

use std::{path::PathBuf, time::Duration};

use serde_json::json;
use tablemodel_store::{EmbeddedStore, TableStore};

use super::{
    Folder,
    clubs::{mended, new, old, picky, unique},
    first,
};
use crate::{
    Consistency,
    cli::{
        Model,
        outcome::{DONE, DRIFTED, FAILED, Outcome, SET_ASIDE, WAITING},
    },
    prelude::*,
    store::{Action, Batch, Condition},
};

pub(super) fn person(id: u32, badge: u32) -> old::Person {
    old::Person { club: format!("c{}", id % 5), id, city: ["Oslo", "Rome"][id as usize % 2].into(), badge }
}

pub(super) fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

/// A file with so many persons of the first release.
pub(super) fn fill(path: &std::path::Path, persons: u32) {
    within(async {
        let db = Database::open::<old::Club>(path).await.unwrap();
        db.ensure_tables().await.unwrap();
        let all = futures_util::stream::iter((0..persons).map(|id| person(id, id)));
        assert_eq!(db.bulk().insert_all(all).await.unwrap().failed.len(), 0);
        db.close().await.unwrap();
    });
}

/// A package, and a store beside it.
pub(super) struct Store {
    pub(super) folder: Folder,
    path: PathBuf,
}

impl Store {
    pub(super) fn with(persons: u32) -> Self {
        let folder = Folder::new();
        let path = folder.path("club.tablemodel");
        fill(&path, persons);
        Self { folder, path }
    }

    fn run<M: TableModel>(&self, words: &str) -> Outcome {
        let path = self.path.to_str().unwrap();
        let words: Vec<_> = words.split(' ').chain(["--store", path]).collect();
        self.folder.answer::<M>(&words)
    }

    /// Runs a command that must end with this code; gives its text.
    pub(super) fn text<M: TableModel>(&self, code: u8, words: &str) -> String {
        let outcome = self.run::<M>(words);
        let text = outcome.lines.join("\n");
        assert_eq!(outcome.code, code, "{words}: {text}");
        text
    }

    pub(super) fn json<M: TableModel>(&self, code: u8, words: &str) -> serde_json::Value {
        let outcome = self.run::<M>(words);
        assert_eq!(outcome.code, code, "{words}: {:?}", outcome.lines);
        outcome.data
    }

    /// Works on the file in between.
    fn open<T>(&self, work: impl AsyncFnOnce(&Database) -> T) -> T {
        within(async {
            let db = Database::open::<unique::Club>(&self.path).await.unwrap();
            let result = work(&db).await;
            db.close().await.unwrap();
            result
        })
    }
}

const BUILT: [&str; 2] = ["Person.by_city", "Person.by_badge"];

#[test]
fn a_store_is_planned_sized_built_and_verified() {
    let store = Store::with(900);
    let plan = store.text::<new::Club>(DONE, "plan");
    assert_eq!(plan, "Person.by_city  absent  to be built by `apply`\nPerson.by_badge  absent  to be built by `apply`");
    assert_eq!(store.json::<new::Club>(DRIFTED, "plan --check")["due"], true);
    assert_eq!(store.text::<new::Club>(DONE, "status"), "no migration was ever applied");

    let dry = store.json::<new::Club>(DONE, "apply --dry-run --rate 100/s");
    assert_eq!((&dry["entities"], &dry["rows"], &dry["seconds"]), (&json!(900), &json!(1_800), &json!(9.0)));
    let dry = store.text::<new::Club>(DONE, "apply --dry-run --sample 100 --rate 10");
    assert!(dry.contains("900 entities, of which 100 were read; 1800 derived rows to write"), "{dry}");
    assert!(dry.ends_with("90 s at this rate"), "{dry}");
    assert_eq!(store.json::<new::Club>(DONE, "plan")["steps"][0]["state"], "absent", "a dry run writes nothing");

    let applied = store.text::<new::Club>(DONE, "apply --workers 2 --batch 50");
    assert!(applied.starts_with("migration 0001: 900 entities written once more\n"), "{applied}");
    for index in BUILT {
        assert!(applied.contains(&format!("{index}  readable")), "{applied}");
    }
    assert_eq!(store.text::<new::Club>(DONE, "apply"), "nothing to do");
    assert_eq!(store.text::<new::Club>(DONE, "plan --check"), "nothing to do");
    let status = store.json::<new::Club>(DONE, "status");
    assert_eq!((&status["is"], &status["touched"], &status["failed"]), (&json!("finished"), &json!(900), &json!(0)));
    let verified = store.json::<new::Club>(DONE, "verify");
    assert_eq!((&verified["entities"], &verified["derived"]), (&json!(900), &json!(1_800)));
    assert_eq!(store.text::<new::Club>(DONE, "failures"), "no entity is set aside");
}

#[test]
fn what_was_built_is_taken_back_and_what_was_dropped_is_taken_away() {
    let store = Store::with(300);
    store.text::<new::Club>(DONE, "apply");
    let back = store.json::<new::Club>(DONE, "rollback");
    assert_eq!((&back["rows"], &back["steps"][0]["state"]), (&json!(600), &json!("absent")));
    assert_eq!(store.json::<new::Club>(DONE, "status")["is"], "taken away");
    assert_eq!(store.json::<new::Club>(DONE, "verify")["derived"], 0);
    assert!(store.text::<new::Club>(DRIFTED, "rollback").contains("no migration to take back"));

    store.text::<new::Club>(DONE, "apply");
    let plan = store.text::<old::Club>(DONE, "plan --check");
    assert!(plan.contains("Person.by_city  readable  dropped: `contract` takes it away"), "{plan}");
    assert_eq!(store.text::<old::Club>(DONE, "contract").lines().next(), Some("migration 0004: 600 rows deleted"));
    assert_eq!(store.text::<old::Club>(DONE, "contract"), "nothing to take away");
    assert_eq!(store.json::<old::Club>(DONE, "verify")["rows"], 300);
}

#[test]
fn entities_that_cannot_be_written_are_set_aside_until_they_are_put_right() {
    let store = Store::with(300);
    store.open(async |db| {
        let mut one = unique::Person::find().club("c1").id(6).one(db).await.unwrap().unwrap();
        one.badge = 11; // as that of person 11
        db.save(&mut one).await.unwrap();
    });
    let dry = store.json::<unique::Club>(SET_ASIDE, "apply --dry-run");
    assert_eq!((&dry["failed"], &dry["failures"][0]["entity"]), (&json!(1), &json!("Person")));
    let applied = store.text::<unique::Club>(SET_ASIDE, "apply");
    assert!(applied.contains("1 entities are set aside") && applied.contains("write-only"), "{applied}");
    assert!(!applied.contains("not reached"), "{applied}");
    let failures = store.json::<unique::Club>(SET_ASIDE, "failures");
    assert_eq!(failures["failures"][0]["partition"], "c1", "{failures}");
    assert_eq!(store.json::<unique::Club>(SET_ASIDE, "retry-failures")["left"], 1);

    // While it is unfinished it can be paused and limited.
    assert!(store.text::<unique::Club>(DONE, "pause").starts_with("paused"));
    assert_eq!(store.json::<unique::Club>(WAITING, "apply")["paused"], true);
    assert_eq!(store.json::<unique::Club>(DONE, "status")["is"], "paused");
    assert_eq!(store.text::<unique::Club>(DONE, "set --rate 750/s"), "at most 750 entities a second");
    assert_eq!(store.json::<unique::Club>(DONE, "status")["rate"], 750.0);
    assert_eq!(store.json::<unique::Club>(DONE, "set --rate none")["rate"], json!(null));
    assert_eq!(store.json::<unique::Club>(DONE, "resume")["paused"], false);

    store.open(async |db| {
        for id in [6, 11] {
            let mut one = unique::Person::find().club("c1").id(id).one(db).await.unwrap().unwrap();
            one.badge = 1_000 + id;
            db.save(&mut one).await.unwrap();
        }
    });
    assert_eq!(store.json::<unique::Club>(DONE, "retry-failures")["left"], 0);
    assert!(store.text::<unique::Club>(DONE, "apply").contains("Person.by_badge  readable"));
    assert_eq!(store.json::<unique::Club>(DONE, "verify")["derived"], 300);
}

#[test]
fn an_upgrade_that_fails_sets_its_row_aside_until_the_program_is_mended() {
    let store = Store::with(300);
    assert_eq!(store.json::<picky::Club>(SET_ASIDE, "apply --dry-run")["failed"], 1);
    let applied = store.json::<picky::Club>(SET_ASIDE, "apply");
    assert_eq!((&applied["touched"], &applied["failed"]), (&json!(299), &json!(1)));
    assert_eq!((&applied["steps"][0]["rewrite"], &applied["steps"][0]["state"]), (&json!(2), &json!("write-only")));
    let failures = store.text::<picky::Club>(SET_ASIDE, "failures");
    assert!(failures.contains("(c2, p_000007)") && failures.contains("nobody knows badge 7"), "{failures}");
    assert_eq!(store.json::<picky::Club>(SET_ASIDE, "retry-failures")["left"], 1);

    assert_eq!(store.json::<mended::Club>(DONE, "retry-failures")["left"], 0);
    assert_eq!(store.text::<mended::Club>(DONE, "retry-failures"), "no entity is set aside");
    assert!(store.text::<mended::Club>(DONE, "apply").contains("Person@2  readable"));
    assert_eq!(store.json::<mended::Club>(DONE, "plan")["rewrites"][0]["known"], 2);
    store.text::<mended::Club>(DONE, "verify");
}

#[test]
fn what_is_wrong_with_rows_is_reported_and_repaired() {
    let store = Store::with(300);
    store.text::<new::Club>(DONE, "apply");
    within(async {
        let embedded = EmbeddedStore::open(&store.path).unwrap();
        let delete = Action::Delete(Condition::Exists);
        embedded.commit(&[Batch::new("Club", "c1").with("city_Rome_000001", delete)]).await.unwrap();
        embedded.close().await.unwrap();
    });
    let wrong = store.json::<new::Club>(DRIFTED, "verify");
    assert_eq!(
        (&wrong["violations"][0]["kind"], &wrong["violations"][0]["row"]),
        (&json!("Missing"), &json!("city_Rome_000001"))
    );
    assert!(store.text::<new::Club>(DRIFTED, "verify").contains("1 violations\nMissing in Club"));
    let repaired = store.json::<new::Club>(DONE, "verify --repair");
    assert_eq!((&repaired["repaired"], &repaired["left"]), (&json!(1), &json!([])));
    assert!(store.text::<new::Club>(DONE, "verify").contains("0 violations"));
}

#[test]
fn words_and_stores_that_are_not_understood_are_errors_that_say_what_to_do() {
    let store = Store::with(10);
    let says = |code: u8, words: &[&str], what: &str| {
        let outcome = store.folder.answer::<new::Club>(words);
        assert_eq!(outcome.code, code, "{words:?}: {:?}", outcome.lines);
        assert!(outcome.lines[0].starts_with("error: ") && outcome.lines[0].contains(what), "{:?}", outcome.lines);
        assert!(outcome.data["error"].as_str().unwrap().contains(what));
    };
    says(FAILED, &["plan", "--store", "azure:account"], "`azure:` is no kind of store");
    says(FAILED, &["plan", "--store", "nowhere.tablemodel"], "no such file");
    let folder = store.path.parent().unwrap();
    says(
        FAILED,
        &["plan", "--store", folder.to_str().unwrap()],
        "this is a directory; give the path of the store's file",
    );
    says(FAILED, &["plan", "--store", ""], "--store");
    let path = store.path.to_str().unwrap();
    says(DRIFTED, &["plan", "--store", path, "--prefix", "other"], "none of this program's entities");
    says(DRIFTED, &["pause", "--store", path], "no migration is unfinished");
    let embedded = format!("embedded:{path}");
    assert_eq!(store.folder.answer::<new::Club>(&["plan", "--store", &embedded]).code, DONE);
    let other = store.folder.answer::<first::Model>(&["apply", "--store", path]);
    assert_eq!(other.code, DRIFTED, "{other:?}");
    for words in ["apply --rate 0", "apply --rate fast", "apply --sample 3", "set", "set --rate -1", "verify --mend"] {
        assert_eq!(store.folder.run::<new::Club>(&format!("{words} --store {path}")), FAILED, "{words}");
    }
    let open = EmbeddedStore::open(&store.path).unwrap();
    says(FAILED, &["apply", "--store", path], "open elsewhere");
    drop(open);
}

#[test]
fn several_models_share_a_store() {
    let store = Store::with(300);
    let models = [Model::of::<first::Model>(), Model::of::<new::Club>()];
    let applied = store.folder.answer_of(&models, &["apply", "--store", store.path.to_str().unwrap()]);
    assert_eq!(applied.code, DONE, "{applied:?}");
    let tables = store.open(async |db| db.list_tables().await.unwrap());
    assert!(!tables.contains(&"Stock".to_owned()), "the other model's tables are its program's to make: {tables:?}");
}

#[test]
fn a_program_that_is_not_what_was_locked_writes_nothing() {
    let store = Store::with(300);
    assert_eq!(store.folder.run::<first::Model>("init"), DONE);
    for words in ["apply", "contract", "rollback", "retry-failures", "verify --repair"] {
        let refused = store.json::<new::Club>(DRIFTED, words);
        assert!(refused["drift"][0].as_str().unwrap().contains("not in the lock"), "{words}: {refused}");
    }
    assert_eq!(store.json::<new::Club>(DONE, "plan")["steps"][0]["state"], "absent");
}

#[test]
fn a_plan_is_recorded_with_what_it_built_and_refused_once_it_is_another() {
    let store = Store::with(300);
    let folder = &store.folder;
    assert_eq!(folder.run::<old::Club>("init"), DONE);
    assert_eq!(folder.run::<unique::Club>("diff --name unique_badges"), DONE);
    let plan = store.text::<unique::Club>(DONE, "plan");
    assert!(plan.starts_with("plan 0001_unique_badges: not applied\n"), "{plan}");
    assert!(plan.ends_with("Person@2  absent  rows of older versions: `apply` writes them anew"), "{plan}");
    store.text::<unique::Club>(DONE, "apply");
    let status = store.json::<unique::Club>(DONE, "status");
    assert_eq!(status["plans"][0]["plan"], "0001_unique_badges");
    assert_eq!(status["plans"][0]["migration"], "0001");
    assert!(store.text::<unique::Club>(DONE, "status").starts_with("plan 0001_unique_badges: applied "));

    // Edited, with a lock that says so: to the chain nothing is wrong.
    let edited = |to: &str| {
        let path = "tablemodel/migrations/0001_unique_badges.toml";
        let before = crate::format::Fingerprint::of_text(&folder.read(path)).to_string();
        std::fs::write(folder.path(path), folder.read(path) + to).unwrap();
        folder.edit("tablemodel.lock", &before, &crate::format::Fingerprint::of_text(&folder.read(path)).to_string());
    };
    edited("# another word\n");
    assert_eq!(folder.run::<unique::Club>("check"), DONE);
    for words in ["plan", "apply", "apply --dry-run", "contract", "rollback", "retry-failures"] {
        assert!(store.text::<unique::Club>(DRIFTED, words).contains("was edited after it was applied"), "{words}");
    }
    // A store that has a plan which the program lacks is newer, or another's.
    let other = Folder::new();
    assert_eq!(other.run::<unique::Club>("init"), DONE);
    let refused = other.answer::<unique::Club>(&["apply", "--store", store.path.to_str().unwrap()]);
    assert_eq!(refused.code, DRIFTED);
    assert!(refused.lines[0].contains("this program does not have it"), "{refused:?}");
}

#[test]
fn a_plan_that_was_taken_back_may_be_another() {
    let store = Store::with(300);
    assert_eq!(store.folder.run::<old::Club>("init"), DONE);
    assert_eq!(store.folder.run::<unique::Club>("diff --name unique_badges"), DONE);
    store.text::<unique::Club>(DONE, "apply");
    store.text::<unique::Club>(DONE, "rollback");
    assert_eq!(store.json::<unique::Club>(DONE, "status")["plans"], json!([]));
    assert_eq!(store.json::<unique::Club>(DONE, "plan")["plans"], json!(["0001_unique_badges"]));
    store.text::<unique::Club>(DONE, "apply");
    assert_eq!(store.json::<unique::Club>(DONE, "status")["plans"][0]["migration"], "0003");
}

#[test]
fn an_older_program_leaves_what_a_newer_one_keeps() {
    let store = Store::with(300);
    store.text::<unique::Club>(DONE, "apply");
    let plan = store.text::<old::Club>(DONE, "plan");
    assert_eq!(
        plan.lines().collect::<Vec<_>>(),
        [
            "Person@2  readable  of a newer program: use that one",
            "Person.by_badge  readable  of a newer program: use that one"
        ]
    );
    let rows = || {
        let mut rows = store.open(async |db| db.registry_rows_for_tests().await);
        rows.retain(|row| !row.starts_with("app|")); // of the programs that look
        rows.sort();
        rows
    };
    let before = rows();
    for words in ["contract", "apply --dry-run", "apply", "rollback"] {
        let refused = store.text::<old::Club>(DRIFTED, words);
        assert!(refused.contains("the store is newer than this program"), "{words}: {refused}");
    }
    assert_eq!(rows(), before, "nothing was recorded");
    assert_eq!(store.json::<unique::Club>(DONE, "plan")["steps"], json!([]), "they took no index out of use");
    assert_eq!(store.json::<unique::Club>(DONE, "verify")["derived"], 300);
}

#[test]
fn programs_that_are_alive_and_do_not_know_what_is_built_are_waited_for() {
    let store = Store::with(300);
    within(async {
        let builder = Database::builder().consistency(Consistency::Azure);
        let old = builder.open::<old::Club>(&store.path).await.unwrap();
        old.insert(&person(5_000, 5_000)).await.unwrap(); // and dies without a word
    });
    let waits = store.text::<new::Club>(WAITING, "apply --consistency azure --wait 1");
    assert!(waits.contains("programs are alive that"), "{waits}");
    assert_eq!(store.json::<new::Club>(DONE, "status --consistency azure")["is"], "unfinished");
    // Another that is at work on it.
    within(async {
        let builder = Database::builder().consistency(Consistency::Azure);
        let other = builder.open::<new::Club>(&store.path).await.unwrap();
        let work = other.migrations().apply();
        assert!(tokio::time::timeout(Duration::from_millis(300), work).await.is_err(), "it waits until it is dropped");
    });
    let running = store.text::<new::Club>(WAITING, "apply --consistency azure --wait 1");
    assert!(running.contains("another call is at work on migration 0001"), "{running}");
    // In the atomic mode whoever has the file has the migration, and knows that nobody else lives.
    store.text::<new::Club>(DONE, "apply --consistency atomic");
}

#[test]
fn a_program_that_ended_well_is_not_waited_for() {
    let store = Store::with(20);
    store.text::<new::Club>(DRIFTED, "pause --consistency azure");
    let leases = within(async {
        let db = Database::builder().consistency(Consistency::Azure).read_only().open::<old::Club>(&store.path);
        let db = db.await.unwrap();
        db.registry_rows_for_tests().await.into_iter().filter(|row| row.starts_with("app|")).count()
    });
    assert_eq!(leases, 0);
}

#[test]
fn golden_rows_are_taken_from_a_store_and_read_by_every_later_version() {
    let store = Store::with(300);
    let folder = &store.folder;
    assert_eq!(folder.run::<old::Club>("init"), DONE);
    assert!(store.text::<old::Club>(DONE, "golden --rows 7").contains("(7 rows)"));
    let golden = "tablemodel/golden/person_v1.jsonl";
    let rows = folder.read(golden);
    assert_eq!(rows.lines().count(), 7);
    assert!(store.text::<old::Club>(DONE, "golden --rows 9").starts_with("kept "));
    assert_eq!(folder.read(golden), rows, "golden rows do not change");
    assert!(store.text::<old::Club>(FAILED, "golden --entity Nobody").contains("it has Person"));
    let none = <super::Arguments as clap::Parser>::try_parse_from(["cargo tablemodel", "golden", "--rows", "0"]);
    assert!(none.is_err_and(|error| error.to_string().contains("at least one")));

    assert_eq!(folder.run::<unique::Club>("diff --name unique_badges"), DONE);
    let checked = folder.answer::<unique::Club>(&["check"]);
    assert_eq!((checked.code, &checked.data["golden"]), (DONE, &json!({ "Person@1": 7 })), "{checked:?}");
    folder.edit(golden, "\"Badge\":", "\"Bridge\":");
    let checked = folder.answer::<unique::Club>(&["check"]);
    assert!(checked.code == DRIFTED && checked.lines[0].contains("golden/person_v1.jsonl: Person"), "{checked:?}");
}
