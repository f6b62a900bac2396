//! Aggregates: `count(Department, key(name = department), into = employee_count)`, and `sum`, `min` and `max` with
//! `of = salary`, on the entity that is counted. How they are kept is the runtime's.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Path, ext::IdentExt, spanned::Spanned};

use super::index::{When, WhenWord, condition, when};
use crate::{
    errors::Errors,
    meant::{
        entity::Entity,
        field::{Field, Kind, look_up},
    },
    written::{Item, Place, Slot, Word, unknown_word},
};

/// The words of an aggregate, as written.
pub(crate) struct AggregateWords {
    function: Ident,
    target: Path,
    key: Slot<Vec<(Ident, Ident)>>,
    of: Slot<Ident>,
    into: Slot<Ident>,
    when: Slot<WhenWord>,
}

/// Of `sum`, `min` and `max`.
const OF_SUM: [&str; 4] = ["key", "of", "into", "when"];

impl AggregateWords {
    pub(crate) const COUNT: Place = Place { item: Item::Entity, at: "in `count(..)`", words: &["key", "into", "when"] };
    pub(crate) const SUM: Place = Place { item: Item::Entity, at: "in `sum(..)`", words: &OF_SUM };
    pub(crate) const MIN: Place = Place { item: Item::Entity, at: "in `min(..)`", words: &OF_SUM };
    pub(crate) const MAX: Place = Place { item: Item::Entity, at: "in `max(..)`", words: &OF_SUM };

    /// Reads `count(..)`, `sum(..)`, `min(..)` or `max(..)`; `None` where it names no entity.
    pub(crate) fn read(word: &Word, errors: &mut Errors) -> Option<Self> {
        let Some((target, words)) = word.head_and_words(errors) else {
            word.words(errors)?; // says what it takes
            return None;
        };
        let is_word = |path: &Path| OF_SUM.iter().any(|word| path.is_ident(word));
        let target = syn::parse2::<Path>(target).ok().filter(|path| !is_word(path));
        let Some(target) = target else {
            return word.wrong("names the entity that holds it first", &example(&word.name), errors);
        };
        let mut aggregate = Self {
            function: word.name.clone(),
            target,
            key: Slot::Absent,
            of: Slot::Absent,
            into: Slot::Absent,
            when: Slot::Absent,
        };
        words.iter().for_each(|word| aggregate.take(word, errors));
        Some(aggregate)
    }

    /// Whether it is of a field.
    fn has_field(&self) -> bool {
        self.function != "count"
    }

    fn place(&self) -> &'static Place {
        match self.function.to_string().as_str() {
            "count" => &Self::COUNT,
            "min" => &Self::MIN,
            "max" => &Self::MAX,
            _ => &Self::SUM,
        }
    }

    fn take(&mut self, word: &Word, errors: &mut Errors) {
        match word.text().as_str() {
            "key" => self.key.fill(word, key(word, errors), errors),
            "into" => self.into.fill(word, name(word, "employee_count", errors), errors),
            "when" => self.when.fill(word, when(word, errors), errors),
            "of" if self.has_field() => self.of.fill(word, name(word, "salary", errors), errors),
            _ => unknown_word(word, self.place(), errors),
        }
    }
}

fn example(function: &Ident) -> String {
    let of = if function == "count" { "" } else { "of = salary, " };
    format!("`{function}(Department, key(name = department), {of}into = ..)`")
}

/// `word = name`
fn name(word: &Word, example: &str, errors: &mut Errors) -> Option<Ident> {
    let value = word.value().and_then(|value| syn::parse2::<Ident>(value).ok());
    value.or_else(|| word.wrong("takes a field", &format!("`{} = {example}`", word.name), errors))
}

/// `key(name = department, ..)`
fn key(word: &Word, errors: &mut Errors) -> Option<Vec<(Ident, Ident)>> {
    let words = word.words(errors)?;
    if words.is_empty() {
        let write = "`key(name = department)`: a field of its key, and one of this struct";
        return word.wrong("says which entity", write, errors);
    }
    let mut pairs: Vec<(Ident, Ident)> = Vec::new();
    for pair in &words {
        let Some(field) = name(pair, "department", errors) else { continue };
        match pairs.iter().any(|(earlier, _)| earlier.unraw() == pair.name.unraw()) {
            true => errors.at(pair.span(), format!("`{}` is given twice", pair.name)),
            false => pairs.push((pair.name.clone(), field)),
        }
    }
    Some(pairs)
}

/// A resolved aggregate.
pub(crate) struct Aggregate {
    function: Ident,
    target: Path,
    /// Fields of the target's key, each with the field of this entity.
    key: Vec<(Ident, Rc<Field>)>,
    of: Option<Rc<Field>>,
    into: Option<Ident>,
    when: Option<When>,
}

/// The aggregate that the words ask for, of the entity named `own`.
pub(crate) fn resolve(words: &AggregateWords, own: &Ident, fields: &[Rc<Field>], errors: &mut Errors) -> Aggregate {
    let (function, target) = (&words.function, &words.target);
    let mut require = |is_absent: bool, word: &str| {
        if is_absent {
            errors.at(function.span(), format!("`{function}` has no `{word}`: write {}", example(function)));
        }
    };
    require(words.key.is_absent(), "key");
    require(words.into.is_absent(), "into");
    require(words.has_field() && words.of.is_absent(), "of");
    if target.is_ident(own) {
        let message = "aggregates of an entity in itself are not supported yet in this version of tablemodel";
        errors.at(target.span(), format!("`{own}` would hold the `{function}` of itself: {message}"));
    }
    let pairs = words.key.get().map(Vec::as_slice).unwrap_or_default();
    let key = pairs.iter().filter_map(|(name, field)| Some((name.clone(), used(field, fields, errors)?)));
    let key = key.collect();
    let of = words.of.get().and_then(|of| used(of, fields, errors));
    let when = words.when.get().and_then(|when| condition(when, fields, errors));
    Aggregate { function: function.clone(), target: target.clone(), key, of, into: words.into.get().cloned(), when }
}

