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
    error::Result,
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
        let found = match self.place()?.store.head(&path(&link.blob)?).await {
            Ok(meta) if Some(meta.size) != link.length => {
                Some((ViolationKind::DamagedBlob, format!("has {} bytes", meta.size)))
            }
            Ok(_) => match name::parse(&link.blob) {
                Some(Named::Blob(owner))
                    if self.is_owner(&link.blob, &owner, &LinkPlace::new(&full, link.key.clone())).await? =>
                {
                    None
                }
                _ => {
                    Some((ViolationKind::DamagedBlob, "is named as another row's, and is collected as that".to_owned()))
                }
            },
            Err(object_store::Error::NotFound { .. }) => Some((ViolationKind::MissingBlob, "is not there".to_owned())),
            Err(error) => return Err(failed(error)),
        };
        let Some((kind, detail)) = found else { return Ok(None) };
        // The row may have been changed, and the blob collected, since the row was read.
        if !self.links_now(&full, &link.key, &link.blob).await? {
            return Ok(None);
        }
        let LinkAt { key, property, blob, .. } = link;
        let detail = format!("property `{property}`: the blob `{blob}` {detail}");
        Ok(Some(Violation::unmendable(table, key, kind, detail)))
    }
}
