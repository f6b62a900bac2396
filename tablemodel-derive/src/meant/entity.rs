//! An entity, resolved.
//! The rules it must obey are in `rules`, `names` and the rooms.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Generics, LitStr, Visibility};

use super::{
    field::{Field, Kind, case_of, resolve_all},
    key::Key,
    lineage::Lineage,
    names, rules,
};
use crate::{
    errors::Errors,
    rooms::{
        aggregate::{self, Aggregate},
        chunked,
        copy::Copy,
        index::{self, Index, is_recoverable},
        list,
        sharded::{self, Sharded},
        wide,
    },
    written::{Container, EntityWords, FieldWords, Input, Slot},
};

/// A resolved entity.
pub(crate) struct Entity {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    /// Of an entity that is refused for them.
    pub(crate) generics: Generics,
    /// The crate of the runtime.
    pub(crate) runtime: TokenStream,
    pub(crate) table: String,
    pub(crate) entity_type: String,
    pub(crate) version: u32,
    pub(crate) lineage: Lineage,
    pub(crate) adopt: bool,
    /// Stored names that were removed.
    pub(crate) reserved: Vec<String>,
    /// Whether it may have more properties than a row takes.
    pub(crate) wide: bool,
    pub(crate) allow_scan: bool,
    pub(crate) append_hotspot: bool,
    /// The function that begins the primary path.
    pub(crate) find: Ident,
    pub(crate) fields: Vec<Rc<Field>>,
    pub(crate) partition: Key,
    pub(crate) row: Key,
    pub(crate) indexes: Vec<Index>,
    pub(crate) copies: Vec<Copy>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) sharded: Vec<Sharded>,
}

impl Entity {
    /// Resolves what was written and asks every rule. Usable for a full expansion only if there were no errors.
    pub(crate) fn resolve(input: &Input, errors: &mut Errors) -> Self {
        let words = EntityWords::read(&input.words, errors);
        let fields = resolve_all(fields_of(input, errors), &FieldWords::OF_ENTITY, &words.rename_all, errors);
        let mut key = |slot: &Slot<LitStr>, word, example| required(slot, word, example, input, &fields, errors);
        let partition = key(&words.partition, "partition", "{tenant}");
        let row = key(&words.row, "row", "{id}");
        let mut indexes: Vec<Index> =
            words.indexes.iter().map(|index| Index::resolve(index, &fields, errors)).collect();
        indexes.extend(words.lists.iter().map(|words| list::resolve(words, &fields, errors)));
        let copies = fields.iter().filter_map(|field| Copy::resolve(field, &fields, errors)).collect();
        let aggregates = words.aggregates.iter();
        let aggregates = aggregates.map(|words| aggregate::resolve(words, &input.ident, &fields, errors)).collect();
        let entity = Self {
            ident: input.ident.clone(),
            vis: input.vis.clone(),
            generics: input.generics.clone(),
            runtime: runtime(&words.runtime),
            table: table(&words, input, errors),
            entity_type: entity_type(&words, input, errors),
            version: words.version.get().copied().unwrap_or(1),
            lineage: Lineage::resolve(&words, input, errors),
            adopt: !words.adopt.is_absent(),
            reserved: reserved(&words, errors),
            wide: !words.wide.is_absent(),
            allow_scan: words.allow_scan.is_given(),
            append_hotspot: !words.append_hotspot.is_absent() || words.frozen.is_given(),
            find: words.find.get().cloned().unwrap_or_else(|| format_ident!("find")),
            fields,
            partition,
            row,
            indexes,
            copies,
            aggregates,
            sharded: sharded::resolve(&words.sharded, case_of(&words.rename_all)),
        };
        rules::check(&entity, &words, errors);
        index::check(&entity, errors);
        aggregate::check(&entity, errors);
        sharded::check(&entity, errors);
        wide::check(&entity, errors);
        chunked::check(&entity, errors);
        names::check(&entity, errors);
        entity
    }

