//! Locks: read back as they were written, and refused when they were not.

use proptest::{collection::vec, prelude::*};

use super::super::{Fingerprint, Lock, LockProblem, LockedPlan, Section, arbitrary};

fn lock() -> impl Strategy<Value = Lock> {
    (vec(arbitrary::format(), 0..5), any::<Option<u128>>()).prop_map(|(formats, plan)| {
        let plan = plan.map(|plan| LockedPlan { id: "0001_first".to_owned(), fingerprint: Fingerprint(plan) });
        let mut lock = Lock::default();
        lock.plan = plan;
        formats.into_iter().for_each(|format| lock.set(Section { format, crate_name: "company".to_owned() }));
        lock
    })
}

proptest! {
    #[test]
    fn a_lock_is_read_back_from_its_text(lock in lock()) {
        let text = lock.to_string();
        prop_assert_eq!(Lock::parse(&text), Ok(lock.clone()));
        prop_assert_eq!(Lock::parse(&text.replace('\n', "\r\n")), Ok(lock));
    }

    #[test]
    fn a_lock_with_a_line_less_is_another_or_none(lock in lock(), at in any::<prop::sample::Index>()) {
        let text = lock.to_string();
        let mut lines: Vec<&str> = text.lines().collect();
        let gone = lines.remove(at.index(lines.len()));
        let is_remark = gone.is_empty() || gone.starts_with("# How");
        prop_assert_eq!(Lock::parse(&(lines.join("\n") + "\n")) == Ok(lock), is_remark, "{}", gone);
    }
}

fn text() -> String {
    let lines = ["table Company", "key partition \"{Department:text}\"", "key row \"{Id:u32}\"", "adopt"];
    let format = super::Format::parse("Employee", 2, lines).unwrap();
    let mut lock = Lock::default();
    lock.set(Section { format, crate_name: "company".to_owned() });
    lock.to_string()
}

#[test]
fn each_kind_of_damage_is_named_with_its_line_and_remedy() {
    let good = text();
    let twice = good.clone() + good.split_once("\n\n").unwrap().1;
    let cases = [
        (good.replace("# tablemodel.lock", "# table"), 1, "this is no lock"),
        (good.replace("format 1", "format 2"), 1, "which this version of tablemodel does not know"),
        (good.replace("  adopt\n", ""), 4, "section `Employee@2`: it was edited"),
        (good.replace("u32", "u64"), 4, "section `Employee@2`: it was edited"),
        (good.replace("adopt", "adapt"), 4, "`adapt ` is not understood"),
        (format!("<<<<<<< HEAD\n{good}"), 1, "a merge conflict"),
        (good.replace("  adopt\n", "<<<<<<< HEAD\n  adopt\n"), 5, "a merge conflict"),
        (good.replace("  adopt\n", "adopt\n"), 5, "`adopt` is not understood"),
        (good.replace("entity Employee@2", "entity Employee"), 4, "is not understood"),
        (twice, 9, "section `Employee@2`: the section is there twice"),
    ];
    for (text, line, words) in cases {
        let error = Lock::parse(&text).expect_err(&text);
        let message = error.to_string();
        assert_eq!(error.line, line, "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn the_form_that_an_entity_moves_to_stands_beside_its_versions_until_it_is_one() {
    let mut lock = Lock::parse(&text()).unwrap();
    let section = lock.newest("Employee").unwrap().clone();
    let form = Section { format: super::Format { version: 4, ..section.format.clone() }, ..section };
    lock.set_coming("Employee", Some(form.clone()));
    let text = lock.to_string();
    assert!(text.contains("\n\ncoming Employee@4 company "), "{text}");
    assert_eq!(Lock::parse(&text), Ok(lock.clone()));
    assert_eq!((lock.newest("Employee").unwrap().format.version, lock.versions("Employee").count()), (2, 1));
    for twice in [
        text.replace("coming", "entity") + &text[text.find("coming").unwrap()..],
        text.clone() + &text[text.find("coming").unwrap()..],
    ] {
        assert_eq!(Lock::parse(&twice).unwrap_err().problem, LockProblem::Twice, "{twice}");
    }
    lock.set(form);
    assert_eq!((lock.coming("Employee"), lock.versions("Employee").count()), (None, 2));
}

#[test]
fn an_edited_section_tells_both_fingerprints() {
    let error = Lock::parse(&text().replace("Company", "Firm")).unwrap_err();
    let LockProblem::Edited { said, found } = error.problem else { panic!("{error}") };
    assert_ne!(said, found);
    assert_eq!(
        Lock::parse(&text().replace("Company", "Firm").replace(&said.to_string(), &found.to_string())).map(|_| ()),
        Ok(())
    );
}
