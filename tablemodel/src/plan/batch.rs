//! The plan of a batch: the writes of its changes folded per row, each change planned against what its earlier
//! siblings left, and checked in full before any I/O.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use tablemodel_store::{Action, Batch, Condition, DateTime, Operation, Properties, Row, RowKey, Value, limits, size};

use crate::{
    error::{Error, ErrorKind, Result},
    plan::{
        change::{self, Before, Change, Context, Planned, PlannedRow, Role, stale_etag, violation},
        copies::Guard,
        entries::Away,
        fold::{Folded, fold},
        group::Group,
        known::Known,
        outbox::{AwayRow, Intent, intents},
        short_hash::ShortHash,
        states::Setting,
        system::{self, RowKind},
        table::TableName,
    },
    rooms::{
        aggregate,
        list::{Edit, List},
        unique::{KnownClaims, nets},
    },
    schema::{EntitySchema, IndexSchema},
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
            Role::Index(at) => self.schema.indexes.get(at).filter(|index| index.unique),
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
        self.schema.indexes.get(self.row.index).filter(|index| index.is_claim())
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
    pub(crate) guards: Vec<Guard>,
    /// Claims that are to follow later, of those in `outgoing`.
    pub(crate) claims: Vec<BatchAway>,
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
}

impl BatchPlan {
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
        let owner = taken.as_ref().map_or_else(|| key.row.clone(), |(row, _)| row.clone());
        let (properties, parts) =
            self.take(number, schema, planned, (&key.partition, &owner, known), setting, context)?;
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
        for row in planned.rows {
            self.push(BatchRow { planned: row, change: number, schema }, owner, known)?;
        }
        for Guard { away, row, action } in planned.guards {
            if away.partition != partition || !away.table.eq_ignore_ascii_case(schema.table) {
                self.guards.push(Guard { away, row, action });
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
                // A tombstone is swept by its outbox row, also where nothing else is to follow.
                let nothing_follows = |(row, _): &(String, i64)| intents.iter().all(|intent| intent.owner != *row);
                if let Some((owner, sequence)) = buried.filter(nothing_follows) {
                    intents.push(Intent { owner, sequence, entries: Vec::new(), copied: false });
                }
                self.defer(number, schema, intents, context, owner, known)?;
                let away = planned.away.into_iter().map(|row| BatchAway { row, change: number, schema });
                self.claims.extend(away.filter(|away| away.claimed().is_some()));
            }
            false => self.away.extend(planned.away.into_iter().map(|row| BatchAway { row, change: number, schema })),
        }
        self.staged.extend(planned.staged);
        self.swept.extend(planned.swept);
        Ok((planned.after, planned.parts))
    }

    /// Writes the cells of the aggregates that the changes meet in, and copies them into their targets.
    pub(crate) fn close_cells(
        &mut self,
        partition: &str,
        known: &Known,
        context: Context,
        setting: impl Fn(&'static EntitySchema) -> Result<Setting>,
    ) -> Result<()> {
        let edits = std::mem::take(&mut self.cells);
        let mut refreshed: Vec<(usize, Change)> = Vec::new();
        for (at, (change, first)) in edits.iter().enumerate() {
            if edits.iter().take(at).any(|(_, earlier)| earlier.into.is(&first.into)) {
                continue;
            }
            let all = edits.iter().map(|(_, edit)| edit).filter(|edit| edit.into.is(&first.into));
            let set = self.close_cell(first, all, (*change, partition), known, context);
            let set = set.map_err(|error| error.of(first.into.target.entity_type).in_operation(*change))?;
            let key = RowKey::new(partition, first.into.row.clone());
            let Some(set) = set else { continue };
            match refreshed.iter_mut().find(|(_, earlier)| *earlier.key() == key) {
                Some((_, Change::Refresh { sets, .. })) => sets.push(set),
                _ => refreshed.push((*change, Change::Refresh { schema: first.into.target, key, sets: vec![set] })),
            }
        }
        for (number, change) in refreshed {
            self.refresh(number, change, known, &setting, context).map_err(|error| error.in_operation(number))?;
        }
        Ok(())
    }

    /// Writes one cell; tells what its target is to hold, if that is something else than it does.
    fn close_cell<'e>(
        &mut self,
        first: &aggregate::Edit,
        edits: impl Iterator<Item = &'e aggregate::Edit>,
        (change, partition): (usize, &str),
        known: &Known,
        context: Context,
    ) -> Result<Option<(&'static str, Value)>> {
        let (into, row) = (&first.into, first.into.cell());
        let cell = known.get(&row).and_then(Option::as_ref);
        let before = into.total(cell)?;
        let (mut total, mut comes_or_goes) = (before.clone(), false);
        for edit in edits {
            total.change(edit);
            comes_or_goes |= edit.loss.is_none() && edit.gain.is_none();
        }
        self.shared.insert(row.clone());
        let before_batch = Earlier { known, plan: self, partition };
        let target = before_batch.row(&into.row).flatten().filter(|row| change::is_primary(into.target, row));
        let stored =
            target.as_ref().map(|target| target.properties.get(into.property.property).map(|value| value.to_value()));
        if total == before && !comes_or_goes {
            return Ok(None);
        }
        if let Some(action) = into.write(&total, cell, stored.is_some(), context.now)? {
            let planned = PlannedRow { row, action, role: Role::Cell };
            self.push(BatchRow { planned, change, schema: into.target }, "", known)?;
        }
        let value = into.value(&total)?;
        Ok(stored.filter(|stored| stored.as_ref() != Some(&value)).map(|_| (into.property.property, value)))
    }

    /// Plans the write of a target over what the batch leaves of it.
    fn refresh(
        &mut self,
        number: usize,
        change: Change,
        known: &Known,
        setting: impl Fn(&'static EntitySchema) -> Result<Setting>,
        context: Context,
    ) -> Result<()> {
        let (schema, key) = (change.schema(), change.key().clone());
        let (setting, context) = (setting(schema)?, Context { fresh: None, ..context });
        let before = Earlier { known, plan: self, partition: &key.partition };
        let planned = change::plan(change, &before, &setting, context)?;
        if self.left_at(&key.row).is_none() {
            self.shared.insert(key.row.clone());
        }
        let (after, parts) =
            self.take(number, schema, planned, (&key.partition, &key.row, known), &setting, context)?;
        match self.left.iter_mut().rev().find(|left| left.row == key.row) {
            Some(left) => left.properties = after,
            None => self.left.push(Left { row: key.row, properties: after, parts, born: false }),
        }
        Ok(())
    }

    /// Adds the rows of the lists that the changes meet in, each list once.
    pub(crate) fn close(&mut self, partition: &str, known: &Known, context: Context) -> Result<()> {
        let edits = std::mem::take(&mut self.edits);
        let mut lists: Vec<&BatchEdit> = Vec::new();
        for edit in &edits {
            if !lists.iter().any(|list| list.edit.row == edit.edit.row) {
                lists.push(edit);
            }
        }
        for BatchEdit { index, edit, change, schema } in lists {
            let Some(of) = schema.indexes.get(*index) else { continue };
            let list = List { index: of, partition, row: &edit.row, now: context.now };
            let own = edits.iter().map(|other| &other.edit).filter(|other| other.row == edit.row);
            let writes = list.writes(own, known);
            for (row, action) in writes.map_err(|error| error.of(schema.entity_type).in_operation(*change))? {
                self.shared.insert(row.clone());
                let planned = PlannedRow { row, action, role: Role::List(*index) };
                self.push(BatchRow { planned, change: *change, schema }, "", known)?;
            }
        }
        Ok(())
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
        let old = Group { head: Row { properties, ..old.head.clone() }, parts: left.parts.clone() };
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

    /// The batches to commit: that of the entities, then those of other partitions. Each is checked against the limits of
    /// a batch: 100 rows and 4 MiB, derived rows counted. `missing` are rows elsewhere that were looked for in vain,
    /// `claims` those of claims that were read.
    pub(crate) fn batches(
        &self,
        table: &str,
        partition: &str,
        prefix: &str,
        missing: &Missing,
        claims: &KnownClaims,
    ) -> Result<Vec<Batch>> {
        if self.rows.len() > limits::MAX_BATCH_OPERATIONS {
            return Err(self.too_many());
        }
        let batches = self.all_batches(table, partition, prefix, missing, claims)?;
        batches.iter().try_for_each(check_size)?;
        Ok(batches)
    }

    /// The batches to commit, whatever their size; the first is that of the entities.
    pub(crate) fn all_batches(
        &self,
        table: &str,
        partition: &str,
        prefix: &str,
        missing: &Missing,
        claims: &KnownClaims,
    ) -> Result<Vec<Batch>> {
        let operations =
            self.rows.iter().map(|row| Operation { row: row.planned.row.clone(), action: row.planned.action.clone() });
        let mut batches = vec![Batch { operations: operations.collect(), ..Batch::new(table, partition) }];
        let claims = nets(&self.away)?.into_iter().filter_map(|net| {
            let (away, row) = net.place();
            let action = net.action(claims.get(&(away.clone(), row.clone())))?;
            Some((away, row, action))
        });
        // Two changes may guard one entity.
        let mut guarded = HashSet::new();
        let guards = self.guards.iter().filter(|guard| guarded.insert((&guard.away, &guard.row)));
        let guards = guards.map(|guard| (guard.away.clone(), guard.row.clone(), guard.action.clone()));
        let mut places = HashMap::new();
        for (place, row, action) in claims.chain(self.folded_away(missing)?).chain(guards) {
            let at = *places.entry(place).or_insert_with_key(|place| {
                let table = TableName { prefix: prefix.to_owned(), table: place.table, slice: None }.to_string();
                batches.push(Batch::new(table, place.partition.clone()));
                batches.len() - 1
            });
            if let Some(batch) = batches.get_mut(at) {
                batch.operations.push(Operation { row, action });
            }
        }
        Ok(batches)
    }

    /// The same, of this table and partition.
    pub(crate) fn at(mut self, table: &str, partition: &str) -> Self {
        self.place = (table.to_owned(), partition.to_owned());
        self
    }

    /// The table, with the prefix, and the partition that it was told.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.place.0, &self.place.1)
    }

    /// The partition of a plan that follows another; else this one.
    pub(crate) fn partition_or<'a>(&'a self, other: &'a str) -> &'a str {
        if self.place.0.is_empty() { other } else { &self.place.1 }
    }

    /// What the batch leaves in a row that it writes: nothing where it takes it away.
    pub(crate) fn row_after(&self, row: &str) -> Option<Option<&Properties>> {
        let planned = self.planned(row)?;
        let left = self.left_in(row);
        Some(planned.action.properties().map(|written| left.unwrap_or(written)))
    }

    /// The writes in other partitions, one for each row.
    fn folded_away(&self, missing: &Missing) -> Result<Vec<(Away, String, Action)>> {
        let mut writes: Vec<(Away, String, Option<Action>)> = Vec::with_capacity(self.away.len());
        let mut places = HashMap::with_capacity(self.away.len());
        for BatchAway { row, change, schema } in self.away.iter().filter(|away| away.claimed().is_none()) {
            let is_missing = missing.contains(&(row.away.clone(), row.row.clone()));
            let Some(action) = row.action(is_missing) else { continue };
            let at = *places.entry((&row.away, &row.row)).or_insert(writes.len());
            let Some((_, _, first)) = writes.get_mut(at) else {
                writes.push((row.away.clone(), row.row.clone(), Some(action)));
                continue;
            };
            *first = match first.take().map(|first| fold(first, action.clone())) {
                None => Some(action),
                Some(Folded::One(action)) => Some(action),
                Some(Folded::Nothing) => None,
                Some(Folded::Impossible) => {
                    let detail =
                        format!("two entities of the batch want one row of another partition (row `{}`)", row.row);
                    let error = Error::new(ErrorKind::Conflict { current: None }, detail);
                    return Err(error.of(schema.entity_type).in_operation(*change));
                }
            };
        }
        Ok(writes.into_iter().filter_map(|(away, row, action)| Some((away, row, action?))).collect())
    }

    /// The head of the entity that the part is of.
    pub(crate) fn head_of(&self, part: &BatchRow) -> Option<&BatchRow> {
        self.rows.iter().find(|row| row.planned.role == Role::Primary && row.change == part.change)
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

/// Rows of other partitions that were looked for in vain.
pub(crate) type Missing = HashSet<(Away, String)>;

/// The batch, in as many pieces as its limits ask for.
pub(crate) fn split(mut batch: Batch, to: &mut Vec<Batch>) {
    let count = batch.operations.len();
    let is_over =
        count > limits::MAX_BATCH_OPERATIONS || size::batch_bytes_over(&batch, limits::MAX_BATCH_BYTES).is_some();
    if count < 2 || !is_over {
        to.push(batch);
        return;
    }
    let operations = batch.operations.split_off((count / 2).min(limits::MAX_BATCH_OPERATIONS));
    let rest = Batch { operations, ..Batch::new(batch.table.clone(), batch.partition.clone()) };
    split(batch, to);
    split(rest, to);
}

/// That the batch has not too many rows or bytes.
pub(crate) fn check_size(batch: &Batch) -> Result<()> {
    if batch.operations.len() > limits::MAX_BATCH_OPERATIONS {
        let detail = format!(
            "the batch writes {} rows in partition `{}`, over the {} that one may have; use `db.bulk()` to write more",
            batch.operations.len(),
            batch.partition,
            limits::MAX_BATCH_OPERATIONS
        );
        return Err(Error::new(ErrorKind::TooMany, detail));
    }
    let Some(bytes) = size::batch_bytes_over(batch, limits::MAX_BATCH_BYTES) else { return Ok(()) };
    let detail = format!(
        "the batch is {bytes} bytes as Azure measures it, over the {} that one may have; use `db.bulk()` to write more",
        limits::MAX_BATCH_BYTES
    );
    Err(Error::new(ErrorKind::TooLarge, detail))
}

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
        | Change::Patch { .. }
        | Change::Recopy { .. }
        | Change::Leave { .. }
        | Change::Arrive(_) => None,
    }
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
