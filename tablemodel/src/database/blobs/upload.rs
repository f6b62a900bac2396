//! Uploads: before a change is planned, its blobs are put under names of their own, and its image links them.
//!
//! A blob is never written over, and none is deleted here: what a failed write leaves is collected later.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload, path::Path};
use tablemodel_store::{ETag, RowKey, ValueRef};

use super::{
    assumed::{Assumed, Uploaded},
    failed,
    owner::{LinkPlace, keys_record},
    path,
};
use crate::{
    blob::{
        Blob, Link, PART_BYTES, Pending, Placed, Source, Sum,
        name::{self, Named, Owner},
    },
    database::{Database, since::Since},
    error::{Error, ErrorKind, Result},
    plan::{change::Change, group::Group, image::Image},
    schema::EntitySchema,
};

/// Blobs of one write that are uploaded at a time.
const CONCURRENT: usize = 8;

/// One blob of one change.
pub(super) struct Task {
    pub(super) change: usize,
    pub(super) schema: &'static EntitySchema,
    pub(super) key: RowKey,
    pub(super) pending: Pending,
    /// The blob that the stored row links now.
    pub(super) linked: Option<String>,
    /// That row, where the change takes whatever stands there when it is planned.
    pub(super) over: Option<ETag>,
}

/// A blob that has its place, and since when it may be waiting for its row.
type Settled = (Task, Placed, Since);

/// The tasks, those of one handle together: what one of them reads of its stream, the others find uploaded.
fn by_handle(tasks: Vec<Task>) -> Vec<Vec<Task>> {
    let mut handles: Vec<Vec<Task>> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let is_same = |other: &Task| other.pending.blob.is_clone_of(&task.pending.blob);
        match handles.iter_mut().find(|tasks| tasks.first().is_some_and(is_same)) {
            Some(tasks) => tasks.push(task),
            None => handles.push(vec![task]),
        }
    }
    handles
}

