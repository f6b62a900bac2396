//! What the copies of entities say: that it is what their sources do, and can be read.
//!
//! What a copy holds is told by its room; nothing is written here.

use super::{Violation, ViolationKind, mend::Mend, readable::readable};
use crate::{
    database::Database,
    error::Result,
    plan::{
        change::{check_told, is_primary},
        image::Image,
        states::IndexState,
    },
    rooms::copy,
    schema::CopySchema,
};

/// An entity that has copies.
pub(super) struct Holder {
    /// As this program knows it.
    pub(super) image: Image,
    pub(super) sequence: i64,
    /// Whether an older version wrote it.
    pub(super) is_older: bool,
}

impl Database {
    /// The copies that an entity has: that they say what their sources do. One of an older version is written as new with those that are
    /// behind; where it could not be read then, that is what is wrong.
    pub(super) async fn check_copies(&self, holder: &Holder, strict: bool) -> Result<Option<Violation>> {
        let found = self.wrong_copy(holder, strict).await?;
        if found.is_none() || !holder.is_older {
            return Ok(found);
        }
        let lacked = self.lacked_copies(&holder.image).await?;
        Ok(lacked.first().map(|(copy, _)| unread(&holder.image, copy)).or(found))
    }

    /// A source that is gone leaves a copy that is kept, which must be read only where the entity cannot be without it. One that is not
    /// built yet may say anything, unless what is being written is checked too.
    async fn wrong_copy(&self, of: &Holder, strict: bool) -> Result<Option<Violation>> {
        let holder = &of.image;
        let setting = &self.registered(holder.schema)?.setting;
        let least = if strict { IndexState::WriteOnly } else { IndexState::Readable };
        let mut stale = None;
        for (at, copy) in holder.schema.copies.iter().enumerate() {
            if setting.of(holder.schema.indexes.len() + at) < least {
                continue;
            }
            // While it is built, what has none is told by the migration.
            let misread = copy::misread(holder, copy).filter(|_| setting.copies(holder.schema, at));
            let lost = misread.as_ref().filter(|_| !copy.optional).map(|_| unread(holder, copy));
            let Some(source) = copy::source(holder, copy)? else {
                match lost {
                    Some(_) => return Ok(lost),
                    None => continue,
                }
            };
            let row = self.get_row(&self.table_name(source.schema.table), &source.key).await?;
            if row.as_ref().is_some_and(|row| check_told(source.schema, row).is_err()) {
                continue; // reported where it stands
            }
            let of_source = row.clone().filter(|row| is_primary(source.schema, row));
            if lost.is_some() && of_source.is_none() {
                return Ok(lost);
            }
            let is_to_follow = misread.is_some() && of_source.is_some();
            if of_source.is_some_and(|row| readable(source.schema, &row.into()).is_err()) {
                continue; // reported where it stands
            }
            let is_stale = match copy::is_stale(holder, copy, row.as_ref()) {
                Err(error) if crate::upgrade::asks(&error) => continue, // it is written as new before it is copied
                other => other? || is_to_follow,
            };
            // Of an older version, it may be one that copies less.
            let is_as_it_was = of.is_older && copy.optional && copy::is_part(holder, copy, row.as_ref())?;
            if !is_stale
                || is_as_it_was
                || self.is_pending(source.schema, &source.key).await?
                || self.is_pending(holder.schema, &holder.key).await?
            {
                continue;
            }
            stale.get_or_insert(Violation {
                table: holder.schema.table.to_owned(),
                key: holder.key.clone(),
                kind: ViolationKind::Stale,
                detail: format!("its copy `{}` is not what the {} at {} says", copy.name, copy.source_type, source.key),
                mend: Mend::Recopy(holder.schema.entity_type, holder.key.clone(), of.sequence),
            });
        }
        Ok(stale)
    }
}

/// That a copy which must be cannot be read, and there is no source that would fill it: nor can the entity be.
fn unread(holder: &Image, copy: &CopySchema) -> Violation {
    let what = match copy::misread(holder, copy).filter(|_| copy::is_filled(holder, copy)) {
        Some(error) => format!("cannot be read ({})", error.error),
        None => "is empty".to_owned(),
    };
    let detail =
        format!("it must have its copy `{}`, which {what}, and its {} is not there", copy.name, copy.source_type);
    Violation {
        table: holder.schema.table.to_owned(),
        key: holder.key.clone(),
        kind: ViolationKind::Corrupt,
        detail,
        mend: Mend::No,
    }
}
