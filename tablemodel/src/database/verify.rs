//! Verification: walks every table of the model and proves that each entity has exactly its derived rows.
//!
//! Reads only. What it cannot know (a partition that changes while it is walked) it reads again before it reports.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use tablemodel_store::{EdmType, KeyRange, Properties, Query, Row, RowKey, StoreErrorKind, ValueRef};

use crate::{
    database::Database,
    error::Result,
    plan::{
        change::is_primary,
        entries::entries,
        image::Image,
        states::{IndexState, IndexStates},
        system::{self, RowKind},
    },
    rooms::{
        aggregate::{self, Totals},
        list,
    },
    schema::{Cover, EntitySchema, PropertySchema},
};

/// The codec of a field stored as JSON: what its type reads from nothing is not known here.
const JSON: &str = "json";

/// What a walk found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verified {
    /// Rows read.
    pub rows: u64,
    /// Primary rows among them.
    pub entities: u64,
    /// Derived rows among them.
    pub derived: u64,
    /// Rows of no type of the model.
    pub foreign: u64,
    /// What is wrong.
    pub violations: Vec<Violation>,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}

/// A row that is not as the model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The table, without the run-time prefix.
    pub table: String,
    /// The row, or where it should be.
    pub key: RowKey,
    /// What is wrong with it.
    pub kind: ViolationKind,
    /// The same in words.
    pub detail: String,
}

/// What can be wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ViolationKind {
    /// An entity lacks a derived row.
    Missing,
    /// A derived row belongs to no entity, or to one that does not want it.
    Dangling,
    /// A derived row holds other properties than its entity wants.
    Stale,
    /// A row cannot be read, or its key is not the key of its fields.
    Corrupt,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {} at {}: {}", self.kind, self.table, self.key, self.detail)
    }
}

impl Database {
    /// Walks every table of the model, and reports each row that is not as the model says.
    ///
    /// Cost: one request per 1,000 rows; memory for the rows of one partition. Can run while the store is in use.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let verified = db.verify().await?;
    /// assert!(verified.is_clean());
    /// assert_eq!((verified.entities, verified.derived), (3, 3));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the store. Violations are not errors: they are in the report.
    pub async fn verify(&self) -> Result<Verified> {
        self.verify_with(|_| {}).await
    }

    /// As [`Database::verify`], calling `progress` after each partition.
    ///
    /// # Errors
    ///
    /// Those of [`Database::verify`].
    pub async fn verify_with(&self, mut progress: impl FnMut(&Verified) + Send) -> Result<Verified> {
        let mut verified = Verified::default();
        let tables: BTreeSet<_> = self.model().iter().map(|schema| schema.table).collect();
        for table in tables {
            self.verify_table(table, &mut verified, &mut progress).await?;
        }
        Ok(verified)
    }

    async fn verify_table(
        &self,
        table: &'static str,
        verified: &mut Verified,
        progress: &mut (impl FnMut(&Verified) + Send),
    ) -> Result<()> {
        let mut query = Query::new(format!("{}{table}", self.0.prefix), KeyRange::table());
        let mut partition = Vec::new();
        loop {
            let page = match self.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(()),
                other => other?,
            };
            for row in page.rows {
                if partition.first().is_some_and(|first: &Row| first.key.partition != row.key.partition) {
                    self.verify_partition(table, std::mem::take(&mut partition), verified).await?;
                    progress(verified);
                }
                partition.push(row);
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => break,
            }
        }
        self.verify_partition(table, partition, verified).await?;
        progress(verified);
        Ok(())
    }

    /// Checks the rows of a partition; where something is wrong, once more on a fresh read.
    async fn verify_partition(&self, table: &'static str, rows: Vec<Row>, verified: &mut Verified) -> Result<()> {
        let Some(partition) = rows.first().map(|row| row.key.partition.clone()) else { return Ok(()) };
        let mut check = Check::of(self, table, rows)?;
        if !check.violations.is_empty() {
            let again = Check::of(self, table, self.read_partition(table, &partition).await?)?;
            check.violations.retain(|violation| again.violations.contains(violation));
        }
        verified.rows += check.rows;
        verified.entities += check.entities;
        verified.derived += check.derived;
        verified.foreign += check.foreign;
        verified.violations.extend(check.violations);
        Ok(())
    }

    async fn read_partition(&self, table: &str, partition: &str) -> Result<Vec<Row>> {
        let mut query = Query::new(format!("{}{table}", self.0.prefix), KeyRange::partition(partition));
        let mut rows = Vec::new();
        loop {
            let page = self.query_page(&query).await?;
            rows.extend(page.rows);
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(rows),
            }
        }
    }
}

