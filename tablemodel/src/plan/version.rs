//! Versions: which one wrote a row, and an entity of an older one as this program knows it.
//!
//! A row is taken for what its own `EntityType` says. Nothing is written here; that an older row is stored as new is the
//! planner's, with its next write.

#[cfg(feature = "blob")]
use tablemodel_store::limits::MAX_BINARY_BYTES;
use tablemodel_store::{Properties, PropertyName, Row, ValueRef};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        group::Group,
        image::{self, Image},
        left_out::leaves_out,
        system::{self, RowKind},
    },
    schema::{Convert, CopySchema, EntitySchema, Moved, Previous},
    upgrade::Fault,
};

/// Who wrote a row, as seen by this program.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writer {
    /// A program of the same version.
    This,
    /// One of an older version, of this format.
    Older(&'static EntitySchema),
    /// One of a newer version, which lets this one read it.
    Newer(u32),
}

/// Whether the row is of the version and kind of this discriminator. The one comparison that most rows take.
pub(crate) fn is_current(schema: &EntitySchema, discriminator: &str, row: &Row) -> bool {
    system::entity_type(&row.properties) == Some(discriminator)
        || (schema.version == 1 && system::is_adopted(schema, &row.properties))
}

/// Whether the row of this entity is of a version before this one, be it one that the program knows or not.
pub(crate) fn is_older(schema: &EntitySchema, row: &Row) -> bool {
    of_head(schema, row).is_some_and(|version| version < schema.version)
}

/// The version that wrote the head of this entity; what another program wrote into an adopted table is of the first.
pub(crate) fn of_head(schema: &EntitySchema, head: &Row) -> Option<u32> {
    match system::kind(&head.properties) {
        RowKind::Primary { version, .. } => Some(version),
        RowKind::Foreign if system::is_adopted(schema, &head.properties) => Some(1),
        _ => None,
    }
}

/// Who wrote the row.
pub(crate) fn writer(schema: &'static EntitySchema, row: &Row) -> Result<Writer> {
    if system::entity_type(&row.properties) == Some(schema.discriminator) {
        return Ok(Writer::This); // the usual case
    }
    let version = match system::kind(&row.properties) {
        RowKind::Primary { version, .. } | RowKind::Derived { version, .. } | RowKind::Part { version, .. } => version,
        RowKind::Foreign if system::is_adopted(schema, &row.properties) => 1,
        RowKind::Tombstone { .. } | RowKind::Foreign => {
            return Err(Error::corrupt("the row is not of this type").of(schema.entity_type).at_key(row.key.clone()));
        }
    };
    if version == schema.version {
        return Ok(Writer::This);
    }
    let older = schema.ancestors().find(|older| older.version == version);
    match (older, readable_by(&row.properties)) {
        (Some(older), _) => Ok(Writer::Older(older)),
        (None, Some(oldest)) if version > schema.version && oldest <= schema.version => Ok(Writer::Newer(version)),
        (None, _) => Err(unknown(schema, version, row)),
    }
}

/// Whether the version that wrote the row of a target holds this total; one that is not known is taken to.
pub(crate) fn writes_total(schema: &'static EntitySchema, row: &Row, property: &str) -> bool {
    let Ok(Writer::Older(older)) = writer(schema, row) else { return true };
    older.property(property).is_some_and(|property| property.aggregate)
}

/// That this program may write over the row: it knows what the row holds, and every row that was derived from it.
pub(crate) fn check_writable(schema: &'static EntitySchema, row: &Row) -> Result<()> {
    match writer(schema, row)? {
        Writer::This | Writer::Older(_) => Ok(()),
        Writer::Newer(version) => Err(too_new(schema, version, row)),
    }
}

fn too_new(schema: &'static EntitySchema, version: u32, row: &Row) -> Error {
    let detail = format!(
        "the row was written by version {version}; this program is of version {}, and may read but not write it: deploy the \
         newer program",
        schema.version
    );
    Error::new(ErrorKind::UnknownVersion, detail).of(schema.entity_type).at_key(row.key.clone())
}

fn unknown(schema: &'static EntitySchema, version: u32, row: &Row) -> Error {
    let known = schema.version;
    let remedy = match version > known {
        true => "deploy the newer program, or let that one say `readable_by`",
        false => "name the older version by `#[table(previous = ..)]`",
    };
    let detail = format!("the row was written by version {version}; this program knows version {known}: {remedy}");
    Error::new(ErrorKind::UnknownVersion, detail).of(schema.entity_type).at_key(row.key.clone())
}

