//! `#[derive(TableModel)]`

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Type, spanned::Spanned};

use super::{head, hidden, parameters};
use crate::{
    errors::Errors,
    meant::model::{Listed, Model},
    written::Input,
};

/// `#[derive(TableModel)]`
pub(crate) fn derive(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(input) = Input::read(tokens, &mut errors) else { return errors.into_tokens() };
    let model = Model::resolve(&input, &mut errors);
    let items: TokenStream = match errors.is_empty() {
        true => {
            let implementation = implementation(&model, &schemas(&model), &from_row(&model));
            [implementation, rows(&model), uses(&model), checks(&model), copies(&model)].into_iter().collect()
        }
        false => {
            let fallback = implementation(&model, &TokenStream::new(), &quote!(loop {}));
            [fallback, rows(&model)].into_iter().collect()
        }
    };
    let parameters = parameters(["row", "partition", "model", "entity"].map(|name| format_ident!("{name}")));
    let items = hidden(&model.runtime, &quote!(#parameters #items));
    let errors = errors.into_tokens();
    quote!(#errors #items)
}

fn implementation(model: &Model<'_>, schemas: &TokenStream, from_row: &TokenStream) -> TokenStream {
    let head = head::of_trait(&quote!(_tm::TableModel), model.ident, model.generics);
    quote! {
        #[automatically_derived]
        #head {
            const ENTITIES: &'static [&'static _tm::EntitySchema] = &[#schemas];
            fn from_row(row: _tm::ModelRow) -> _tm::RunResult<Self> { #from_row }
        }
    }
}

fn schema(ty: &Type) -> TokenStream {
    quote_spanned!(ty.span()=> <#ty as _tm::TableEntity>::SCHEMA)
}

fn schemas(model: &Model<'_>) -> TokenStream {
    let schemas = model.entities.iter().map(|listed| schema(listed.ty));
    quote!(#(#schemas),*)
}

fn from_row(model: &Model<'_>) -> TokenStream {
    // Under a type's own span it would be another name where a macro is given the type.
    let row = quote!(row);
    let entities = model.entities.iter().map(|Listed { variant, ty }| {
        let schema = schema(ty);
        quote_spanned!(ty.span()=> if #row.is_of(#schema) { return #row.read::<#ty>().map(Self::#variant); })
    });
    let other = match &model.other {
        Some(Listed { variant, ty }) => {
            quote_spanned!(ty.span()=> _tm::Ok(Self::#variant(<#ty as _tm::OtherRow>::of(#row))))
        }
        None => quote!(#row.unknown::<Self>()),
    };
    quote!(#(#entities)* #other)
}

fn rows(model: &Model<'_>) -> TokenStream {
    let (head, vis) = (head::own(model.ident, model.generics), model.vis);
    quote! {
        #head {
            /// The rows of one partition, of every type, in key order.
            #vis fn rows<__E: _tm::TableEntity>(partition: _tm::PartitionOf<__E>) -> _tm::ModelRows<Self> {
                _tm::ModelRows::new(partition)
            }
        }
    }
}

/// Reads every variant's field: a model that only names the entities of a database is not dead code.
fn uses(model: &Model<'_>) -> TokenStream {
    let ident = model.ident;
    let variants = model.entities.iter().chain(&model.other).map(|listed| listed.variant);
    quote!(const _: fn(&#ident) = |model| match model { #(#ident::#variants(entity) => { let _ = entity; })* };)
}

/// Each entity against those listed before it.
fn checks(model: &Model<'_>) -> TokenStream {
    let checks = model.entities.iter().enumerate().skip(1).map(|(place, later)| {
        let checks = model.entities.iter().take(place).map(|earlier| pair(earlier, later));
        quote_spanned!(later.variant.span()=> const _: () = { #(#checks)* };)
    });
    let (ident, span) = (model.ident, model.ident.span());
    let aggregates = quote_spanned!(span=> const _: () = _tm::check_aggregates(<#ident as _tm::TableModel>::ENTITIES););
    checks.chain([aggregates]).collect()
}

/// The copies of each entity, over all that are listed.
fn copies(model: &Model<'_>) -> TokenStream {
    let entities = model.entities.iter().map(|listed| {
        let (name, schema) = (type_name(listed), schema(listed.ty));
        quote!((#name, #schema))
    });
    let count = model.entities.len();
    let checks = model.entities.iter().enumerate().map(
        |(place, listed)| quote_spanned!(listed.variant.span()=> const _: () = { _tm::check_listed(&__ENTITIES, #place); _tm::check_copies(&__ENTITIES, #place); };),
    );
    quote!(const __ENTITIES: [(&str, &_tm::EntitySchema); #count] = [#(#entities),*]; #(#checks)*)
}

fn pair(earlier: &Listed<'_>, later: &Listed<'_>) -> TokenStream {
    let [a, b] = [earlier, later].map(|listed| {
        let (name, schema) = (type_name(listed), schema(listed.ty));
        quote!((#name, #schema))
    });
    quote_spanned!(later.variant.span()=> _tm::check_pair(#a, #b);)
}

/// The type as written, without its module.
fn type_name(listed: &Listed<'_>) -> String {
    let text = listed.ty.to_token_stream().to_string();
    text.rsplit("::").next().unwrap_or_default().trim().to_owned()
}
