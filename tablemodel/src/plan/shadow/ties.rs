//! What ties an entity that moves to others: what it copies, and the aggregates that it adds to. Both go along as they are.
//!
//! A back-reference of the new form is one more row. A contribution of it is too, and adds nothing: what the old form adds is in the
//! total, and from the switch on what the new one does, which is the same. Pure.

use std::borrow::Cow;

use crate::{
    error::{Error, ErrorKind, Result},
    plan::image::Image,
    rooms::{aggregate, copy},
    schema::{AggregateSchema, CopySchema},
};

/// That the new form copies what the old one does, and adds to the same aggregates as much.
pub(super) fn check(image: &Image, new: &Image) -> Result<()> {
    if new.schema.copies.is_empty() && new.schema.aggregates.is_empty() {
        return Ok(());
    }
    let old = if image.is_current() { Cow::Borrowed(image) } else { Cow::Owned(image.clone().upgrade()?) };
    for copy in new.schema.copies {
        let own = |own: &&CopySchema| own.name == copy.name && own.source_type == copy.source_type;
        let was = old.schema.copies.iter().find(own).map(|own| copy::source(&*old, own)).transpose()?.flatten();
        let is = copy::source(new, copy)?;
        if was != is {
            let place = |of: Option<copy::Source>| of.map_or("nothing".to_owned(), |source| source.key.to_string());
            let detail = format!("copies `{}` of {}, and it has it of {}", copy.name, place(is), place(was));
            return Err(changed(image, new, &detail));
        }
    }
    for aggregate in new.schema.aggregates {
        let own = |own: &&AggregateSchema| aggregate.is_same(own);
        let was = old.schema.aggregates.iter().find(own).map(|own| aggregate::added(&old, own)).transpose()?.flatten();
        let is = aggregate::added(new, aggregate)?;
        if was != is {
            let detail = format!("adds otherwise to `{}` of {}", aggregate.into, aggregate.target.entity_type);
            return Err(changed(image, new, &detail));
        }
    }
    Ok(())
}

fn changed(image: &Image, new: &Image, what: &str) -> Error {
    let detail = format!(
        "the form that the entity moves to {what}: a move takes that along as it is, and changes nothing of it"
    );
    let kind = ErrorKind::UpgradeFailed { from: image.schema.version, to: new.schema.version };
    Error::new(kind, detail).of(image.latest.entity_type).at_key(image.key.clone())
}
