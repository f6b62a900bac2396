//! What changed between two formats of an entity.
//! Pure; the order of what it finds is always the same.

use std::collections::{BTreeMap, BTreeSet};

use tablemodel_store::EdmType;

use super::{Change, Code, Format, IndexFormat, PropertyFormat, WhenFormat, WrongRename};

/// What the two formats alone do not tell.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    /// Properties that have another name: the old name, the new one.
    pub properties: Vec<(String, String)>,
    /// Names that versions before the old one used, and that the old one does not use any more.
    pub retired: BTreeSet<String>,
}

/// What has to be done to `from` to make it `to`: applied one after the other, the changes give `to`.
///
/// A property that is gone and one that is new are two changes, unless `renames` says that they are one.
///
/// # Errors
///
/// [`WrongRename`] for a rename of a property that is not gone, or to one that is not new.
///
/// ```
/// use tablemodel::{format::{Code, Format, Renames, diff}, prelude::*};
/// # mod before {
/// #     use tablemodel::prelude::*;
/// #     #[derive(TableEntity)]
/// #     #[table(name = "Company", partition = "{department}", row = "{id:06}")]
/// #     pub struct Employee { department: String, id: u32 }
/// # }
/// # #[derive(TableEntity)]
/// # #[table(name = "Company", partition = "{department}", row = "{id:06}", version = 2)]
/// # struct Employee { department: String, id: u32, age: Option<u8> }
///
/// let (old, new) = (Format::of(before::Employee::SCHEMA)?, Format::of(Employee::SCHEMA)?);
/// let changes = diff(&old, &new, &Renames::default()).unwrap();
/// assert_eq!(changes.iter().map(|change| change.code()).collect::<Vec<_>>(), [Code::TM202, Code::TM101]);
///
/// let again = changes.iter().try_fold(old, |format, change| change.apply(format));
/// assert_eq!(again.unwrap(), new);
/// # Ok::<(), tablemodel::format::FormatError>(())
/// ```
pub fn diff(from: &Format, to: &Format, renames: &Renames) -> Result<Vec<Change>, WrongRename> {
    let mut changes = Vec::new();
    let mut from = from.clone();
    for (old, new) in &renames.properties {
        check_rename(old, new, &from, to)?;
        let returns = renames.retired.contains(new) || from.reserved.contains(new);
        from = from.renamed(old, new);
        changes.push(Change::Renamed { from: old.clone(), to: new.clone(), returns });
    }
    let mut found = Found { changes, retired: &renames.retired };
    found.entity(&from, to);
    found.properties(&from, to);
    found.indexes(&from, to);
    found.copies(&from, to);
    found.aggregates(&from, to);
    Ok(found.changes)
}

fn check_rename(old: &str, new: &str, from: &Format, to: &Format) -> Result<(), WrongRename> {
    let why = if !from.properties.contains_key(old) {
        "the old version has no such property"
    } else if to.properties.contains_key(old) {
        "the new version still has the old one"
    } else if !to.properties.contains_key(new) {
        "the new version has no property of the new name"
    } else if from.properties.contains_key(new) {
        "the old version has one of the new name already"
    } else {
        return Ok(());
    };
    Err(WrongRename { from: old.to_owned(), to: new.to_owned(), why })
}

struct Found<'a> {
    changes: Vec<Change>,
    retired: &'a BTreeSet<String>,
}

