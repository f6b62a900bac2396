//! Contributions: the row that each source of an aggregate has where its target stands. A least or greatest always has
//! them, in the order of values, so that the first row of a range is the answer.

use tablemodel_store::{Properties, PropertyName, ValueRef};

use super::{CELL, Into, Term, VALUE, check_length, term};
use crate::{
    error::Result,
    key::{Codec, KeyType, Part, Segment, Template},
    plan::{
        entries::Entry,
        image::{Image, key_error},
        system::{self, RowKind},
    },
};

/// Whose the contribution is, at the end of its key.
const OWNER: Template = Template(&[Segment::Literal("!"), Segment::Part(owner("row key", system::OWNER_ROW))]);

const fn owner(field: &'static str, property: &'static str) -> Part {
    Part { field, property, key_type: KeyType::Text, optional: false, codec: Codec::Plain }
}

/// What follows the prefix in the keys of all contributions that are in the order of values: a digit. No property has a
/// name that begins so.
pub(crate) const FIRST_BEGINS: char = '0';
/// What is above each digit.
pub(crate) const FIRST_ENDS: char = ':';

impl Into {
    /// What the keys of contributions begin with that stand in the order of values.
    pub(crate) fn prefix(&self) -> String {
        format!("{}|", self.cell())
    }

    fn contribution(&self, term: Term, image: &Image) -> Result<String> {
        let mut row = self.cell();
        if let Term::Rank(rank) = term {
            row.push('|');
            row.push_str(&rank.digits());
        }
        let value = |part: &Part| match part.property {
            system::OWNER_PARTITION => Some(ValueRef::String(&image.key.partition)),
            _ => Some(ValueRef::String(&image.key.row)),
        };
        let owner = OWNER.encode(value).map_err(|error| key_error(image.schema, error, Some(self.property.field)))?;
        row.push_str(&owner.unwrap_or_default());
        check_length(image, self, &row)?;
        Ok(row)
    }
}

/// Adds the contribution that the aggregate with this number wants for the image.
pub(crate) fn contributions(image: &Image, number: usize, to: &mut Vec<Entry>) -> Result<()> {
    let Some(aggregate) = image.schema.aggregate(number).filter(|aggregate| aggregate.is_extreme()) else {
        return Ok(());
    };
    let Some((into, term)) = term(image, aggregate)? else { return Ok(()) };
    let row = into.contribution(term, image)?;
    let mut properties = Properties::with_capacity(4);
    properties.set(PropertyName::from_static(system::OWNER_ROW), ValueRef::String(&image.key.row));
    if let Some(value) = term.value(into.property) {
        properties.insert(PropertyName::from_static(VALUE), value);
    }
    to.push(Entry { index: number, away: None, row, properties });
    Ok(())
}

/// Whether the row key is what [`Into::prefix`] gives: a range to be read, and no row.
pub(crate) fn is_first(row: &str) -> bool {
    row.starts_with(CELL) && row.ends_with('|')
}

/// Whether the row is a contribution, by its type.
pub(crate) fn is_contribution(properties: &Properties) -> bool {
    matches!(system::kind(properties), RowKind::Derived { name, .. } if name.starts_with('~') && name.contains('.'))
}
