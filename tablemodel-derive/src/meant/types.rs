//! What a type tells by how it is written: that it is an `Option` or an array, and how long that is.
//! What it is by its traits is rustc's to say.

use syn::{Expr, ExprLit, GenericArgument, Lit, PathArguments, Type};

/// Whether the type is written as an array. No trait tells it: a group of properties is any type, an array none of the
/// user's own.
pub(crate) fn is_array(ty: &Type) -> bool {
    match ty {
        Type::Array(_) => true,
        Type::Group(group) => is_array(&group.elem),
        Type::Paren(paren) => is_array(&paren.elem),
        _ => false,
    }
}

/// The names of types of which an array is no single property, as one of `u8` is.
const NO_BYTES: [&str; 16] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "u16", "u32", "u64", "u128", "DateTime", "Option",
    "String",
];

/// Whether the type is written as an array that can be many properties only.
pub(crate) fn is_spread(ty: &Type) -> bool {
    match ty {
        Type::Array(array) => match &*array.elem {
            Type::Path(path) => {
                path.path.segments.last().is_some_and(|last| NO_BYTES.iter().any(|name| last.ident == name))
            }
            _ => false,
        },
        Type::Group(group) => is_spread(&group.elem),
        Type::Paren(paren) => is_spread(&paren.elem),
        _ => false,
    }
}

/// Whether the type is written as an `Option`: of what is kept as JSON, no trait tells it.
pub(crate) fn is_option(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Option"),
        Type::Group(group) => is_option(&group.elem),
        Type::Paren(paren) => is_option(&paren.elem),
        _ => false,
    }
}

/// The `Option` in an `Option`, as far as they are written.
pub(crate) fn nested(ty: &Type) -> Option<&Type> {
    optional(ty).filter(|inner| is_option(inner))
}

/// The reference that the type is, or that is in an `Option`, as far as it is written. One of a lifetime of the struct's own is told there.
pub(crate) fn borrowed(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(reference) => {
            reference.lifetime.as_ref().is_none_or(|lifetime| lifetime.ident == "static").then_some(ty)
        }
        Type::Group(group) => borrowed(&group.elem),
        Type::Paren(paren) => borrowed(&paren.elem),
        _ => borrowed(optional(ty)?),
    }
}

/// What is in an `Option`, as far as that is written.
fn optional(ty: &Type) -> Option<&Type> {
    let path = match ty {
        Type::Path(path) if is_option(ty) => path,
        Type::Group(group) => return optional(&group.elem),
        Type::Paren(paren) => return optional(&paren.elem),
        _ => return None,
    };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some(inner),
        _ => None,
    }
}

/// The name of the last element; as far as it shows here how many there are.
pub(crate) fn last_name(property: &str, ty: &Type) -> String {
    let last = length(ty).unwrap_or_default().saturating_sub(1);
    format!("{property}{last:02}")
}

/// The number of elements, where it is written as one.
fn length(ty: &Type) -> Option<usize> {
    match ty {
        Type::Array(array) => match &array.len {
            Expr::Lit(ExprLit { lit: Lit::Int(length), .. }) => length.base10_parse().ok(),
            _ => None,
        },
        Type::Group(group) => length(&group.elem),
        Type::Paren(paren) => length(&paren.elem),
        _ => None,
    }
}
