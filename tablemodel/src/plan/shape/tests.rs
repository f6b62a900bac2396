//! What is cut is joined again, row by row within the limits of a store; and nothing is lost unseen.

use proptest::prelude::*;
use tablemodel_store::validate;

use super::*;
use crate::{plan::system::is_system, prelude::*};

/// An entity with all that can make several rows of one.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Things", wide, partition = "{owner}", row = "thing_{id:06}")]
struct Thing {
    owner: String,
    id: u32,
    #[table(flatten)]
    slot: [Option<i64>; 500],
    #[table(flatten)]
    page: [Option<Vec<u8>>; 40],
    #[table(part = "counts")]
    reads: i64,
    #[table(flatten, part = "counts")]
    count: [Option<bool>; 300],
    #[table(chunked)]
    text: Option<String>,
    #[table(chunked)]
    scan: Vec<u8>,
    #[table(json, chunked)]
    tags: Vec<String>,
}

fn things() -> impl Strategy<Value = Thing> {
    let slots = prop::collection::vec((0..500_usize, any::<i64>()), 0..40);
    let pages = prop::collection::vec((0..40_usize, 0..=limits::MAX_BINARY_BYTES), 0..40);
    let counts = prop::collection::vec((0..300_usize, any::<bool>()), 0..8);
    let large = (prop::option::of(0..300_000_usize), 0..2_500_000_usize, 0..9_000_usize);
    (slots, pages, counts, large, "[a-zé/ ]{0,12}").prop_map(|(slots, pages, counts, (text, scan, tags), owner)| {
        let mut thing = Thing {
            owner,
            id: 1,
            slot: [None; 500],
            page: [const { None }; 40],
            reads: 3,
            count: [None; 300],
            text: text.map(|len| "é😀".repeat(len / 2)),
            scan: vec![7; scan],
            tags: (0..tags).map(|tag| tag.to_string()).collect(),
        };
        slots.into_iter().for_each(|(at, value)| thing.slot[at] = Some(value));
        pages.into_iter().for_each(|(at, len)| thing.page[at] = Some(vec![at as u8; len]));
        counts.into_iter().for_each(|(at, value)| thing.count[at] = Some(value));
        thing
    })
}

fn layout(key: &RowKey, fresh: Option<u64>) -> Layout<'_> {
    Layout { schema: Thing::SCHEMA, key, sequence: 7, fresh }
}

