//! What bugs of filters do.
//!
//! Each is one function, wrong in one way.

use std::ops::Bound;

use tablemodel_store::{Comparison, DateTime, Filter, KeyRange, Query, Value};

pub(super) fn no_filter(query: &mut Query) {
    query.filter = None;
}

pub(super) fn push_not_down(query: &mut Query) {
    if let Some(Filter::Not(inner)) = &query.filter
        && let Filter::Compare { property, comparison: Comparison::Equal, value } = &**inner
    {
        query.filter = Some(Filter::compare(property, Comparison::NotEqual, value.clone()));
    }
}

pub(super) fn mix_integers(query: &mut Query) {
    if let Some(Filter::Compare { property, comparison, value: Value::Int32(number) }) = &query.filter {
        let wide = Filter::compare(property, *comparison, i64::from(*number));
        query.filter = query.filter.clone().map(|narrow| narrow.or(wide));
    }
}

/// Whether a query is of one row by its key.
pub(super) fn is_exact(query: &Query) -> bool {
    let KeyRange::Partition { rows, .. } = &query.range else { return false };
    matches!((&rows.lower, &rows.upper), (Bound::Included(lower), Bound::Included(upper)) if lower == upper)
}

pub(super) fn no_filter_of_exact(query: &mut Query) {
    if is_exact(query) {
        query.filter = None;
    }
}

/// Puts something else in the place of comparisons.
fn each(query: &mut Query, change: impl Fn(&str, Comparison, &Value) -> Option<Filter>) {
    let mut left: Vec<_> = query.filter.iter_mut().collect();
    while let Some(filter) = left.pop() {
        match filter {
            Filter::Compare { property, comparison, value } => {
                if let Some(other) = change(property, *comparison, value) {
                    *filter = other;
                }
            }
            Filter::And(a, b) | Filter::Or(a, b) => left.extend([&mut **a, &mut **b]),
            Filter::Not(inner) => left.push(inner),
        }
    }
}

pub(super) fn ne_is_less_or_greater(query: &mut Query) {
    each(query, |property, comparison, value| {
        let is = |comparison| Filter::compare(property, comparison, value.clone());
        let applies = comparison == Comparison::NotEqual && matches!(value, Value::Double(_));
        applies.then(|| is(Comparison::Less).or(is(Comparison::Greater)))
    });
}

pub(super) fn any_timestamp(query: &mut Query) {
    each(query, |property, _, _| {
        (property == "Timestamp").then(|| Filter::compare("RowKey", Comparison::GreaterOrEqual, ""))
    });
}

fn constants(query: &mut Query, change: impl Fn(&Value) -> Option<Value>) {
    each(query, |property, comparison, value| Some(Filter::compare(property, comparison, change(value)?)));
}

pub(super) fn int64_as_double(query: &mut Query) {
    constants(query, |value| match value {
        Value::Int64(number) => Some(Value::Int64(*number as f64 as i64)),
        _ => None,
    });
}

pub(super) fn double_as_single(query: &mut Query) {
    constants(query, |value| match value {
        Value::Double(number) => Some(Value::Double((*number as f32).into())),
        _ => None,
    });
}

pub(super) fn times_in_milliseconds(query: &mut Query) {
    constants(query, |value| match value {
        Value::DateTime(at) => Some(DateTime::from_ticks(at.ticks() / 10_000 * 10_000).into()),
        _ => None,
    });
}

pub(super) fn names_without_case(query: &mut Query) {
    each(query, |property, comparison, value| {
        let is_lower = property.starts_with(char::is_lowercase);
        is_lower.then(|| Filter::compare(property.to_uppercase(), comparison, value.clone()))
    });
}

pub(super) fn missing_is_empty(query: &mut Query) {
    each(query, |property, comparison, value| {
        let applies = comparison == Comparison::Equal && *value == Value::from("");
        let has_text = || Filter::compare(property, Comparison::GreaterOrEqual, "");
        applies.then(|| Filter::compare(property, comparison, "").or(has_text().negate()))
    });
}
