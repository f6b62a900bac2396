//! What blobs are called: the keys of the row that owns the blob, and a random end that is never used again.
//!
//! A name tells its owner, so that one point read decides whether a row still links the blob. Names are of lower-case
//! ASCII, since file systems differ about everything else. Drawn in FORMAT.md.

use std::fmt::Write;

use tablemodel_store::RowKey;

/// A piece of a name between two slashes is at most so many bytes; file systems allow 255.
const MAX_SEGMENT_BYTES: usize = 200;
/// A name is at most so many bytes, unless its keys stand beside it; object stores allow 1,024.
const MAX_NAME_BYTES: usize = 700;
/// In place of keys that are too long for a name.
const LONG: &str = "long";
/// Ends the name of the record that holds the keys of a blob whose name cannot.
const KEYS: &str = ".keys";
/// Ends the name of the mark on a blob that was found without a link.
const GONE: &str = ".gone";
/// Ends, with a number from 1, the names of the records of the keys that the blob's link has moved to.
const MOVED: &str = ".moved";
/// Names that Windows keeps for itself.
const DEVICES: [&str; 4] = ["aux", "con", "nul", "prn"];

/// The row that owns a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The table's full name, in lower case: tables are told apart without case.
    pub(crate) table: String,
    pub(crate) entity: String,
    /// `None` where the keys are too long for a name; they are in the record beside the blob.
    pub(crate) key: Option<RowKey>,
}

/// What a name is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    Blob(Owner),
    /// The record of a blob's keys, or of those that its link has moved to.
    Keys,
    /// The mark on the blob of this name.
    Gone(String),
}

/// The name of a new blob.
pub(crate) fn fresh(table: &str, entity: &str, key: &RowKey, random: [u64; 2]) -> (String, Owner) {
    let [high, low] = random;
    let (first, end) = (format!("{}/{}", folder(table), encoded(entity)), format!("{high:016x}{low:016x}"));
    let [partition, row] = [&key.partition, &key.row].map(|key| encoded(key));
    let name = format!("{first}/{partition}/{row}/{end}");
    let fits = partition.len().max(row.len()) <= MAX_SEGMENT_BYTES && name.len() <= MAX_NAME_BYTES;
    let (name, key) = if fits { (name, Some(key.clone())) } else { (format!("{first}/{LONG}/{end}"), None) };
    (name, Owner { table: folder(table), entity: entity.to_owned(), key })
}

/// The folder of a table.
pub(crate) fn folder(table: &str) -> String {
    encoded(&table.to_ascii_lowercase())
}

/// The record that holds the keys of this blob.
pub(crate) fn keys_of(blob: &str) -> String {
    format!("{blob}{KEYS}")
}

/// The record of the keys that the blob's link has moved to, of this number from 1.
pub(crate) fn moved_of(blob: &str, number: u32) -> String {
    format!("{blob}{MOVED}{number}")
}

/// The mark on this blob.
pub(crate) fn mark_of(blob: &str) -> String {
    format!("{blob}{GONE}")
}

/// What a name is of; `None` where it is not one of ours.
pub(crate) fn parse(name: &str) -> Option<Named> {
    if let Some(blob) = name.strip_suffix(GONE) {
        return owner(blob).map(|_| Named::Gone(blob.to_owned()));
    }
    let moved = || name.rsplit_once(MOVED).filter(|(_, number)| number.parse::<u32>().is_ok()).map(|(blob, _)| blob);
    match name.strip_suffix(KEYS).or_else(moved) {
        Some(blob) => owner(blob).map(|_| Named::Keys),
        None => owner(name).map(Named::Blob),
    }
}

fn owner(name: &str) -> Option<Owner> {
    let segments: Vec<&str> = name.split('/').collect();
    let (table, entity, key, end) = match segments.as_slice() {
        [table, entity, partition, row, end] => {
            (table, entity, Some(RowKey::new(decoded(partition)?, decoded(row)?)), end)
        }
        [table, entity, long, end] if *long == LONG => (table, entity, None, end),
        _ => return None,
    };
    let is_random = end.len() == 32 && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let owner = Owner { table: decoded(table)?, entity: decoded(entity)?, key };
    (is_random && !owner.table.bytes().any(|byte| byte.is_ascii_uppercase())).then_some(owner)
}

