//! Checks that generated constants make while the user's program compiles: what the derive cannot see without types.
//!
//! Each fails by a panic with one sentence, which rustc shows under the user's words; nothing here runs later.

use crate::{
    key::{Codec, KeyType, Part, Problem, Segment, Template},
    path::field::Field,
    entity::CopyKeyOf,
    schema::{CopySchema, EntitySchema, IndexSchema, OnDelete, rows_may_collide, same, same_entity_type},
};

/// Where a part of a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// First in a partition key that nothing else spreads.
    LeadsPartition,
    /// Elsewhere in the primary key.
    Primary,
    /// In the row key of an index.
    Index,
}

/// Fails unless the part at `segment`, written `{written}`, can stand there.
#[track_caller]
pub const fn check_part(template: &Template, segment: usize, written: &str, place: Place) {
    let Some((part, next)) = part(template, segment) else { return };
    match template.check() {
        Some(Problem::Unfit { segment: at }) if at == segment => unfit(part, written),
        Some(Problem::Glued { segment: at }) if at == segment => {
            let remedy = "` ends and the next part begins: write a separator between them, such as `_` or `!`";
            fail(&["nothing tells where `", written, remedy])
        }
        Some(Problem::Separator { segment: at }) if at == segment => {
            let remedy = "`, which may hold its first character: begin the literal with `_`, `-` or `!`";
            fail(&["the literal `", literal(next), "` cannot follow `", written, remedy])
        }
        _ => {}
    }
    if part.optional && !matches!(place, Place::Index) {
        let remedy = "` is an `Option`, and every entity must have a primary key: use the type inside, or an index";
        fail(&["field `", part.field, remedy])
    }
    if matches!(place, Place::LeadsPartition) && grows(part.key_type) && !matches!(part.codec, Codec::Hash) {
        let remedy = "`), so that one server takes every write; lead it with a field that spreads the load, or add a part \
                      such as `{id:shard(16)}`, or say `allow(append_hotspot)`";
        fail(&["this partition key is led by time (`", written, remedy])
    }
}

#[track_caller]
const fn unfit(part: &Part, written: &str) {
    let fits = match part.codec {
        Codec::Plain => {
            let message = "` is a float, which has no plain form in a key: write `{";
            fail(&["field `", part.field, message, part.field, ":sortable}`"])
        }
        Codec::Width(_) => "integers",
        Codec::Desc => "integers and points in time",
        Codec::Sortable => "floats",
        Codec::Hour | Codec::Day => "points in time",
        Codec::Month => "points in time and dates",
        Codec::Lower | Codec::Raw => "texts",
        Codec::Shard(_) | Codec::Hash => "key types",
    };
    fail(&["the codec of `", written, "` does not fit the type of field `", part.field, "`: it is for ", fits])
}

/// Fails if rows of the index at this place could share a key with primary rows or with those of an earlier index.
#[track_caller]
pub const fn check_index(schema: &EntitySchema, place: usize) {
    let Some(index) = nth(schema.indexes, place) else { return };
    let here = schema.place(place + 1);
    let remedy = "` could produce the same row key: begin their row keys with different literals, such as `";
    if here.may_meet(&schema.place(0)) {
        fail(&["the primary key and index `", index.name, remedy, index.name, "_`"])
    }
    let (mut earlier, mut before) = (schema.indexes, 0);
    while let [other, tail @ ..] = earlier
        && before < place
    {
        if here.may_meet(&schema.place(before + 1)) {
            fail(&["indexes `", other.name, "` and `", index.name, remedy, other.name, "_` and `", index.name, "_`"])
        }
        before += 1;
        earlier = tail;
    }
}

/// Fails if the fields of groups bring a name twice, or more properties than a row takes.
#[track_caller]
pub const fn check_groups(schema: &EntitySchema) {
    let of = schema.entity_type;
    if schema.has_duplicate_property() {
        fail(&["two properties of `", of, "` have one name: rename a field of a group, or one beside it"])
    }
    if schema.has_too_many_properties() {
        fail(&["`", of, "` and its groups have more properties than a row takes: keep some in a field with `json`"])
    }
}

/// Fails if two entities cannot live in one model; `a` and `b` are their types.
#[track_caller]
pub const fn check_pair(a: (&str, &EntitySchema), b: (&str, &EntitySchema)) {
    if same_entity_type(a.1, b.1) {
        fail(&["`", a.0, "` and `", b.0, "` have the same entity type: give one another by `entity_type = \"..\"`"])
    }
    if rows_may_collide(a.1, b.1) {
        let remedy =
            "` are kept in one table and could have the same key: begin their row keys with different literals";
        fail(&["`", a.0, "` and `", b.0, remedy])
    }
}

/// What becomes of a copy where the user did not say.
pub const fn on_delete(optional: bool) -> OnDelete {
    if optional { OnDelete::Clear } else { OnDelete::Restrict }
}

/// Compiles only if a field of type `T` of the holder can stand for the field of entity `E` that the handle is of.
pub const fn check_copy_key<E, S, T: CopyKeyOf<S>, M>(_: &Field<E, S, M>) {}

