//! Whether an entity can go on with what an older version of it added to an aggregate.
//!
//! Asked in constants, of formats alone: no row is looked at.

use tablemodel_store::EdmType;

use crate::schema::{AggregateSchema, EntitySchema, FieldSchema, Function, PropertySchema, same};

/// What the cell of an aggregate says. One cell serves all that is kept under one name: whoever reads it must find what it looks for.
enum Outcome {
    Whole,
    Float,
    /// The least or greatest value.
    First,
}

impl AggregateSchema {
    /// What the older version keeps otherwise, if its rows would be taken for others than they are: in words.
    pub(crate) const fn otherwise_in(&self, own: &EntitySchema, older: &EntitySchema) -> Option<&'static str> {
        let mut all = older.aggregates;
        while let [other, tail @ ..] = all {
            if self.is_kept_as(other) {
                return self.otherwise_than(other, own, older);
            }
            all = tail;
        }
        None
    }

    const fn otherwise_than(&self, other: &Self, own: &EntitySchema, older: &EntitySchema) -> Option<&'static str> {
        if self.is_sharded() != other.is_sharded() {
            return Some("in another number of cells");
        }
        if self.outcome(own) as u8 != other.outcome(older) as u8 {
            return Some("with values of another type");
        }
        if !self.is_extreme() {
            return None;
        }
        if !self.function.is_as(other.function) {
            return Some("from the other end of the order");
        }
        let (Some(now), Some(before)) = (value_of(own, self.function), value_of(older, other.function)) else {
            return None;
        };
        let is_alike = are_values_alike(true, (now.edm, now.codec), (before.edm, before.codec));
        if is_alike { None } else { Some("with values of another type") }
    }

    /// What its cell says.
    const fn outcome(&self, schema: &EntitySchema) -> Outcome {
        match value_of(schema, self.function) {
            _ if self.is_extreme() => Outcome::First,
            Some(value) if is_float(value.edm) => Outcome::Float,
            _ => Outcome::Whole,
        }
    }
}

/// Whether values of two types, each with its codec, can be ranked beside each other, or added.
pub(crate) const fn are_values_alike(is_ranked: bool, now: (EdmType, &str), before: (EdmType, &str)) -> bool {
    match is_ranked {
        true => now.0 as u8 == before.0 as u8 && is_unsigned(now.1) == is_unsigned(before.1),
        false => is_float(now.0) == is_float(before.0),
    }
}

/// The property whose values are added, or ranked.
const fn value_of(schema: &EntitySchema, function: Function) -> Option<&'static PropertySchema> {
    let (Function::Sum(name) | Function::Min(name) | Function::Max(name)) = function else { return None };
    let mut fields: &'static [FieldSchema] = schema.fields;
    while let [field, tail @ ..] = fields {
        let mut properties = field.properties();
        while let [property, others @ ..] = properties {
            if same(property.property, name) {
                return Some(property);
            }
            properties = others;
        }
        fields = tail;
    }
    None
}

/// Numbers that are texts, and are ranked as numbers.
const fn is_unsigned(codec: &str) -> bool {
    same(codec, "u64")
}

const fn is_float(edm: EdmType) -> bool {
    matches!(edm, EdmType::Double)
}
