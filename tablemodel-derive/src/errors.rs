//! What the user wrote wrongly: all of it, each under the words it is about.
//! No rule is decided here.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};

/// Collects the errors of one derive, so that a run reports all of them.
#[derive(Default)]
pub(crate) struct Errors {
    told: Vec<syn::Error>,
    /// Whether any more is only counted.
    is_hushed: bool,
    untold: usize,
}

impl Errors {
    /// An error under `span`.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        if self.is_hushed {
            self.untold += 1;
        } else {
            self.told.push(syn::Error::new(span, message));
        }
    }

    /// Tells no more: a part of the struct could not be read, and what is found of the rest may come of that.
    pub(crate) fn hush(&mut self) {
        self.is_hushed = true;
    }

    /// Whether nothing that is found is told.
    pub(crate) fn are_hushed(&self) -> bool {
        self.is_hushed
    }

    /// Whether nothing was wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.told.len() + self.untold
    }

    /// One `compile_error!` each.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.told.iter().map(syn::Error::to_compile_error).collect()
    }

    /// The messages, for tests.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.told.iter().map(ToString::to_string).collect()
    }
}

/// ``unknown codec `dsc`; did you mean `desc`? codecs: ...``
pub(crate) fn unknown(kind: &str, found: &str, kinds: &str, legal: &[impl AsRef<str>]) -> String {
    let guess = near(found, legal).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let end = if guess.is_empty() { ";" } else { "" };
    format!("unknown {kind} `{found}`{guess}{end} {kinds}: {}", list(legal))
}

/// `` `a`, `b`, `c` ``
pub(crate) fn list(words: &[impl AsRef<str>]) -> String {
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}

/// `a, b or c`
pub(crate) fn either(all: &[&str]) -> String {
    match all.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The word that was probably meant: one that is spelt almost so, or else the only one that shares a part with it.
pub(crate) fn near<'a>(found: &str, legal: &'a [impl AsRef<str>]) -> Option<&'a str> {
    spelt_so(found, legal).or_else(|| sharing(found, legal))
}

/// The word that is nearest by its letters: at most a third of them are others.
pub(crate) fn spelt_so<'a>(found: &str, legal: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let far = (found.chars().count() / 3).max(1);
    let scored = legal.iter().map(|word| (distance(found, word.as_ref()), word.as_ref()));
    scored.filter(|(distance, _)| *distance <= far).min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// `row` of `row_key`, and `append_hotspot` of `hotspot`: one of the two is whole between underscores of the other.
fn sharing<'a>(found: &str, legal: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let words = legal.iter().map(|word| -> &'a str { word.as_ref() });
    let mut shared = words.filter(|word| has_piece(found, word) || has_piece(word, found));
    shared.next().filter(|_| shared.next().is_none())
}

fn has_piece(whole: &str, piece: &str) -> bool {
    whole.split('_').any(|own| own == piece)
}

/// Edit distance; letters that changed places count once. Case does not count.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=a.len()).collect();
    let mut previous = None;
    for (row, letter) in b.to_lowercase().chars().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in a.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&last, column) + usize::from(*other != letter);
            let mut best = replaced.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let swapped = column > 0 && a.get(column - 1) == Some(&letter) && previous == Some(*other);
            if swapped {
                best = best.min(at(&before_last, column - 1) + 1);
            }
            next.push(best);
        }
        before_last = std::mem::replace(&mut last, next);
        previous = Some(letter);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{distance, either, near, spelt_so, unknown};

    #[test]
    fn a_swap_a_slip_and_a_gap_count_once() {
        assert_eq!(distance("emial", "email"), 1);
        assert_eq!(distance("uniqe", "unique"), 1);
        assert_eq!(distance("iid", "id"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }

    #[test]
    fn only_near_words_are_offered() {
        assert_eq!(near("idd", &["id", "email"]), Some("id"));
        assert_eq!(near("zebra", &["id", "email"]), None);
    }

    #[test]
    fn a_word_that_shares_a_part_is_offered_if_it_is_the_only_one() {
        assert_eq!(near("row_key", &["partition", "row"]), Some("row"));
        assert_eq!(near("hotspot", &["append_hotspot"]), Some("append_hotspot"));
        assert_eq!(near("name", &["first_name", "last_name"]), None);
        assert_eq!(near("id_of_the_employee", &["id", "employee"]), None);
        assert_eq!(spelt_so("row_key", &["partition", "row"]), None);
    }

    #[test]
    fn the_last_of_several_stands_behind_an_or() {
        assert_eq!(either(&["a"]), "a");
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
        assert_eq!(either(&[]), "");
    }

    #[test]
    fn an_unknown_word_is_answered_with_the_legal_ones() {
        let message = unknown("codec", "dsc", "codecs", &["desc", "day"]);
        assert_eq!(message, "unknown codec `dsc`; did you mean `desc`? codecs: `desc`, `day`");
        let message = unknown("codec", "zebra", "codecs", &["desc"]);
        assert_eq!(message, "unknown codec `zebra`; codecs: `desc`");
    }
}
