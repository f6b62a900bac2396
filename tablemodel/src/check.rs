//! Checks that generated constants make while the user's program compiles: what the derive cannot see without types.
//!
//! The messages are the derive's, since it knows the user's words; only the facts are found here.

use crate::{
    key::{KeyType, Part, Problem, Segment, Template},
    path::field::Field,
    schema::EntitySchema,
};

/// What can be wrong with a part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The codec does not fit the type.
    Unfit,
    /// Nothing stands between the part and the next.
    Glued,
    /// The part may hold the character that follows it.
    Separator,
    /// The value may be absent.
    Optional,
    /// Values grow with time.
    LedByTime,
}

/// Fails with the message of the first of these faults that the part at `segment` has.
#[track_caller]
pub const fn check_part(template: &Template, segment: usize, faults: &[(Fault, &str)]) {
    let mut rest = faults;
    while let [(fault, message), tail @ ..] = rest {
        check(!has(template, segment, *fault), message);
        rest = tail;
    }
}

/// Fails if rows of the index at this place could share a key with primary rows or with those of an earlier index:
/// `messages` are first that of the primary key, then those of the earlier indexes.
#[track_caller]
pub const fn check_overlap(schema: &EntitySchema, index: usize, messages: &[&str]) {
    let row = index_row(schema, index);
    let mut other = &schema.row;
    let mut earlier = 0;
    let mut rest = messages;
    while let [message, tail @ ..] = rest {
        check(!row.may_overlap(other), message);
        other = index_row(schema, earlier);
        earlier += 1;
        rest = tail;
    }
}

/// Fails with `message` unless `promise` holds.
#[track_caller]
#[expect(clippy::panic, reason = "runs while the user's program compiles: this is how a constant reports an error")]
pub const fn check(promise: bool, message: &str) {
    if !promise {
        panic!("{}", message);
    }
}

/// Compiles only if the handle is of a field of type `T` of entity `E`.
pub const fn check_field<E, T, M>(_: &Field<E, T, M>) {}

/// The row key of the index at this place; of the entity where there is none.
pub const fn index_row(schema: &EntitySchema, index: usize) -> &Template {
    let mut rest = schema.indexes;
    let mut before = index;
    while let [first, tail @ ..] = rest {
        if before == 0 {
            return &first.row;
        }
        before -= 1;
        rest = tail;
    }
    &schema.row
}

const fn has(template: &Template, segment: usize, fault: Fault) -> bool {
    match (fault, template.check()) {
        (Fault::Unfit, Some(Problem::Unfit { segment: at })) => at == segment,
        (Fault::Glued, Some(Problem::Glued { segment: at })) => at == segment,
        (Fault::Separator, Some(Problem::Separator { segment: at })) => at == segment,
        (Fault::Unfit | Fault::Glued | Fault::Separator, _) => false,
        (Fault::Optional, _) => matches!(part(template, segment), Some(part) if part.optional),
        (Fault::LedByTime, _) => matches!(part(template, segment), Some(part) if grows(part.key_type)),
    }
}

const fn grows(key_type: KeyType) -> bool {
    matches!(key_type, KeyType::Time | KeyType::Date | KeyType::Ulid)
}

const fn part(template: &Template, segment: usize) -> Option<&Part> {
    let mut rest = template.0;
    let mut before = segment;
    while let [first, tail @ ..] = rest {
        if before == 0 {
            return match first {
                Segment::Part(part) => Some(part),
                Segment::Literal(_) => None,
            };
        }
        before -= 1;
        rest = tail;
    }
    None
}
