//! Indexes inside the partition: `index(by_email, row = "email_{email}", unique, keep(first_name))`.
//! How index rows are kept is the runtime's; here are the words, what they mean, and the constant they become.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;
use syn::{LitStr, ext::IdentExt};

use crate::{
    emit::schema,
    errors::Errors,
    meant::{
        entity::Entity,
        field::{Field, Kind, look_up},
        key::{Key, Part},
    },
    written::{Slot, Word, unknown_word},
};

/// The words of an index, as written.
pub(crate) struct IndexWords {
    pub(crate) name: Ident,
    row: Slot<LitStr>,
    unique: Slot<()>,
    keep: Slot<Vec<Ident>>,
    keys_only: Slot<()>,
    when: Slot<WhenWord>,
    /// A word that may have been meant for another; rules about the whole would guess.
    has_unknown: bool,
}

/// `when = field` or `when = !field`
struct WhenWord {
    field: Ident,
    negated: bool,
}

const LEGAL: [&str; 5] = ["row", "unique", "keep", "keys_only", "when"];

impl IndexWords {
    /// Reads `index(..)`; `None` where it has no name.
    pub(crate) fn read(word: &Word, errors: &mut Errors) -> Option<Self> {
        let mut words = word.words(errors)?.into_iter();
        let first = words.next().filter(|first| first.is_alone() && !LEGAL.contains(&first.text().as_str()));
        let Some(first) = first else {
            return word.wrong("needs a name first", "`index(by_email, row = \"email_{email}\")`", errors);
        };
        let mut index = Self {
            name: first.name,
            row: Slot::Absent,
            unique: Slot::Absent,
            keep: Slot::Absent,
            keys_only: Slot::Absent,
            when: Slot::Absent,
            has_unknown: false,
        };
        words.for_each(|word| index.take(&word, errors));
        Some(index)
    }

    fn take(&mut self, word: &Word, errors: &mut Errors) {
        match word.text().as_str() {
            "row" => self.row.fill(word, word.string(errors), errors),
            "unique" => self.unique.fill(word, word.flag(errors), errors),
            "keep" => self.keep.fill(word, word.names(errors), errors),
            "keys_only" => self.keys_only.fill(word, word.flag(errors), errors),
            "when" => self.when.fill(word, when(word, errors), errors),
            _ => {
                self.has_unknown = true;
                unknown_word(word, "in `index(..)`", &LEGAL, errors);
            }
        }
    }
}

fn when(word: &Word, errors: &mut Errors) -> Option<WhenWord> {
    let trees: Vec<TokenTree> = word.value().unwrap_or_default().into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Ident(field)] => Some(WhenWord { field: field.clone(), negated: false }),
        [TokenTree::Punct(not), TokenTree::Ident(field)] if not.as_char() == '!' => {
            Some(WhenWord { field: field.clone(), negated: true })
        }
        _ => word.wrong("takes a field", "`when = field` or `when = !field`", errors),
    }
}

/// A resolved index.
pub(crate) struct Index {
    pub(crate) name: Ident,
    pub(crate) row: Key,
    pub(crate) is_unique: bool,
    pub(crate) cover: Cover,
    pub(crate) when: Option<When>,
}

/// What an index row holds beside keys.
pub(crate) enum Cover {
    Whole,
    Keep(Vec<Rc<Field>>),
    KeysOnly,
}

/// While what the row exists.
pub(crate) struct When {
    pub(crate) field: Rc<Field>,
    negated: bool,
}

impl Index {
    /// The index that the words ask for.
    pub(crate) fn resolve(words: &IndexWords, fields: &[Rc<Field>], errors: &mut Errors) -> Self {
        let name = words.name.clone();
        if words.row.is_absent() {
            errors.at(name.span(), format!("index `{name}` has no row key: add `row = \"..\"`"));
        }
        if words.keep.is_given() {
            words.keys_only.refuse("`keep(..)` and `keys_only` exclude each other: remove one", errors);
        }
        let when = words.when.get().and_then(|when| condition(when, fields, errors));
        let mut row = words.row.get().map_or_else(Key::missing, |row| Key::resolve(row, fields, errors));
        row.is_sound &= !words.has_unknown;
        Self { name, row, is_unique: words.unique.is_given(), cover: cover(words, fields, errors), when }
    }

    /// Whether a change of `field` may change the index row.
    pub(crate) fn uses(&self, field: &Field) -> bool {
        let is = |other: &Rc<Field>| other.name == field.name;
        let covered = match &self.cover {
            Cover::Whole => true,
            Cover::Keep(kept) => kept.iter().any(is),
            Cover::KeysOnly => false,
        };
        covered || self.row.parts().any(|part| is(&part.field)) || self.when.iter().any(|when| is(&when.field))
    }

