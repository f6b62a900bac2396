//! The words of an attribute: `name`, `name = value`, `name(words)`; cut so that one bad word hides no other.
//! No word has a meaning here.

use proc_macro2::{Delimiter, Ident, Punct, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, LitInt, LitStr, Meta, Path, Token, ext::IdentExt, parse::Parser, punctuated::Punctuated};

use crate::errors::Errors;

/// One word.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) name: Ident,
    given: Given,
}

#[derive(Debug, Clone)]
enum Given {
    Alone,
    Value(TokenStream),
    List(TokenStream),
}

/// The words of all `#[table(..)]` attributes among `attributes`.
pub(crate) fn attribute_words(attributes: &[Attribute], errors: &mut Errors) -> Vec<Word> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("table")) {
        match &attribute.meta {
            Meta::List(list) => words.extend(cut(list.tokens.clone(), errors)),
            Meta::Path(path) => errors.at(span_of(path), "`#[table]` says nothing: write `#[table(..)]`"),
            Meta::NameValue(pair) => {
                errors.at(span_of(&pair.path), "write `#[table(..)]`, with words in parentheses");
            }
        }
    }
    words
}

fn span_of(path: &Path) -> Span {
    path.segments.first().map_or_else(Span::call_site, |segment| segment.ident.span())
}

impl Word {
    /// Where the word stands.
    pub(crate) fn span(&self) -> Span {
        self.name.span()
    }

    /// The word's name.
    pub(crate) fn text(&self) -> String {
        self.name.unraw().to_string()
    }

    /// The word with what follows it, as messages quote it: `json`, `version = ..` or `index(..)`.
    pub(crate) fn form(&self) -> String {
        let name = self.text();
        match self.given {
            Given::Alone => name,
            Given::Value(_) => format!("{name} = .."),
            Given::List(_) => format!("{name}(..)"),
        }
    }

    /// A word that stands alone.
    pub(crate) fn flag(&self, errors: &mut Errors) -> Option<()> {
        match self.given {
            Given::Alone => Some(()),
            _ => self.wrong("stands alone", &format!("`{}`", self.name), errors),
        }
    }

    /// `name = ".."`
    pub(crate) fn string(&self, errors: &mut Errors) -> Option<LitStr> {
        let literal = self.value().and_then(|value| syn::parse2(value).ok());
        literal.or_else(|| self.wrong("takes a text", &format!("`{} = \"..\"`", self.name), errors))
    }

    /// `name = 3`, above zero.
    pub(crate) fn number(&self, errors: &mut Errors) -> Option<u32> {
        let literal: Option<LitInt> = self.value().and_then(|value| syn::parse2(value).ok());
        let number = literal.and_then(|literal| literal.base10_parse().ok()).filter(|number| *number > 0);
        number.or_else(|| self.wrong("takes a whole number above zero", &format!("`{} = 1`", self.name), errors))
    }

    /// `name = "other_name"`
    pub(crate) fn ident(&self, errors: &mut Errors) -> Option<Ident> {
        let literal = self.string(errors)?;
        if let Ok(mut ident) = syn::parse_str::<Ident>(&literal.value()) {
            ident.set_span(literal.span());
            return Some(ident);
        }
        let keyword = Ident::parse_any.parse_str(&literal.value()).ok().map(|keyword| keyword.to_string());
        let Some(raw) = keyword.filter(|keyword| can_be_raw(keyword)) else {
            return fail(literal.span(), &format!("`{}` is not a Rust name", literal.value()), errors);
        };
        errors.at(literal.span(), format!("`{raw}` is a keyword: write `r#{raw}`"));
        Some(Ident::new_raw(&raw, literal.span()))
    }

