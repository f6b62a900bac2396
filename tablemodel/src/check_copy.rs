//! Checks of copies that generated constants make while the user's program compiles: of one copy against its source, and of
//! all copies of a model.
//!
//! As in `check`: each fails by a panic with one sentence, and nothing here runs later.

use crate::{
    check::{check_reserved, fail, join, nth, part, stands_in},
    key::Template,
    schema::{BLOB, CopySchema, EntitySchema, OnDelete, same, same_bytes, same_entity_type},
};

/// What becomes of a copy where the user did not say.
pub const fn on_delete(optional: bool) -> OnDelete {
    if optional { OnDelete::Clear } else { OnDelete::Restrict }
}

/// Fails unless the copy at this place names its source by its whole key, and can be stored.
#[track_caller]
pub const fn check_copy(schema: &EntitySchema, source: &EntitySchema, place: usize) {
    let Some(copy) = nth(schema.copies, place) else { return };
    let (name, of) = (copy.name, source.entity_type);
    if source.has_mistakes() {
        return;
    }
    if same_entity_type(schema, source) {
        fail(&["`", name, "` copies the entity that it is a field of: copy another, or keep the value itself"])
    }
    if schema.has_parts() || source.has_parts() {
        let remedy = "` copies between entities of several rows: neither `wide` nor `chunked` entities have copies, or are copied";
        fail(&["`", name, remedy])
    }
    check_copied(copy, source);
    check_given(copy, source, &source.partition);
    check_given(copy, source, &source.row);
    check_no_more(copy, source);
    if !copy.optional && matches!(copy.on_delete, OnDelete::Clear) {
        let remedy = "` cannot become `None`: make it an `Option`, or say `on_delete = restrict` or `keep`";
        fail(&["with `on_delete = clear`, `", name, remedy])
    }
    if copies_a_taken_name(schema, copy, place) {
        let remedy = "` stores a property under a name that another field has: rename one of them";
        fail(&["the copy `", name, "` of `", of, remedy])
    }
    check_names(schema, copy);
    if schema.has_too_many_properties() {
        let remedy =
            "` and its copies have more properties than a row takes: copy fewer, or keep some in a field with `json`";
        fail(&["`", schema.entity_type, remedy])
    }
}

/// That no blob is copied, whose name holds the key of its own row, and no aggregate, which changes with every source.
#[track_caller]
const fn check_copied(copy: &CopySchema, source: &EntitySchema) {
    let mut at = 0;
    while at < source.property_count() {
        let property = source.property_at(at);
        let mut rest = copy.properties;
        while let [name, tail @ ..] = rest {
            if same(name, property.property) && same(property.codec, BLOB) {
                let remedy = "`, which is a blob: leave it out, and read it from its own entity";
                fail(&["`", copy.name, "` copies `", property.property, remedy])
            }
            if same(name, property.property) && property.aggregate {
                let remedy = "`, which is an aggregate, and changes too often for copies: leave it out, and read it from its own entity";
                fail(&["`", copy.name, "` copies `", property.property, remedy])
            }
            rest = tail;
        }
        at += 1;
    }
}

/// That every field of the source's key is given.
#[track_caller]
const fn check_given(copy: &CopySchema, source: &EntitySchema, template: &Template) {
    let mut segment = 0;
    while segment < template.0.len() {
        if let Some((part, _)) = part(template, segment)
            && !gives(copy, part.property)
        {
            let (of, field) = (source.entity_type, part.field);
            let remedy = " = ..` to `key(..)`, with the field here that has its value";
            fail(&[
                "`",
                copy.name,
                "` does not give `",
                field,
                "`, a field of the key of `",
                of,
                "`: add `",
                field,
                remedy,
            ])
        }
        segment += 1;
    }
}

/// That only fields of the source's key are given.
#[track_caller]
const fn check_no_more(copy: &CopySchema, source: &EntitySchema) {
    let mut rest = copy.key;
    while let [pair, tail @ ..] = rest {
        if !stands_in(&source.partition, pair.source) && !stands_in(&source.row, pair.source) {
            fail(&["field `", pair.field, "` is in no key of `", source.entity_type, "`: remove it from `key(..)`"])
        }
        rest = tail;
    }
}

const fn gives(copy: &CopySchema, property: &str) -> bool {
    let mut rest = copy.key;
    while let [pair, tail @ ..] = rest {
        if same(pair.source, property) {
            return true;
        }
        rest = tail;
    }
    false
}

/// That no stored name of the copy was removed.
#[track_caller]
const fn check_names(schema: &EntitySchema, copy: &CopySchema) {
    let mut names = copy.properties;
    while let [name, tail @ ..] = names {
        let (joined, length) = join(&[copy.property, "_", name]);
        if let Ok(name) = std::str::from_utf8(joined.split_at(length).0) {
            check_reserved(schema, name);
        }
        names = tail;
    }
}

