//! The plan of a batch: the writes of its changes folded per row, each change planned against what its earlier
//! siblings left, and checked in full before any I/O.

mod commit;
mod shared;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use tablemodel_store::{Action, Condition, DateTime, Properties, Row, RowKey};

pub(crate) use self::commit::{check_size, split};
use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::{self, Before, Change, Context, Planned, PlannedRow, Role, stale_etag, violation},
        copies::{Guard, Place},
        entries::Away,
        fold::{Folded, fold},
        group::Group,
        known::Known,
        outbox::{AwayRow, Intent, intents, look_again},
        shadow,
        short_hash::ShortHash,
        states::Setting,
        system::{self, RowKind},
    },
    rooms::{
        aggregate::{self},
        list::Edit,
    },
    schema::{AggregateSchema, EntitySchema, IndexSchema},
};

/// One write of a batch, and which change asked for it.
#[derive(Debug)]
pub(crate) struct BatchRow {
    pub(crate) planned: PlannedRow,
    pub(crate) change: usize,
    pub(crate) schema: &'static EntitySchema,
}

impl BatchRow {
    fn unique_index(&self) -> Option<&'static IndexSchema> {
        match self.planned.role {
            Role::Primary | Role::Part | Role::List(_) | Role::Cell => None,
            Role::Outbox | Role::Holder | Role::Source => None,
            Role::Index(at) => self.schema.index_at(at).filter(|index| index.unique),
        }
    }

    fn is_unique(&self) -> bool {
        self.unique_index().is_some()
    }
}

/// A row of another partition, and which change asked for it.
#[derive(Debug)]
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

/// What a change leaves: its primary row's properties, and where they stand in the batch.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) row: String,
    pub(crate) properties: Option<Properties>,
    /// Its parts; those that the batch writes have no ETag yet.
    pub(crate) parts: Vec<Row>,
    /// Whether the entity was not there before: what a caller read cannot be it.
    born: bool,
}

/// The folded writes of a batch in one partition.
#[derive(Debug, Default)]
pub(crate) struct BatchPlan {
    pub(crate) rows: Vec<BatchRow>,
    pub(crate) left: Vec<Left>,
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
    positions: HashMap<String, usize, ShortHash>,
    /// Entities taken away, with their sequence numbers.
    gone: Vec<(String, i64)>,
    /// Keys of lists, to be put into blobs before the batch.
    #[cfg(feature = "blob")]
    pub(crate) contents: Vec<crate::rooms::list::Content>,
    /// Table and partition, of a plan that follows another.
    place: (String, String),
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
        gone.find(|(gone, _)| gone == row).map_or(0, |(_, sequence)| *sequence)
    }

    fn known(&self) -> &Known {
        self.known
    }

    fn is_blank(&self) -> bool {
        self.known.is_blank() && self.plan.rows.is_empty()
    }
}

impl BatchPlan {
    /// A plan with room for the rows of so many changes.
    pub(crate) fn of(changes: usize) -> Self {
        const ROWS_EACH: usize = 4;
        let rows = changes * ROWS_EACH;
        let positions = HashMap::with_capacity_and_hasher(rows, ShortHash::default());
        Self { rows: Vec::with_capacity(rows), left: Vec::with_capacity(changes), positions, ..Self::default() }
    }

