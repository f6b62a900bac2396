//! The entity that owns a blob, wherever it has moved to, and whether it links it.
//!
//! Nothing is written here but the records of where it moves.

use std::collections::BTreeSet;

use object_store::{ObjectStoreExt, PutMode, PutOptions};
use serde_json::{Map, Value as Json};
use tablemodel_store::{KeyRange, Query, Row, RowKey, ValueRef};

use super::{failed, path};
use crate::{
    blob::{
        Link,
        name::{self, Named, Owner},
    },
    database::{Database, calls::ATTEMPTS},
    error::{Error, ErrorKind, Result},
    key::beginning_with,
    rooms::rekey::{Reservation, intents_of},
};

/// The members of the record of a blob's keys.
const MEMBERS: [&str; 2] = ["PartitionKey", "RowKey"];
/// The table of these keys, where that is not the one in the blob's name.
const TABLE: &str = "Table";

/// Where a row that links a blob may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::database) struct LinkPlace {
    /// The table's full name, in lower case.
    table: String,
    key: RowKey,
}

impl LinkPlace {
    /// The key in the table of this full name.
    pub(in crate::database) fn new(table: &str, key: RowKey) -> Self {
        Self { table: table.to_ascii_lowercase(), key }
    }

    /// The record of it beside a blob whose name says `table`.
    fn record(&self, table: &str) -> Vec<u8> {
        let mut record = keys_json(&self.key);
        if self.table != table {
            record.insert(TABLE.to_owned(), Json::from(self.table.as_str()));
        }
        Json::Object(record).to_string().into_bytes()
    }
}

fn keys_json(key: &RowKey) -> Map<String, Json> {
    let [partition, row] = MEMBERS;
    let member = |name: &str, text: &str| (name.to_owned(), Json::from(text));
    [member(partition, &key.partition), member(row, &key.row)].into_iter().collect()
}

/// The record of the keys of a blob whose name cannot hold them.
pub(super) fn keys_record(key: &RowKey) -> Vec<u8> {
    Json::Object(keys_json(key)).to_string().into_bytes()
}

/// The place in a record beside a blob whose name says `table`.
fn read_record(bytes: &[u8], table: &str) -> Option<LinkPlace> {
    let record: Json = serde_json::from_slice(bytes).ok()?;
    let [partition, row] = MEMBERS.map(|member| record.get(member).and_then(Json::as_str));
    let table = record.get(TABLE).map_or(Some(table), Json::as_str)?;
    Some(LinkPlace::new(table, RowKey::new(partition?, row?)))
}

/// The tables that blobs of this database may be named by: their full names, in lower case.
pub(super) struct Tables {
    model: BTreeSet<String>,
    /// Those that entities have left, and that may have been dropped since.
    pub(super) left: BTreeSet<String>,
}

impl Tables {
    /// Whether this one may be lacking, and has no rows then: the database is not the wrong one, since entities have left that table,
    /// or since the one in the blob's name is there.
    fn may_lack(&self, table: &str, is_named_there: bool) -> bool {
        !self.model.contains(table) && (self.left.contains(table) || is_named_there)
    }
}

/// Whether the row names the blob, under whatever property.
fn names(row: &Row, blob: &str) -> bool {
    row.properties.iter().any(|(_, value)| matches!(value, ValueRef::String(text) if text == blob))
}

impl Database {
    /// The tables that blobs may be named by. One request.
    pub(super) async fn blob_tables(&self) -> Result<Tables> {
        let full = |table: &str| self.table_name(table).to_ascii_lowercase();
        let left = self.left_tables().await?.iter().map(|table| full(table)).collect();
        Ok(Tables { model: self.entity_tables().into_iter().map(full).collect(), left })
    }

