//! Whether a value holds a float that JSON has no form for: NaN or an infinity, which serde_json would write as `null`.
//!
//! Walks over the value as a serializer does; nothing is written.

use std::fmt::{self, Display};

use serde::{
    Serialize, Serializer,
    ser::{
        self, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

/// That every float in the value is finite. What the value's own `Serialize` says against it is told in its words.
pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<(), NotFinite> {
    value.serialize(Finite)
}

/// What is wrong.
#[derive(Debug)]
pub(super) struct NotFinite(String);

impl Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFinite {}

impl ser::Error for NotFinite {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Takes every value but floats that are not finite.
#[derive(Clone, Copy)]
struct Finite;

type Checked = Result<(), NotFinite>;

/// Methods for values that hold no float.
macro_rules! takes {
    ($($method:ident: $ty:ty),*) => {
        $(fn $method(self, _: $ty) -> Checked { Ok(()) })*
    };
}

/// Methods that begin what holds others.
macro_rules! opens {
    ($($method:ident($($ty:ty),*) -> $opened:ident),*) => {
        $(fn $method(self, $(_: $ty),*) -> Result<Self::$opened, NotFinite> { Ok(self) })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    takes!(serialize_bool: bool, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8]);
    takes!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128);
    takes!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128);
    takes!(serialize_unit_struct: &'static str);
    opens!(
        serialize_seq(Option<usize>) -> SerializeSeq,
        serialize_tuple(usize) -> SerializeTuple,
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct,
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant,
        serialize_map(Option<usize>) -> SerializeMap,
        serialize_struct(&'static str, usize) -> SerializeStruct,
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant
    );

    fn serialize_f32(self, value: f32) -> Checked {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Checked {
        if value.is_finite() { Ok(()) } else { Err(ser::Error::custom(format_args!("a float is {value}"))) }
    }

    fn serialize_none(self) -> Checked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Checked {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Checked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Checked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Checked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self)
    }
}

/// What holds others: each is looked at.
macro_rules! holds {
    ($($of:ident { $($method:ident($($name:ty)?)),* })*) => {
        $(impl $of for Finite {
            type Ok = ();
            type Error = NotFinite;

            $(fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Checked {
                value.serialize(*self)
            })*

            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

holds! {
    SerializeSeq { serialize_element() }
    SerializeTuple { serialize_element() }
    SerializeTupleStruct { serialize_field() }
    SerializeTupleVariant { serialize_field() }
    SerializeMap { serialize_key(), serialize_value() }
    SerializeStruct { serialize_field(&'static str) }
    SerializeStructVariant { serialize_field(&'static str) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize)]
    enum Shape {
        Unit,
        New(f64),
        Tuple(f64, u8),
        Struct { side: Option<f32> },
    }

    #[derive(Serialize)]
    struct Pair(f64, f64);

    #[derive(Serialize)]
    struct Wrapped(f64);

    #[test]
    fn a_float_that_is_not_finite_is_found_wherever_it_is() {
        for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let map = BTreeMap::from([("key", vec![Some(float)])]);
            let all: [Result<(), NotFinite>; 9] = [
                check(&float),
                check(&map),
                check(&(1, float)),
                check(&Pair(1.0, float)),
                check(&Wrapped(float)),
                check(&Shape::New(float)),
                check(&Shape::Tuple(float, 1)),
                check(&Shape::Struct { side: Some(float as f32) }),
                check(&[Shape::Unit, Shape::New(float)]),
            ];
            for found in all {
                assert_eq!(found.unwrap_err().to_string(), format!("a float is {float}"));
            }
        }
    }

    #[test]
    fn everything_else_is_taken() {
        let map = BTreeMap::from([(1_u8, (i128::MIN, u128::MAX, 'c', "text", true, ()))]);
        check(&(map, Some(1.5_f32), None::<u8>, [0_u64; 3], f64::MAX)).unwrap();
        check(&[Shape::Unit, Shape::New(0.0), Shape::Tuple(-0.0, 1), Shape::Struct { side: None }]).unwrap();
    }
}
