//! The plan of a batch: the writes of its changes folded per row, each change planned against what its earlier
//! siblings left, and checked in full before any I/O.

mod commit;
mod later;
mod left;
mod ranked;
mod rows;
mod shared;

use std::{borrow::Cow, collections::HashSet};

use tablemodel_store::{Action, DateTime, ETag, Properties, Row, RowKey};

use self::later::Later;
pub(crate) use self::{
    commit::split,
    left::{Left, Lefts},
    rows::{BatchRow, Rows, matched},
};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::{self, Before, Change, Context, Planned, PlannedRow, Role, stale_etag, violation},
        copies::{Guard, Place},
        entries::Away,
        group::Group,
        known::Known,
        outbox::AwayRow,
        states::Setting,
        system::{self, RowKind},
    },
    rooms::{
        aggregate::{self},
        list::Edit,
    },
    schema::{AggregateSchema, EntitySchema, IndexSchema},
};

/// A row of another partition, and which change asked for it.
#[derive(Debug, Clone)]
pub(crate) struct BatchAway {
    pub(crate) row: AwayRow,
    pub(crate) change: usize,
    pub(crate) schema: &'static EntitySchema,
}

impl BatchAway {
    /// The index that wants it, if its rows are claims.
    pub(crate) fn claimed(&self) -> Option<&'static IndexSchema> {
        self.schema.index_at(self.row.index).filter(|index| index.is_claim())
    }
}

impl BatchAway {
    /// The aggregate that it adds to, if it is a contribution: those are written where their target stands.
    pub(crate) fn aggregate(&self) -> Option<&'static AggregateSchema> {
        self.schema.aggregate(self.row.index)
    }
}

/// What changes in a list, and which change asked for it.
#[derive(Debug)]
struct BatchEdit {
    index: usize,
    edit: Edit,
    change: usize,
    schema: &'static EntitySchema,
}

/// The folded writes of a batch in one partition.
#[derive(Debug, Default)]
pub(crate) struct BatchPlan {
    pub(crate) rows: Rows,
    pub(crate) left: Lefts,
    /// Rows of other partitions, to be written in the same commit.
    pub(crate) away: Vec<BatchAway>,
    /// Entities of other partitions that must be as they were read, to be written in the same commit.
    pub(crate) guards: Vec<(Place, Action)>,
    /// Claims that are to follow later, of those in `outgoing`.
    pub(crate) claims: Vec<BatchAway>,
    /// Primary rows of the form that the entities move to, of those in `outgoing`.
    pub(crate) shadows: Vec<BatchAway>,
    /// What other partitions are to follow later: the outbox row, and the entity's schema.
    pub(crate) outgoing: Vec<(String, &'static EntitySchema)>,
    /// What changes in rows of several entities: written once all changes are known.
    edits: Vec<BatchEdit>,
    /// What changes in aggregates, and which change asked for it.
    cells: Vec<(usize, aggregate::Edit)>,
    /// Rows that were read because several entities meet in them.
    pub(crate) shared: HashSet<String>,
    /// Parts to write before the batch: of a change that is alone.
    pub(crate) staged: Vec<PlannedRow>,
    /// Parts to delete after it.
    pub(crate) swept: Vec<PlannedRow>,
    /// Entities taken away, with their sequence numbers, and by which change.
    gone: Vec<(String, i64, usize)>,
    /// Keys of lists, to be put into blobs before the batch.
    #[cfg(feature = "blob")]
    pub(crate) contents: Vec<crate::rooms::list::Content>,
    /// Table and partition, of a plan that follows another.
    place: (String, String),
    /// How many changes were added.
    added: usize,
    /// Whether its rows were [given away](Self::give_away).
    pub(crate) is_given: bool,
}

/// The rows before a change: as earlier changes of its batch leave them, else as read.
struct Earlier<'a> {
    known: &'a Known,
    plan: &'a BatchPlan,
    partition: &'a str,
}