/// Whether a stored name of the copy is one of a field, or of an earlier copy.
const fn copies_a_taken_name(schema: &EntitySchema, copy: &CopySchema, place: usize) -> bool {
    let mut mine = copy.properties;
    while let [name, tail @ ..] = mine {
        let mut at = 0;
        while at < schema.property_count() {
            if is_joined(schema.property_at(at).property, copy.property, name) {
                return true;
            }
            at += 1;
        }
        let mut before = 0;
        while before < place {
            if let Some(other) = nth(schema.copies, before)
                && meets(copy.property, name, other)
            {
                return true;
            }
            before += 1;
        }
        mine = tail;
    }
    false
}

const fn meets(property: &str, name: &str, other: &CopySchema) -> bool {
    let mut theirs = other.properties;
    while let [theirs_first, tail @ ..] = theirs {
        if same_joined((property, name), (other.property, theirs_first)) {
            return true;
        }
        theirs = tail;
    }
    false
}

/// Whether `text` is `head`, `_` and `tail`.
const fn is_joined(text: &str, head: &str, tail: &str) -> bool {
    let (joined, length) = join(&[head, "_", tail]);
    same_bytes(text.as_bytes(), joined.split_at(length).0)
}

const fn same_joined(a: (&str, &str), b: (&str, &str)) -> bool {
    let ((a, length_a), (b, length_b)) = (join(&[a.0, "_", a.1]), join(&[b.0, "_", b.1]));
    same_bytes(a.split_at(length_a).0, b.split_at(length_b).0)
}

/// Fails if the entity at this place of the model copies itself by way of others, or one that the model does not list.
#[track_caller]
pub const fn check_copies<const N: usize>(entities: &[(&str, &EntitySchema); N], place: usize) {
    let Some((name, schema)) = nth(entities, place) else { return };
    let mut rest = schema.copies;
    while let [copy, tail @ ..] = rest {
        let Some(source) = position(entities, copy.source_type) else {
            let remedy = "`, which the model does not list: add a variant for it";
            fail(&["`", name, "` copies `", copy.source_type, remedy])
        };
        if source != place
            && !is_told_earlier(entities, place)
            && let Some(length) = way_back(entities, source, place)
        {
            told_cycle(entities, place, source, length)
        }
        rest = tail;
    }
}

/// Whether an entity that is listed before is part of the same cycle.
const fn is_told_earlier<const N: usize>(entities: &[(&str, &EntitySchema); N], place: usize) -> bool {
    let mut earlier = 0;
    while earlier < place {
        if way_back(entities, place, earlier).is_some() && way_back(entities, earlier, place).is_some() {
            return true;
        }
        earlier += 1;
    }
    false
}

/// The cycle, told under the entity of it that the model lists first.
#[track_caller]
const fn told_cycle<const N: usize>(entities: &[(&str, &EntitySchema); N], place: usize, source: usize, length: usize) {
    let (Some((first, _)), Some((second, _))) = (nth(entities, place), nth(entities, source)) else { return };
    let remedy = ": a change would chase itself; keep the key alone on one of them, and read the other by it";
    match length {
        1 => fail(&["`", first, "` copies `", second, "`, which copies `", first, "`", remedy]),
        _ => fail(&["`", first, "` copies `", second, "`, which copies `", first, "` by way of others", remedy]),
    }
}

/// How many copies lead from one entity to another; none if no number does.
const fn way_back<const N: usize>(entities: &[(&str, &EntitySchema); N], from: usize, to: usize) -> Option<usize> {
    let mut reached = [false; N];
    mark(&mut reached, from);
    let mut length = 1;
    while length <= N {
        let mut next = [false; N];
        let mut at = 0;
        while at < N {
            if is_marked(&reached, at)
                && let Some((_, schema)) = nth(entities, at)
            {
                let mut copies = schema.copies;
                while let [copy, tail @ ..] = copies {
                    if let Some(source) = position(entities, copy.source_type) {
                        mark(&mut next, source);
                    }
                    copies = tail;
                }
            }
            at += 1;
        }
        if is_marked(&next, to) {
            return Some(length);
        }
        reached = next;
        length += 1;
    }
    None
}

const fn mark<const N: usize>(marks: &mut [bool; N], place: usize) {
    let mut rest = marks.as_mut_slice();
    let mut before = place;
    while let [first, tail @ ..] = rest {
        if before == 0 {
            *first = true;
            return;
        }
        before -= 1;
        rest = tail;
    }
}

const fn is_marked<const N: usize>(marks: &[bool; N], place: usize) -> bool {
    matches!(nth(marks, place), Some(true))
}

/// Where the model lists the entity with this stored name.
const fn position<const N: usize>(entities: &[(&str, &EntitySchema); N], entity_type: &str) -> Option<usize> {
    let mut at = 0;
    while let Some((_, schema)) = nth(entities, at) {
        if same(schema.entity_type, entity_type) {
            return Some(at);
        }
        at += 1;
    }
    None
}
