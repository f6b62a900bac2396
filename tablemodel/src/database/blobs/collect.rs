//! Collecting: blobs that no row links are marked, and deleted when the mark is as old as the grace period.
//!
//! The one place that deletes a blob. Why a live one never is: its name is never used again, so that once unlinked it
//! stays so; a writer commits within half the grace period after an upload, or after it saw the link, or not at all; and
//! a blob is deleted only after it was found unlinked twice, a grace period apart. All times are the object store's.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use futures_util::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStoreExt};

use super::{Blobs, failed, owner::Tables, path, sweep::sweep};
use crate::{
    blob::{
        Place,
        name::{self, Named},
    },
    error::Result,
};

/// Blobs that are looked at together.
const CONCURRENT: usize = 16;
/// Written to learn the time by the object store's clock. No folder of a table is called so.
const PROBE: &str = "=now";

/// What collecting found and did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Collected {
    /// Blobs looked at.
    pub examined: u64,
    /// Those that a row links.
    pub linked: u64,
    /// Those uploaded less than the grace period ago: their row may be on its way.
    pub young: u64,
    /// Those that no row links, and that readers may still be about to fetch.
    pub waiting: u64,
    /// Those deleted.
    pub deleted: u64,
    /// The bytes of those deleted.
    pub deleted_bytes: u64,
    /// Files that uploads left which a crash cut short, deleted: of blobs in a folder alone. Services have rules of their
    /// own for such uploads, to be turned on there.
    pub cut_short: u64,
    /// Objects in the folders of the model's tables that are no blobs of the framework; left alone.
    pub foreign: u64,
}

/// One walk over a folder.
#[derive(Clone, Copy)]
struct Walk<'a> {
    place: &'a Place,
    now: DateTime<Utc>,
    deletes: bool,
    tables: &'a Tables,
}

/// What became of an object.
enum Look {
    /// A record or a mark that belongs to a blob.
    Beside,
    Foreign,
    Young,
    Linked,
    Waiting,
    Deleted(u64),
}

impl Blobs {
    /// Deletes blobs that no row has linked for a grace period: those of entities that were changed or deleted, and
    /// what failed writes left.
    ///
    /// A blob that is found unlinked is marked, and deleted by a later call, a grace period (1 hour, see
    /// [`blob_grace`](crate::DatabaseBuilder::blob_grace)) or more after that; so call it at intervals. Can run while the
    /// database is in use, by several programs, and be cut short at any point: the next call goes on.
    /// Cost: two requests of the object store, a listing of the model's tables, and for each blob older than the grace period a request for its mark and
    /// a point read of its row; one more to mark it, five or more to delete it. Memory for one page of the listing.
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
    /// # let photo = Blob::from(vec![7; 100_000]);
    /// # db.insert(&Employee { department: "Sales".into(), id: 1, photo }).await?;
    /// let collected = db.blobs().collect().await?;
    /// assert_eq!((collected.examined, collected.deleted), (1, 0));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of both stores; `Denied` for a database opened read-only; `NotFound` if a table of the model is not there.
    pub async fn collect(&self) -> Result<Collected> {
        self.db.check_writable()?;
        let collected = self.walk(true).await?;
        tracing::debug!(target: "tablemodel::blobs", ?collected, "collected blobs");
        Ok(collected)
    }

    /// Counts as [`Blobs::collect`] does, but marks and deletes nothing: what it would is `waiting`. Where the database may write, the
    /// object store is asked for its time by an empty object. Cost: as `collect`, without the requests for marks.
    ///
    /// # Errors
    ///
    /// Those of [`Blobs::collect`], but it may be read-only.
    pub async fn count(&self) -> Result<Collected> {
        self.walk(false).await
    }

    async fn walk(&self, deletes: bool) -> Result<Collected> {
        let place = self.db.place()?;
        let now = self.now(place).await?;
        let mut collected = Collected::default();
        let tables = self.db.blob_tables().await?;
        let walk = Walk { place, now, deletes, tables: &tables };
        for folder in self.folders(&tables) {
            let objects = place.store.list(Some(&path(&folder)?)).map_err(failed);
            let looks = objects.map(|meta| async { self.look(walk, meta?).await });
            let mut looks = std::pin::pin!(looks.buffer_unordered(CONCURRENT));
            while let Some(look) = looks.try_next().await? {
                collected.add(look);
            }
        }
        if let Some(folder) = place.folder.clone().filter(|_| deletes) {
            let grace = place.grace;
            let sweep = move || sweep(&folder, now.into(), grace);
            collected.cut_short = match tokio::runtime::Handle::try_current() {
                Ok(runtime) => runtime.spawn_blocking(sweep).await.unwrap_or_default(),
                Err(_) => sweep(),
            };
        }
        Ok(collected)
    }