    /// `name = some::path` or `name = "some::path"`. A macro of a crate that passes tablemodel on writes `$crate::some::path`, which no text can hold.
    pub(crate) fn path(&self, errors: &mut Errors) -> Option<Path> {
        let value = self.value();
        let Some(literal) = value.as_ref().and_then(|value| syn::parse2::<LitStr>(value.clone()).ok()) else {
            let path = value.and_then(|value| Path::parse_mod_style.parse2(value).ok());
            return path.or_else(|| self.wrong("takes a path", &format!("`{} = some::path`", self.name), errors));
        };
        let path = literal.parse_with(Path::parse_mod_style).ok();
        if path.is_none() {
            let message = format!("`{}` is not a path to the crate, such as `::tablemodel`", literal.value());
            errors.at(literal.span(), message);
        }
        path
    }

    /// `name = <tokens>`, if it is that.
    pub(crate) fn value(&self) -> Option<TokenStream> {
        match &self.given {
            Given::Value(value) if !value.is_empty() => Some(ungrouped(value.clone())),
            _ => None,
        }
    }

    /// `name = word` or `name = word(..)`: what stands behind the equals sign.
    pub(crate) fn value_word(&self, errors: &mut Errors) -> Option<Word> {
        cut(self.value()?, errors).into_iter().next()
    }

    /// Whether the word stands alone.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self.given, Given::Alone)
    }

    /// `name(a, b(..), c = d)`
    pub(crate) fn words(&self, errors: &mut Errors) -> Option<Vec<Word>> {
        match &self.given {
            Given::List(inside) => Some(cut(inside.clone(), errors)),
            _ => self.wrong("takes words in parentheses", &format!("`{}(..)`", self.name), errors),
        }
    }

    /// The same word, in whose parentheses no name stands in quotes; each that did is an error.
    fn unquoted(&self, errors: &mut Errors) -> Self {
        let given = match &self.given {
            Given::List(inside) => Given::List(unquoted(inside.clone(), errors)),
            other => other.clone(),
        };
        Self { name: self.name.clone(), given }
    }

    /// What stands first in parentheses, if it is a name: of words that could not all be read.
    pub(crate) fn head(&self) -> Option<Ident> {
        let Given::List(inside) = &self.given else { return None };
        match inside.clone().into_iter().next() {
            Some(TokenTree::Ident(name)) => Some(name),
            _ => None,
        }
    }

    /// `name(called, a, b = c)`: what it is called, the words after that, and whether all could be read. None of it, and an error, where
    /// no name stands first.
    pub(crate) fn named_words(
        &self,
        legal: &[&str],
        example: &str,
        errors: &mut Errors,
    ) -> Option<(Ident, Vec<Word>, bool)> {
        let before = errors.count();
        let own = self.unquoted(errors);
        let mut words = own.words(errors)?.into_iter().peekable();
        let is_whole = errors.count() == before;
        let is_name = |name: &Ident| !legal.contains(&name.to_string().as_str());
        let name = if is_whole {
            let Some(first) = words.next().filter(|first| first.is_alone() && is_name(&first.name)) else {
                return self.wrong("needs a name first", example, errors);
            };
            first.name
        } else {
            words.next_if(Self::is_alone);
            own.head().filter(is_name)?
        };
        Some((of_function(name, errors)?, words.collect(), is_whole))
    }

    /// `name(some::Type, a, b(..))`: what stands first, and the words after it.
    pub(crate) fn head_and_words(&self, errors: &mut Errors) -> Option<(TokenStream, Vec<Word>)> {
        let Given::List(inside) = &self.given else { return None };
        let mut trees = inside.clone().into_iter();
        let head: TokenStream = trees.by_ref().take_while(|tree| !is_comma(tree)).collect();
        Some((head, cut(trees.collect(), errors)))
    }

    /// `name(a, b)`
    pub(crate) fn names(&self, errors: &mut Errors) -> Option<Vec<Ident>> {
        let words = self.unquoted(errors).words(errors)?;
        let names = words.iter().filter_map(|word| word.flag(errors).map(|()| word.name.clone())).collect();
        Some(names)
    }

    /// `name("a", "b")`
    pub(crate) fn texts(&self, errors: &mut Errors) -> Option<Vec<LitStr>> {
        let read = |inside: &TokenStream| {
            let texts = Punctuated::<LitStr, Token![,]>::parse_terminated.parse2(inside.clone()).ok()?;
            (!texts.is_empty()).then(|| texts.into_iter().collect())
        };
        let texts = if let Given::List(inside) = &self.given { read(inside) } else { None };
        texts.or_else(|| self.wrong("takes texts in parentheses", &format!("`{}(\"..\")`", self.name), errors))
    }

    /// Reports a value of the wrong kind.
    pub(crate) fn wrong<T>(&self, takes: &str, write: &str, errors: &mut Errors) -> Option<T> {
        errors.at(self.span(), format!("`{}` {takes}: write {write}", self.name));
        None
    }
}

