//! What does not compile, and what is said about it: each message is part of the interface.
//!
//! `written`: mistakes in words. `typed`: mistakes that rustc finds by types. `promised`: constants that fail.

#[test]
fn every_mistake_is_told_under_the_words_it_is_about() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/written/*.rs");
    cases.compile_fail("tests/ui/typed/*.rs");
    cases.compile_fail("tests/ui/promised/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
