//! The properties of an entity on their way out of the user's struct: what generated code writes fields to.
//!
//! No key is formatted here and no row is made.

use serde::Serialize;
use tablemodel_store::{Properties, PropertiesBuilder, PropertyName, Value, ValueRef};

use super::FieldError;
use crate::{
    error::Result,
    plan::image::Image,
    property::{ValueError, json},
    schema::EntitySchema,
};

/// Collects the properties of an entity; one line per field in generated code.
#[derive(Debug)]
pub struct FieldWriter {
    properties: PropertiesBuilder,
    /// Of the first field that could not be written.
    error: Option<FieldError>,
    /// Whether a field was stored as JSON: whether its type reads that back is not known here.
    pub(crate) has_json: bool,
    #[cfg(feature = "blob")]
    blobs: Vec<crate::blob::Pending>,
}

impl FieldWriter {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self {
            properties: PropertiesBuilder::with_capacity(count),
            error: None,
            has_json: false,
            #[cfg(feature = "blob")]
            blobs: Vec::new(),
        }
    }

    /// Notes a blob that has to be uploaded before the properties are complete.
    #[cfg(feature = "blob")]
    pub(crate) fn add_blob(&mut self, blob: crate::blob::Pending) {
        self.blobs.push(blob);
    }

    /// The properties of what was written, where nothing is to be uploaded.
    pub(crate) fn into_properties(self) -> Properties {
        self.properties.build()
    }

    /// The properties of what was written, with links to blobs and contents as they are; and those blobs that the next write
    /// of the entity puts elsewhere.
    #[cfg(feature = "blob")]
    pub(crate) fn into_linked(self) -> std::result::Result<(Properties, Vec<crate::blob::Pending>), String> {
        let (mut properties, mut moving) = (self.properties.build(), Vec::new());
        for pending in self.blobs {
            let placed = pending.placed().ok_or("it makes a blob of what is not at hand")?;
            if !pending.stays(&placed) {
                moving.push(pending.clone());
            }
            for (name, value) in placed.properties(pending.names) {
                properties.insert(PropertyName::from_static(name), value);
            }
        }
        Ok((properties, moving))
    }

    /// The blobs of what was written that are not kept in the row.
    #[cfg(feature = "blob")]
    pub(crate) fn into_blobs(self) -> Vec<crate::Blob> {
        self.blobs.into_iter().map(|pending| pending.blob).collect()
    }

    /// The image of what was written.
    pub(crate) fn into_image(self, schema: &'static EntitySchema) -> Result<Image> {
        let image = Image::new(schema, self.properties.build())?;
        #[cfg(feature = "blob")]
        let image = Image { blobs: self.blobs, ..image };
        Ok(image)
    }

    /// A field that is one property; `None` leaves the property out.
    pub fn put(
        &mut self,
        property: &'static str,
        value: std::result::Result<Option<Value>, ValueError>,
    ) -> std::result::Result<(), FieldError> {
        self.set(property, value.map_err(|error| FieldError { property, error })?);
        Ok(())
    }

    /// As [`put`](Self::put), with its error kept for [`written`](Self::written).
    pub fn add(&mut self, property: &'static str, value: std::result::Result<Option<Value>, ValueError>) {
        match value {
            Ok(value) => self.set(property, value),
            Err(error) if self.error.is_none() => self.error = Some(FieldError { property, error }),
            Err(_) => {}
        }
    }

    /// As [`add`](Self::add), of a value that is stored as it stands.
    pub(crate) fn add_ref(&mut self, property: &'static str, value: ValueRef<'_>) {
        self.properties.set(PropertyName::from_static(property), value);
    }

    /// A field marked `json`, as [`add`](Self::add).
    pub fn add_json<T: Serialize>(&mut self, property: &'static str, value: &T) {
        self.has_json = true;
        self.add(property, json::to_value(value));
    }

    /// The error of the first field that could not be added.
    pub fn written(&mut self) -> std::result::Result<(), FieldError> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn set(&mut self, property: &'static str, value: Option<Value>) {
        if let Some(value) = value {
            self.properties.set(PropertyName::from_static(property), value.as_ref());
        }
    }
}
