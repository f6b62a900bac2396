//! Checks that generated constants make while the user's program compiles: what the derive cannot see without types.
//!
//! Each fails by a panic with one sentence, which rustc shows under the user's words; nothing here runs later.

use tablemodel_store::EdmType;

use crate::{
    key::{Codec, KeyType, Part, Problem, Segment, Template},
    path::field::{AggregateValue, Field, HoldsAggregate, InRow},
    plan::contributed::same_codec,
    property::StoredAs,
    schema::{EntitySchema, colliding, same, same_entity_type},
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
    /// First in the partition key of an index, which nothing else spreads.
    LeadsIndex,
}

/// Fails unless the part at `segment`, written `{written}`, can stand there.
#[track_caller]
pub const fn check_part(template: &Template, segment: usize, written: &str, place: Place) {
    let Some((part, next)) = part(template, segment) else { return };
    match template.check_segment(segment) {
        Some(Problem::Unfit { .. }) => unfit(part, written),
        Some(Problem::Glued { .. }) => {
            let remedy = "` ends and the next part begins: write a separator between them, such as `_` or `!`";
            fail(&["nothing tells where `", written, remedy])
        }
        Some(Problem::Separator { .. }) => {
            let remedy = "`, which may hold its first character: begin the literal with `_`, `-` or `!`";
            fail(&["the literal `", literal(next), "` cannot follow `", written, remedy])
        }
        _ => {}
    }
    if part.optional && matches!(place, Place::LeadsPartition | Place::Primary) {
        let remedy = "` is an `Option`, and every entity must have a primary key: use the type inside, or an index";
        fail(&["field `", part.field, remedy])
    }
    let leads = matches!(place, Place::LeadsPartition | Place::LeadsIndex);
    // Of a bucket the derive tells itself.
    if leads && grows(part.key_type) && !matches!(part.codec, Codec::Hash) && !part.is_bucket_of_time() {
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

/// Fails if the fields of groups bring a name twice, a name that was removed, or more properties than a row takes.
#[track_caller]
pub const fn check_groups(schema: &EntitySchema) {
    let of = schema.entity_type;
    if let Some((name, field, other)) = schema.duplicate_property() {
        let (stored, remedy) = ("` would both be stored as `", "`: rename a field of a group, or one beside it");
        match same(field, other) {
            true => fail(&["two properties of field `", field, "` of `", of, stored, name, remedy]),
            false => fail(&["fields `", field, "` and `", other, "` of `", of, stored, name, remedy]),
        }
    }
    if schema.has_chunk_clash() {
        fail(&["a property of a group of `", of, "` has the name of a chunk of a `chunked` field: rename one"])
    }
    let has_copies = !schema.copies.is_empty(); // where they are checked, too many properties are told
    if schema.has_too_many_properties() && !has_copies {
        fail(&["`", of, "` and its groups have more properties than a row takes: say `#[table(wide)]`"])
    }
    let mut at = 0;
    while at < schema.property_count() && !schema.reserved.is_empty() {
        let name = schema.property_at(at).property;
        check_reserved(schema, name);
        at += 1;
    }
}

/// Fails for the name of a removed property.
#[track_caller]
pub(crate) const fn check_reserved(schema: &EntitySchema, name: &str) {
    let mut reserved = schema.reserved;
    while let [removed, tail @ ..] = reserved {
        if same(removed, name) {
            let remedy = "` is reserved: rows that were written before may have it with another meaning; rename the field, or \
                          the one that it is a part of";
            fail(&["`", name, remedy])
        }
        reserved = tail;
    }
}

/// Fails if a default would stand for a `None`: of a field that is an `Option`.
#[track_caller]
pub const fn check_default(field: &str, nullable: bool) {
    if nullable {
        let remedy = "`: an absent property is `None`, which would be read back as the default; remove `default`, or fill \
                      the field by `Upgrade`";
        fail(&["field `", field, remedy])
    }
}

/// Fails unless a field that is stored so can be a condition.
#[track_caller]
pub const fn check_when(field: &str, stored: StoredAs) {
    if !stored.nullable && !matches!(stored.edm, EdmType::Boolean) {
        let remedy = "` is always present and never `false`: a condition is over a `bool` or an `Option`";
        fail(&["field `", field, remedy])
    }
}

/// Fails unless a field of this codec can be cut into chunks.
#[track_caller]
pub const fn check_chunked(field: &str, codec: &str) {
    if !same(codec, "string") && !same(codec, "bytes") {
        fail(&["field `", field, "` is `chunked`, and its type is no text and no bytes: remove `chunked`"])
    }
}

/// Fails if two entities cannot live in one model; `a` and `b` are their types.
#[track_caller]
pub const fn check_pair(a: (&str, &EntitySchema), b: (&str, &EntitySchema)) {
    if a.1.has_mistakes() || b.1.has_mistakes() {
        return;
    }
    if same_entity_type(a.1, b.1) {
        match (same(a.1.path, b.1.path), same(a.0, b.0)) {
            (true, true) => fail(&["`", a.0, "` is listed twice: list it once"]),
            (true, false) => fail(&["`", a.0, "` and `", b.0, "` are one struct: list it once"]),
            (false, _) => {}
        }
        let remedy = "`: give one of them another by `#[table(entity_type = \"..\")]` on its struct";
        fail(&["`", a.0, "` and `", b.0, "` have the same entity type `", a.1.entity_type, remedy])
    }
    match colliding(a.1, b.1) {
        None => {}
        Some((0, 0)) => {
            let remedy =
                "` are kept in one table and could have the same key: begin their row keys with different literals";
            fail(&["`", a.0, "` and `", b.0, remedy])
        }
        Some((at, to)) => {
            let ((what, one, end), (other, two, close)) = (rows_at(a.1, at), rows_at(b.1, to));
            let table = a.1.place(at).table();
            let (in_table, remedy) =
                ("` could have the same key in table `", "`: begin their row keys with different literals");
            fail(&[what, one, end, " of `", a.0, "` and ", other, two, close, " of `", b.0, in_table, table, remedy])
        }
    }
}

/// What the rows at this place are called, in three pieces.
pub(crate) const fn rows_at(schema: &EntitySchema, place: usize) -> (&'static str, &'static str, &'static str) {
    match place.checked_sub(1) {
        None => ("the primary key", "", ""),
        Some(at) => match nth(schema.indexes, at) {
            Some(index) => ("index `", index.name, "`"),
            None => ("an index", "", ""),
        },
    }
}

/// Compiles only if the handle is of a field of type `T` of entity `E`.
pub const fn check_field<E, T, M: InRow>(_: &Field<E, T, M>) {}

/// Compiles only if the handle is of a field that holds an aggregate, of type `T`.
pub const fn check_into<E, T, M: HoldsAggregate>(_: &Field<E, T, M>) {}

/// Compiles only if `T` can be the type of an aggregate.
pub const fn check_held<T: AggregateValue>() {}

/// Compiles only if the handle is of a blob field of type `T` of entity `E`.
#[cfg(feature = "blob")]
pub const fn check_blob_field<E, T>(_: &crate::blob::BlobField<E, T>) {}

const fn grows(key_type: KeyType) -> bool {
    matches!(key_type, KeyType::Time | KeyType::Date | KeyType::Ulid)
}

/// Whether a part of the template is of the property with this stored name.
pub(crate) const fn stands_in(template: &Template, property: &str) -> bool {
    let mut segments = template.0;
    while let [segment, tail @ ..] = segments {
        if let Segment::Part(part) = segment
            && same(part.property, property)
        {
            return true;
        }
        segments = tail;
    }
    false
}

/// The part at a place of the template, and what stands after it.
pub(crate) const fn part(template: &Template, segment: usize) -> Option<(&Part, Option<&Segment>)> {
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

/// Whether the templates make the same keys of the same values, by whatever names those are stored.
pub(crate) const fn same_key(a: &Template, b: &Template) -> bool {
    let (mut a, mut b) = (a.0, b.0);
    loop {
        match (a, b) {
            ([], []) => return true,
            ([Segment::Literal(one), rest @ ..], [Segment::Literal(other), tail @ ..]) if same(one, other) => {
                (a, b) = (rest, tail);
            }
            ([Segment::Part(one), rest @ ..], [Segment::Part(other), tail @ ..])
                if same_codec(one.codec, other.codec) && same_type(one, other) =>
            {
                (a, b) = (rest, tail);
            }
            _ => return false,
        }
    }
}

const fn same_type(a: &Part, b: &Part) -> bool {
    match (a.key_type, b.key_type) {
        // So many digits, or the bucket or hash of 16 bytes, whatever the type.
        (KeyType::Unsigned(_) | KeyType::Signed(_), KeyType::Unsigned(_) | KeyType::Signed(_))
            if matches!(a.codec, Codec::Width(_) | Codec::Shard(_) | Codec::Hash) =>
        {
            true
        }
        (KeyType::Unsigned(a), KeyType::Unsigned(b)) | (KeyType::Signed(a), KeyType::Signed(b)) => a == b,
        (KeyType::Text | KeyType::Enum { .. }, KeyType::Text | KeyType::Enum { .. })
        | (KeyType::Float, KeyType::Float)
        | (KeyType::Bool, KeyType::Bool)
        | (KeyType::Uuid, KeyType::Uuid)
        | (KeyType::Ulid, KeyType::Ulid)
        | (KeyType::Date, KeyType::Date)
        | (KeyType::Time, KeyType::Time)
        | (KeyType::Binary, KeyType::Binary) => true,
        _ => false,
    }
}

pub(crate) const fn nth<T>(items: &[T], place: usize) -> Option<&T> {
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
pub(crate) const fn fail(texts: &[&str]) -> ! {
    let (room, length) = join(texts);
    let (message, _) = room.split_at(length);
    match std::str::from_utf8(message) {
        Ok(message) => panic!("{}", message),
        Err(_) => panic!("the message of this check is too long"),
    }
}

/// The texts one after the other, and their length.
#[expect(clippy::indexing_slicing, reason = "the length is compared first; `get_mut` is not const")]
pub(crate) const fn join(mut texts: &[&str]) -> ([u8; MAX_MESSAGE], usize) {
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