/// The oldest version that may read the row, if its writer said so.
fn readable_by(properties: &Properties) -> Option<u32> {
    match properties.get(system::READABLE_BY) {
        Some(ValueRef::Int32(version)) => u32::try_from(version).ok(),
        _ => None,
    }
}

/// The entity of these rows as this program knows it, if an older version wrote them; nothing where its own format reads
/// them.
pub(crate) fn upgraded(schema: &'static EntitySchema, rows: &Group) -> Result<Option<Image>> {
    match writer(schema, &rows.head)? {
        Writer::This | Writer::Newer(_) => Ok(None),
        Writer::Older(_) => Ok(Some(Image::stored(schema, rows)?)),
    }
}

/// An entity before a change: by the version that wrote it, which tells its derived rows, and as this program knows it.
#[derive(Debug)]
pub(crate) struct Old {
    pub(crate) written: Image,
    upgraded: Option<Image>,
}

impl Old {
    /// The entity of these rows. `UnknownVersion` where a newer program wrote them: those are not to be written over.
    pub(crate) fn of(schema: &'static EntitySchema, rows: &Group) -> Result<Self> {
        let written = Image::written(schema, rows)?;
        let upgraded = if written.is_current() { None } else { Some(written.clone().upgrade()?) };
        Ok(Self { written, upgraded })
    }

    /// The same, for a look at it alone: one whose upgrade asks for the content of a blob, which is not fetched for that, is taken
    /// as it was written.
    pub(crate) fn looked_at(schema: &'static EntitySchema, rows: &Group) -> Result<Self> {
        match Self::of(schema, rows) {
            Err(error) if crate::upgrade::asks(&error) => {
                Ok(Self { written: Image::written(schema, rows)?, upgraded: None })
            }
            other => other,
        }
    }

    /// As this program knows it.
    pub(crate) fn now(&self) -> &Image {
        self.upgraded.as_ref().unwrap_or(&self.written)
    }

    /// Whether an older version wrote it.
    pub(crate) fn is_older(&self) -> bool {
        self.upgraded.is_some()
    }

    /// The image that tells its derived rows, and where an older version wrote it, what this program makes of it.
    pub(crate) fn into_images(self) -> Vec<Image> {
        std::iter::once(self.written).chain(self.upgraded).collect()
    }
}

impl Image {
    /// The image as the newest version has it: by one upgrade after the other.
    ///
    /// Copies, aggregates, and what no version knows go along as they are stored.
    pub(crate) fn upgrade(self) -> Result<Self> {
        let Self { latest, .. } = self;
        let mut chain: Vec<(&'static EntitySchema, &'static Previous)> = Vec::new();
        let mut newer = latest;
        while newer.version > self.schema.version
            && let Some(previous) = &newer.previous
        {
            chain.push((newer, previous));
            newer = previous.schema;
        }
        let mut image = self.with_fetched();
        for (schema, previous) in chain.into_iter().rev() {
            image = image.step(schema, previous)?;
        }
        Ok(image)
    }

    /// With the contents of blobs that were fetched for its upgrade.
    fn with_fetched(mut self) -> Self {
        for (name, value) in self.fetched.take().iter().flat_map(|fetched| fetched.iter()) {
            self.fields.set(name.clone(), value);
        }
        self
    }

    /// The image in the form that its entity moves to: at other keys.
    pub(crate) fn moved(&self, moved: &Moved) -> Result<Self> {
        let now = if self.is_current() { self.clone() } else { self.clone().upgrade()? };
        let new = now.converted(moved.form(), moved.upgrade());
        #[cfg(feature = "blob")]
        let new = linked(&now, moved.form(), new);
        new
    }

    /// What an upgrade makes of it.
    fn converted(&self, to: &'static EntitySchema, upgrade: Convert) -> Result<Self> {
        let failed = |fault| failed(self, to, fault);
        let writer = upgrade(&self.fields).map_err(failed)?;
        let refused = |detail| failed(Fault::Refused(crate::UpgradeError::new(detail)));
        #[cfg(feature = "blob")]
        let (mut fields, blobs) = writer.into_linked().map_err(refused)?;
        #[cfg(not(feature = "blob"))]
        let mut fields = settled(writer).map_err(refused)?;
        carry(self, to, &mut fields);
        let image = Image::new(to, fields).map_err(|error| error.within("the upgraded entity"))?;
        #[cfg(feature = "blob")]
        let image = Image { blobs, ..image };
        Ok(image)
    }

