//! The places where words stand, as one table, and what is said of a word that stands in another place than its own.
//! Which words a place takes is told beside what reads them.

use quote::ToTokens;
use syn::Ident;

use super::{ContainerWords, EntityWords, FieldWords, InlineBelow, VariantWords, Word};
use crate::{
    errors::{Errors, either, list, near, spelt_so, unknown},
    rooms::{aggregate::AggregateWords, copy::CopyWords, index::IndexWords, list::ListWords},
};

/// A place that takes words.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) item: Item,
    /// As messages say it, each place otherwise: `on a field of an entity`.
    pub(crate) at: &'static str,
    pub(crate) words: &'static [&'static str],
}

/// The item over which a place is, or in whose words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Entity,
    Group,
    Names,
    Newtype,
    Model,
    Projection,
}

/// Every place.
const PLACES: [&Place; 20] = [
    &EntityWords::PLACE,
    &FieldWords::OF_ENTITY,
    &IndexWords::PLACE,
    &ListWords::PLACE,
    &AggregateWords::COUNT,
    &AggregateWords::SUM,
    &AggregateWords::MIN,
    &AggregateWords::MAX,
    &CopyWords::PLACE,
    &InlineBelow::PLACE,
    &EntityWords::ALLOW,
    &ContainerWords::OF_GROUP,
    &FieldWords::OF_GROUP,
    &ContainerWords::OF_NAMES,
    &VariantWords::OF_NAMES,
    &ContainerWords::OF_NEWTYPE,
    &ContainerWords::OF_MODEL,
    &VariantWords::OF_MODEL,
    &ContainerWords::OF_PROJECTION,
    &FieldWords::OF_PROJECTION,
];

/// Words of later versions, so that they are not called unknown.
const LATER: [&str; 4] = ["expires", "latest", "series", "slice"];

