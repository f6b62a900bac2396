//! The program that the commands are about: its model, its lock, and where its files are.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{Package, files, outcome::Failure};
use crate::{
    format::{Format, Lock, Section},
    schema::{EntitySchema, Moved},
};

pub(super) struct Project {
    pub(super) package: Package,
    /// The folder with the lock, and with `tablemodel/` beside it.
    pub(super) folder: PathBuf,
    pub(super) entities: Vec<Current>,
}

/// An entity as the program has it.
pub(super) struct Current {
    pub(super) format: Format,
    /// The crate that it is in.
    pub(super) crate_name: String,
    /// The struct: `company::model::Employee`.
    pub(super) path: &'static str,
    /// Fields that say what their property was called before.
    pub(super) renamed: Vec<Renamed>,
    /// The fields, by their stored names: also those that hold aggregates in parts.
    pub(super) fields: BTreeMap<&'static str, &'static str>,
    /// The stored names of those that hold aggregates.
    pub(super) aggregates: BTreeSet<&'static str>,
    /// The oldest version whose programs may read rows of this one.
    pub(super) readable_by: Option<u32>,
    /// The versions before it that the program reads, and those of the form that it moves from.
    pub(super) earlier: Vec<Earlier>,
    /// The form that it moves to.
    pub(super) coming: Option<Section>,
}

/// A version of an entity that the program only reads.
pub(super) struct Earlier {
    pub(super) format: Format,
    pub(super) path: &'static str,
    /// Whether the struct says that it is kept for that alone.
    pub(super) frozen: bool,
}

impl Earlier {
    pub(super) fn section(&self) -> Section {
        Section { format: self.format.clone(), crate_name: crate_of(self.path) }
    }

    /// The struct from within its own crate.
    pub(super) fn own_path(&self) -> String {
        within(self.path)
    }
}

/// A path from within its own crate.
fn within(path: &str) -> String {
    path.split_once("::").map_or_else(|| path.to_owned(), |(_, rest)| format!("crate::{rest}"))
}

fn crate_of(path: &str) -> String {
    path.split("::").next().unwrap_or_default().to_owned()
}

/// `#[table(was = "Qty")]` on a field.
pub(super) struct Renamed {
    pub(super) field: &'static str,
    /// The stored name that it had.
    pub(super) was: &'static str,
    /// The stored name that it has.
    pub(super) is: &'static str,
}

impl Current {
    fn of(schema: &'static EntitySchema) -> Result<Self, Failure> {
        let own = || schema.properties().chain(schema.sharded);
        let from = schema.moved_from.into_iter().flat_map(EntitySchema::lineage);
        let earlier = schema.lineage().skip(1).chain(from);
        let earlier =
            earlier.map(|schema| Ok(Earlier { format: Format::of(schema)?, path: schema.path, frozen: schema.frozen }));
        let coming = schema.moves_to.as_ref().map(Moved::form);
        let coming =
            coming.map(|form| Format::of(form).map(|format| Section { format, crate_name: crate_of(form.path) }));
        Ok(Self {
            format: Format::of(schema)?,
            crate_name: crate_of(schema.path),
            path: schema.path,
            renamed: renamed(schema),
            fields: own().map(|own| (own.property, own.field)).collect(),
            aggregates: own().filter(|own| own.aggregate).map(|own| own.property).collect(),
            readable_by: schema.readable_by,
            earlier: earlier.collect::<Result<_, Failure>>()?,
            coming: coming.transpose()?,
        })
    }

    /// The struct from within its own crate.
    pub(super) fn own_path(&self) -> String {
        within(self.path)
    }
}

impl Project {
    pub(super) fn of(package: &Package, entities: &[&'static EntitySchema]) -> Result<Self, Failure> {
        let entities: Vec<Current> = entities.iter().map(|schema| Current::of(schema)).collect::<Result<_, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = entities.iter().find(|entity| !names.insert(&entity.format.entity_type)) {
            let name = &twice.format.entity_type;
            return Err(Failure(format!("two entities are called `{name}`: give one another `entity_type`")));
        }
        Ok(Self { package: *package, folder: folder_of(Path::new(package.folder)), entities })
    }

    pub(super) fn lock_path(&self) -> PathBuf {
        self.folder.join("tablemodel.lock")
    }

    pub(super) fn migrations(&self) -> PathBuf {
        self.folder.join("tablemodel").join("migrations")
    }

    pub(super) fn frozen(&self) -> PathBuf {
        Path::new(self.package.folder).join("tablemodel").join("frozen")
    }

    /// Rows of each version, for tests.
    pub(super) fn golden(&self) -> PathBuf {
        Path::new(self.package.folder).join("tablemodel").join("golden")
    }

    /// The upgrades that the user ends.
    pub(super) fn upgrades(&self) -> PathBuf {
        Path::new(self.package.folder).join("src").join("upgrades")
    }

    /// The lock; an empty one where there is none.
    ///
    /// # Errors
    ///
    /// A lock that is damaged is never taken for an absent one.
    pub(super) fn lock(&self) -> Result<Lock, Failure> {
        match files::read(&self.lock_path())? {
            Some(text) => Ok(Lock::parse(&text)?),
            None => Ok(Lock::default()),
        }
    }

    pub(super) fn has_lock(&self) -> bool {
        self.lock_path().exists()
    }
}

fn renamed(schema: &'static EntitySchema) -> Vec<Renamed> {
    let properties = schema.properties();
    let renamed = properties.filter_map(|own| Some(Renamed { field: own.field, was: own.was?, is: own.property }));
    renamed.collect()
}

/// As the derive looks for it: in the package, or else in the workspace.
fn folder_of(package: &Path) -> PathBuf {
    let has_lock = |folder: &&Path| folder.join("tablemodel.lock").is_file();
    if has_lock(&package) {
        return package.to_owned();
    }
    workspace_of(package).filter(|root| has_lock(&root.as_path())).unwrap_or_else(|| package.to_owned())
}

/// The folder of the workspace that the package is in.
pub(super) fn workspace_of(package: &Path) -> Option<PathBuf> {
    let is_root = |folder: &&Path| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim_start().starts_with("[workspace]"))
    };
    package.ancestors().find(is_root).map(Path::to_owned)
}
