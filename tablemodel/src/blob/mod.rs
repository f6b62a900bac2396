//! Values kept as blobs beside the table: the handle, how it lies in a row, what blobs are called, where they live.
//!
//! Nothing is read or written here but by `memory`, which is an object store itself; see `database::blobs`.

mod field;
mod handle;
mod memory;
pub(crate) mod name;
mod options;

pub use bytes::Bytes;
pub use object_store::{self, ObjectStore};

#[cfg(feature = "embedded")]
pub(crate) use self::options::{Beside, folder_beside, local};
pub use self::{
    field::{BlobField, BlobNames, PatchBlob},
    handle::{Blob, BlobValue},
    memory::MemoryBlobs,
};
pub(crate) use self::{
    field::{Pending, Placed},
    handle::{Link, Source, Sum},
    options::{Options, Place},
};

/// Bytes of a blob that are uploaded at a time; services ask for 5 MiB at least.
pub(crate) const PART_BYTES: usize = 8 * 1024 * 1024;