    /// Whether a row of the entity that owns the blob links it now, wherever that has moved to. One request, and a fetch where
    /// the keys are long; of one that is not linked where it was put, another fetch, a query, and those of each move.
    ///
    /// An entity only goes on along these keys, and each is recorded before it gets there: so it is met if they are looked at
    /// in this order, up to the one after the last.
    ///
    /// The tables must be there, unless they may be lacking.
    pub(super) async fn is_linked(&self, blob: &str, owner: &Owner, tables: &Tables) -> Result<bool> {
        let Some(mut place) = self.first_place(blob, owner).await? else { return Ok(false) };
        let mut is_named_there = false;
        for number in 1.. {
            let may_lack = tables.may_lack(&place.table, is_named_there);
            match self.is_linked_at(&place.table, &place.key, blob).await {
                Ok(true) => return Ok(true),
                Ok(false) => is_named_there |= number == 1,
                Err(error) if may_lack && *error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            match self.place_in(&name::moved_of(blob, number), owner).await? {
                Some(next) => place = next,
                None => break,
            }
        }
        Ok(false)
    }

    /// Whether the entity at this key, or on its way there or from there, links the blob.
    async fn is_linked_at(&self, table: &str, key: &RowKey, blob: &str) -> Result<bool> {
        for _ in 0..ATTEMPTS {
            if self.links_now(table, key, blob).await? {
                return Ok(true);
            }
            let there = self.get_row(table, key).await?;
            let coming = there.as_ref().and_then(Reservation::of);
            let comes_with = match &coming {
                Some(reservation) => self.links_now(table, &reservation.intent_key(), blob).await?,
                None => false,
            };
            if comes_with || self.left_with(table, key, blob).await? {
                return Ok(true);
            }
            // What was on its way may have arrived in between.
            if coming.is_none() || self.get_row(table, key).await?.map(|row| row.etag) == there.map(|row| row.etag) {
                return Ok(false);
            }
        }
        Ok(true) // the key keeps changing: not now
    }

    /// Whether an entity that has left this key, and not yet arrived, links the blob.
    async fn left_with(&self, table: &str, key: &RowKey, blob: &str) -> Result<bool> {
        let range = KeyRange::rows(key.partition.clone(), beginning_with(&intents_of(&key.row)));
        let mut query = Query::new(table, range);
        loop {
            let page = self.query_page(&query).await?;
            match page.continuation {
                _ if page.rows.iter().any(|intent| names(intent, blob)) => return Ok(true),
                Some(next) => query.continuation = Some(next),
                None => return Ok(false),
            }
        }
    }

    /// Whether the blob is the row's to link: by its name, or by what was recorded when its link moved.
    pub(super) async fn is_owner(&self, blob: &str, owner: &Owner, place: &LinkPlace) -> Result<bool> {
        if owner.table == place.table && owner.key.as_ref().is_none_or(|own| *own == place.key) {
            return Ok(true); // where keys are too long for a name, the entity is what can be compared
        }
        for number in 1.. {
            match self.place_in(&name::moved_of(blob, number), owner).await? {
                Some(moved) if moved == *place => return Ok(true),
                Some(_) => {}
                None => break,
            }
        }
        Ok(false)
    }

    /// Records that the blob's link may move to this place. Before it does; also where that is on record, since the entity may
    /// since have gone on from it.
    pub(in crate::database) async fn record_move(&self, blob: &str, to: &LinkPlace) -> Result<()> {
        self.record_place(blob, to, None).await
    }

    /// Records that the blob's link is at this place too, in the form that the entity at `from` moves to: that it will be there
    /// alone once the entity has moved. Nothing where that was recorded since the entity came to `from`.
    ///
    /// Cost: two requests, and one more for each record of another place.
    pub(in crate::database) async fn record_shadow(&self, blob: &str, from: &LinkPlace, to: &LinkPlace) -> Result<()> {
        self.record_place(blob, to, Some(from)).await
    }

    /// Each record has a name of its own, which one alone can put: so none is lost where two would move the entity.
    async fn record_place(&self, blob: &str, to: &LinkPlace, from: Option<&LinkPlace>) -> Result<()> {
        let Some(Named::Blob(owner)) = name::parse(blob) else { return Ok(()) }; // none of ours: nobody collects it
        let mut is_recorded = false;
        for number in 1.. {
            let record = name::moved_of(blob, number);
            match (self.place_in(&record, &owner).await?, from) {
                (Some(_), None) => {}
                (Some(there), Some(from)) => is_recorded = there != *from && (is_recorded || there == *to),
                (None, _) if is_recorded => break,
                (None, _) => {
                    let new = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
                    match self.place()?.store.put_opts(&path(&record)?, to.record(&owner.table).into(), new).await {
                        Err(object_store::Error::AlreadyExists { .. }) => {}
                        other => return other.map(drop).map_err(failed),
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a row of the entity at this key, its head or a part, links the blob.
    pub(super) async fn links_now(&self, table: &str, key: &RowKey, blob: &str) -> Result<bool> {
        let rows = self.read_rows(table, key).await?;
        Ok(rows.is_some_and(|rows| std::iter::once(&rows.head).chain(&rows.parts).any(|row| names(row, blob))))
    }

    /// Where the blob was put for. None before that was recorded, and a row links a blob only after that.
    async fn first_place(&self, blob: &str, owner: &Owner) -> Result<Option<LinkPlace>> {
        if let Some(key) = &owner.key {
            return Ok(Some(LinkPlace::new(&owner.table, key.clone())));
        }
        self.place_in(&name::keys_of(blob), owner).await
    }

    /// The place in a record, if it is there.
    async fn place_in(&self, record: &str, owner: &Owner) -> Result<Option<LinkPlace>> {
        let bytes = match self.place()?.store.get(&path(record)?).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        match bytes {
            Ok(bytes) => {
                let corrupt = || Error::corrupt(format!("`{record}` does not hold the keys of a blob"));
                read_record(&bytes, &owner.table).ok_or_else(corrupt).map(Some)
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The error for a blob, told of the entity that owns it.
    pub(super) fn about(&self, blob: &str, error: Error) -> Error {
        let Some(Named::Blob(owner)) = name::parse(blob) else { return error };
        let error = owner.key.clone().into_iter().fold(error, Error::at_key);
        self.entity_of(&owner.entity).map(|schema| schema.entity_type).into_iter().fold(error, Error::of)
    }

    /// Whether a blob that is not there is linked all the same. One that is named by another database's table came from there, without
    /// its content: nobody here has ever deleted it.
    async fn is_lost(&self, blob: &str, owner: &Owner) -> Result<bool> {
        let tables = self.blob_tables().await?;
        let is_own = tables.model.contains(&owner.table) || tables.left.contains(&owner.table);
        Ok(!is_own || self.is_linked(blob, owner, &tables).await?)
    }

    /// The error for a blob that is not there: lost, or linked no longer.
    pub(super) async fn missing(&self, link: &Link) -> Error {
        let blob = &link.name;
        let lost = match name::parse(blob) {
            Some(Named::Blob(owner)) => self.is_lost(blob, &owner).await,
            _ => Ok(true),
        };
        let error = match lost {
            Ok(true) => Error::corrupt(format!("the row links blob `{blob}`, which is not there")),
            Ok(false) => {
                let detail = "is gone: its entity was changed or deleted after it was read; read the entity again";
                Error::new(ErrorKind::NotFound, format!("blob `{blob}` {detail}"))
            }
            Err(error) => error,
        };
        self.about(blob, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_from_their_record() {
        let key = RowKey::new("a\"\\/é\u{10437}", "");
        let place = LinkPlace::new("People", key.clone());
        assert_eq!(read_record(&keys_record(&key), "people"), Some(place.clone()));
        assert_eq!(place.record("people"), keys_record(&key), "a table is told only where it is another");
        assert_eq!(read_record(&place.record("clubs"), "clubs"), Some(place));
        let bad = ["", "{}", r#"{"PartitionKey":"a"}"#, r#"{"PartitionKey":1,"RowKey":"r"}"#];
        for bad in bad.into_iter().chain([r#"{"PartitionKey":"a","RowKey":"r","Table":1}"#]) {
            assert_eq!(read_record(bad.as_bytes(), "people"), None);
        }
    }
}
