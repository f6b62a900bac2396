//! `tablemodel.lock`: every version of every entity's stored format, committed beside the program.
//! Only texts here; files are the command line's.

mod error;
mod read;

use std::{collections::BTreeMap, fmt};

pub use self::error::{LockError, LockProblem};
use super::{Fingerprint, Format};

/// The number of the lock's own format.
const FORMAT: u32 = 1;

/// The formats that a program's rows may have: of each entity the newest, the frozen ones before it, and the one that it moves to.
///
/// Its text is one section for each version, sorted by name and version, and one line for each fact, sorted; so that two
/// branches that change different entities merge, but for the line of the last plan, in which they are meant to conflict.
/// See FORMAT.md.
///
/// ```
/// use tablemodel::{format::{Format, Lock, Section}, prelude::*};
/// # #[derive(TableEntity)]
/// # #[table(name = "Company", partition = "{department}", row = "{id:06}")]
/// # struct Employee { department: String, id: u32 }
///
/// let mut lock = Lock::default();
/// lock.set(Section { format: Format::of(Employee::SCHEMA)?, crate_name: "company".into() });
/// let text = lock.to_string();
/// assert!(text.contains("  property Id Edm.Int64 as u32\n"));
/// assert_eq!(Lock::parse(&text).unwrap(), lock);
///
/// let edited = text.replace("Edm.Int64", "Edm.Int32");
/// assert!(Lock::parse(&edited).unwrap_err().to_string().contains("Employee@1"));
/// # Ok::<(), tablemodel::format::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lock {
    /// The last plan of a change.
    pub plan: Option<LockedPlan>,
    sections: BTreeMap<String, BTreeMap<u32, Section>>,
    /// By entity, the form that it is on its way to.
    coming: BTreeMap<String, Section>,
}

/// The last plan: what makes two branches that both planned a change conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPlan {
    /// Its name: `0002_order_by_status`.
    pub id: String,
    /// The fingerprint of its text.
    pub fingerprint: Fingerprint,
}

/// One version of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its format.
    pub format: Format,
    /// The crate that has the struct; `*` for any. A struct with the same entity type in another crate of the package,
    /// such as a test, has no lock.
    pub crate_name: String,
}

impl Lock {
    /// The newest version of an entity.
    pub fn newest(&self, entity_type: &str) -> Option<&Section> {
        self.sections.get(entity_type)?.values().next_back()
    }

    /// All versions of an entity, the oldest first.
    pub fn versions(&self, entity_type: &str) -> impl DoubleEndedIterator<Item = &Section> {
        self.sections.get(entity_type).into_iter().flat_map(BTreeMap::values)
    }

    /// The entities.
    pub fn entities(&self) -> impl Iterator<Item = &str> {
        self.sections.keys().map(String::as_str)
    }

    /// All versions of all entities.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.sections.values().flat_map(BTreeMap::values)
    }

    /// The form that an entity [moves to](crate::moves), as a release says it that keeps the entity in its old form. It is no version of it
    /// yet: a store may have its rows, and the program is held to it.
    pub fn coming(&self, entity_type: &str) -> Option<&Section> {
        self.coming.get(entity_type)
    }

    /// Says which form an entity moves to; none if it moves to none.
    pub fn set_coming(&mut self, entity_type: &str, form: Option<Section>) {
        match form {
            Some(form) => drop(self.coming.insert(entity_type.to_owned(), form)),
            None => drop(self.coming.remove(entity_type)),
        }
    }

    /// Adds a version, or takes it for what the lock has of that version. A form that the entity was to move to has come with it.
    pub fn set(&mut self, section: Section) {
        let Format { entity_type, version, .. } = &section.format;
        self.coming.retain(|name, form| name != entity_type || form.format.version > *version);
        self.sections.entry(entity_type.clone()).or_default().insert(*version, section);
    }

    /// Has the struct of all versions of an entity in this crate.
    #[cfg(feature = "cli")]
    pub(crate) fn move_to(&mut self, entity_type: &str, crate_name: &str) {
        let versions = self.sections.get_mut(entity_type).into_iter().flat_map(BTreeMap::values_mut);
        let all = versions.chain(self.coming.get_mut(entity_type));
        all.for_each(|section| crate_name.clone_into(&mut section.crate_name));
    }

    /// Drops one version of an entity: what a plan that is made anew had added.
    #[cfg(feature = "cli")]
    pub(crate) fn take_back(&mut self, entity_type: &str, version: u32) {
        let Some(versions) = self.sections.get_mut(entity_type) else { return };
        versions.remove(&version);
        if versions.is_empty() {
            self.sections.remove(entity_type);
        }
    }

    /// Drops all versions of an entity; frozen structs of it then have no lock either.
    pub fn remove(&mut self, entity_type: &str) {
        self.sections.remove(entity_type);
        self.coming.remove(entity_type);
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# tablemodel.lock, format {FORMAT}")?;
        writeln!(f, "# How rows are stored. Commit it; `cargo tablemodel diff` writes it: do not edit.")?;
        if let Some(plan) = &self.plan {
            writeln!(f, "\nplan {} {}", plan.id, plan.fingerprint)?;
        }
        self.sections().try_for_each(|section| section.write("entity", f))?;
        self.coming.values().try_for_each(|section| section.write("coming", f))
    }
}

impl Section {
    fn write(&self, word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, crate_name } = self;
        writeln!(f, "\n{word} {} {crate_name} {}", format.discriminator(), format.fingerprint())?;
        format.lines().iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}
