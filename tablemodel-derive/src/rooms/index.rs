//! Indexes: `index(by_email, row = "email_{email}", unique, keep(first_name))`, and with `partition` in other partitions.
//! How index rows are kept is the runtime's; here is what the words mean, and the constant they become.

mod each;
mod words;

use std::rc::Rc;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{LitStr, ext::IdentExt, spanned::Spanned};

pub(crate) use self::words::IndexWords;
pub(super) use self::words::{WhenWord, when};
use super::list::Store;
use crate::{
    codec::Codec,
    emit::keys,
    errors::Errors,
    meant::{
        entity::Entity,
        field::{Field, Kind, look_up},
        key::{Key, Part},
    },
    names::table_fault,
};

/// A resolved index.
pub(crate) struct Index {
    pub(crate) name: Ident,
    /// Where its rows stand, if not in the entity's own partition.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// Whether what was written of that could be read.
    pub(crate) is_placed: bool,
    pub(crate) row: Key,
    /// The list that has a row for each element.
    pub(crate) each: Option<Rc<Field>>,
    is_verified: bool,
    pub(crate) is_unique: bool,
    pub(crate) cover: Cover,
    pub(crate) when: Option<When>,
    /// Whether it is a list of keys, whose path gives no rows.
    pub(crate) is_list: bool,
    /// Where the keys of a list go when they outgrow their row.
    pub(super) store: Store,
}

/// A partition other than the entity's.
pub(crate) struct Elsewhere {
    /// None for the entity's own table.
    table: Option<String>,
    pub(crate) partition: Key,
}

/// What an index row holds beside keys.
pub(crate) enum Cover {
    Whole,
    Keep(Vec<Rc<Field>>),
    KeysOnly,
    /// One row holds the keys of all entities with its key.
    List,
}

/// While what the row exists.
pub(crate) struct When {
    pub(crate) field: Rc<Field>,
    negated: bool,
    span: Span,
}

