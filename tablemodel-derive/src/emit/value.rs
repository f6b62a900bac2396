//! `#[derive(Property)]` and `#[derive(KeyPart)]`: newtypes, enums of names, and groups of properties.

use std::rc::Rc;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Type, ext::IdentExt, spanned::Spanned};

use super::{fallback::asked, fields, head, hidden, parameters, schema};
use crate::{
    errors::Errors,
    meant::{
        field::Field,
        value::{Kind, Value},
        variants::{Text, ascend},
    },
    written::Input,
};

/// `#[derive(Property)]`
pub(crate) fn derive_property(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(input) = Input::read(tokens, &mut errors) else { return errors.into_tokens() };
    let value = Value::resolve(&input, &mut errors);
    let items = match &value.kind {
        Kind::Group(fields) => group(&value, fields, errors.is_empty()),
        _ if !errors.is_empty() => property_fallback(&value),
        Kind::Newtype(inner) => property_newtype(value.ident, inner),
        Kind::Names(texts) => property_names(&value, texts),
        Kind::Unfit => TokenStream::new(),
    };
    with_errors(errors, &value, &items)
}

/// `#[derive(KeyPart)]`
pub(crate) fn derive_key_part(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(input) = Input::read(tokens, &mut errors) else { return errors.into_tokens() };
    let value = Value::resolve(&input, &mut errors);
    if matches!(value.kind, Kind::Group(_)) {
        let message = format!("`{}` has several fields, and a key part is one value", value.ident);
        errors.at(value.ident.span(), format!("{message}: put its fields into the key one by one"));
    }
    let items = match &value.kind {
        Kind::Group(_) => TokenStream::new(),
        _ if !errors.is_empty() => {
            key_part(&value, &quote!(_tm::KeyType::Text), &quote!(_tm::Samples::OfKind), &quote!(_tm::Text))
        }
        Kind::Newtype(inner) => key_part_newtype(value.ident, inner),
        Kind::Names(texts) => {
            let ordered = ascend(texts);
            let form = if ordered { quote!(_tm::Other) } else { quote!(_tm::Unordered) };
            let stored = texts.iter().map(|text| &text.text);
            let samples = quote!(_tm::Samples::Texts(&[#(#stored),*]));
            key_part(&value, &quote!(_tm::KeyType::Enum { ordered: #ordered }), &samples, &form)
        }
        Kind::Unfit => TokenStream::new(),
    };
    with_errors(errors, &value, &items)
}

fn with_errors(errors: Errors, value: &Value<'_>, items: &TokenStream) -> TokenStream {
    let items = hidden(&value.runtime, items);
    let errors = errors.into_tokens();
    quote!(#errors #items)
}

fn property_newtype(ident: &Ident, inner: &Type) -> TokenStream {
    let property = quote_spanned!(inner.span()=> <#inner as _tm::Property>);
    let parameters = parameters([format_ident!("value")]);
    quote! {
        #parameters
        #[automatically_derived]
        impl _tm::Property for #ident {
            const EDM: _tm::EdmType = #property::EDM;
            const CODEC: &'static str = #property::CODEC;
            const NULLABLE: bool = #property::NULLABLE;
            const ORDERED: bool = #property::ORDERED;
            fn to_value(&self) -> _tm::Result<_tm::Option<_tm::Value>, _tm::ValueError> { #property::to_value(&self.0) }
            fn from_value(value: _tm::Option<_tm::ValueRef<'_>>) -> _tm::Result<Self, _tm::ValueError> {
                #property::from_value(value).map(Self)
            }
        }
    }
}

fn property_names(value: &Value<'_>, texts: &[Text]) -> TokenStream {
    let ordered = ascend(texts);
    let variants: Vec<_> = texts.iter().map(|text| &text.ident).collect();
    let texts: Vec<_> = texts.iter().map(|text| &text.text).collect();
    let expected = format!("a text of `{}`", value.ident.unraw());
    let text = quote!(match self { #(Self::#variants => #texts,)* });
    let write = quote!(_tm::Ok(_tm::Some(<_tm::Value as ::core::convert::From<&str>>::from(#text))));
    let read = quote! {
        match _tm::variant_text(value)? {
            #(#texts => _tm::Ok(Self::#variants),)*
            other => _tm::unknown_variant(#expected, other),
        }
    };
    property(value, ordered, &write, &read)
}

fn property_fallback(value: &Value<'_>) -> TokenStream {
    property(value, true, &quote!(loop {}), &quote!(loop {}))
}

/// A property that is kept as text.
fn property(value: &Value<'_>, ordered: bool, write: &TokenStream, read: &TokenStream) -> TokenStream {
    let parameters = parameters(["value", "other"].map(|name| format_ident!("{name}")));
    let head = head::of_trait(&quote!(_tm::Property), value.ident, value.generics);
    quote! {
        #parameters
        #[automatically_derived]
        #head {
            const EDM: _tm::EdmType = _tm::EdmType::String;
            const CODEC: &'static str = "enum";
            const ORDERED: bool = #ordered;
            fn to_value(&self) -> _tm::Result<_tm::Option<_tm::Value>, _tm::ValueError> { #write }
            fn from_value(value: _tm::Option<_tm::ValueRef<'_>>) -> _tm::Result<Self, _tm::ValueError> { #read }
        }
    }
}

fn key_part_newtype(ident: &Ident, inner: &Type) -> TokenStream {
    quote_spanned! {inner.span()=>
        #[automatically_derived]
        impl _tm::KeyPart for #ident {
            const TYPE: _tm::KeyType = <#inner as _tm::KeyPart>::TYPE;
            const OPTIONAL: bool = <#inner as _tm::KeyPart>::OPTIONAL;
            const SAMPLES: _tm::Samples = <#inner as _tm::KeyPart>::SAMPLES;
            type Key = Self;
        }
        #[automatically_derived]
        impl _tm::KeyForm for #ident {
            type Form = <#inner as _tm::KeyForm>::Form;
        }
    }
}

fn key_part(value: &Value<'_>, key_type: &TokenStream, samples: &TokenStream, form: &TokenStream) -> TokenStream {
    let [part, form_of] = [quote!(_tm::KeyPart), quote!(_tm::KeyForm)]
        .map(|implemented| head::of_trait(&implemented, value.ident, value.generics));
    quote! {
        #[automatically_derived]
        #part {
            const TYPE: _tm::KeyType = #key_type;
            const SAMPLES: _tm::Samples = #samples;
            type Key = Self;
        }
        #[automatically_derived]
        #form_of {
            type Form = #form;
        }
    }
}

fn group(value: &Value<'_>, members: &[Rc<Field>], is_sound: bool) -> TokenStream {
    let head = head::of_trait(&quote!(_tm::PropertyGroup), value.ident, value.generics);
    let properties = schema::properties(members);
    let body = match is_sound {
        true => [fields::write(members), fields::read(members)],
        false => fields::unreachable(asked(members, value.generics)),
    };
    let properties = if is_sound { properties } else { quote!(&[]) };
    let defaults = is_sound.then(|| fields::default_checks(members.iter().map(|field| &**field)));
    quote! {
        #[automatically_derived]
        #head {
            const PROPERTIES: &'static [_tm::PropertySchema] = #properties;
            #(#body)*
        }
        #defaults
    }
}
