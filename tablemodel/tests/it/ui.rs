//! What does not compile, and what is said about it: each message is part of the interface.
//!
//! `written`: mistakes in words. `typed`: mistakes that rustc finds by types. `promised`: constants that fail. `pass`:
//! what must compile; `blob`, `copy` and the like: of those rooms. Each compiler words its own part of an error differently, so that the texts are those of one
//! version; `TRYBUILD=overwrite` writes them anew.

use std::process::Command;

/// The compiler whose words the expected texts have.
const COMPILER: &str = "rustc 1.95.";

fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().expect("rustc is there");
    String::from_utf8_lossy(&version.stdout).into_owned()
}

#[test]
fn every_mistake_is_told_under_the_words_it_is_about() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    if compiler().starts_with(COMPILER) {
        cases.compile_fail("tests/ui/written/*.rs");
        cases.compile_fail("tests/ui/typed/*.rs");
        cases.compile_fail("tests/ui/promised/*.rs");
        cases.compile_fail("tests/ui/copy/*.rs");
        cases.compile_fail("tests/ui/blob/*.rs");
        cases.compile_fail("tests/ui/wide/*.rs");
        cases.compile_fail("tests/ui/chunked/*.rs");
    }
}

#[test]
fn every_mistake_in_a_list_is_told_under_its_words() {
    if compiler().starts_with(COMPILER) {
        trybuild::TestCases::new().compile_fail("tests/ui/list/*.rs");
    }
}

#[test]
fn mistakes_in_unique_values_are_told_under_the_words_they_are_about() {
    if compiler().starts_with(COMPILER) {
        trybuild::TestCases::new().compile_fail("tests/ui/claims/*.rs");
    }
}

#[test]
fn every_mistake_in_an_aggregate_is_told_under_its_words() {
    if compiler().starts_with(COMPILER) {
        trybuild::TestCases::new().compile_fail("tests/ui/aggregate/*.rs");
    }
}

#[test]
fn every_mistake_about_versions_is_told_under_its_words() {
    if compiler().starts_with(COMPILER) {
        trybuild::TestCases::new().compile_fail("tests/ui/upgrade/*.rs");
    }
}
