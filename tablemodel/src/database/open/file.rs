//! A database on a file: its own options, how it is opened, and the store that it is on.
//!
//! Databases on other stores are opened in the module above, which refuses what only a file has.

use std::{path::Path, sync::Arc};

use tablemodel_store::{Durability, EmbeddedStore, EmbeddedStoreBuilder};

use super::DatabaseBuilder;
use crate::{
    database::Database,
    entity::TableModel,
    error::{Error, Result},
    schema::EntitySchema,
};

/// What was said of the file; the store knows what holds of the rest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FileOptions {
    durability: Option<Durability>,
    cache_bytes: Option<usize>,
    create: Option<bool>,
}

impl FileOptions {
    fn given_to(self, mut builder: EmbeddedStoreBuilder) -> EmbeddedStoreBuilder {
        if let Some(durability) = self.durability {
            builder = builder.durability(durability);
        }
        if let Some(bytes) = self.cache_bytes {
            builder = builder.cache_bytes(bytes);
        }
        if let Some(create) = self.create {
            builder = builder.create(create);
        }
        builder
    }

    /// That nothing was said, of a store that is open already or is no file.
    pub(super) fn check_unsaid(self) -> Result<()> {
        let Self { durability, cache_bytes, create } = self;
        let said =
            [durability.map(|_| "`durability`"), cache_bytes.map(|_| "`cache_bytes`"), create.map(|_| "`create`")];
        let said: Vec<_> = said.into_iter().flatten().collect();
        if said.is_empty() {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "{}: only a file that is opened by `open` has such options; leave them out, or give them to the `EmbeddedStore::builder()` \
             of the store, if it is one",
            said.join(", ")
        )))
    }
}

impl Database {
    /// Opens a file, and creates it if it is not there. Its tables come with [`ensure_tables`](Database::ensure_tables).
    ///
    /// Cost: about a millisecond (after a crash about 2 s per GB), and that of [`with_store`](DatabaseBuilder::with_store).
    ///
    /// # Errors
    ///
    /// `Denied` if another process has it open, or it may not be written; `Corrupt` if it is not such a file or is
    /// damaged; `Unsupported` if a newer version of the format wrote it; `Invalid` for a prefix with which a table has no legal name.
    pub async fn open<M: TableModel>(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open::<M>(path).await
    }

    /// The embedded store that the database is on, for what is the file's own: its [size and the rows of each table](EmbeddedStore::stats),
    /// the [proof that nothing in it is damaged](EmbeddedStore::check), [what is not on the disk yet](EmbeddedStore::flush), its
    /// [path](EmbeddedStore::path).
    ///
    /// None of a database in memory, or over a store that was given to [`with_store`](DatabaseBuilder::with_store), whatever that is.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let file = folder.path().join("company.tablemodel");
    /// let db = Database::open::<Company>(&file).await?;
    /// db.ensure_tables().await?;
    /// db.insert(&employee(1)).await?; // two rows: it has an index
    /// let store = db.embedded().unwrap();
    /// let stats = store.stats()?;
    /// let company = stats.tables.iter().find(|table| table.name == "Company").unwrap();
    /// assert!(company.rows == 2 && stats.file_bytes > 0);
    /// assert_eq!(store.check().await?, stats.tables.iter().map(|table| table.rows).sum::<u64>());
    /// # Ok(()) }) }
    /// ```
    pub fn embedded(&self) -> Option<&EmbeddedStore> {
        self.0.embedded.as_ref()
    }
}

