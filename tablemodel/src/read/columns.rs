//! What a row that a store shows is read by: all properties of its type in one pass.
//!
//! What the row is, and what becomes of it, is decided by who reads it.

use std::{
    cell::Cell,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use tablemodel_store::{KeptRow, Names, Row, RowKey, Shown, StoreError, ValueRef};

use crate::{error::Result, path::found::InKeys, plan::system, property::json, schema::EntitySchema};

/// The properties that rows of one type are read by.
#[derive(Debug)]
pub(crate) struct Columns {
    names: Names,
    /// One for each of them.
    columns: Box<[Column]>,
    /// Those that the keys of an entity hold.
    keyed: Box<[Keyed]>,
    /// Where the discriminator is among them.
    entity_type: usize,
    /// Where those are that have a default, which no key holds.
    defaulted: Box<[usize]>,
    /// Where JSON is.
    json: Box<[usize]>,
}

#[derive(Debug)]
struct Column {
    name: &'static str,
    /// By which constant it was last asked for: one text of a program may have several places.
    asked: AtomicPtr<u8>,
    /// The column that is asked for after it, where fields are in order: the discriminator is no field.
    then: usize,
}

/// A column that the keys of an entity hold, before any row.
#[derive(Debug)]
struct Keyed {
    column: usize,
    /// By the constant that the component has.
    name: &'static str,
    /// In which of the components of both keys, not counting lossy ones.
    place: usize,
}

/// Values that are kept in place: more than most entities have.
const FEW: usize = 24;

impl Columns {
    fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        let names = Names::new(names.into_iter().chain([system::ENTITY_TYPE]));
        let entity_type = names.position(system::ENTITY_TYPE).unwrap_or_default();
        let column = |(at, name): (usize, &&'static str)| {
            let then = field_from(at + 1, entity_type);
            Column { name, asked: AtomicPtr::default(), then }
        };
        let columns = names.as_slice().iter().enumerate().map(column).collect();
        let (keyed, defaulted, json) = (Box::default(), Box::default(), Box::default());
        Self { names, columns, keyed, entity_type, defaulted, json }
    }

    /// Those of an entity.
    pub(crate) fn of(schema: &'static EntitySchema) -> Self {
        let columns = Self::new(schema.properties().map(|property| property.property));
        let keyed = columns.columns.iter().enumerate();
        let keyed = keyed.filter_map(|(column, Column { name, .. })| {
            let (place, part) = schema.place_in_keys(name)?;
            Some(Keyed { column, name: part.property, place })
        });
        let keyed = keyed.collect();
        let defaulted = schema.properties().filter(|property| property.has_value_where_absent());
        let defaulted = defaulted.map(|property| property.property).filter(|name| !schema.in_key(name));
        let defaulted = defaulted.filter_map(|name| columns.names.position(name)).collect();
        let json = schema.properties().filter(|property| property.is_json());
        let json = json.filter_map(|property| columns.names.position(property.property)).collect();
        Self { keyed, defaulted, json, ..columns }
    }

    /// Those that tell which sources an entity names, what it copies of them, and what is written with that.
    pub(crate) fn of_copies(schema: &'static EntitySchema) -> Self {
        let named = schema.copies.iter().flat_map(|copy| copy.key).map(|pair| pair.holder);
        let held = schema.copies.iter().flat_map(|copy| copy.all_stored());
        let named = named.filter(|name| !schema.in_key(name));
        Self::new(named.chain(held).chain([system::SEQUENCE, system::OPERATIONS]))
    }

    /// Those that tell whose row an index row or back-reference is, and whether it still is one.
    pub(crate) fn of_owner() -> Self {
        Self::new([system::OWNER_PARTITION, system::OWNER_ROW, system::DEAD])
    }

    #[inline]
    fn is_at(&self, place: usize, name: &'static str) -> bool {
        self.columns.get(place).is_some_and(|column| column.is(name))
    }

    /// Reads a row. Errors: `Corrupt` where it is not whole, and those of `see`.
    #[inline]
    pub(crate) fn read<T>(&self, row: &Shown<'_>, see: impl FnOnce(&InRow<'_>) -> Result<T>) -> Result<T> {
        self.read_with(row, |_| (), see)
    }

    /// Reads a row of an entity with these keys: what they hold goes before what the row says.
    #[inline]
    pub(crate) fn read_entity<T>(
        &self,
        row: &Shown<'_>,
        keys: InKeys<'_>,
        see: impl FnOnce(&InRow<'_>) -> Result<T>,
    ) -> Result<T> {
        let hold = |values: &mut [Option<_>]| {
            for Keyed { column, name, place } in &self.keyed {
                if let Some(value) = values.get_mut(*column) {
                    *value = keys.at(*place, name).or(*value);
                }
            }
        };
        self.read_with(row, hold, see)
    }

    #[inline]
    fn read_with<'r, T>(
        &self,
        row: &Shown<'r>,
        change: impl FnOnce(&mut [Option<ValueRef<'r>>]),
        see: impl FnOnce(&InRow<'_>) -> Result<T>,
    ) -> Result<T> {
        let (mut few, mut many) = ([None; FEW], Vec::new());
        let count = self.names.as_slice().len();
        let values = match few.get_mut(..count) {
            Some(few) => few,
            None => {
                many.resize(count, None);
                &mut many
            }
        };
        row.read(&self.names, values)?;
        change(values);
        see(&InRow { row, columns: self, values, next: Cell::new(field_from(0, self.entity_type)) })
    }
}

/// This place, or the next one if the discriminator has it.
#[inline]
fn field_from(place: usize, entity_type: usize) -> usize {
    place + usize::from(place == entity_type)
}

impl Column {
    /// Whether it has this name.
    #[inline]
    fn is(&self, name: &'static str) -> bool {
        self.is_just(name) || (self.name.len() == name.len() && self.is_from_now_on(name))
    }

    /// Whether it was last asked for by this very constant. One of the same length at the same place is the same.
    #[inline]
    fn is_just(&self, name: &'static str) -> bool {
        self.asked.load(Relaxed) == name.as_ptr().cast_mut() && self.name.len() == name.len()
    }

    #[cold]
    fn is_from_now_on(&self, name: &'static str) -> bool {
        let is_same = self.name == name;
        if is_same {
            self.asked.store(name.as_ptr().cast_mut(), Relaxed);
        }
        is_same
    }
}

/// A row that is shown, and was read: it is whole.
#[derive(Debug)]
pub struct InRow<'r> {
    row: &'r Shown<'r>,
    columns: &'r Columns,
    /// In the order of the columns.
    values: &'r [Option<ValueRef<'r>>],
    /// The column that is asked for next, probably.
    next: Cell<usize>,
}

