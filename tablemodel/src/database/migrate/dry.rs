//! A backfill that writes nothing: what it would meet, and what it would cost.

use std::{collections::HashMap, time::Duration};

use tablemodel_store::{KeyRange, Query, RowKey, StoreErrorKind, limits};

use super::{Failure, Step, fits, rows::Rows, survey::survey, targets::Targets};
use crate::{
    database::{Database, bulk::rows_each},
    error::{ErrorKind, Result},
    plan::{
        change::is_list,
        entries::{Entry, entries},
        group::Group,
        image::Image,
        shadow, version,
    },
    schema::{EntitySchema, Versioned, is_move},
};

/// Failures that are told in full.
const TOLD: usize = 100;

/// What an application would do. Made by [`Apply::dry_run`](super::Apply::dry_run).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DryRun {
    /// What would be built, and rewritten.
    pub steps: Vec<Step>,
    /// Entities that would be written once more.
    pub entities: u64,
    /// Entities that were read: all, or the sample.
    pub read: u64,
    /// Derived rows to write, of all entities: those of what is built, and all that an entity has which is rewritten, since each says as
    /// of which version it is. Reckoned, where a sample was read. Lists that stay as they are do not count.
    pub rows: u64,
    /// Requests, reckoned.
    pub requests: u64,
    /// How many of those that were read would be set aside, as far as they tell by themselves: what they are to copy is not read.
    pub failed: u64,
    /// The first hundred of them.
    pub failures: Vec<Failure>,
    /// How long it would take at the rate that was asked for.
    pub time: Option<Duration>,
}

/// What was met so far.
struct Dry<'a> {
    db: &'a Database,
    steps: &'a [Step],
    report: DryRun,
    /// Who has a unique value, or moves to a key.
    taken: HashMap<Place, String>,
}

/// Of the rows of one entity's index, or of its new form where that has no name: partition and row.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    entity: &'static str,
    index: String,
    partition: String,
    row: String,
}

impl Place {
    fn of(index: String, entry: &Entry, image: &Image) -> Self {
        let (partition, row) = (entry.partition(image).to_owned(), entry.row.clone());
        Self { entity: image.schema.entity_type, index, partition, row }
    }
}

