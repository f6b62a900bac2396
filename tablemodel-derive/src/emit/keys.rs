//! The keys of an entity, each a constant of its own: what is wrong with one is told whatever else is wrong with the entity.
//! What they become is constant data; what may stand in them is checked in `checks`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::meant::{
    entity::Entity,
    field::Field,
    key::{Key, Segment},
};

/// A key where it stands.
pub(crate) struct Placed<'a> {
    pub(crate) key: &'a Key,
    /// The constant that holds its template.
    pub(crate) constant: Ident,
    /// What is asked of its first part, and of the others: variants of the runtime's `Place`.
    places: [&'static str; 2],
    ends_with_owner: bool,
}

/// All keys of the entity.
pub(crate) fn all(entity: &Entity) -> impl Iterator<Item = Placed<'_>> {
    let own = [placed_partition(&entity.partition, None, entity), placed_row(&entity.row, None)];
    let of_indexes = entity.indexes.iter().enumerate().flat_map(|(at, index)| {
        let elsewhere = index.elsewhere.as_ref();
        let elsewhere = elsewhere.map(|elsewhere| placed_partition(&elsewhere.partition, Some(at), entity));
        let row = placed_row(&index.row, Some(at));
        elsewhere.into_iter().chain([Placed { ends_with_owner: index.ends_with_owner(), ..row }])
    });
    own.into_iter().chain(of_indexes)
}

fn placed_partition<'a>(key: &'a Key, index: Option<usize>, entity: &Entity) -> Placed<'a> {
    let [leads, other] = match index {
        None => ["LeadsPartition", "Primary"],
        Some(_) => ["LeadsIndex", "Index"],
    };
    let may_grow = entity.append_hotspot || key.shard().is_some();
    let first = if may_grow { other } else { leads };
    Placed { key, constant: partition(index), places: [first, other], ends_with_owner: false }
}

fn placed_row(key: &Key, index: Option<usize>) -> Placed<'_> {
    let place = if index.is_some() { "Index" } else { "Primary" };
    Placed { key, constant: row(index), places: [place; 2], ends_with_owner: false }
}

/// The constant of the partition key: of the index at this place, or the entity's own.
pub(crate) fn partition(index: Option<usize>) -> Ident {
    constant(index, "PARTITION")
}

/// That of the row key.
pub(crate) fn row(index: Option<usize>) -> Ident {
    constant(index, "ROW")
}

fn constant(index: Option<usize>, what: &str) -> Ident {
    match index {
        None => format_ident!("__{what}"),
        Some(at) => format_ident!("__{what}_{at}"),
    }
}

impl Placed<'_> {
    /// `const __ROW: _tm::Template = ..;`, with an expression for what a field's type is in keys.
    pub(crate) fn declared(&self, in_key: impl Fn(&Field) -> TokenStream) -> TokenStream {
        let constant = &self.constant;
        let segments = self.key.segments.iter().map(|piece| segment(piece, &in_key));
        let owner = self.ends_with_owner.then(|| {
            quote! {
                _tm::Segment::Literal("!"), _tm::Segment::Part(_tm::OWNER_PARTITION),
                _tm::Segment::Literal("!"), _tm::Segment::Part(_tm::OWNER_ROW),
            }
        });
        quote!(const #constant: _tm::Template = _tm::Template(&[#(#segments,)* #owner]);)
    }

    /// One constant per part, so that every part with a fault is told.
    pub(crate) fn checks(&self) -> TokenStream {
        let (template, [first, other]) = (&self.constant, self.places);
        let parts = self.key.segments.iter().enumerate().filter_map(|(segment, piece)| match piece {
            Segment::Part(part) => Some((segment, part)),
            Segment::Literal(_) => None,
        });
        let checks = parts.enumerate().map(|(nth, (segment, part))| {
            let (written, place) = (part.written(), format_ident!("{}", if nth == 0 { first } else { other }));
            quote_spanned! {self.key.span=>
                const _: () = _tm::check_part(&#template, #segment, #written, _tm::Place::#place);
            }
        });
        checks.collect()
    }
}

/// What a type is in keys, and whether it may be absent.
pub(crate) fn in_key(field: &Field) -> TokenStream {
    let ty = &field.ty;
    quote_spanned!(ty.span()=> <#ty as _tm::KeyPart>::IN_KEY)
}

/// `_tm::Segment::..`
fn segment(segment: &Segment, in_key: &impl Fn(&Field) -> TokenStream) -> TokenStream {
    match segment {
        Segment::Literal(text) => quote!(_tm::Segment::Literal(#text)),
        Segment::Part(part) => {
            let (Field { name, property, .. }, codec) = (&*part.field, part.codec.tokens());
            let in_key = in_key(&part.field);
            quote!(_tm::Segment::part(#name, #property, #in_key, #codec))
        }
    }
}
