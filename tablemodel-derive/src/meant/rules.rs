//! What the keys of an entity must obey as a whole, as far as it shows without types.
//! What needs types is checked by the constants that `emit::checks` generates.

use proc_macro2::Span;

use super::{
    entity::Entity,
    field::Kind,
    key::{Key, Part},
};
use crate::{
    errors::Errors,
    rooms::index::{Cover, Elsewhere, Index},
    written::EntityWords,
};

/// The service: operations in one atomic batch.
const MAX_ROWS_PER_WRITE: usize = 100;

/// The service: 255 properties with both keys and the timestamp, less the framework's own three on a primary row.
const MAX_PROPERTIES: usize = 249;

/// Asks every rule.
pub(crate) fn check(entity: &Entity, words: &EntityWords, errors: &mut Errors) {
    if entity.partition.is_sound {
        check_spread(entity, words, errors);
    }
    if entity.partition.is_sound && entity.row.is_sound {
        check_identity(entity, errors);
        check_shard_is_known(entity, errors);
    }
    for key in std::iter::once(&entity.row).chain(entity.indexes.iter().map(|index| &index.row)) {
        if let Some(shard) = key.shard() {
            let message = "spreads partitions: it belongs into the partition key";
            errors.at(key.span, format!("`{}` {message}", shard.written()));
        }
    }
    for key in std::iter::once(&entity.partition).chain(elsewhere(entity).map(|(_, elsewhere)| &elsewhere.partition)) {
        check_one_shard(key, errors);
    }
    check_index_spread(entity, errors);
    check_counts(entity, errors);
    check_copies(entity, errors);
}

/// The indexes and lists in other partitions.
fn elsewhere(entity: &Entity) -> impl Iterator<Item = (&Index, &Elsewhere)> {
    entity.indexes.iter().filter_map(|index| Some((index, index.elsewhere.as_ref()?)))
}

/// A query asks every bucket of one part.
fn check_one_shard(key: &Key, errors: &mut Errors) {
    let mut shards = key.parts().filter(|part| part.codec.is_shard());
    if let (Some(first), Some(second)) = (shards.next(), shards.next()) {
        let (first, second) = (first.written(), second.written());
        let message = format!("`{first}` spreads the partitions already, and a query asks the buckets of one part");
        errors.at(key.span, format!("{message}: remove `{second}`, or give the first more buckets"));
    }
}

/// A whole copy of a blob would be a second link to it, which nothing keeps in step.
fn check_copies(entity: &Entity, errors: &mut Errors) {
    let Some(blob) = entity.fields.iter().find(|field| matches!(field.kind, Kind::Blob(_))) else { return };
    for index in entity.indexes.iter().filter(|index| matches!(index.cover, Cover::Whole)) {
        let message = format!("index `{}` copies the whole entity, and `{}` is a blob", index.name, blob.name);
        errors.at(index.name.span(), format!("{message}: add `keep(..)` with the fields it needs, or `keys_only`"));
    }
}

/// A partition key that is constant, or led by time, sends every write to one server.
fn check_spread(entity: &Entity, words: &EntityWords, errors: &mut Errors) {
    let key = &entity.partition;
    let why = match key.parts().next() {
        _ if key.shard().is_some() => None,
        None => Some("is the same for every entity".to_owned()),
        Some(first) if is_of_time(first) => Some(format!("is led by time (`{}`)", first.written())),
        Some(_) => None,
    };
    match why {
        Some(why) if !entity.append_hotspot => {
            let spread = "lead it with a field that spreads the load, or add a part such as `{id:shard(16)}`";
            let message = format!("this partition key {why}, so that one server takes every write");
            errors.at(key.span, format!("{message}; {spread}, or say `allow(append_hotspot)`"));
        }
        _ if key.shard().is_some() => {
            words.append_hotspot.refuse("`allow(append_hotspot)` has no effect: the partition key has a shard", errors);
        }
        _ => {}
    }
}

/// The partition key of an index must spread writes too.
fn check_index_spread(entity: &Entity, errors: &mut Errors) {
    if entity.append_hotspot {
        return;
    }
    for (index, elsewhere) in elsewhere(entity).filter(|(_, elsewhere)| elsewhere.partition.is_sound) {
        let (key, name, what) = (&elsewhere.partition, &index.name, if index.is_list { "list" } else { "index" });
        let why = match key.parts().next() {
            _ if key.shard().is_some() => continue,
            None => "is the same for every entity".to_owned(),
            Some(first) if is_of_time(first) => format!("is led by time (`{}`)", first.written()),
            Some(_) => continue,
        };
        let spread = "lead it with a field that spreads the load, or say `allow(append_hotspot)`";
        let message = format!("the partition key of {what} `{name}` {why}, so that one server takes every write");
        errors.at(key.span, format!("{message}; {spread}"));
    }
}

/// As far as it shows without types.
fn is_of_time(part: &Part) -> bool {
    part.codec.is_bucket()
}

/// Two entities must not share a key because a codec forgets what tells them apart.
fn check_identity(entity: &Entity, errors: &mut Errors) {
    let mut parts = entity.partition.parts().chain(entity.row.parts()).peekable();
    if parts.peek().is_none() || parts.any(|part| part.codec.tells_apart()) {
        return;
    }
    let message = "no part of the primary key tells two entities apart: every codec in it forgets something";
    errors.at(entity.row.span, format!("{message}; add a field without such a codec, or with `hash`"));
}

/// The bucket of a row is computed from a field that the path gives.
fn check_shard_is_known(entity: &Entity, errors: &mut Errors) {
    let Some(shard) = entity.partition.shard() else { return };
    let mut others = entity.partition.parts().chain(entity.row.parts());
    if !others.any(|part| part.is_of(&shard.field) && !part.codec.is_shard() && !part.codec.is_bucket()) {
        let (shard, field) = (shard.written(), &shard.field.name);
        let message =
            format!("the bucket of `{shard}` cannot be told from the rest of the key, so no entity could be found");
        errors.at(entity.partition.span, format!("{message}; put `{{{field}}}` into the row key too"));
    }
}

fn check_counts(entity: &Entity, errors: &mut Errors) {
    let span: Span = entity.ident.span();
    let here = entity.indexes.iter().filter(|index| index.elsewhere.is_none()).count();
    // What stands elsewhere costs one row here: that of the outbox.
    let has_elsewhere = here < entity.indexes.len() || !entity.copies.is_empty();
    // A long list is two rows; of each copy, the source and its back-reference may stand here.
    let lists = entity.indexes.iter().filter(|index| index.is_list && index.elsewhere.is_none()).count();
    // A cell, and the entity that it is copied to; of the least or greatest, a contribution.
    let aggregates = 2 * entity.aggregates.len() + entity.aggregates.iter().filter(|of| of.is_extreme()).count();
    let rows = 1 + here + lists + aggregates + 2 * entity.copies.len() + usize::from(has_elsewhere);
    if rows > MAX_ROWS_PER_WRITE {
        let message = format!("`{}` writes {rows} rows at once", entity.ident);
        errors.at(span, format!("{message}; a batch takes at most {MAX_ROWS_PER_WRITE}: declare fewer indexes"));
    }
    let properties = entity.fields.iter().flat_map(|field| field.stored_names()).count();
    if properties > MAX_PROPERTIES && !entity.wide {
        let message = format!("`{}` has {properties} properties", entity.ident);
        let remedy = "say `#[table(wide)]`, or keep some of them together in a field with `json`";
        errors.at(span, format!("{message}; a row takes at most {MAX_PROPERTIES}: {remedy}"));
    }
}
