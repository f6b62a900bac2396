//! What does not compile, and what is said about it: each message is part of the interface.
//!
//! `written`: mistakes in words. `typed`: mistakes that rustc finds by types. `promised`: constants that fail. `pass`:
//! what must compile; `blob`, `copy` and the like: of those rooms. Each compiler words its own part of an error differently, so that the texts are those of one
//! version; `TRYBUILD=overwrite` writes them anew.

use std::process::Command;

/// The compiler whose words the expected texts have.
const COMPILER: &str = "rustc 1.95.";

/// Folders of what does not compile. They are one project with `pass`, so that dependencies are built once, and not checked
/// as well; `cargo test ui -- trybuild=list` runs those of one.
const FOLDERS: [&str; 12] = [
    "written",
    "typed",
    "promised",
    "aggregate",
    "blob",
    "chunked",
    "claims",
    "copy",
    "list",
    "moves",
    "upgrade",
    "wide",
];

fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().expect("rustc is there");
    String::from_utf8_lossy(&version.stdout).into_owned()
}

#[test]
fn every_mistake_is_told_under_the_words_it_is_about() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    if compiler().starts_with(COMPILER) {
        for folder in FOLDERS {
            cases.compile_fail(format!("tests/ui/{folder}/*.rs"));
        }
    }
}

/// The cases have a lock: trybuild compiles them in a package of its own, whose folder it leaves as it is.
#[cfg(not(feature = "ungated"))] // which takes the comparison away
#[test]
fn a_format_that_is_not_the_locked_one_does_not_compile() {
    let package =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tests").join("trybuild").join("tablemodel");
    let lock = include_str!("../ui/versions/tablemodel.lock");
    tablemodel::format::Lock::parse(lock).unwrap_or_else(|error| panic!("{error}"));
    std::fs::create_dir_all(&package).expect("the folder of trybuild");
    std::fs::write(package.join("tablemodel.lock"), lock).expect("its lock");
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/versions/pass/*.rs");
    if compiler().starts_with(COMPILER) {
        cases.compile_fail("tests/ui/versions/*.rs");
    }
}