/// The rows of the image as they would be stored and read.
fn stored(image: &Image, fresh: Option<u64>) -> Group {
    let Cut { mut head, parts } = cut(image).unwrap();
    let laid = layout(&image.key, fresh).lay(parts, &mut head, None);
    system::stamp(&mut head, Thing::SCHEMA.discriminator, i64::MAX, Some(vec![0; 64]));
    let head = Row { key: image.key.clone(), etag: stale_etag(), timestamp: DateTime::UNIX_EPOCH, properties: head };
    Group::of(head, laid.parts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn what_was_cut_is_joined_again_and_every_row_is_legal(thing in things(), fresh in any::<Option<u64>>()) {
        let image = Image::of(&thing).unwrap();
        let group = stored(&image, fresh);
        for row in group.iter() {
            validate::row(&row.key.partition, &row.key.row, &row.properties).unwrap();
            prop_assert!(part::rows_of(&image.key.row).contains(&row.key.row));
        }
        let keys: Vec<_> = group.iter().map(|row| row.key.row.as_str()).collect();
        prop_assert!(keys.is_sorted());
        let settled = part::settled(group).unwrap();
        prop_assert_eq!(&Image::stored(Thing::SCHEMA, &settled).unwrap().fields, &image.fields);
        prop_assert_eq!(crate::plan::image::decode::<Thing>(&settled).unwrap(), thing);
    }

    #[test]
    fn no_part_can_be_lost_or_changed_unseen(thing in things(), at in any::<prop::sample::Index>(), how in 0..4_u8) {
        let mut group = stored(&Image::of(&thing).unwrap(), None);
        prop_assume!(!group.parts.is_empty());
        let at = at.index(group.parts.len());
        match how {
            0 => drop(group.parts.remove(at)),
            1 => drop(group.parts[at].properties.insert("Stray", 1)),
            2 => drop(group.head.properties.insert(system::PARTS, group.parts.len() as i32 + 1)),
            _ => {
                let own = group.parts[at].properties.iter().find(|(name, _)| !is_system(name.as_str()));
                let Some(name) = own.map(|(name, _)| name.as_str().to_owned()) else { return Ok(()) };
                group.parts[at].properties.remove(&name);
            }
        }
        prop_assert!(part::settled(group).is_err());
    }

    #[test]
    fn a_change_of_one_small_value_changes_one_row_beside_the_head(
        thing in things(), slot in 0..500_usize, count in 0..300_usize, value in any::<i64>(),
    ) {
        // Where pages fill their row, a value more may push one out of it.
        let thing = Thing { page: [const { None }; 40], ..thing };
        let old = stored(&Image::of(&thing).unwrap(), None);
        for edit in [
            |thing: &mut Thing, slot: usize, _: usize, value| thing.slot[slot] = Some(value),
            |thing: &mut Thing, _: usize, _: usize, value| thing.reads = value,
        ] {
            let mut new = thing.clone();
            edit(&mut new, slot, count, value);
            let Cut { mut head, parts } = cut(&Image::of(&new).unwrap()).unwrap();
            prop_assume!(parts.len() == old.parts.len()); // the last part may have been empty
            let laid = layout(&old.head.key, None).lay(parts, &mut head, Some(&old));
            prop_assert!(laid.rows.len() <= 1, "{:?}", laid.rows.iter().map(|row| &row.row).collect::<Vec<_>>());
            prop_assert!(laid.rows.iter().all(|row| matches!(row.action, Action::Merge(..))));
        }
    }
}

#[test]
fn declared_parts_stand_behind_the_head_and_the_rest_behind_them() {
    let mut thing = Thing {
        owner: "o".into(),
        id: 1,
        slot: [None; 500],
        page: [const { None }; 40],
        reads: 3,
        count: [Some(true); 300],
        text: None,
        scan: Vec::new(),
        tags: Vec::new(),
    };
    let rows = |thing: &Thing| -> Vec<Vec<String>> {
        let group = stored(&Image::of(thing).unwrap(), None);
        let own = |row: &Row| {
            let names = row.properties.iter().map(|(name, _)| name.as_str().to_owned());
            names.filter(|name| !is_system(name)).collect()
        };
        group.iter().map(own).collect()
    };
    assert_eq!(rows(&thing).iter().map(Vec::len).collect::<Vec<_>>(), [3, 240, 61]);
    (thing.slot[0], thing.slot[499]) = (Some(1), Some(1));
    let rows = rows(&thing);
    assert!(rows[0].contains(&"Slot000".to_owned()) && rows[0].contains(&"Scan_n".to_owned()));
    assert!(rows[1].contains(&"Reads".to_owned()) && rows[1].contains(&"Count000".to_owned()));
    assert_eq!((rows.len(), rows[3].len(), &rows[4]), (5, 0, &vec!["Slot499".to_owned()]));
}

#[test]
fn keys_of_parts_are_read_back_and_no_others() {
    for generation in [Generation::Shared, Generation::Own(0), Generation::Own(u64::MAX)] {
        for number in [1, 99] {
            let name = PartName { generation, number };
            assert_eq!(PartName::read(&name.key("a b")), Some(("a b", name)));
        }
    }
    for other in ["a", "a ~~", "a ~~00", "a ~~1", "a ~~001", "a ~~0x", "a ~~01~01", "a ~~00C0FFEE00C0FFEE~01", "~~01"] {
        assert_eq!(PartName::read(other), None, "{other}");
    }
}

#[test]
fn the_digest_is_the_one_that_the_format_draws() {
    let mut part: Properties = [("B", Value::Int32(1)), ("A", Value::Boolean(true))].into_iter().collect();
    part.insert(system::SEQUENCE, 5_i64);
    let drawn = [&[2_u8][..], &[1, 0, 0, 0], b"A", &[2], &[1, 0, 0, 0], b"B", &[6, 1, 0, 0, 0]].concat();
    let marks = Marks::of(Generation::Shared, [&Properties::new(), &part].into_iter());
    let first = twox_hash::XxHash3_64::oneshot(&[1]);
    assert_eq!(marks.sum, first.wrapping_add(twox_hash::XxHash3_64::oneshot(&drawn)));
}
