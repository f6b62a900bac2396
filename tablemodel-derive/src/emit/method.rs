//! The methods of a path, and for each the trait that says in which states it may be called: that trait's message is
//! what a user reads when a path is wrong.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::meant::{
    entity::Entity,
    field::{Field, Kind},
    key::Part,
    names::TERMINALS,
    path::Path,
};

/// A method of the path.
pub(crate) struct Method<'a> {
    name: Ident,
    field: &'a Field,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Gives a component.
    Given,
    /// Gives a range of it.
    Between,
    /// Gives the beginning of it.
    StartsWith,
    /// Gives nothing: the field is in no key, and the error says so.
    Teaching,
}

/// The methods of all paths, each name once.
pub(crate) fn methods_of<'a>(entity: &'a Entity, paths: &'a [Path]) -> Vec<Method<'a>> {
    let mut methods: Vec<Method<'a>> = Vec::new();
    let mut add = |name: Option<Ident>, field: &'a Field, form| {
        if let Some(name) = name
            && !methods.iter().any(|earlier| earlier.name == name)
        {
            methods.push(Method { name, field, form });
        }
    };
    for component in paths.iter().flat_map(|path| &path.components) {
        add(Some(component.method()), &component.field, Form::Given);
        add(component.between(), &component.field, Form::Between);
        add(component.starts_with(), &component.field, Form::StartsWith);
    }
    for field in entity.fields.iter().filter(|field| !TERMINALS.contains(&field.name.as_str())) {
        add(Some(field.ident.clone()), field, Form::Teaching);
    }
    methods
}

impl Method<'_> {
    /// The method that gives the field in a key, where that is not its own.
    fn given_by(&self, paths: &[Path]) -> Option<Ident> {
        let mut components = paths.iter().flat_map(|path| &path.components);
        components.find(|component| component.field.name == self.field.name).map(|component| component.method())
    }

    /// The trait of the states in which the method may be called.
    pub(crate) fn guard(&self, entity: &Entity, paths: &[Path]) -> TokenStream {
        let (name, entity_name) = (&self.name, entity.name());
        let argument = (self.form == Form::Between).then(|| quote!(, __A));
        let told = paths.iter().map(Path::told).collect::<Vec<_>>().join(" | ");
        let told = format!("paths of `{entity_name}`: {told}");
        let (message, label, remedy) = match self.form {
            Form::Teaching => match self.given_by(paths) {
                Some(given) => {
                    let message = format!("`{name}` is given by `{given}` in paths of `{entity_name}`");
                    (message, "another method gives this field", quote!())
                }
                None => {
                    let (message, remedy) =
                        (format!("`{name}` is in no key of `{entity_name}`"), remedy(entity, self.field));
                    let remedy = escape(&remedy);
                    (message, "not a key component", quote!(, note = #remedy))
                }
            },
            Form::Given | Form::Between | Form::StartsWith => {
                let message = format!("`{name}` cannot come next in this query on `{entity_name}`");
                (message, "not the next key component here", quote!())
            }
        };
        quote! {
            #[diagnostic::on_unimplemented(message = #message, label = #label, note = #told #remedy)]
            pub(super) trait #name<__N #argument> {}
        }
    }

    /// The method, on `path`.
    pub(crate) fn tokens(&self, entity: &Entity, path: &Ident) -> TokenStream {
        let (vis, name) = (&entity.vis, &self.name);
        let doc = format!("The key component `{}`.", self.field.name);
        let key = key_type(self.field);
        let next = quote!(#path<__N> where __S: __next::#name);
        let span = self.field.ty.span();
        match self.form {
            Form::Given => quote_spanned! {span=>
                #[doc = #doc]
                #vis fn #name<__N>(self, value: impl _tm::KeyArg<#key>) -> #next<__N> {
                    #path(self.0.given(value), _tm::PhantomData)
                }
            },
            Form::Between => quote_spanned! {span=>
                #vis fn #name<__N, __A: _tm::KeyArg<#key>>(self, range: impl _tm::RangeBounds<__A>) -> #next<__N, __A> {
                    #path(self.0.between(range), _tm::PhantomData)
                }
            },
            Form::StartsWith => quote_spanned! {span=>
                #vis fn #name<__N>(self, text: impl _tm::PrefixOf<#key>) -> #next<__N> {
                    #path(self.0.starts_with(text.as_ref()), _tm::PhantomData)
                }
            },
            Form::Teaching => quote! {
                #[doc(hidden)]
                #vis fn #name<__N, __V>(self, _: __V) -> #next<__N> { loop {} }
            },
        }
    }
}

/// What to do about a field that is in no key.
fn remedy(entity: &Entity, field: &Field) -> String {
    let name = &field.name;
    if field.kind != Kind::Plain || field.chunked.is_some() || field.is_aggregate {
        return format!("`{name}` cannot be in a key; filter the entities that the path gives");
    }
    let codec = if is_float(field.ty.to_token_stream()) { ":sortable" } else { "" };
    let own = entity.row.parts().map(Part::written);
    let row: Vec<_> = [name.clone(), format!("{{{name}{codec}}}")].into_iter().chain(own).collect();
    let keep = if entity.may_be_copied() { "" } else { ", keys_only" };
    let scan = match entity.allow_scan {
        true => "scan the partition with `matching(..)`",
        false => "filter the entities that the path gives",
    };
    format!("to query by it, declare `index(by_{name}, row = \"{}\"{keep})`, or {scan}", row.join("_"))
}

/// Whether it is written as a float, or an `Option` of one, whose keys need a codec.
fn is_float(ty: TokenStream) -> bool {
    ty.into_iter().any(|tree| matches!(tree, TokenTree::Ident(ident) if ident == "f32" || ident == "f64"))
}

/// Braces are the attribute's own.
fn escape(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// `<T as _tm::KeyPart>::Key`: what a query gives for the field.
pub(crate) fn key_type(field: &Field) -> TokenStream {
    let ty = &field.ty;
    quote_spanned!(ty.span()=> <#ty as _tm::KeyPart>::Key)
}
