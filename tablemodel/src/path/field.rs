//! Typed handles of an entity's fields, for patches and scans.
//!
//! A handle is a name and types; nothing is read or written here.

mod arg;

use std::marker::PhantomData;

use tablemodel_store::{Comparison, Value};

use crate::{
    entity::CopyKeyOf,
    path::condition::Form,
    property::{Property, ValueError},
};

pub use self::arg::{AsJson, FieldArg};

/// The handle of field `T` of entity `E`, such as `Employee::AGE`. `M` says whether a patch may set it.
pub struct Field<E, T, M = Patchable> {
    property: &'static str,
    types: Types<E, T, M>,
}

/// What a handle knows by type alone.
type Types<E, T, M> = PhantomData<fn() -> (E, T, M)>;

impl<E, T, M> Clone for Field<E, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, M> Copy for Field<E, T, M> {}

impl<E, T, M> std::fmt::Debug for Field<E, T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Field({})", self.property)
    }
}

/// Marks a field that no key and no derived row uses: a patch may set it.
#[derive(Debug)]
pub enum Patchable {}

/// Marks a field of a key or of a derived row: only `save` and `update` keep those in step.
#[derive(Debug)]
pub enum Maintained {}

/// Marks a field that holds an aggregate: only its sources change it.
#[derive(Debug)]
pub enum Aggregated {}

/// Marks an aggregate in parts: no property of any row, but a sum.
#[derive(Debug)]
pub enum Sharded {}

/// A field that an aggregate may be kept in.
#[diagnostic::on_unimplemented(
    message = "this field does not hold an aggregate",
    label = "what a program writes to it would be lost",
    note = "mark it by `#[table(aggregate)]` in its own struct"
)]
pub trait HoldsAggregate {}

impl HoldsAggregate for Aggregated {}
impl HoldsAggregate for Sharded {}

/// A field that every row of an entity has.
#[diagnostic::on_unimplemented(
    message = "a `sharded` aggregate is the sum of several rows, and no property of the entity",
    label = "not in the entity's rows",
    note = "ask for it by `db.total(path, ..)`"
)]
pub trait InRow {}

impl InRow for Patchable {}
impl InRow for Maintained {}
impl InRow for Aggregated {}

/// A type that can be summed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be summed",
    label = "not a number that is stored as one",
    note = "sums are of i8 to i64, u8 to u32, f32 and f64, and `Option`s of these"
)]
pub trait Summed {
    /// The type of the sum.
    type Sum;
}

macro_rules! summed {
    ($sum:ty: $($term:ty)*) => { $(
        impl Summed for $term {
            type Sum = $sum;
        }
    )* };
}
summed!(i64: i8 i16 i32 i64 u8 u16 u32);
summed!(f64: f32 f64);

impl<T: Summed> Summed for Option<T> {
    type Sum = T::Sum;
}

/// A type of which the least and the greatest value can be kept.
#[diagnostic::on_unimplemented(
    message = "no least or greatest `{Self}` can be kept",
    label = "not a number, point in time, date or text",
    note = "`min` and `max` are of i8 to i64, u8 to u64, f32, f64, points in time, dates, texts, and `Option`s of these"
)]
pub trait Ranked {
    /// The type of the result.
    type First;
}

macro_rules! ranked {
    ($($term:ty)*) => { $(
        impl Ranked for $term {
            type First = Option<$term>;
        }
        impl Ranked for Option<$term> {
            type First = Option<$term>;
        }
        impl AggregateValue for Option<$term> {}
    )* };
}
ranked!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 tablemodel_store::DateTime std::time::SystemTime);
ranked!(String Box<str> std::sync::Arc<str>);
#[cfg(feature = "chrono")]
ranked!(chrono::DateTime<chrono::Utc> chrono::NaiveDate);
#[cfg(feature = "time")]
ranked!(time::OffsetDateTime time::Date);

/// A type of aggregates.
#[diagnostic::on_unimplemented(
    message = "an aggregate cannot be a `{Self}`",
    label = "not the type of an aggregate",
    note = "counts and sums of integers are `i64`, sums of floats `f64`; a `min` or `max` is an `Option` of what it is of"
)]
pub trait AggregateValue {}

impl AggregateValue for i64 {}
impl AggregateValue for f64 {}

/// A field that a patch may set.
#[diagnostic::on_unimplemented(
    message = "this property cannot be patched: a key or a derived row is made from it",
    label = "used by a key, an index or a copy",
    note = "use `db.update(path, |entity| ..)`, which keeps the derived rows in step; an aggregate changes with its sources alone"
)]
pub trait CanPatch {}

impl CanPatch for Patchable {}

impl<E, T, M> Field<E, T, M> {
    /// The field stored under this name. For generated code.
    #[doc(hidden)]
    pub const fn named(property: &'static str) -> Self {
        Self { property, types: PhantomData }
    }

    /// Compiles only if a field of type `H` can give the value of this one, in the key of a copy. For generated code.
    #[doc(hidden)]
    pub const fn given_by<H: CopyKeyOf<T>>(&self) {}

    /// The stored name.
    pub const fn property(&self) -> &'static str {
        self.property
    }
}

impl<E, T: Property, M> Field<E, T, M> {
    /// Sets the field in a patch; an `Option` to its value or to `None`. See [`Database::patch`](crate::Database::patch).
    pub fn set(self, value: impl FieldArg<T>) -> Patch<E>
    where
        M: CanPatch,
    {
        let value = value.into_field().to_value();
        Patch { sets: vec![(self.property, value)], entity: PhantomData }
    }
}

