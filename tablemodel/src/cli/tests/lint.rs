//! What changed since a commit, and who may run beside whom.

use super::{Folder, RENAMED, first, none, second, third};

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
fn lint_compares_with_a_commit() {
    let folder = Folder::begun();
    folder.commit();
    assert_eq!(folder.run::<first::Model>("lint --against HEAD"), 0);
    assert_eq!(folder.run::<second::Model>("lint --against HEAD --level forward"), 2);
    assert_eq!(folder.run::<second::Model>("lint --against nowhere"), 1);
    assert_eq!(folder.run::<second::Model>("lint --against --level=full"), 1);
}

#[test]
fn an_entity_that_was_removed_breaks_every_level() {
    let folder = Folder::begun();
    folder.commit();
    for level in ["backward", "forward", "full"] {
        let outcome = folder.answer::<none::Model>(&["lint", "--against", "HEAD", "--level", level]);
        assert_eq!(outcome.code, 2, "{level}: {:?}", outcome.lines);
        assert_eq!(outcome.lines[0], "error Item: TM206 unsafe - entity Item", "{level}");
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
