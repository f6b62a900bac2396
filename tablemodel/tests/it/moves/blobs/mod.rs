//! An entity with blobs that moves to other keys, in another table: the blobs stay, and whoever links one keeps it.

mod beside;
mod crashes;
mod of_several;
mod onward;
mod people;
mod releases;
mod to_several;
mod together;
mod unknown;
mod upgrades;
mod whole;

pub(super) use self::people::*;
use releases::releases;

releases!("Members");
