//! Checks that generated constants make of entities that move to other keys: what a move cannot do whole does not compile.
//!
//! As in [`check`](crate::check), each fails by one sentence; nothing here runs later.

use crate::{
    check::{fail, rows_at},
    schema::{AggregateSchema, CopySchema, Cover, EntitySchema, IndexSchema, rows_may_collide, same, same_entity_type},
};

/// Fails unless rows of `old` can move to where `new` has them; `written` is what the user calls the other form.
#[track_caller]
pub const fn check_move(old: &EntitySchema, new: &EntitySchema, written: &str) {
    let of = old.entity_type;
    if old.has_mistakes() || new.has_mistakes() {
        return;
    }
    if !same(of, new.entity_type) {
        let remedy = "`: write the same `entity_type = \"..\"` on both";
        fail(&["`", written, "` is a form of another entity: `", of, "` cannot move to `", new.entity_type, remedy])
    }
    if old.version >= new.version {
        fail(&["an entity moves to a newer version: give the form of `", of, "` that is new the higher `version = ..`"])
    }
    check_keys(old, new);
    check_plain(old);
    check_plain(new);
    check_copies(old, new);
    check_aggregates(old, new);
    check_told_apart(old, new);
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

/// Fails unless every copy of the new form is one that the old one has, with as much in it or more.
#[track_caller]
const fn check_copies(old: &EntitySchema, new: &EntitySchema) {
    let mut copies = new.copies;
    while let [copy, tail @ ..] = copies {
        let (of, name) = (new.entity_type, copy.name);
        let Some(before) = copy_named(old, name) else {
            let remedy = "`: declare it there too, as it is kept, or add it once the entity has moved";
            fail(&["a move takes copies along, and the old form of `", of, "` has no copy `", name, remedy])
        };
        if !same(before.source_type, copy.source_type) || !same(before.property, copy.property) {
            fail(&["copy `", name, "` is another in the new form of `", of, "`: a move takes copies along as they are"])
        }
        if before.optional != copy.optional || !before.on_delete.is(copy.on_delete) {
            let remedy = "`, and a move takes copies along as they are: change that once it has moved";
            fail(&["copy `", name, "` has another `on_delete`, or another `Option`, in the new form of `", of, remedy])
        }
        let mut names = copy.properties;
        while let [property, more @ ..] = names {
            if !has(before.properties, property) {
                let remedy = "`, which the old one does not: add it once the entity has moved";
                fail(&["copy `", name, "` of the new form of `", of, "` has `", property, remedy])
            }
            names = more;
        }
        copies = tail;
    }
}

/// Fails unless both forms add to the same aggregates.
#[track_caller]
const fn check_aggregates(old: &EntitySchema, new: &EntitySchema) {
    check_added(old.aggregates, new, "new", "take it away before the entity moves");
    check_added(new.aggregates, old, "old", "add it once the entity has moved, or declare it there too");
    let mut rest = new.aggregates;
    while let [aggregate, tail @ ..] = rest {
        if let Some(before) = aggregate_of(old.aggregates, aggregate)
            && (!before.function.is_as(aggregate.function) || aggregate.otherwise_in(new, old).is_some())
        {
            let remedy = "` is another in its new form: a move takes it along as it is";
            fail(&["what `", new.entity_type, "` adds to `", aggregate.name, remedy])
        }
        rest = tail;
    }
}

/// Fails unless the schema adds to each of these, which the other form does.
#[track_caller]
const fn check_added(mut all: &[AggregateSchema], schema: &EntitySchema, form: &str, remedy: &str) {
    while let [aggregate, tail @ ..] = all {
        if aggregate_of(schema.aggregates, aggregate).is_none() {
            let (of, target) = (schema.entity_type, aggregate.target.entity_type);
            fail(&[
                "the ",
                form,
                " form of `",
                of,
                "` adds nothing to `",
                aggregate.name,
                "` of `",
                target,
                "`, and the other one does: ",
                remedy,
            ])
        }
        all = tail;
    }
}

const fn aggregate_of<'a>(mut all: &'a [AggregateSchema], of: &AggregateSchema) -> Option<&'a AggregateSchema> {
    while let [aggregate, tail @ ..] = all {
        if same(aggregate.target.entity_type, of.target.entity_type) && same(aggregate.into, of.into) {
            return Some(aggregate);
        }
        all = tail;
    }
    None
}

