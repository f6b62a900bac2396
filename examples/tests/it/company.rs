//! The company's story ends clean in both modes, and what killed processes leave is clean once the relay has run.

use std::process::{Command, Output};

fn company(arguments: &[&str]) -> (String, Output) {
    let output = Command::new(env!("CARGO_BIN_EXE_company")).args(arguments).output().unwrap();
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (format!("{told}\n{errors}"), output)
}

#[test]
fn the_story_ends_clean_one_partition_at_a_time() {
    let (told, output) = company(&[]);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("_dead=true") && told.contains("Employee.~outbox@1"), "it shows what is on its way\n{told}");
    assert!(told.ends_with("\n0 violations\n\n"), "{told}");
}

#[test]
fn the_story_ends_clean_with_commits_across_partitions() {
    let (told, output) = company(&["--atomic"]);
    assert!(output.status.success() && told.ends_with("\n0 violations\n\n"), "{told}");
    assert!(!told.contains("_dead=true"), "nothing is left on its way\n{told}");
}

#[test]
fn killed_processes_leave_what_the_relay_makes_clean() {
    let (told, output) = company(&["--crash", "3", "--seed", "7"]);
    assert!(output.status.success(), "{told}");
    assert!(told.matches(": killed after").count() == 3 && told.contains("3 kills"), "{told}");
    assert!(!told.contains(" 0 acknowledged changes"), "too few to tell\n{told}");
}

#[test]
fn a_process_that_ends_by_itself_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not-a-store");
    std::fs::write(&file, "something else").unwrap();
    let (told, output) = company(&["--child", file.to_str().unwrap()]);
    assert!(!output.status.success() && told.contains("company: "), "{told}");
}
