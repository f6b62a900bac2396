//! What an entity with errors leaves behind: the impls, handles and paths that other code mentions, so that one
//! mistake is one error. Nothing of it is ever run, since nothing is compiled to the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Generics, spanned::Spanned};

use super::{
    array, checks, fields,
    handles::constants,
    head, keys,
    path::{list_path, marker_of, path_type},
    schema::{names, of_keys},
};
use crate::{
    meant::{
        entity::Entity,
        field::Field,
        key::Key,
        names::{FUNCTIONS, TERMINALS},
        path::Path,
    },
    rooms::index::{Cover, Index, When},
};

/// What the methods of a component are called beside the field's own name.
const SUFFIXES: [&str; 8] =
    ["between", "starts_with", "hour", "day", "month", "hour_between", "day_between", "month_between"];

/// The fallback of an entity.
pub(crate) fn entity(entity: &Entity) -> TokenStream {
    let mut starts: Vec<Ident> = Vec::new();
    for start in std::iter::once(&entity.find).chain(entity.indexes.iter().map(|index| &index.name)) {
        if !starts.contains(start) && !FUNCTIONS.iter().any(|function| start == function) {
            starts.push(start.clone());
        }
    }
    let items = [
        array::markers(&entity.fields),
        implementation(entity),
        kinds(entity, &starts),
        path(entity),
        handles(entity, &starts),
    ];
    super::hidden(&entity.runtime, &items.into_iter().collect())
}

/// A format without fields or keys, in a table of its own, so that no other entity seems to meet it; checks that ask about
/// several entities pass over it.
fn implementation(entity: &Entity) -> TokenStream {
    let (entity_type, name) = (&entity.entity_type, entity.name());
    let asked = asked(&entity.fields, &entity.generics);
    let (bodies, keys, groups) = (fields::unreachable(asked.clone()), in_keys(entity), groups(entity));
    let checks = checks::of_fields(asked);
    let head = head::of_trait(&quote!(_tm::TableEntity), &entity.ident, &entity.generics);
    let allow_scan = head::of_any(&quote!(_tm::AllowScan), &entity.ident, &entity.generics);
    quote! {
        #[automatically_derived]
        #head {
            const ENTITY_TYPE: &'static str = #entity_type;
            const SCHEMA: &'static _tm::EntitySchema = &_tm::EntitySchema {
                entity_type: #entity_type, discriminator: #name, table: #name, path: #name, .._tm::EntitySchema::MISTAKEN
            };
            #(#bodies)*
        }
        #allow_scan {}
        #checks
        #keys
        #groups
    }
}

/// The fields of whose types something is asked all the same, so that mistakes of both kinds are told at once.
pub(crate) fn asked<'a>(fields: &'a [Rc<Field>], generics: &'a Generics) -> impl Iterator<Item = &'a Field> + Clone {
    fields.iter().map(|field| &**field).filter(|field| is_asked(field, generics))
}

fn is_asked(field: &Field, generics: &Generics) -> bool {
    field.is_understood.get() && !head::mentions(field.ty.to_token_stream(), generics)
}

