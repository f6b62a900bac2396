//! Which reviewed plans were applied to the store: each by its name and fingerprint, as rows of the schema table.
//!
//! What a plan says is not read here; that a plan in force is among the program's, as it was, is all that is asked.

use std::collections::BTreeMap;

use tablemodel_store::{Action, Batch, Condition, DateTime, Properties, Row, RowKey, ValueRef};

use super::{
    Migrations,
    record::{self, WORK, time},
    rows::Rows,
    states::Owned,
};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, is_transient},
        outbox::is_race,
        registry::record as stamped,
    },
    error::{Error, ErrorKind, Result},
    format::Fingerprint,
};

/// What the row keys of plans begin with.
pub(super) const PLAN: &str = "plan|";

/// A reviewed plan that was applied to the store, or is being applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedPlan {
    /// Its name: `0002_order_by_status`.
    pub id: String,
    /// The fingerprint of its text, as it was then.
    pub fingerprint: Fingerprint,
    /// The migration that it was applied with; none where nothing had to be built.
    pub migration: Option<String>,
    /// When it was applied; none while it is.
    pub finished: Option<DateTime>,
}

impl AppliedPlan {
    fn read(row: &Row) -> Result<Self> {
        let corrupt = || Error::corrupt("the record of a plan cannot be read").at_key(row.key.clone());
        let text = |name: &str| match row.properties.get(name) {
            Some(ValueRef::String(text)) => Some(text),
            _ => None,
        };
        Ok(Self {
            id: row.key.row.strip_prefix(PLAN).ok_or_else(corrupt)?.to_owned(),
            fingerprint: text("Fingerprint").and_then(|text| text.parse().ok()).ok_or_else(corrupt)?,
            migration: text("Migration").map(str::to_owned),
            finished: time(&row.properties, "Finished"),
        })
    }

    fn properties(&self, db: &Database) -> Properties {
        let mut properties = stamped("~migration.plan@1", db.environment().clock.now().ticks());
        properties.insert("Fingerprint", self.fingerprint.to_string());
        if let Some(migration) = &self.migration {
            properties.insert("Migration", migration.clone());
        }
        if let Some(finished) = self.finished {
            properties.insert("Finished", finished);
        }
        properties
    }

    fn key(&self) -> RowKey {
        RowKey::new(WORK, format!("{PLAN}{}", self.id))
    }

    /// Writes it over what was read, if that is still so; and over what is there by then, as long as it `is_wanted` there.
    async fn write(&self, db: &Database, mut over: Option<Row>, is_wanted: fn(Option<&Self>) -> bool) -> Result<()> {
        for attempt in 0..ATTEMPTS {
            if !is_wanted(over.as_ref().map(Self::read).transpose()?.as_ref()) {
                return Ok(());
            }
            let action = match over {
                Some(row) => Action::Replace(self.properties(db), Condition::Match(row.etag)),
                None => Action::Insert(self.properties(db)),
            };
            let batch = Batch::new(db.registry_table(), WORK).with(self.key().row, action);
            match db.commit_unleased(&[batch], attempt).await {
                Ok(_) => return Ok(()),
                Err(error) if is_race(error.kind()) => {}
                Err(error) if is_transient(&error) => db.pause(attempt).await,
                Err(error) => return Err(error.into()),
            }
            over = db.get_row(&db.registry_table(), &self.key()).await?;
        }
        Err(Error::new(ErrorKind::Unavailable, format!("the record of plan {} keeps changing; try again", self.id)))
    }
}

/// A plan that is begun is put where none is in force.
fn is_to_begin(there: Option<&AppliedPlan>) -> bool {
    there.is_none_or(|plan| plan.finished.is_none())
}

/// One that was taken back meanwhile is not finished.
fn is_to_finish(there: Option<&AppliedPlan>) -> bool {
    there.is_some_and(|plan| plan.finished.is_none())
}