impl Before for Earlier<'_> {
    fn row(&self, row: &str) -> Option<Option<Cow<'_, Row>>> {
        let Some(planned) = self.plan.planned(row) else { return self.known.row(row) };
        // A merge holds only what changed; what the change left is the whole.
        let properties = self.plan.row_after(row).flatten();
        Some(properties.map(|properties| {
            Cow::Owned(Row {
                key: RowKey::new(self.partition, row),
                etag: matched(&planned.action).cloned().unwrap_or_else(stale_etag),
                timestamp: DateTime::UNIX_EPOCH,
                properties: properties.clone(),
            })
        }))
    }

    fn gone(&self, row: &str) -> i64 {
        let mut gone = self.plan.gone.iter().rev();
        gone.find(|(gone, ..)| gone == row).map_or(0, |(_, sequence, _)| *sequence)
    }

    fn known(&self) -> &Known {
        self.known
    }

    fn put_under(&self, prefix: &str) -> Vec<Cow<'_, Row>> {
        let keys = self.plan.rows.iter().map(|row| row.planned.row.as_str()).filter(|row| row.starts_with(prefix));
        keys.filter_map(|row| self.row(row).flatten()).collect()
    }

    fn is_blank(&self) -> bool {
        self.known.is_blank() && self.plan.rows.is_empty()
    }
}

impl BatchPlan {
    /// A plan with room for the rows of so many changes.
    pub(crate) fn of(changes: usize) -> Self {
        const ROWS_EACH: usize = 4;
        let rows = Rows::with_capacity(changes * ROWS_EACH);
        Self { rows, left: Lefts::with_capacity(changes), ..Self::default() }
    }

    /// Plans one more change, against the images that the earlier ones left.
    pub(crate) fn add(&mut self, change: &Change, known: &Known, setting: &Setting, context: Context) -> Result<()> {
        let number = self.left.len();
        let (schema, key) = (change.schema(), change.key());
        let change = self.over_earlier(change).map_err(|error| error.in_operation(number))?;
        let taken = taken(&change);
        let is_new = is_new(&change, &Earlier { known, plan: self, partition: &key.partition });
        let claims = !matches!(*change, Change::Arrive(_)); // what arrives has claimed its values before it left
        let planned = if number == 0 {
            change::plan(&change, known, setting, context)
        } else {
            let before = Earlier { known, plan: self, partition: &key.partition };
            change::plan(&change, &before, setting, context)
        };
        let planned = planned.map_err(|error| error.in_operation(number))?;
        let primary = planned.rows.iter().find(|row| row.role == Role::Primary && row.row == key.row);
        let born = is_new
            || primary.is_some_and(|row| matches!(row.action, Action::Insert(_)))
            || self.left_at(&key.row).is_some_and(|left| left.born);
        let owner = taken.map_or(key.row.as_str(), |(row, _)| row);
        let left = self.take(number, schema, planned, (&key.partition, owner, known), setting, context);
        let (properties, parts) = left.map_err(|error| error.in_operation(number))?;
        if !claims {
            self.claims.retain(|away| away.change != number);
        }
        if let (Change::Recopy { .. }, Some(_)) = (&*change, &properties)
            && let Some(asked) = self.left.last_of(&key.row)
        {
            // Of a holder that the caller writes too: it is this that he has then.
            self.left.renew(asked, properties.clone(), parts.clone());
        }
        let gone = taken.filter(|(row, _)| *row != key.row || properties.is_none());
        self.gone.extend(gone.map(|(row, sequence)| (row.to_owned(), sequence, number)));
        self.left.push(Left { row: key.row.clone(), properties, parts, born });
        self.added += 1;
        Ok(())
    }

