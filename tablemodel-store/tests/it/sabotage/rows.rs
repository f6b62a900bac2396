//! What bugs of rows that are read do: keys asked for, ETags and values given.
//!
//! Each is one function, wrong in one way.

use tablemodel_store::{
    DateTime, ETag, Page, Properties, Query, Row, RowKey, RowState, StoreError, StoreErrorKind, Uuid, Value,
};

use super::{Got, writes::taken};

pub(super) fn drop_bare(got: Got) -> Got {
    got.map(|row| row.filter(|row| !row.properties.is_empty()))
}

pub(super) fn missing_is_error(got: Got) -> Got {
    let missing = || StoreError::new(StoreErrorKind::RowNotFound, "no such row");
    got.and_then(|row| row.ok_or_else(missing).map(Some))
}

pub(super) fn lower_case_key(key: &mut RowKey) {
    *key = RowKey::new(key.partition.to_lowercase(), key.row.to_lowercase());
}

pub(super) fn told_without_properties(row: &mut RowState) {
    row.properties = Properties::new();
}

pub(super) fn shown_without_properties(row: &mut Row) {
    row.properties = Properties::new();
}

pub(super) fn shown_without_the_last(rows: &mut Vec<Row>) {
    rows.pop();
}

pub(super) fn hash_etag(row: &mut Row) {
    row.etag = ETag::parse(&format!("{:?}", row.properties));
}

pub(super) fn coarse_etag(row: &mut Row) {
    row.etag = ETag::from_stamp(row.etag.stamp().unwrap_or(0) / 10_000_000);
}

pub(super) fn spaced_etag(row: &mut Row) {
    row.etag = ETag::from_stamp(u64::MAX - row.etag.stamp().unwrap_or(0));
}

fn change(row: &mut Row, change: impl Fn(Value) -> Option<Value>) {
    let pairs = taken(&mut row.properties).into_iter();
    row.properties = pairs.filter_map(|(name, value)| change(value).map(|value| (name, value))).collect();
}

pub(super) fn lose_nan(row: &mut Row) {
    change(row, |value| Some(value).filter(|value| !matches!(value, Value::Double(double) if double.is_nan())));
}

pub(super) fn lose_negative_zero(row: &mut Row) {
    change(row, |value| match value {
        Value::Double(double) => Some(Value::Double(double + 0.0)),
        value => Some(value),
    });
}

pub(super) fn cut_ticks(row: &mut Row) {
    change(row, |value| match value {
        Value::DateTime(at) => Some(DateTime::from_ticks(at.ticks() / 10 * 10).into()),
        value => Some(value),
    });
}

pub(super) fn widen_int32(row: &mut Row) {
    change(row, |value| match value {
        Value::Int32(number) => Some(Value::Int64(number.into())),
        value => Some(value),
    });
}

pub(super) fn round_int64(row: &mut Row) {
    change(row, |value| match value {
        Value::Int64(number) => Some(Value::Int64(number as f64 as i64)),
        value => Some(value),
    });
}

pub(super) fn drop_empty_strings(row: &mut Row) {
    change(row, |value| Some(value).filter(|value| !matches!(value, Value::String(text) if text.is_empty())));
}

pub(super) fn drop_empty_binaries(row: &mut Row) {
    change(row, |value| Some(value).filter(|value| !matches!(value, Value::Binary(bytes) if bytes.is_empty())));
}

pub(super) fn drop_false(row: &mut Row) {
    change(row, |value| Some(value).filter(|value| *value != Value::Boolean(false)));
}

pub(super) fn drop_nil(row: &mut Row) {
    change(row, |value| Some(value).filter(|value| *value != Value::Guid(Uuid::nil())));
}

pub(super) fn no_guids(_: &Query, page: &mut Page) {
    for row in &mut page.rows {
        change(row, |value| Some(value).filter(|value| !matches!(value, Value::Guid(_))));
    }
}

pub(super) fn cut_long_texts(_: &Query, page: &mut Page) {
    for row in &mut page.rows {
        texts(row, |text| text.chars().take(1_000).collect::<String>().into());
    }
}

fn texts(row: &mut Row, read: impl Fn(String) -> Value) {
    change(row, |value| match value {
        Value::String(text) => Some(read(text)),
        value => Some(value),
    });
}

pub(super) fn cut_at_nul(row: &mut Row) {
    texts(row, |text| text.split('\0').next().unwrap_or_default().into());
}

pub(super) fn drop_controls(row: &mut Row) {
    texts(row, |text| text.replace(|c: char| c.is_control() && !"\t\r\n".contains(c), "").into());
}

pub(super) fn replace_noncharacters(row: &mut Row) {
    texts(row, |text| text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}").into());
}

pub(super) fn decode_percent(row: &mut Row) {
    texts(row, |text| text.replace("%20", " ").into());
}

pub(super) fn decode_backslashes(row: &mut Row) {
    texts(row, |text| text.replace("\\\\", "\\").into());
}

pub(super) fn decode_entities(row: &mut Row) {
    texts(row, |text| text.replace("&lt;", "<").replace("&amp;", "&").into());
}

pub(super) fn read_guids(row: &mut Row) {
    texts(row, |text| text.parse::<Uuid>().map_or(Value::String(text), Value::Guid));
}
