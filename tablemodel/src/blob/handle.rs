//! The handle of a large value: bytes or a stream on their way into a blob, or the link to a blob that is there.
//!
//! It holds no database; what is fetched is fetched by `database::blobs`.

use std::{
    fmt,
    hash::Hasher,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::ObjectStore;
use twox_hash::XxHash3_64;

use crate::{
    database::since::Since,
    error::{Error, ErrorKind, Result},
    property::ValueError,
    upgrade::UpgradeError,
};

/// What is read piece by piece.
pub(crate) type Source = BoxStream<'static, Result<Bytes>>;

/// A large value: the type of a field with `#[table(blob)]`. Cheap to clone; clones share everything.
///
/// Made from bytes or from a stream, it is uploaded when the entity is written. Read back with an entity it is a link:
/// nothing is fetched before [`Blob::bytes`] or [`Blob::stream`] is asked for. It does not change: to change a value,
/// put a new `Blob` into the field.
///
/// Two blobs are equal if their contents are of one length and checksum; one whose length is not known yet (a stream
/// that was not written) is equal to its clones alone.
#[derive(Clone)]
pub struct Blob(Arc<Inner>);

struct Inner {
    bytes: Option<Bytes>,
    stream: Mutex<Option<Source>>,
    /// Why what the stream held could not be written, the first time.
    failure: Mutex<Option<Error>>,
    /// The blob that it is, or was last uploaded to, and that upload.
    link: Mutex<Option<(Link, Option<Upload>)>>,
    /// Whether an upgrade asked for the content, which was not at hand.
    is_asked: AtomicBool,
}

/// When and where to a blob was uploaded.
struct Upload {
    began: Since,
    to: Weak<dyn ObjectStore>,
}

/// A blob that is there, as a row names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) length: u64,
    /// XXH3, 64 bits, seed 0, of the content.
    pub(crate) sum: u64,
}

impl Blob {
    fn new(bytes: Option<Bytes>, stream: Option<Source>, link: Option<Link>) -> Self {
        let link = link.map(|link| (link, None));
        Self(Arc::new(Inner {
            bytes,
            stream: Mutex::new(stream),
            failure: Mutex::new(None),
            link: Mutex::new(link),
            is_asked: AtomicBool::new(false),
        }))
    }

    /// A value that is read while it is uploaded, 8 MiB at a time, when its entity is written.
    ///
    /// A stream can be read once, also where the `Blob` stands in several fields. Where the write fails after it (`Conflict`, `AlreadyExists`), writing the same `Blob`
    /// again takes what was uploaded, as long as that was not collected. Where the stream itself or the upload failed,
    /// the `Blob` is spent: make it anew.
    ///
    /// ```
    /// # use tablemodel::Blob;
    /// use futures_util::stream;
    ///
    /// let pieces = stream::iter([Ok(vec![1, 2]), Ok(vec![3])]);
    /// let blob = Blob::from_stream::<_, _, std::io::Error>(pieces);
    /// assert_eq!(blob.length(), None);
    /// ```
    pub fn from_stream<S, B, E>(stream: S) -> Self
    where
        S: Stream<Item = std::result::Result<B, E>> + Send + 'static,
        B: Into<Bytes> + 'static,
        E: std::error::Error + Send + Sync + 'static,
    {
        let source = stream.map_ok(Into::into).map_err(unreadable);
        Self::new(None, Some(source.boxed()), None)
    }

    pub(crate) fn stored(link: Link) -> Self {
        Self::new(None, None, Some(link))
    }

    /// The length in bytes; `None` for a stream that was not written yet.
    pub fn length(&self) -> Option<u64> {
        match &self.0.bytes {
            Some(bytes) => Some(bytes.len() as u64),
            None => self.link().map(|link| link.length),
        }
    }

    /// The name of the blob in its object store: what other programs find it by. `None` if it is kept in the row, or
    /// was not written yet.
    pub fn name(&self) -> Option<String> {
        self.link().map(|link| link.name)
    }

    /// The content, for an [`Upgrade`](crate::Upgrade) to a version that keeps it in another way, or needs to look at it.
    ///
    /// What is not in the row is fetched by whoever reads or writes the entity, and the upgrade is called once more with the content
    /// at hand: so it stays pure. Cost: one request a blob for each read of the row, until it is written as new; the content in memory.
    ///
    /// ```
    /// # use tablemodel::{Blob, Upgrade, UpgradeError, prelude::*};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Notes", entity_type = "Note", frozen, partition = "{p}", row = "{id}")]
    /// # struct NoteV1 { p: String, id: u32, #[table(blob)] body: Blob }
    /// #[derive(TableEntity)]
    /// #[table(name = "Notes", version = 2, previous = NoteV1, partition = "{p}", row = "{id}")]
    /// struct Note { p: String, id: u32, #[table(chunked)] body: Vec<u8> }
    ///
    /// impl Upgrade<NoteV1> for Note {
    ///     fn upgrade(NoteV1 { p, id, body }: NoteV1) -> Result<Self, UpgradeError> {
    ///         Ok(Self { p, id, body: body.content()?.to_vec() })
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Where the content is not at hand: return it. Anywhere but in an upgrade use [`Blob::bytes`], which fetches.
    pub fn content(&self) -> std::result::Result<Bytes, UpgradeError> {
        if let Some(bytes) = self.at_hand() {
            return Ok(bytes.clone());
        }
        self.0.is_asked.store(true, Ordering::Relaxed);
        Err(match self.link() {
            Some(link) => UpgradeError::asking(link),
            None => UpgradeError::new("the content of a stream is not at hand"),
        })
    }

    /// The link whose content was asked for, and was not at hand.
    pub(crate) fn asked(&self) -> Option<Link> {
        self.link().filter(|_| self.0.is_asked.load(Ordering::Relaxed))
    }

