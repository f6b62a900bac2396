//! Conditions on the properties of a row, evaluated by the store.
//!
//! Only what every store can evaluate: comparisons with a constant, and their Boolean combinations.

use crate::{Row, Value, ValueRef, key};

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `eq`
    Equal,
    /// `ne`
    NotEqual,
    /// `gt`
    Greater,
    /// `ge`
    GreaterOrEqual,
    /// `lt`
    Less,
    /// `le`
    LessOrEqual,
}

/// A condition on one row.
///
/// A comparison with a property that the row lacks, or that has another type, is false (also `ne`).
/// Text compares by UTF-16 code units, doubles as IEEE 754 says. Of Guids and Booleans only `eq` and `ne` mean the same in every
/// store; what the other operators find is left to it. `PartitionKey`, `RowKey` and `Timestamp` can be named as properties.
/// Source: Azure Table service, "Querying tables and entities"; observed behaviour of the service.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// A property compared with a constant.
    Compare {
        /// The property's stored name.
        property: String,
        /// How.
        comparison: Comparison,
        /// With what.
        value: Value,
    },
    /// Both hold.
    And(Box<Filter>, Box<Filter>),
    /// One of them holds.
    Or(Box<Filter>, Box<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
}

impl Filter {
    /// `property comparison value`.
    pub fn compare(property: impl Into<String>, comparison: Comparison, value: impl Into<Value>) -> Self {
        Self::Compare { property: property.into(), comparison, value: value.into() }
    }

    /// This and `other`.
    pub fn and(self, other: Self) -> Self {
        Self::And(Box::new(self), Box::new(other))
    }

    /// This or `other`.
    pub fn or(self, other: Self) -> Self {
        Self::Or(Box::new(self), Box::new(other))
    }

    /// How many comparisons it makes; a query has room for [a few](crate::limits::MAX_QUERY_COMPARISONS).
    pub fn comparisons(&self) -> usize {
        let (mut count, mut left) = (0, vec![self]);
        while let Some(filter) = left.pop() {
            match filter {
                Self::Compare { .. } => count += 1,
                Self::And(a, b) | Self::Or(a, b) => left.extend([&**a, &**b]),
                Self::Not(inner) => left.push(inner),
            }
        }
        count
    }

    /// Not this: of a negation what it negates.
    pub fn negate(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            filter => Self::Not(Box::new(filter)),
        }
    }

    /// Whether `row` satisfies it.
    pub fn matches(&self, row: &Row) -> bool {
        self.holds(&|property| operand(row, property))
    }

    /// Whether it holds of the row whose properties `operand` gives by name.
    pub(crate) fn holds<'a>(&self, operand: &impl Fn(&str) -> Option<ValueRef<'a>>) -> bool {
        match self {
            Self::Compare { property, comparison, value } => {
                operand(property).is_some_and(|left| comparison.holds(left, value.as_ref()))
            }
            Self::And(a, b) => a.holds(operand) && b.holds(operand),
            Self::Or(a, b) => a.holds(operand) || b.holds(operand),
            Self::Not(inner) => !inner.holds(operand),
        }
    }
}

fn operand<'a>(row: &'a Row, property: &str) -> Option<ValueRef<'a>> {
    match property {
        "PartitionKey" => Some(ValueRef::String(&row.key.partition)),
        "RowKey" => Some(ValueRef::String(&row.key.row)),
        "Timestamp" => Some(ValueRef::DateTime(row.timestamp)),
        name => row.properties.get(name),
    }
}

impl Comparison {
    /// Whether `left` stands in this relation to `right`; false for two types, and for `NaN` (but `ne`). `false` is less than
    /// `true`, and Guids compare as RFC 4122 orders them.
    pub fn holds(self, left: ValueRef<'_>, right: ValueRef<'_>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        if left.edm() != right.edm() {
            return false;
        }
        let order = order(left, right);
        match self {
            Self::Equal => order == Some(Equal),
            Self::NotEqual => order != Some(Equal),
            Self::Greater => order == Some(Greater),
            Self::GreaterOrEqual => matches!(order, Some(Greater | Equal)),
            Self::Less => order == Some(Less),
            Self::LessOrEqual => matches!(order, Some(Less | Equal)),
        }
    }

    /// The OData word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Equal => "eq",
            Self::NotEqual => "ne",
            Self::Greater => "gt",
            Self::GreaterOrEqual => "ge",
            Self::Less => "lt",
            Self::LessOrEqual => "le",
        }
    }
}

fn order(left: ValueRef<'_>, right: ValueRef<'_>) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (ValueRef::Binary(a), ValueRef::Binary(b)) => Some(a.cmp(b)),
        (ValueRef::Boolean(a), ValueRef::Boolean(b)) => Some(a.cmp(&b)),
        (ValueRef::DateTime(a), ValueRef::DateTime(b)) => Some(a.cmp(&b)),
        (ValueRef::Double(a), ValueRef::Double(b)) => a.partial_cmp(&b),
        (ValueRef::Guid(a), ValueRef::Guid(b)) => Some(a.cmp(&b)),
        (ValueRef::Int32(a), ValueRef::Int32(b)) => Some(a.cmp(&b)),
        (ValueRef::Int64(a), ValueRef::Int64(b)) => Some(a.cmp(&b)),
        (ValueRef::String(a), ValueRef::String(b)) => Some(key::compare(a, b)),
        _ => None,
    }
}
