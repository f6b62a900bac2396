//! What `verify` asks of blobs: that each link of a row has its blob, of the length it says.
//!
//! Contents are not read; a checksum is compared when a blob is fetched.

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use tablemodel_store::{Properties, RowKey, ValueRef};

use super::{failed, owner::LinkPlace, path};
use crate::{
    blob::name::{self, Named},
    database::{Database, Violation, ViolationKind},
    error::{ErrorKind, Result},
    plan::image::Image,
    schema::{BLOB, EntitySchema, FieldSchema},
};

/// Links that are followed at a time.
const CONCURRENT: usize = 16;

/// A link, and the row that holds it.
#[derive(Debug, Clone)]
pub(in crate::database) struct LinkAt {
    key: RowKey,
    property: &'static str,
    pub(in crate::database) blob: String,
    length: Option<u64>,
}

/// The links of an entity.
pub(in crate::database) fn links(image: &Image) -> Vec<LinkAt> {
    links_of(image.schema, &image.key, &image.fields)
}

/// The links of an entity with these properties.
pub(in crate::database) fn links_of(schema: &EntitySchema, key: &RowKey, fields: &Properties) -> Vec<LinkAt> {
    let groups = schema.fields.iter().filter_map(|field| match field {
        FieldSchema::Group { properties: [own, length, _], .. } if own.codec == BLOB => Some((own, length)),
        FieldSchema::Group { .. } | FieldSchema::Property(_) => None,
    });
    let link = |name| match fields.get(name) {
        Some(ValueRef::String(blob)) => Some(blob.to_owned()),
        _ => None,
    };
    let length = |name| match fields.get(name) {
        Some(ValueRef::Int64(length)) => Some(length.cast_unsigned()),
        _ => None,
    };
    let held = groups.filter_map(|(own, size)| Some((own.property, link(own.property)?, length(size.property))));
    held.map(|(property, blob, length)| LinkAt { key: key.clone(), property, blob, length }).collect()
}

impl Database {
    /// What is wrong with the links, by the object store and, where something seems to be, by the rows as they are now.
    pub(in crate::database) async fn check_links(
        &self,
        table: &'static str,
        links: Vec<LinkAt>,
    ) -> Result<Vec<Violation>> {
        let checks = stream::iter(links).map(|link| self.check_link(table, link)).buffer_unordered(CONCURRENT);
        let mut violations: Vec<Violation> = checks.try_filter_map(|found| async { Ok(found) }).try_collect().await?;
        violations.sort_by(|a, b| (&a.key, &a.detail).cmp(&(&b.key, &b.detail)));
        Ok(violations)
    }

    async fn check_link(&self, table: &'static str, link: LinkAt) -> Result<Option<Violation>> {
        let full = format!("{}{table}", self.0.prefix);
        let Some((kind, detail)) = self.look_at_link(&full, &link).await? else { return Ok(None) };
        // The row may have been changed, and the blob collected, since the row was read.
        if !self.links_now(&full, &link.key, &link.blob).await? {
            return Ok(None);
        }
        let LinkAt { key, property, blob, .. } = link;
        let detail = format!("property `{property}`: the blob `{blob}` {detail}");
        Ok(Some(Violation::unmendable(table, key, kind, detail)))
    }

    /// What seems to be wrong with a link of a row in the table of this full name.
    async fn look_at_link(&self, table: &str, link: &LinkAt) -> Result<Option<(ViolationKind, String)>> {
        let damaged = |detail: String| Ok(Some((ViolationKind::DamagedBlob, detail)));
        // Of another program's name nobody knows whether the object store takes it.
        let Some(Named::Blob(owner)) = name::parse(&link.blob) else {
            return damaged("has a name that is no blob's, and is not looked for".to_owned());
        };
        match self.place()?.store.head(&path(&link.blob)?).await {
            Ok(meta) if Some(meta.size) != link.length => return damaged(format!("has {} bytes", meta.size)),
            Ok(_) => {}
            Err(object_store::Error::NotFound { .. }) => {
                return Ok(Some((ViolationKind::MissingBlob, "is not there".to_owned())));
            }
            Err(error) => return Err(failed(error)),
        }
        match self.is_owner(&link.blob, &owner, &LinkPlace::new(table, link.key.clone())).await {
            Ok(true) => Ok(None),
            Ok(false) => damaged("is named as another row's, and is collected as that".to_owned()),
            Err(error) if *error.kind() == ErrorKind::Corrupt => {
                damaged(format!("has moved to where cannot be told: {}", error.detail()))
            }
            Err(error) => Err(error),
        }
    }
}
