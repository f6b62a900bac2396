//! Names that must not meet: stored properties, handles, path methods and the functions of an entity.
//! Legal forms of one name are in the crate's `names`.

use std::rc::Rc;

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

use super::{
    entity::Entity,
    field::{Field, Kind},
};
use crate::{errors::Errors, names::cosmos_fault};

/// The terminals of a path and of a list's, which no field's method may hide, and what other code takes a path apart by.
pub(crate) const TERMINALS: [&str; 14] = [
    "one",
    "exists",
    "get_many",
    "all",
    "first",
    "stream",
    "page",
    "count",
    "delete_all",
    "select",
    "verified",
    "explain",
    "keys",
    "into_query",
];

/// The functions of every entity.
pub(crate) const FUNCTIONS: [&str; 3] = ["in_partition", "scan_partition", "scan_table"];

/// Asks every rule about names.
pub(crate) fn check(entity: &Entity, errors: &mut Errors) {
    check_properties(&entity.fields, errors);
    check_kinds(entity, errors);
    // A frozen struct has neither paths nor handles, and is stored as it was.
    if !entity.lineage.frozen {
        check_stored(entity, errors);
        check_handles(entity, errors);
        check_methods(entity, errors);
        check_functions(entity, errors);
        check_constants(entity, errors);
    }
    check_reserved(entity, errors);
}

/// Every service takes the properties; what only keys hold is none, and rows of other programs have the names that they have.
fn check_stored(entity: &Entity, errors: &mut Errors) {
    if !entity.adopt {
        check_services(entity.fields.iter().filter(|field| !entity.in_key(field)), errors);
    }
}

/// No field is stored under a name that one of the services keeps for itself.
pub(crate) fn check_services<'f>(fields: impl IntoIterator<Item = &'f Rc<Field>>, errors: &mut Errors) {
    for field in fields {
        if let Some(fault) = field.stored_names().iter().find_map(|name| cosmos_fault(name)) {
            let remedy = "choose another name with `rename = \"..\"`";
            errors.at(field.property_span, format!("field `{}`: {fault}; {remedy}", field.name));
        }
    }
}

/// What rows of other kinds are told by is not what those of a copy or an aggregate are called.
fn check_kinds(entity: &Entity, errors: &mut Errors) {
    let is_taken = |name: &str| matches!(name, "part" | "dead");
    let mut refuse = |name: &str, span, what: &str, remedy: &str| {
        if is_taken(name) {
            let message = format!("`{name}` cannot be what {what}: its rows would be taken for those of another kind");
            errors.at(span, format!("{message}; {remedy}"));
        }
    };
    for field in &entity.fields {
        if field.kind == Kind::Copy {
            let remedy = "call the field otherwise (`rename = \"..\"` keeps what it is stored as)";
            refuse(&field.name, field.ident.span(), "a copy is called", remedy);
        } else if field.is_aggregate {
            let remedy = "give it another name with `rename = \"..\"`";
            refuse(&field.property, field.property_span, "an aggregate is stored as", remedy);
        }
    }
    for own in &entity.sharded {
        refuse(&own.property, own.name.span(), "an aggregate is stored as", "choose another name");
    }
}

/// A removed name does not return.
fn check_reserved(entity: &Entity, errors: &mut Errors) {
    let is_reserved = |name: &String| entity.reserved.contains(name);
    let remedy = "rows that were written before may have it with another meaning: choose another name";
    for field in &entity.fields {
        if let Some(name) = field.stored_names().into_iter().find(is_reserved) {
            errors.at(field.property_span, format!("`{name}` is reserved: {remedy} with `rename = \"..\"`"));
        }
    }
    for index in entity.indexes.iter().filter(|index| is_reserved(&index.stored_name())) {
        errors.at(index.name.span(), format!("`{}` is reserved: {remedy}", index.stored_name()));
    }
}

/// No two fields are one property.
pub(crate) fn check_properties(fields: &[impl AsRef<Field>], errors: &mut Errors) {
    let mut seen: Vec<(String, &Field)> = Vec::new();
    for field in fields.iter().map(AsRef::as_ref) {
        for stored in field.stored_names() {
            if let Some((_, earlier)) = seen.iter().find(|(earlier, _)| *earlier == stored) {
                let message = format!("fields `{}` and `{}` would both be stored as", earlier.name, field.name);
                let remedy = "give one another name with `rename = \"..\"`";
                errors.at(field.property_span, format!("{message} `{stored}`: {remedy}"));
            }
            seen.push((stored, field));
        }
    }
    check_former(&seen, errors);
}

/// A name that a field had before is none that a field has now.
fn check_former(stored: &[(String, &Field)], errors: &mut Errors) {
    let mut seen: Vec<(String, &Field)> = Vec::new();
    for (_, field) in stored.iter().filter(|(own, field)| *own == field.property) {
        let Some(was) = &field.was else { continue };
        let name = was.value();
        if let Some((_, other)) = seen.iter().find(|(other, _)| *other == name) {
            let message = format!("`{name}` cannot have become both `{}` and `{}`", other.name, field.name);
            errors.at(was.span(), format!("{message}: take `was` away from one"));
        }
        seen.push((name.clone(), field));
        if let Some((_, owner)) = stored.iter().find(|(other, _)| *other == name) {
            let remedy = "say the stored name that the property had before, or take `was` away";
            errors.at(was.span(), format!("`{name}` is how field `{}` is stored now: {remedy}", owner.name));
        }
    }
}

