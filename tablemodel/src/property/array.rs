//! Arrays as one property for each element, for fields under `flatten`: `day: [u32; 365]` is `Day000` to `Day364`.
//!
//! The names are made when the program is compiled.

use crate::{
    entity::{FieldError, FieldReader, FieldWriter},
    property::{Property, ValueError},
    schema::PropertySchema,
};

/// What the names of an array's properties begin with. Implemented by generated markers.
pub trait SlotNames: 'static {
    /// The Rust field.
    const FIELD: &'static str;
    /// The stored name, without the number.
    const PREFIX: &'static str;
}

/// An array whose elements are properties of the entity that holds it, named by `P` in at most so many bytes.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an array of properties", label = "cannot be flattened")]
pub trait PropertyArray<P: SlotNames, const BYTES: usize = 64>: Sized {
    /// The stored names, in the order of the elements.
    const NAMES: &'static [&'static str];
    /// The properties.
    const PROPERTIES: &'static [PropertySchema];

    /// Writes every element.
    #[doc(hidden)]
    fn write_slots(&self, to: &mut FieldWriter) -> Result<(), FieldError>;

    /// Reads every element.
    #[doc(hidden)]
    fn read_slots(from: &FieldReader<'_>) -> Result<Self, FieldError>;
}

impl<P: SlotNames, T: Property, const N: usize, const BYTES: usize> PropertyArray<P, BYTES> for [T; N] {
    const NAMES: &'static [&'static str] = &Slots::<P, N, BYTES>::NAMES;
    const PROPERTIES: &'static [PropertySchema] = &properties::<T, N>(P::FIELD, &Slots::<P, N, BYTES>::NAMES);

    fn write_slots(&self, to: &mut FieldWriter) -> Result<(), FieldError> {
        let names = Slots::<P, N, BYTES>::NAMES.iter();
        names.zip(self).try_for_each(|(name, value)| to.put(name, value.to_value()))
    }

    fn read_slots(from: &FieldReader<'_>) -> Result<Self, FieldError> {
        let mut values = Vec::with_capacity(N);
        for name in &Slots::<P, N, BYTES>::NAMES {
            values.push(from.take(name, T::from_value)?);
        }
        values.try_into().map_err(|_| FieldError { property: P::PREFIX, error: ValueError::Missing })
    }
}

/// The names of an array of `N`, and the room in which they stand: so many bytes for each.
struct Slots<P, const N: usize, const BYTES: usize>(std::marker::PhantomData<P>);

impl<P: SlotNames, const N: usize, const BYTES: usize> Slots<P, N, BYTES> {
    const ROOM: [[u8; BYTES]; N] = room(P::PREFIX);
    const NAMES: [&'static str; N] = names(&Self::ROOM, P::PREFIX.len() + digits(N));
}

/// As many digits as the last number has, two at least.
const fn digits(count: usize) -> usize {
    let mut digits = 2;
    let mut beyond = 100;
    while beyond < count {
        digits += 1;
        beyond *= 10;
    }
    digits
}

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling; the length is asserted first")]
const fn room<const N: usize, const BYTES: usize>(prefix: &str) -> [[u8; BYTES]; N] {
    let (bytes, digits) = (prefix.as_bytes(), digits(N));
    assert!(bytes.len() + digits <= BYTES, "the names of this array are too long: shorten them with `rename`");
    let mut room = [[0; BYTES]; N];
    let mut number = 0;
    while number < N {
        let mut at = 0;
        while at < bytes.len() {
            room[number][at] = bytes[at];
            at += 1;
        }
        let (mut rest, mut place) = (number, digits);
        while place > 0 {
            place -= 1;
            room[number][bytes.len() + place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        number += 1;
    }
    room
}

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
const fn names<const N: usize, const BYTES: usize>(
    room: &'static [[u8; BYTES]; N],
    length: usize,
) -> [&'static str; N] {
    let mut names = [""; N];
    let mut number = 0;
    while number < N {
        names[number] = match std::str::from_utf8(room[number].split_at(length).0) {
            Ok(name) => name,
            Err(_) => "",
        };
        number += 1;
    }
    names
}

#[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
const fn properties<T: Property, const N: usize>(
    field: &'static str,
    names: &[&'static str; N],
) -> [PropertySchema; N] {
    let mut properties = [PropertySchema::of::<T>(field, ""); N];
    let mut number = 0;
    while number < N {
        properties[number].property = names[number];
        number += 1;
    }
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Day;

    impl SlotNames for Day {
        const FIELD: &'static str = "day";
        const PREFIX: &'static str = "Day";
    }

    #[test]
    fn a_long_name_has_the_room_that_it_is_given() {
        assert_eq!(<[u32; 3] as PropertyArray<Day, 5>>::NAMES, ["Day00", "Day01", "Day02"]);
    }

    #[test]
    fn names_have_the_digits_of_the_last_one() {
        assert_eq!(<[u32; 3] as PropertyArray<Day>>::NAMES, ["Day00", "Day01", "Day02"]);
        let year = <[u32; 365] as PropertyArray<Day>>::PROPERTIES;
        assert_eq!((year[0].property, year[364].property, year[364].field), ("Day000", "Day364", "day"));
        assert_eq!([1, 99, 100, 101, 1_000, 1_001].map(digits), [2, 2, 2, 3, 3, 4]);
    }
}