impl Database {
    /// Settles the blobs of the changes: uploads those that are new, and puts links into the images.
    ///
    /// None if there are none. Gives the changes, and what was settled for them.
    pub(in crate::database) async fn upload_blobs(
        &self,
        changes: &[Change],
    ) -> Result<Option<(Vec<Change>, Uploaded)>> {
        self.carry_links(changes).await?;
        if changes.iter().filter_map(image).all(|image| image.blobs.is_empty()) {
            return Ok(None);
        }
        self.check_writable()?;
        let mut changes = changes.to_vec();
        let (mut since, mut assumed) = (self.since(), Vec::new());
        let mut tasks = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            tasks.extend(self.tasks(number, change).await?);
        }
        for (task, placed, began) in self.settle_all(tasks).await? {
            since = since.min(began);
            assumed.extend(Assumed::of(&task, &placed));
            let Some(image) = changes.get_mut(task.change).and_then(image_mut) else { continue };
            placed.put(task.pending.names, &mut image.fields);
        }
        changes.iter_mut().filter_map(image_mut).for_each(|image| image.blobs.clear());
        Ok(Some((changes, Uploaded { since: Some(since), assumed })))
    }

    /// Settles blobs, several at a time. What was begun is finished also where another fails: a stream that was read is uploaded then,
    /// and can be written again.
    async fn settle_all(&self, tasks: Vec<Task>) -> Result<Vec<Settled>> {
        let has_failed = AtomicBool::new(false);
        let tasks = by_handle(tasks).into_iter().take_while(|_| !has_failed.load(Ordering::Relaxed));
        let begun = stream::iter(tasks.map(|tasks| self.settle_blobs(tasks)));
        let (mut begun, mut settled) = (begun.buffer_unordered(CONCURRENT), Ok(Vec::new()));
        while let Some(one) = begun.next().await {
            has_failed.fetch_or(one.is_err(), Ordering::Relaxed);
            settled = settled.and_then(|mut all: Vec<Settled>| {
                all.extend(one?);
                Ok(all)
            });
        }
        settled
    }

    /// Settles the blobs of an entity that moves: those that it keeps stay where they are, and it is recorded where their
    /// links go, also of those that the program does not know; new ones are uploaded. Tells since when they wait.
    pub(in crate::database) async fn move_blobs(
        &self,
        to: &mut Image,
        was: &Image,
        old: &Group,
    ) -> Result<Option<Since>> {
        self.carry_unknown(old, to).await?;
        if to.blobs.is_empty() {
            return Ok(None);
        }
        self.check_writable()?;
        let mut since = self.since();
        for pending in std::mem::take(&mut to.blobs) {
            let [own, ..] = pending.names;
            let linked = match was.fields.get(own) {
                Some(ValueRef::String(name)) => Some(name.to_owned()),
                _ => None,
            };
            let task = Task { change: 0, schema: to.schema, key: to.key.clone(), pending, linked, over: None };
            let (task, placed, began) = self.settle_blob(task).await.map_err(Error::alone)?;
            since = since.min(began);
            if let Placed::Link(link) = &placed
                && task.linked.as_ref() == Some(&link.name)
            {
                let place = LinkPlace::new(&self.table_of(&task), to.key.clone());
                self.record_move(&link.name, &place).await?;
            }
            placed.put(task.pending.names, &mut to.fields);
        }
        self.check_uploaded(Some(since))?;
        Ok(Some(since))
    }

    /// That what was uploaded cannot have been collected yet.
    pub(in crate::database) fn check_uploaded(&self, since: Option<Since>) -> Result<()> {
        let Some(since) = since else { return Ok(()) };
        if since.elapsed(&*self.environment().clock) < self.place()?.grace / 2 {
            return Ok(());
        }
        let detail =
            "the blobs took longer to upload than half the grace period, and could be collected before they are linked";
        Err(Error::new(ErrorKind::Unavailable, format!("{detail}; set a longer `blob_grace`")))
    }

    /// Puts a blob of a name that was never used, for the row at this key.
    pub(in crate::database) async fn put_whole(&self, name: &str, key: &RowKey, content: Bytes) -> Result<()> {
        self.check_writable()?;
        self.place()?.store.put(&path(name)?, content.into()).await.map_err(failed)?;
        let is_long = matches!(name::parse(name), Some(Named::Blob(Owner { key: None, .. })));
        if is_long { self.put_record(name, key).await } else { Ok(()) }
    }

    /// Puts the keys of a blob's row beside the blob, whose name cannot hold them.
    async fn put_record(&self, blob: &str, key: &RowKey) -> Result<()> {
        let record: Path = path(&name::keys_of(blob))?;
        self.place()?.store.put(&record, keys_record(key).into()).await.map(drop).map_err(failed)
    }

    async fn tasks(&self, number: usize, change: &Change) -> Result<Vec<Task>> {
        let Some(image) = image(change).filter(|image| !image.blobs.is_empty()) else { return Ok(Vec::new()) };
        let (schema, key) = (image.schema, &image.key);
        let mut over = None;
        let before = match change {
            Change::Save { old, .. } if old.key() == key => Some(Image::stored(schema, old)?.fields),
            Change::Upsert(_) if image.blobs.iter().any(|pending| pending.blob.link().is_some()) => {
                let rows = self.primary_rows(schema, key).await?;
                over = rows.as_ref().map(|rows| rows.head.etag.clone());
                rows.map(|rows| Image::stored(schema, &rows)).transpose()?.map(|image| image.fields)
            }
            _ => None,
        };
        let linked = |pending: &Pending| {
            let [own, ..] = pending.names;
            match before.as_ref()?.get(own)? {
                ValueRef::String(name) => Some(name.to_owned()),
                _ => None,
            }
        };
        let task = |pending: &Pending| Task {
            change: number,
            schema,
            key: key.clone(),
            linked: linked(pending),
            over: over.clone(),
            pending: pending.clone(),
        };
        Ok(image.blobs.iter().map(task).collect())
    }

    /// Settles blobs one after the other.
    async fn settle_blobs(&self, tasks: Vec<Task>) -> Result<Vec<Settled>> {
        let mut settled = Vec::with_capacity(tasks.len());
        for task in tasks {
            settled.push(self.settle_blob(task).await?);
        }
        Ok(settled)
    }

    /// Settles one blob, and tells since when it may be waiting for its row.
    async fn settle_blob(&self, task: Task) -> Result<Settled> {
        let now = self.since();
        let (placed, began) = match self.as_uploaded(&task)? {
            Some((link, began)) => (Ok(Placed::Link(link)), began),
            None => (self.placed(&task, now).await, now),
        };
        let placed = placed.map_err(|error| {
            let [property, ..] = task.pending.names;
            task.pending.blob.has_failed(&error);
            let field = task.schema.field_of(property);
            let error = error.within(&format!("blob of property `{property}`")).of_field(field);
            error.of(task.schema.entity_type).at_key(task.key.clone()).in_operation(task.change)
        })?;
        Ok((task, placed, began))
    }

    /// What an earlier attempt uploaded to the same place for the same row, a short while ago: a write tried again uploads nothing.
    fn as_uploaded(&self, task: &Task) -> Result<Option<(Link, Since)>> {
        let Some((link, began)) = task.pending.blob.uploaded(&self.place()?.store) else { return Ok(None) };
        let own = Owner {
            table: self.table_of(task).to_ascii_lowercase(),
            entity: task.schema.entity_type.to_owned(),
            key: Some(task.key.clone()),
        };
        let is_own = name::parse(&link.name) == Some(Named::Blob(own));
        let is_linked = task.linked.as_ref() == Some(&link.name);
        let is_recent = began.elapsed(&*self.environment().clock) < self.place()?.grace / 4;
        Ok((is_own && is_recent && !is_linked).then_some((link, began)))
    }

    /// A blob that the row links already stays, unless it is to be kept in the row; any other is put under a name of its own.
    async fn placed(&self, task: &Task, now: Since) -> Result<Placed> {
        let blob = &task.pending.blob;
        let link = blob.link();
        let stays = |link: &Link| task.linked.as_ref() == Some(&link.name) && task.pending.is_linked(link);
        if let Some(link) = link.clone().filter(stays) {
            return Ok(Placed::Link(link));
        }
        let own = own_content(blob);
        let is_own = own.is_some();
        let Some(source) = own.or_else(|| link.map(|link| self.fetch(link))) else {
            let detail = "its stream was read by a write that failed; make the blob anew";
            let error = Error::new(ErrorKind::Invalid, detail);
            return Err(match blob.failure() {
                Some(cause) => error.caused_by(cause),
                None => error,
            });
        };
        let mut parts = Parts { source, sum: Sum::new(), length: 0, ended: false };
        let first = parts.next().await?;
        if parts.ended && parts.length < task.pending.inline_below as u64 {
            let content = Bytes::from(first.concat());
            blob.give_back(content.clone());
            return Ok(Placed::Value(content.into()));
        }
        let link = self.upload(task, first, parts).await?;
        if is_own {
            // A handle that was read stays the link that it was read as.
            blob.set_uploaded(link.clone(), now, &self.place()?.store);
        }
        Ok(Placed::Link(link))
    }

    fn table_of(&self, task: &Task) -> String {
        format!("{}{}", self.0.prefix, task.schema.table)
    }

    async fn upload(&self, task: &Task, first: Vec<Bytes>, mut parts: Parts) -> Result<Link> {
        let (random, table) = (&self.environment().random, self.table_of(task));
        let (name, owner) = name::fresh(&table, task.schema.entity_type, &task.key, [random.next(), random.next()]);
        let store = &self.place()?.store;
        let to = path(&name)?;
        if parts.ended {
            store.put(&to, first.into_iter().collect()).await.map_err(failed)?;
        } else {
            let mut upload = store.put_multipart(&to).await.map_err(failed)?;
            if let Err(error) = put_parts(&mut *upload, first, &mut parts).await {
                let _ = upload.abort().await; // the first error is the one to tell
                return Err(error);
            }
        }
        if owner.key.is_none() {
            self.put_record(&name, &task.key).await?;
        }
        Ok(Link { name, length: parts.length, sum: parts.sum.total() })
    }
}

