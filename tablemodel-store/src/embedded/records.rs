//! The records of the system spaces: what the file says about itself, its tables and its names.
//!
//! Each is drawn in `FORMAT.md`. Rows are `codec`'s.

use std::{
    collections::HashSet,
    ops::{Bound, ControlFlow},
};

use super::{
    catalogue::{Catalogue, TableEntry},
    dictionary::{Dictionary, NameId},
    engine::{Group, Snapshot, Space, TableId},
    seal::{damaged, sealed, unsealed},
    shapes::ShapeId,
};
use crate::{DateTime, PropertyName, StoreError, StoreErrorKind, validate};

/// The format that this program writes, and the only one that it reads.
pub(super) const FORMAT_VERSION: u32 = 3;

const FORMAT_KEY: &[u8] = b"format";
const STATE_KEY: &[u8] = b"state";

/// Tables that a store can have had, far from where numbers end.
const MOST_TABLES: u64 = 1 << 62;

/// The counters of a store: neither ever goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counters {
    /// The highest stamp given out; in the file also a higher one.
    pub(super) last_stamp: u64,
    /// The number of the next table.
    pub(super) next_table: u64,
}

/// What a store keeps in memory of its file.
pub(super) struct Loaded {
    pub(super) counters: Counters,
    pub(super) catalogue: Catalogue,
    pub(super) dropped: Vec<TableId>,
    pub(super) names: Dictionary,
}

/// Writes the records of a new, empty store.
pub(super) fn initialise(group: &mut impl Group) -> Result<(), StoreError> {
    for space in Space::SYSTEM {
        group.create(space)?;
    }
    put(group, Space::Meta, FORMAT_KEY, &FORMAT_VERSION.to_le_bytes())?;
    put_counters(group, Counters::default())
}

/// Reads everything but the rows. Errors: `Unsupported` for another format, `Corrupt` for what is no store.
pub(super) fn load(snapshot: &impl Snapshot) -> Result<Loaded, StoreError> {
    if !snapshot.has(Space::Meta)? {
        let detail = "the file is a redb database, but not a store of tablemodel; give another path";
        return Err(StoreError::new(StoreErrorKind::Corrupt, detail));
    }
    check_format(snapshot)?;
    let loaded = Loaded {
        counters: counters(snapshot)?,
        catalogue: catalogue(snapshot)?,
        dropped: dropped(snapshot)?,
        names: names(snapshot)?,
    };
    check(&loaded)?;
    Ok(loaded)
}

/// That what the records say goes together: each may be right by its checksum, which whoever makes a file knows how to write.
fn check(loaded: &Loaded) -> Result<(), StoreError> {
    let Counters { last_stamp, next_table } = loaded.counters;
    if i64::try_from(last_stamp).is_err() || next_table > MOST_TABLES {
        return Err(damaged("its counters are beyond what a store counts to"));
    }
    let known = loaded.catalogue.sorted().into_iter().map(|(_, table)| table.id);
    let mut seen = HashSet::new();
    match known.chain(loaded.dropped.iter().copied()).find(|id| id.0 >= next_table || !seen.insert(id.0)) {
        Some(TableId(id)) => Err(damaged(&format!("table number {id} was not given out, or stands for two tables"))),
        None => Ok(()),
    }
}

fn check_format(snapshot: &impl Snapshot) -> Result<(), StoreError> {
    let version = meta(snapshot, FORMAT_KEY)?;
    let Ok(version) = <[u8; 4]>::try_from(version.as_slice()) else {
        return Err(damaged("the record of its format is malformed"));
    };
    match u32::from_le_bytes(version) {
        FORMAT_VERSION => Ok(()),
        0 => Err(damaged("format 0 does not exist")),
        old @ 1..FORMAT_VERSION => Err(StoreError::new(
            StoreErrorKind::Unsupported,
            format!(
                "the store has format {old}, which was in use before the first release; this program reads format \
                 {FORMAT_VERSION}: export the store by the program that wrote it, and import it here"
            ),
        )),
        newer => Err(StoreError::new(
            StoreErrorKind::Unsupported,
            format!(
                "the store has format {newer}, this program reads format {FORMAT_VERSION}; use a newer version of it"
            ),
        )),
    }
}

fn counters(snapshot: &impl Snapshot) -> Result<Counters, StoreError> {
    let body = meta(snapshot, STATE_KEY)?;
    let parts = || {
        let (last_stamp, rest) = body.split_first_chunk()?;
        let next_table = rest.try_into().ok()?;
        Some(Counters { last_stamp: u64::from_le_bytes(*last_stamp), next_table: u64::from_le_bytes(next_table) })
    };
    parts().ok_or_else(|| damaged("the record of its counters is malformed"))
}

