//! `tablemodel.lock`, as far as one entity needs it: which lines it has of the entity's version.
//! Nothing is compared here: the formats are constants, which the runtime compares while the user's program compiles.

mod sum;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::meant::entity::Entity;

const FILE: &str = "tablemodel.lock";
const HEADER: &str = "# tablemodel.lock, format 1";
/// Stands for every crate of the package.
const ANY_CRATE: &str = "*";

/// What a lock says of an entity.
#[derive(Debug, Default, PartialEq, Eq)]
struct Locked {
    /// The greatest version of it.
    newest: Option<u32>,
    /// The facts of the struct's own version, sorted.
    facts: Option<Vec<String>>,
}

/// The constants that compare the entity with the lock of its package, if there is one.
pub(crate) fn gate(entity: &Entity) -> TokenStream {
    let Some(path) = env::var_os("CARGO_MANIFEST_DIR").and_then(|dir| find(Path::new(&dir))) else {
        return TokenStream::new();
    };
    let crate_name = env::var("CARGO_CRATE_NAME").ok();
    let gate = emit(entity, read_file(&path, &entity.entity_type, entity.version, crate_name.as_deref()));
    // So that a change of the lock compiles the program again.
    let path = path.to_string_lossy();
    quote!(#gate const _: &[u8] = ::core::include_bytes!(#path);)
}

/// The aggregates that the lock has a frozen version add to: `Department.EmployeeCount`.
pub(crate) fn added_to(entity: &Entity) -> Vec<String> {
    let path = env::var_os("CARGO_MANIFEST_DIR").filter(|_| entity.lineage.frozen);
    let Some(path) = path.and_then(|dir| find(Path::new(&dir))) else { return Vec::new() };
    let crate_name = env::var("CARGO_CRATE_NAME").ok();
    let locked = read_file(&path, &entity.entity_type, entity.version, crate_name.as_deref());
    locked.and_then(|locked| locked.facts).map_or_else(Vec::new, |facts| aggregates(&facts))
}

/// The names of the aggregates in these facts.
fn aggregates(facts: &[String]) -> Vec<String> {
    let names = facts.iter().filter_map(|fact| fact.strip_prefix("aggregate ")?.split_once(" keeps "));
    names.map(|(name, _)| name.to_owned()).collect()
}

fn emit(entity: &Entity, locked: Option<Locked>) -> TokenStream {
    let (ident, frozen) = (&entity.ident, entity.lineage.frozen);
    let schema = quote!(<#ident as _tm::TableEntity>::SCHEMA);
    let facts = match locked {
        None => return quote_spanned!(ident.span()=> const _: () = _tm::gate_unreadable();),
        Some(Locked { newest: None, .. }) => return TokenStream::new(),
        Some(Locked { newest, facts }) => {
            let newest = newest.unwrap_or_default();
            let sum = sum::of(facts.iter().flatten(), frozen);
            let facts = facts.map_or_else(|| quote!(_tm::None), |facts| quote!(_tm::Some(&[#(#facts),*])));
            quote!(#newest, #facts, #sum)
        }
    };
    quote_spanned! {ident.span()=>
        const _: () = _tm::gate::<{ _tm::facts_length(#schema) }>(#schema, #frozen, #facts);
    }
}

/// The lock of the package, or of the workspace that the package is in.
fn find(package: &Path) -> Option<PathBuf> {
    let own = package.join(FILE);
    if own.is_file() {
        return Some(own);
    }
    let is_root = |folder: &&Path| fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| is_workspace(&text));
    let shared = package.ancestors().find(is_root)?.join(FILE);
    shared.is_file().then_some(shared)
}

fn is_workspace(manifest: &str) -> bool {
    manifest.lines().any(|line| line.trim_start().starts_with("[workspace]"))
}

/// What the file says of the entity; `None` if it is not to be trusted, or is no text.
fn read_file(path: &Path, entity_type: &str, version: u32, crate_name: Option<&str>) -> Option<Locked> {
    read(&fs::read_to_string(path).ok()?, entity_type, version, crate_name)
}

/// What the text says of the entity; `None` if it is not to be trusted.
fn read(text: &str, entity_type: &str, version: u32, crate_name: Option<&str>) -> Option<Locked> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return None;
    }
    let mut locked = Locked::default();
    let mut is_own = false;
    for line in lines {
        if let Some(fact) = line.strip_prefix("  ") {
            if is_own && let Some(facts) = &mut locked.facts {
                facts.push(fact.to_owned());
            }
        } else if let Some((word @ ("entity" | "coming"), head)) = line.split_once(' ') {
            let (found, of_crate) = head_of(head)?;
            let is_meant = of_crate == ANY_CRATE || crate_name.is_none_or(|own| own == of_crate);
            let number = found.strip_prefix(entity_type).and_then(|rest| rest.strip_prefix('@')).filter(|_| is_meant);
            let number: Option<u32> = number.and_then(|number| number.parse().ok());
            is_own = number == Some(version);
            // A form that the entity moves to is none of its versions yet, and its struct is held to it.
            locked.newest = locked.newest.max(number.filter(|_| word == "entity"));
            if is_own && locked.facts.replace(Vec::new()).is_some() {
                return None;
            }
        } else if !line.is_empty() && !line.starts_with('#') && !line.starts_with("plan ") {
            return None;
        }
    }
    if let Some(facts) = &mut locked.facts {
        facts.sort_unstable();
    }
    Some(locked)
}

/// `Employee@2 company 3f0c..`: the first two words.
fn head_of(head: &str) -> Option<(&str, &str)> {
    let mut words = head.split(' ');
    Some((words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "# tablemodel.lock, format 1\n# more\n\nplan 0001_a 12\n\n\
        entity Employee@1 company 12\n  table A\n\nentity Employee@2 company 13\n  table B\n  adopt\n\n\
        entity EmployeeCard@7 company 14\n  table C\n\nentity Shared@1 * 16\n  table E\n\nentity Employee@9 tests 15\n  table D\n\n\
        coming Employee@4 company 17\n  table F\n";

    #[test]
    fn the_lines_of_the_own_version_are_found_and_sorted() {
        let of = |version| read(LOCK, "Employee", version, Some("company")).unwrap();
        assert_eq!(of(2), Locked { newest: Some(2), facts: Some(vec!["adopt".into(), "table B".into()]) });
        assert_eq!(of(1).facts, Some(vec!["table A".into()]));
        assert_eq!(of(3), Locked { newest: Some(2), facts: None });
    }

    #[test]
    fn the_form_that_an_entity_moves_to_is_found_and_is_not_the_newest_version() {
        let of = |version| read(LOCK, "Employee", version, Some("company")).unwrap();
        assert_eq!(of(4), Locked { newest: Some(2), facts: Some(vec!["table F".into()]) });
        assert_eq!(read(LOCK, "Employee", 4, Some("tests")).unwrap().facts, None);
    }

    #[test]
    fn entities_of_other_names_and_crates_are_passed_over() {
        assert_eq!(read(LOCK, "Other", 1, Some("company")), Some(Locked::default()));
        assert_eq!(read(LOCK, "Employee", 1, Some("bench")), Some(Locked::default()));
        assert_eq!(read(LOCK, "Shared", 1, Some("bench")).unwrap().facts, Some(vec!["table E".into()]));
        assert_eq!(read(LOCK, "Employee", 9, Some("tests")).unwrap().newest, Some(9));
    }

    #[test]
    fn a_lock_that_is_none_is_not_trusted() {
        for text in ["", "# tablemodel.lock, format 2\n", &LOCK.replace("plan", "<<<<<<<"), &LOCK.replace("@2", "@1")] {
            assert_eq!(read(text, "Employee", 1, Some("company")), None, "{text}");
        }
    }

    #[test]
    fn a_lock_that_is_no_text_is_not_trusted_either() {
        let path = env::temp_dir().join(format!("tablemodel-derive-{}.lock", std::process::id()));
        let read = |text: &[u8]| {
            fs::write(&path, text).unwrap();
            read_file(&path, "Employee", 1, Some("company"))
        };
        assert!(read(LOCK.as_bytes()).is_some());
        assert_eq!(read(&[LOCK.as_bytes(), b"# \xff\n"].concat()), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(read_file(&path, "Employee", 1, None), None);
    }

    #[test]
    fn a_workspace_is_told_by_its_table() {
        assert!(is_workspace("[package]\n[workspace]\nmembers = []\n"));
        assert!(!is_workspace("[workspace.package]\n# [workspace]\n"));
    }
}