pub(super) async fn run(db: &Database, sample: Option<u64>, rate: Option<f64>) -> Result<DryRun> {
    let rows = Rows::lasting(db).await?;
    rows.check_open(db)?;
    let steps = &rows.plan(db)?.steps;
    let named: Vec<_> = steps.iter().map(|step| (step.entity.clone(), step.index.clone())).collect();
    let targets = &Targets::of(db, &named);
    let report = DryRun { steps: steps.clone(), ..DryRun::default() };
    let mut dry = Dry { db, steps, report, taken: HashMap::new() };
    for table in targets.tables() {
        dry.table(table, targets, sample.unwrap_or(u64::MAX)).await?;
    }
    let mut report = dry.report;
    report.entities = match sample {
        Some(_) => survey(db, None, targets, usize::MAX).await?.entities,
        None => report.read,
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    let scaled = |of: u64| (of as f64 * report.entities as f64 / report.read.max(1) as f64).round() as u64;
    (report.rows, report.requests) = (scaled(report.rows), scaled(report.requests));
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let time = rate.and_then(|rate| Duration::try_from_secs_f64(report.entities as f64 / rate).ok());
    report.time = time;
    Ok(report)
}

impl Dry<'_> {
    async fn table(&mut self, table: &str, targets: &Targets, sample: u64) -> Result<()> {
        let mut query = Query::new(self.db.table_name(table), KeyRange::table());
        let (mut seen, mut batch) = (0, (String::new(), 0));
        loop {
            let page = match self.db.query_store(&query).await {
                Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(()),
                other => other?,
            };
            for row in page.rows {
                let Some(schema) = targets.find(table, &row).map(|target| target.schema) else { continue };
                if seen >= sample {
                    return Ok(());
                }
                seen += 1;
                self.report.read += 1;
                if batch.0 != row.key.partition || batch.1 + rows_each(schema) > limits::MAX_BATCH_OPERATIONS {
                    batch = (row.key.partition.clone(), 0);
                    self.report.requests += 1;
                }
                batch.1 += rows_each(schema);
                let key = row.key.clone();
                match self.db.whole_entity(schema, row).await {
                    Ok(Some(group)) => self.entity(schema, &group),
                    Ok(None) => {}
                    Err(error) if *error.kind() == ErrorKind::Corrupt => self.fail(schema, key, error.to_string()),
                    Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {} // it keeps changing, and can be written

                    Err(error) => return Err(error),
                }
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(()),
            }
        }
    }

    fn entity(&mut self, schema: &'static EntitySchema, group: &Group) {
        let wanted = Image::stored(schema, group).and_then(|image| Ok((entries(&image)?, image)));
        let (wanted, image) = match wanted {
            Ok(wanted) => wanted,
            Err(error) => return self.fail(schema, group.key().clone(), error.to_string()),
        };
        if self.is_step(schema, |step| is_move(&step.index)) {
            self.shadows(schema, &image);
        }
        let is_older = version::of_head(schema, &group.head) != Some(schema.version);
        let is_rewritten = is_older && self.is_step(schema, |step| step.rewrite().is_some());
        if is_rewritten && let Err(error) = fits::own(&image, &group.head) {
            return self.fail(schema, group.key().clone(), error.to_string());
        }
        for entry in wanted {
            let is_told = schema.index_at(entry.index).is_some() || schema.aggregate(entry.index).is_some();
            let Some(index) = schema.derived(entry.index).filter(|_| is_told) else { continue };
            let is_built = self.is_step(schema, |step| step.index == index.name);
            if is_built || (is_rewritten && !is_list(schema, &entry)) {
                if let Err(error) = fits::entry(&image, &entry, &index) {
                    return self.fail(schema, group.key().clone(), error.to_string());
                }
                self.report.rows += 1;
                // In another partition: read, written; the entity's outbox row put and taken away.
                self.report.requests += if entry.away.is_some() && !self.db.is_atomic() { 3 } else { 0 };
            }
            let place = Place::of(index.name.to_string(), &entry, &image);
            // One that an older version has otherwise may not have been unique.
            let was_otherwise = |own| schema.ancestors().any(|older| Versioned(schema, own).differs_in(older));
            let is_to_be_unique = is_built
                || (self.is_step(schema, |step| step.rewrite().is_some())
                    && schema.indexes.get(entry.index).is_some_and(was_otherwise));
            if index.unique
                && is_to_be_unique
                && let Some(first) = self.taken.insert(place, group.key().to_string())
            {
                self.fail(
                    schema,
                    group.key().clone(),
                    format!("unique index `{}`: {first} has the same value", index.name),
                );
            }
        }
    }

    fn is_step(&self, schema: &EntitySchema, is: impl Fn(&Step) -> bool) -> bool {
        self.steps.iter().any(|step| step.entity == schema.entity_type && is(step))
    }

    /// The rows of the form that it moves to.
    fn shadows(&mut self, schema: &'static EntitySchema, image: &Image) {
        let mut wanted = Vec::new();
        let is_several = schema.moves_to.as_ref().is_some_and(|moved| moved.form().shape.is_some());
        if let Err(error) = shadow::add_entries(image, &mut wanted) {
            return self.fail(schema, image.key.clone(), error.to_string());
        }
        for entry in wanted {
            let is_head = shadow::is_primary(schema, entry.index);
            let rows = shadow::rows(schema, &entry, i64::MAX).ok().filter(|_| is_head);
            let parts = rows.map_or(0, |rows| rows.parts.len() as u64);
            self.report.rows += 1 + parts;
            // The parts are put at once, as a rule, and what they leave is looked for.
            self.report.requests +=
                if self.db.is_atomic() { 0 } else { 3 + parts.min(1) + u64::from(is_head && is_several) };
            let place = Place::of(String::new(), &entry, image);
            if is_head && let Some(first) = self.taken.insert(place, image.key.to_string()) {
                self.fail(schema, image.key.clone(), format!("{first} moves to the same key"));
            }
        }
    }

    fn fail(&mut self, schema: &'static EntitySchema, key: RowKey, error: String) {
        self.report.failed += 1;
        if self.report.failures.len() < TOLD {
            let entity = schema.entity_type.to_owned();
            self.report.failures.push(Failure { entity, key, error });
        }
    }
}
