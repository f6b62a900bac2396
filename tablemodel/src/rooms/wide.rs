#![doc = include_str!("../../docs/rooms/wide.md")]
//!
//! In this module nothing is read or written: it only says what is to be.

use tablemodel_store::{Properties, PropertyName, Value, size};

use crate::schema::{EntitySchema, FieldSchema, PartSchema, Shape};

/// Own properties of one row: what a store takes, less the framework's own and some for those of later versions.
pub(crate) const ROW_PROPERTIES: usize = 240;

/// A property on its way into a row.
type Pair = (PropertyName, Value);

/// A value in chunks, which stand in one row where they fit.
type Chunks = Vec<Pair>;

/// The rows of an entity: the head's properties first, then those of each part.
pub(crate) type Rows = Vec<Properties>;

/// Bytes of properties that fit in a head, and in a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) head: usize,
    pub(crate) part: usize,
}

/// Deals the properties out to rows. `plain` are those that are stored as they are, in no order; `chunked` the others.
///
/// Each property has a row of its own by its place in the schema, whether it is there or not, so that a change of one
/// changes no other row. What does not fit in that row for its bytes, and the chunks that do not fit in the head, follow in
/// further rows.
pub(crate) fn deal(
    schema: &'static EntitySchema,
    shape: &Shape,
    plain: &Properties,
    chunked: Vec<Chunks>,
    room: Room,
) -> Rows {
    let mut table = Table { rows: vec![Deal::default()], room };
    let mut spilt = Vec::new();
    let homes = Homes::of(schema, shape);
    for (name, value) in plain {
        let pair = (name.clone(), value.to_value());
        spilt.extend(table.put(homes.of_property(name.as_str()), pair));
    }
    while table.rows.len() > 1 && table.rows.last().is_some_and(|row| row.pairs.is_empty()) {
        table.rows.pop(); // a property that is not there needs no row at the end
    }
    table.append(spilt.into_iter());
    for chunks in chunked {
        table.take(chunks);
    }
    table.rows.into_iter().map(|row| row.pairs.into_iter().collect()).collect()
}

/// The same of the version that needs most: this one, or an older one.
pub(crate) fn most_rows(schema: &'static EntitySchema) -> usize {
    let rows = |schema: &'static EntitySchema| schema.shape.map_or(1, |shape| usual_rows(schema, &shape));
    schema.ancestors().map(rows).fold(rows(schema), usize::max)
}

/// The rows that an entity has at least.
fn usual_rows(schema: &'static EntitySchema, shape: &Shape) -> usize {
    Homes::of(schema, shape).rows
}

/// Rows half dealt.
struct Table {
    rows: Vec<Deal>,
    room: Room,
}

#[derive(Default)]
struct Deal {
    pairs: Vec<Pair>,
    bytes: usize,
}

impl Table {
    fn fits(&self, row: usize, count: usize, bytes: usize) -> bool {
        let room = if row == 0 { self.room.head } else { self.room.part };
        self.rows.get(row).is_some_and(|row| row.pairs.len() + count <= ROW_PROPERTIES && row.bytes + bytes <= room)
    }

    /// Puts the pair into that row; gives it back where it does not fit.
    fn put(&mut self, row: usize, pair: Pair) -> Option<Pair> {
        while self.rows.len() <= row {
            self.rows.push(Deal::default());
        }
        let bytes = bytes_of(&pair);
        if !self.fits(row, 1, bytes) {
            return Some(pair);
        }
        if let Some(row) = self.rows.get_mut(row) {
            row.pairs.push(pair);
            row.bytes += bytes;
        }
        None
    }

    /// Puts the pairs one after the other into new rows.
    fn append(&mut self, pairs: impl Iterator<Item = Pair>) {
        let first = self.rows.len();
        for pair in pairs {
            let last = (self.rows.len() - 1).max(first);
            if let Some(pair) = self.put(last, pair) {
                self.put(last + 1, pair);
            }
        }
    }

    /// A chunked value stands in the head as a whole, else in rows of its own: its growth moves no other property.
    fn take(&mut self, chunks: Chunks) {
        let bytes = chunks.iter().map(bytes_of).sum();
        if self.fits(0, chunks.len(), bytes) {
            chunks.into_iter().for_each(|pair| drop(self.put(0, pair)));
        } else {
            self.append(chunks.into_iter());
        }
    }
}

fn bytes_of((name, value): &Pair) -> usize {
    size::property_bytes(name.as_str(), value.as_ref())
}

/// Which row each property has: the head, then the rows of the declared parts, then those for what the head cannot take.
struct Homes {
    by_name: Vec<(&'static str, usize)>,
    /// For properties that the schema does not know: after all others.
    unknown: usize,
    rows: usize,
}

impl Homes {
    fn of(schema: &'static EntitySchema, shape: &Shape) -> Self {
        let mut by_name = Vec::with_capacity(schema.property_count());
        let mut rows = 1;
        for part in shape.parts {
            let first = rows;
            for (place, name) in names(schema, shape, Some(part)).enumerate() {
                by_name.push((name, first + place / ROW_PROPERTIES));
                rows = rows.max(first + place / ROW_PROPERTIES + 1);
            }
        }
        let beyond = rows - 1; // behind the rows of the declared parts
        let home = |place: usize| if place < ROW_PROPERTIES { 0 } else { beyond + place / ROW_PROPERTIES };
        let mut places = 0;
        for name in names(schema, shape, None) {
            by_name.push((name, home(places)));
            places += 1;
        }
        by_name.sort_unstable();
        let last = by_name.iter().map(|(_, row)| *row).max().unwrap_or_default();
        Self { by_name, unknown: home(places), rows: last + 1 }
    }

    fn of_property(&self, name: &str) -> usize {
        let at = self.by_name.binary_search_by_key(&name, |(known, _)| known).ok();
        at.and_then(|at| self.by_name.get(at)).map_or(self.unknown, |(_, row)| *row)
    }
}

/// The stored properties of a declared part, or of none, in the order of the struct; those in chunks are not among them.
fn names(
    schema: &'static EntitySchema,
    shape: &Shape,
    part: Option<&PartSchema>,
) -> impl Iterator<Item = &'static str> {
    let Shape { parts, chunked, .. } = *shape;
    let part = part.copied();
    let stands = move |field: &str| match part {
        Some(part) => part.fields.contains(&field),
        None => !parts.iter().any(|part| part.fields.contains(&field)),
    };
    let fields = schema.fields.iter().filter(move |field| stands(field.name()));
    let names = fields.flat_map(FieldSchema::properties).map(|property| property.property);
    names.filter(move |name| !chunked.contains(name) && !schema.in_key(name))
}