    /// The folders of the model's tables, and of those that its entities have left.
    fn folders(&self, tables: &Tables) -> BTreeSet<String> {
        let model = self.db.model();
        let model = model.iter().map(|schema| self.db.table_name(schema.table));
        model.chain(tables.left.iter().cloned()).map(|table| name::folder(&table)).collect()
    }

    /// The time by the clock that dates blobs; by one's own where nothing may be written.
    async fn now(&self, place: &Place) -> Result<DateTime<Utc>> {
        if self.db.check_writable().is_err() {
            let micros = i64::try_from(self.db.environment().clock.now().unix_nanos() / 1_000);
            return Ok(micros.ok().and_then(DateTime::from_timestamp_micros).unwrap_or_default());
        }
        let probe = path(PROBE)?;
        place.store.put(&probe, Vec::new().into()).await.map_err(failed)?;
        Ok(place.store.head(&probe).await.map_err(failed)?.last_modified)
    }

    async fn look(&self, walk: Walk<'_>, meta: ObjectMeta) -> Result<Look> {
        let Walk { place, now, deletes, tables } = walk;
        let name = meta.location.as_ref();
        let owner = match name::parse(name) {
            Some(Named::Blob(owner)) => owner,
            Some(Named::Gone(blob)) if deletes => return self.clear_mark(walk, &blob).await,
            Some(Named::Gone(_) | Named::Keys) => return Ok(Look::Beside),
            None => return Ok(Look::Foreign),
        };
        if is_young(place, &meta, now) {
            return Ok(Look::Young);
        }
        // The mark is read before the row: what is deleted was unlinked before, and is unlinked still.
        let mark = match deletes {
            true => head(place, &name::mark_of(name)).await?,
            false => None,
        };
        if self.db.is_linked(name, &owner, tables).await? {
            return Ok(Look::Linked);
        }
        match mark {
            _ if !deletes => Ok(Look::Waiting),
            Some(mark) if !is_young(place, &mark, now) => {
                for gone in [name::keys_of(name), name.to_owned()] {
                    delete(place, &gone).await?;
                }
                forget_moves(place, name).await?;
                delete(place, &name::mark_of(name)).await?;
                Ok(Look::Deleted(meta.size))
            }
            Some(_) => Ok(Look::Waiting),
            None => {
                place.store.put(&path(&name::mark_of(name))?, Vec::new().into()).await.map_err(failed)?;
                Ok(Look::Waiting)
            }
        }
    }

    /// Takes a mark away whose blob is not there, or linked after all.
    async fn clear_mark(&self, Walk { place, tables, .. }: Walk<'_>, blob: &str) -> Result<Look> {
        let is_there = head(place, blob).await?.is_some();
        let waits = match name::parse(blob) {
            Some(Named::Blob(owner)) if is_there => !self.db.is_linked(blob, &owner, tables).await?,
            _ => false,
        };
        if !is_there {
            forget_moves(place, blob).await?;
        }
        if !waits {
            delete(place, &name::mark_of(blob)).await?;
        }
        Ok(Look::Beside)
    }
}

/// Deletes the records of where the links of a blob moved that is gone. While one of them is there, so are those before it.
async fn forget_moves(place: &Place, blob: &str) -> Result<()> {
    let mut moves = 0;
    while head(place, &name::moved_of(blob, moves + 1)).await?.is_some() {
        moves += 1;
    }
    for number in (1..=moves).rev() {
        delete(place, &name::moved_of(blob, number)).await?;
    }
    Ok(())
}

fn is_young(place: &Place, object: &ObjectMeta, now: DateTime<Utc>) -> bool {
    // One dated after now has no age: it is young.
    let age = now.signed_duration_since(object.last_modified).to_std();
    age.map_or(true, |age| age < place.grace)
}

/// The object, if it is there.
async fn head(place: &Place, name: &str) -> Result<Option<ObjectMeta>> {
    match place.store.head(&path(name)?).await {
        Ok(meta) => Ok(Some(meta)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

async fn delete(place: &Place, name: &str) -> Result<()> {
    match place.store.delete(&path(name)?).await {
        Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

impl Collected {
    fn add(&mut self, look: Look) {
        let count = match look {
            Look::Beside => return,
            Look::Foreign => {
                self.foreign += 1;
                return;
            }
            Look::Young => &mut self.young,
            Look::Linked => &mut self.linked,
            Look::Waiting => &mut self.waiting,
            Look::Deleted(bytes) => {
                self.deleted_bytes += bytes;
                &mut self.deleted
            }
        };
        *count += 1;
        self.examined += 1;
    }
}
