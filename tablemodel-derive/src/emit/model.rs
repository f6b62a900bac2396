//! `#[derive(TableModel)]`

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Type, spanned::Spanned};

use super::hidden;
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
    let items = match errors.is_empty() {
        true => [implementation(&model, &schemas(&model), &from_row(&model)), rows(&model), checks(&model)],
        false => [implementation(&model, &TokenStream::new(), &quote!(loop {})), rows(&model), TokenStream::new()],
    };
    let items = hidden(&model.runtime, &items.into_iter().collect());
    let errors = errors.into_tokens();
    quote!(#errors #items)
}

fn implementation(model: &Model<'_>, schemas: &TokenStream, from_row: &TokenStream) -> TokenStream {
    let ident = model.ident;
    quote! {
        #[automatically_derived]
        impl _tm::TableModel for #ident {
            const ENTITIES: &'static [&'static _tm::EntitySchema] = &[#schemas];
            #[allow(unused_variables)]
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
    let entities = model.entities.iter().map(|Listed { variant, ty }| {
        let schema = schema(ty);
        quote_spanned!(ty.span()=> if row.is_of(#schema) { return row.read::<#ty>().map(Self::#variant); })
    });
    let other = match &model.other {
        Some(Listed { variant, ty }) => quote_spanned!(ty.span()=> _tm::Ok(Self::#variant(row.into_row()))),
        None => quote!(row.unknown::<Self>()),
    };
    quote!(#(#entities)* #other)
}

fn rows(model: &Model<'_>) -> TokenStream {
    let (ident, vis) = (model.ident, model.vis);
    quote! {
        #[allow(dead_code)]
        impl #ident {
            /// The rows of one partition, of every type, in key order.
            #vis fn rows<__E: _tm::TableEntity>(partition: _tm::PartitionOf<__E>) -> _tm::ModelRows<Self> {
                _tm::ModelRows::new(partition)
            }
        }
    }
}

/// Each entity against those listed before it.
fn checks(model: &Model<'_>) -> TokenStream {
    let checks = model.entities.iter().enumerate().skip(1).map(|(place, later)| {
        let name = type_name(later);
        let checks = model.entities.iter().take(place).map(|earlier| pair(earlier, later, &type_name(earlier), &name));
        quote_spanned! {later.variant.span()=>
            #[allow(long_running_const_eval)]
            const _: () = { #(#checks)* };
        }
    });
    checks.collect()
}

fn pair(earlier: &Listed<'_>, later: &Listed<'_>, first: &str, second: &str) -> TokenStream {
    let (a, b) = (schema(earlier.ty), schema(later.ty));
    let same =
        format!("`{first}` and `{second}` have the same entity type: give one another with `entity_type = \"..\"`");
    let collide = format!(
        "`{first}` and `{second}` are kept in one table and could have the same key: begin their row keys with different literals, such as `{}_` and `{}_`",
        first.to_lowercase(),
        second.to_lowercase()
    );
    quote_spanned! {later.variant.span()=>
        _tm::check(!_tm::same_entity_type(#a, #b), #same);
        _tm::check(!_tm::rows_may_collide(#a, #b), #collide);
    }
}

/// The type as written, without its module.
fn type_name(listed: &Listed<'_>) -> String {
    let text = listed.ty.to_token_stream().to_string();
    text.rsplit("::").next().unwrap_or_default().trim().to_owned()
}
