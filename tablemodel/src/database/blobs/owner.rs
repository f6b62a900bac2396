//! The entity that owns a blob, and whether it links it: one request.
//!
//! Nothing is written here.

use object_store::ObjectStoreExt;
use serde_json::{Value as Json, json};
use tablemodel_store::{Row, RowKey, ValueRef};

use super::{failed, path};
use crate::{
    blob::{
        Link,
        name::{self, Named, Owner},
    },
    database::Database,
    error::{Error, ErrorKind, Result},
    schema::EntitySchema,
};

/// The members of the record of a blob's keys.
const MEMBERS: [&str; 2] = ["PartitionKey", "RowKey"];

/// The record of the keys of a blob whose name cannot hold them.
pub(super) fn keys_record(key: &RowKey) -> Vec<u8> {
    let [partition, row] = MEMBERS;
    json!({ partition: key.partition, row: key.row }).to_string().into_bytes()
}

fn read_keys_record(bytes: &[u8]) -> Option<RowKey> {
    let record: Json = serde_json::from_slice(bytes).ok()?;
    let [partition, row] = MEMBERS.map(|member| record.get(member).and_then(Json::as_str));
    Some(RowKey::new(partition?, row?))
}

/// Whether the row names the blob, under whatever property.
fn names(row: &Row, blob: &str) -> bool {
    row.properties.iter().any(|(_, value)| matches!(value, ValueRef::String(text) if text == blob))
}

impl Database {
    /// Whether a row of the entity that owns the blob links it now. One request, and a fetch where the keys are long.
    ///
    /// The table must be there: where it is not, the database may be the wrong one.
    pub(super) async fn is_linked(&self, blob: &str, owner: Owner) -> Result<bool> {
        let Some(key) = self.owner_key(blob, &owner).await? else { return Ok(false) };
        self.links_now(&owner.table, &key, blob).await
    }

    /// Whether a row of the entity at this key, its head or a part, links the blob.
    pub(super) async fn links_now(&self, table: &str, key: &RowKey, blob: &str) -> Result<bool> {
        let rows = self.read_rows(table, key).await?;
        Ok(rows.is_some_and(|rows| std::iter::once(&rows.head).chain(&rows.parts).any(|row| names(row, blob))))
    }

    /// The keys of the owner. None before they were recorded, and a row links a blob only after that.
    async fn owner_key(&self, blob: &str, owner: &Owner) -> Result<Option<RowKey>> {
        if let Some(key) = &owner.key {
            return Ok(Some(key.clone()));
        }
        let record = name::keys_of(blob);
        let bytes = match self.place()?.store.get(&path(&record)?).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        match bytes {
            Ok(bytes) => {
                let corrupt = || Error::corrupt(format!("`{record}` does not hold the keys of a blob"));
                read_keys_record(&bytes).ok_or_else(corrupt).map(Some)
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The entity whose blob this is.
    pub(super) fn entity_of(&self, owner: &Owner) -> Option<&'static EntitySchema> {
        self.model().iter().copied().find(|schema| schema.entity_type == owner.entity)
    }

    /// The error for a blob, told of the entity that owns it.
    pub(super) fn about(&self, blob: &str, error: Error) -> Error {
        let Some(Named::Blob(owner)) = name::parse(blob) else { return error };
        let error = owner.key.clone().into_iter().fold(error, Error::at_key);
        self.entity_of(&owner).map(|schema| schema.entity_type).into_iter().fold(error, Error::of)
    }

    /// The error for a blob that is not there: lost, or linked no longer.
    pub(super) async fn missing(&self, link: &Link) -> Error {
        let blob = &link.name;
        let linked = match name::parse(blob) {
            Some(Named::Blob(owner)) => self.is_linked(blob, owner).await,
            _ => Ok(true),
        };
        let error = match linked {
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
        assert_eq!(read_keys_record(&keys_record(&key)), Some(key));
        for bad in ["", "{}", r#"{"PartitionKey":"a"}"#, r#"{"PartitionKey":1,"RowKey":"r"}"#] {
            assert_eq!(read_keys_record(bad.as_bytes()), None);
        }
    }
}