/// Forgets the plans of a migration that is taken back: those that were applied since it began, or are being applied. Not each of
/// them names it: a program may have built what a plan asks for before the plan was applied.
pub(super) async fn forget(owned: &Owned, migration: &str) -> Result<()> {
    let db = &owned.db;
    let (rows, _) = owned.rows().await?;
    let since = rows.record(migration)?.map(|(record, _)| record.started);
    for _ in 0..ATTEMPTS {
        let (mut is_any, found) = (false, record::work(db, PLAN).await?);
        owned.rows().await?; // what is applied by others, once it is theirs, is not among these
        for row in found {
            let plan = AppliedPlan::read(&row)?;
            let is_since = plan.finished.is_none_or(|finished| since.is_some_and(|since| finished >= since));
            if is_since || plan.migration.as_deref() == Some(migration) {
                record::remove(db, &row).await?;
                is_any = true;
            }
        }
        if !is_any {
            return Ok(()); // also of those that others wrote meanwhile
        }
    }
    Err(Error::new(ErrorKind::Unavailable, "plans are applied while they are taken back; try again"))
}

impl Migrations {
    /// The plans in force: those that were applied and not taken back, and those that are being applied. In the order of
    /// their names. Cost: two requests.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn plans(&self) -> Result<Vec<AppliedPlan>> {
        let is_unfinished = Rows::read(&self.db).await?.unfinished()?.is_some_and(|record| !record.undo);
        let mut plans = Vec::new();
        for row in record::work(&self.db, PLAN).await? {
            let plan = AppliedPlan::read(&row)?;
            plans.extend((plan.finished.is_some() || is_unfinished).then_some(plan));
        }
        Ok(plans)
    }

    /// That each plan in force is among these, with the same fingerprint. Cost: two requests.
    ///
    /// # Errors
    ///
    /// `PlanMismatch` names the first that is not: it was edited after it was applied, the store is newer than the program,
    /// or it is another program's. Those of the store.
    pub async fn check_plans(&self, plans: &[(String, Fingerprint)]) -> Result<()> {
        let known: BTreeMap<_, _> = plans.iter().map(|(id, fingerprint)| (id.as_str(), fingerprint)).collect();
        for plan in self.plans().await? {
            let detail = match known.get(plan.id.as_str()) {
                Some(fingerprint) if **fingerprint == plan.fingerprint => continue,
                Some(_) => "was edited after it was applied to this store; restore it from version control",
                None => {
                    "was applied to this store, and this program does not have it: the store is newer than the program, or \
                     another program's; use the program that has the plan"
                }
            };
            return Err(Error::new(
                ErrorKind::PlanMismatch { plan: plan.id.clone() },
                format!("plan {} {detail}", plan.id),
            ));
        }
        Ok(())
    }

    /// Records that these plans are being applied, those that are not in force yet, and forgets others that were begun and came to
    /// nothing. Call it before [`apply`](Migrations::apply), and [`finish_plans`](Migrations::finish_plans) after it. Cost: five
    /// requests, and two each.
    ///
    /// # Errors
    ///
    /// Those of [`Migrations::check_plans`].
    pub async fn begin_plans(&self, plans: &[(String, Fingerprint)]) -> Result<()> {
        self.check_plans(plans).await?;
        let in_force = self.plans().await?;
        let is_in_force = |id: &str| in_force.iter().any(|plan| plan.id == id);
        for row in record::work(&self.db, PLAN).await? {
            let plan = AppliedPlan::read(&row)?;
            if !is_in_force(&plan.id) && plans.iter().all(|(id, _)| *id != plan.id) {
                record::remove(&self.db, &row).await?;
            }
        }
        for (id, fingerprint) in plans.iter().filter(|(id, _)| !is_in_force(id)) {
            let (id, fingerprint) = (id.clone(), *fingerprint);
            let plan = AppliedPlan { id, fingerprint, migration: None, finished: None };
            let there = self.db.get_row(&self.db.registry_table(), &plan.key()).await?;
            plan.write(&self.db, there, is_to_begin).await?;
        }
        Ok(())
    }

    /// Records that these plans, which were begun, are applied, by this migration. Cost: one request, and one each.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn finish_plans(&self, plans: &[(String, Fingerprint)], migration: Option<&str>) -> Result<()> {
        let now = self.db.environment().clock.now();
        for row in record::work(&self.db, PLAN).await? {
            let plan = AppliedPlan::read(&row)?;
            if plan.finished.is_none() && plans.iter().any(|(id, sum)| (id, sum) == (&plan.id, &plan.fingerprint)) {
                let migration = migration.map(str::to_owned);
                let plan = AppliedPlan { migration, finished: Some(now), ..plan };
                plan.write(&self.db, Some(row), is_to_finish).await?;
            }
        }
        Ok(())
    }
}