/// A text in lower-case ASCII: small letters, digits and `-` as they are, `_a` for `A`, `__` for `_`, else `=` and two
/// hexadecimal digits for each byte; `=` alone for none.
fn encoded(text: &str) -> String {
    if text.is_empty() {
        return "=".to_owned();
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if place == 0 && is_device(text) => hexadecimal(&mut encoded, byte),
            b'a'..=b'z' | b'0'..=b'9' | b'-' => encoded.push(char::from(byte)),
            b'A'..=b'Z' => encoded.extend(['_', char::from(byte.to_ascii_lowercase())]),
            b'_' => encoded.push_str("__"),
            _ => hexadecimal(&mut encoded, byte),
        }
    }
    encoded
}

fn hexadecimal(to: &mut String, byte: u8) {
    let _ = write!(to, "={byte:02x}"); // a string takes all
}

fn is_device(text: &str) -> bool {
    let port = |prefix| text.strip_prefix(prefix).is_some_and(|rest| rest.len() == 1);
    DEVICES.contains(&text) || port("com") || port("lpt")
}

/// The text that is encoded so and not otherwise.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'_' => match rest.next()? {
                b'_' => bytes.push(b'_'),
                letter => bytes.push(letter.to_ascii_uppercase()),
            },
            b'=' if segment.len() > 1 => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            b'=' => {}
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok().filter(|text| encoded(text) == segment)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RANDOM: [u64; 2] = [1, 0xabc];

    fn named(partition: &str, row: &str) -> (String, Owner) {
        fresh("Company", "Employee", &RowKey::new(partition, row), RANDOM)
    }

    #[test]
    fn names_are_readable() {
        let end = "00000000000000010000000000000abc";
        assert_eq!(named("Sales", "empid_000223").0, format!("company/_employee/_sales/empid__000223/{end}"));
        assert_eq!(named("", "a.b c/é").0, format!("company/_employee/=/a=2eb=20c=2f=c3=a9/{end}"));
        assert_eq!(named("con", "com1").0, format!("company/_employee/=63on/=63om1/{end}"));
    }

    #[test]
    fn long_keys_stand_beside_the_blob() {
        for (partition, row) in [("é".repeat(34), "r".to_owned()), ("p".repeat(200), "r".repeat(1024))] {
            let (name, owner) = named(&partition, &row);
            assert_eq!(name, "company/_employee/long/00000000000000010000000000000abc");
            assert_eq!(owner.key, None);
            assert_eq!(parse(&name), Some(Named::Blob(owner)));
            assert_eq!(parse(&keys_of(&name)), Some(Named::Keys));
        }
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let end = "00000000000000010000000000000abc";
        let foreign = [
            "photo.jpg",
            "=log/shop/2014/07/31/1800/000001.log",
            "company/_employee/sales/r",
            "company/_employee/sales/r/0abc",
            "company/_employee/s/r/0000000000000001000000000000ZZZZ",
            "company/_employee/Sales/r/END",
            "_company/_employee/s/r/END",
            "company/_employee/s=41/r/END",
            "company/_employee/_1/r/END",
            "company/_employee/s=4/r/END",
            "company/_employee/con/r/END",
            "company/_employee/s/r/x/END",
            "company/_employee/other/END",
            "company/_employee/s/r/END.txt",
            "company/_employee/=ff/r/END",
        ];
        for name in foreign {
            assert_eq!(parse(&name.replace("END", end)), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_tells_its_owner_and_is_safe_everywhere(partition in any::<String>(), row in "[a-zA-Z_./=%-]{0,12}") {
            let (name, owner) = named(&partition, &row);
            let is_safe = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'=' | b'/');
            prop_assert!(name.bytes().all(is_safe), "{}", name);
            prop_assert!(name.len() <= MAX_NAME_BYTES && name.split('/').all(|s| s.len() <= MAX_SEGMENT_BYTES));
            if let Some(key) = &owner.key {
                prop_assert_eq!(key, &RowKey::new(partition, row));
            }
            prop_assert_eq!(parse(&mark_of(&name)), Some(Named::Gone(name.clone())));
            prop_assert_eq!(parse(&moved_of(&name, 12)), Some(Named::Keys));
            prop_assert_eq!(parse(&name), Some(Named::Blob(owner)));
        }

        #[test]
        fn two_texts_share_no_segment(a in "[aA_=4.1]{0,5}", b in "[aA_=4.1]{0,5}") {
            prop_assert_eq!(a == b, encoded(&a) == encoded(&b));
        }

        #[test]
        fn no_segment_makes_parsing_fail_badly(segment in any::<String>()) {
            if let Some(text) = decoded(&segment) {
                prop_assert_eq!(encoded(&text), segment);
            }
        }
    }
}
