//! The key laws find what is broken: types with planted bugs.

use std::cmp::Ordering;

use tablemodel::{
    key::{KeyPart, KeyType, Samples},
    property::{Property, ValueError},
    testing::{check_key_laws, key_laws, key_laws_of, key_samples},
};
use tablemodel_store::{EdmType, Value, ValueRef};

/// A newtype over `u32` or `String` whose conversions, kind or order is broken.
macro_rules! broken {
    ($name:ident($inner:ty), $kind:expr, $edm:ident, to: $to:expr, from: $from:expr) => {
        #[derive(Debug, Clone, PartialEq, PartialOrd)]
        struct $name($inner);

        impl Property for $name {
            const EDM: EdmType = EdmType::$edm;
            const CODEC: &'static str = "broken";

            fn to_value(&self) -> Result<Option<Value>, ValueError> {
                let to: fn(&$inner) -> Option<Value> = $to;
                Ok(to(&self.0))
            }

            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
                let from: fn($inner) -> $inner = $from;
                <$inner>::from_value(value).map(|inner| Self(from(inner)))
            }
        }

        impl KeyPart for $name {
            const TYPE: KeyType = $kind;
            type Key = Self;
        }
    };
}

broken!(Reversed(u32), KeyType::Unsigned(32), Int64, to: |n| Some(Value::Int64(i64::from(u32::MAX - n))), from: |n| u32::MAX - n);
broken!(Forgetful(u32), KeyType::Unsigned(32), Int64, to: |n| Some(Value::Int64(i64::from(n / 2))), from: |n| n * 2);
broken!(Unpadded(u32), KeyType::Text, String, to: |n| Some(Value::String(n.to_string())), from: |n| n);
broken!(Mislabelled(u32), KeyType::Unsigned(16), Int64, to: |n| Some(Value::Int64(i64::from(*n))), from: |n| n);
broken!(Vanishing(u32), KeyType::Unsigned(32), Int64, to: |n| (*n > 0).then_some(Value::Int64(i64::from(*n))), from: |n| n);
broken!(Narrow(u32), KeyType::Unsigned(24), Int64, to: |n| Some(Value::Int64(i64::from(*n))), from: |n| n);

/// Equal without regard to case, yet stored with it.
#[derive(Debug, Clone)]
struct Caseless(String);

impl PartialEq for Caseless {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl PartialOrd for Caseless {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.to_ascii_lowercase().partial_cmp(&other.0.to_ascii_lowercase())
    }
}

impl Property for Caseless {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "caseless";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        self.0.to_value()
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        String::from_value(value).map(Self)
    }
}

impl KeyPart for Caseless {
    const TYPE: KeyType = KeyType::Text;
    type Key = Self;
}

/// An enum whose declared order is not that of its names, and which says so or not.
macro_rules! size {
    ($name:ident, $ordered:literal) => {
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        enum $name {
            Small,
            Large,
        }

        impl Property for $name {
            const EDM: EdmType = EdmType::String;
            const CODEC: &'static str = "enum";

            fn to_value(&self) -> Result<Option<Value>, ValueError> {
                Ok(Some(Value::String(format!("{self:?}"))))
            }

            fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
                match String::from_value(value)?.as_str() {
                    "Small" => Ok(Self::Small),
                    "Large" => Ok(Self::Large),
                    other => Err(ValueError::malformed("a size", other)),
                }
            }
        }

        impl KeyPart for $name {
            const TYPE: KeyType = KeyType::Enum { ordered: $ordered };
            type Key = Self;
        }
    };
}

size!(Size, false);
size!(MisorderedSize, true);

fn found<T: KeyPart + PartialOrd + std::fmt::Debug>(samples: impl IntoIterator<Item = T>) -> String {
    check_key_laws(samples).expect_err("the planted bug was not found").to_string()
}

#[test]
fn an_order_turned_round_is_found() {
    assert!(found([Reversed(1), Reversed(2)]).contains("ordered: Reversed(1) and Reversed(2) compare as Less"));
}

#[test]
fn a_value_that_does_not_come_back_is_found() {
    assert!(found([Forgetful(3)]).contains("stored: Forgetful(3) came back as Forgetful(2)"));
}

