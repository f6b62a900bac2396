//! The survey: how many entities a backfill will touch, and where the tables are cut into ranges of about as many rows each.
//!
//! Reads keys and types alone; writes nothing. A range is whole partitions, so that no batch crosses one.

use tablemodel_store::{KeyRange, PropertyName, Query, Row, RowKey, StoreErrorKind};

use super::{Migrations, record::Range, states::Owned, targets::Targets};
use crate::{database::Database, error::Result, plan::system};

/// Ranges of a table, at most; half of that, at least, where it has enough partitions.
const RANGES: usize = 32;
/// Rows of a range, at least, where batches are not small.
const FIRST_STEP: u64 = 1_000;
/// Entities of a store that is migrated when its tables are ensured, at most.
const SMALL: u64 = 200;

/// What a backfill will find.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) entities: u64,
    pub(super) ranges: Vec<Range>,
}

/// Where a table may be cut: behind this row, before this partition.
type Cut = (RowKey, String);

#[derive(Default)]
struct Cuts {
    cuts: Vec<Cut>,
    step: u64,
    rows: u64,
    last: Option<RowKey>,
}

impl Cuts {
    fn pass(&mut self, key: RowKey) {
        self.rows += 1;
        if let Some(last) = self.last.take().filter(|last| last.partition != key.partition && self.rows > self.step) {
            self.cuts.push((last, key.partition.clone()));
            self.rows = 0;
        }
        if self.cuts.len() >= RANGES {
            let mut at = 0;
            self.cuts.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.step *= 2;
        }
        self.last = Some(key);
    }
}

/// Counts, and cuts: a range is two batches of entities at least.
pub(super) async fn survey(db: &Database, owned: Option<&Owned>, targets: &Targets, batch: usize) -> Result<Survey> {
    let step = FIRST_STEP.min(batch.saturating_mul(2) as u64);
    let mut survey = Survey::default();
    for table in targets.tables() {
        let mut cuts = Cuts { step, ..Cuts::default() };
        walk(db, owned, table, &mut |row| {
            survey.entities += u64::from(targets.find(table, &row).is_some());
            cuts.pass(row.key);
            true
        })
        .await?;
        let mut after = None;
        for (last, before) in cuts.cuts {
            let number = survey.ranges.len() as u32;
            survey.ranges.push(Range::new(number, table, after.replace(last), Some(before)));
        }
        survey.ranges.push(Range::new(survey.ranges.len() as u32, table, after, None));
    }
    Ok(survey)
}

/// Whether an entity is left that the migration takes.
pub(super) async fn is_any_left(owned: &Owned, targets: &Targets) -> Result<bool> {
    let mut is_left = false;
    for table in targets.tables() {
        walk(&owned.db, Some(owned), table, &mut |row| {
            is_left |= targets.find(table, &row).is_some();
            !is_left
        })
        .await?;
    }
    Ok(is_left)
}

/// The heads of a table's rows, until `visit` has seen enough; for the sake of a migration, if one is `owned`.
async fn walk(
    db: &Database,
    owned: Option<&Owned>,
    table: &str,
    visit: &mut (dyn FnMut(Row) -> bool + Send),
) -> Result<()> {
    let mut query = Query::new(db.table_name(table), KeyRange::table());
    query.select = Some(vec![PropertyName::from_static(system::ENTITY_TYPE)]);
    loop {
        let page = match db.query_store(&query).await {
            Err(error) if error.kind() == StoreErrorKind::TableNotFound => return Ok(()),
            other => other?,
        };
        for row in page.rows {
            if !visit(row) {
                return Ok(());
            }
        }
        if let Some(owned) = owned {
            owned.go_on().await?;
        }
        match page.continuation {
            Some(next) => query.continuation = Some(next),
            None => return Ok(()),
        }
    }
}

impl Migrations {
    /// Whether the entities that a migration would touch are few. Cost: one request an entity type's table, of many rows.
    pub(in crate::database) async fn is_small(&self) -> Result<bool> {
        let mut entities = 0;
        let targets = Targets::model(&self.db);
        for table in targets.tables() {
            walk(&self.db, None, table, &mut |row| {
                entities += u64::from(targets.find(table, &row).is_some());
                entities <= SMALL
            })
            .await?;
        }
        Ok(entities <= SMALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_cut_between_partitions_into_ranges_of_about_the_same_rows() {
        let mut cuts = Cuts { step: FIRST_STEP, ..Cuts::default() };
        for partition in 0..10_000 {
            (0..50).for_each(|row| cuts.pass(RowKey::new(format!("{partition:05}"), format!("{row}"))));
        }
        assert!((RANGES / 2 - 1..RANGES).contains(&cuts.cuts.len()), "{}", cuts.cuts.len());
        for (last, next) in &cuts.cuts {
            assert!(last.partition < *next);
        }
        assert!(cuts.cuts.is_sorted_by(|a, b| a.1 < b.1));
    }

    #[test]
    fn one_partition_is_not_cut() {
        let mut cuts = Cuts { step: FIRST_STEP, ..Cuts::default() };
        (0..100_000).for_each(|row| cuts.pass(RowKey::new("p", format!("{row:06}"))));
        assert!(cuts.cuts.is_empty());
    }
}