/// A field of one plain value.
fn used(name: &Ident, fields: &[Rc<Field>], errors: &mut Errors) -> Option<Rc<Field>> {
    let field = look_up(fields, &name.unraw().to_string(), name.span(), errors)?;
    if let Some(what) = field.special_form().filter(|_| field.kind != Kind::Plain) {
        errors.at(
            name.span(),
            format!("`{name}` is {what}, and an aggregate uses plain properties: name a field that is one"),
        );
        return None;
    }
    Some(field)
}

impl Aggregate {
    /// Whether a change of `field` may change the aggregate.
    pub(crate) fn uses(&self, field: &Field) -> bool {
        let mut used =
            self.key.iter().map(|(_, field)| field).chain(&self.of).chain(self.when.iter().map(|when| &when.field));
        used.any(|used| used.name == field.name)
    }

    /// Whether it keeps the least or greatest value.
    pub(crate) fn is_extreme(&self) -> bool {
        self.function == "min" || self.function == "max"
    }

    /// `const __AGGREGATE_0: _tm::AggregateSchema = ..;`
    pub(crate) fn declared(&self, at: usize) -> TokenStream {
        let (constant, target) = (constant(at), &self.target);
        let name = self.into.as_ref().map(|into| into.unraw().to_string()).unwrap_or_default();
        let pairs = self.key.iter().map(|(name, field)| {
            let (handle, property) = (self.handle(name), &field.property);
            quote!((#handle.property(), #property))
        });
        let into = self.into.as_ref().map(|into| self.handle(into));
        let function = match &self.of {
            None => quote!(Count),
            Some(field) => {
                let (function, property) = (self.variant(), &field.property);
                quote!(#function(#property))
            }
        };
        let when = super::index::when_schema(self.when.as_ref());
        quote! {
            const #constant: _tm::AggregateSchema = _tm::AggregateSchema {
                name: #name, target: <#target as _tm::TableEntity>::SCHEMA, key: &[#(#pairs),*],
                into: #into.property(), function: _tm::Function::#function, when: #when,
            };
        }
    }

    /// `Sum`
    fn variant(&self) -> Ident {
        let name = match self.function.to_string().as_str() {
            "min" => "Min",
            "max" => "Max",
            _ => "Sum",
        };
        format_ident!("{name}", span = self.function.span())
    }

    /// `<Department>::EMPLOYEE_COUNT`
    fn handle(&self, field: &Ident) -> TokenStream {
        let (target, handle) =
            (&self.target, format_ident!("{}", field.unraw().to_string().to_uppercase(), span = field.span()));
        quote_spanned!(field.span()=> <#target>::#handle)
    }

    /// What shows only once types are known: that fields have one type, and that the target's key is told.
    ///
    /// A frozen struct holds what is stored, by other types than those of the target today: its format is the lock's to know.
    pub(crate) fn checks(&self, at: usize, entity: &Entity) -> TokenStream {
        let (of, constant) = (&entity.entity_type, constant(at));
        let beside = quote_spanned!(self.target.span()=> const _: () = _tm::check_aggregate(#of, &#constant););
        if entity.lineage.frozen {
            return beside;
        }
        let types = self.key.iter().map(|(name, field)| {
            let (handle, ty) = (self.handle(name), &field.ty);
            quote_spanned!(name.span()=> const _: () = _tm::check_field::<_, #ty, _>(&#handle);)
        });
        let result = match &self.of {
            None => quote!(i64),
            Some(field) => {
                let ty = &field.ty;
                match self.function == "sum" {
                    true => quote_spanned!(ty.span()=> <#ty as _tm::Summed>::Sum),
                    false => quote_spanned!(ty.span()=> <#ty as _tm::Ranked>::First),
                }
            }
        };
        let into = self.into.as_ref().map(|into| {
            let handle = self.handle(into);
            quote_spanned!(into.span()=> const _: () = _tm::check_into::<_, #result, _>(&#handle);)
        });
        let when = self.when.as_ref().map(When::checks);
        quote!(#(#types)* #into #when #beside)
    }
}

/// The constant of the aggregate at this place.
pub(crate) fn constant(at: usize) -> Ident {
    format_ident!("__AGGREGATE_{at}")
}

/// Where a field that holds an aggregate may not stand, and what else the aggregates of an entity must obey.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    for field in entity.fields.iter().filter(|field| field.is_aggregate) {
        let own = entity.partition.parts().chain(entity.row.parts()).any(|part| part.is_of(field));
        let index = entity.indexes.iter().find(|index| index.depends_on(field));
        let aggregate = entity.aggregates.iter().any(|aggregate| aggregate.uses(field));
        let copy = entity.copies.iter().any(|copy| copy.uses(field));
        if own || index.is_some() || aggregate || copy {
            let message = "holds an aggregate, so that no key, condition, copy or other aggregate can be made from it";
            errors.at(field.ident.span(), format!("field `{}` {message}", field.name));
        }
    }
}