/// That types can stand in keys, each asked once, and each where it stands; and in conditions.
fn in_keys(entity: &Entity) -> TokenStream {
    let keys = keys::all(entity).map(|placed| placed.key);
    let mut fields: BTreeMap<&str, &Field> = BTreeMap::new();
    for part in keys.flat_map(Key::parts).filter(|part| is_asked(&part.field, &entity.generics)) {
        fields.entry(&part.field.name).or_insert(&part.field);
    }
    let types = fields.values().map(|field| {
        let (ty, in_key) = (&field.ty, in_key(field));
        quote_spanned!(ty.span()=> const #in_key: (_tm::KeyType, bool) = <#ty as _tm::KeyPart>::IN_KEY;)
    });
    let is_known = |key: &Key| key.is_sound && key.parts().all(|part| fields.contains_key(part.field.name.as_str()));
    let keys = keys::all(entity).filter(|placed| is_known(placed.key)).map(|placed| {
        let (declared, checks) = (placed.declared(|field| in_key(field).into_token_stream()), placed.checks());
        quote!(#declared #checks)
    });
    let overlaps = overlaps(entity, is_known);
    let whens = entity.indexes.iter().filter_map(|index| index.when.as_ref());
    let whens = whens.filter(|when| is_asked(&when.field, &entity.generics)).map(When::checks);
    quote!(#(#types)* #(#keys)* #overlaps #(#whens)*)
}

/// That rows of the entity's indexes meet no others, of those whose keys are all known.
fn overlaps(entity: &Entity, is_known: impl Fn(&Key) -> bool) -> Option<TokenStream> {
    let mut names = BTreeSet::new();
    let mut is_whole = |index: &Index| {
        let is_first = names.insert(index.stored_name());
        is_first && index.is_placed && index.keys().all(&is_known)
    };
    let whole: Vec<(usize, &Index)> = (0..).zip(&entity.indexes).filter(|(_, index)| is_whole(index)).collect();
    let checks = whole.iter().enumerate().map(|(place, (_, index))| checks::overlap(index, place));
    (is_known(&entity.partition) && is_known(&entity.row)).then(|| {
        let stand = whole.iter().map(|(at, index)| index.stands(*at, entity));
        let of_keys =
            of_keys(entity, stand.map(|stands| quote!(_tm::IndexSchema { #stands .._tm::IndexSchema::PLAIN })));
        quote!(#of_keys #(#checks)*)
    })
}

/// That the names which groups bring are no others'. Of two that the struct itself gives twice, one is here.
fn groups(entity: &Entity) -> Option<TokenStream> {
    let asked = || asked(&entity.fields, &entity.generics);
    let checks = checks::groups(asked())?;
    let mut taken = BTreeSet::new();
    let names = names(asked().filter(|field| taken.insert(&field.property)));
    let (of, reserved) = (&entity.entity_type, &entity.reserved);
    Some(quote! {
        const __NAMES: _tm::EntitySchema = _tm::EntitySchema {
            entity_type: #of, fields: #names, reserved: &[#(#reserved),*],
            shape: _tm::Some(_tm::Shape { wide: true, chunked: &[], parts: &[] }),
            .._tm::EntitySchema::PLAIN
        };
        #checks
    })
}

/// The constant that holds what the field's type is in keys.
fn in_key(field: &Field) -> Ident {
    format_ident!("__IN_KEY_{}", field.ident)
}

/// The type that stands for any path which begins so.
fn marker(start: &Ident) -> Ident {
    marker_of(start, std::iter::empty())
}

/// Paths that have reached every terminal. Their markers hold the entity: it may be a generic type, which is its mistake.
fn kinds(entity: &Entity, starts: &[Ident]) -> TokenStream {
    starts.iter().map(|start| kind(entity, start)).collect()
}

fn kind(entity: &Entity, start: &Ident) -> TokenStream {
    let (vis, marker) = (&entity.vis, marker(start));
    let index = entity.indexes.iter().find(|index| index.name == *start).filter(|_| *start != entity.find);
    let (of_kind, found) = match index {
        Some(index) if index.is_list => (quote!(ListKind), None),
        Some(Index { cover: Cover::Whole, .. }) => (quote!(PathKind), Some(quote!(Seen))),
        _ => (quote!(PathKind), Some(quote!(Stored))),
    };
    let of_rows = found.map(|found| [quote!(type Found = _tm::#found<__E>;), of_any_path(&marker)]);
    let [found, of_any_path] = of_rows.unwrap_or_default();
    quote! {
        #vis struct #marker<__E>(_tm::PhantomData<__E>);
        impl<__E: _tm::TableEntity> _tm::#of_kind for #marker<__E> {
            type Entity = __E;
            #found
            const WAY: _tm::Way = _tm::Way { index: _tm::None, components: &[] };
        }
        #of_any_path
    }
}

/// What is asked of the paths to rows beside their terminals.
fn of_any_path(marker: &Ident) -> TokenStream {
    quote! {
        impl<__E: _tm::TableEntity> _tm::PrimaryKind for #marker<__E> {}
        impl<__E, const __H: u64> _tm::Carries<__H> for #marker<__E> {}
    }
}

/// A path whose methods take anything; its own `get_many` does so before that of all paths.
fn path(entity: &Entity) -> TokenStream {
    let (vis, path, methods) = (&entity.vis, path_type(entity), methods(entity));
    let lists = list_path(entity, &path);
    quote! {
        #lists
        #vis struct #path<__S>(_tm::PathQuery, _tm::PhantomData<fn() -> __S>);
        impl<__S: _tm::PathState> _tm::Path for #path<__S> {
            type State = __S;
            type Found = <__S::Kind as _tm::PathKind>::Found;
            fn into_query(self) -> _tm::PathQuery { self.0 }
            fn query(&self) -> &_tm::PathQuery { &self.0 }
        }
        impl<__S: _tm::PathState> #path<__S> {
            #vis fn get_many<__V>(self, _: __V, _: &_tm::Database) -> _tm::Many<Self> { loop {} }
        }
        impl<__S> #path<__S> { #(#vis fn #methods<__V>(self, _: __V) -> Self { self })* }
    }
}

/// What the components of any key could be asked, each name once.
fn methods(entity: &Entity) -> Vec<Ident> {
    let mut methods: Vec<Ident> = Vec::new();
    for field in &entity.fields {
        let name = field.method.as_ref().unwrap_or(&field.ident);
        let suffixed = SUFFIXES.map(|suffix| format_ident!("{name}_{suffix}"));
        for method in std::iter::once(name.clone()).chain(suffixed) {
            if !methods.contains(&method) && !TERMINALS.iter().any(|terminal| method == terminal) {
                methods.push(method);
            }
        }
    }
    methods
}

fn handles(entity: &Entity, starts: &[Ident]) -> TokenStream {
    let (vis, head, path) = (&entity.vis, head::own(&entity.ident, &entity.generics), path_type(entity));
    let markers = starts.iter().map(marker);
    let is_function = |name: &Ident| starts.contains(name) || FUNCTIONS.iter().any(|function| name == function);
    let is_of_one_form = |field: &Field| field.is_property() || !field.is_understood.get();
    let is_told = |field: &Field| is_of_one_form(field) || is_asked(field, &entity.generics);
    let constants = constants(entity, |field| is_told(field) && !is_function(&field.handle()));
    let types: Vec<Ident> = (0..partition_width(entity)).map(|place| format_ident!("__V{place}")).collect();
    let given = quote!(<#(#types),*>(#(_: #types),*));
    quote! {
        #head {
            #constants
            #(#vis fn #starts() -> #path<_tm::At<#markers<Self>, _tm::FullKey>> { loop {} })*
            #vis fn in_partition #given -> _tm::PartitionOf<Self> { loop {} }
            #vis fn scan_partition #given -> _tm::Scan<Self> { loop {} }
        }
    }
}

/// How many values name a partition, as far as its key could be read.
fn partition_width(entity: &Entity) -> usize {
    let components = || entity.paths().first().map(Path::partition_length);
    let sound = if entity.partition.is_sound { components() } else { None };
    sound.or(entity.partition.width).unwrap_or(1)
}