impl<'r> InRow<'r> {
    /// Whether its `EntityType` is this one.
    #[inline]
    pub(crate) fn is_of(&self, discriminator: &str) -> bool {
        matches!(self.values.get(self.columns.entity_type), Some(Some(ValueRef::String(found))) if *found == discriminator)
    }

    /// Whether a property is read as something else than stands there: a default, or absence where JSON says `null`.
    #[inline]
    pub(crate) fn is_read_otherwise(&self) -> bool {
        let is_null = |at: &usize| matches!(self.values.get(*at), Some(Some(ValueRef::String(json::ABSENT))));
        self.columns.defaulted.iter().any(|at| matches!(self.values.get(*at), Some(None)))
            || self.columns.json.iter().any(is_null)
    }

    /// The value under a name: soonest if names are asked for in their order.
    #[inline]
    pub(crate) fn get(&self, name: &'static str) -> Option<ValueRef<'r>> {
        match self.place(name) {
            Some(at) => self.values.get(at).copied().flatten(),
            None => self.find(name),
        }
    }

    /// The same, soonest of all where the fields of an entity are asked for in their order.
    #[inline]
    pub(crate) fn field(&self, name: &'static str) -> Option<ValueRef<'r>> {
        let next = self.next.get();
        match (self.columns.columns.get(next), self.values.get(next)) {
            // The usual case.
            (Some(column), Some(value)) if column.is_just(name) => {
                self.next.set(column.then);
                *value
            }
            _ => self.field_elsewhere(name),
        }
    }

    #[inline(never)]
    fn field_elsewhere(&self, name: &'static str) -> Option<ValueRef<'r>> {
        self.get(name)
    }

    /// Where a name is among the columns; the next one is looked for behind it.
    #[inline]
    fn place(&self, name: &'static str) -> Option<usize> {
        let next = self.next.get();
        // Mostly none, or one that is the framework's, is between them.
        let at = match self.columns.is_at(next, name) {
            true => next,
            false if self.columns.is_at(next + 1, name) => next + 1,
            // In another order: most names are told apart by their lengths.
            false => self.columns.columns.iter().position(|column| column.is(name))?,
        };
        self.next.set(field_from(at + 1, self.columns.entity_type));
        Some(at)
    }

    /// What the row has under any name, whatever its keys hold.
    #[inline(never)]
    pub(crate) fn find(&self, name: &str) -> Option<ValueRef<'r>> {
        let is_own = |at: &usize| self.columns.keyed.iter().all(|keyed| keyed.column != *at);
        match self.columns.names.position(name).filter(is_own) {
            Some(at) => {
                self.next.set(at + 1);
                self.values.get(at).copied().flatten()
            }
            None => self.row.find(name),
        }
    }

    /// The key of the entity that a derived row in this partition names.
    pub(crate) fn owner(&self, partition: &str) -> Option<RowKey> {
        let partition = match self.get(system::OWNER_PARTITION) {
            Some(ValueRef::String(partition)) => partition,
            _ => partition,
        };
        match self.get(system::OWNER_ROW) {
            Some(ValueRef::String(row)) => Some(RowKey::new(partition, row)),
            _ => None,
        }
    }

    /// The row, taken apart. Errors: `Corrupt`, where its key is none.
    pub(crate) fn row(&self) -> Result<Row> {
        Ok(self.row.row()?)
    }

    /// The row in one piece. Errors: as for [`InRow::row`].
    #[inline]
    pub(crate) fn keep(&self) -> std::result::Result<KeptRow, StoreError> {
        self.row.keep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Codec, KeyValue, KeyValues, Part};
    use proptest::prelude::*;
    use tablemodel_store::{DateTime, ETag, Properties};

    const NAMES: [&str; 6] = ["A", "B", "Ba", "C", "EntityType", "_seq"];

    fn columns(listed: &[usize]) -> Columns {
        Columns::new(listed.iter().map(|at| NAMES[*at]))
    }

    proptest! {
        #[test]
        fn values_are_found_whatever_columns_there_are_and_order_they_are_asked_for_in(
            stored in prop::collection::btree_map(0..NAMES.len(), any::<i32>(), 0..6),
            listed in prop::collection::vec(0..NAMES.len(), 0..6),
            asked in prop::collection::vec((0..NAMES.len(), any::<bool>()), 0..12),
        ) {
            let properties: Properties = stored.iter().map(|(name, value)| (NAMES[*name], *value)).collect();
            let (key, etag, timestamp) = (RowKey::new("p", "r"), ETag::from_stamp(1), DateTime::MIN);
            let row = Row { key, etag, timestamp, properties };
            columns(&listed).read(&Shown::new(&row), |read| {
                for (name, at_another_place) in asked {
                    let name = if at_another_place { NAMES[name].to_owned().leak() } else { NAMES[name] };
                    assert_eq!(read.get(name), row.properties.get(name));
                    assert_eq!(read.find(name), row.properties.get(name));
                }
                Ok(())
            }).unwrap();
        }
    }

    #[test]
    fn what_the_keys_hold_goes_before_what_a_row_says() {
        static PART: Part = Part::of::<String>("b", "B", Codec::Plain);
        let properties = Properties::from_iter([("A", 1), ("B", 2), ("C", 3)]);
        let (key, etag, timestamp) = (RowKey::new("p", "r"), ETag::from_stamp(1), DateTime::MIN);
        let row = Row { key, etag, timestamp, properties };
        let (none, mut keys) = (KeyValues::new(), KeyValues::new());
        keys.push(&PART, KeyValue::Seen(ValueRef::String("b")));
        let keyed = [Keyed { column: 1, name: "B", place: 0 }].into();
        let columns = Columns { keyed, ..Columns::new(["A", "B", "C"]) };
        for (keys, b) in [(&keys, ValueRef::String("b")), (&none, ValueRef::Int32(2))] {
            let expected = [Some(ValueRef::Int32(1)), Some(b), Some(ValueRef::Int32(3)), None];
            columns
                .read_entity(&Shown::new(&row), InKeys::read(keys), |read| {
                    assert_eq!(["A", "B", "C", "Ba"].map(|name| read.field(name)), expected);
                    assert_eq!(
                        ["C", "Ba", "A", "B"].map(|name| read.get(name)),
                        [expected[2], None, expected[0], expected[1]]
                    );
                    assert_eq!(read.find("B"), Some(ValueRef::Int32(2))); // the row's own
                    Ok(())
                })
                .unwrap();
        }
    }

    #[test]
    fn more_columns_than_are_kept_in_place_are_read_as_well() {
        let names: Vec<&'static str> = (0..3 * FEW).map(|n| &*format!("P{n:03}").leak()).collect();
        let properties: Properties = names.iter().zip(0..).map(|(name, value)| (*name, value)).collect();
        let (key, etag, timestamp) = (RowKey::new("p", "r"), ETag::from_stamp(1), DateTime::MIN);
        let row = Row { key, etag, timestamp, properties };
        let read = Columns::new(names.iter().copied()).read(&Shown::new(&row), |read| {
            assert!(names.iter().all(|name| read.get(name) == row.properties.get(name)));
            read.row()
        });
        assert_eq!(read.unwrap(), row);
    }
}
