//! The states of indexes as rows, as they were read: what stands, what is to be done, and for whom.
//!
//! All that says how far an index is stands in one partition. Nothing is written here.

use std::collections::HashMap;

use tablemodel_store::{Row, ValueRef};

use super::{
    DroppedIndex, MigrationPlan, Rewrite, Step, Unfinished, Unread,
    record::{Control, MIGRATION, Record, control_key},
    switch,
};
use crate::{
    database::{
        Database,
        registry::{self, INDEX, beyond, changed, followers, index_row, lapsed},
        rewrites,
    },
    error::{Error, ErrorKind, Result},
    plan::states::IndexState,
    schema::{EntitySchema, taken},
};

/// The rows of the states, as they were read.
pub(super) struct Rows(pub(super) HashMap<String, Row>);

impl Rows {
    pub(super) async fn read(db: &Database) -> Result<Self> {
        Ok(Self(db.registry_rows().await?))
    }

    /// The same, as `apply` makes them before it begins: what newer versions have otherwise is forgotten where none of their rows is there.
    /// Cost: one request; where there is such, one per 1,000 rows of their tables too.
    pub(super) async fn lasting(db: &Database) -> Result<Self> {
        let mut rows = Self::read(db).await?;
        for row in db.without_newer(rows.all()).await? {
            rows.0.insert(row.key.row.clone(), row);
        }
        Ok(rows)
    }

    pub(super) fn state(&self, entity: &str, index: &str) -> Result<IndexState> {
        self.0.get(&index_row(entity, index)).map_or(Ok(IndexState::Absent), registry::state)
    }

    /// The same, where one that lapsed is not readable.
    pub(super) fn complete(&self, entity: &str, index: &str) -> Result<IndexState> {
        self.0.get(&index_row(entity, index)).map_or(Ok(IndexState::Absent), lapsed::complete)
    }

