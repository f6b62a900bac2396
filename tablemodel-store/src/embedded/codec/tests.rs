//! Rows in bytes: there and back, damaged, malformed, and however they are read.

use super::*;
use crate::{
    Names, StoreErrorKind, Value,
    embedded::{engine::TableId, kept::Shelf, shapes::OFTEN, sight::Sight},
};
use proptest::prelude::*;
use uuid::Uuid;

const SPACE: Space = Space::Rows(TableId(3));

/// The value of a row under the key `key`.
fn stamped(properties: &Properties, names: &Dictionary, stamp: u64) -> Vec<u8> {
    let mut buffer = b"key".to_vec();
    let row = EncodedRow::append(&mut buffer, &(0..3), properties, &mut BodyWriter::new(), &mut names.numbers());
    row.stamp(&mut buffer, SPACE, stamp);
    row.value(&buffer).to_vec()
}

/// The same, where so many such rows were written before.
fn stamped_after(before: u32, properties: &Properties, names: &Dictionary, stamp: u64) -> Vec<u8> {
    (0..before).for_each(|_| drop(stamped(properties, names, stamp)));
    stamped(properties, names, stamp)
}

/// Rows that were written before one: so many that it is said by the number of its shape, or none.
fn before() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(OFTEN)]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Value::Binary),
        any::<bool>().prop_map(Value::Boolean),
        any::<i64>().prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks))),
        any::<u64>().prop_map(|bits| Value::Double(f64::from_bits(bits))),
        any::<u128>().prop_map(|bits| Value::Guid(Uuid::from_u128(bits))),
        any::<i32>().prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        any::<String>().prop_map(Value::String),
    ]
}

fn any_properties() -> impl Strategy<Value = Properties> {
    let pairs = prop::collection::vec(("[A-Za-z_][A-Za-z0-9_]{0,12}", any_value()), 0..20);
    let kind = prop_oneof![
        2 => "[A-Za-z@0-9]{0,12}".prop_map(Value::from),
        1 => "é{30,35}".prop_map(Value::from),
        1 => any_value(),
    ];
    let kind = prop::option::of(kind.prop_map(|kind| ("EntityType".to_owned(), kind)));
    (pairs, kind).prop_map(|(pairs, kind)| pairs.into_iter().chain(kind).collect())
}

/// Texts as constants of the program.
fn constants<'n>(names: impl Iterator<Item = &'n PropertyName>) -> Vec<&'static str> {
    names.map(|name| &*name.as_str().to_owned().leak()).collect()
}

/// A row in sight, as one of a page of its own.
fn sighted<'s>(row: OpenRow<'s>, names: &'s Arc<Dictionary>) -> Sight<'s> {
    Sight::new(b"key\0row", row, names, &*Box::leak(Box::new(Shelf::new())))
}

/// What a row in sight says under these names.
fn told<'s>(sight: &Sight<'s>, names: &Names) -> Result<Vec<Option<ValueRef<'s>>>, StoreError> {
    let mut values = vec![None; names.as_slice().len()];
    sight.read(names, &mut values).map(|()| values)
}

/// What properties hold under these names.
fn held<'p>(properties: &'p Properties, names: &Names) -> Vec<Option<ValueRef<'p>>> {
    names.as_slice().iter().map(|name| properties.get(name)).collect()
}

