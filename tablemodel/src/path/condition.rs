//! The condition of a scan: what of it the store can test, and whether it holds of a row that was read.
//!
//! A value is compared as its field reads it: other programs may have stored it as another type. The store knows types alone, so it is
//! asked for each that the field reads too; where those are too many to say, it is not asked. JSON is compared by its text, decimal numbers as numbers.

use tablemodel_store::{Comparison, EdmType, Filter, Value, ValueRef, limits};

use crate::{path::field::Test, plan::absent, property::Property, schema::EntitySchema};

/// How values of a field are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// The identity of the encoding.
    codec: &'static str,
    /// What the field would store of what it reads here; nothing where it cannot read it.
    read: fn(ValueRef<'_>) -> Option<Value>,
}

impl Form {
    /// That of fields of a type.
    pub(super) fn of<T: Property>() -> Self {
        let read = |stored: ValueRef<'_>| T::from_value(Some(stored)).and_then(|value| value.to_value()).ok().flatten();
        Self { codec: T::CODEC, read }
    }

    /// What is compared of a stored value: of decimal numbers their text without the zeros that add nothing, `1.2` of `1.20`.
    fn compared<'v>(&self, stored: ValueRef<'v>) -> ValueRef<'v> {
        match stored {
            ValueRef::String(text) if self.codec == "decimal" => ValueRef::String(number(text)),
            other => other,
        }
    }
}

/// A decimal number in its shortest form.
fn number(text: &str) -> &str {
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if short == "-0" { "0" } else { short }
}

/// A condition that the store can test.
struct Pushed {
    filter: Filter,
    /// Whether it holds of those rows alone of which the scan's does; else of others too.
    is_exact: bool,
}

/// The test as the store can make it: of all rows of which it holds, and maybe of others. `None` where it needs a value that the keys
/// hold, asks for absence, or a default meets it, which a row that lacks the property is read as; and where it compares more than a query may.
pub(super) fn pushed(schema: &'static EntitySchema, test: &Test) -> Option<Filter> {
    told(schema, test).map(|pushed| pushed.filter)
}

fn told(schema: &'static EntitySchema, test: &Test) -> Option<Pushed> {
    match test {
        Test::Compare { property, comparison, value: Ok(Some(value)), form }
            if !schema.in_key(property) && !is_met_by_default(schema, test) =>
        {
            compared(property, *comparison, value, form)
        }
        Test::Compare { .. } => None,
        Test::All(tests) => {
            let all: Vec<_> = tests.iter().filter_map(|test| told(schema, test)).collect();
            let is_whole = all.len() == tests.len();
            joined(all, Filter::and).map(|all| Pushed { is_exact: all.is_exact && is_whole, ..all })
        }
        Test::Any(tests) => joined(tests.iter().map(|test| told(schema, test)).collect::<Option<_>>()?, Filter::or),
        // The negation of a test that holds of too many rows would drop some.
        Test::Not(inner) => told(schema, inner)
            .filter(|inner| inner.is_exact)
            .map(|inner| Pushed { filter: inner.filter.negate(), ..inner }),
    }
}

/// Several, joined.
fn joined(several: Vec<Pushed>, join: fn(Filter, Filter) -> Filter) -> Option<Pushed> {
    let comparisons: usize = several.iter().map(|pushed| pushed.filter.comparisons()).sum();
    let join = |a: Pushed, b: Pushed| Pushed { filter: join(a.filter, b.filter), is_exact: a.is_exact && b.is_exact };
    several.into_iter().filter(|_| comparisons <= limits::MAX_QUERY_COMPARISONS).reduce(join)
}

/// A comparison, of all types that the field reads.
fn compared(property: &'static str, comparison: Comparison, value: &Value, form: &Form) -> Option<Pushed> {
    let is_of_order = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    if is_of_order && matches!(value, Value::Boolean(_) | Value::Guid(_)) {
        return None; // each store has an order of its own
    }
    let own = Filter::compare(property, comparison, value.clone());
    let any = |least: Value| Filter::compare(property, Comparison::GreaterOrEqual, least);
    let integers = || any(Value::Int32(i32::MIN)).or(any(Value::Int64(i64::MIN)));
    let (others, is_exact) = match (form.codec, value) {
        ("u8" | "u16" | "i8" | "i16" | "i32", Value::Int32(number)) => {
            (Some(Filter::compare(property, comparison, i64::from(*number))), true)
        }
        ("u32" | "i64", Value::Int64(number)) => (narrower(property, comparison, *number), true),
        ("f32" | "f64" | "i128", _) => (Some(integers()), false),
        ("uuid", _) => (Some(any(Value::String(String::new()))), false),
        ("bool" | "char" | "string" | "bytes" | "datetime" | "date" | "enum", _) => (None, true),
        ("json", _) => (None, false), // `null` is absence, of which the store knows nothing
        (own, _) if own.starts_with("[u8; ") => (None, true),
        // Texts of other lengths or in other letters are read too (`u64`, `decimal`, `ulid`), or whoever wrote the codec knows what is.
        _ => return None,
    };
    let filter = match others {
        Some(others) => own.or(others),
        None => own,
    };
    Some(Pushed { filter, is_exact })
}

/// The comparison with integers of 32 bits; none where it holds of none.
fn narrower(property: &'static str, comparison: Comparison, number: i64) -> Option<Filter> {
    use Comparison::{Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    if let Ok(number) = i32::try_from(number) {
        return Some(Filter::compare(property, comparison, number));
    }
    let holds_of_all = match comparison {
        Less | LessOrEqual => number > 0,
        Greater | GreaterOrEqual => number < 0,
        NotEqual => true,
        Comparison::Equal => false,
    };
    holds_of_all.then(|| Filter::compare(property, GreaterOrEqual, i32::MIN))
}

/// Whether it holds of a row that has no properties; also where a default cannot be stored, which is told when such a row is read.
fn is_met_by_default(schema: &'static EntitySchema, test: &Test) -> bool {
    absent::defaults(schema, |_| false).map_or(true, |absent| holds(&|property| absent.get(property), test))
}

/// Whether it holds of what is stored under these names.
pub(super) fn holds<'a>(value_of: &impl Fn(&'static str) -> Option<ValueRef<'a>>, test: &Test) -> bool {
    match test {
        Test::Compare { property, comparison, value, form } => {
            compare(value_of(property), *comparison, value.as_ref().ok().map(Option::as_ref), form)
        }
        Test::All(tests) => tests.iter().all(|test| holds(value_of, test)),
        Test::Any(tests) => tests.iter().any(|test| holds(value_of, test)),
        Test::Not(inner) => !holds(value_of, inner),
    }
}

fn compare(left: Option<ValueRef<'_>>, comparison: Comparison, right: Option<Option<&Value>>, form: &Form) -> bool {
    match (left, right) {
        (Some(left), Some(Some(right))) if is_own(left, right.as_ref(), form) => comparison.holds(left, right.as_ref()),
        (Some(left), Some(Some(right))) => (form.read)(left)
            .is_some_and(|left| comparison.holds(form.compared(left.as_ref()), form.compared(right.as_ref()))),
        (left, Some(None)) => match comparison {
            Comparison::Equal => left.is_none(),
            Comparison::NotEqual => left.is_some(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether the stored value is as the field itself writes it, as most are: it need not be read for that.
fn is_own(stored: ValueRef<'_>, written: ValueRef<'_>, form: &Form) -> bool {
    let has_one_form =
        stored.edm() != EdmType::String || matches!(form.codec, "string" | "char" | "enum" | "date" | "json");
    stored.edm() == written.edm() && has_one_form
}