    /// The rows of the migration's indexes that programs wrote without.
    pub(super) fn lapsed<'r>(&'r self, record: &Record) -> impl Iterator<Item = &'r Row> {
        let rows = record.steps.iter().filter_map(|(entity, index)| self.0.get(&index_row(entity, index)));
        rows.filter(|row| lapsed::is_lapsed(row)).collect::<Vec<_>>().into_iter()
    }

    pub(super) fn records(&self) -> Result<Vec<Record>> {
        let rows = self.0.iter().filter(|(key, _)| key.starts_with(MIGRATION));
        let mut records = rows.map(|(_, row)| Record::read(row)).collect::<Result<Vec<_>>>()?;
        records.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(records)
    }

    /// What the next one is called.
    pub(super) fn next(&self) -> Result<String> {
        Ok(format!("{:04}", self.records()?.len() + 1))
    }

    pub(super) fn last(&self) -> Result<Option<Record>> {
        Ok(self.records()?.pop())
    }

    pub(super) fn unfinished(&self) -> Result<Option<Record>> {
        Ok(self.records()?.into_iter().find(|record| record.finished.is_none()))
    }

    pub(super) fn control(&self, id: &str) -> Control {
        Control::read(self.0.get(&control_key(id)))
    }

    /// The indexes of a migration, as their states stand: to be moved on; of a switch, the moves.
    pub(super) fn steps(&self, record: &Record) -> Result<Vec<Step>> {
        let step = |(entity, name): &(String, String)| {
            let index = taken(name).unwrap_or(name);
            Ok(Step { entity: entity.clone(), index: index.to_owned(), state: self.state(entity, index)? })
        };
        record.steps.iter().map(step).collect()
    }

    /// The same, to be told: how far each is for those who read it.
    pub(super) fn told(&self, record: &Record) -> Result<Vec<Step>> {
        let told = |step: Step| Ok(Step { state: self.complete(&step.entity, &step.index)?, ..step });
        self.steps(record)?.into_iter().map(told).collect()
    }

    pub(super) fn plan(&self, db: &Database) -> Result<MigrationPlan> {
        let unfinished = self.unfinished()?.map(Unfinished::of);
        let mut plan = MigrationPlan { unfinished, ..MigrationPlan::default() };
        for schema in db.model().iter().copied() {
            let entity = schema.entity_type.to_owned();
            if !self.0.contains_key(&registry::entity_row(schema)) {
                continue;
            }
            registry::kept::check(schema, &self.0)?;
            for index in followers(schema).chain(rewrites::recorded(schema)) {
                let state = self.complete(&entity, &index)?;
                if self.row(&index_row(&entity, &index)).is_some_and(|row| changed::is_overtaken(schema, &index, row)) {
                    plan.newer.push(DroppedIndex { entity: entity.clone(), index, state });
                    continue;
                }
                let is_taken = self.is_taken(&entity, &index)?;
                let step = Step { entity: entity.clone(), index, state };
                match (state, is_taken) {
                    (IndexState::Readable, _) => {}
                    (_, false) => plan.steps.push(step),
                    (_, true) => plan.unsupported.push(step),
                }
            }
            plan.rewrites.extend(self.rewrite(schema)?);
            plan.newer.extend(self.newer_rewrite(schema)?);
            plan.unread.extend(self.unread(schema)?);
            for index in beyond(schema, &self.0)? {
                let state = self.state(&entity, &index)?;
                let found = if self.is_newer(schema, &index) { &mut plan.newer } else { &mut plan.dropped };
                found.push(DroppedIndex { entity: entity.clone(), index, state });
            }
        }
        for (entity, index) in switch::ready(self, db)? {
            plan.dropped.push(DroppedIndex { entity, index, state: IndexState::Readable });
        }
        Ok(plan)
    }

    /// Whether the index is an aggregate in a property that the store keeps for other sources.
    pub(super) fn is_taken(&self, entity: &str, index: &str) -> Result<bool> {
        registry::is_taken(entity, index, &self.0)
    }

    pub(super) fn row(&self, key: &str) -> Option<&Row> {
        self.0.get(key)
    }

    pub(super) fn all(&self) -> &HashMap<String, Row> {
        &self.0
    }

    /// Whether a newer version of the entity than the program's recorded the index.
    fn is_newer(&self, schema: &EntitySchema, index: &str) -> bool {
        match self.0.get(&index_row(schema.entity_type, index)).and_then(|row| row.properties.get("Version")) {
            Some(ValueRef::Int64(version)) => version > i64::from(schema.version),
            _ => false,
        }
    }

    /// That the store keeps nothing for a newer program, which this one would not know how to migrate.
    pub(super) fn check_newest(&self, db: &Database) -> Result<()> {
        let Some(newer) = self.plan(db)?.newer.into_iter().next() else { return Ok(()) };
        let DroppedIndex { entity, index, .. } = &newer;
        let is_own = db.entity_of(entity).is_some_and(|schema| followers(schema).any(|own| own == *index));
        let what = match rewrites::version(index) {
            Some(version) => format!("its rows of `{entity}` are written as version {version}"),
            None if is_own => format!("a later version of `{entity}` has `{index}` otherwise, and has written"),
            None => format!("a later version of `{entity}` has index `{index}`"),
        };
        let detail = format!("the store is newer than this program: {what}; use that program");
        Err(Error::new(ErrorKind::UnknownVersion, detail))
    }

    /// That `apply` may begin over them, or go on.
    pub(super) fn check_open(&self, db: &Database) -> Result<()> {
        self.check_newest(db)?;
        let Some(record) = self.unfinished()? else { return Ok(()) };
        Unfinished::of(record.clone()).check_kept()?;
        check_has(db, &record)
    }

    /// What the unfinished migration builds that the program's model does not have.
    pub(super) fn lacking(&self, db: &Database) -> Result<Option<(String, String)>> {
        Ok(self.unfinished()?.and_then(|record| lacking(db, &record)))
    }

    /// The rewrite to a newer version than the program's, where one was begun.
    fn newer_rewrite(&self, schema: &EntitySchema) -> Result<Option<DroppedIndex>> {
        let begun = rewrites::reached(schema.entity_type, &self.0, IndexState::DeleteOnly, u32::MAX)?;
        let Some(version) = begun.filter(|version| *version > schema.version) else { return Ok(None) };
        let (entity, index) = (schema.entity_type.to_owned(), rewrites::name(version));
        let state = self.state(&entity, &index)?;
        Ok(Some(DroppedIndex { entity, index, state }))
    }

    /// The older versions that rows may be of, where the model reads such.
    fn rewrite(&self, schema: &'static EntitySchema) -> Result<Option<Rewrite>> {
        if !schema.has_ancestors() {
            return Ok(None);
        }
        let known = rewrites::reached(schema.entity_type, &self.0, IndexState::Readable, schema.version)?;
        let older =
            schema.ancestors().map(|older| older.version).filter(|older| known.is_none_or(|known| *older >= known));
        let entity = schema.entity_type.to_owned();
        Ok(Some(Rewrite { entity, version: schema.version, older: older.collect(), known }))
    }

    /// Of which versions rows may be that the model does not read.
    fn unread(&self, schema: &'static EntitySchema) -> Result<Option<Unread>> {
        let first = self.0.get(&registry::entity_row(schema)).and_then(registry::kept::version);
        let rewritten = rewrites::reached(schema.entity_type, &self.0, IndexState::Readable, u32::MAX)?;
        let reads = schema.lineage().last().map_or(schema.version, |oldest| oldest.version);
        let oldest = first.max(rewritten).filter(|oldest| *oldest < reads);
        Ok(oldest.map(|version| Unread { entity: schema.entity_type.to_owned(), version, reads }))
    }

    /// The table that the rows of an index stand in, where it says so.
    pub(super) fn table(&self, entity: &str, index: &str) -> Option<&str> {
        table_on(self.0.get(&index_row(entity, index))?)
    }

    /// The table that the entity itself stands in.
    pub(super) fn home(&self, entity: &str) -> Option<&str> {
        table_on(self.0.get(&registry::entity_row_of(entity))?)
    }

    pub(super) fn record(&self, id: &str) -> Result<Option<(Record, &Row)>> {
        let Some(row) = self.0.get(&format!("{MIGRATION}{id}")) else { return Ok(None) };
        Ok(Some((Record::read(row)?, row)))
    }
}