    /// Takes over what a change was planned to be; gives what it leaves: the head's properties, and the parts.
    fn take(
        &mut self,
        number: usize,
        schema: &'static EntitySchema,
        planned: Planned,
        (partition, owner, known): (&str, &str, &Known),
        setting: &Setting,
        context: Context,
    ) -> Result<(Option<Properties>, Vec<Row>)> {
        let later = setting.deferred.then(|| Later::of(&planned));
        for row in planned.rows {
            if row.role == Role::Cell {
                self.shared.insert(row.row.clone()); // read, as what several meet in is
            }
            self.rows.push(BatchRow { planned: row, change: number, schema }, owner, known)?;
        }
        for guard in planned.guards {
            let Guard::Unchanged(Place { away, row }, action) = guard else { continue };
            if away.partition != partition || !away.table.eq_ignore_ascii_case(schema.table) {
                self.guards.push((Place { away, row }, action));
                continue;
            }
            let planned = PlannedRow { row, action, role: Role::Source };
            self.rows.push(BatchRow { planned, change: number, schema }, owner, known)?;
        }
        let edits = planned.lists.into_iter();
        self.edits.extend(edits.map(|(index, edit)| BatchEdit { index, edit, change: number, schema }));
        self.cells.extend(planned.cells.into_iter().map(|edit| (number, edit)));
        let away = planned.away.into_iter().map(|row| BatchAway { row, change: number, schema });
        match later {
            Some(later) => {
                self.defer(later, away.collect(), planned.copied, (number, schema, partition, owner), known, context)?
            }
            None => self.away.extend(away),
        }
        self.staged.extend(planned.staged);
        self.swept.extend(planned.swept);
        Ok((planned.after, planned.parts))
    }

    /// What the last change of this entity left.
    fn left_at(&self, row: &str) -> Option<&Left> {
        self.left.get(self.left.last_of(row)?)
    }

    /// Whether an earlier change took the entity of this row away, and none put one there since.
    fn is_gone(&self, row: &str) -> bool {
        let Some((.., gone)) = self.gone.iter().rev().find(|(gone, ..)| gone == row) else { return false };
        let put = self.left.iter().rposition(|left| left.row == row && left.properties.is_some());
        put.is_none_or(|put| put < *gone)
    }

    /// What the batch does to the row.
    pub(crate) fn planned(&self, row: &str) -> Option<&PlannedRow> {
        Some(&self.rows.get(self.position(row)?)?.planned)
    }

    /// The state of the entity that the batch rests on; none of one that it inserts.
    pub(crate) fn state_of(&self, row: &str) -> Option<ETag> {
        self.planned(row).and_then(|planned| matched(&planned.action)).cloned()
    }

    /// Whether the entity with this row key goes, or leaves the key.
    pub(crate) fn takes_away(&self, row: &str) -> bool {
        let is_gone = |action: &Action| match action.properties() {
            Some(left) => matches!(system::kind(left), RowKind::Tombstone { .. }),
            None => true,
        };
        self.planned(row).is_some_and(|planned| planned.role == Role::Primary && is_gone(&planned.action))
    }

    /// The place of the row among the writes of the batch.
    pub(crate) fn position(&self, row: &str) -> Option<usize> {
        self.rows.position(row)
    }

