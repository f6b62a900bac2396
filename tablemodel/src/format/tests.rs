//! The laws of formats, their texts, locks and differences, over random formats; and every code, both ways.

mod codes;
#[cfg(not(feature = "ungated"))] // which takes away what they look at
mod gated;
mod locks;

use proptest::prelude::*;

use super::{Change, Format, Renames, arbitrary, diff};

proptest! {
    #[test]
    fn a_format_is_read_back_from_its_text(format in arbitrary::format()) {
        let lines = format.lines();
        let mut shuffled: Vec<&str> = lines.iter().map(String::as_str).collect();
        shuffled.reverse();
        let again = Format::parse(&format.entity_type, format.version, shuffled);
        prop_assert_eq!(again, Ok(format));
    }

    #[test]
    fn formats_that_differ_have_other_fingerprints(a in arbitrary::format(), b in arbitrary::format()) {
        prop_assert_eq!(a == b, a.fingerprint() == b.fingerprint());
    }

    #[test]
    fn a_line_less_or_twice_is_no_format_or_another(format in arbitrary::format(), at in any::<prop::sample::Index>()) {
        let lines = format.lines();
        let at = at.index(lines.len());
        let parse = |lines: &[String]| Format::parse(&format.entity_type, format.version, lines.iter().map(String::as_str));
        let mut twice = lines.clone();
        twice.push(lines[at].clone());
        prop_assert!(parse(&twice).is_err(), "{}", lines[at]);
        let mut less = lines;
        less.remove(at);
        prop_assert_ne!(parse(&less), Ok(format.clone()));
    }

    #[test]
    fn a_format_does_not_differ_from_itself(format in arbitrary::format()) {
        prop_assert_eq!(diff(&format, &format, &Renames::default()), Ok(vec![]));
    }

    #[test]
    fn what_was_found_makes_the_old_format_the_new_one(a in arbitrary::format(), b in arbitrary::format()) {
        let changes = diff(&a, &b, &Renames::default()).unwrap();
        let again = changes.iter().try_fold(a, |format, change| change.apply(format));
        prop_assert_eq!(again, Ok(b));
    }

    #[test]
    fn so_it_does_with_renames(a in arbitrary::format(), b in arbitrary::format()) {
        let gone = a.properties.keys().filter(|name| !b.properties.contains_key(*name)).cloned();
        let new = b.properties.keys().filter(|name| !a.properties.contains_key(*name)).cloned();
        let renames = Renames { properties: gone.zip(new).collect(), ..Renames::default() };
        let changes = diff(&a, &b, &renames).unwrap();
        let renamed = changes.iter().filter(|change| matches!(change, Change::Renamed { .. })).count();
        prop_assert_eq!(renamed, renames.properties.len());
        let again = changes.iter().try_fold(a, |format, change| change.apply(format));
        prop_assert_eq!(again, Ok(b));
    }

    #[test]
    fn a_change_fits_only_what_it_was_found_in(a in arbitrary::format(), b in arbitrary::format()) {
        // What only asks otherwise, since its property is another, is as it was.
        let is_as_it_was = |change: &Change| match change {
            Change::IndexChanged { from, to, .. } => from == to,
            Change::AggregateChanged { from, to, .. } => from == to,
            _ => false,
        };
        for change in diff(&a, &b, &Renames::default()).unwrap().into_iter().filter(|change| !is_as_it_was(change)) {
            prop_assert!(change.apply(b.clone()).is_err(), "{}", change);
        }
    }
}