#[test]
fn numbers_as_unpadded_text_are_found() {
    assert!(found([Unpadded(9), Unpadded(10)]).contains("stored:"));
}

#[test]
fn a_stored_type_other_than_declared_is_found() {
    assert!(
        found([Mislabelled(1)]).contains("the property is declared Edm.Int64, and Unsigned(16) is kept as Edm.Int32")
    );
}

#[test]
fn a_value_stored_as_absent_is_found() {
    assert!(found([Vanishing(0)]).contains("stored as absent"));
}

#[test]
fn a_value_without_a_key_is_found() {
    assert!(found([Narrow(1 << 24)]).contains("legal: Narrow(16777216) has no key"));
}

#[test]
fn equal_values_with_different_keys_are_found() {
    assert!(found([Caseless("a".into()), Caseless("A".into())]).contains("injective:"));
}

#[test]
fn a_false_claim_of_order_is_found() {
    assert!(found([MisorderedSize::Small, MisorderedSize::Large]).contains("ordered: Small and Large"));
    assert_eq!(check_key_laws([Size::Small, Size::Large]), Ok(()));
}

#[test]
#[should_panic(expected = "violations of the key laws")]
fn key_laws_panics_with_a_report() {
    key_laws_of([Reversed(1), Reversed(2)]);
}

#[test]
fn a_type_that_says_nothing_of_samples_is_tried_with_those_of_its_kind() {
    assert!(found(key_samples::<Reversed>()).contains("ordered:"));
    assert!(found(key_samples::<Mislabelled>()).contains("stored:"));
    assert!(found(key_samples::<Vanishing>()).contains("stored as absent"));
    assert!(found(key_samples::<Caseless>()).contains("injective:"));
}

#[test]
#[should_panic(expected = "ordered:")]
fn key_laws_finds_a_bug_without_being_given_samples() {
    key_laws::<Reversed>();
}

#[test]
#[should_panic(expected = "takes none of the samples of its kind, Enum { ordered: false }: give `key_laws_of` some")]
fn key_laws_says_so_where_there_is_nothing_to_try() {
    key_laws::<Size>();
}

/// Names a text that it does not read.
#[derive(Debug, PartialEq, PartialOrd)]
struct Hand(Size);

impl Property for Hand {
    const EDM: EdmType = Size::EDM;
    const CODEC: &'static str = Size::CODEC;

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        self.0.to_value()
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        Size::from_value(value).map(Self)
    }
}

impl KeyPart for Hand {
    const TYPE: KeyType = Size::TYPE;
    const SAMPLES: Samples = Samples::Texts(&["Small", "Large", "Middling"]);
    type Key = Self;
}

#[test]
#[should_panic(expected = "takes 2 of its samples")]
fn a_text_that_a_type_names_and_does_not_take_is_found() {
    key_laws::<Hand>();
}

/// Takes one text alone of those that every other type of its kind takes, and sorts the wrong way round.
#[derive(Debug, Clone, PartialEq)]
struct Address(String);

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        other.0.partial_cmp(&self.0)
    }
}

impl Property for Address {
    const EDM: EdmType = EdmType::String;
    const CODEC: &'static str = "address";

    fn to_value(&self) -> Result<Option<Value>, ValueError> {
        self.0.to_value()
    }

    fn from_value(value: Option<ValueRef<'_>>) -> Result<Self, ValueError> {
        let text = String::from_value(value)?;
        if text.contains('@') { Ok(Self(text)) } else { Err(ValueError::malformed("an address", &text)) }
    }
}

impl KeyPart for Address {
    const TYPE: KeyType = KeyType::Text;
    type Key = Self;
}

#[test]
#[should_panic(expected = "takes 1 of the samples of its kind, Text: give `key_laws_of` some")]
fn key_laws_says_so_where_there_is_nothing_to_compare() {
    key_laws::<Address>();
}

#[test]
fn a_bug_that_one_sample_does_not_show_is_found_in_two() {
    let address = |text: &str| Address(text.into());
    assert_eq!(check_key_laws([address("@")]), Ok(()));
    assert!(found([address("a@b"), address("b@b")]).contains("ordered:"));
}
