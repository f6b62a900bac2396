//! Blobs: `blob`, or `blob(inline_below = 4096)`, on a field; its three properties, and its lines of generated code.
//! What a blob is, and where it lies, is the runtime's.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{LitStr, spanned::Spanned};

use crate::{
    emit::fields::local,
    errors::Errors,
    meant::field::{Field, Kind},
    written::{InlineBelow, Word},
};

/// Values of fewer bytes are kept in the row; the most is what the service takes in a binary property.
const INLINE_BELOW: InlineBelow =
    InlineBelow { usual: 4 * 1024, most: 64 * 1024, unit: "bytes", example: "`inline_below = 4096`" };
/// What the names of the length and of the checksum end in.
const ENDINGS: [&str; 2] = ["_length", "_sum"];

/// The limit below which values are kept in the row.
pub(crate) fn read(word: &Word, errors: &mut Errors) -> Option<usize> {
    INLINE_BELOW.read(word, errors)
}

/// The names of the length and of the checksum.
pub(crate) fn companions(property: &str) -> [String; 2] {
    ENDINGS.map(|ending| format!("{property}{ending}"))
}

/// `["Photo", "Photo_length", "Photo_sum"]`
pub(crate) fn names(field: &Field) -> TokenStream {
    let (own, companions) = (&field.property, companions(&field.property));
    quote!([#own, #(#companions),*])
}

/// `_tm::FieldSchema::Group { .. }`
pub(crate) fn schema(field: &Field) -> Option<TokenStream> {
    let (Kind::Blob(_), Field { name, property, ty, .. }) = (field.kind, field) else { return None };
    let nullable = quote_spanned!(ty.span()=> <#ty as _tm::BlobValue>::NULLABLE);
    let was = field.was.as_ref().map(LitStr::value);
    let own = was.iter().map(|was| quote!(.renamed(#was)));
    let parts = companions(property).into_iter().enumerate().map(|(at, companion)| {
        let was = was.iter().flat_map(|was| companions(was)).skip(at).take(1).map(|was| quote!(.renamed(#was)));
        quote!(_tm::PropertySchema::blob_part(#name, #companion)#(#was)*)
    });
    Some(quote! {
        _tm::FieldSchema::Group { field: #name, properties: &[
            _tm::PropertySchema::blob(#name, #property, #nullable)#(#own)*, #(#parts),*
        ] }
    })
}

/// `__to.put_blob(..)?;`
pub(crate) fn write_line(field: &Field, inline_below: usize) -> TokenStream {
    let (Field { ident, ty, .. }, names) = (field, names(field));
    let this = local("self", ty);
    let blob = quote_spanned!(ty.span()=> <#ty as _tm::BlobValue>::blob(&#this.#ident));
    quote!(__to.put_blob(#names, #inline_below, #blob)?;)
}

/// `__from.take_blob(..)?`
pub(crate) fn read_value(field: &Field, names: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    let read = quote_spanned!(ty.span()=> <#ty as _tm::BlobValue>::from_blob);
    quote!(__from.take_blob(#names, #read)?)
}

/// The handle's type and value.
pub(crate) fn handle(field: &Field) -> [TokenStream; 2] {
    let (ty, names) = (&field.ty, names(field));
    [quote!(_tm::BlobField<Self, #ty>), quote!(_tm::BlobField::named(#names))]
}
