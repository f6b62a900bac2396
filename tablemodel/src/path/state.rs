//! The type states of a typed path: where it stands, what may come next, which terminals it has reached.
//!
//! Only types and bounds live here; the messages of these traits are what a user sees when a path is wrong.

use std::marker::PhantomData;

use crate::{
    entity::TableEntity,
    path::{
        found::Found,
        query::{Component, PathQuery},
    },
};

/// One way to reach an entity: its primary key, or one of its indexes. Implemented by generated markers.
pub trait PathKind: 'static {
    /// The entity.
    type Entity: TableEntity;
    /// What its terminals give: [`Stored`](crate::Stored), or [`Seen`](crate::Seen) for a whole-copy index.
    type Found: Found<Entity = Self::Entity>;
    /// The way it goes.
    const WAY: Way;
}

/// The way by the primary key. Implemented by generated markers.
#[diagnostic::on_unimplemented(
    message = "a batch patches entities by their primary keys, and this path goes over an index",
    label = "a path over an index",
    note = "take the path of the primary key, or `Database::patch`, which reads the index first"
)]
pub trait PrimaryKind: PathKind {}

/// Where a path leads, and what its methods take.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// The index in the schema's list; `None` for the primary key.
    pub index: Option<usize>,
    /// The components that the path's methods take, in order: partition first.
    pub components: &'static [Component],
}

/// A path of kind `P` that stands at `N`.
pub struct At<P, N>(PhantomData<fn() -> (P, N)>);

/// A place in a path at which its partition is named, so that terminals can run.
pub trait InPartition: 'static {}

// Types, and not numbers: a number in a type is a constant of its own, which rustc checks and evaluates as a function.
macro_rules! places {
    ($($doc:literal $place:ident)*) => {$(
        #[doc = $doc]
        pub enum $place {}
    )*};
}

places! {
    "Nothing is given." Partition0
    "One component of the partition is given." Partition1
    "Two components of the partition are given." Partition2
    "Three components of the partition are given." Partition3
    "The partition is given." Row0
    "The partition and one component of the row are given." Row1
    "The partition and two components of the row are given." Row2
    "The partition and three components of the row are given." Row3
    "The partition and four components of the row are given." Row4
    "The partition and five components of the row are given." Row5
    "A range or a prefix is given: only terminals follow." Ended
    "Every component is given, and they name one key." FullKey
}

macro_rules! in_partition {
    ($($place:ident)*) => { $(impl InPartition for $place {})* };
}

in_partition!(Row0 Row1 Row2 Row3 Row4 Row5 Ended FullKey);

/// One component more than `N`.
pub struct More<N>(PhantomData<fn() -> N>);

impl<N: InPartition> InPartition for More<N> {}

/// The state of a path.
pub trait PathState: 'static {
    /// Which path.
    type Kind: PathKind;
}

impl<P: PathKind, N: 'static> PathState for At<P, N> {
    type Kind = P;
}

/// The path names its partition, so that terminals can run.
#[diagnostic::on_unimplemented(
    message = "this path does not name its partition yet",
    label = "the fields of the partition key come first",
    note = "a query without the whole partition key would scan the table"
)]
pub trait Ranged {}

/// The path names one key.
#[diagnostic::on_unimplemented(
    message = "this path is not a full key yet",
    label = "needs every key component",
    note = "the name of the path's type says which components there are, in their order: give the missing ones, or use `.all(..)`, `.first(..)`, `.page(..)` or `.stream(..)`"
)]
pub trait Complete {}

/// The path lacks exactly its last component, of which `A` is a value.
#[diagnostic::on_unimplemented(
    message = "`get_many` takes the values of the last key component, and this path does not stop right before it",
    label = "give every component but the last",
    note = "the name of the path's type says which components there are, in their order"
)]
pub trait LacksLast<A> {
    /// How the path is given its last component.
    const COMPLETE: fn(PathQuery, A) -> PathQuery;
}

/// The path of kind `Self` lacks exactly its last component at `N`. Implemented by generated code: for every value, since the
/// type of the component may be private, and that of an associated item may not.
#[diagnostic::on_unimplemented(
    message = "`get_many` takes the values of the last key component, and this path does not stop right before it",
    label = "give every component but the last",
    note = "the name of the path's type says which components there are, in their order"
)]
pub trait LacksLastAt<N, A> {
    /// How the path is given its last component.
    const COMPLETE: fn(PathQuery, A) -> PathQuery;
}

#[diagnostic::do_not_recommend]
impl<P: PathKind, N: InPartition> Ranged for At<P, N> {}

#[diagnostic::do_not_recommend]
impl<P: PathKind> Complete for At<P, FullKey> {}

// Recommended, unlike the others: who gives a value of another type is told so by what this rests on.
impl<P: LacksLastAt<N, A>, N, A> LacksLast<A> for At<P, N> {
    const COMPLETE: fn(PathQuery, A) -> PathQuery = P::COMPLETE;
}

/// The rows of path `Self` carry the property whose name hashes to `H` (see [`name_hash`]). Implemented by generated
/// code: for every `H` on primary paths and whole-copy indexes, for the kept and key properties on the others.
pub trait Carries<const H: u64> {}

/// A projection whose every field path `K` carries. Implemented by `#[derive(Projection)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be selected from this path",
    label = "the path's rows do not carry every field of `{Self}`"
)]
pub trait SelectFrom<K> {}

/// FNV-1a of a property's name: how types of two derives speak of one property.
pub const fn name_hash(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut rest: &[u8] = bytes;
    while let [first, tail @ ..] = rest {
        hash = (hash ^ *first as u64).wrapping_mul(0x0000_0100_0000_01b3);
        rest = tail;
    }
    hash
}

/// Scans of an entity are allowed. Implemented by `#[table(allow_scan)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not allow scans",
    label = "a scan reads every row of the partition or table",
    note = "query by a key path, declare an index, or say `#[table(allow_scan)]` on `{Self}`"
)]
pub trait AllowScan<A> {}

#[cfg(test)]
mod tests {
    use super::name_hash;

    #[test]
    fn a_name_has_the_hash_that_the_derive_gives_it() {
        // The derive's test has the same numbers.
        assert_eq!(name_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(name_hash("FirstName"), 0xf118_4301_4b9b_683a);
    }
}