impl When {
    /// That the field is a `bool` or an `Option`, which only types tell.
    pub(crate) fn checks(&self) -> Option<TokenStream> {
        let Field { name, ty, kind, .. } = &*self.field;
        let stored = quote_spanned!(ty.span()=> <#ty as _tm::Property>::STORED);
        (*kind == Kind::Plain).then(|| quote_spanned!(self.span=> const _: () = _tm::check_when(#name, #stored);))
    }
}

impl Index {
    /// The index that the words ask for.
    pub(crate) fn resolve(words: &IndexWords, fields: &[Rc<Field>], errors: &mut Errors) -> Self {
        let (name, what) = (words.name.clone(), words.what);
        if words.row.is_absent() {
            errors.at(name.span(), format!("{what} `{name}` has no row key: add `row = \"..\"`"));
        }
        if words.keep.is_given() {
            words.keys_only.refuse("`keep(..)` and `keys_only` exclude each other: remove one", errors);
        }
        let when = words.when.get().and_then(|when| condition(when, fields, errors));
        let each = words.each.get().and_then(|each| each::list(each, fields, errors));
        let in_keys = each::with_elements(fields, each.as_deref());
        let elsewhere = elsewhere(words, &in_keys, errors);
        // Where a list was meant and not named well, its field in the key is no mistake of its own.
        let is_told = words.each.is_absent() || each.is_some();
        let row = words.row.get().filter(|_| is_told);
        let mut row = row.map_or_else(Key::missing, |row| Key::resolve(row, &in_keys, errors));
        row.is_sound &= !words.has_unknown;
        Self {
            name,
            elsewhere,
            is_placed: !words.has_unknown && has_place(words),
            row,
            each,
            is_verified: words.read.get().copied().unwrap_or_default(),
            is_unique: !words.unique.is_absent(),
            cover: cover(words, fields, errors),
            when,
            is_list: false,
            store: Store::Rows,
        }
    }

    /// The partition key of its rows.
    pub(crate) fn partition<'k>(&'k self, own: &'k Key) -> &'k Key {
        self.elsewhere.as_ref().map_or(own, |elsewhere| &elsewhere.partition)
    }

    /// The keys that are its own: its row key, and its partition key where that is not the entity's.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.elsewhere.iter().map(|elsewhere| &elsewhere.partition).chain([&self.row])
    }

    /// Whether the field's value can be read back from its own keys.
    pub(crate) fn gives_back(&self, field: &Field) -> bool {
        let is_list = self.each.as_ref().is_some_and(|each| each.name == field.name);
        !is_list && self.keys().any(|key| is_recoverable(key, field))
    }

    /// Whether the keys of its rows, or whether they exist, depend on the field.
    pub(crate) fn depends_on(&self, field: &Field) -> bool {
        let is = |other: &Rc<Field>| other.name == field.name;
        let in_keys = self.keys().flat_map(Key::parts).any(|part| is(&part.field));
        in_keys || self.each.iter().any(is) || self.when.iter().any(|when| is(&when.field))
    }

    /// Whether a change of `field` may change the index row.
    pub(crate) fn uses(&self, field: &Field) -> bool {
        let is = |other: &Rc<Field>| other.name == field.name;
        let covered = match &self.cover {
            Cover::Whole => true,
            Cover::Keep(kept) => kept.iter().any(is),
            Cover::KeysOnly | Cover::List => false,
        };
        covered || self.depends_on(field)
    }

    /// The name without `r#`.
    pub(crate) fn stored_name(&self) -> String {
        self.name.unraw().to_string()
    }

    /// What it is called, and where its rows stand.
    pub(crate) fn stands(&self, at: usize, entity: &Entity) -> TokenStream {
        let (name, row) = (self.stored_name(), keys::row(Some(at)));
        let elsewhere = self.elsewhere_schema(at, entity).map(|elsewhere| quote!(elsewhere: _tm::Some(#elsewhere),));
        quote!(name: #name, row: #row, #elsewhere)
    }

    /// `_tm::IndexSchema { .. }`
    pub(crate) fn schema(&self, at: usize, entity: &Entity) -> TokenStream {
        let (name, stands) = (self.stored_name(), self.stands(at, entity));
        let discriminator = format!("{}.{name}@{}", entity.entity_type, entity.version);
        let cover = match &self.cover {
            Cover::Whole => quote!(Whole),
            Cover::KeysOnly => quote!(KeysOnly),
            Cover::List => quote!(List),
            Cover::Keep(kept) => {
                let kept = kept.iter().map(|field| &field.property);
                quote!(Keep(&[#(#kept),*]))
            }
        };
        let others = self.others();
        quote! {
            _tm::IndexSchema {
                #stands discriminator: #discriminator, cover: _tm::Cover::#cover,
                #(#others,)*
                .._tm::IndexSchema::PLAIN
            }
        }
    }

    /// What most indexes do not say.
    fn others(&self) -> impl Iterator<Item = TokenStream> {
        let unique = self.is_unique.then(|| quote!(unique: true));
        let verified = self.is_verified.then(|| quote!(verified: true));
        let each = self.each.as_deref().map(each::schema).map(|each| quote!(each: _tm::Some(#each)));
        let when = self.when.as_ref().map(|when| when_schema(Some(when))).map(|when| quote!(when: #when));
        let store = self.is_list.then(|| super::list::store_schema(self.store)).map(|store| quote!(store: #store));
        [each, unique, when, verified, store].into_iter().flatten()
    }

    /// Whether it has a row for each key, which ends with that key: a list elsewhere.
    pub(crate) fn ends_with_owner(&self) -> bool {
        self.is_list && self.elsewhere.is_some()
    }

    fn elsewhere_schema(&self, at: usize, entity: &Entity) -> Option<TokenStream> {
        let table = self.elsewhere.as_ref()?.table.as_ref();
        let (table, partition) = (table.unwrap_or(&entity.table), keys::partition(Some(at)));
        Some(quote!(_tm::Elsewhere { table: #table, partition: #partition }))
    }
}

/// `_tm::Option<_tm::When>`
pub(super) fn when_schema(when: Option<&When>) -> TokenStream {
    let Some(When { field, negated, .. }) = when else { return quote!(_tm::None) };
    let property = &field.property;
    quote!(_tm::Some(_tm::When { property: #property, negated: #negated }))
}

/// Whether a table, where there is one, is named well and beside a partition.
fn has_place(words: &IndexWords) -> bool {
    words.table.is_absent() || (words.table.is_given() && !words.partition.is_absent())
}

/// Where the rows stand, if not in the entity's own partition.
fn elsewhere(words: &IndexWords, fields: &[Rc<Field>], errors: &mut Errors) -> Option<Elsewhere> {
    let (name, what) = (&words.name, words.what);
    if words.partition.is_absent() {
        let message = "names its rows' table and not their partition: add `partition = \"..\"`";
        if let Some(span) = words.table.span() {
            errors.at(span, format!("{what} `{name}` {message}"));
        }
        let message = "`read` is for an index in another partition: an index beside its entity is never behind it";
        words.read.refuse(message, errors);
        return None;
    }
    if let Some(table) = words.table.get()
        && let Some(fault) = table_fault(&table.value())
    {
        errors.at(table.span(), fault);
    }
    let partition = words.partition.get().map_or_else(Key::missing, |key| Key::resolve(key, fields, errors));
    Some(Elsewhere { table: words.table.get().map(LitStr::value), partition })
}

pub(super) fn condition(when: &WhenWord, fields: &[Rc<Field>], errors: &mut Errors) -> Option<When> {
    let (field, span) = (property(&when.field, fields, errors)?, when.field.span());
    if field.kind == Kind::Json && !field.is_option() {
        let message = format!("field `{}` is stored as JSON, which is never `false`", field.name);
        errors.at(span, format!("{message}: a condition is over a `bool` or an `Option`"));
        return None;
    }
    Some(When { field, negated: when.negated, span })
}

fn cover(words: &IndexWords, fields: &[Rc<Field>], errors: &mut Errors) -> Cover {
    let Some(names) = words.keep.get() else {
        return match words.keep.is_absent() {
            _ if !words.keys_only.is_absent() => Cover::KeysOnly,
            true => Cover::Whole,
            false => Cover::Keep(Vec::new()),
        };
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
            _ if field.chunked.is_some() => {
                errors.at(
                    name.span(),
                    format!("`{name}` is chunked, and an index row keeps no chunks: remove it from `keep`"),
                );
            }
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
    if let Some(what) = field.special_form().filter(|_| !field.is_property()) {
        errors.at(name.span(), format!("`{name}` is {what}: name a field that is a single stored property"));
        return None;
    }
    Some(field)
}

/// The rules of all indexes of an entity.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    if !entity.partition.is_sound || !entity.row.is_sound {
        return;
    }
    for index in entity.indexes.iter().filter(|index| index.keys().all(|key| key.is_sound)) {
        match index.is_list {
            true => super::list::check(index, entity, errors),
            false => check_identity(index, entity, errors),
        }
        check_keep(index, entity, errors);
        check_each(index, errors);
    }
}

/// The elements of a list are told apart by the key.
fn check_each(index: &Index, errors: &mut Errors) {
    let Some(each) = &index.each else { return };
    if !index.keys().flat_map(Key::parts).any(|part| part.is_of(each)) {
        let (what, name) = (if index.is_list { "list" } else { "index" }, &each.name);
        let message = format!("{what} `{}`: all elements of `{name}` would have the same row", index.name);
        errors.at(index.row.span, format!("{message}: add `{{{name}}}` to its key, or remove `each({name})`"));
    }
}

/// A unique index is told by its own key; any other holds the entity's key too.
fn check_identity(index: &Index, entity: &Entity, errors: &mut Errors) {
    let (missing, name) = (not_held(index, entity), &index.name);
    let shard = index.partition(&entity.partition).shard().filter(|_| index.is_unique);
    if let Some(shard) = shard {
        let shard = shard.written();
        let message = format!("`unique` holds within a partition, and `{shard}` spreads the entities over several");
        errors.at(name.span(), format!("index `{name}`: {message}; remove one of them"));
    } else if index.is_unique && missing.is_empty() {
        let which = if index.elsewhere.is_some() { "key" } else { "row key" };
        let message = "holds the entity's own key, so every entry is unique: remove one of them";
        errors.at(index.row.span, format!("index `{name}`: `unique` promises nothing here; the {which} {message}"));
    } else if !index.is_unique && !missing.is_empty() {
        let missing = written(&missing).join("_");
        let message = format!("two entities could have the same entry: add `_{missing}` to the row key, or `unique`");
        errors.at(index.row.span, format!("index `{name}`: {message}"));
    }
}

/// What the entity's own key has and that of the index has not.
pub(super) fn not_held<'e>(index: &Index, entity: &'e Entity) -> Vec<&'e Part> {
    let held = || index.partition(&entity.partition).parts().chain(index.row.parts());
    let is_held = |own: &&Part| held().any(|part| part.is_of(&own.field) && holds(part, own));
    let own = entity.partition.parts().filter(|_| index.elsewhere.is_some()).chain(entity.row.parts());
    own.filter(|own| !is_held(own)).collect()
}

/// The parts as a row key can have them: a shard stands in a partition key only, and its field tells as much.
fn written(parts: &[&Part]) -> Vec<String> {
    let is_told = |shard: &Part| parts.iter().any(|part| part.is_of(&shard.field) && !part.codec.is_shard());
    let in_row = |part: &&Part| match part.codec.is_shard() {
        false => Some(part.written()),
        true => (!is_told(part)).then(|| Part { codec: Codec::Plain, field: part.field.clone() }.written()),
    };
    parts.iter().filter_map(in_row).collect()
}

/// Whether `part` tells apart all that `own` does.
fn holds(part: &Part, own: &Part) -> bool {
    part.codec == own.codec || part.codec.tells_apart()
}

/// What the keys give back need not be kept.
fn check_keep(index: &Index, entity: &Entity, errors: &mut Errors) {
    let Cover::Keep(kept) = &index.cover else { return };
    for field in kept {
        if entity.in_key(field) || index.gives_back(field) {
            let message = format!("`{}` is read back from the keys of every entry: remove it from `keep`", field.name);
            errors.at(index.name.span(), format!("index `{}`: {message}", index.name));
        }
    }
}

/// Whether the field's value can be read back from the key.
pub(crate) fn is_recoverable(key: &Key, field: &Field) -> bool {
    key.parts().any(|part| part.is_of(field) && part.codec.is_recoverable())
}