/// Fails unless the copy at this place names its source by its whole key, and can be stored.
#[track_caller]
pub const fn check_copy(schema: &EntitySchema, source: &EntitySchema, place: usize) {
    let Some(copy) = nth(schema.copies, place) else { return };
    let (name, of) = (copy.name, source.entity_type);
    if same_entity_type(schema, source) {
        fail(&["`", name, "` copies the entity that it is a field of: copy another, or keep the value itself"])
    }
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
    if schema.has_too_many_properties() {
        let remedy = "` and its copies have more properties than a row takes: copy fewer, or keep some in a field with `json`";
        fail(&["`", schema.entity_type, remedy])
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
            fail(&["`", copy.name, "` does not give `", field, "`, a field of the key of `", of, "`: add `", field, remedy])
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

const fn stands_in(template: &Template, property: &str) -> bool {
    let mut segment = 0;
    while segment < template.0.len() {
        if let Some((part, _)) = part(template, segment)
            && same(part.property, property)
        {
            return true;
        }
        segment += 1;
    }
    false
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
    equal(text.as_bytes(), joined.split_at(length).0)
}

const fn same_joined(a: (&str, &str), b: (&str, &str)) -> bool {
    let ((a, length_a), (b, length_b)) = (join(&[a.0, "_", a.1]), join(&[b.0, "_", b.1]));
    equal(a.split_at(length_a).0, b.split_at(length_b).0)
}

const fn equal(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
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

/// Compiles only if the handle is of a field of type `T` of entity `E`.
pub const fn check_field<E, T, M>(_: &Field<E, T, M>) {}

/// The partition key of the index at this place; the entity's own where that is the same.
pub const fn index_partition(schema: &EntitySchema, place: usize) -> &Template {
    match nth(schema.indexes, place) {
        Some(IndexSchema { elsewhere: Some(elsewhere), .. }) => &elsewhere.partition,
        _ => &schema.partition,
    }
}

/// The row key of the index at this place; of the entity where there is none.
pub const fn index_row(schema: &EntitySchema, place: usize) -> &Template {
    match nth(schema.indexes, place) {
        Some(index) => &index.row,
        None => &schema.row,
    }
}

const fn grows(key_type: KeyType) -> bool {
    matches!(key_type, KeyType::Time | KeyType::Date | KeyType::Ulid)
}

/// The part at a place of the template, and what stands after it.
const fn part(template: &Template, segment: usize) -> Option<(&Part, Option<&Segment>)> {
    match nth(template.0, segment) {
        Some(Segment::Part(part)) => Some((part, nth(template.0, segment + 1))),
        Some(Segment::Literal(_)) | None => None,
    }
}

const fn literal(segment: Option<&Segment>) -> &'static str {
    match segment {
        Some(Segment::Literal(text)) => text,
        Some(Segment::Part(_)) | None => "",
    }
}

const fn nth<T>(items: &[T], place: usize) -> Option<&T> {
    let mut rest = items;
    let mut before = place;
    while let [first, tail @ ..] = rest {
        if before == 0 {
            return Some(first);
        }
        before -= 1;
        rest = tail;
    }
    None
}

/// Room for the longest message; what is longer is cut.
const MAX_MESSAGE: usize = 1024;

/// Fails with the texts joined.
#[track_caller]
#[expect(clippy::panic, reason = "runs while the user's program compiles: this is how a constant reports an error")]
const fn fail(texts: &[&str]) -> ! {
    let (room, length) = join(texts);
    let (message, _) = room.split_at(length);
    match std::str::from_utf8(message) {
        Ok(message) => panic!("{}", message),
        Err(_) => panic!("the message of this check is too long"),
    }
}

/// The texts one after the other, and their length.
#[expect(clippy::indexing_slicing, reason = "the length is compared first; `get_mut` is not const")]
const fn join(mut texts: &[&str]) -> ([u8; MAX_MESSAGE], usize) {
    let mut room = [0; MAX_MESSAGE];
    let mut length = 0;
    while let [text, tail @ ..] = texts {
        let mut bytes = text.as_bytes();
        while let [byte, rest @ ..] = bytes
            && length < MAX_MESSAGE
        {
            room[length] = *byte;
            length += 1;
            bytes = rest;
        }
        texts = tail;
    }
    (room, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(check: fn()) -> String {
        let panic = std::panic::catch_unwind(check).expect_err("the check fails");
        panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
            .unwrap()
    }

    #[test]
    fn a_message_is_its_texts_joined() {
        assert_eq!(said(|| fail(&["a `", "b", "` c"])), "a `b` c");
        let long = said(|| fail(&[&"x".repeat(2000)]));
        assert_eq!(long.len(), MAX_MESSAGE);
    }

    #[test]
    fn a_sound_key_passes_and_a_glued_one_is_named() {
        const GLUED: Template = Template(&[
            Segment::Part(Part::of::<String>("a", "A", Codec::Plain)),
            Segment::Part(Part::of::<u32>("b", "B", Codec::Plain)),
        ]);
        assert!(said(|| check_part(&GLUED, 0, "{a}", Place::Primary)).contains("nothing tells where `{a}` ends"));
        check_part(&GLUED, 1, "{b}", Place::Primary);
    }
}
