//! The methods that no path method of a field may hide are those that the runtime's paths have.

use std::{fs, path::Path};

use crate::meant::names::TERMINALS;

/// The methods of the trait in this file of the runtime, but for the one that is asked by reference of any path.
fn methods(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tablemodel/src/path").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let body = text.split("pub trait ").find(|body| body.contains("fn into_query(self)")).expect("the trait of paths");
    let body = body.split("\n}").next().expect("its methods");
    let names = body.lines().filter_map(|line| line.strip_prefix("    fn "));
    let names = names.map(|line| line.split(['(', '<']).next().expect("a name").to_owned());
    names.filter(|name| name != "query").collect()
}

#[test]
fn they_are_all_that_paths_and_lists_have() {
    let mut found = [methods("mod.rs"), methods("list.rs")].concat();
    found.sort_unstable();
    found.dedup();
    let mut terminals = TERMINALS.map(str::to_owned);
    terminals.sort_unstable();
    assert_eq!(found, terminals);
}