fn can_be_raw(keyword: &str) -> bool {
    !matches!(keyword, "_" | "self" | "Self" | "super" | "crate")
}

/// A name as a function can have it: a keyword is told of, and goes on as the raw name that was meant.
fn of_function(name: Ident, errors: &mut Errors) -> Option<Ident> {
    if syn::parse2::<Ident>(name.to_token_stream()).is_ok() {
        return Some(name);
    }
    let text = name.to_string();
    if !can_be_raw(&text) {
        return fail(name.span(), &format!("`{text}` cannot be the name of a function: choose another"), errors);
    }
    errors.at(name.span(), format!("`{text}` is a keyword, and is to be the name of a function: write `r#{text}`"));
    Some(Ident::new_raw(&text, name.span()))
}

/// A value that comes from a `macro_rules` fragment stands in an invisible group.
fn ungrouped(value: TokenStream) -> TokenStream {
    let mut trees = value.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => ungrouped(group.stream()),
        _ => value,
    }
}

/// Names that stand alone between commas, taken out of their quotes.
fn unquoted(tokens: TokenStream, errors: &mut Errors) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_end = |tree: Option<&TokenTree>| tree.is_none_or(is_comma);
    let bare = trees.iter().enumerate().map(|(place, tree)| {
        let before = place.checked_sub(1).and_then(|before| trees.get(before));
        let is_alone = is_end(before) && is_end(trees.get(place + 1));
        let Some(name) = quoted_name(tree).filter(|_| is_alone) else { return tree.clone() };
        errors.at(name.span(), format!("a name stands here without quotes: write `{name}`"));
        TokenTree::Ident(name)
    });
    bare.collect()
}

/// The name in a text that is one.
fn quoted_name(tree: &TokenTree) -> Option<Ident> {
    let TokenTree::Literal(literal) = tree else { return None };
    let text: LitStr = syn::parse2(literal.to_token_stream()).ok()?;
    text.parse().ok()
}

/// Cuts at commas; each word that cannot be read is one error.
fn cut(tokens: TokenStream, errors: &mut Errors) -> Vec<Word> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut words = Vec::new();
    let mut current: Vec<TokenTree> = Vec::new();
    let mut angles = 0_usize;
    for tree in trees {
        angles = nesting(angles, current.last(), &tree);
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == ',' && angles == 0 => {
                words.extend(word(std::mem::take(&mut current), punct.span(), errors));
            }
            _ => {
                if let Some(name) = ended(&current, &tree) {
                    errors.at(tree.span(), format!("expected a comma after `{name} = ..`"));
                    words.extend(word(std::mem::take(&mut current), tree.span(), errors));
                }
                current.push(tree);
            }
        }
    }
    if !current.is_empty() {
        words.extend(word(current, Span::call_site(), errors));
    }
    words
}

/// The name of `name = ".."`, behind which another word cannot stand; `as` is of an expression.
fn ended<'a>(current: &'a [TokenTree], next: &TokenTree) -> Option<&'a Ident> {
    match (current, next) {
        ([TokenTree::Ident(name), TokenTree::Punct(punct), TokenTree::Literal(_)], TokenTree::Ident(next)) => {
            (is_equals(punct) && next != "as").then_some(name)
        }
        _ => None,
    }
}

