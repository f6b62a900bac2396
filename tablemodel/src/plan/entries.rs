//! Entries: the derived rows that an image wants, room by room.
//!
//! The maintenance rule stands on this one function: what only the old image wants is deleted, what the new one wants
//! newly or differently is written, the rest is left alone.

use std::collections::HashSet;

use tablemodel_store::Properties;

use crate::{
    error::{Error, Result},
    plan::{image::Image, shadow},
    rooms,
};

/// A derived row that an image wants. Its sequence number is set when it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Which index, copy or aggregate wants it, by its number in the latest schema: indexes first, then copies, aggregates, and
    /// what only older versions have.
    pub(crate) index: usize,
    /// Where it stands; none for the image's own partition.
    pub(crate) away: Option<Away>,
    /// The row key.
    pub(crate) row: String,
    /// Its properties, without the system's.
    pub(crate) properties: Properties,
}

/// A partition other than an image's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Away {
    /// The table, without the run-time prefix.
    pub(crate) table: &'static str,
    /// The partition key.
    pub(crate) partition: String,
}

impl Entry {
    /// The partition that it stands in.
    pub(crate) fn partition<'a>(&'a self, image: &'a Image) -> &'a str {
        self.away.as_ref().map_or(&image.key.partition, |away| &away.partition)
    }

    /// Whether both are the same row.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        self.row == other.row && self.away == other.away
    }
}

/// Whether the image wants this row of what has this number among all that follows it.
pub(crate) fn wants(image: &Image, number: usize, partition: &str, row: &str) -> Result<bool> {
    let mut wants = false;
    each_place(image, number, |own, wanted| wants |= (own, wanted) == (partition, row))?;
    Ok(wants)
}

/// The partition keys and row keys of all rows that it wants of that.
pub(crate) fn places(image: &Image, number: usize) -> Result<HashSet<(String, String)>> {
    let mut places = HashSet::new();
    each_place(image, number, |partition, row| {
        places.insert((partition.to_owned(), row.to_owned()));
    })?;
    Ok(places)
}

fn each_place(image: &Image, number: usize, mut see: impl FnMut(&str, &str)) -> Result<()> {
    let mut wanted = Vec::new();
    if image.latest.is_shadow(number) {
        // One that cannot be upgraded wants none.
        shadow::add_entries(image, &mut wanted).ok();
    } else if !image.is_current() {
        wanted = told(image, |_| false).entries;
    } else if number < image.schema.indexes.len() {
        return rooms::index::each_key(image, number, see);
    } else {
        rooms::aggregate::entries(image, number, &mut wanted)?;
    }
    let wanted = wanted.iter().filter(|entry| entry.index == number);
    wanted.for_each(|entry| see(entry.partition(image), &entry.row));
    Ok(())
}

/// Every derived row of an image: by the format of the version that wrote it, under the numbers of the latest one.
pub(crate) fn entries(image: &Image) -> Result<Vec<Entry>> {
    let Told { entries, untold } = told(image, |_| false);
    untold.into_iter().next().map_or(Ok(entries), |(_, error)| Err(error))
}

/// The derived rows of an image, as far as they can be told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) entries: Vec<Entry>,
    /// The numbers of those that the image cannot have, and why: a key would be too long, say. Of an image that is stored, nobody has
    /// written any: the index came after the entity.
    pub(crate) untold: Vec<(usize, Error)>,
}

/// Tells what can be told of an image, but for what is left out of its indexes.
pub(crate) fn told(image: &Image, is_left_out: impl Fn(usize) -> bool) -> Told {
    let (indexes, copies) = (image.schema.indexes.len(), image.schema.copies.len());
    let mut told = Told { entries: Vec::with_capacity(indexes), untold: Vec::new() };
    for number in (0..indexes + copies + image.schema.aggregates.len()).filter(|number| !is_left_out(*number)) {
        told.add(number, |entries| match number.checked_sub(indexes) {
            None => rooms::index::entries(image, number, entries),
            Some(copy) if copy < copies => rooms::copy::entries(image, copy, entries),
            Some(_) => rooms::aggregate::entries(image, number, entries),
        });
    }
    if !image.is_current() {
        let numbers = told.entries.iter_mut().map(|entry| &mut entry.index);
        let all = numbers.chain(told.untold.iter_mut().map(|(number, _)| number));
        all.for_each(|number| *number = image.latest.position_of(image.schema, *number));
    }
    for (number, _, now) in image.left_out() {
        let copy = number.saturating_sub(now.schema.indexes.len());
        told.add(number, |entries| rooms::copy::entries(now, copy, entries));
    }
    told
}

impl Told {
    /// Adds what the image wants of what has this number, if that can be told.
    fn add(&mut self, number: usize, entries: impl FnOnce(&mut Vec<Entry>) -> Result<()>) {
        let before = self.entries.len();
        if let Err(error) = entries(&mut self.entries) {
            self.entries.truncate(before);
            self.untold.push((number, error));
        }
    }
}