fn table_on(row: &Row) -> Option<&str> {
    match row.properties.get("Table") {
        Some(ValueRef::String(table)) => Some(table),
        _ => None,
    }
}

/// That the program's model has all that the migration builds: one that has not writes none of those rows, and would take them for
/// complete.
pub(super) fn check_has(db: &Database, record: &Record) -> Result<()> {
    told_lacking(record, lacking(db, record))
}

/// The same, of the entities that the program has.
pub(super) fn check_has_of_known(db: &Database, record: &Record) -> Result<()> {
    let model = db.model();
    let is_known = |(entity, _): &&(String, String)| model.iter().any(|schema| schema.entity_type == entity);
    let steps = record.steps.iter().filter(is_known).cloned().collect();
    told_lacking(record, lacking(db, &Record { steps, ..record.clone() }))
}

fn told_lacking(record: &Record, lacking: Option<(String, String)>) -> Result<()> {
    let Some((entity, index)) = lacking else { return Ok(()) };
    let what = match rewrites::version(&index) {
        Some(version) => format!("version {version} of `{entity}`"),
        None => format!("index `{index}` of `{entity}`"),
    };
    let detail = format!(
        "this program does not have {what}, which migration {} builds: roll the migration back, or apply with the program that \
         has it",
        record.id
    );
    Err(Error::unsupported(detail))
}

fn lacking(db: &Database, record: &Record) -> Option<(String, String)> {
    let model = db.model();
    let has = |(entity, index): &(String, String)| {
        let schema = model.iter().copied().find(|schema| schema.entity_type == entity);
        schema.is_some_and(|schema| followers(schema).chain(rewrites::known(schema)).any(|known| known == *index))
    };
    record.steps.iter().find(|step| !record.undo && !has(step)).cloned()
}

/// The entity of the model, and the name of what it has, of which this is the row of the state.
pub(super) fn kept_as<'k>(model: &[&'static EntitySchema], row: &'k str) -> Option<(&'static EntitySchema, &'k str)> {
    let (entity, name) = row.strip_prefix(INDEX)?.split_once('|')?;
    let schema = model.iter().copied().find(|schema| schema.entity_type == entity)?;
    schema.derived_position(name).map(|_| (schema, name))
}
