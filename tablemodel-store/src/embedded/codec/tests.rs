//! Rows in bytes: there and back, damaged, malformed, and however they are read.

use super::*;
use crate::{
    StoreErrorKind, Value,
    embedded::{engine::TableId, sight::Sight},
};
use proptest::prelude::*;
use uuid::Uuid;

const SPACE: Space = Space::Rows(TableId(3));

/// The value of a row under the key `key`.
fn stamped(properties: &Properties, names: &Dictionary, stamp: u64) -> Vec<u8> {
    let mut buffer = b"key".to_vec();
    let row = EncodedRow::append(&mut buffer, &(0..3), properties, |name| names.number(name));
    row.stamp(&mut buffer, SPACE, stamp);
    row.value(&buffer).to_vec()
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
    pairs.prop_map(|pairs| pairs.into_iter().collect())
}

proptest! {
    /// In whatever order names are asked for, and however often: what is told is what is stored, and passing it all
    /// changes nothing.
    #[test]
    fn a_row_in_sight_tells_what_it_holds(properties in any_properties(), asked in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        let names = Arc::new(Dictionary::new([PropertyName::from("Absent")]));
        let value = stamped(&properties, &names, 9);
        let sight = Sight::new(b"key\0row", StoredRow::checked(SPACE, b"key", &value).unwrap(), &names);
        let known: Vec<&'static str> = names.since(0).map(|(_, name)| &*name.as_str().to_owned().leak()).collect();
        for name in asked.iter().map(|at| known[at.index(known.len())]) {
            prop_assert_eq!(sight.get(name), properties.get(name));
        }
        prop_assert_eq!(sight.keep().unwrap().row().properties, properties);
    }

    #[test]
    fn a_row_comes_back_as_it_was_written(properties in any_properties(), stamp in 0..i64::MAX as u64) {
        let names = Arc::new(Dictionary::new([]));
        let value = stamped(&properties, &names, stamp);
        let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
        prop_assert_eq!(stored.etag(), ETag::from_stamp(stamp));
        prop_assert_eq!(&stored.properties(&names, None).unwrap(), &properties);
        for (name, expected) in properties.iter() {
            prop_assert_eq!(stored.get(name.as_str(), names.id(name.as_str())).unwrap(), Some(expected));
        }
        prop_assert_eq!(stored.get("absent!", None).unwrap(), None);
        let sight = Sight::new(b"key\0row", stored, &names);
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
        set in prop::collection::vec(("[A-C][a-b]?", any_value()), 0..6),
        removed in "[A-C][a-b]?",
        kept in "[A-Z]",
    ) {
        let names = Arc::new(Dictionary::new([]));
        let value = stamped(&properties, &names, 9);
        let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
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
        prop_assert_eq!(read.clone().into_iter().collect::<Properties>(), properties.clone());
        prop_assert_eq!((read.len(), read.is_empty()), (properties.len(), properties.is_empty()));
    }

    #[test]
    fn a_flipped_bit_of_a_row_is_noticed(
        properties in any_properties(),
        at in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let names = Arc::new(Dictionary::new([]));
        let mut value = stamped(&properties, &names, 9);
        let at = at.index(value.len());
        value[at] ^= 1 << bit;
        prop_assert!(StoredRow::checked(SPACE, b"key", &value).is_err());
    }

    #[test]
    fn bytes_that_are_no_row_are_refused_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..100)) {
        let stored = StoredRow { stamp: 1, body: &body };
        let names = Arc::new(Dictionary::new([PropertyName::from("Name")]));
        let _ = stored.get("Name", Some(NameId(0)));
        if let Ok(properties) = stored.properties(&names, None) {
            prop_assert!(properties.len() <= body.len());
        }
    }

    /// What is read is what the bytes say: changed bytes under a right checksum are refused, or read as what they
    /// became, whole and in order; a reader of all properties and one of a selection agree.
    #[test]
    fn a_row_changed_under_its_checksum_is_refused_or_whole(
        properties in any_properties(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let names = Arc::new(Dictionary::new([]));
        let value = stamped(&properties, &names, 9);
        let mut body = value[HEAD_BYTES..].to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        let stored = StoredRow { stamp: 9, body: &body };
        let known: Vec<_> = names.since(0).map(|(_, name)| name.clone()).collect();
        let selected = stored.properties(&names, Some(&Selection::new(&known, &names)));
        let constants: Vec<&'static str> = known.iter().map(|name| &*name.as_str().to_owned().leak()).collect();
        let sight = Sight::new(b"key\0row", stored, &names);
        let told: Vec<_> = constants.iter().map(|name| sight.get(name)).collect();
        prop_assert_eq!(sight.keep().is_ok(), selected.is_ok());
        match stored.properties(&names, None) {
            Ok(read) => {
                prop_assert_eq!(&selected.unwrap(), &read);
                prop_assert_eq!(&sight.keep().unwrap().row().properties, &read);
                let held: Vec<_> = constants.iter().map(|name| read.get(name)).collect();
                prop_assert_eq!(told, held);
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
const MALFORMED: [(&str, &[u8], bool); 12] = [
    ("no count", &[], true),
    ("fewer properties than it says", &[2, 0x12], true),
    ("more properties than it says", &[1, 0x12, 0x21], true),
    ("a type that there is not", &[1, 0x1F], true),
    ("a text that ends beyond the row", &[1, 0x18, 3, b'h', b'i'], true),
    ("a time that is cut off", &[1, 0x13, 1, 2, 3], true),
    ("a name that nobody has", &[1, 0xF2, 0x7F], false),
    ("names out of order", &[2, 0x22, 0x12], false),
    ("a name twice", &[2, 0x12, 0x12], false),
    ("a text that is none", &[1, 0x18, 2, b'h', 0xFF], false),
    ("a character over two texts", &[2, 0x18, 1, 0xC3, 0x28, 1, 0xA9], false),
    ("more than 32 bits of a number of 32", &[1, 0x16, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], false),
];

#[test]
fn malformed_rows_are_corrupt_however_they_are_read() {
    let names = Arc::new(Dictionary::new(["A", "B", "C"].map(PropertyName::from)));
    let all = Selection::new(&["A", "B", "C"].map(PropertyName::from), &names);
    for (what, body, met_by_search) in MALFORMED {
        let stored = StoredRow { stamp: 1, body };
        for read in [stored.properties(&names, None), stored.properties(&names, Some(&all))] {
            assert_eq!(read.map_err(|error| error.kind()), Err(StoreErrorKind::Corrupt), "{what}");
        }
        for asked in [&["A", "B", "C"][..], &["C", "A"], &["B"], &[]] {
            let sight = Sight::new(b"key\0row", stored, &names);
            asked.iter().for_each(|name| {
                let _ = sight.get(name);
            });
            for read in [sight.check(), sight.keep().map(drop), sight.row().map(drop)] {
                assert_eq!(read.map_err(|error| error.kind()), Err(StoreErrorKind::Corrupt), "{what}: {asked:?}");
            }
        }
        assert_eq!(stored.get("Z", None).is_err(), met_by_search, "{what}");
    }
}

#[test]
fn names_beyond_the_dictionary_stand_in_the_row() {
    let names = Arc::new(Dictionary::new((0..super::super::dictionary::MAX_NAMES).map(|n| format!("P{n}").into())));
    let properties = Properties::from_iter([("Extra", 1), ("P7", 2)]);
    let value = stamped(&properties, &names, 9);
    let stored = StoredRow::checked(SPACE, b"key", &value).unwrap();
    assert_eq!(stored.properties(&names, None).unwrap(), properties);
    assert_eq!(stored.get("Extra", None).unwrap(), Some(ValueRef::Int32(1)));
    let select = Selection::new(&["Extra".into()], &names);
    assert_eq!(stored.properties(&names, Some(&select)).unwrap(), Properties::from_iter([("Extra", 1)]));
}

#[test]
fn the_format_is_what_it_was() {
    let names = Arc::new(Dictionary::new([]));
    let properties = Properties::from_iter([("A", Value::Int32(-1)), ("B", Value::from("hi"))]);
    let value = stamped(&properties, &names, 0x0102);
    assert_eq!(value[0], 1);
    assert_eq!(value[5..], [2, 1, 0, 0, 0, 0, 0, 0, 2, 0x16, 1, 0x28, 2, b'h', b'i']);
}