async fn put_parts(upload: &mut dyn MultipartUpload, first: Vec<Bytes>, parts: &mut Parts) -> Result<()> {
    let mut part = first;
    loop {
        // A content of so many whole parts ends in an empty one, which services refuse.
        if !part.is_empty() {
            upload.put_part(part.into_iter().collect::<PutPayload>()).await.map_err(failed)?;
        }
        if parts.ended {
            return upload.complete().await.map(drop).map_err(failed);
        }
        part = parts.next().await?;
    }
}

/// The content that the blob brings itself.
fn own_content(blob: &Blob) -> Option<Source> {
    let Some(bytes) = blob.at_hand().cloned() else { return blob.take_stream() };
    let starts = (0..bytes.len()).step_by(PART_BYTES);
    let parts = starts.map(move |start| Ok(bytes.slice(start..bytes.len().min(start + PART_BYTES))));
    Some(stream::iter(parts.collect::<Vec<_>>()).boxed())
}

/// A content, cut for uploading, and measured on the way.
struct Parts {
    source: Source,
    sum: Sum,
    length: u64,
    ended: bool,
}

impl Parts {
    /// The next part; `ended` says whether it is the last.
    async fn next(&mut self) -> Result<Vec<Bytes>> {
        let (mut part, mut bytes) = (Vec::new(), 0);
        while bytes < PART_BYTES {
            let Some(piece) = self.source.try_next().await? else {
                self.ended = true;
                break;
            };
            self.sum.add(&piece);
            self.length += piece.len() as u64;
            bytes += piece.len();
            part.extend(Some(piece).filter(|piece| !piece.is_empty()));
        }
        Ok(part)
    }
}

/// The image that the change brings.
fn image(change: &Change) -> Option<&Image> {
    match change {
        Change::Insert(image) | Change::Upsert(image) | Change::Save { new: image, .. } => Some(image),
        // What moves to another key has settled its blobs before.
        Change::Leave { .. } | Change::Arrive(_) | Change::Contribute(_) => None,
        Change::Delete { .. }
        | Change::Touch { .. }
        | Change::Patch { .. }
        | Change::Recopy { .. }
        | Change::Refresh { .. } => None,
    }
}

fn image_mut(change: &mut Change) -> Option<&mut Image> {
    match change {
        Change::Insert(image) | Change::Upsert(image) | Change::Save { new: image, .. } => Some(image),
        // What moves to another key has settled its blobs before.
        Change::Leave { .. } | Change::Arrive(_) | Change::Contribute(_) => None,
        Change::Delete { .. }
        | Change::Touch { .. }
        | Change::Patch { .. }
        | Change::Recopy { .. }
        | Change::Refresh { .. } => None,
    }
}