/// Of a file.
impl DatabaseBuilder {
    /// What a write to the file waits for, by default the disk: see [durability](crate::keeping#durability).
    ///
    /// For [`open`](Self::open) alone. Of another store, or one that is open already, opening tells that it is `Unsupported`.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let file = folder.path().join("company.tablemodel");
    /// use tablemodel::store::Durability;
    ///
    /// let relaxed = Database::builder().durability(Durability::Relaxed);
    /// let error = relaxed.clone().in_memory::<Company>().await.unwrap_err();
    /// assert_eq!(*error.kind(), ErrorKind::Unsupported);
    /// let db = relaxed.open::<Company>(&file).await?;
    /// # db.ensure_tables().await?;
    /// db.insert(&employee(1)).await?; // on the disk a tenth of a second later
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.file.durability = Some(durability);
        self
    }

    /// Bytes of memory for what was read from the file (256 MiB), taken as they are needed: as
    /// [`cache_bytes`](EmbeddedStoreBuilder::cache_bytes) of the store. Reads are fastest while the rows in use fit in.
    ///
    /// For [`open`](Self::open) alone, as [`durability`](Self::durability).
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let file = folder.path().join("company.tablemodel");
    /// let db = Database::builder().cache_bytes(1 << 30).open::<Company>(&file).await?;
    /// # assert!(db.embedded().is_some());
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.file.cache_bytes = Some(bytes);
        self
    }

    /// Whether to create the file if there is none (yes). If not, and there is none, opening is `Denied`: a path that is wrong is then no
    /// empty database.
    ///
    /// For [`open`](Self::open) alone, as [`durability`](Self::durability).
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # fn main() -> tablemodel::Result<()> { tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let file = folder.path().join("company.tablemodel");
    /// let existing = Database::builder().create(false);
    /// let error = existing.clone().open::<Company>(&file).await.unwrap_err();
    /// assert_eq!(*error.kind(), ErrorKind::Denied);
    /// Database::open::<Company>(&file).await?.close().await?;
    /// assert!(existing.open::<Company>(&file).await.is_ok());
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.file.create = Some(create);
        self
    }

    /// Opens a file; see [`Database::open`].
    pub async fn open<M: TableModel>(self, path: impl AsRef<Path>) -> Result<Database> {
        self.open_file(M::ENTITIES, path.as_ref()).await
    }

    /// The same, for entities that may be of several models.
    pub(crate) async fn open_file(
        mut self,
        entities: &'static [&'static EntitySchema],
        path: &Path,
    ) -> Result<Database> {
        self.check_prefix(entities)?; // before there is a file
        let options = std::mem::take(&mut self.file);
        let builder = EmbeddedStore::builder().clock(self.environment.clock.clone()).read_only(self.read_only);
        let embedded = options.given_to(builder).open_async(path).await?;
        self.on_embedded(entities, embedded).await
    }

    /// On an embedded store that the program has opened itself. It has a clock and options of its own, and is read-only if it was
    /// opened so. One `Database` writes to it at a time: share clones of that. Cost and errors: as [`with_store`](Self::with_store).
    pub async fn with_embedded<M: TableModel>(self, store: EmbeddedStore) -> Result<Database> {
        self.on_embedded(M::ENTITIES, store).await
    }

    #[cfg_attr(not(feature = "blob"), expect(unused_mut, reason = "only blobs have a place that follows the file"))]
    async fn on_embedded(
        mut self,
        entities: &'static [&'static EntitySchema],
        store: EmbeddedStore,
    ) -> Result<Database> {
        #[cfg(feature = "blob")]
        store.path().into_iter().for_each(|path| self.blobs.or_beside(path));
        let mut inner = self.inner(entities, Arc::new(store.clone()))?;
        inner.embedded = Some(store);
        inner.start().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_file_is_given_to_its_store_and_the_rest_left_to_it() {
        let told = |options: FileOptions| format!("{:?}", options.given_to(EmbeddedStore::builder()));
        let builder = Database::builder().durability(Durability::Bulk).cache_bytes(12_345).create(false);
        let all = told(builder.file);
        for words in ["durability: Bulk", "cache_bytes: 12345", "create: false"] {
            assert!(all.contains(words), "{all}");
        }
        assert_eq!(told(Database::builder().file), format!("{:?}", EmbeddedStore::builder()));
    }
}
