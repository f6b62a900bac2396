//! What `--json` prints is what its page names: every outcome of these tests is compared with the table there.

use std::collections::BTreeSet;

use super::{super::outcome::Outcome, Folder, first};

const PAGE: &str = include_str!("../../../docs/cli.md");

/// The members that the page names for a command.
fn documented(command: &str) -> BTreeSet<&'static str> {
    let rows = PAGE.lines().skip_while(|line| *line != "| command | members of the object |").skip(2);
    let is_of = |line: &&str| line.split(" | ").next().is_some_and(|first| first.contains(&format!("`{command}`")));
    let line = rows.take_while(|line| line.starts_with('|')).find(is_of).unwrap_or_else(|| panic!("no {command}"));
    let (_, members) = line.split_once(" | ").unwrap();
    // What is told of them stands in brackets.
    let outside = members.split('(').enumerate().map(|(at, text)| match at {
        0 => text,
        _ => text.split_once(')').unwrap().1,
    });
    let mut named: BTreeSet<_> = outside.flat_map(|text| text.split('`').skip(1).step_by(2)).collect();
    if named.remove("verify") {
        named.extend(documented("verify"));
    }
    named
}

/// That these members are those that the page names for the command with these words.
pub(super) fn check(words: &[&str], outcome: &Outcome) {
    let Some(command) = words.iter().find(|word| !word.starts_with('-')) else { return };
    let option = ["--dry-run", "--repair"].into_iter().find(|option| words.contains(option));
    let command = option.map_or_else(|| (*command).to_owned(), |option| format!("{command} {option}"));
    let told: BTreeSet<_> = outcome.data.as_object().unwrap().keys().map(String::as_str).collect();
    let named = documented(&command);
    let has_none = outcome.data.get("migration").is_some_and(serde_json::Value::is_null);
    let is_cut = told.contains("error") || command == "check" || has_none;
    let surplus: Vec<_> = told.iter().filter(|name| !named.contains(*name)).collect();
    let allowed = ["error", "drift", "unread", "unsupported"]; // why something was refused
    assert!(surplus.iter().all(|name| allowed.contains(name)), "{command}: {surplus:?} are not on the page");
    assert!(is_cut || named.is_subset(&told), "{command}: {told:?} lack some of {named:?}");
}

#[test]
fn a_member_that_the_page_does_not_name_is_found_out() {
    let folder = Folder::new();
    let mut shown = folder.answer::<first::Model>(&["show"]);
    shown.data["more"] = serde_json::json!(1);
    assert!(std::panic::catch_unwind(|| check(&["show"], &shown)).is_err());
    shown.data = serde_json::json!({});
    assert!(std::panic::catch_unwind(|| check(&["show"], &shown)).is_err());
}