/// Fails if others could not tell the two forms apart by the keys of what they keep of them.
#[track_caller]
const fn check_told_apart(old: &EntitySchema, new: &EntitySchema) {
    let is_tied = !new.copies.is_empty() || !new.aggregates.is_empty();
    if is_tied && old.may_have_keys_of(new) {
        let remedy = "`: begin the row keys of the new form with other literals";
        fail(&[
            "both forms could have the same keys, by which what they copy and add to knows them, of `",
            new.entity_type,
            remedy,
        ])
    }
}

const fn copy_named(schema: &EntitySchema, name: &str) -> Option<&'static CopySchema> {
    let mut copies = schema.copies;
    while let [copy, tail @ ..] = copies {
        if same(copy.name, name) {
            return Some(copy);
        }
        copies = tail;
    }
    None
}

/// Whether the name is one of these.
pub(crate) const fn has(names: &[&str], name: &str) -> bool {
    let mut rest = names;
    while let [own, tail @ ..] = rest {
        if same(own, name) {
            return true;
        }
        rest = tail;
    }
    false
}

/// Fails for what is more than the rows of one entity, its index rows, its copies and what it adds.
#[track_caller]
const fn check_plain(schema: &EntitySchema) {
    let of = schema.entity_type;
    if schema.adopt {
        fail(&["`", of, "` says `adopt`, and rows of other programs cannot be told apart: insert them anew"])
    }
    let mut at = 0;
    while at < schema.property_count() {
        let property = schema.property_at(at);
        if property.aggregate {
            fail(&["`", of, "` holds an aggregate in `", property.property, "`, and cannot move: take it away before"])
        }
        at += 1;
    }
    if let [total, ..] = schema.sharded {
        fail(&["`", of, "` holds an aggregate in `", total.property, "`, and cannot move: take it away before"])
    }
    let mut aggregates = schema.aggregates;
    while let [aggregate, tail @ ..] = aggregates {
        if aggregate.is_sharded() {
            let remedy = "`, which is sharded by the keys of its sources, and cannot move: take it away before";
            fail(&["`", of, "` adds to `", aggregate.name, remedy])
        }
        aggregates = tail;
    }
}

/// Fails if a row of the old form, or of one of its versions, could have the key of a row of the new one.
#[track_caller]
const fn check_keys(old: &EntitySchema, new: &EntitySchema) {
    let mut version = old;
    while !version.has_mistakes() {
        let mut at = 0;
        while at <= version.indexes.len() {
            let mut to = 0;
            while to <= new.indexes.len() {
                if version.place(at).may_meet(&new.place(to)) {
                    fail_meeting(version, at, new, to)
                }
                to += 1;
            }
            at += 1;
        }
        match &version.previous {
            Some(previous) => version = previous.schema,
            None => return,
        }
    }
}

#[track_caller]
const fn fail_meeting(old: &EntitySchema, at: usize, new: &EntitySchema, to: usize) -> ! {
    let ((what, one, end), (of, other, close)) = (rows_at(old, at), rows_at(new, to));
    let table = new.place(to).table();
    let remedy =
        "`: begin the row keys of the new form with other literals, for its indexes too, or name another table there";
    let (entity, and) = (new.entity_type, " of the new one could have the same key in table `");
    fail(&[what, one, end, " of the old form of `", entity, "` and ", of, other, close, and, table, remedy])
}

/// Fails if another entity of the model is tied to one that moves, or could have its keys; `name` is its type.
#[track_caller]
pub(crate) const fn check_alone(entities: &[(&str, &EntitySchema)], name: &str, schema: &EntitySchema) {
    if schema.moves_to.is_none() && schema.moved_from.is_none() {
        return;
    }
    let mut rest = entities;
    while let [(other, entity), tail @ ..] = rest {
        if let Some(form) = other_form(schema)
            && !same_entity_type(entity, schema)
            && !entity.has_mistakes()
            && !form.has_mistakes()
            && (rows_may_collide(entity, form) || may_collide_with_other_form(form, entity))
        {
            let remedy =
                "` are kept in one table and could have the same key: begin their row keys with different literals";
            fail(&["`", other, "` and the other form of `", name, remedy])
        }
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

/// The form that the entity moves to, or from.
const fn other_form(schema: &EntitySchema) -> Option<&EntitySchema> {
    match (&schema.moves_to, schema.moved_from) {
        (Some(moved), _) => moved.beside(),
        (None, old) => old,
    }
}

const fn may_collide_with_other_form(form: &EntitySchema, entity: &EntitySchema) -> bool {
    match other_form(entity) {
        Some(other) => rows_may_collide(form, other),
        None => false,
    }
}