proptest! {
    /// Whichever names are asked for, in the dictionary or not, of one store or of two: what is told is what is stored.
    #[test]
    fn a_row_in_sight_tells_what_it_holds(properties in any_properties(), before in before(), asked in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        let names = Arc::new(Dictionary::new([PropertyName::from("Absent")]));
        let value = stamped_after(before, &properties, &names, 9);
        let sight = sighted(OpenRow::checked(SPACE, b"key", &value, &names).unwrap(), &names);
        let known: Vec<_> = constants(names.since(0).map(|(_, name)| name)).into_iter().chain(["never seen"]).collect();
        let asked = Names::new(asked.iter().map(|at| known[at.index(known.len())]));
        // Of two stores, the names have the numbers of the first.
        let others = Arc::new(Dictionary::new(names.since(0).map(|(_, name)| name.clone())));
        names.shapes.since(0).for_each(|(_, shape)| assert!(others.shapes.add(shape.said(), &others).is_some()));
        let other = sighted(OpenRow::checked(SPACE, b"key", &value, &others).unwrap(), &others);
        for sight in [&sight, &other, &sight] {
            prop_assert_eq!(told(sight, &asked).unwrap(), held(&properties, &asked));
        }
        prop_assert_eq!(sight.keep().unwrap().row().properties, properties);
    }

    #[test]
    fn a_row_comes_back_as_it_was_written(properties in any_properties(), before in before(), stamp in 0..i64::MAX as u64) {
        let names = Arc::new(Dictionary::new([]));
        let value = stamped_after(before, &properties, &names, stamp);
        let stored = OpenRow::checked(SPACE, b"key", &value, &names).unwrap();
        prop_assert_eq!(stored.etag(), ETag::from_stamp(stamp));
        prop_assert_eq!(&stored.properties(&names, None).unwrap(), &properties);
        for (name, expected) in properties.iter() {
            prop_assert_eq!(stored.get(name.as_str(), names.id(name.as_str())).unwrap(), Some(expected));
        }
        prop_assert_eq!(stored.get("absent!", None).unwrap(), None);
        let sight = sighted(stored, &names);
        let kept = sight.keep().unwrap();
        prop_assert_eq!(&kept.row(), &sight.row().unwrap());
        prop_assert_eq!((kept.etag(), &kept.row().properties), (ETag::from_stamp(stamp), &properties));
        let read = stored.properties(&names, None).unwrap();
        let constant = |name: &str| -> &'static str { name.to_owned().leak() };
        let in_order: Vec<_> = properties.iter().map(|(name, _)| constant(name.as_str())).chain(["absent!"]).collect();
        let mut place = 0;
        for name in in_order.iter().chain(in_order.iter().rev()) {
            prop_assert_eq!(read.get_from(&mut place, name), properties.get(name));
            prop_assert_eq!(sight.find(name), properties.get(name));
        }
    }

    #[test]
    fn properties_read_from_a_row_change_as_any_others(
        properties in any_properties(),
        before in before(),
        set in prop::collection::vec(("[A-C][a-b]?", any_value()), 0..6),
        removed in "[A-C][a-b]?",
        kept in "[A-Z]",
    ) {
        let names = Arc::new(Dictionary::new([]));
        let value = stamped_after(before, &properties, &names, 9);
        let stored = OpenRow::checked(SPACE, b"key", &value, &names).unwrap();
        let read = stored.properties(&names, None).unwrap();
        let changed = |mut properties: Properties| {
            let replaced: Vec<_> = set.iter().map(|(name, value)| properties.insert(name.as_str(), value.clone())).collect();
            let taken = properties.remove(&removed);
            properties.retain(|name| name < kept.as_str());
            (replaced, taken, properties)
        };
        prop_assert_eq!(changed(read.clone()), changed(properties.clone()));
        let mut merged = properties.clone();
        merged.merge(&read);
        prop_assert_eq!(&merged, &read);
        let mut one_by_one = read.clone();
        set.iter().for_each(|(name, value)| one_by_one.set(name.as_str(), value.as_ref()));
        for mut at_once in [read.clone(), properties.clone()] {
            at_once.extend(set.iter().map(|(name, value)| (name.as_str(), value.as_ref())));
            prop_assert_eq!(&at_once, &one_by_one);
        }
        prop_assert_eq!(read.clone().into_iter().collect::<Properties>(), properties.clone());
        prop_assert_eq!((read.len(), read.is_empty()), (properties.len(), properties.is_empty()));
    }

    #[test]
    fn a_row_in_sight_changes_as_any_properties(
        properties in any_properties(),
        before in before(),
        changed in prop::collection::btree_map("[A-Ca-c_][a-b]?", prop::option::of(any_value()), 0..6),
        own in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(any_value())), 0..4),
    ) {
        let names = Arc::new(Dictionary::new([]));
        let value = stamped_after(before, &properties, &names, 9);
        let mut all = changed;
        let known: Vec<_> = properties.iter().map(|(name, _)| name.as_str().to_owned()).collect();
        all.extend(own.into_iter().filter(|_| !known.is_empty()).map(|(at, value)| (known[at.index(known.len())].clone(), value)));
        let all: Vec<_> = all.iter().map(|(name, to)| (PropertyName::from(name.as_str()), to)).collect();
        let change: Vec<_> = all.iter().map(|(name, to)| (name, to.as_ref().map(Value::as_ref))).collect();
        let mut expected: std::collections::BTreeMap<_, _> = properties.clone().into_iter().collect();
        for (name, to) in &all {
            match to {
                Some(value) => drop(expected.insert(name.clone(), value.clone())),
                None => drop(expected.remove(name)),
            }
        }
        let expected: Properties = expected.into_iter().collect();
        let sight = sighted(OpenRow::checked(SPACE, b"key", &value, &names).unwrap(), &names);
        prop_assert_eq!(&sight.changed(&change).unwrap(), &expected);
        prop_assert_eq!(&properties.changed(&change), &expected);
        let twice: Vec<_> = change.iter().flat_map(|changed| [*changed, *changed]).collect();
        prop_assert_eq!(&sight.changed(&twice).unwrap(), &expected);
        let mut later = sight.changed(&change).unwrap();
        later.insert("Later", 1);
        let mut wanted = expected.clone();
        wanted.insert("Later", 1);
        prop_assert_eq!(later, wanted);
    }

    #[test]
    fn a_flipped_bit_of_a_row_is_noticed(
        properties in any_properties(),
        before in before(),
        at in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let names = Arc::new(Dictionary::new([]));
        let mut value = stamped_after(before, &properties, &names, 9);
        let at = at.index(value.len());
        value[at] ^= 1 << bit;
        prop_assert_eq!(StoredRow::checked(SPACE, b"key", &value).unwrap_err().kind(), StoreErrorKind::Corrupt);
    }

    #[test]
    fn a_row_of_a_later_version_is_known_as_one_and_a_flipped_bit_of_it_is_noticed(
        (properties, later) in (any_properties(), 1..=u8::MAX - ROW_VERSION),
        at in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut value = stamped_after(0, &properties, &Arc::new(Dictionary::new([])), 9);
        let (at, stamp) = (at.index(value.len()), 9 ^ u64::from(later) << 56);
        let seal = Digest::of(b"key", &value[HEAD_BYTES..]).seal(SPACE, stamp);
        value[..=SEAL_BYTES].copy_from_slice(&[&[ROW_VERSION + later], &seal[..]].concat());
        let kind = |value: &[u8]| StoredRow::checked(SPACE, b"key", value).unwrap_err().kind();
        prop_assert_eq!(kind(&value), StoreErrorKind::Unsupported);
        value[at] ^= 1 << bit;
        prop_assert_eq!(kind(&value), StoreErrorKind::Corrupt);
    }

    #[test]
    fn bytes_that_are_no_row_are_refused_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..100)) {
        let names = Arc::new(Dictionary::new([PropertyName::from("Name")]));
        if let Ok(stored) = (StoredRow { stamp: 1, body: &body }).open(&names) {
            let _ = stored.get("Name", Some(NameId(0)));
            if let Ok(properties) = stored.properties(&names, None) {
                prop_assert!(properties.len() <= body.len());
            }
        }
    }

    /// What is read is what the bytes say: changed bytes under a right checksum are refused, or read as what they
    /// became, whole and in order; a reader of all properties and one of a selection agree.
    #[test]
    fn a_row_changed_under_its_checksum_is_refused_or_whole(
        properties in any_properties(),
        before in before(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let names = Arc::new(Dictionary::new([]));
        let value = stamped_after(before, &properties, &names, 9);
        let mut body = value[HEAD_BYTES..].to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        let Ok(stored) = (StoredRow { stamp: 9, body: &body }).open(&names) else { return Ok(()) };
        let known: Vec<_> = names.since(0).map(|(_, name)| name.clone()).collect();
        let selected = stored.properties(&names, Some(&Selection::new(&known, &names)));
        let asked = Names::new(constants(known.iter()));
        let few = Names::new(constants(known.iter().step_by(3)));
        let sight = || sighted(stored, &names);
        for read in [told(&sight(), &asked).map(drop), told(&sight(), &few).map(drop), sight().keep().map(drop), sight().changed(&[]).map(drop)] {
            prop_assert_eq!(read.is_ok(), selected.is_ok());
        }
        match stored.properties(&names, None) {
            Ok(read) => {
                prop_assert_eq!(&selected.unwrap(), &read);
                prop_assert_eq!(&sight().keep().unwrap().row().properties, &read);
                prop_assert_eq!(&sight().changed(&[]).unwrap(), &read);
                prop_assert_eq!(told(&sight(), &asked).unwrap(), held(&read, &asked));
                prop_assert_eq!(told(&sight(), &few).unwrap(), held(&read, &few));
                prop_assert!(read.iter().is_sorted_by(|(a, _), (b, _)| a < b));
                for (name, value) in read.iter() {
                    prop_assert_eq!(read.get(name.as_str()), Some(value));
                    prop_assert_eq!(stored.get(name.as_str(), names.id(name.as_str())).unwrap(), Some(value));
                }
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), StoreErrorKind::Corrupt);
                prop_assert!(selected.is_err());
            }
        }
    }
}