/// Records the counters.
pub(super) fn put_counters(group: &mut impl Group, counters: Counters) -> Result<(), StoreError> {
    let body = [counters.last_stamp.to_le_bytes(), counters.next_table.to_le_bytes()].concat();
    put(group, Space::Meta, STATE_KEY, &body)
}

/// Records a table.
pub(super) fn put_table(group: &mut impl Group, folded: &str, entry: &TableEntry) -> Result<(), StoreError> {
    let mut body = Vec::with_capacity(16 + entry.name.len());
    body.extend_from_slice(&entry.id.0.to_le_bytes());
    body.extend_from_slice(&entry.created.ticks().to_le_bytes());
    body.extend_from_slice(entry.name.as_bytes());
    put(group, Space::Tables, folded.as_bytes(), &body)
}

/// Moves a table from the tables to the dropped ones.
pub(super) fn drop_table(group: &mut impl Group, folded: &str, id: TableId, now: DateTime) -> Result<(), StoreError> {
    group.remove(Space::Tables, folded.as_bytes())?;
    put(group, Space::Dropped, &id.0.to_be_bytes(), &now.ticks().to_le_bytes())
}

/// Forgets a dropped table whose rows are gone.
pub(super) fn forget_dropped(group: &mut impl Group, id: TableId) -> Result<(), StoreError> {
    group.remove(Space::Dropped, &id.0.to_be_bytes())
}

/// How many names and shapes the file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Recorded {
    names: u32,
    shapes: u32,
}

impl Recorded {
    /// All of these.
    pub(super) fn of(names: &Dictionary) -> Self {
        let shapes = names.shapes.len(); // first: a shape is made of names that have their numbers
        Self { names: names.len(), shapes }
    }
}

/// Records the names and shapes that are not yet.
pub(super) fn put_names(group: &mut impl Group, names: &Dictionary, recorded: &mut Recorded) -> Result<(), StoreError> {
    let now = Recorded::of(names);
    for (NameId(id), name) in names.since(recorded.names).take_while(|(id, _)| id.0 < now.names) {
        put(group, Space::Names, &id.to_be_bytes(), name.as_str().as_bytes())?;
    }
    for (ShapeId(id), shape) in names.shapes.since(recorded.shapes).take_while(|(id, _)| id.0 < now.shapes) {
        put(group, Space::Shapes, &id.to_be_bytes(), shape.said())?;
    }
    *recorded = now;
    Ok(())
}

fn put(group: &mut impl Group, space: Space, key: &[u8], body: &[u8]) -> Result<(), StoreError> {
    group.put(space, key, &sealed(space, key, body))
}

fn meta(snapshot: &impl Snapshot, key: &[u8]) -> Result<Vec<u8>, StoreError> {
    let body = snapshot.get(Space::Meta, key, |value| unsealed(Space::Meta, key, value).map(<[u8]>::to_vec))?;
    body.ok_or_else(|| damaged("a record about itself is missing"))?
}

fn catalogue(snapshot: &impl Snapshot) -> Result<Catalogue, StoreError> {
    let mut catalogue = Catalogue::default();
    each(snapshot, Space::Tables, |key, body| {
        let folded = std::str::from_utf8(key).ok()?;
        let (id, rest) = body.split_first_chunk()?;
        let (created, name) = rest.split_first_chunk()?;
        let name = std::str::from_utf8(name).ok().filter(|name| validate::table_name(name).is_ok())?.to_owned();
        (name.to_ascii_lowercase() == folded).then_some(())?;
        let id = TableId(u64::from_le_bytes(*id));
        let created = DateTime::from_ticks(i64::from_le_bytes(*created));
        catalogue.insert(folded, TableEntry { id, name, created });
        Some(())
    })?;
    Ok(catalogue)
}

fn dropped(snapshot: &impl Snapshot) -> Result<Vec<TableId>, StoreError> {
    let mut dropped = Vec::new();
    each(snapshot, Space::Dropped, |key, _| {
        dropped.push(TableId(u64::from_be_bytes(key.try_into().ok()?)));
        Some(())
    })?;
    Ok(dropped)
}