impl<E, T: Property, M> Field<E, T, M> {
    fn compare(self, comparison: Comparison, value: impl FieldArg<T>) -> Predicate<E> {
        let is_of_order = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let value = match is_of_order && !T::ORDERED {
            true => Err(ValueError::Unordered),
            false => value.into_field().to_value(),
        };
        let form = Form::of::<T>();
        Predicate::new(Test::Compare { property: self.property, comparison, value, form })
    }

    /// Equal to `value`; a `None` value asks for an absent property.
    pub fn eq(self, value: impl FieldArg<T>) -> Predicate<E>
    where
        M: InRow,
    {
        self.compare(Comparison::Equal, value)
    }

    /// Present and not equal to `value`.
    pub fn ne(self, value: impl FieldArg<T>) -> Predicate<E>
    where
        M: InRow,
    {
        self.compare(Comparison::NotEqual, value)
    }

    /// Greater than `value`.
    pub fn gt(self, value: impl FieldArg<T>) -> Predicate<E>
    where
        M: InRow,
    {
        self.compare(Comparison::Greater, value)
    }

    /// At least `value`.
    pub fn ge(self, value: impl FieldArg<T>) -> Predicate<E>
    where
        M: InRow,
    {
        self.compare(Comparison::GreaterOrEqual, value)
    }

    /// Less than `value`.
    pub fn lt(self, value: impl FieldArg<T>) -> Predicate<E>
    where
        M: InRow,
    {
        self.compare(Comparison::Less, value)
    }

    /// At most `value`.
    pub fn le(self, value: impl FieldArg<T>) -> Predicate<E>
    where
        M: InRow,
    {
        self.compare(Comparison::LessOrEqual, value)
    }
}

/// The handle of an array under `flatten`, such as `Stats::DAY`: one property for each element.
pub struct FieldArray<E, T, M = Patchable> {
    names: &'static [&'static str],
    types: Types<E, T, M>,
}

impl<E, T, M> Clone for FieldArray<E, T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T, M> Copy for FieldArray<E, T, M> {}

impl<E, T, M> std::fmt::Debug for FieldArray<E, T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FieldArray({:?})", self.names)
    }
}

impl<E, T, M> FieldArray<E, T, M> {
    /// The elements stored under these names. For generated code.
    #[doc(hidden)]
    pub const fn named(names: &'static [&'static str]) -> Self {
        Self { names, types: PhantomData }
    }

    /// No array is one property: a projection that takes it for a field of one is told so by the type alone.
    #[doc(hidden)]
    pub const fn property(&self) -> &'static str {
        ""
    }

    /// The handle of one element; `None` beyond the last.
    pub fn at(self, index: usize) -> Option<Field<E, T, M>> {
        self.names.get(index).map(|name| Field::named(name))
    }
}

impl<E, T: Property, M> FieldArray<E, T, M> {
    /// Sets one element in a patch. An index beyond the last makes the patch `Invalid`.
    pub fn set(self, index: usize, value: impl FieldArg<T>) -> Patch<E>
    where
        M: CanPatch,
    {
        if let Some(element) = self.at(index) {
            return element.set(value);
        }
        let detail = format_args!("index {index} of {} elements", self.names.len());
        let error = ValueError::out_of_range("the array", detail);
        let property = self.names.last().copied().unwrap_or_default();
        Patch { sets: vec![(property, Err(error))], entity: PhantomData }
    }
}

/// A property with its value; none that it is taken away.
pub(crate) type Set = (&'static str, Result<Option<Value>, ValueError>);

/// New values for some properties of an entity; see [`Database::patch`](crate::Database::patch).
#[derive(Debug)]
pub struct Patch<E> {
    pub(crate) sets: Vec<Set>,
    entity: PhantomData<fn() -> E>,
}

impl<E> Patch<E> {
    /// This patch and another; a property set twice takes the later value.
    pub fn and(mut self, other: Self) -> Self {
        self.sets.extend(other.sets);
        self
    }
}

/// A condition on an entity, for scans.
#[derive(Debug, Clone)]
pub struct Predicate<E> {
    pub(crate) test: Test,
    entity: PhantomData<fn() -> E>,
}

/// The untyped condition. As deep as it is nested in truth: a long row of conditions, made of a list say, is one deep.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    Compare { property: &'static str, comparison: Comparison, value: Result<Option<Value>, ValueError>, form: Form },
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
}

impl Test {
    /// Both hold.
    pub(super) fn and(self, other: Self) -> Self {
        let list = |test| match test {
            Self::All(tests) => tests,
            one => vec![one],
        };
        let mut all = list(self);
        all.extend(list(other));
        Self::All(all)
    }

    /// One of them holds.
    fn or(self, other: Self) -> Self {
        let list = |test| match test {
            Self::Any(tests) => tests,
            one => vec![one],
        };
        let mut any = list(self);
        any.extend(list(other));
        Self::Any(any)
    }

    fn negate(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            test => Self::Not(Box::new(test)),
        }
    }
}

impl<E> Predicate<E> {
    fn new(test: Test) -> Self {
        Self { test, entity: PhantomData }
    }

    /// Both hold.
    pub fn and(self, other: Self) -> Self {
        Self::new(self.test.and(other.test))
    }

    /// One of them holds.
    pub fn or(self, other: Self) -> Self {
        Self::new(self.test.or(other.test))
    }
}

impl<E> std::ops::Not for Predicate<E> {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(self.test.negate())
    }
}
