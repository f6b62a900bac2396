//! What changed since a commit, and who may run beside whom.

use super::releases::{early, plain, read, unread};
use super::{Folder, RENAMED, first, none, second, third};

impl crate::Upgrade<plain::Item> for read::Item {
    fn upgrade(plain::Item { shelf, id }: plain::Item) -> Result<Self, crate::UpgradeError> {
        Ok(Self { shelf, id, note: None })
    }
}

#[test]
fn a_version_that_old_programs_may_not_read_breaks_what_they_need() {
    let folder = Folder::new();
    assert_eq!(folder.run::<plain::Model>("init"), 0);
    folder.commit();
    for (level, unread) in [("backward", 0), ("forward", 2), ("full", 2)] {
        let words = ["lint", "--against", "HEAD", "--level", level];
        let outcome = folder.answer::<unread::Model>(&words);
        assert_eq!(outcome.code, unread, "{level}: {:?}", outcome.lines);
        if unread > 0 {
            let line = outcome.lines.iter().find(|line| line.starts_with("error Item: TM202")).unwrap();
            assert!(line.contains("see `readable_by`"), "{line}");
        }
        assert_eq!(folder.answer::<read::Model>(&words).code, 0, "{level}");
    }
}

/// What `lint` would tell once `diff` has asked for the version it tells before.
#[test]
fn a_change_without_its_new_version_is_told_as_one_with_it() {
    let folder = Folder::new();
    assert_eq!(folder.run::<plain::Model>("init"), 0);
    folder.commit();
    let told = |outcome: crate::cli::outcome::Outcome| {
        (outcome.code, outcome.lines.into_iter().find(|line| line.contains("TM202")))
    };
    let words = ["lint", "--against", "HEAD", "--level", "forward"];
    let early = told(folder.answer::<early::Model>(&words));
    assert_eq!(early, told(folder.answer::<unread::Model>(&words)));
    assert!(early.0 == 2 && early.1.is_some(), "{early:?}");
}

impl Folder {
    fn git(&self, words: &[&str]) {
        let own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let run = std::process::Command::new("git").arg("-C").arg(self.folder.path()).args(own).args(words).output();
        assert!(run.unwrap().status.success(), "{words:?}");
    }

    fn commit(&self) {
        self.git(&["init"]);
        self.git(&["add", "."]);
        self.git(&["commit", "-m", "all"]);
    }
}

#[test]
fn since_a_commit_without_a_lock_all_is_new() {
    let folder = Folder::new();
    folder.commit();
    assert_eq!(folder.run::<first::Model>("init"), 0);
    let told = folder.answer::<first::Model>(&["lint", "--against", "HEAD", "--level", "full"]);
    assert_eq!(
        (told.code, told.lines.as_slice()),
        (0, &["there was no tablemodel.lock at HEAD: all is new".to_owned()][..])
    );
    assert_eq!(folder.run::<first::Model>("lint --against HEAD~1"), 1);
}

#[test]
fn lint_compares_with_a_commit() {
    let folder = Folder::begun();
    folder.commit();
    assert_eq!(folder.run::<first::Model>("lint --against HEAD"), 0);
    assert_eq!(folder.run::<second::Model>("lint --against HEAD --level forward"), 2);
    assert_eq!(folder.run::<second::Model>("lint --against nowhere"), 1);
    assert_eq!(folder.run::<second::Model>("lint --against --level=full"), 1);
}

/// The plan says which property it was.
#[test]
fn a_rename_that_was_said_is_no_new_value() {
    let folder = Folder::begun();
    folder.commit();
    let words = ["lint", "--against", "HEAD", "--level", "backward"];
    let unsaid = folder.answer::<second::Model>(&words);
    assert_eq!(unsaid.code, 2, "{:?}", unsaid.lines);
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let outcome = folder.answer::<second::Model>(&words);
    assert_eq!(outcome.code, 0, "{:?}", outcome.lines);
    assert!(outcome.lines.iter().any(|line| line.starts_with("ok    Item: TM104")), "{:?}", outcome.lines);
}

#[test]
fn an_entity_that_was_removed_breaks_every_level() {
    let folder = Folder::begun();
    folder.commit();
    for level in ["backward", "forward", "full"] {
        let outcome = folder.answer::<none::Model>(&["lint", "--against", "HEAD", "--level", level]);
        assert_eq!(outcome.code, 2, "{level}: {:?}", outcome.lines);
        assert_eq!(outcome.lines[0], "error Item: TM206 unsafe - entity Item@1", "{level}");
        assert_eq!(outcome.lines[1], "1 of 1 changes since HEAD break the level", "{level}");
    }
}

#[test]
fn a_name_that_returns_is_told_as_such() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    folder.commit();
    let outcome = folder.answer::<third::Model>(&["lint", "--against", "HEAD"]);
    assert_eq!(outcome.code, 2);
    let line = |of: &&String| of.contains("property Qty");
    let told = outcome.lines.iter().find(line).unwrap();
    assert!(told.starts_with("error Item: TM107 unsafe + property Qty"), "{told}");
    let checked = folder.answer::<third::Model>(&["check"]);
    assert!(checked.lines.iter().any(|line| line.starts_with("Item: TM107")), "{:?}", checked.lines);
}

#[test]
fn an_index_that_was_removed_is_one_that_old_programs_miss_rows_by() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    folder.commit();
    let removed = |level: &str| {
        let outcome = folder.answer::<third::Model>(&["lint", "--against", "HEAD", "--level", level]);
        outcome.lines.into_iter().find(|line| line.contains("TM402")).unwrap()
    };
    assert!(removed("backward").starts_with("ok "), "new programs do without it");
    assert!(removed("forward").starts_with("error "), "old ones read by it");
    assert!(removed("full").starts_with("error "));
}