fn names(snapshot: &impl Snapshot) -> Result<Dictionary, StoreError> {
    let mut names = Vec::new();
    each(snapshot, Space::Names, |key, body| {
        let next = usize::try_from(number(key)?).ok()? == names.len();
        let name = std::str::from_utf8(body).ok().filter(|name| validate::property_name(name).is_ok())?;
        names.push(PropertyName::from(name));
        next.then_some(())
    })?;
    let (count, names) = (names.len(), Dictionary::new(names));
    let is_whole = usize::try_from(names.len()).is_ok_and(|known| known == count);
    if !is_whole {
        return Err(damaged("a property name has two numbers, or there are too many"));
    }
    each(snapshot, Space::Shapes, |key, said| {
        // One that is there already, or can be none, has another number than its own, or none.
        (names.shapes.len() == number(key)? && names.shapes.add(said, &names)?.0 == number(key)?).then_some(())
    })?;
    Ok(names)
}

/// The number that is a key.
fn number(key: &[u8]) -> Option<u32> {
    key.try_into().ok().map(u32::from_be_bytes)
}

/// Reads all records of a space; `read` gives `None` for a malformed one.
fn each(
    snapshot: &impl Snapshot,
    space: Space,
    mut read: impl FnMut(&[u8], &[u8]) -> Option<()>,
) -> Result<(), StoreError> {
    let mut count = 0;
    snapshot.scan(space, (Bound::Unbounded, Bound::Unbounded), |key, value| {
        count += 1;
        let body = unsealed(space, key, value)?;
        read(key, body).ok_or_else(|| damaged(&format!("a record of {space:?} is malformed")))?;
        Ok(ControlFlow::Continue(()))
    })?;
    if count != snapshot.len(space)? {
        return Err(damaged(&format!("records of {space:?} are missing")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::{
        engine::{Engine, Sync},
        redb_engine::{RedbEngine, open_backend},
        shapes::Shape,
    };

    fn engine() -> RedbEngine {
        open_backend(Box::new(redb::backends::InMemoryBackend::new()), 1 << 20).unwrap()
    }

    fn loaded(
        write: impl FnOnce(&mut <RedbEngine as Engine>::Group<'_>) -> Result<(), StoreError>,
    ) -> Result<Loaded, StoreError> {
        let engine = engine();
        engine.apply(Sync::Disk, |group| initialise(group).and_then(|()| write(group))).unwrap();
        load(&engine.snapshot().unwrap())
    }

    fn kind(loaded: Result<Loaded, StoreError>) -> (StoreErrorKind, String) {
        let error = loaded.err().unwrap();
        (error.kind(), error.to_string())
    }

    #[test]
    fn another_format_is_unsupported_and_both_versions_are_told() {
        for (format, remedy) in [(7_u32, "use a newer version"), (1, "export the store"), (2, "export the store")] {
            let (kind, text) = kind(loaded(|group| put(group, Space::Meta, FORMAT_KEY, &format.to_le_bytes())));
            assert_eq!(kind, StoreErrorKind::Unsupported);
            let words = [&format!("format {format}"), "format 3", remedy];
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn records_come_back_as_written() {
        let entry = TableEntry { id: TableId(9), name: "Table".to_owned(), created: DateTime::MAX };
        let counters = Counters { last_stamp: 5, next_table: 10 };
        let names = Dictionary::new(["A", "B"].map(PropertyName::from));
        let said = [3, 2, 0x15, 0x28, 3, b'C', b'a', b't'].as_slice();
        assert!(names.shapes.add(said, &names).is_some());
        let mut recorded = Recorded::default();
        let loaded = loaded(|group| {
            put_table(group, "table", &entry)?;
            put_table(group, "gone", &TableEntry { id: TableId(3), ..entry.clone() })?;
            drop_table(group, "gone", TableId(3), DateTime::MIN)?;
            put_names(group, &names, &mut recorded)?;
            put_counters(group, counters)
        })
        .unwrap();
        assert_eq!(loaded.counters, counters);
        assert_eq!(loaded.dropped, [TableId(3)]);
        assert_eq!((loaded.names.len(), Recorded::of(&loaded.names)), (2, recorded));
        assert_eq!(loaded.names.shapes.get(0).map(Shape::said), Some(said));
        let found = loaded.catalogue.find("TABLE").unwrap();
        assert_eq!((found.id, found.name.as_str(), found.created), (TableId(9), "Table", DateTime::MAX));
        assert!(loaded.catalogue.find("gone").is_none());
    }

    #[test]
    fn records_that_make_no_sense_are_told() {
        let table = [&[0; 16][..], b"Table"].concat();
        for (space, key, body) in [
            (Space::Meta, FORMAT_KEY, &b"1"[..]),
            (Space::Meta, FORMAT_KEY, &[0, 0, 0, 0]),
            (Space::Meta, STATE_KEY, b"short"),
            (Space::Tables, b"table", b"short"),
            (Space::Tables, b"\xFF", &[0; 20]),
            (Space::Dropped, b"short", b""),
            (Space::Tables, b"other", &table),
            (Space::Tables, b"no", &[&[0; 16][..], b"no"].concat()),
            (Space::Names, b"shrt", b"NotTheNextNumber"),
            (Space::Names, &[0; 4], b"no name"),
        ] {
            let (kind, text) = kind(loaded(|group| put(group, space, key, body)));
            assert_eq!(kind, StoreErrorKind::Corrupt, "{space:?}: {text}");
        }
        let (kind, text) = kind(loaded(|group| group.put(Space::Meta, STATE_KEY, &[0; 20])));
        assert_eq!(kind, StoreErrorKind::Corrupt, "{text}");
    }

    #[test]
    fn shapes_that_can_be_none_are_told() {
        let good: &[u8] = &[3, 2, 0x15, 0x28, 1, b'x'];
        for (what, shapes, is_right) in [
            ("shapes", vec![(0, good), (1, &[2, 1, 0x15, 0])], true),
            ("another number than the next", vec![(1, good)], false),
            ("one twice", vec![(0, good), (1, good)], false),
            ("nothing", vec![(0, &[])], false),
            ("a name that nobody has", vec![(0, &[2, 1, 0x35, 0])], false),
            ("a name without a number", vec![(0, &[4, 1, 0x05, 1, b'A', 0])], false),
            ("names out of order", vec![(0, &[3, 2, 0x25, 0x15, 0])], false),
            ("a name twice", vec![(0, &[3, 2, 0x15, 0x15, 0])], false),
            ("a type that there is not", vec![(0, &[2, 1, 0x1F, 0])], false),
            ("fewer properties than it says", vec![(0, &[2, 2, 0x15, 0])], false),
            ("more properties than it says", vec![(0, &[3, 1, 0x15, 0x25, 0])], false),
            ("a kind that is no text", vec![(0, &[2, 1, 0x18, 1, 0xFF])], false),
            ("something behind it", vec![(0, &[2, 1, 0x15, 0, 0])], false),
        ] {
            let loaded = loaded(|group| {
                put_names(group, &Dictionary::new(["A", "B"].map(PropertyName::from)), &mut Recorded::default())?;
                let put = |(id, said): &(u32, &[u8])| put(group, Space::Shapes, &id.to_be_bytes(), said);
                shapes.iter().try_for_each(put)
            });
            let expected = if is_right { Ok(()) } else { Err(StoreErrorKind::Corrupt) };
            assert_eq!(loaded.map(drop).map_err(|error| error.kind()), expected, "{what}");
        }
    }

    #[test]
    fn records_that_contradict_each_other_are_told() {
        let table = |id, name: &str| TableEntry { id: TableId(id), name: name.to_owned(), created: DateTime::MAX };
        let counters = |last_stamp, next_table| Counters { last_stamp, next_table };
        let names = ["A", "A"].map(PropertyName::from);
        // Tables; one that is dropped; the counters; the names.
        let cases = [
            (vec![0, 1], 2, counters(5, 3), &names[..1], true),
            (vec![0, 1], 1, counters(5, 3), &names[..1], false),
            (vec![0, 0], 2, counters(5, 3), &names[..1], false),
            (vec![0, 3], 2, counters(5, 3), &names[..1], false),
            (vec![0, 1], 9, counters(5, 3), &names[..1], false),
            (vec![0, 1], 2, counters(u64::MAX, 3), &names[..1], false),
            (vec![u64::MAX - 1], 2, counters(5, u64::MAX), &names[..1], false),
            (vec![0, 1], 2, counters(5, 3), &names, false),
        ];
        for (tables, dropped, counters, names, is_right) in cases {
            let loaded = loaded(|group| {
                let mut named = tables.iter().zip(["one", "two"]);
                named.try_for_each(|(id, name)| put_table(group, name, &table(*id, name)))?;
                drop_table(group, "gone", TableId(dropped), DateTime::MIN)?;
                let mut all = (0_u32..).zip(names);
                all.try_for_each(|(id, name)| put(group, Space::Names, &id.to_be_bytes(), name.as_str().as_bytes()))?;
                put_counters(group, counters)
            });
            let told = loaded.map(drop).map_err(|error| error.kind());
            let expected = if is_right { Ok(()) } else { Err(StoreErrorKind::Corrupt) };
            assert_eq!(told, expected, "{tables:?} {dropped} {counters:?} {names:?}");
        }
    }
}