    /// The name of the struct, without `r#`.
    pub(crate) fn name(&self) -> String {
        syn::ext::IdentExt::unraw(&self.ident).to_string()
    }

    /// Whether the field can be read back from the primary key.
    pub(crate) fn in_key(&self, field: &Field) -> bool {
        is_recoverable(&self.partition, field) || is_recoverable(&self.row, field)
    }

    /// Whether an index row can be a copy of the whole entity: of one row, without a link to a blob.
    pub(crate) fn may_be_copied(&self) -> bool {
        let is_more = |field: &Rc<Field>| field.chunked.is_some() || matches!(field.kind, Kind::Blob(_));
        !self.wide && !self.fields.iter().any(is_more)
    }

    /// Whether a key, or a row made from the entity, depends on the field.
    pub(crate) fn maintains(&self, field: &Field) -> bool {
        let in_key = self.partition.parts().chain(self.row.parts()).any(|part| part.is_of(field));
        let in_aggregate = self.aggregates.iter().any(|aggregate| aggregate.uses(field));
        let in_copy = self.copies.iter().any(|copy| copy.uses(field));
        in_key || in_aggregate || in_copy || self.indexes.iter().any(|index| index.uses(field))
    }
}

/// The crate of the runtime, `::tablemodel` unless the user says otherwise.
pub(crate) fn runtime(word: &Slot<syn::Path>) -> TokenStream {
    word.get().map_or_else(|| quote!(::tablemodel), ToTokens::to_token_stream)
}

/// Names that are not used again: each once, and one that may have been stored.
fn reserved(words: &EntityWords, errors: &mut Errors) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in words.reserved.get().into_iter().flatten() {
        let name = word.value();
        if names.contains(&name) {
            errors.at(word.span(), format!("`{name}` is reserved already: remove one"));
        } else if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            errors.at(
                word.span(),
                "`reserved` takes names of stored properties or indexes, such as `reserved(\"Discount\")`",
            );
        } else {
            names.push(name);
        }
    }
    names
}

fn fields_of<'a>(input: &'a Input, errors: &mut Errors) -> &'a [syn::Field] {
    let what = match &input.shape {
        Container::Named(fields) => return fields,
        Container::Newtype(_) => "a tuple struct",
        Container::Enum(_) => "an enum",
        Container::Other(what) => what,
    };
    errors.at(input.ident.span(), format!("an entity is a struct with named fields, and `{}` is {what}", input.ident));
    &[]
}

fn required(
    slot: &Slot<LitStr>,
    word: &str,
    example: &str,
    input: &Input,
    fields: &[Rc<Field>],
    errors: &mut Errors,
) -> Key {
    if !matches!(input.shape, Container::Named(_)) {
        return Key::missing();
    }
    if slot.is_absent() {
        let message =
            format!("`{}` has no {word} key: add `#[table({word} = \"..\")]`, such as `\"{example}\"`", input.ident);
        errors.at(input.ident.span(), message);
    }
    slot.get().map_or_else(Key::missing, |literal| Key::resolve(literal, fields, errors))
}

fn table(words: &EntityWords, input: &Input, errors: &mut Errors) -> String {
    if words.name.is_absent() && matches!(input.shape, Container::Named(_)) {
        let message = format!("`{}` has no table: add `#[table(name = \"..\")]`", input.ident);
        errors.at(input.ident.span(), message);
    }
    let Some(name) = words.name.get() else { return String::new() };
    if let Some(fault) = crate::names::table_fault(&name.value()) {
        errors.at(name.span(), fault);
    }
    name.value()
}

fn entity_type(words: &EntityWords, input: &Input, errors: &mut Errors) -> String {
    let Some(given) = words.entity_type.get() else { return input.name() };
    if let Some(fault) = crate::names::entity_type_fault(&given.value()) {
        errors.at(given.span(), fault);
    }
    given.value()
}
