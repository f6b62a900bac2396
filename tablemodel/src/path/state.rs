//! The type states of a typed path: where it stands, what may come next, which terminals it has reached.
//!
//! Only types and bounds live here; the messages of these traits are what a user sees when a path is wrong.

use std::marker::PhantomData;

use crate::{
    entity::TableEntity,
    key::KeyPart,
    path::{found::Found, query::Component},
};

/// The position after a range or a prefix: only terminals follow.
pub const END: usize = usize::MAX;

/// One way to reach an entity: its primary key, or one of its indexes. Implemented by generated markers.
pub trait PathKind: 'static {
    /// The entity.
    type Entity: TableEntity;
    /// What its terminals give: [`Stored`](crate::Stored), or [`Seen`](crate::Seen) for a whole-copy index.
    type Found: Found<Entity = Self::Entity>;
    /// The index in the schema's list; `None` for the primary key.
    const INDEX: Option<usize>;
    /// The components that the path's methods take, in order: partition first.
    const COMPONENTS: &'static [Component];
}

/// A path of kind `P` of which `N` components are given.
pub struct At<P, const N: usize>(PhantomData<fn() -> P>);

/// The state of a path.
pub trait PathState: 'static {
    /// Which path.
    type Kind: PathKind;
}

impl<P: PathKind, const N: usize> PathState for At<P, N> {
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
    note = "give the missing components, or use `.all(..)`, `.first(..)`, `.page(..)` or `.stream(..)`"
)]
pub trait Complete {}

/// The path lacks exactly its last component.
#[diagnostic::on_unimplemented(
    message = "`get_many` takes the values of the last key component, and this path does not stop right before it",
    label = "give every component but the last"
)]
pub trait LacksLast {
    /// The type of the last component.
    type Last: KeyPart;
}

/// The path of kind `Self` names its partition once `N` components are given. Implemented by generated code.
#[diagnostic::on_unimplemented(
    message = "this path does not name its partition yet",
    label = "the fields of the partition key come first",
    note = "a query without the whole partition key would scan the table"
)]
pub trait RangedAt<const N: usize> {}

/// The path of kind `Self` is a full key once `N` components are given. Implemented by generated code.
#[diagnostic::on_unimplemented(
    message = "this path is not a full key yet",
    label = "needs every key component",
    note = "give the missing components, or use `.all(..)`, `.first(..)`, `.page(..)` or `.stream(..)`"
)]
pub trait CompleteAt<const N: usize> {}

/// The path of kind `Self` lacks exactly its last component once `N` are given. Implemented by generated code.
#[diagnostic::on_unimplemented(
    message = "`get_many` takes the values of the last key component, and this path does not stop right before it",
    label = "give every component but the last"
)]
pub trait LacksLastAt<const N: usize> {
    /// The type of the last component.
    type Last: KeyPart;
}

#[diagnostic::do_not_recommend]
impl<P: RangedAt<N>, const N: usize> Ranged for At<P, N> {}

#[diagnostic::do_not_recommend]
impl<P: CompleteAt<N>, const N: usize> Complete for At<P, N> {}

#[diagnostic::do_not_recommend]
impl<P: LacksLastAt<N>, const N: usize> LacksLast for At<P, N> {
    type Last = P::Last;
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