fn check_handles(entity: &Entity, errors: &mut Errors) {
    let mut seen: Vec<(Ident, &Field)> = Vec::new();
    for field in entity.fields.iter().filter(|field| field.has_handle()) {
        let handle = field.handle();
        if let Some((_, earlier)) = seen.iter().find(|(earlier, _)| *earlier == handle) {
            let message =
                format!("fields `{}` and `{}` would both have the handle `{handle}`", earlier.name, field.name);
            errors.at(field.ident.span(), format!("{message}: name one with `constant = \"..\"`"));
        }
        seen.push((handle, field));
    }
}

fn check_methods(entity: &Entity, errors: &mut Errors) {
    let keys = entity.paths().into_iter().flat_map(|path| path.components);
    let mut methods: Vec<(Ident, String)> = Vec::new();
    for component in keys {
        let own = [Some(component.method()), component.between(), component.starts_with()];
        for method in own.into_iter().flatten() {
            check_method(method, &component.field, &mut methods, errors);
        }
    }
    // Elements of JSON may be in a key.
    for field in entity.fields.iter().filter(|field| matches!(field.kind, Kind::Plain | Kind::Json)) {
        let in_key = methods.iter().any(|(_, owner)| *owner == field.name);
        if let Some(method) = field.method.as_ref().filter(|_| !in_key) {
            let message = format!("`method` names a path method, and `{}` is in no key: remove it", field.name);
            errors.at(method.span(), message);
        }
    }
}

fn check_method(method: Ident, field: &Field, methods: &mut Vec<(Ident, String)>, errors: &mut Errors) {
    let remedy = "name the method of this field with `#[table(method = \"..\")]`";
    let method = method.unraw(); // `r#count` is `count`
    let earlier = methods.iter().find(|(earlier, _)| *earlier == method).map(|(_, owner)| owner.clone());
    let span = field.method.as_ref().map_or(field.ident.span(), Ident::span);
    match earlier {
        None if TERMINALS.iter().any(|terminal| method == terminal) => {
            let message = format!("key field `{}` would hide `{method}`, which ends a path", field.name);
            errors.at(span, format!("{message}: {remedy}"));
        }
        Some(owner) if owner != field.name => {
            let message =
                format!("key fields `{owner}` and `{}` would both have the path method `{method}`", field.name);
            errors.at(span, format!("{message}: {remedy}"));
        }
        _ => {}
    }
    methods.push((method, field.name.clone()));
}

fn check_functions(entity: &Entity, errors: &mut Errors) {
    let of_all = FUNCTIONS.map(|name| (name.to_owned(), "a function of every entity".to_owned()));
    let unnamed = entity.fields.iter().filter(|field| field.has_handle() && field.constant.is_none());
    let handles = unnamed.map(|field| (field.handle().to_string(), format!("the handle of field `{}`", field.name)));
    let mut taken: Vec<(String, String)> = of_all.into_iter().chain(handles).collect();
    check_function(&entity.find, "the primary path", "choose another with `find = \"..\"`", &mut taken, errors);
    for index in &entity.indexes {
        let what = format!("{} `{}`", if index.is_list { "list" } else { "index" }, index.name);
        check_function(&index.name, &what, "choose another name", &mut taken, errors);
    }
}

/// A handle that the user named is not the name of a function.
fn check_constants(entity: &Entity, errors: &mut Errors) {
    let starts = std::iter::once(&entity.find).chain(entity.indexes.iter().map(|index| &index.name));
    let functions: Vec<String> = starts.map(Ident::to_string).chain(FUNCTIONS.map(String::from)).collect();
    let named = entity.fields.iter().filter(|field| field.has_handle());
    for constant in named.filter_map(|field| field.constant.as_ref()) {
        if functions.contains(&constant.to_string()) {
            let message = format!("the handle `{constant}` would have the name of the function `{constant}()`");
            errors.at(constant.span(), format!("{message}: choose another with `constant = \"..\"`"));
        }
    }
}

/// `taken`: each name that something is reached by, and what that is.
fn check_function(name: &Ident, what: &str, remedy: &str, taken: &mut Vec<(String, String)>, errors: &mut Errors) {
    let (text, span): (String, Span) = (name.unraw().to_string(), name.span());
    match taken.iter().find(|(earlier, _)| *earlier == text) {
        Some((_, owner)) if owner == what => errors.at(span, format!("{what} is declared twice: {remedy} for one")),
        Some((_, owner)) => {
            let message = format!("{what} would be reached by `{text}()`, which is taken by {owner}");
            errors.at(span, format!("{message}: {remedy}"));
        }
        None => {}
    }
    taken.push((text, what.to_owned()));
}