/// The check of one partition.
#[derive(Default)]
struct Check {
    table: &'static str,
    partition: String,
    rows: u64,
    entities: u64,
    derived: u64,
    foreign: u64,
    /// What the entities want: the row key, and the properties without the system's.
    wanted: BTreeMap<String, Wanted>,
    /// The rows of lists, by the row of their first.
    lists: BTreeMap<String, Vec<Row>>,
    /// The keys that the entities want in lists.
    members: BTreeMap<String, Vec<String>>,
    /// The cells of aggregates, the entities that hold such, and what their sources come to.
    cells: BTreeMap<String, Row>,
    targets: BTreeMap<String, Properties>,
    totals: Totals,
    /// Primary rows that cannot be read: what they want cannot be told.
    unreadable: BTreeSet<String>,
    violations: Vec<Violation>,
}

struct Wanted {
    discriminator: &'static str,
    properties: Properties,
    sequence: i64,
    /// While an index is being built its rows may be missing.
    required: bool,
}

impl Check {
    fn of(db: &Database, table: &'static str, rows: Vec<Row>) -> Result<Self> {
        let partition = rows.first().map(|row| row.key.partition.clone()).unwrap_or_default();
        let mut check = Self { table, partition, rows: rows.len() as u64, ..Self::default() };
        let mut derived = Vec::new();
        for row in rows {
            let kind = system::kind(&row.properties);
            let schema = kind.entity().and_then(|entity| {
                db.model().iter().copied().find(|s| s.entity_type == entity && s.table.eq_ignore_ascii_case(table))
            });
            match (kind, schema) {
                (RowKind::Derived { .. }, Some(_)) if aggregate::is_cell(&row.key) => {
                    check.derived += 1;
                    check.cells.insert(row.key.row.clone(), row);
                }
                (RowKind::Derived { name, .. }, Some(schema)) => {
                    check.derived += 1;
                    let is_list = schema.index(name).is_some_and(|index| index.cover == Cover::List);
                    match is_absent(db, schema, name)? {
                        true => {}
                        false if is_list => {
                            check.lists.entry(list::head_of(&row.key.row).to_owned()).or_default().push(row);
                        }
                        false => derived.push(row),
                    }
                }
                (RowKind::Tombstone { .. }, Some(_)) => {}
                (RowKind::Primary { .. }, Some(schema)) => check.primary(db, schema, &row)?,
                _ => check.foreign(db, &row)?,
            }
        }
        for row in derived {
            check.derived_row(row);
        }
        check.missing();
        check.lists();
        for (row, fault) in check.totals.faults(&check.cells, &check.targets) {
            check.report(RowKey::new(check.partition.clone(), row), ViolationKind::Stale, fault);
        }
        Ok(check)
    }

    /// Each list against the keys that the entities want in it.
    fn lists(&mut self) {
        let mut lists = std::mem::take(&mut self.lists);
        let mut members = std::mem::take(&mut self.members);
        let rows: BTreeSet<String> = lists.keys().chain(members.keys()).cloned().collect();
        for row in rows {
            let mut keys = members.remove(&row).unwrap_or_default();
            keys.sort_by(|a, b| tablemodel_store::key::compare(a, b));
            let found = lists.remove(&row).unwrap_or_default();
            if let Some(fault) = list::fault(&row, &found, &keys) {
                let kind = if keys.is_empty() { ViolationKind::Dangling } else { ViolationKind::Stale };
                self.report(RowKey::new(self.partition.clone(), row), kind, fault);
            }
        }
    }

    /// A row without a known type: of an adopted entity if its keys are, else not ours.
    fn foreign(&mut self, db: &Database, row: &Row) -> Result<()> {
        let adopted = db.model().iter().copied().find(|schema| {
            schema.adopt
                && schema.table.eq_ignore_ascii_case(self.table)
                && is_primary(schema, row)
                && Image::stored(schema, &row.clone().into()).is_ok()
        });
        match adopted {
            Some(schema) => self.primary(db, schema, row),
            None => {
                self.foreign += 1;
                Ok(())
            }
        }
    }

    fn primary(&mut self, db: &Database, schema: &'static EntitySchema, row: &Row) -> Result<()> {
        self.entities += 1;
        let setting = &db.registered(schema)?.setting;
        match readable(schema, row) {
            Ok(image) => {
                self.totals.add(&image, |at| setting.keeps(schema, at))?;
                if schema.holds_aggregates() {
                    self.totals.add_target(schema, &row.key.row);
                    self.targets.insert(row.key.row.clone(), row.properties.clone());
                }
                self.want(&image, &setting.states, system::sequence(&row.properties))
            }
            Err(detail) => {
                self.unreadable.insert(row.key.row.clone());
                self.report(row.key.clone(), ViolationKind::Corrupt, detail);
                Ok(())
            }
        }
    }

