//! Entities that an older version wrote: read whole, with the contents of blobs that their upgrade asks for; and written as this version
//! has them before anything else is done with them, where their blobs change place, or where they are to follow a source and others copy
//! them.
//!
//! What an upgrade makes of them is planned elsewhere.

use std::collections::BTreeMap;

use tablemodel_store::{Row, RowKey};

use crate::{
    database::{
        Database,
        calls::ATTEMPTS,
        execute::{Run, has_moving_blobs},
        followers::Followers,
        write::no_row,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        change::{Change, is_primary},
        copies::Renewal,
        group::Group,
        image::Image,
        version,
    },
    rooms::copy::{self, Source},
    schema::{CopySchema, EntitySchema},
};

/// Sources that a commit on its way writes: the partition, and each by its entity and row key.
type Coming<'c> = (&'c str, &'c [(&'static str, String)]);

/// None.
pub(super) const NOTHING: Coming<'static> = ("", &[]);

impl Database {
    /// The whole entity whose head was read; none if it is gone.
    pub(super) async fn whole_entity(&self, schema: &'static EntitySchema, head: Row) -> Result<Option<Group>> {
        let may_have_parts = schema.shape.is_some() || (schema.has_parts() && version::is_older(schema, &head));
        let rows = match may_have_parts {
            false => Some(Group::from(head)),
            true => self.read_entity(schema, &self.table_name(schema.table), &head.key).await?,
        };
        match rows {
            Some(rows) => self.completed(schema, rows).await.map(Some),
            None => Ok(None),
        }
    }

    /// Writes an older version's entity as new, with its copies as they are, and these then in a change of their own: a source that is to
    /// be read for them may have to be written as new itself, and with it all that copy it. Where it could not be read in between, they are
    /// filled at once, unless sources may have to be written; the sources are left as they are.
    async fn put_as_new(&self, old: Group, new: Image, copies: Copies) -> Result<Group> {
        let (schema, registered, key) = (new.schema, self.registered(new.schema)?, new.key.clone());
        let stay = is_readable(&new)? || schema.copies.iter().any(|copy| has_moving_blobs((copy.source)()));
        let renewal = Some(if stay { Renewal::AsStored } else { Renewal::Filled });
        let new = Image { renewal, ..new };
        let placed = self.write_one(&registered, Change::Save { old, new }).await?.ok_or_else(no_row)?;
        if schema.copies.is_empty() || copies == Copies::FollowAnyway {
            return Ok(placed);
        }
        let follow = Change::recopied(schema, key.clone(), false);
        self.write_one(&registered, follow).await?;
        self.read_entity(schema, &registered.table, &key).await?.ok_or_else(no_row)
    }

    /// The copies that the entity must have, and that could not be read once it is written as new, each with its source that is not there.
    /// Told by whoever writes it otherwise.
    pub(super) async fn lacked_copies(&self, new: &Image) -> Result<Vec<(&'static CopySchema, Option<Source>)>> {
        let mut lacked = Vec::new();
        for copy in new.schema.copies.iter().filter(|copy| !copy.optional) {
            let source = copy::source(new, copy)?;
            if copy::check_kept(new, copy, source.as_ref()).is_ok() {
                continue;
            }
            let row = match &source {
                Some(Source { schema, key }) => self.get_row(&self.table_name(schema.table), key).await?,
                None => None,
            };
            if !row.is_some_and(|row| is_primary((copy.source)(), &row)) {
                lacked.push((copy, source));
            }
        }
        Ok(lacked)
    }

    /// Writes the entity as new if an older version wrote it, and it has what it must copy. Tells whether it will have that once what is
    /// coming is there.
    async fn renew(
        &self,
        schema: &'static EntitySchema,
        key: &RowKey,
        (partition, coming): Coming<'_>,
    ) -> Result<bool> {
        let from_moving = schema.copies.iter().any(|copy| has_moving_blobs((copy.source)()));
        let copies = if from_moving { Copies::FollowAnyway } else { Copies::AreToFollow };
        let table = self.table_name(schema.table);
        for attempt in 0..ATTEMPTS {
            let rows = self.read_entity(schema, &table, key).await?;
            let is_old = |rows: &Group| is_primary(schema, &rows.head) && version::is_older(schema, &rows.head);
            let Some(rows) = rows.filter(is_old) else { return Ok(false) };
            let rows = self.completed(schema, rows).await?;
            let Ok(new) = Image::stored(schema, &rows) else { return Ok(false) }; // told by whoever upgrades it
            let lacked = self.lacked_copies(&new).await?;
            if !lacked.is_empty() {
                let comes = |source: &Source| {
                    let is_it =
                        |(entity, row): &(&str, String)| *entity == source.schema.entity_type && *row == source.key.row;
                    source.key.partition == partition && coming.iter().any(is_it)
                };
                return Ok(lacked.iter().all(|(_, source)| source.as_ref().is_some_and(comes)));
            }
            match Box::pin(self.put_as_new(rows, new, copies)).await {
                Err(error) if is_changed(&error) => self.pause(attempt).await,
                done => return done.map(|_| false),
            }
        }
        Err(restless("it is written as this version has it", schema, key))
    }

