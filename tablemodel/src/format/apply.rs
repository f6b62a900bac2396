//! A format after a change: what makes a list of changes checkable.
//! A change that does not fit what is there is refused.

use std::{collections::BTreeMap, fmt};

use super::{Change, Format};

/// A change that does not fit the format it is applied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The change, in one line.
    pub change: String,
    /// The format, as a discriminator.
    pub format: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the change `{}` does not fit `{}`", self.change, self.format)
    }
}

impl std::error::Error for Misfit {}

impl Change {
    /// The format after this change.
    ///
    /// # Errors
    ///
    /// [`Misfit`] if the format is not as the change says that it was.
    pub fn apply(&self, format: Format) -> Result<Format, Misfit> {
        let discriminator = format.discriminator();
        let misfit = || Misfit { change: self.to_string(), format: discriminator };
        self.applied(format).ok_or_else(misfit)
    }

    fn applied(&self, mut format: Format) -> Option<Format> {
        let Format { properties, indexes, copies, aggregates, reserved, .. } = &mut format;
        match self.clone() {
            Self::EntityRenamed { from, to } => replace(&mut format.entity_type, &from, to)?,
            Self::VersionChanged { from, to } => replace(&mut format.version, &from, to)?,
            Self::TableMoved { from, to } => replace(&mut format.table, &from, to)?,
            Self::AdoptChanged { to } => replace(&mut format.adopt, &!to, to)?,
            Self::WideChanged { to } => replace(&mut format.wide, &!to, to)?,
            Self::PartitionChanged { from, to } => replace(&mut format.partition, &from, to)?,
            Self::RowChanged { from, to } => replace(&mut format.row, &from, to)?,
            Self::Reserved { name } => reserved.insert(name).then_some(())?,
            Self::Unreserved { name } => reserved.remove(&name).then_some(())?,
            Self::Renamed { from, to, returns: _ } => {
                let is_free = properties.contains_key(&from) && !properties.contains_key(&to);
                return is_free.then(|| format.renamed(&from, &to));
            }
            Self::PropertyAdded { name, property, returns: _ } => add(properties, name, property)?,
            Self::PropertyRemoved { name, property } => remove(properties, &name, &property)?,
            Self::PropertyChanged { name, from, to, .. } => replace(properties.get_mut(&name)?, &from, to)?,
            Self::IndexAdded { name, index, returns: _ } => add(indexes, name, index)?,
            Self::IndexRemoved { name, index } => remove(indexes, &name, &index)?,
            Self::IndexChanged { name, code: _, from, to } => replace(indexes.get_mut(&name)?, &from, to)?,
            Self::CopyAdded { name, copy } => add(copies, name, copy)?,
            Self::CopyRemoved { name, copy } => remove(copies, &name, &copy)?,
            Self::CopyChanged { name, from, to } => replace(copies.get_mut(&name)?, &from, to)?,
            Self::AggregateAdded { name, aggregate } => add(aggregates, name, aggregate)?,
            Self::AggregateRemoved { name, aggregate } => remove(aggregates, &name, &aggregate)?,
            Self::AggregateChanged { name, from, to } => replace(aggregates.get_mut(&name)?, &from, to)?,
        }
        Some(format)
    }
}

fn replace<T: PartialEq>(own: &mut T, from: &T, to: T) -> Option<()> {
    let fits = own == from;
    *own = to;
    fits.then_some(())
}

fn add<T>(to: &mut BTreeMap<String, T>, name: String, value: T) -> Option<()> {
    to.insert(name, value).is_none().then_some(())
}

fn remove<T: PartialEq>(from: &mut BTreeMap<String, T>, name: &str, value: &T) -> Option<()> {
    (from.remove(name)? == *value).then_some(())
}
