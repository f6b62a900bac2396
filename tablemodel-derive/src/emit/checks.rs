//! Constants that fail to compile: what shows only once types are known, with messages made here, under the
//! words of the user.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::{
    codec::Codec,
    meant::{
        entity::Entity,
        field::Kind,
        key::{Key, Part, Segment},
    },
};

/// All checks of an entity.
pub(crate) fn checks(entity: &Entity) -> TokenStream {
    let partition = key(entity, Which::Partition, &entity.partition);
    let row = key(entity, Which::Row, &entity.row);
    let indexes = entity.indexes.iter().enumerate();
    let indexes = indexes.map(|(place, index)| key(entity, Which::Index(place), &index.row));
    let overlaps = overlaps(entity);
    let groups = groups(entity);
    quote!(#partition #row #(#indexes)* #overlaps #groups)
}

/// Which template of the entity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Partition,
    Row,
    Index(usize),
}

impl Which {
    fn template(self, schema: &TokenStream) -> TokenStream {
        match self {
            Self::Partition => quote!(&#schema.partition),
            Self::Row => quote!(&#schema.row),
            Self::Index(place) => quote!(_tm::index_row(#schema, #place)),
        }
    }
}

fn schema(entity: &Entity) -> TokenStream {
    let ident = &entity.ident;
    quote!(<#ident as _tm::TableEntity>::SCHEMA)
}

/// One constant per part of a template.
fn key(entity: &Entity, which: Which, key: &Key) -> TokenStream {
    let template = which.template(&schema(entity));
    let parts = key.segments.iter().enumerate().filter_map(|(place, segment)| match segment {
        Segment::Part(part) => Some((place, part)),
        Segment::Literal(_) => None,
    });
    let checks = parts.map(|(place, part)| {
        let faults = faults(entity, which, key, place, part);
        let faults = faults.iter().map(|(fault, message)| quote!((_tm::Fault::#fault, #message)));
        quote_spanned!(key.span=> const _: () = _tm::check_part(#template, #place, &[#(#faults),*]);)
    });
    checks.collect()
}

/// What could be wrong with a part, and what to say then.
fn faults(entity: &Entity, which: Which, key: &Key, place: usize, part: &Part) -> Vec<(TokenStream, String)> {
    let mut faults = vec![(quote!(Unfit), unfit(part))];
    match key.after(place) {
        None => faults.push((quote!(Glued), glued(key, place, part))),
        Some("") => {}
        Some(literal) => faults.push((quote!(Separator), separator(part, literal))),
    }
    if !matches!(which, Which::Index(_)) {
        faults.push((quote!(Optional), optional(part)));
    }
    let is_first = key.parts().next().is_some_and(|first| first.is_of(&part.field) && first.codec == part.codec);
    let must_spread = which == Which::Partition && is_first && key.shard().is_none() && !entity.append_hotspot;
    if must_spread && part.codec != Codec::Hash {
        faults.push((quote!(LedByTime), led_by_time(part)));
    }
    faults
}

fn unfit(part: &Part) -> String {
    let field = &part.field.name;
    match part.codec {
        Codec::Plain => {
            format!("field `{field}` is a float, which has no plain form in a key: write `{{{field}:sortable}}`")
        }
        codec => {
            let (word, fits) = (codec.word(), fitting(codec));
            format!("codec `{word}` does not fit field `{field}`: it is for {fits}")
        }
    }
}

fn fitting(codec: Codec) -> &'static str {
    match codec {
        Codec::Width(_) => "integers",
        Codec::Desc => "integers and points in time",
        Codec::Sortable => "floats",
        Codec::Hour | Codec::Day => "points in time",
        Codec::Month => "points in time and dates",
        Codec::Lower | Codec::Raw => "texts",
        Codec::Plain | Codec::Shard(_) | Codec::Hash => "every key type",
    }
}

fn glued(key: &Key, place: usize, part: &Part) -> String {
    let next = match key.segments.get(place + 1) {
        Some(Segment::Part(next)) => next.written(),
        _ => String::new(),
    };
    let part = part.written();
    format!(
        "nothing tells where `{part}` ends and `{next}` begins: write a separator, as in `{part}_{next}` or `{part}!{next}`"
    )
}

fn separator(part: &Part, literal: &str) -> String {
    let part = part.written();
    format!(
        "`{literal}` cannot follow `{part}`, whose keys may hold its first character: begin it with `_`, `-` or `!`"
    )
}

fn optional(part: &Part) -> String {
    let field = &part.field.name;
    format!(
        "field `{field}` is an `Option` and stands in the primary key, which every entity must have: use the type inside, or put the field into an index only"
    )
}

fn led_by_time(part: &Part) -> String {
    let part = part.written();
    let remedy = "lead it with a field that spreads the load, or add a part such as `{id:shard(16)}`";
    format!(
        "this partition key is led by time (`{part}`), so that one server takes every write; {remedy}, or say `allow(append_hotspot)`"
    )
}

/// No two rows of one entity, or of two entities in a partition, share a key.
fn overlaps(entity: &Entity) -> TokenStream {
    let schema = schema(entity);
    let checks = entity.indexes.iter().enumerate().map(|(place, index)| {
        let name = &index.name;
        let remedy = "begin their row keys with different literals, such as";
        let primary = format!("index `{name}` and the primary key could produce the same row key: {remedy} `{name}_`");
        let earlier = entity.indexes.iter().take(place).map(|earlier| {
            let other = &earlier.name;
            format!("indexes `{other}` and `{name}` could produce the same row key: {remedy} `{other}_` and `{name}_`")
        });
        let messages = std::iter::once(primary).chain(earlier);
        quote_spanned!(index.row.span=> const _: () = _tm::check_overlap(#schema, #place, &[#(#messages),*]);)
    });
    checks.collect()
}

/// What the fields of groups add.
fn groups(entity: &Entity) -> Option<TokenStream> {
    let group = entity.fields.iter().find(|field| field.kind == Kind::Group)?;
    let (schema, span) = (schema(entity), group.ident.span());
    let name = &entity.ident;
    let duplicate = format!("two properties of `{name}` have one name: rename a field of a group, or one beside it");
    let too_many = format!("`{name}` has more than 249 properties with those of its groups");
    let check = |assertion: TokenStream, message: String, span: Span| quote_spanned!(span=> const _: () = _tm::check(!#schema.#assertion, #message););
    let duplicate = check(quote!(has_duplicate_property()), duplicate, span);
    let too_many = check(quote!(has_too_many_properties()), too_many, span);
    Some(quote!(#duplicate #too_many))
}
