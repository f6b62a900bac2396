//! What bugs of what is written do: of keys, names, values and their limits.
//!
//! Each is one function, wrong in one way.

#![allow(clippy::ptr_arg, reason = "the twists of one place have one signature")]

use tablemodel_store::{
    Batch, DateTime, MemoryStore, Operation, Properties, Receipts, Value, ValueRef, limits, size, validate,
};

use super::{
    Answer,
    writes::{actions, own, refuse_if, taken},
};

fn cut_text(text: &str, units: usize) -> String {
    let mut length = 0;
    text.chars()
        .take_while(|c| {
            length += c.len_utf16();
            length <= units
        })
        .collect()
}

pub(super) fn rebuilt(own: &mut Properties, change: impl Fn(String, Value) -> (String, Value)) {
    let pairs = taken(own).into_iter().map(|(name, value)| change(name.to_string(), value));
    *own = pairs.collect();
}

pub(super) fn cut(batches: &mut Vec<Batch>) {
    for batch in batches {
        batch.partition = cut_text(&batch.partition, limits::MAX_KEY_CHARS);
        for Operation { row, action } in &mut batch.operations {
            *row = cut_text(row, limits::MAX_KEY_CHARS);
            let Some(own) = own(action) else { continue };
            rebuilt(own, |name, value| {
                let value = match value {
                    Value::String(text) => cut_text(&text, limits::MAX_STRING_CHARS).into(),
                    Value::Binary(bytes) => Value::Binary(bytes.into_iter().take(limits::MAX_BINARY_BYTES).collect()),
                    value => value,
                };
                (cut_text(&name, limits::MAX_PROPERTY_NAME_CHARS), value)
            });
            let mut room = limits::MAX_PROPERTIES;
            own.retain(|_| {
                room = room.saturating_sub(1);
                room > 0
            });
        }
    }
}

pub(super) fn count_bytes<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    refuse_if(store, batches, |batch, Operation { row, action }| {
        let long = |(_, value)| matches!(value, ValueRef::String(text) if text.len() > limits::MAX_STRING_CHARS);
        batch.partition.len().max(row.len()) > limits::MAX_KEY_CHARS
            || action.properties().is_some_and(|own| own.iter().any(long))
    })
}

pub(super) fn refuse_full_rows<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    refuse_if(store, batches, |batch, Operation { row, action }| {
        let bytes = |own| size::row_bytes(&batch.partition, row, own);
        action.properties().is_some_and(|own| bytes(own) >= limits::MAX_ROW_BYTES)
    })
}

pub(super) fn clamp_times(batches: &mut Vec<Batch>) {
    for own in actions(batches).filter_map(own) {
        rebuilt(own, |name, value| match value {
            Value::DateTime(at) => (name, at.clamp(DateTime::MIN, DateTime::MAX).into()),
            value => (name, value),
        });
    }
}

pub(super) fn drop_bad_characters(batches: &mut Vec<Batch>) {
    let legal = |key: &str| key.chars().filter(|c| validate::row_key(&c.to_string()).is_ok()).collect::<String>();
    for batch in batches {
        batch.partition = legal(&batch.partition);
        for Operation { row, action } in &mut batch.operations {
            *row = legal(row);
            let Some(own) = own(action) else { continue };
            rebuilt(own, |name, value| {
                let name: String = name.chars().filter(|c| *c == '_' || c.is_alphanumeric()).collect();
                (if validate::property_name(&name).is_ok() { name } else { format!("_{name}") }, value)
            });
        }
    }
}

pub(super) fn refuse_non_ascii_keys<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    refuse_if(store, batches, |batch, operation| !batch.partition.is_ascii() || !operation.row.is_ascii())
}

pub(super) fn refuse_empty_keys<'a>(store: &'a MemoryStore, batches: &'a [Batch]) -> Answer<'a, Vec<Receipts>> {
    refuse_if(store, batches, |batch, operation| batch.partition.is_empty() || operation.row.is_empty())
}

pub(super) fn lower_case_names(batches: &mut Vec<Batch>) {
    for own in actions(batches).filter_map(own) {
        rebuilt(own, |name, value| (name.to_lowercase(), value));
    }
}

pub(super) fn drop_system_properties(batches: &mut Vec<Batch>) {
    for own in actions(batches).filter_map(own) {
        own.retain(|name| !matches!(name, "PartitionKey" | "RowKey" | "Timestamp"));
    }
}

pub(super) fn join_all_keys(batches: &mut Vec<Batch>) {
    batches.iter_mut().for_each(|batch| join_keys(batch, ""));
}

pub(super) fn join_keys(batch: &mut Batch, separator: &str) {
    for operation in &mut batch.operations {
        operation.row = format!("{}{separator}{}", batch.partition, operation.row);
    }
    batch.partition.clear();
}