    /// Plans one more change, against the images that the earlier ones left.
    pub(crate) fn add(&mut self, change: Change, known: &Known, setting: &Setting, context: Context) -> Result<()> {
        let number = self.left.len();
        let (schema, key) = (change.schema(), change.key().clone());
        let change = self.over_earlier(change).map_err(|error| error.in_operation(number))?;
        let taken = taken(&change);
        let claims = !matches!(change, Change::Arrive(_)); // what arrives has claimed its values before it left
        let planned = if number == 0 {
            change::plan(change, known, setting, context)
        } else {
            let before = Earlier { known, plan: self, partition: &key.partition };
            change::plan(change, &before, setting, context)
        };
        let planned = planned.map_err(|error| error.in_operation(number))?;
        let primary = planned.rows.iter().find(|row| row.role == Role::Primary && row.row == key.row);
        let born = primary.is_some_and(|row| matches!(row.action, Action::Insert(_)))
            || self.left_at(&key.row).is_some_and(|left| left.born);
        let owner = taken.as_ref().map_or(key.row.as_str(), |(row, _)| row);
        let (properties, parts) =
            self.take(number, schema, planned, (&key.partition, owner, known), setting, context)?;
        if !claims {
            self.claims.retain(|away| away.change != number);
        }
        self.gone.extend(taken.filter(|(row, _)| *row != key.row || properties.is_none()));
        self.left.push(Left { row: key.row, properties, parts, born });
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
        let buried = planned.rows.iter().find_map(buried);
        let primary = planned.rows.iter().find(|row| row.role == Role::Primary && is_live(row));
        let primary = primary.map(|row| row.row.clone());
        for row in planned.rows {
            if row.role == Role::Cell {
                self.shared.insert(row.row.clone()); // read, as what several meet in is
            }
            self.push(BatchRow { planned: row, change: number, schema }, owner, known)?;
        }
        let mut looks_again = false;
        for guard in planned.guards {
            let Guard::Unchanged(Place { away, row }, action) = guard else {
                looks_again = true;
                continue;
            };
            if away.partition != partition || !away.table.eq_ignore_ascii_case(schema.table) {
                self.guards.push((Place { away, row }, action));
                continue;
            }
            let planned = PlannedRow { row, action, role: Role::Source };
            self.push(BatchRow { planned, change: number, schema }, owner, known)?;
        }
        let edits = planned.lists.into_iter();
        self.edits.extend(edits.map(|(index, edit)| BatchEdit { index, edit, change: number, schema }));
        self.cells.extend(planned.cells.into_iter().map(|edit| (number, edit)));
        match setting.deferred {
            true => {
                let mut intents = intents(schema, &planned.away, &planned.copied);
                if let Some((owner, after)) = primary.zip(planned.after.as_ref()).filter(|_| looks_again) {
                    look_again(&mut intents, owner, system::sequence(after));
                }
                // A tombstone is swept by its outbox row, also where nothing else is to follow.
                let nothing_follows = |(row, _): &(String, i64)| intents.iter().all(|intent| intent.owner != *row);
                if let Some((owner, sequence)) = buried.filter(nothing_follows) {
                    intents.push(Intent { owner, sequence, ..Intent::default() });
                }
                self.defer(number, schema, intents, context, owner, known)?;
                let shadows = planned.away.iter().filter(|row| shadow::is_primary(schema, row.index)).cloned();
                self.shadows.extend(shadows.map(|row| BatchAway { row, change: number, schema }));
                let away = planned.away.into_iter().map(|row| BatchAway { row, change: number, schema });
                self.claims.extend(away.filter(|away| away.claimed().is_some()));
            }
            false => self.away.extend(planned.away.into_iter().map(|row| BatchAway { row, change: number, schema })),
        }
        self.staged.extend(planned.staged);
        self.swept.extend(planned.swept);
        Ok((planned.after, planned.parts))
    }

    /// Puts an outbox row beside the entity for what other partitions are to follow.
    fn defer(
        &mut self,
        change: usize,
        schema: &'static EntitySchema,
        intents: Vec<Intent>,
        context: Context,
        owner: &str,
        known: &Known,
    ) -> Result<()> {
        for intent in intents {
            let action = Action::Insert(intent.properties(schema, context.due));
            let planned = PlannedRow { row: intent.row(), action, role: Role::Outbox };
            self.outgoing.push((intent.row(), schema));
            self.push(BatchRow { planned, change, schema }, owner, known)?;
        }
        Ok(())
    }

    /// What the last change of this entity left.
    fn left_at(&self, row: &str) -> Option<&Left> {
        self.left.iter().rev().find(|left| left.row == row)
    }

    /// What the last change that wrote this row, a head or a part, left in it.
    fn left_in(&self, row: &str) -> Option<&Properties> {
        let mut lefts = self.left.iter().rev();
        let last = lefts.find_map(|left| match left.row == row {
            true => Some(left.properties.as_ref()),
            false => left.parts.iter().find(|part| part.key.row == row).map(|part| Some(&part.properties)),
        });
        last.flatten()
    }

    /// What the batch does to the row.
    pub(crate) fn planned(&self, row: &str) -> Option<&PlannedRow> {
        Some(&self.rows.get(self.position(row)?)?.planned)
    }

    /// The place of the row among the writes of the batch.
    pub(crate) fn position(&self, row: &str) -> Option<usize> {
        self.positions.get(row).copied()
    }

    /// The change with its old image as an earlier change of this batch left it.
    fn over_earlier(&self, change: Change) -> Result<Change> {
        let (Change::Save { old, .. } | Change::Delete { old, .. }) = &change else { return Ok(change) };
        let Some(left) = self.left_at(&old.key().row) else { return Ok(change) };
        if left.born {
            let detail = "an earlier change of the batch inserts the entity; what was read before is not current";
            let error = Error::new(ErrorKind::Conflict { current: None }, detail);
            return Err(error.of(change.schema().entity_type).at_key(old.key().clone()));
        }
        let Some(properties) = left.properties.clone() else { return Ok(change) };
        let old = Group::of(Row { properties, ..old.head.clone() }, left.parts.clone());
        Ok(match change {
            Change::Save { new, .. } => Change::Save { old, new },
            Change::Delete { schema, .. } => Change::Delete { schema, old },
            other => other,
        })
    }