    /// The change with its old image as an earlier change of this batch left it.
    fn over_earlier<'c>(&self, change: &'c Change) -> Result<Cow<'c, Change>> {
        let as_it_is = Ok(Cow::Borrowed(change));
        let (Change::Save { old, .. } | Change::Delete { old, .. }) = change else { return as_it_is };
        let stale = |detail| {
            let error = Error::new(ErrorKind::Conflict { current: None }, detail);
            Err(error.of(change.schema().entity_type).at_key(old.key().clone()))
        };
        if self.is_gone(&old.key().row) {
            return stale("an earlier change of the batch takes the entity away");
        }
        if self.is_told_gone(&old.key().row) {
            return stale("the entity is gone; what was read before is not current");
        }
        let Some(left) = self.left_at(&old.key().row) else { return as_it_is };
        if left.born {
            return stale("an earlier change of the batch inserts the entity; what was read before is not current");
        }
        let Some(properties) = left.properties.clone() else { return as_it_is };
        let old = Group::of(Row { properties, ..old.head.clone() }, left.parts.clone());
        Ok(Cow::Owned(match change {
            Change::Save { new, .. } => Change::Save { old, new: new.clone() },
            _ => Change::Delete { schema: change.schema(), old },
        }))
    }

    /// Whether an entity of the batch that copies it rests on that it is not there.
    fn is_told_gone(&self, row: &str) -> bool {
        let is_absent = |planned: &PlannedRow| matches!(planned.action, Action::Insert(_));
        self.planned(row).is_some_and(|planned| planned.role == Role::Source && is_absent(planned))
    }

    /// That no entity of the batch takes a value that another, by what was read, still has.
    pub(crate) fn check_unique(&self, known: &Known) -> Result<()> {
        for row in self.rows.iter().filter(|row| matches!(row.planned.action, Action::Insert(_))) {
            if let (Some(Some(holder)), Some(index)) = (known.get(&row.planned.row), row.unique_index()) {
                return Err(violation(row.schema, index, holder).in_operation(row.change));
            }
        }
        Ok(())
    }

    /// Whether nothing is to be done beside the rows of its own partition.
    pub(crate) fn is_of_its_partition(&self) -> bool {
        #[cfg(feature = "blob")]
        if !self.contents.is_empty() {
            return false;
        }
        let is_within = self.away.is_empty() && self.guards.is_empty() && self.claims.is_empty();
        let is_now = self.staged.is_empty() && self.swept.is_empty() && self.outgoing.is_empty();
        is_within && is_now && self.shadows.is_empty()
    }

    /// What the batch leaves in a row that it writes: nothing where it takes it away.
    pub(crate) fn row_after(&self, row: &str) -> Option<Option<&Properties>> {
        let planned = self.planned(row)?;
        // What an earlier change left there is no longer where a later one takes the entity away.
        let left = self.left.in_row(row).filter(|_| !self.is_gone(row));
        Some(planned.action.properties().map(|written| left.unwrap_or(written)))
    }

    /// The head of the entity that the part is of.
    pub(crate) fn head_of(&self, part: &BatchRow) -> Option<&BatchRow> {
        self.rows.iter().find(|row| row.planned.role == Role::Primary && row.change == part.change)
    }
}

/// Rows of other partitions that were looked for in vain, each with the state of the entity beside which that was: of another state
/// it says nothing.
pub(crate) type Missing = HashSet<(Away, String, Option<ETag>)>;

/// Whether no entity was there before the change: what a caller read of one cannot be this one.
fn is_new(change: &Change, before: &dyn Before) -> bool {
    match change {
        Change::Insert(_) | Change::Arrive(_) => true,
        Change::Save { old, new } => old.key().row != new.key.row,
        Change::Upsert(image) => {
            let there = before.row(&image.key.row);
            there.is_some_and(|row| !row.is_some_and(|row| change::is_primary(image.schema, &row)))
        }
        _ => false,
    }
}

/// The entity that the change takes away or moves: its row, and its sequence number.
fn taken(change: &Change) -> Option<(&str, i64)> {
    match change {
        Change::Save { old, .. } | Change::Delete { old, .. } => {
            Some((old.key().row.as_str(), system::sequence(&old.head.properties)))
        }
        Change::Insert(_)
        | Change::Upsert(_)
        | Change::Touch { .. }
        | Change::Refresh { .. }
        | Change::Contribute(_)
        | Change::Patch { .. }
        | Change::Recopy { .. }
        | Change::Leave { .. }
        | Change::Arrive(_) => None,
    }
}

/// Whether the write leaves a row that says something.
fn is_live(planned: &PlannedRow) -> bool {
    planned.action.properties().is_some_and(|properties| !system::is_dead(properties))
}