/// What to do about words in a place that does not take them; where none are given, about all that another item takes.
type Remedy = (&'static Place, &'static [&'static str], &'static str);

const OWN_KEY: &str = "the entity's own key is `partition = \"..\"` and `row = \"..\"` on the struct";
const ON_THE_ENTITY: &str = "say it on the entity itself";
const OWN_NAME: &str = "remove it, since its rows are stored under its own name";

/// The first that fits counts; where none does, the word is to be said in its own place.
const REMEDIES: [Remedy; 31] = [
    (
        &EntityWords::PLACE,
        &["rename"],
        "what the entity is stored as is its `entity_type = \"..\"`, and `rename_all = \"..\"` is of all its fields",
    ),
    (&EntityWords::PLACE, &["table"], "the table of the entity itself is its `name = \"..\"`"),
    (&EntityWords::PLACE, &["key"], OWN_KEY),
    (&EntityWords::PLACE, &["append_hotspot"], "write `allow(append_hotspot)`"),
    (&EntityWords::PLACE, &["of"], "say it there, or derive `Projection` and not `TableEntity`"),
    (&FieldWords::OF_ENTITY, &["partition", "row"], "name the field in that template, as `{field}`"),
    (&FieldWords::OF_ENTITY, &["index", "list"], "name the field in its `row = \"..\"`, as `{field}`"),
    (
        &FieldWords::OF_ENTITY,
        &["unique"],
        "declare one on the struct, such as `index(by_email, row = \"email_{email}\", unique)`",
    ),
    (&FieldWords::OF_ENTITY, &["key"], OWN_KEY),
    (
        &FieldWords::OF_ENTITY,
        &["count", "sum", "min", "max"],
        "say it on the struct that is counted, and `aggregate` on the field that holds it",
    ),
    (&FieldWords::OF_ENTITY, &["sharded"], "write `sharded(name = i64)` there, without a field"),
    (&IndexWords::PLACE, &["name"], "an index has its name first, without a word: `index(by_email, ..)`"),
    (&IndexWords::PLACE, &["key"], "the key of its rows is `row = \"..\"`"),
    (&IndexWords::PLACE, &["store"], "remove it, or declare a `list`"),
    (&IndexWords::PLACE, &["rename", "was"], OWN_NAME),
    (&ListWords::PLACE, &["name"], "a list has its name first, without a word: `list(ids_by_name, ..)`"),
    (&ListWords::PLACE, &["key"], "the key of its row is `row = \"..\"`"),
    (&ListWords::PLACE, &["unique", "keep", "keys_only", "read"], "remove it, or declare an `index`"),
    (&ListWords::PLACE, &["rename", "was"], OWN_NAME),
    (&AggregateWords::COUNT, &["of"], "a count is of no field: remove it, or say `sum(..)`"),
    (
        &FieldWords::OF_GROUP,
        &["blob", "flatten", "chunked", "part", "method", "constant", "copy_of", "aggregate"],
        "move the field to the entity itself",
    ),
    (&VariantWords::OF_NAMES, &["was"], "a renamed variant keeps its text by `rename = \"..\"`"),
    (&VariantWords::OF_NAMES, &[], "remove it; a variant takes `rename`"),
    (&ContainerWords::OF_NEWTYPE, &["rename_all"], "a newtype has no names: remove it"),
    (
        &FieldWords::OF_PROJECTION,
        &["rename", "was"],
        "remove it, since a field is read under the name that the entity stores; where the entity's field is called \
         otherwise, say its handle: `constant = \"..\"`",
    ),
    (
        &FieldWords::OF_PROJECTION,
        &["flatten", "copy_of", "skip"],
        "a projection reads single properties: remove the field",
    ),
    (&FieldWords::OF_PROJECTION, &[], "a projection reads what its entity stores: remove it here"),
    (&ContainerWords::OF_PROJECTION, &[], ON_THE_ENTITY),
    (
        &VariantWords::OF_MODEL,
        &["rename"],
        "what an entity is stored as is the `entity_type = \"..\"` on its own struct",
    ),
    (&VariantWords::OF_MODEL, &[], ON_THE_ENTITY),
    (&ContainerWords::OF_MODEL, &[], ON_THE_ENTITY),
];

impl Place {
    /// Whether the word is legal here.
    pub(crate) fn takes(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn is(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

/// Reports a word that is not legal here.
pub(crate) fn unknown_word(word: &Word, here: &Place, errors: &mut Errors) {
    errors.at(word.span(), told(word, here));
}

fn told(word: &Word, here: &Place) -> String {
    let name = word.text();
    if LATER.contains(&name.as_str()) {
        return format!("`{name}` is not supported {} yet in this version of tablemodel", here.at);
    }
    let places = taking(&name, here.item);
    let remedy = remedy(&name, here, &places);
    if let Some(pair) = pair_of_key(word, here).filter(|_| remedy.is_none()) {
        let unknown = unknown("word", &name, &words_of(here), here.words);
        return format!("{unknown}; a field of its key is said by `key({pair})`");
    }
    if places.is_empty() {
        return unknown_here(&name, here);
    }
    format!("`{}` stands {}, not {}: {}", word.form(), stand(&places), here.at, remedy.unwrap_or("say it there"))
}

/// A word that no place takes.
fn unknown_here(name: &str, here: &Place) -> String {
    let is_near = near(name, here.words).is_some();
    match near_elsewhere(name, here.item).filter(|_| !is_near) {
        None => unknown("word", name, &words_of(here), here.words),
        Some(near) => {
            let (at, kinds, words) = (stand(&taking(&near, here.item)), words_of(here), list(here.words));
            format!("unknown word `{name}`; did you mean `{near}`, which stands {at}? {kinds}: {words}")
        }
    }
}

fn words_of(here: &Place) -> String {
    format!("words {}", here.at)
}

/// `on a field of an entity or on a variant`
fn stand(places: &[&Place]) -> String {
    either(&places.iter().map(|place| place.at).collect::<Vec<_>>())
}

/// Where a word may have been meant to stand, the likeliest first: somewhere else on the item, on an entity, anywhere.
fn likeliest(item: Item) -> [Vec<&'static Place>; 3] {
    let of = |item: Item| PLACES.into_iter().filter(|place| place.item == item).collect::<Vec<_>>();
    [of(item), of(Item::Entity), PLACES.to_vec()]
}

/// The likeliest places that take the word.
fn taking(name: &str, item: Item) -> Vec<&'static Place> {
    let mut taking = likeliest(item).into_iter().map(|mut places| {
        places.retain(|place| place.takes(name));
        places
    });
    taking.find(|places| !places.is_empty()).unwrap_or_default()
}

/// A word that is spelt almost so and stands elsewhere.
fn near_elsewhere(name: &str, item: Item) -> Option<String> {
    likeliest(item).iter().find_map(|places| {
        let words: Vec<&str> = places.iter().flat_map(|place| place.words).copied().collect();
        spelt_so(name, &words).map(str::to_owned)
    })
}

fn remedy(name: &str, here: &Place, places: &[&Place]) -> Option<&'static str> {
    let is_of_another = places.first().is_some_and(|place| place.item != here.item);
    let fits = |words: &[&str]| if words.is_empty() { is_of_another } else { words.contains(&name) };
    REMEDIES.into_iter().find(|(place, words, _)| place.is(here) && fits(words)).map(|(_, _, remedy)| remedy)
}

/// What may be a field of the other's key that was given without `key(..)`.
fn pair_of_key(word: &Word, here: &Place) -> Option<String> {
    if !here.takes("key") || near(&word.text(), here.words).is_some() {
        return None;
    }
    let name: Ident = syn::parse2(word.name.to_token_stream()).ok()?;
    let value: Ident = syn::parse2(word.value()?).ok()?;
    Some(format!("{name} = {value}"))
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use quote::{format_ident, quote};
    use syn::{Attribute, parse_quote};

    use super::*;
    use crate::written::attribute_words;

    /// What is said of these words here.
    fn said(here: &Place, words: TokenStream) -> Vec<String> {
        let attribute: Attribute = parse_quote!(#[table(#words)]);
        let mut errors = Errors::default();
        for word in attribute_words(&[attribute], &mut errors) {
            unknown_word(&word, here, &mut errors);
        }
        errors.messages()
    }

    #[test]
    fn no_word_of_a_place_is_unknown_in_another() {
        for name in PLACES.iter().flat_map(|place| place.words) {
            for here in PLACES.iter().filter(|here| !here.takes(name)) {
                let word = format_ident!("{name}");
                let messages = said(here, quote!(#word));
                let [message] = messages.as_slice() else { panic!("{messages:?}") };
                let (begin, end) = (format!("`{name}` stands "), format!(", not {}: ", here.at));
                assert!(message.starts_with(&begin) && message.contains(&end), "{message}");
            }
        }
    }

    #[test]
    fn every_place_is_called_otherwise() {
        for (place, one) in PLACES.iter().enumerate() {
            assert!(!PLACES.iter().skip(place + 1).any(|other| one.is(other)), "{}", one.at);
        }
    }

    #[test]
    fn every_remedy_is_for_words_that_stand_elsewhere_and_is_given() {
        for (here, words, text) in REMEDIES {
            for name in words {
                let places = taking(name, here.item);
                assert!(!here.takes(name) && !places.is_empty(), "`{name}` {}", here.at);
                assert_eq!(remedy(name, here, &places), Some(text));
            }
        }
    }

    #[test]
    fn a_word_is_told_its_own_place_as_it_was_written() {
        assert_eq!(
            said(&EntityWords::PLACE, quote!(json, unique)),
            [
                "`json` stands on a field of an entity, not on the struct of an entity: say it there",
                "`unique` stands in `index(..)`, not on the struct of an entity: say it there",
            ]
        );
        assert_eq!(
            said(&FieldWords::OF_ENTITY, quote!(version = 2, index(by_id, unique), row)),
            [
                "`version = ..` stands on the struct of an entity, not on a field of an entity: say it there",
                "`index(..)` stands on the struct of an entity, not on a field of an entity: name the field in its \
                 `row = \"..\"`, as `{field}`",
                "`row` stands on the struct of an entity, in `index(..)` or in `list(..)`, not on a field of an entity: \
                 name the field in that template, as `{field}`",
            ]
        );
    }

    #[test]
    fn words_of_an_entity_are_sent_there_from_what_is_of_it() {
        assert_eq!(
            said(&FieldWords::OF_PROJECTION, quote!(rename = "Id", chunked)),
            [
                "`rename = ..` stands on a field of an entity, not on a field of a projection: remove it, since a field is \
                 read under the name that the entity stores; where the entity's field is called otherwise, say its handle: \
                 `constant = \"..\"`",
                "`chunked` stands on a field of an entity, not on a field of a projection: a projection reads what its \
                 entity stores: remove it here",
            ]
        );
        assert_eq!(
            said(&ContainerWords::OF_MODEL, quote!(name = "Company", other)),
            [
                "`name = ..` stands on the struct of an entity, not on a model: say it on the entity itself",
                "`other` stands on a variant of a model, not on a model: say it there",
            ]
        );
        assert_eq!(
            said(&FieldWords::OF_GROUP, quote!(flatten)),
            [
                "`flatten` stands on a field of an entity, not on a field of a group: move the field to the entity itself"
            ]
        );
    }

    #[test]
    fn words_that_would_do_something_else_in_their_own_place_are_not_sent_there() {
        assert_eq!(
            said(&VariantWords::OF_NAMES, quote!(was = "Head", skip)),
            [
                "`was = ..` stands on a field of an entity, not on a variant: a renamed variant keeps its text by \
                 `rename = \"..\"`",
                "`skip` stands on a field of an entity, not on a variant: remove it; a variant takes `rename`",
            ]
        );
        for (here, at) in [(&IndexWords::PLACE, "index"), (&ListWords::PLACE, "list")] {
            let told = format!(
                "`rename = ..` stands on a field of an entity, not in `{at}(..)`: remove it, since its rows are stored under \
                 its own name"
            );
            assert_eq!(said(here, quote!(rename = "mail")), [told]);
        }
    }

    #[test]
    fn a_near_name_is_looked_for_here_and_then_elsewhere() {
        let here = said(&FieldWords::OF_GROUP, quote!(jsn));
        assert_eq!(here, [unknown("word", "jsn", "words on a field of a group", FieldWords::OF_GROUP.words)]);
        let elsewhere = said(&ContainerWords::OF_PROJECTION, quote!(jsn));
        assert_eq!(
            elsewhere,
            [
                "unknown word `jsn`; did you mean `json`, which stands on a field of a projection? words on a projection: \
                 `of`, `crate`"
            ]
        );
        assert_eq!(said(&ContainerWords::OF_MODEL, quote!(zebra)), ["unknown word `zebra`; words on a model: `crate`"]);
    }

    #[test]
    fn a_field_of_a_key_is_not_taken_for_the_word_of_that_name() {
        assert_eq!(
            said(&CopyWords::PLACE, quote!(name = department, on_delet = clear)),
            [
                "unknown word `name`; words in `copy_of(..)`: `key`, `on_delete`; a field of its key is said by \
                 `key(name = department)`",
                "unknown word `on_delet`; did you mean `on_delete`? words in `copy_of(..)`: `key`, `on_delete`",
            ]
        );
        assert_eq!(
            said(&AggregateWords::COUNT, quote!(of = salary)),
            [
                "`of = ..` stands in `sum(..)`, in `min(..)` or in `max(..)`, not in `count(..)`: a count is of no field: \
                 remove it, or say `sum(..)`"
            ]
        );
    }
}