/// Bodies that no program may write, over the names A, B and C; and whether a search for another name meets what is
/// wrong with them.
const MALFORMED: [(&str, &[u8], bool); 23] = [
    ("no shape", &[], true),
    ("a shape that nobody has", &[2, 0, 0], true),
    ("a number that no shape can have", &[0x81, 0x80, 0x80, 0x80, 0x80, 2, 0, 0], true),
    ("no heads", &[0], true),
    ("heads that end beyond the row", &[0, 3, 1, 0x11], true),
    ("no count", &[0, 0, 0, 0], true),
    ("no kind", &[0, 2, 1, 0x11], true),
    ("a kind that ends beyond the row", &[0, 2, 1, 0x18, 3, b'h', b'i'], true),
    ("a kind that is no text", &[0, 2, 1, 0x18, 1, 0xFF, 0], true),
    ("no length of its texts", &[0, 2, 1, 0x11, 0], true),
    ("fewer properties than it says", &[0, 2, 2, 0x11, 0, 0, 1], true),
    ("more properties than it says", &[0, 3, 1, 0x11, 0x21, 0, 0, 1], true),
    ("a type that there is not", &[0, 2, 1, 0x1F, 0, 0], true),
    ("texts that begin before the row", &[0, 2, 1, 0x17, 0, 9, 2, b'h', b'i'], true),
    ("a text that ends beyond the texts", &[0, 2, 1, 0x17, 0, 2, 3, b'h', b'i'], true),
    ("texts that no property has", &[0, 2, 1, 0x17, 0, 2, 1, b'h', b'i'], true),
    ("a time that is cut off", &[0, 2, 1, 0x12, 0, 0, 1, 2, 3], true),
    ("a truth that is neither", &[0, 2, 1, 0x11, 0, 0, 2], true),
    ("a text that is none", &[0, 2, 1, 0x17, 0, 2, 2, b'h', 0xFF], true),
    ("a name that nobody has", &[0, 3, 1, 0xF1, 0x7F, 0, 0, 1], false),
    ("a number that no name can have", &[0, 7, 1, 0x81, 0x80, 0x80, 0x80, 0x80, 2, 0, 0, 1], true),
    ("names out of order", &[0, 3, 2, 0x21, 0x11, 0, 0, 1, 1], false),
    ("a name twice", &[0, 3, 2, 0x11, 0x11, 0, 0, 1, 1], false),
];