    /// From one version to the next.
    fn step(self, to: &'static EntitySchema, previous: &Previous) -> Result<Self> {
        let next = self.converted(to, previous.upgrade())?;
        if next.key != self.key {
            let detail = format!(
                "the upgrade from version {} to version {} changes the key to {}; an upgraded row stays where it is: changing \
                 keys is a migration of its own",
                self.schema.version, to.version, next.key
            );
            return Err(Error::new(ErrorKind::KeyChanged, detail).of(to.entity_type).at_key(self.key));
        }
        Ok(Image { latest: self.latest, ..next })
    }
}

/// The new form of an entity that moves, with what it holds of blobs as it is: links are not looked into, and what is kept in the row
/// stays there, whatever the new form would do with either. The next write of the entity, once it has moved, does that.
#[cfg(feature = "blob")]
fn linked(of: &Image, to: &'static EntitySchema, new: Result<Image>) -> Result<Image> {
    let refused = |detail: String| failed(of, to, Fault::Refused(crate::UpgradeError::new(detail)));
    let mut new = match new {
        Err(error) if crate::upgrade::asks(&error) => {
            return Err(refused(
                "it asks for the content of a blob, and a move takes links along without a look".to_owned(),
            ));
        }
        other => other?,
    };
    for pending in std::mem::take(&mut new.blobs) {
        let ([property, ..], bytes) = (pending.names, pending.bytes());
        if bytes > MAX_BINARY_BYTES {
            let why = "of an entity that moves none is uploaded: make it once it has moved";
            return Err(refused(format!("property `{property}` is a new blob of {bytes} bytes, and {why}")));
        }
    }
    Ok(new)
}

/// The properties that were written, links to blobs as they are.
#[cfg_attr(not(feature = "blob"), expect(clippy::unnecessary_wraps, reason = "only a blob can be wrong here"))]
fn settled(writer: crate::entity::FieldWriter) -> std::result::Result<Properties, String> {
    #[cfg(feature = "blob")]
    return writer.into_linked().map(|(properties, _)| properties);
    #[cfg(not(feature = "blob"))]
    Ok(writer.into_properties())
}

/// What is not the struct's to say goes along: copies and aggregates that both versions have, and unknown properties.
fn carry(from: &Image, to: &'static EntitySchema, fields: &mut Properties) {
    let is_copied = |schema: &EntitySchema, name: &str| schema.copies.iter().any(|copy| copy.holds(name));
    let is_total = |name: &str| to.property(name).is_some_and(|property| property.aggregate);
    fields.retain(|name| !is_copied(to, name));
    for (name, value) in &from.fields {
        let text = name.as_str();
        let was_known = from.schema.property(text).is_some() || is_copied(from.schema, text);
        let goes_along = match was_known {
            true => {
                is_copied(to, text) || (is_total(text) && from.schema.property(text).is_some_and(|own| own.aggregate))
            }
            false => {
                // A copy that a frozen struct leaves out goes along as it is stored, as far as it is copied still.
                let goes_along = match to.copies.iter().find(|copy| copy.holds(text)) {
                    Some(copy) => leaves_out(from.schema, copy),
                    None => !is_copied_no_more(from.schema, to, text),
                };
                to.property(text).is_none() && goes_along
            }
        };
        if goes_along {
            fields.set(name.clone(), value);
        }
    }
    to.copies.iter().for_each(|copy| find_renamed(copy, from, fields));
}

/// Whether a copy that the older struct leaves out held the property, which the newer one does not copy: it would follow its source no more.
fn is_copied_no_more(from: &EntitySchema, to: &EntitySchema, name: &str) -> bool {
    let is_of_source = |copy: &CopySchema, tail: &str| {
        let mut of = (copy.source)().lineage().flat_map(EntitySchema::properties);
        of.any(|property| property.property == tail || property.was == Some(tail))
    };
    let is_of = |copy: &CopySchema| {
        let tail = name.strip_prefix(copy.property).and_then(|tail| tail.strip_prefix('_'));
        tail.is_some_and(|tail| is_of_source(copy, tail))
    };
    to.copies.iter().any(|copy| leaves_out(from, copy) && is_of(copy))
}

