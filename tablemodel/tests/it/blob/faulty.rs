//! An object store that counts its calls, and fails one of them: before it does anything, or after it did.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::{StreamExt, stream::BoxStream};
use tablemodel::blob::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart, path::Path,
};

/// When a call fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum When {
    Before,
    After,
}

#[derive(Debug, Clone)]
pub(crate) struct FaultyBlobs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn ObjectStore>,
    calls: AtomicUsize,
    fault: Mutex<Option<(usize, When)>>,
    course: Option<Arc<dyn Course>>,
}

/// What happens to each call on its way: asked before it is carried out, and before it is answered.
#[async_trait::async_trait]
pub(crate) trait Course: fmt::Debug + Send + Sync + 'static {
    async fn goes_on(&self) -> Result<()>;
}

impl FaultyBlobs {
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self(Arc::new(Inner { store, calls: AtomicUsize::new(0), fault: Mutex::new(None), course: None }))
    }

    /// One whose calls take this course.
    pub(crate) fn by(store: Arc<dyn ObjectStore>, course: impl Course) -> Self {
        let course: Option<Arc<dyn Course>> = Some(Arc::new(course));
        Self(Arc::new(Inner { store, calls: AtomicUsize::new(0), fault: Mutex::new(None), course }))
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }

    /// Starts counting anew; the call of this number fails, and all after it.
    pub(crate) fn fail(&self, at: usize, when: When) {
        self.0.calls.store(0, Ordering::SeqCst);
        *self.0.fault.lock().unwrap() = Some((at, when));
    }

    pub(crate) fn heal(&self) {
        self.0.calls.store(0, Ordering::SeqCst);
        *self.0.fault.lock().unwrap() = None;
    }

    /// Counts a call: whether it fails before, and whether after.
    fn call(&self) -> Result<bool> {
        let number = self.0.calls.fetch_add(1, Ordering::SeqCst);
        match *self.0.fault.lock().unwrap() {
            Some((at, When::After)) if number == at => Ok(true),
            Some((at, _)) if number >= at => Err(down()),
            _ => Ok(false),
        }
    }

    async fn around<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let fails_after = self.call()?;
        self.goes_on().await?;
        let result = call.await;
        self.goes_on().await?;
        if fails_after { Err(down()) } else { result }
    }

    async fn goes_on(&self) -> Result<()> {
        match &self.0.course {
            Some(course) => course.goes_on().await,
            None => Ok(()),
        }
    }
}

pub(crate) fn down() -> Error {
    Error::Generic { store: "FaultyBlobs", source: "down".into() }
}

impl fmt::Display for FaultyBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyBlobs")
    }
}

#[async_trait::async_trait]
impl ObjectStore for FaultyBlobs {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.around(self.0.store.put_opts(location, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.around(self.0.store.put_multipart_opts(location, options)).await?;
        Ok(Box::new(FaultyUpload { store: self.clone(), upload }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.around(self.0.store.get_opts(location, options)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let delete = move |location: Result<Path>| {
            let store = store.clone();
            async move {
                let location = location?;
                store.around(store.0.store.delete(&location)).await?;
                Ok(location)
            }
        };
        locations.then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.call() {
            Ok(false) => self.0.store.list(prefix),
            _ => futures_util::stream::iter([Err(down())]).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.around(self.0.store.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.around(self.0.store.copy_opts(from, to, options)).await
    }
}

#[derive(Debug)]
struct FaultyUpload {
    store: FaultyBlobs,
    upload: Box<dyn MultipartUpload>,
}

#[async_trait::async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        if data.content_length() == 0 {
            let refused = Error::Generic { store: "FaultyBlobs", source: "an empty part".into() };
            return Box::pin(async { Err(refused) }); // as services do
        }
        let (store, part) = (self.store.clone(), self.upload.put_part(data));
        Box::pin(async move { store.around(part).await })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let Self { store, upload } = self;
        store.around(upload.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        let Self { store, upload } = self;
        store.around(upload.abort()).await
    }
}