    /// `_tm::IndexSchema { .. }`
    pub(crate) fn schema(&self, entity: &Entity) -> TokenStream {
        let (name, row, unique) = (self.name.to_string(), schema::template(&self.row), self.is_unique);
        let discriminator = format!("{}.{name}@{}", entity.entity_type, entity.version);
        let cover = match &self.cover {
            Cover::Whole => quote!(Whole),
            Cover::KeysOnly => quote!(KeysOnly),
            Cover::Keep(kept) => {
                let kept = kept.iter().map(|field| &field.property);
                quote!(Keep(&[#(#kept),*]))
            }
        };
        let when = match &self.when {
            None => quote!(_tm::None),
            Some(When { field, negated }) => {
                let property = &field.property;
                quote!(_tm::Some(_tm::When { property: #property, negated: #negated }))
            }
        };
        quote! {
            _tm::IndexSchema {
                name: #name, discriminator: #discriminator, row: #row,
                cover: _tm::Cover::#cover, unique: #unique, when: #when,
            }
        }
    }
}

fn condition(when: &WhenWord, fields: &[Rc<Field>], errors: &mut Errors) -> Option<When> {
    let field = property(&when.field, fields, errors)?;
    Some(When { field, negated: when.negated })
}

fn cover(words: &IndexWords, fields: &[Rc<Field>], errors: &mut Errors) -> Cover {
    let Some(names) = words.keep.get() else {
        return if words.keys_only.is_given() { Cover::KeysOnly } else { Cover::Whole };
    };
    if names.is_empty()
        && let Some(span) = words.keep.span()
    {
        errors.at(span, "`keep()` keeps nothing: write `keys_only`");
    }
    let mut kept: Vec<Rc<Field>> = Vec::new();
    for name in names {
        let Some(field) = property(name, fields, errors) else { continue };
        match kept.iter().any(|earlier| earlier.name == field.name) {
            true => errors.at(name.span(), format!("`{name}` is kept twice")),
            false => kept.push(field),
        }
    }
    Cover::Keep(kept)
}

/// A field that is one property.
fn property(name: &Ident, fields: &[Rc<Field>], errors: &mut Errors) -> Option<Rc<Field>> {
    let field = look_up(fields, &name.unraw().to_string(), name.span(), errors)?;
    if matches!(field.kind, Kind::Blob(_)) {
        let remedy = "remove it here; the entity that the index finds has it";
        errors.at(name.span(), format!("`{name}` is a blob, which no index row holds: {remedy}"));
        return None;
    }
    if !field.is_property() {
        errors.at(name.span(), format!("`{name}` is not one stored property, so no index can use it"));
        return None;
    }
    Some(field)
}

/// The rules of all indexes of an entity.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    if !entity.partition.is_sound || !entity.row.is_sound {
        return;
    }
    for index in entity.indexes.iter().filter(|index| index.row.is_sound) {
        check_identity(index, entity, errors);
        check_keep(index, entity, errors);
    }
}

/// A unique index is told by its own key; any other holds the entity's key too.
fn check_identity(index: &Index, entity: &Entity, errors: &mut Errors) {
    let held = || entity.partition.parts().chain(index.row.parts());
    let is_held = |own: &&Part| held().any(|part| part.is_of(&own.field) && holds(part, own));
    let missing: Vec<&Part> = entity.row.parts().filter(|own| !is_held(own)).collect();
    let name = &index.name;
    let shard = entity.partition.shard().filter(|_| index.is_unique);
    if let Some(shard) = shard {
        let shard = shard.written();
        let message = format!("`unique` holds within a partition, and `{shard}` spreads the entities over several");
        errors.at(name.span(), format!("index `{name}`: {message}; remove one of them"));
    } else if index.is_unique && missing.is_empty() {
        let message = "the row key holds the entity's own key, so every entry is unique: remove one of them";
        errors.at(index.row.span, format!("index `{name}`: `unique` promises nothing here; {message}"));
    } else if !index.is_unique && !missing.is_empty() {
        let missing = missing.iter().map(|part| part.written()).collect::<Vec<_>>().join("_");
        let message = format!("two entities could have the same entry: add `_{missing}` to the row key, or `unique`");
        errors.at(index.row.span, format!("index `{name}`: {message}"));
    }
}

/// Whether `part` tells apart all that `own` does.
fn holds(part: &Part, own: &Part) -> bool {
    part.codec == own.codec || part.codec.tells_apart()
}

/// What the keys give back need not be kept.
fn check_keep(index: &Index, entity: &Entity, errors: &mut Errors) {
    let Cover::Keep(kept) = &index.cover else { return };
    for field in kept {
        if entity.in_key(field) || is_recoverable(&index.row, field) {
            let message = format!("`{}` is read back from the keys of every entry: remove it from `keep`", field.name);
            errors.at(index.name.span(), format!("index `{}`: {message}", index.name));
        }
    }
}

/// Whether the field's value can be read back from the key.
pub(crate) fn is_recoverable(key: &Key, field: &Field) -> bool {
    key.parts().any(|part| part.is_of(field) && part.codec.is_recoverable())
}