/// What is copied, and was called otherwise when it was taken, is found where the source says what it was called.
fn find_renamed(copy: &CopySchema, from: &Image, fields: &mut Properties) {
    let source = (copy.source)();
    for (name, stored) in copy.properties.iter().zip(copy.all_stored()) {
        let earlier = source.property(name).and_then(|of| from.fields.get(&copy.stored(of.was?)));
        if let (None, Some(value)) = (fields.get_constant(stored), earlier) {
            fields.set(PropertyName::from_static(stored), value);
        }
    }
}

fn failed(from: &Image, to: &'static EntitySchema, fault: Fault) -> Error {
    let (old, new) = (from.schema.version, to.version);
    let why = format!("the upgrade from version {old} to version {new} failed");
    let field = fault.field(from.schema, to);
    let error = match fault {
        Fault::Read(error) => Error::corrupt(format!("stored {error}")).caused_by(error),
        Fault::Refused(error) => {
            Error::new(ErrorKind::UpgradeFailed { from: old, to: new }, format!("{why}: {error}")).caused_by(error)
        }
        Fault::Write(error) => {
            let detail = format!("{why}: {}", image::invalid(to, error.clone()).detail());
            Error::new(ErrorKind::UpgradeFailed { from: old, to: new }, detail).caused_by(error)
        }
    };
    error.of(to.entity_type).of_field(field).at_key(from.key.clone())
}

/// Adds to a row what older programs read of it, and from which version on they may.
pub(crate) fn expand(image: &Image, row: &mut Properties) -> Result<()> {
    let schema = image.schema;
    if let Some(oldest) = schema.readable_by {
        row.insert(PropertyName::from_static(system::READABLE_BY), i32::try_from(oldest).unwrap_or(i32::MAX));
    }
    let (mut newer, mut fields) = (schema, None::<Properties>);
    while let Some(previous) = &newer.previous
        && let Some(downgrade) = previous.downgrade
    {
        let from = fields.as_ref().unwrap_or(&image.fields);
        let error = |fault| failed_back(image, [newer, previous.schema], fault);
        let older = settled(downgrade(from).map_err(error)?)
            .map_err(|detail| error(Fault::Refused(crate::UpgradeError::new(detail))))?;
        for (name, value) in &older {
            let is_taken = newer_than(schema, previous.schema).any(|version| is_own(version, name.as_str()));
            if !is_taken && !previous.schema.in_key(name.as_str()) {
                row.set(name.clone(), value);
            }
        }
        (newer, fields) = (previous.schema, Some(older));
    }
    Ok(())
}

/// Leaves on a row that stays of an older version what its own program shows older ones: a frozen struct does not tell that.
pub(crate) fn keep_shown(schema: &'static EntitySchema, stored: &Properties, row: &mut Properties) {
    for (name, value) in stored {
        let text = name.as_str();
        let is_shown = text == system::READABLE_BY || (!schema.downgrades() && is_former(schema, text));
        if is_shown && row.get(text).is_none() {
            row.set(name.clone(), value);
        }
    }
}

/// The versions after `older`, whose properties stand on a row before its own; or are absent there.
fn newer_than(schema: &'static EntitySchema, older: &EntitySchema) -> impl Iterator<Item = &'static EntitySchema> {
    let version = older.version;
    schema.lineage().take_while(move |newer| newer.version > version)
}

fn is_own(schema: &'static EntitySchema, name: &str) -> bool {
    schema.property(name).is_some() || schema.copy_with(name).is_some()
}

fn failed_back(image: &Image, [read, made]: [&'static EntitySchema; 2], fault: Fault) -> Error {
    let (from, to, field) = (image.schema.version, made.version, fault.field(read, made));
    let detail = match &fault {
        Fault::Read(error) | Fault::Write(error) => error.to_string(),
        Fault::Refused(error) => error.to_string(),
    };
    let detail = format!("the downgrade from version {from} to version {to} failed: {detail}");
    let error = Error::new(ErrorKind::UpgradeFailed { from, to }, detail).of_field(field);
    error.of(image.schema.entity_type).at_key(image.key.clone())
}

/// Whether the property is one that only older versions have. It is on a row for their sake, and made anew with each write.
pub(crate) fn is_former(schema: &'static EntitySchema, name: &str) -> bool {
    !is_own(schema, name) && schema.ancestors().any(|older| is_own(older, name))
}
