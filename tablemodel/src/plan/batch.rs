//! The plan of a batch: the writes of its changes folded per row, each change planned against what its earlier
//! siblings left, and checked in full before any I/O.

use std::collections::HashMap;

use tablemodel_store::{Action, Batch, Condition, Operation, Properties, Row, limits, size};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::{self, Change, Context, Known, PlannedRow, Role},
        fold::{Folded, fold},
        group::Group,
        states::IndexStates,
    },
    schema::EntitySchema,
};

/// One write of a batch, and which change asked for it.
#[derive(Debug)]
pub(crate) struct BatchRow {
    pub(crate) planned: PlannedRow,
    pub(crate) change: usize,
    pub(crate) schema: &'static EntitySchema,
}

/// What a change leaves: its primary row's properties, and where they stand in the batch.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) row: String,
    pub(crate) properties: Option<Properties>,
}

/// The folded writes of a batch in one partition.
#[derive(Debug, Default)]
pub(crate) struct BatchPlan {
    pub(crate) rows: Vec<BatchRow>,
    pub(crate) left: Vec<Left>,
    positions: HashMap<String, usize>,
}

impl BatchPlan {
    /// Plans one more change, against the images that the earlier ones left.
    pub(crate) fn add(&mut self, change: Change, known: &Known, states: &IndexStates, context: Context) -> Result<()> {
        let number = self.left.len();
        let (schema, key) = (change.schema(), change.key().row.clone());
        let planned = if number == 0 {
            change::plan(change, known, states, context)
        } else {
            change::plan(self.over_earlier(change), known, states, context)
        };
        let planned = planned.map_err(|error| error.in_operation(number))?;
        for row in planned.rows {
            self.push(BatchRow { planned: row, change: number, schema })?;
        }
        self.left.push(Left { row: key, properties: planned.after });
        Ok(())
    }

    /// The change with its old image as an earlier change of this batch left it.
    fn over_earlier(&self, change: Change) -> Change {
        let left = |old: &Group| {
            let earlier = self.left.iter().rev().find(|left| left.row == old.key().row)?;
            let properties = earlier.properties.clone()?;
            Some(Group { head: Row { properties, ..old.head.clone() }, parts: old.parts.clone() })
        };
        match change {
            Change::Save { old, new } => Change::Save { old: left(&old).unwrap_or(old), new },
            Change::Delete { schema, old } => Change::Delete { schema, old: left(&old).unwrap_or(old) },
            other => other,
        }
    }

    fn push(&mut self, row: BatchRow) -> Result<()> {
        let Some(&at) = self.positions.get(&row.planned.row) else {
            self.positions.insert(row.planned.row.clone(), self.rows.len());
            self.rows.push(row);
            return Ok(());
        };
        let Some(first) = self.rows.get_mut(at) else { return Ok(()) };
        if let (Some(a), Some(b)) = (matched(&first.planned.action), matched(&row.planned.action))
            && a != b
        {
            return Err(twice(&row, "two states of the row were given; one of them is not current"));
        }
        // A row made and unmade in one batch stays in the list as an insert of nothing, and is dropped in `operations`.
        let before = std::mem::replace(&mut first.planned.action, Action::Delete(Condition::Exists));
        match fold(before, row.planned.action.clone()) {
            Folded::One(action) => first.planned.action = action,
            Folded::Nothing => {
                self.positions.remove(&row.planned.row);
                self.rows.remove(at);
                self.positions.values_mut().filter(|position| **position > at).for_each(|position| *position -= 1);
            }
            Folded::Impossible => return Err(impossible(&row)),
        }
        Ok(())
    }

    /// The batch to commit, checked against the limits of a batch: 100 rows and 4 MiB, derived rows counted.
    pub(crate) fn batch(&self, table: &str, partition: &str) -> Result<Batch> {
        if self.rows.len() > limits::MAX_BATCH_OPERATIONS {
            return Err(self.too_many());
        }
        let operations =
            self.rows.iter().map(|row| Operation { row: row.planned.row.clone(), action: row.planned.action.clone() });
        let batch = Batch { operations: operations.collect(), ..Batch::new(table, partition) };
        let bytes = size::batch_bytes(&batch);
        if bytes > limits::MAX_BATCH_BYTES {
            let detail = format!(
                "the batch is {bytes} bytes as Azure measures it, over the {} that one may have; use `db.bulk()` to write more",
                limits::MAX_BATCH_BYTES
            );
            return Err(Error::new(ErrorKind::TooLarge, detail));
        }
        Ok(batch)
    }

    fn too_many(&self) -> Error {
        let derived = self.rows.iter().filter(|row| row.planned.role != Role::Primary).count();
        let detail = format!(
            "the batch writes {} rows ({derived} of them derived), over the {} that one may have; use `db.bulk()` to write more",
            self.rows.len(),
            limits::MAX_BATCH_OPERATIONS
        );
        Error::new(ErrorKind::TooMany, detail)
    }
}

fn matched(action: &Action) -> Option<&tablemodel_store::ETag> {
    match action {
        Action::Replace(_, Condition::Match(etag))
        | Action::Merge(_, Condition::Match(etag))
        | Action::Delete(Condition::Match(etag)) => Some(etag),
        _ => None,
    }
}

fn impossible(row: &BatchRow) -> Error {
    match row.planned.role {
        Role::Primary if matches!(row.planned.action, Action::Insert(_)) => Error::new(
            ErrorKind::AlreadyExists,
            format!("the batch writes row `{}` before it inserts it", row.planned.row),
        )
        .of(row.schema.entity_type)
        .in_operation(row.change),
        Role::Index(at) if row.schema.indexes.get(at).is_some_and(|index| index.unique) => {
            let index = row.schema.indexes.get(at).map_or("", |index| index.name);
            let detail = format!("unique index `{index}`: two entities of the batch have this value");
            Error::new(ErrorKind::UniqueViolation { index, owner: None }, detail)
                .of(row.schema.entity_type)
                .in_operation(row.change)
        }
        _ => twice(row, "the batch writes a row that it deleted before"),
    }
}

fn twice(row: &BatchRow, detail: &str) -> Error {
    Error::new(ErrorKind::Conflict { current: None }, format!("{detail} (row `{}`)", row.planned.row))
        .of(row.schema.entity_type)
        .in_operation(row.change)
}
