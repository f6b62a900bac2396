//! Blobs in memory, dated by an injected clock: beside a database in memory, and for tests.
//!
//! All but the dates is `object_store`'s own store in memory.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};
use tablemodel_store::clock::Clock;

/// An object store in memory whose objects are as old as a [`Clock`] says. Clones are one store.
#[derive(Clone)]
pub struct MemoryBlobs {
    objects: InMemory,
    /// When each was last written.
    dates: Arc<Mutex<HashMap<Path, DateTime<Utc>>>>,
    clock: Arc<dyn Clock>,
}

impl MemoryBlobs {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { objects: InMemory::new(), dates: Arc::default(), clock }
    }

    /// A store of its own that holds what this one holds now, on this clock.
    #[cfg(feature = "testing")]
    pub(crate) fn fork(&self, clock: Arc<dyn Clock>) -> Self {
        let dates = self.dates.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { objects: self.objects.fork(), dates: Arc::new(Mutex::new(dates)), clock }
    }

    fn date(&self, path: &Path) {
        let now = self.clock.now().unix_nanos() / 1_000;
        let now = i64::try_from(now).ok().and_then(DateTime::from_timestamp_micros);
        let mut dates = self.dates.lock().unwrap_or_else(PoisonError::into_inner);
        dates.insert(path.clone(), now.unwrap_or_default());
    }

    fn dated(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let dates = self.dates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(date) = dates.get(&meta.location) {
            meta.last_modified = *date;
        }
        meta
    }
}

impl fmt::Debug for MemoryBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryBlobs")
    }
}

impl fmt::Display for MemoryBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryBlobs")
    }
}

#[async_trait]
impl ObjectStore for MemoryBlobs {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let put = self.objects.put_opts(location, payload, options).await?;
        self.date(location);
        Ok(put)
    }

    /// The object is as old as the beginning of its upload, as some services have it.
    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.date(location);
        self.objects.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let result = self.objects.get_opts(location, options).await?;
        Ok(GetResult { meta: self.dated(result.meta.clone()), ..result })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let store = self.clone();
        self.objects.list(prefix).map_ok(move |meta| store.dated(meta)).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut listed = self.objects.list_with_delimiter(prefix).await?;
        listed.objects = listed.objects.into_iter().map(|meta| self.dated(meta)).collect();
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await?;
        self.date(to);
        Ok(())
    }
}
