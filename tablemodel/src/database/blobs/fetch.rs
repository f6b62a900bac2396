//! Fetching: a blob's content as a whole or in pieces, its length and checksum compared with what the row says.
//!
//! Nothing is written here.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::{GetOptions, GetRange, ObjectStoreExt};

use super::{failed, path};
use crate::{
    blob::{Blob, Link, Source, Sum},
    database::Database,
    error::{Error, ErrorKind, Result},
    path::{Results, Running},
};

/// Bytes that one request of a stream fetches.
const PIECE_BYTES: u64 = 8 * 1024 * 1024;

impl Blob {
    /// The content. Cost: none for a value that is kept in the row or was made from bytes; else one request, and the
    /// content in memory.
    ///
    /// # Errors
    ///
    /// `Corrupt` if the content is not of the length and checksum that the row says, or is not there though the row
    /// links it; `NotFound` if the entity was changed or deleted after it was read, and the blob was collected: read it
    /// again. `Invalid` for a stream that was not written yet; `Unsupported` where the database has no place for blobs; `Unavailable`
    /// and `Denied` of the object store.
    pub fn bytes(&self, db: &Database) -> Running<Bytes> {
        let (blob, db) = (self.clone(), db.clone());
        Box::pin(async move {
            match blob.at_hand() {
                Some(bytes) => Ok(bytes.clone()),
                None => db.fetch_whole(blob.link().ok_or_else(unwritten)?).await,
            }
        })
    }

    /// The content in pieces of at most 8 MiB. Cost: one request a piece; memory for one of them.
    ///
    /// The checksum is known at the end: where it is wrong, the last item is `Corrupt`, after pieces that were given.
    ///
    /// ```
    /// # use tablemodel::prelude::*;
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
    /// # struct Employee { department: String, id: u32, #[table(blob)] photo: Blob }
    /// # #[derive(TableModel)]
    /// # enum Company { Employee(Employee) }
    /// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let db = Database::in_memory::<Company>().await?;
    /// # db.ensure_tables().await?;
    /// use futures_util::TryStreamExt;
    ///
    /// let photo = Blob::from(vec![7; 100_000]);
    /// let stored = db.insert(&Employee { department: "Sales".into(), id: 1, photo }).await?;
    /// let mut length = 0;
    /// let mut pieces = stored.photo.stream(&db);
    /// while let Some(piece) = pieces.try_next().await? {
    ///     length += piece.len();
    /// }
    /// assert_eq!(length, 100_000);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Blob::bytes`], as an item.
    pub fn stream(&self, db: &Database) -> Results<Bytes> {
        match (self.at_hand(), self.link()) {
            (Some(bytes), _) => stream::iter([Ok(bytes.clone())]).boxed(),
            (None, Some(link)) => db.fetch(link),
            (None, None) => stream::iter([Err(unwritten())]).boxed(),
        }
    }
}

fn unwritten() -> Error {
    Error::new(ErrorKind::Invalid, "the blob is a stream that was not written yet; write its entity first")
}

impl Database {
    pub(in crate::database) async fn fetch_whole(&self, link: Link) -> Result<Bytes> {
        let bytes = self.fetch_range(&link, None).await?;
        match Sum::of(&bytes) == link.sum {
            true => Ok(bytes),
            false => Err(self.damaged(&link)),
        }
    }

    /// The content in pieces.
    pub(super) fn fetch(&self, link: Link) -> Source {
        let fetching = Some(Fetching { db: self.clone(), link, sum: Sum::new(), next: 0 });
        stream::try_unfold(fetching, |fetching| async move {
            match fetching {
                None => Ok(None),
                Some(fetching) => fetching.piece().await,
            }
        })
        .boxed()
    }

    /// A range of the content, or all of it; the length of the whole is compared each time.
    async fn fetch_range(&self, link: &Link, range: Option<GetRange>) -> Result<Bytes> {
        let store = &self.place()?.store;
        let at = path(&link.name)?;
        let bytes = match store.get_opts(&at, GetOptions { range, ..GetOptions::default() }).await {
            Ok(found) if found.meta.size != link.length => return Err(self.damaged(link)),
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        match bytes {
            Ok(bytes) => Ok(bytes),
            Err(object_store::Error::NotFound { .. }) => Err(self.missing(link).await),
            // A range beyond the end is refused in words of the store's own.
            Err(_) if store.head(&at).await.is_ok_and(|meta| meta.size != link.length) => Err(self.damaged(link)),
            Err(error) => Err(self.about(&link.name, failed(error))),
        }
    }

    fn damaged(&self, link: &Link) -> Error {
        let detail = format!("blob `{}` is not of the length and checksum that its row says", link.name);
        self.about(&link.name, Error::corrupt(detail))
    }
}

/// A stream on its way.
struct Fetching {
    db: Database,
    link: Link,
    sum: Sum,
    next: u64,
}

impl Fetching {
    /// The next piece and what is left; the last is given only if the whole is sound.
    async fn piece(mut self) -> Result<Option<(Bytes, Option<Self>)>> {
        let end = self.link.length.min(self.next + PIECE_BYTES);
        let range = (self.link.length > 0).then_some(GetRange::Bounded(self.next..end));
        let bytes = self.db.fetch_range(&self.link, range).await?;
        self.sum.add(&bytes);
        self.next += bytes.len() as u64;
        let is_short = self.next != end;
        let is_wrong = self.next == self.link.length && self.sum.total() != self.link.sum;
        if is_short || is_wrong {
            return Err(self.db.damaged(&self.link));
        }
        let rest = (self.next < self.link.length).then_some(self);
        Ok(Some((bytes, rest)))
    }
}
