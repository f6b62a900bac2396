//! Checks that generated constants make of `readable_by`: what programs of an older version could not read does not compile.
//!
//! As in [`check`](crate::check), each fails by one sentence; nothing here runs later.

use crate::{
    check::fail,
    check_move::has,
    schema::{CopySchema, EntitySchema, PropertySchema, Shape, same},
};

/// Fails unless programs of every version from `readable_by` on can read what this one writes.
#[track_caller]
pub const fn check_readable_by(schema: &EntitySchema) {
    let Some(oldest) = schema.readable_by else { return };
    if oldest >= schema.version {
        fail(&["`readable_by` names an older version: it is lower than `version`"])
    }
    let (mut newer, mut keeps) = (schema, true);
    while newer.version > oldest {
        let Some(previous) = &newer.previous else {
            fail(&["nothing is known of the version that `readable_by` names: name it by `previous = ..`"])
        };
        if previous.schema.has_mistakes() {
            return;
        }
        keeps = keeps && previous.downgrade.is_some();
        check_reads(schema, previous.schema, keeps);
        check_copies(schema, previous.schema);
        newer = previous.schema;
    }
    if newer.version < oldest {
        fail(&["`readable_by` names a version between two that are known: name one of those"])
    }
}

/// That the older version finds its properties on rows of this one.
#[track_caller]
const fn check_reads(schema: &EntitySchema, older: &EntitySchema, keeps: bool) {
    if older.shape.is_none() && schema.shape.is_some() {
        fail(&["an entity may be several rows, of which the version that `readable_by` names knows nothing"])
    }
    let mut at = 0;
    while at < older.property_count() {
        let wanted = older.property_at(at);
        if property(schema, wanted.property).is_some() && is_cut(schema, wanted) && !is_cut(older, wanted) {
            let remedy = "`, which is `chunked` by now: leave out `readable_by`";
            fail(&["an older version cannot read property `", wanted.property, remedy])
        }
        let reads = match shown_under(schema, wanted.property, older.version) {
            Some(own) => reads(wanted, own),
            None => keeps || wanted.nullable || wanted.default.is_some(),
        };
        if !reads {
            let remedy = "` as this one writes it: write `downgrade` and `impl Downgrade<..>`, where it is not stored any more, \
                          or leave out `readable_by`";
            fail(&["an older version cannot read property `", wanted.property, remedy])
        }
        at += 1;
    }
}

const fn reads(wanted: &PropertySchema, own: &PropertySchema) -> bool {
    same(wanted.codec, own.codec)
        && wanted.edm as u8 == own.edm as u8
        && (wanted.nullable || wanted.default.is_some() || !own.nullable)
}

/// The property that a row has under this name where programs of version `older` look for it: that of the newest version which
/// has one, of those that the row is written for.
const fn shown_under(schema: &EntitySchema, name: &str, older: u32) -> Option<&'static PropertySchema> {
    let mut version = schema;
    loop {
        if let Some(own) = property(version, name) {
            return Some(own);
        }
        match &version.previous {
            Some(previous) if previous.downgrade.is_some() && previous.schema.version > older => {
                version = previous.schema;
            }
            _ => return None,
        }
    }
}

const fn property(schema: &EntitySchema, name: &str) -> Option<&'static PropertySchema> {
    let mut at = 0;
    while at < schema.property_count() {
        let property = schema.property_at(at);
        if same(property.property, name) {
            return Some(property);
        }
        at += 1;
    }
    None
}

/// Whether the version cuts the property into chunks.
const fn is_cut(schema: &EntitySchema, property: &PropertySchema) -> bool {
    match schema.shape {
        Some(Shape { chunked, .. }) => has(chunked, property.property),
        None => false,
    }
}

/// That the older version finds what it copies, as far as its struct says: one that is frozen may leave copies out.
#[track_caller]
const fn check_copies(schema: &EntitySchema, older: &EntitySchema) {
    let mut copies = older.copies;
    while let [wanted, tail @ ..] = copies {
        if !copies_as(schema.copies, wanted) {
            let remedy = "` as this one keeps it: copy as much under that name, and no `Option` where there was none, or leave \
                          out `readable_by` (`downgrade` shows no copies)";
            fail(&["an older version cannot read its copy `", wanted.name, remedy])
        }
        copies = tail;
    }
}

/// Whether one of the copies is read as this one.
const fn copies_as(mut copies: &[CopySchema], wanted: &CopySchema) -> bool {
    while let [own, tail @ ..] = copies {
        if same(own.property, wanted.property) {
            return has_all(own.properties, wanted.properties) && (wanted.optional || !own.optional);
        }
        copies = tail;
    }
    false
}

const fn has_all(names: &[&str], mut wanted: &[&str]) -> bool {
    while let [name, tail @ ..] = wanted {
        if !has(names, name) {
            return false;
        }
        wanted = tail;
    }
    true
}
