//! Arrays under `flatten`: one property for each element, named by a marker of the field.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Type, spanned::Spanned};

use crate::meant::field::{Field, Kind};

/// The markers of all arrays: types that know what the names of their properties begin with.
pub(crate) fn markers(fields: &[Rc<Field>]) -> TokenStream {
    let arrays = fields.iter().filter(|field| field.kind == Kind::Array);
    let markers = arrays.map(|field| {
        let (marker, name, prefix) = (marker(field), &field.name, &field.property);
        quote! {
            enum #marker {}
            impl _tm::SlotNames for #marker {
                const FIELD: &'static str = #name;
                const PREFIX: &'static str = #prefix;
            }
        }
    });
    markers.collect()
}

fn marker(field: &Field) -> proc_macro2::Ident {
    format_ident!("__Slots_{}", field.name)
}

/// The bytes that the runtime gives a name, unless told otherwise.
const ROOM: usize = 64;

/// The bytes of the longest number of an element.
const NUMBER: usize = 8;

/// `<[u32; 365] as _tm::PropertyArray<__Slots_day>>`
pub(crate) fn implementation(field: &Field) -> TokenStream {
    let (ty, marker) = (&field.ty, marker(field));
    let bytes = field.property.len() + NUMBER;
    let room = (bytes > ROOM).then(|| quote!(, #bytes));
    quote_spanned!(ty.span()=> <#ty as _tm::PropertyArray<#marker #room>>)
}

/// The stored names; none of a field with mistakes, of whose type nothing is asked.
pub(crate) fn names(field: &Field) -> TokenStream {
    let array = implementation(field);
    if field.is_understood.get() { quote!(#array::NAMES) } else { quote!(&[]) }
}

/// The type of the elements.
pub(crate) fn element(ty: &Type) -> &Type {
    match ty {
        Type::Array(array) => &array.elem,
        Type::Group(group) => element(&group.elem),
        Type::Paren(paren) => element(&paren.elem),
        other => other,
    }
}