    /// Writes holders that are to follow as new, where an older version wrote them and others copy them: what their upgrade makes of
    /// them is new to those, who follow in that commit, and would not in one of their source. Gives the keys of those that wait for what
    /// is coming.
    pub(super) async fn renew_copied<'c>(
        &self,
        holders: impl Iterator<Item = &'c Change> + Send,
        coming: Coming<'_>,
    ) -> Result<Vec<(&'static EntitySchema, RowKey)>> {
        let mut places: BTreeMap<(&str, &str), (&'static EntitySchema, Vec<&str>)> = BTreeMap::new();
        for holder in holders {
            let (schema, key) = (holder.schema(), holder.key());
            if schema.has_ancestors()
                && self.is_atomic()
                && !has_moving_blobs(schema)
                && !self.registered(schema)?.setting.copied.is_empty()
            {
                let place = places.entry((schema.entity_type, &key.partition)).or_insert((schema, Vec::new()));
                place.1.push(&key.row);
            }
        }
        let mut waiting = Vec::new();
        for ((_, partition), (schema, rows)) in places {
            for (_, row) in self.rows_at(&self.table_name(schema.table), partition, rows).await? {
                if let Some(row) = row.filter(|row| version::is_older(schema, row))
                    && self.renew(schema, &row.key, coming).await?
                {
                    waiting.push((schema, row.key));
                }
            }
        }
        Ok(waiting)
    }
}

impl Run<'_> {
    /// Writes the followers as new that are to be before. One that waits for a source which this very commit writes cannot be, and is left
    /// to follow after it, with those that copy it.
    pub(super) async fn renew_followers(&mut self, followers: &mut Followers) -> Result<()> {
        let holders = followers.beside.iter().chain(followers.apart.values().flatten());
        let waiting = self.db.renew_copied(holders, (self.partition, followers.sources.as_slice())).await?;
        let waits = |holder: &mut Change| {
            let is_it = |(schema, key): &(&EntitySchema, RowKey)| {
                schema.entity_type == holder.schema().entity_type && key == holder.key()
            };
            waiting.iter().any(is_it)
        };
        self.copying.late = followers.beside.extract_if(.., waits).collect();
        for holders in followers.apart.values_mut() {
            self.copying.late.extend(holders.extract_if(.., waits));
        }
        Ok(())
    }

    /// Lets the holders follow that were left out of the commit. It has been made: where one cannot, that is told by a verification.
    pub(super) async fn follow_late(&mut self) {
        for holder in std::mem::take(&mut self.copying.late) {
            let (schema, key) = (holder.schema(), holder.key().clone());
            if let Err(error) = self.db.recopy(schema, vec![key]).await {
                tracing::warn!(entity = schema.entity_type, key = %holder.key(), %error, "a holder did not follow its source");
            }
        }
    }
}

/// Whether the entity can be read with its copies as they are.
fn is_readable(image: &Image) -> Result<bool> {
    for copy in image.schema.copies.iter().filter(|copy| !copy.optional) {
        if copy::check_kept(image, copy, copy::source(image, copy)?.as_ref()).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether another wrote the entity meanwhile.
fn is_changed(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict { .. } | ErrorKind::NotFound)
}

fn restless(what: &str, schema: &EntitySchema, key: &RowKey) -> Error {
    let detail = format!("the entity keeps changing while {what}");
    Error::new(ErrorKind::Unavailable, detail).of(schema.entity_type).at_key(key.clone())
}

/// What becomes of the copies of an entity that is written as new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    /// They are brought to what their sources are.
    AreToFollow,
    /// Whoever asks does that.
    FollowAnyway,
}

#[cfg(not(feature = "blob"))]
#[expect(clippy::unused_async, reason = "only blobs are fetched")]
impl Database {
    pub(crate) async fn completed(&self, _: &'static EntitySchema, rows: Group) -> Result<Group> {
        Ok(rows)
    }

    pub(super) async fn placed_entity(
        &self,
        schema: &'static EntitySchema,
        table: &str,
        key: &RowKey,
        _: Copies,
    ) -> Result<Option<Group>> {
        self.read_entity(schema, table, key).await
    }
}

