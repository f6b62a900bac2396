//! What bugs of tables do.
//!
//! Each is one function, wrong in one way.

#![allow(clippy::ptr_arg, reason = "the twists of one place have one signature")]

use tablemodel_store::{MemoryStore, StoreErrorKind, TableStore, limits, validate};

use super::{Answer, writes::refuse};

pub(super) fn create_twice<'a>(store: &'a MemoryStore, name: &'a str) -> Answer<'a, ()> {
    Box::pin(async move {
        store.create_table(name).await.or_else(|error| match error.kind() {
            StoreErrorKind::TableExists => Ok(()),
            _ => Err(error),
        })
    })
}

pub(super) fn mend_name<'a>(store: &'a MemoryStore, name: &'a str) -> Answer<'a, ()> {
    Box::pin(async move {
        match validate::table_name(name) {
            Err(_) => Ok(()),
            Ok(()) => store.create_table(name).await,
        }
    })
}

pub(super) fn short_names<'a>(store: &'a MemoryStore, name: &'a str) -> Answer<'a, ()> {
    if name.len() == limits::MAX_TABLE_NAME_CHARS { refuse("too long") } else { store.create_table(name) }
}

pub(super) fn keep_table<'a>(_: &'a MemoryStore, _: &'a str) -> Answer<'a, ()> {
    Box::pin(async { Ok(()) })
}

pub(super) fn keep_name<'a>(store: &'a MemoryStore, name: &'a str) -> Answer<'a, ()> {
    Box::pin(async move {
        store.delete_table(name).await?;
        store.create_table(name).await
    })
}

pub(super) fn delete_anything<'a>(store: &'a MemoryStore, name: &'a str) -> Answer<'a, ()> {
    Box::pin(async move { store.delete_table(name).await.or(Ok(())) })
}

pub(super) fn lower_names(names: &mut Vec<String>) {
    names.iter_mut().for_each(|name| name.make_ascii_lowercase());
}

pub(super) fn one_table(name: &str) -> String {
    if name.ends_with("X0") || name.ends_with("X1") { name.replace("X1", "X0") } else { name.to_owned() }
}