/// Such bodies whose heads are in order.
const MALFORMED_VALUES: [(&str, &[u8], bool); 2] = [
    ("a character over two texts", &[0, 3, 2, 0x17, 0x27, 0, 2, 1, 1, 0xC3, 0xA9], true),
    ("more than 32 bits of a number of 32", &[0, 2, 1, 0x15, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], false),
];

#[test]
fn malformed_rows_are_corrupt_however_they_are_read() {
    let names = Arc::new(Dictionary::new(["A", "B", "C"].map(PropertyName::from)));
    let all = Selection::new(&["A", "B", "C"].map(PropertyName::from), &names);
    for (what, body, met_by_search) in MALFORMED.into_iter().chain(MALFORMED_VALUES) {
        let opened = (StoredRow { stamp: 1, body }).open(&names);
        let Ok(stored) = opened else {
            assert!(opened.is_err_and(|error| met_by_search && error.kind() == StoreErrorKind::Corrupt), "{what}");
            continue;
        };
        for read in [stored.properties(&names, None), stored.properties(&names, Some(&all))] {
            assert_eq!(read.map_err(|error| error.kind()), Err(StoreErrorKind::Corrupt), "{what}");
        }
        for asked in [&["A", "B", "C"][..], &["A", "C"], &["A", "Z"], &["B"], &[]] {
            let (sight, asked) = (sighted(stored, &names), Names::new(asked.iter().copied()));
            for read in [told(&sight, &asked).map(drop), sight.check(), sight.keep().map(drop), sight.row().map(drop)] {
                assert_eq!(read.map_err(|error| error.kind()), Err(StoreErrorKind::Corrupt), "{what}: {asked:?}");
            }
        }
        assert_eq!(stored.get("Z", None).is_err(), met_by_search, "{what}");
    }
}