#[cfg(feature = "blob")]
mod blobs {
    use std::sync::Arc;

    use tablemodel_store::{Properties, PropertyName, RowKey, ValueRef};

    use super::{
        ATTEMPTS, Change, Copies, Database, EntitySchema, Group, Image, Result, is_changed, is_primary, restless,
        version,
    };
    use crate::upgrade::asked_for;

    impl Database {
        /// The rows, with the contents that the upgrade of an older version asks for. Cost: none for rows of this version; one
        /// request a blob. What the upgrade cannot do for other reasons is told by whoever reads the entity.
        pub(crate) async fn completed(&self, schema: &'static EntitySchema, mut rows: Group) -> Result<Group> {
            if !schema.had_blobs() || !is_moving(schema, &rows) {
                return Ok(rows);
            }
            while let Err(error) = version::upgraded(schema, &rows) {
                let Some(link) = asked_for(&error).cloned() else { break };
                let Some(property) = linking(schema, &rows, &link.name)? else { return Err(error) };
                let content = self.fetch_whole(link).await?;
                let mut fetched = rows.fetched.take().map_or_else(Properties::new, Arc::unwrap_or_clone);
                fetched.set(property, ValueRef::Binary(&content));
                rows.fetched = Some(Arc::new(fetched));
            }
            Ok(rows)
        }

        /// The rows of the entity whose head stands at `key`, whatever stands there, once its blobs are where this version keeps
        /// them: for a write that goes on from what they hold.
        pub(in crate::database) async fn placed_entity(
            &self,
            schema: &'static EntitySchema,
            table: &str,
            key: &RowKey,
            copies: Copies,
        ) -> Result<Option<Group>> {
            for attempt in 0..ATTEMPTS {
                let Some(rows) = self.read_entity(schema, table, key).await? else { return Ok(None) };
                match Box::pin(self.with_blobs_placed(schema, rows, copies)).await {
                    Ok(rows) => return Ok(Some(rows)),
                    Err(error) if is_changed(&error) => self.pause(attempt).await,
                    Err(error) => return Err(error),
                }
            }
            Err(restless("its blobs are put where this version keeps them", schema, key))
        }

        /// The entity as it stands once its blobs are where this version keeps them: one of an older version that keeps them
        /// otherwise is written as new, as any next write of it would, if it can be read then.
        async fn with_blobs_placed(&self, schema: &'static EntitySchema, rows: Group, copies: Copies) -> Result<Group> {
            if !is_moving(schema, &rows) {
                return Ok(rows);
            }
            let rows = self.completed(schema, rows).await?;
            let new = match Image::stored(schema, &rows) {
                Ok(new) if rows.fetched.is_some() || !new.blobs.is_empty() => new,
                _ => return Ok(rows), // what cannot be upgraded is told by whoever upgrades it
            };
            match self.lacked_copies(&new).await?.is_empty() {
                true => self.put_as_new(rows, new, copies).await,
                false => Ok(rows),
            }
        }

        /// The changes, over entities whose blobs are where this version keeps them; none where they all are.
        pub(in crate::database) async fn over_placed(&self, changes: &[Change]) -> Result<Option<Vec<Change>>> {
            let moves = |change: &Change| matches!(change, Change::Touch { schema, old, .. } if is_moving(schema, old));
            if !changes.iter().any(moves) {
                return Ok(None);
            }
            let mut all = Vec::with_capacity(changes.len());
            for change in changes {
                all.push(match change.clone() {
                    Change::Touch { schema, old, strays } => {
                        let old = Box::pin(self.with_blobs_placed(schema, old, Copies::AreToFollow)).await?;
                        Change::Touch { schema, old, strays }
                    }
                    other => other,
                });
            }
            Ok(Some(all))
        }
    }

    /// Whether an older version wrote the entity, and blobs may have another place by now.
    fn is_moving(schema: &'static EntitySchema, rows: &Group) -> bool {
        schema.has_moving_blobs() && is_primary(schema, &rows.head) && version::is_older(schema, &rows.head)
    }

    /// The property of the entity, as it was written, that links the blob, and whose content was not fetched yet.
    fn linking(schema: &'static EntitySchema, rows: &Group, blob: &str) -> Result<Option<PropertyName>> {
        let is_fetched =
            |name: &PropertyName| rows.fetched.as_ref().is_some_and(|fetched| fetched.get(name.as_str()).is_some());
        let written = Image::written(schema, rows)?;
        let mut links = written.fields.iter().filter(|(_, value)| *value == ValueRef::String(blob));
        Ok(links.find(|(name, _)| !is_fetched(name)).map(|(name, _)| name.clone()))
    }
}