impl Found<'_> {
    fn push_if(&mut self, differs: bool, change: impl FnOnce() -> Change) {
        if differs {
            self.changes.push(change());
        }
    }

    fn entity(&mut self, a: &Format, b: &Format) {
        let (from, to) = (&a.entity_type, &b.entity_type);
        self.push_if(from != to, || Change::EntityRenamed { from: from.clone(), to: to.clone() });
        let (from, to) = (a.version, b.version);
        self.push_if(from != to, || Change::VersionChanged { from, to });
        let (from, to) = (&a.table, &b.table);
        self.push_if(from != to, || Change::TableMoved { from: from.clone(), to: to.clone() });
        self.push_if(a.adopt != b.adopt, || Change::AdoptChanged { to: b.adopt });
        self.push_if(a.wide != b.wide, || Change::WideChanged { to: b.wide });
        let (from, to) = (&a.partition, &b.partition);
        self.push_if(from != to, || Change::PartitionChanged { from: from.clone(), to: to.clone() });
        let (from, to) = (&a.row, &b.row);
        self.push_if(from != to, || Change::RowChanged { from: from.clone(), to: to.clone() });
        let (was, is) = (&a.reserved, &b.reserved);
        self.changes.extend(is.difference(was).map(|name| Change::Reserved { name: name.clone() }));
        self.changes.extend(was.difference(is).map(|name| Change::Unreserved { name: name.clone() }));
    }

    fn returns(&self, name: &str, reserved: &BTreeSet<String>) -> bool {
        self.retired.contains(name) || reserved.contains(name)
    }

    fn properties(&mut self, a: &Format, b: &Format) {
        for (name, pair) in pairs(&a.properties, &b.properties) {
            let name = name.to_owned();
            match pair {
                (Some(was), None) => self.changes.push(Change::PropertyRemoved { name, property: was.clone() }),
                (None, Some(is)) => {
                    let returns = self.returns(&name, &a.reserved);
                    self.changes.push(Change::PropertyAdded { name, property: is.clone(), returns });
                }
                (Some(was), Some(is)) if was != is => self.property(&name, (a, was), (b, is)),
                _ => {}
            }
        }
    }

    /// How it is cut into rows is a change of its own.
    fn property(&mut self, name: &str, (a, was): (&Format, &PropertyFormat), (b, is): (&Format, &PropertyFormat)) {
        let whole = PropertyFormat { chunked: is.chunked, ..was.clone() };
        for (from, to) in [(was, &whole), (&whole, is)] {
            let (from, to, name) = (from.clone(), to.clone(), name.to_owned());
            let aggregate = stopped_by(&name, (a, &from), (b, &to));
            self.push_if(from != to, || Change::PropertyChanged { name, from, to, aggregate });
        }
    }

    fn indexes(&mut self, a: &Format, b: &Format) {
        for (name, pair) in pairs(&a.indexes, &b.indexes) {
            let name = name.to_owned();
            match pair {
                (Some(was), None) => self.changes.push(Change::IndexRemoved { name, index: was.clone() }),
                (None, Some(is)) => {
                    let returns = self.returns(&name, &a.reserved);
                    self.changes.push(Change::IndexAdded { name, index: is.clone(), returns });
                }
                (Some(was), Some(is)) => self.index(&name, (a, was), (b, is)),
                (None, None) => {}
            }
        }
    }

    /// One change for each aspect.
    fn index(&mut self, name: &str, (a, was): (&Format, &IndexFormat), (b, is): (&Format, &IndexFormat)) {
        let mut now = was.clone();
        for (code, take) in ASPECTS {
            let mut next = now.clone();
            take(&mut next, is);
            if next != now {
                let (name, from, to) = (name.to_owned(), now, next.clone());
                self.changes.push(Change::IndexChanged { name, code, from, to });
            }
            now = next;
        }
        if was.when == is.when && asks_otherwise(is.when.as_ref(), a, b) {
            let (name, from, to) = (name.to_owned(), is.clone(), is.clone());
            self.changes.push(Change::IndexChanged { name, code: Code::TM407, from, to });
        }
    }

    fn copies(&mut self, a: &Format, b: &Format) {
        for (name, pair) in pairs(&a.copies, &b.copies) {
            let name = name.to_owned();
            self.changes.extend(match pair {
                (Some(was), None) => Some(Change::CopyRemoved { name, copy: was.clone() }),
                (None, Some(is)) => Some(Change::CopyAdded { name, copy: is.clone() }),
                (Some(was), Some(is)) if was != is => {
                    Some(Change::CopyChanged { name, from: was.clone(), to: is.clone() })
                }
                _ => None,
            });
        }
    }

    fn aggregates(&mut self, a: &Format, b: &Format) {
        for (name, pair) in pairs(&a.aggregates, &b.aggregates) {
            let name = name.to_owned();
            self.changes.extend(match pair {
                (Some(was), None) => Some(Change::AggregateRemoved { name, aggregate: was.clone() }),
                (None, Some(is)) => Some(Change::AggregateAdded { name, aggregate: is.clone() }),
                (Some(was), Some(is)) if was != is || asks_otherwise(is.when.as_ref(), a, b) => {
                    Some(Change::AggregateChanged { name, from: was.clone(), to: is.clone() })
                }
                _ => None,
            });
        }
    }
}

/// An aggregate that both versions make of the property, and that cannot go on.
fn stopped_by(
    property: &str,
    (a, from): (&Format, &PropertyFormat),
    (b, to): (&Format, &PropertyFormat),
) -> Option<String> {
    let mut kept =
        a.aggregates.iter().filter(|(name, was)| b.aggregates.get(*name).is_some_and(|is| is.function == was.function));
    kept.find(|(_, aggregate)| !aggregate.function.goes_on(property, from, to)).map(|(name, _)| name.clone())
}

/// Whether a condition may hold where it did not, or the other way round, without being another one.
fn asks_otherwise(when: Option<&WhenFormat>, a: &Format, b: &Format) -> bool {
    let Some(WhenFormat { property, .. }) = when else { return false };
    let (Some(was), Some(is)) = (a.properties.get(property), b.properties.get(property)) else { return false };
    let is_flag = |of: &PropertyFormat| of.edm == EdmType::Boolean;
    is_flag(was) != is_flag(is) || (was.nullable && !is.nullable)
}

/// Takes one aspect of an index over from another.
type Take = fn(&mut IndexFormat, &IndexFormat);

/// The aspects of an index, in the order in which they are taken over.
const ASPECTS: [(Code, Take); 5] = [
    (Code::TM403, |now, is| {
        now.row = is.row.clone();
        now.each = is.each.clone();
        if now.elsewhere.is_some() && is.elsewhere.is_some() {
            now.elsewhere = is.elsewhere.clone();
        }
        if now.cover.is_list() != is.cover.is_list() {
            now.cover = is.cover.clone();
        }
    }),
    (Code::TM405, |now, is| now.elsewhere = is.elsewhere.clone()),
    (Code::TM404, |now, is| now.cover = is.cover.clone()),
    (Code::TM406, |now, is| now.unique = is.unique),
    (Code::TM407, |now, is| now.when = is.when.clone()),
];

/// What either map has under each name.
fn pairs<'a, T>(
    a: &'a BTreeMap<String, T>,
    b: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a str, (Option<&'a T>, Option<&'a T>))> {
    let names: BTreeSet<&str> = a.keys().chain(b.keys()).map(String::as_str).collect();
    names.into_iter().map(move |name| (name, (a.get(name), b.get(name))))
}
