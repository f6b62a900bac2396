//! Aggregates in parts: `sharded(visits = i64)`, on the entity that they are of. They are no fields: what they come to is
//! summed when it is asked for. How they are kept is the runtime's.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::{
    errors::Errors,
    meant::entity::Entity,
    names::{Case, property_fault},
    written::Word,
};

/// One aggregate, as written.
pub(crate) struct ShardedWord {
    pub(crate) name: Ident,
    ty: Ident,
}

impl ShardedWord {
    /// Reads `sharded(visits = i64, ..)`.
    pub(crate) fn read(word: &Word, errors: &mut Errors) -> Vec<Self> {
        let Some(words) = word.words(errors) else { return Vec::new() };
        if words.is_empty() {
            errors.at(word.span(), "`sharded` names no aggregate: write `sharded(name = i64)`, or `f64`".to_owned());
        }
        words.iter().filter_map(|word| Self::read_one(word, errors)).collect()
    }

    fn read_one(word: &Word, errors: &mut Errors) -> Option<Self> {
        let ty = word.value().and_then(|value| syn::parse2::<Ident>(value).ok());
        let ty = ty.filter(|ty| ty == "i64" || ty == "f64");
        let write = format!("`{0} = i64`, or `{0} = f64`", word.name);
        let ty = ty.or_else(|| word.wrong("takes the type of a count or sum", &write, errors))?;
        Some(Self { name: word.name.clone(), ty })
    }
}

/// A resolved one.
pub(crate) struct Sharded {
    pub(crate) name: Ident,
    ty: Ident,
    /// The stored name.
    pub(crate) property: String,
}

/// Those that the words ask for, under names of this convention.
pub(crate) fn resolve(words: &[ShardedWord], case: Case) -> Vec<Sharded> {
    let own = |ShardedWord { name, ty }: &ShardedWord| Sharded {
        property: case.apply(&name.unraw().to_string()),
        name: name.clone(),
        ty: ty.clone(),
    };
    words.iter().map(own).collect()
}

impl Sharded {
    fn handle(&self) -> Ident {
        format_ident!("{}", self.name.unraw().to_string().to_uppercase(), span = self.name.span())
    }

    /// `_tm::PropertySchema::new("visits", "Visits", <i64 as _tm::Property>::STORED).of_aggregate()`
    pub(crate) fn schema(&self) -> TokenStream {
        let Self { name, ty, property } = self;
        let name = name.unraw().to_string();
        quote!(_tm::PropertySchema::new(#name, #property, <#ty as _tm::Property>::STORED).of_aggregate())
    }

    /// `pub const VISITS: _tm::Field<Self, i64, _tm::Sharded> = _tm::Field::named("Visits");`
    fn constant(&self, entity: &Entity) -> TokenStream {
        let Self { name, ty, property } = self;
        let (vis, handle, doc) = (&entity.vis, self.handle(), format!("The handle of the aggregate `{name}`."));
        quote_spanned! {name.span()=>
            #[doc = #doc]
            #vis const #handle: _tm::Field<Self, #ty, _tm::Sharded> = _tm::Field::named(#property);
        }
    }
}

/// Their handles, each name once.
pub(crate) fn constants(entity: &Entity) -> impl Iterator<Item = TokenStream> {
    let own = entity.sharded.iter().enumerate().filter(|(at, own)| clash(entity, *at, own).is_none());
    own.map(|(_, own)| own.constant(entity))
}

/// That they have legal names, each its own.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    for (at, own) in entity.sharded.iter().enumerate() {
        let (name, span) = (&own.name, own.name.span());
        if let Some(fault) = property_fault(&own.property) {
            errors.at(span, format!("aggregate `{name}`: {fault}; choose another name"));
        }
        if let Some(what) = clash(entity, at, own) {
            errors.at(span, format!("aggregate `{name}` would have the name of {what}: choose another"));
        }
        if entity.reserved.contains(&own.property) {
            let remedy = "what was stored before may have it with another meaning: choose another name";
            errors.at(span, format!("`{}` is reserved: {remedy}", own.property));
        }
    }
}

/// What has the name already, if something has.
fn clash(entity: &Entity, at: usize, own: &Sharded) -> Option<&'static str> {
    let is_field = entity.fields.iter().any(|field| {
        let is_called = own.name.unraw() == field.name; // a copy of this name has rows of the same type
        is_called
            || field.stored_names().contains(&own.property)
            || (field.has_handle() && field.handle() == own.handle())
    });
    let is_same = |earlier: &Sharded| earlier.handle() == own.handle() || earlier.property == own.property;
    let is_other = entity.sharded.iter().take(at).any(is_same);
    if is_field { Some("a field") } else { is_other.then_some("another aggregate") }
}