/// Of rows whose names and types were seen before only the values are looked at, and those in full.
#[test]
fn a_row_of_a_known_layout_is_read_as_any_other() {
    let names = Arc::new(Dictionary::new(["A", "B", "C", "D"].map(PropertyName::from)));
    let asked = Names::new(["A", "C", "D"]);
    let sight = |value: &[u8]| {
        let (value, names) = (value.to_vec().leak(), &*Box::leak(Box::new(names.clone())));
        sighted(OpenRow::checked(SPACE, b"key", value, names).unwrap(), names)
    };
    for n in 0..12 {
        // Six layouts, each met twice.
        let pairs = [("A", Value::from("x".repeat(n))), ("B", Value::Boolean(n > 4)), ("C", Value::Int64(n as i64))];
        let odd = if n % 2 == 0 { Value::Double(0.5) } else { Value::from("é") };
        let properties: Properties = pairs.into_iter().skip(n % 3).chain([("D", odd)]).collect();
        let value = stamped(&properties, &names, 9);
        assert_eq!(told(&sight(&value), &asked).unwrap(), held(&properties, &asked), "{n}");
    }
    let cut = [0, 2, 1, 0x17, 0, 2, 1, 0xC3, 0xA9].as_slice();
    for (what, body, _) in MALFORMED_VALUES.into_iter().chain([("a length that cuts a character", cut, true)]) {
        let known = Names::new(["A", "B"]);
        let heads = StoredProperties::of(body, &names).unwrap();
        let numbers = known.numbers.of(known.as_slice(), &names).unwrap();
        known.numbers.layouts.learn(heads, numbers);
        assert!(known.numbers.layouts.of(&heads).is_some());
        let stored = (StoredRow { stamp: 1, body }).open(&names).unwrap();
        let sight = sighted(stored, &names);
        assert_eq!(told(&sight, &known).map_err(|error| error.kind()), Err(StoreErrorKind::Corrupt), "{what}");
    }
}

#[test]
fn names_beyond_the_dictionary_stand_in_the_row() {
    let names = Arc::new(Dictionary::new((0..super::super::dictionary::MAX_NAMES).map(|n| format!("P{n}").into())));
    let properties = Properties::from_iter([("Extra", 1), ("P7", 2)]);
    let value = stamped(&properties, &names, 9);
    let stored = OpenRow::checked(SPACE, b"key", &value, &names).unwrap();
    assert_eq!(stored.properties(&names, None).unwrap(), properties);
    assert_eq!(stored.get("Extra", None).unwrap(), Some(ValueRef::Int32(1)));
    let select = Selection::new(&["Extra".into()], &names);
    assert_eq!(stored.properties(&names, Some(&select)).unwrap(), Properties::from_iter([("Extra", 1)]));
    // Such rows have no shape; others do.
    let others = Properties::from_iter([("P7", Value::from(3)), ("P8", "x".into())]);
    for _ in 0..OFTEN {
        stamped(&properties, &names, 9);
    }
    let value = stamped_after(OFTEN, &others, &names, 9);
    assert_eq!(names.shapes.len(), 1);
    assert_eq!(OpenRow::checked(SPACE, b"key", &value, &names).unwrap().properties(&names, None).unwrap(), others);
}

#[test]
fn the_format_is_what_it_was() {
    let names = Arc::new(Dictionary::new([]));
    let properties = Properties::from_iter([
        ("A", Value::from("oh")),
        ("B", Value::Int32(-1)),
        ("C", Value::from("hi!")),
        ("EntityType", Value::from("Cat@1")),
    ]);
    let body = |before| {
        let value = stamped_after(before, &properties, &names, 0x0102);
        assert_eq!(value[0], 3);
        assert_eq!(value[5..13], [2, 1, 0, 0, 0, 0, 0, 0]);
        value[13..].to_vec()
    };
    let said = [5, 4, 0x17, 0x25, 0x37, 0x48, 5, b'C', b'a', b't', b'@', b'1'].as_slice();
    let own = [5, 2, 1, 3, b'o', b'h', b'h', b'i', b'!'].as_slice();
    assert_eq!(body(OFTEN - 2), [&[0], said, own].concat(), "the last without a number");
    assert_eq!(body(0), [&[1], own].concat());
    let shapes: Vec<_> = names.shapes.since(0).map(|(_, shape)| shape.said()).collect();
    assert_eq!(shapes, [said]);
}