/// How deep a value stands in the `<..>` of a `::<..>`.
fn nesting(angles: usize, before: Option<&TokenTree>, tree: &TokenTree) -> usize {
    let is = |tree: Option<&TokenTree>, c: char| matches!(tree, Some(TokenTree::Punct(p)) if p.as_char() == c);
    match tree {
        TokenTree::Punct(punct) if punct.as_char() == '<' && (angles > 0 || is(before, ':')) => angles + 1,
        TokenTree::Punct(punct) if punct.as_char() == '>' && !is(before, '-') => angles.saturating_sub(1),
        _ => angles,
    }
}

fn word(trees: Vec<TokenTree>, end: Span, errors: &mut Errors) -> Option<Word> {
    let mut trees = trees.into_iter();
    let name = match trees.next() {
        Some(TokenTree::Ident(name)) => name,
        Some(other) => return fail(other.span(), "expected a word, such as `name = \"..\"`", errors),
        None => return fail(end, "expected a word before this comma", errors),
    };
    let given = match trees.next() {
        None => Given::Alone,
        Some(TokenTree::Punct(punct)) if is_equals(&punct) => Given::Value(trees.by_ref().collect()),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => Given::List(group.stream()),
        Some(other) => return fail(other.span(), &format!("expected `=`, `(..)` or a comma after `{name}`"), errors),
    };
    match trees.next() {
        None => Some(Word { name, given }),
        Some(extra) => fail(extra.span(), &format!("expected a comma after `{name}(..)`"), errors),
    }
}

fn is_equals(punct: &Punct) -> bool {
    punct.as_char() == '='
}

fn is_comma(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ',')
}

fn fail<T>(span: Span, message: &str, errors: &mut Errors) -> Option<T> {
    errors.at(span, message);
    None
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    fn read(tokens: TokenStream) -> (Vec<String>, Vec<String>) {
        let mut errors = Errors::default();
        let words = cut(tokens, &mut errors);
        (words.iter().map(Word::text).collect(), errors.messages())
    }

    #[test]
    fn words_are_cut_at_commas_only() {
        let (words, errors) = read(quote!(a, b = "x, y", c(d, e), f = m::<A, B>::new(), r#type));
        assert_eq!(words, ["a", "b", "c", "f", "type"]);
        assert_eq!(errors, Vec::<String>::new());
    }

    #[test]
    fn one_bad_word_hides_no_other() {
        let (words, errors) = read(quote!(a, , 3, b c, d(x) y, e));
        assert_eq!(words, ["a", "e"]);
        assert_eq!(errors.len(), 4, "{errors:?}");
    }

    #[test]
    fn a_comma_that_is_missing_behind_a_value_is_told_and_taken_as_written() {
        let (words, errors) = read(quote!(row = "a" keys_only, default = 3 as u8, name = "b" version = 2));
        assert_eq!(words, ["row", "keys_only", "default", "name", "version"]);
        assert_eq!(errors, ["expected a comma after `row = ..`", "expected a comma after `name = ..`"]);
    }

    #[test]
    fn names_in_quotes_are_told_and_taken() {
        let mut errors = Errors::default();
        let words = cut(quote!(keep("age", email), index("by_id", row = "id", "two words", unique)), &mut errors);
        let names = words[0].names(&mut errors).unwrap_or_default();
        assert_eq!(names, ["age", "email"]);
        let (name, words, is_whole) = words[1].named_words(&["row", "unique"], "", &mut errors).unwrap();
        assert_eq!((name.to_string(), words.len(), is_whole), ("by_id".to_owned(), 2, false));
        let messages = errors.messages();
        assert_eq!(messages[0], "a name stands here without quotes: write `age`");
        assert_eq!(messages[1], "a name stands here without quotes: write `by_id`");
        assert_eq!(messages.len(), 3, "{messages:?}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_says_the_right_one() {
        let mut errors = Errors::default();
        for word in cut(quote!(a = 3, b = , c, d("x"), e = "x"), &mut errors) {
            word.string(&mut errors);
        }
        let messages = errors.messages();
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[0], "`a` takes a text: write `a = \"..\"`");
    }
}