    /// The content, where no fetching is needed.
    pub(crate) fn at_hand(&self) -> Option<&Bytes> {
        self.0.bytes.as_ref()
    }

    pub(crate) fn link(&self) -> Option<Link> {
        locked(&self.0.link).as_ref().map(|(link, _)| link.clone())
    }

    /// What this handle uploaded last, if that was to this store, and when it began.
    pub(crate) fn uploaded(&self, to: &Arc<dyn ObjectStore>) -> Option<(Link, Since)> {
        let locked = locked(&self.0.link);
        let (link, upload) = locked.as_ref()?;
        let upload = upload.as_ref().filter(|upload| std::ptr::addr_eq(upload.to.as_ptr(), Arc::as_ptr(to)))?;
        Some((link.clone(), upload.began))
    }

    pub(crate) fn set_uploaded(&self, link: Link, began: Since, to: &Arc<dyn ObjectStore>) {
        *locked(&self.0.link) = Some((link, Some(Upload { began, to: Arc::downgrade(to) })));
    }

    /// The stream, for whoever asks first.
    pub(crate) fn take_stream(&self) -> Option<Source> {
        locked(&self.0.stream).take()
    }

    /// Notes that what the stream held could not be written.
    pub(crate) fn has_failed(&self, error: &Error) {
        locked(&self.0.failure).get_or_insert_with(|| error.clone());
    }

    /// Why it was not.
    pub(crate) fn failure(&self) -> Option<Error> {
        locked(&self.0.failure).clone()
    }

    /// Gives back what the stream held, where that was not uploaded: it can be read once more.
    pub(crate) fn give_back(&self, content: Bytes) {
        if self.0.bytes.is_none() {
            *locked(&self.0.stream) = Some(futures_util::stream::iter([Ok(content)]).boxed());
        }
    }

    /// Whether both are one handle.
    pub(crate) fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Length and checksum of the content.
    fn digest(&self) -> Option<(u64, u64)> {
        match &self.0.bytes {
            Some(bytes) => Some((bytes.len() as u64, Sum::of(bytes))),
            None => self.link().map(|link| (link.length, link.sum)),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let detail = "the stream that a blob was made from failed; make the blob anew";
    Error::new(ErrorKind::Invalid, detail).caused_by(error)
}

/// The checksum of a content that comes in pieces.
pub(crate) struct Sum(XxHash3_64);

impl Sum {
    pub(crate) fn new() -> Self {
        Self(XxHash3_64::with_seed(0))
    }

    pub(crate) fn of(bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot(bytes)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.finish()
    }
}

impl From<Bytes> for Blob {
    fn from(bytes: Bytes) -> Self {
        Self::new(Some(bytes), None, None)
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        Bytes::copy_from_slice(bytes).into()
    }
}

impl Default for Blob {
    fn default() -> Self {
        Bytes::new().into()
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Self) -> bool {
        if self.is_clone_of(other) {
            return true;
        }
        match (&self.0.bytes, &other.0.bytes) {
            (Some(own), Some(others)) => own == others,
            _ => self.length() == other.length() && self.digest().is_some_and(|own| Some(own) == other.digest()),
        }
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.length(), self.name()) {
            (Some(length), Some(name)) => write!(f, "Blob({length} bytes, {name})"),
            (Some(length), None) => write!(f, "Blob({length} bytes)"),
            (None, _) => f.write_str("Blob(a stream)"),
        }
    }
}

/// What a field with `#[table(blob)]` may be: `Blob` or `Option<Blob>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be kept as a blob",
    label = "not a blob",
    note = "the type of a field with `blob` is `Blob` or `Option<Blob>`"
)]
pub trait BlobValue: Sized + Send + Sync + 'static {
    /// Whether there may be none.
    const NULLABLE: bool;

    /// The blob.
    fn blob(&self) -> Option<&Blob>;

    /// The value of a field that holds this.
    ///
    /// # Errors
    ///
    /// `Missing` for a `Blob` that is not there.
    fn from_blob(blob: Option<Blob>) -> std::result::Result<Self, ValueError>;
}

impl BlobValue for Blob {
    const NULLABLE: bool = false;

    fn blob(&self) -> Option<&Blob> {
        Some(self)
    }

    fn from_blob(blob: Option<Blob>) -> std::result::Result<Self, ValueError> {
        blob.ok_or(ValueError::Missing)
    }
}

impl BlobValue for Option<Blob> {
    const NULLABLE: bool = true;

    fn blob(&self) -> Option<&Blob> {
        self.as_ref()
    }

    fn from_blob(blob: Option<Blob>) -> std::result::Result<Self, ValueError> {
        Ok(blob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_that_of_contents() {
        let (a, b) = (Blob::from(vec![1, 2]), Blob::from(&[1, 2][..]));
        let link = Link { name: "n".to_owned(), length: 2, sum: Sum::of(&[1, 2]) };
        assert_eq!(a, b);
        assert_eq!(a, Blob::stored(link.clone()));
        assert_ne!(a, Blob::stored(Link { sum: 1, ..link }));
        assert_ne!(a, Blob::default());
        let stream = || Blob::from_stream::<_, Vec<u8>, std::io::Error>(futures_util::stream::empty());
        let unread = stream();
        assert_eq!(unread, unread.clone());
        assert_ne!(unread, stream());
    }

    #[test]
    fn a_sum_of_pieces_is_that_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
        let mut sum = Sum::new();
        for piece in bytes.chunks(77) {
            sum.add(piece);
        }
        assert_eq!(sum.total(), Sum::of(&bytes));
    }

    #[test]
    fn no_content_is_shown() {
        assert_eq!(format!("{:?}", Blob::from(b"secret".to_vec())), "Blob(6 bytes)");
    }
}
