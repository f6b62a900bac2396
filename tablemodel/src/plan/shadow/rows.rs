//! A shadow as the rows that it is stored in: a head, and the parts of a form that may be several rows.
//!
//! The parts are written before the head that names them, by whoever delivers it, perhaps twice and perhaps too late. So they stand under a
//! generation that is made from what is written: the same is always written under the same keys, and nothing else is. Pure.

use tablemodel_store::{Properties, PropertyName, Row, ValueRef, size};
use twox_hash::XxHash3_64;

use super::owner;
use crate::{
    error::{Error, Result},
    plan::{
        entries::Entry,
        group::Group,
        image::Image,
        part::{self, Generation, Marks, PartName, Torn},
        shape::{self, Cut},
        system,
    },
    schema::EntitySchema,
};

/// A shadow as it is stored, system properties included.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShadowRows {
    pub(crate) head: Properties,
    /// By their row keys.
    pub(crate) parts: Vec<(String, Properties)>,
}

/// The rows of a shadow whose entry this is, as of this sequence of the entity of `schema`.
pub(crate) fn rows(schema: &EntitySchema, entry: &Entry, sequence: i64) -> Result<ShadowRows> {
    let (Some(moved), Some(away)) = (&schema.moves_to, &entry.away) else {
        return Err(Error::unsupported("the entity does not move").of(schema.entity_type));
    };
    let form = moved.form();
    let moved = match entry.properties.get(system::MOVED) {
        Some(ValueRef::String(owner)) => owner,
        _ => "",
    };
    let fields = entry.properties.filtered(|name| !system::is_system(name));
    let image = Image::at(form, &away.partition, &entry.row, fields);
    let beside = size::property_bytes(system::MOVED, ValueRef::String(moved));
    let Cut { mut head, parts } = shape::cut_beside(&image, beside)?;
    let marks = Marks::of(Generation::Shared, parts.iter());
    let marks = Marks { generation: generation(moved, sequence, &marks), ..marks };
    marks.write(&mut head);
    head.merge(&entry.properties.filtered(system::is_system));
    system::stamp(&mut head, form.discriminator, sequence, None);
    let kind = system::part_type(form);
    let stamped = |(at, mut properties): (usize, Properties)| {
        part::stamp(&mut properties, &kind, &entry.row, sequence);
        properties.set(PropertyName::from_static(system::MOVED), ValueRef::String(moved));
        (PartName { generation: marks.generation, number: at + 1 }.key(&entry.row), properties)
    };
    Ok(ShadowRows { head, parts: parts.into_iter().enumerate().map(stamped).collect() })
}

/// The generation of the parts that these marks are of, written for `owner` at this sequence.
fn generation(owner: &str, sequence: i64, marks: &Marks) -> Generation {
    let numbers = [sequence.to_le_bytes(), (marks.count as u64).to_le_bytes(), marks.sum.to_le_bytes()];
    Generation::Own(XxHash3_64::oneshot(&[numbers.as_flattened(), owner.as_bytes()].concat()))
}

/// A stored shadow as one row that holds all of it, and what its head says; or what is wrong with its rows.
pub(crate) fn stored(form: &'static EntitySchema, rows: Group) -> std::result::Result<Row, Torn> {
    if system::is_dead(&rows.head.properties) {
        return Ok(rows.head);
    }
    let rows = part::settled(rows)?;
    let own = shape::join(form, &rows);
    let Group { head, .. } = rows;
    let mut properties = match own {
        Ok(own) => own,
        Err(error) => return Err(Torn { key: head.key, detail: error.detail().to_owned().into() }),
    };
    properties.merge(&head.properties.filtered(system::is_system));
    Ok(Row { properties, ..head })
}

/// Whether no head will come to name the part: that of its entity is as new, and does not, be it the one that stands now, or one that
/// was replaced by it.
pub(crate) fn is_left_behind(part: &Row, head: &Row, replaced: Option<&Row>) -> bool {
    let name = PartName::read(&part.key.row).map(|(_, name)| name);
    let is_named = Marks::read(&head.properties).zip(name).is_some_and(|(marks, name)| marks.hold(name));
    let of = owner(part);
    let is_older = |head: &Row| system::sequence(&part.properties) <= system::sequence(&head.properties);
    let is_passed = |head: &Row| owner(head) == of && is_older(head);
    of.is_some() && !is_named && (is_passed(head) || replaced.is_some_and(is_passed))
}
