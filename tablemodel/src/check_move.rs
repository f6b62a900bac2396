//! Checks that generated constants make of entities that move to other keys: what a move cannot do whole does not compile.
//!
//! As in [`check`](crate::check), each fails by one sentence; nothing here runs later.

use crate::{
    check::fail,
    schema::{BLOB, Cover, EntitySchema, IndexSchema, same},
};

/// Fails unless rows of `old` can move to where `new` has them; `written` is what the user calls the other form.
#[track_caller]
pub const fn check_move(old: &EntitySchema, new: &EntitySchema, written: &str) {
    let of = old.entity_type;
    if !same(of, new.entity_type) {
        let remedy = "`: write the same `entity_type = \"..\"` on both";
        fail(&["`", written, "` is a form of another entity: `", of, "` cannot move to `", new.entity_type, remedy])
    }
    if old.version >= new.version {
        fail(&["an entity moves to a newer version: give the form of `", of, "` that is new the higher `version = ..`"])
    }
    if let Some(table) = shared_table(old, new) {
        let remedy = "`, so that rows of one could be taken for the other's: name other tables in the new form, for its indexes too";
        fail(&["both forms of `", of, "` keep rows in table `", table, remedy])
    }
    check_plain(old);
    check_plain(new);
    if new.moves_to.is_some() || old.moved_from.is_some() {
        fail(&["`", of, "` cannot make two moves at once: finish one, and take its `moved_from` away"])
    }
    if new.previous.is_some() {
        fail(&["the new form of `", of, "` has no version before it where it moves to: take `previous = ..` away"])
    }
    let mut indexes = new.indexes;
    while let [index, tail @ ..] = indexes {
        check_new_index(of, index);
        indexes = tail;
    }
}

#[track_caller]
const fn check_new_index(of: &str, index: &IndexSchema) {
    if index.unique {
        let remedy =
            "` is unique, which rows that are written before the entity has moved cannot be: add `unique` once it has";
        fail(&["index `", index.name, "` of the new form of `", of, remedy])
    }
    if matches!(index.cover, Cover::List) {
        let remedy = "` is shared by entities, and cannot be written before they have moved: add it once they have";
        fail(&["list `", index.name, "` of the new form of `", of, remedy])
    }
}

/// Fails for what is more than one row and its index rows.
#[track_caller]
const fn check_plain(schema: &EntitySchema) {
    let of = schema.entity_type;
    if schema.has_parts() {
        fail(&[
            "`",
            of,
            "` may be several rows (`wide`, `chunked`), and only an entity of one row can move: insert it anew",
        ])
    }
    if !schema.copies.is_empty() || !schema.aggregates.is_empty() {
        let remedy = "` keeps copies, or adds to aggregates, and cannot move with them: take them away before, and add them after";
        fail(&["`", of, remedy])
    }
    if schema.adopt {
        fail(&["`", of, "` says `adopt`, and rows of other programs cannot be told apart: insert them anew"])
    }
    let mut at = 0;
    while at < schema.property_count() {
        let property = schema.property_at(at);
        if property.aggregate {
            fail(&["`", of, "` holds an aggregate in `", property.property, "`, and cannot move: take it away before"])
        }
        if same(property.codec, BLOB) {
            fail(&["`", of, "` has a blob in `", property.property, "`, whose name holds its keys: it cannot move"])
        }
        at += 1;
    }
}

/// A table in which both have rows.
const fn shared_table<'a>(old: &'a EntitySchema, new: &EntitySchema) -> Option<&'a str> {
    let mut version = old;
    loop {
        let mut at = 0;
        while at <= version.indexes.len() {
            let table = version.place(at).table();
            if has_table(new, table) {
                return Some(table);
            }
            at += 1;
        }
        match &version.previous {
            Some(previous) => version = previous.schema,
            None => return None,
        }
    }
}

const fn has_table(schema: &EntitySchema, table: &str) -> bool {
    let mut at = 0;
    while at <= schema.indexes.len() {
        if schema.place(at).table().eq_ignore_ascii_case(table) {
            return true;
        }
        at += 1;
    }
    false
}

/// Fails if another entity of the model is tied to one that moves; `name` is its type.
#[track_caller]
pub(crate) const fn check_alone(entities: &[(&str, &EntitySchema)], name: &str, schema: &EntitySchema) {
    if schema.moves_to.is_none() && schema.moved_from.is_none() {
        return;
    }
    let mut rest = entities;
    while let [(other, entity), tail @ ..] = rest {
        let mut copies = entity.copies;
        while let [copy, more @ ..] = copies {
            if same(copy.source_type, schema.entity_type) {
                fail(&[
                    "`",
                    other,
                    "` keeps a copy of `",
                    name,
                    "`, which cannot move with it: add the copy once it has moved",
                ])
            }
            copies = more;
        }
        rest = tail;
    }
}