    /// Adds one write of a change. `owner` is the entity that the change took rows from.
    fn push(&mut self, row: BatchRow, owner: &str, known: &Known) -> Result<()> {
        let releases = row.is_unique() && matches!(row.planned.action, Action::Delete(_));
        let read = known.get(&row.planned.row).map(Option::as_ref);
        let holder = read.flatten().and_then(|row| system::owner_row(&row.properties));
        if releases && holder.is_some_and(|holder| holder != owner) {
            return Ok(()); // another's value by now: not ours to release
        }
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
        if releases && let Some(taker) = first.planned.action.properties().filter(|taker| is_other(taker, owner)) {
            // Two entities exchange a value: the first took it before the second let it go.
            let condition = match read {
                Some(Some(row)) => Condition::Match(row.etag.clone()),
                None => Condition::Exists,
                Some(None) => return Ok(()),
            };
            if matches!(first.planned.action, Action::Insert(_)) {
                first.planned.action = Action::Replace(taker.clone(), condition);
            }
            return Ok(());
        }
        if row.planned.role == Role::Primary && matches!(first.planned.role, Role::Holder | Role::Source) {
            (first.planned.role, first.change, first.schema) = (Role::Primary, row.change, row.schema);
        }
        // A row made and unmade in one batch is no write at all.
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

    /// That no entity of the batch takes a value that another, by what was read, still has.
    pub(crate) fn check_unique(&self, known: &Known) -> Result<()> {
        for row in self.rows.iter().filter(|row| matches!(row.planned.action, Action::Insert(_))) {
            if let (Some(Some(holder)), Some(index)) = (known.get(&row.planned.row), row.unique_index()) {
                return Err(violation(row.schema, index, holder).in_operation(row.change));
            }
        }
        Ok(())
    }

    /// What the batch leaves in a row that it writes: nothing where it takes it away.
    pub(crate) fn row_after(&self, row: &str) -> Option<Option<&Properties>> {
        let planned = self.planned(row)?;
        let left = self.left_in(row);
        Some(planned.action.properties().map(|written| left.unwrap_or(written)))
    }

    /// The head of the entity that the part is of.
    pub(crate) fn head_of(&self, part: &BatchRow) -> Option<&BatchRow> {
        self.rows.iter().find(|row| row.planned.role == Role::Primary && row.change == part.change)
    }
}

/// Rows of other partitions that were looked for in vain.
pub(crate) type Missing = HashSet<(Away, String)>;

/// The state of the row that the action rests on.
pub(crate) fn matched(action: &Action) -> Option<&tablemodel_store::ETag> {
    match action {
        Action::Replace(_, Condition::Match(etag))
        | Action::Merge(_, Condition::Match(etag))
        | Action::Delete(Condition::Match(etag)) => Some(etag),
        _ => None,
    }
}

/// The entity that the change takes away or moves: its row, and its sequence number.
fn taken(change: &Change) -> Option<(String, i64)> {
    match change {
        Change::Save { old, .. } | Change::Delete { old, .. } => {
            Some((old.key().row.clone(), system::sequence(&old.head.properties)))
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

fn is_other(properties: &Properties, owner: &str) -> bool {
    system::owner_row(properties).is_some_and(|taker| taker != owner)
}

fn impossible(row: &BatchRow) -> Error {
    match (&row.planned.action, row.unique_index()) {
        (Action::Insert(_), Some(index)) => {
            let detail = format!("unique index `{}`: two entities of the batch have this value", index.name);
            Error::new(ErrorKind::UniqueViolation { index: index.name, owner: None }, detail)
                .of(row.schema.entity_type)
                .in_operation(row.change)
        }
        (Action::Insert(_), None) => Error::new(
            ErrorKind::AlreadyExists,
            format!("the batch writes row `{}` before it inserts it", row.planned.row),
        )
        .of(row.schema.entity_type)
        .in_operation(row.change),
        _ => twice(row, "an earlier change of the batch deletes the row"),
    }
}

fn twice(row: &BatchRow, detail: &str) -> Error {
    Error::new(ErrorKind::Conflict { current: None }, format!("{detail} (row `{}`)", row.planned.row))
        .of(row.schema.entity_type)
        .in_operation(row.change)
}

/// Where the row is the tombstone of an entity: its row key and sequence number.
fn buried(row: &PlannedRow) -> Option<(String, i64)> {
    let properties = row.action.properties().filter(|_| row.role == Role::Primary)?;
    let is_dead = matches!(system::kind(properties), RowKind::Tombstone { .. });
    is_dead.then(|| (row.row.clone(), system::sequence(properties)))
}