    fn want(&mut self, image: &Image, states: &IndexStates, sequence: i64) -> Result<()> {
        for entry in entries(image)? {
            let (state, Some(index)) = (states.of(entry.index), image.schema.indexes.get(entry.index)) else {
                continue;
            };
            if state == IndexState::Absent {
                continue;
            }
            if index.cover == Cover::List {
                self.members.entry(entry.row).or_default().push(image.key.row.clone());
                continue;
            }
            let wanted = Wanted {
                discriminator: index.discriminator,
                properties: entry.properties,
                sequence,
                required: state == IndexState::Readable,
            };
            let key = RowKey::new(self.partition.clone(), entry.row.clone());
            if self.wanted.insert(entry.row, wanted).is_some() {
                let detail = format!("two entities want this row of index `{}`; one of them lacks it", index.name);
                self.report(key, ViolationKind::Missing, detail);
            }
        }
        Ok(())
    }

    fn derived_row(&mut self, row: Row) {
        let Some(wanted) = self.wanted.remove(&row.key.row) else {
            let owner = system::owner_row(&row.properties).unwrap_or("no entity");
            if self.unreadable.contains(owner) {
                return;
            }
            return self.report(row.key, ViolationKind::Dangling, format!("`{owner}` does not want this row"));
        };
        if system::sequence(&row.properties) > wanted.sequence {
            self.report(
                row.key.clone(),
                ViolationKind::Stale,
                "its sequence number is ahead of its entity's".to_owned(),
            );
        }
        let same_type = system::entity_type(&row.properties) == Some(wanted.discriminator);
        let mut properties = row.properties;
        let owner = system::owner_row(&wanted.properties).map(str::to_owned);
        let same_owner = owner.as_deref() == system::owner_row(&properties);
        let mut expected = wanted.properties;
        properties.retain(|name| !system::is_system(name));
        expected.retain(|name| !system::is_system(name));
        if !same_type || !same_owner || properties != expected {
            self.report(row.key, ViolationKind::Stale, "it does not hold what its entity wants".to_owned());
        }
    }

    fn missing(&mut self) {
        let partition = self.partition.clone();
        for (row, wanted) in std::mem::take(&mut self.wanted) {
            if wanted.required {
                let detail = format!("the entity wants a row `{}` here", wanted.discriminator);
                self.report(RowKey::new(partition.clone(), row), ViolationKind::Missing, detail);
            }
        }
    }

    fn report(&mut self, key: RowKey, kind: ViolationKind, detail: String) {
        self.violations.push(Violation { table: self.table.to_owned(), key, kind, detail });
    }
}

/// Whether the rows of the index are of no meaning: it is not built, or no longer.
fn is_absent(db: &Database, schema: &'static EntitySchema, name: &str) -> Result<bool> {
    let position = schema.indexes.iter().position(|index| index.name == name);
    let states = &db.registered(schema)?.setting.states;
    Ok(position.is_some_and(|position| states.of(position) == IndexState::Absent))
}

/// The image of a primary row that is as the schema says, or what is wrong with it.
fn readable(schema: &'static EntitySchema, row: &Row) -> std::result::Result<Image, String> {
    let image = Image::stored(schema, &row.clone().into()).map_err(|error| error.to_string())?;
    if let Some(wrong) = schema.properties().find_map(|property| misfit(property, image.fields.get(property.property)))
    {
        return Err(wrong);
    }
    let again = Image::new(schema, image.fields.clone()).map_err(|error| error.to_string())?;
    if again.key != image.key {
        return Err(format!("the key of its fields is {}", again.key));
    }
    Ok(image)
}

/// What is wrong with a stored value, by its type alone. Other programs' integers and texts are taken as reading does.
fn misfit(property: &PropertySchema, value: Option<ValueRef<'_>>) -> Option<String> {
    let Some(value) = value else {
        let may_be_absent = property.nullable || property.default || property.codec == JSON;
        return (!may_be_absent).then(|| format!("property `{}` is absent", property.property));
    };
    let is_number = matches!(value.edm(), EdmType::Int32 | EdmType::Int64);
    let fits = match property.edm {
        edm if edm == value.edm() => true,
        EdmType::Int32 | EdmType::Int64 | EdmType::Double => is_number,
        EdmType::String => is_number && matches!(property.codec, "u64" | "u128" | "i128" | "decimal"),
        EdmType::Guid => value.edm() == EdmType::String,
        EdmType::Binary | EdmType::Boolean | EdmType::DateTime => false,
    };
    (!fits).then(|| format!("property `{}` is {}, not {}", property.property, value.edm(), property.edm))
}
