//! What the packages hold, as they go to crates.io.

use std::fs;

fn file(path: &str) -> String {
    fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).expect("the file is read")
}

#[test]
fn the_readme_of_a_package_links_to_pages_and_to_no_file() {
    // A file is looked for there in the folder of the package, also where the README is the repository's.
    for package in ["tablemodel", "tablemodel-derive", "tablemodel-store"] {
        assert!(!file(&format!("{package}/Cargo.toml")).contains("readme"), "{package} has a README of its own");
        let readme = file(&format!("{package}/README.md"));
        let links: Vec<_> = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(!links.is_empty());
        assert!(links.iter().all(|link| link.starts_with("https://")), "{package}: {links:?}");
    }
}

#[test]
fn tests_within_the_sources_are_packaged() {
    // Without the slash it leaves out every folder of that name, `src/cli/tests` too, and `cargo test --lib` of the package does not compile.
    assert!(file("tablemodel/Cargo.toml").contains(r#"exclude = ["/tests"]"#));
}
