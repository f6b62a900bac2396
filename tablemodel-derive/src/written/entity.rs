//! The words of an entity.
//! Whether they go together is decided in `meant`.

use proc_macro2::Ident;
use syn::{LitStr, Path};

use super::{Item, Place, Slot, Word, unknown_word};
use crate::{
    errors::{Errors, spelt_so, unknown},
    names::Case,
    rooms::{aggregate::AggregateWords, index::IndexWords, list::ListWords, sharded::ShardedWord},
};

/// `#[table(..)]` on an entity.
#[derive(Default)]
pub(crate) struct EntityWords {
    pub(crate) name: Slot<LitStr>,
    pub(crate) entity_type: Slot<LitStr>,
    pub(crate) version: Slot<u32>,
    pub(crate) previous: Slot<Path>,
    pub(crate) moves_to: Slot<Path>,
    pub(crate) moved_from: Slot<Path>,
    pub(crate) readable_by: Slot<u32>,
    pub(crate) downgrade: Slot<()>,
    pub(crate) frozen: Slot<()>,
    pub(crate) partition: Slot<LitStr>,
    pub(crate) row: Slot<LitStr>,
    pub(crate) indexes: Vec<IndexWords>,
    pub(crate) lists: Vec<ListWords>,
    pub(crate) aggregates: Vec<AggregateWords>,
    pub(crate) sharded: Vec<ShardedWord>,
    pub(crate) rename_all: Slot<Case>,
    pub(crate) adopt: Slot<()>,
    pub(crate) reserved: Slot<Vec<LitStr>>,
    pub(crate) wide: Slot<()>,
    pub(crate) allow_scan: Slot<()>,
    pub(crate) append_hotspot: Slot<()>,
    pub(crate) runtime: Slot<Path>,
    pub(crate) find: Slot<Ident>,
}

impl EntityWords {
    /// The words of an entity.
    pub(crate) const PLACE: Place = Place {
        item: Item::Entity,
        at: "on the struct of an entity",
        words: &[
            "name",
            "entity_type",
            "version",
            "previous",
            "moves_to",
            "moved_from",
            "readable_by",
            "downgrade",
            "frozen",
            "partition",
            "row",
            "index",
            "list",
            "count",
            "sum",
            "min",
            "max",
            "sharded",
            "rename_all",
            "wide",
            "adopt",
            "reserved",
            "allow_scan",
            "allow",
            "find",
            "crate",
        ],
    };
    /// The words of `allow(..)`.
    pub(crate) const ALLOW: Place = Place { item: Item::Entity, at: "in `allow(..)`", words: &["append_hotspot"] };

    /// Reads the words.
    pub(crate) fn read(words: &[Word], errors: &mut Errors) -> Self {
        let mut entity = Self::default();
        for word in words {
            entity.take(word, errors);
        }
        entity
    }

    fn take(&mut self, word: &Word, errors: &mut Errors) {
        match word.text().as_str() {
            "name" => self.name.fill(word, word.string(errors), errors),
            "entity_type" => self.entity_type.fill(word, word.string(errors), errors),
            "version" => self.version.fill(word, word.number(errors), errors),
            "previous" => self.previous.fill(word, previous(word, errors), errors),
            "moves_to" => self.moves_to.fill(word, form(word, "`moves_to = EmployeeV4`", errors), errors),
            "moved_from" => self.moved_from.fill(word, form(word, "`moved_from = EmployeeV3`", errors), errors),
            "readable_by" => self.readable_by.fill(word, word.number(errors), errors),
            "downgrade" => self.downgrade.fill(word, word.flag(errors), errors),
            "frozen" => self.frozen.fill(word, word.flag(errors), errors),
            "partition" => self.partition.fill(word, word.string(errors), errors),
            "row" => self.row.fill(word, word.string(errors), errors),
            "index" => self.indexes.extend(IndexWords::read(word, errors)),
            "list" => self.lists.extend(ListWords::read(word, errors)),
            "count" | "sum" | "min" | "max" => self.aggregates.extend(AggregateWords::read(word, errors)),
            "sharded" => self.sharded.extend(ShardedWord::read(word, errors)),
            "rename_all" => self.rename_all.fill(word, rename_all(word, errors), errors),
            "adopt" => self.adopt.fill(word, word.flag(errors), errors),
            "reserved" => self.reserved.fill(word, word.texts(errors), errors),
            "wide" => self.wide.fill(word, word.flag(errors), errors),
            "allow_scan" => self.allow_scan.fill(word, word.flag(errors), errors),
            "allow" => self.allow(word, errors),
            "find" => self.find.fill(word, word.ident(errors), errors),
            "crate" => self.runtime.fill(word, word.path(errors), errors),
            name => {
                unknown_word(word, &Self::PLACE, errors);
                self.mean(spelt_so(name, Self::PLACE.words), word, errors);
            }
        }
    }

    /// Takes a word for what was meant, where that has names which other code mentions, or is asked by other words.
    fn mean(&mut self, meant: Option<&str>, word: &Word, errors: &mut Errors) {
        match meant {
            Some("index") if word.head().is_some() => self.indexes.extend(IndexWords::read(word, errors)),
            Some("list") if word.head().is_some() => self.lists.extend(ListWords::read(word, errors)),
            Some("wide") => self.wide.spoil(),
            Some("adopt") => self.adopt.spoil(),
            _ => {}
        }
    }

    fn allow(&mut self, word: &Word, errors: &mut Errors) {
        for inner in word.words(errors).unwrap_or_default() {
            match inner.text().as_str() {
                "append_hotspot" => self.append_hotspot.fill(&inner, inner.flag(errors), errors),
                _ => {
                    self.append_hotspot.spoil();
                    unknown_word(&inner, &Self::ALLOW, errors);
                }
            }
        }
    }
}

/// `previous = EmployeeV1`
fn previous(word: &Word, errors: &mut Errors) -> Option<Path> {
    let path = word.value().and_then(|value| syn::parse2::<Path>(value).ok());
    path.or_else(|| word.wrong("takes the struct of the version before", "`previous = EmployeeV1`", errors))
}

/// `moves_to = EmployeeV4`
fn form(word: &Word, example: &str, errors: &mut Errors) -> Option<Path> {
    let path = word.value().and_then(|value| syn::parse2::<Path>(value).ok());
    path.or_else(|| word.wrong("takes the struct of the entity's other form", example, errors))
}

/// `rename_all = "PascalCase"`
pub(crate) fn rename_all(word: &Word, errors: &mut Errors) -> Option<Case> {
    let literal = word.string(errors)?;
    let case = Case::parse(&literal.value());
    if case.is_none() {
        errors.at(literal.span(), unknown("convention", &literal.value(), "conventions", &Case::WORDS));
    }
    case
}
