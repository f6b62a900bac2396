//! What the rows of one partition show by themselves: whether each entity has its rows there, and each row its entity.
//!
//! Pure. What concerns rows of other partitions is collected for `elsewhere`.

mod shadows;
mod shared;

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map};

use tablemodel_store::{ETag, Properties, Row, RowKey};

use super::{
    Violation, ViolationKind,
    copies::Holder,
    mend::Mend,
    readable::{Unreadable, readable},
    wanted::{Guest, Wanted, WantedAway},
};
use crate::{
    database::Database,
    error::Result,
    plan::{
        change::adopter,
        entries::{Entry, Told, told},
        group::Group,
        image::Image,
        outbox::OUTBOX,
        part::{self, Parts},
        shadow,
        states::{IndexState, Setting},
        system::{self, RowKind},
    },
    rooms::{
        aggregate::{self, Totals},
        is_of_later, list,
        rekey::{INTENT, Reservation, is_held},
    },
    schema::{Cover, EntitySchema},
};

/// The check of one partition.
#[derive(Default)]
pub(super) struct Check {
    pub(super) table: &'static str,
    partition: String,
    /// Whether rows of an index that is written, and not readable yet, must be there too.
    pub(super) strict: bool,
    pub(super) rows: u64,
    pub(super) entities: u64,
    pub(super) derived: u64,
    pub(super) tombstones: u64,
    pub(super) pending: u64,
    pub(super) foreign: u64,
    /// What the entities want here: the row key, and the properties without the system's.
    wanted: HashMap<String, Wanted>,
    /// Rows that several entities want.
    contested: BTreeSet<String>,
    /// What they want in other partitions.
    pub(super) away: Vec<WantedAway>,
    /// Rows here of entities that live in other partitions, or did.
    pub(super) guests: Vec<Guest>,
    /// Entities that have copies.
    pub(super) holders: Vec<Holder>,
    /// Outbox rows, and the intents of moves.
    pub(super) outbox: Vec<(&'static EntitySchema, Row)>,
    /// Tombstones of entities.
    pub(super) dead: Vec<(&'static EntitySchema, Row)>,
    /// Those of them that nobody needs.
    pub(super) litter: Vec<(RowKey, ETag)>,
    /// Row keys that reservations hold for entities that move here. Who wants one takes it over: none is ever swept.
    held: BTreeSet<String>,
    /// The rows of lists, by the row of their first.
    lists: BTreeMap<String, Vec<Row>>,
    /// The keys that the entities want in lists, with the entities' type and the list among its indexes.
    members: BTreeMap<String, (&'static str, usize, Vec<String>)>,
    /// The cells of aggregates, the entities that hold such, and what their sources come to.
    cells: BTreeMap<String, Row>,
    targets: BTreeMap<String, (Properties, i64)>,
    totals: Totals,
    /// Whether what sources come to cannot be told, since one of them cannot be read.
    untold: bool,
    /// Entities on their way to forms that this program does not have, each with the version from which on rows are of that.
    coming: Vec<(&'static str, u32)>,
    /// Rows of entities that cannot be read, and intents: what they want, and which parts they have, cannot be told.
    unreadable: BTreeSet<String>,
    pub(super) violations: Vec<Violation>,
    #[cfg(feature = "blob")]
    pub(super) links: Vec<crate::database::blobs::LinkAt>,
}

impl Check {
    pub(super) fn of(db: &Database, table: &'static str, rows: Vec<Row>, strict: bool) -> Result<Self> {
        let partition = rows.first().map(|row| row.key.partition.clone()).unwrap_or_default();
        let coming = shadows::coming(db);
        let mut check = Self { table, partition, strict, rows: rows.len() as u64, coming, ..Self::default() };
        let mut derived = Vec::new();
        let is_part = |row: &Row| match system::kind(&row.properties) {
            RowKind::Part { entity, .. } => {
                db.model().iter().any(|s| s.entity_type == entity && shadows::may_have_parts(s, table))
            }
            _ => false,
        };
        let (mut parts, rows) = Parts::apart(rows, is_part);
        for row in rows {
            check.row(db, row, &mut parts, &mut derived)?;
        }
        for row in derived {
            check.derived_row(row);
        }
        check.parts(db, &parts);
        check.missing();
        check.lists();
        check.aggregates(db);
        Ok(check)
    }

    /// Sorts one row in, by what it is; rows of this partition's indexes are kept for when all entities are known.
    fn row(&mut self, db: &Database, row: Row, parts: &mut Parts, derived: &mut Vec<Row>) -> Result<()> {
        let Some(row) = self.shadow(db, row, parts)? else { return Ok(()) };
        let kind = system::kind(&row.properties);
        let schema = kind.entity().and_then(|entity| db.entity_of(entity));
        if schema.is_some_and(|schema| self.is_of_other(schema, &row)) {
            self.foreign += 1;
            return Ok(());
        }
        let own = schema.filter(|schema| schema.table.eq_ignore_ascii_case(self.table));
        match (kind, own, schema) {
            (RowKind::Primary { .. }, Some(schema), _) => self.primary(db, schema, &parts.with(row))?,
            (RowKind::Tombstone { .. }, Some(schema), _) => match Reservation::of(&row) {
                Some(reservation) => self.held.extend(reservation.held),
                None => {
                    self.tombstones += 1;
                    self.dead.push((schema, row));
                }
            },
            (RowKind::Derived { .. }, Some(_), _) if is_of_later(&row.key.row) => self.foreign += 1,
            (RowKind::Derived { .. }, Some(schema), _) if row.key.row.starts_with(OUTBOX) => {
                self.outbox.push((schema, row));
            }
            (RowKind::Derived { name, .. }, Some(schema), _) if aggregate::is_cell(&row) => {
                self.derived += 1;
                let property = name.trim_start_matches('~');
                if shared::is_held(schema, property) && db.is_told(schema, property, self.strict)? {
                    self.cells.insert(row.key.row.clone(), row);
                }
            }
            (RowKind::Derived { .. }, Some(schema), _) if row.key.row.starts_with(INTENT) => {
                self.intent(schema, parts.with(row));
            }
            (RowKind::Derived { name, version, .. }, _, Some(schema)) => {
                let index = schema.derived_position_by(name, version);
                match index.is_none() && db.registered(schema)?.beyond.iter().any(|beyond| beyond == name) {
                    true => self.foreign += 1, // another program's, which has the index
                    false => self.entry(db, schema, index, row, derived)?,
                }
            }
            _ => self.foreign(db, &row)?,
        }
        Ok(())
    }

    /// A row of an index: one of this partition's entities, or a guest.
    fn entry(
        &mut self,
        db: &Database,
        schema: &'static EntitySchema,
        index: Option<usize>,
        row: Row,
        derived: &mut Vec<Row>,
    ) -> Result<()> {
        let place = index.and_then(|index| Some((index, schema.derived(index)?.table)));
        // A back-reference stands beside its holder where that is in the source's partition.
        let is_beside = index.is_some_and(|index| schema.copy(index).is_some())
            && schema.table.eq_ignore_ascii_case(self.table)
            && system::owner(&row).is_some_and(|owner| owner.partition == self.partition);
        match place {
            Some((index, Some(table))) if table.eq_ignore_ascii_case(self.table) && !is_beside => {
                match system::is_dead(&row.properties) {
                    true => self.tombstones += 1,
                    false => self.derived += 1,
                }
                let is_complete = db.registered(schema)?.setting.is_complete(index, self.strict);
                if let Some(aggregate) = schema.aggregate(index).filter(|_| is_complete) {
                    self.contribution(aggregate, &row);
                }
                self.guests.push(Guest { schema, index, row });
            }
            _ if schema.table.eq_ignore_ascii_case(self.table) => {
                self.derived += 1;
                let is_list = index.and_then(|at| schema.index_at(at)).is_some_and(|index| index.cover == Cover::List);
                let setting = &db.registered(schema)?.setting;
                let is_building = index.is_some_and(|at| !setting.is_complete(at, self.strict));
                match is_absent(db, schema, index)? {
                    true => {}
                    false if is_list && is_building => {}
                    false if is_list => {
                        self.lists.entry(list::head_of(&row.key.row).to_owned()).or_default().push(row);
                    }
                    false => derived.push(row),
                }
            }
            _ => self.foreign += 1,
        }
        Ok(())
    }

    /// A row without a known type: of an adopted entity if its keys are, else not ours; unless what it says is one of ours, damaged.
    fn foreign(&mut self, db: &Database, row: &Row) -> Result<()> {
        let is_here = |schema: &'static EntitySchema| schema.tables().any(|own| own.eq_ignore_ascii_case(self.table));
        let of =
            |entity: &str| db.model().iter().copied().find(|&schema| schema.entity_type == entity && is_here(schema));
        if let Some(schema) = system::damaged(&row.properties).and_then(of) {
            self.leave(schema, &row.key.row);
            let told = system::entity_type(&row.properties).unwrap_or_default();
            let detail = format!("its entity type `{told}` names no version: whoever reads this range is told so");
            self.report(row.key.clone(), ViolationKind::Corrupt, detail, Mend::No);
            return Ok(());
        }
        match adopter(&db.model(), self.table, row) {
            Some(schema) => self.primary(db, schema, &row.clone().into()),
            None => {
                self.foreign += 1;
                Ok(())
            }
        }
    }

    fn primary(&mut self, db: &Database, schema: &'static EntitySchema, rows: &Group) -> Result<()> {
        self.entities += 1;
        let registered = db.registered(schema)?;
        let setting = &registered.setting;
        let sequence = system::sequence(&rows.head.properties);
        if registered.is_rewritten && system::is_adopted(schema, &rows.head.properties) {
            let detail =
                "another program wrote it since all were written as the newest version: no index of that has it";
            let mend = Mend::Touch(schema.entity_type, rows.key().clone(), sequence);
            self.report(rows.key().clone(), ViolationKind::Stale, detail.to_owned(), mend);
        }
        let found = part::settled_as_is(rows).map_err(|torn| (torn.key, torn.detail.into_owned().into()));
        match found.and_then(|rows| readable(schema, &rows).map_err(|wrong| (rows.head.key.clone(), wrong))) {
            Ok(old) => {
                let image = &old.written;
                #[cfg(feature = "blob")]
                self.links.extend(crate::database::blobs::links(image));
                self.total(db, image, sequence, setting)?;
                if schema.copies.iter().any(|copy| image.is_untold(copy)) {
                    self.unreadable.insert(rows.head.key.row.clone()); // what stands beside it is not judged
                }
                if !old.now().schema.copies.is_empty() {
                    self.holders.push(Holder { image: old.now().clone(), sequence, is_older: old.is_older() });
                }
                self.want(image, setting, system::sequence(&rows.head.properties));
            }
            Err((key, Unreadable { kind, detail })) => {
                self.leave(schema, &rows.head.key.row);
                self.report(key, kind, detail, Mend::No);
            }
        }
        Ok(())
    }

    /// Nothing of an entity that cannot be read is judged: neither its rows nor what it adds to or holds.
    fn leave(&mut self, schema: &'static EntitySchema, head: &str) {
        self.untold |= !schema.aggregates.is_empty() || schema.holds_aggregates();
        self.unreadable.insert(head.to_owned());
    }

    /// The intent of a move: until it is over, its entity stands there alone.
    fn intent(&mut self, schema: &'static EntitySchema, rows: Group) {
        let head = rows.key().row.clone();
        match part::settled(rows) {
            Ok(rows) => self.outbox.push((schema, rows.head)),
            Err(torn) => {
                self.pending += 1;
                self.unreadable.insert(head);
                self.report(torn.key, ViolationKind::Corrupt, torn.detail.into_owned(), Mend::No);
            }
        }
    }

    /// What the entity wants, as far as it can be told.
    fn told(&mut self, image: &Image, setting: &Setting) -> Vec<Entry> {
        let Told { mut entries, untold } = told(image, |_| false);
        for (index, error) in untold {
            if setting.is_complete(index, self.strict) {
                self.report(image.key.clone(), ViolationKind::Corrupt, error.to_string(), Mend::No);
            }
        }
        let before = entries.len();
        if setting.moving
            && let Err(error) = shadow::add_entries(image, &mut entries)
        {
            entries.truncate(before);
            let detail = format!("it cannot become what it moves to: {error}");
            self.report(image.key.clone(), ViolationKind::Corrupt, detail, Mend::No);
        }
        entries
    }

    fn want(&mut self, image: &Image, setting: &Setting, sequence: i64) {
        for entry in self.told(image, setting) {
            let (state, Some(kind)) = (setting.of(entry.index), image.kind(&entry)) else {
                continue;
            };
            let is_list = image.latest.index_at(entry.index).is_some_and(|index| index.cover == Cover::List);
            // While a list is built it may hold any of its keys.
            let is_due = !is_list || setting.is_complete(entry.index, self.strict);
            if state == IndexState::Absent || !is_due {
                continue;
            }
            let Entry { away, row, properties, .. } = entry;
            if is_list && away.is_none() {
                let (entity, index, keys) = self.members.entry(row).or_default();
                (*entity, *index) = (image.schema.entity_type, entry.index);
                keys.push(image.key.row.clone());
                continue;
            }
            let required = state == IndexState::Readable || (self.strict && state == IndexState::WriteOnly);
            let (schema, owner) = (image.latest, image.key.clone());
            let wanted = Wanted { schema, kind, owner, properties, sequence, required };
            match away {
                Some(away) => {
                    let key = RowKey { partition: away.partition, row };
                    self.away.push(WantedAway { table: away.table, key, wanted });
                }
                None => self.want_here(row, wanted),
            }
        }
    }

    fn want_here(&mut self, row: String, wanted: Wanted) {
        match self.wanted.entry(row) {
            hash_map::Entry::Vacant(place) => drop(place.insert(wanted)),
            hash_map::Entry::Occupied(mut place) => {
                let (row, name) = (place.key().clone(), wanted.kind.name.clone());
                place.insert(wanted);
                let detail = format!("two entities want this row of index `{name}`; one of them lacks it");
                self.contested.insert(row.clone());
                let key = RowKey::new(self.partition.clone(), row);
                self.report(key, ViolationKind::Missing, detail, Mend::No);
            }
        }
    }

    fn derived_row(&mut self, row: Row) {
        let Some(wanted) = self.wanted.remove(&row.key.row) else {
            let owner = system::owner_row(&row.properties).unwrap_or("no entity").to_owned();
            let is_held = (is_held(&row) || system::is_pending(&row.properties)) && self.held.contains(&row.key.row);
            if is_held || self.unreadable.contains(&owner) {
                return;
            }
            let (detail, mend) = (format!("`{owner}` does not want this row, or is not there"), Mend::Remove(row.etag));
            return self.report(row.key, ViolationKind::Dangling, detail, mend);
        };
        let misfits = wanted.misfits(&row);
        if misfits.is_empty() {
            return; // the usual case
        }
        let is_anothers = system::owner(&row).as_ref() != Some(&wanted.owner);
        let mend = match is_anothers && !self.contested.contains(&row.key.row) {
            true if system::owner_row(&row.properties).is_some_and(|owner| self.unreadable.contains(owner)) => Mend::No,
            // Another's unique value is not written over: here nobody has it but the one who wants it.
            true => Mend::Rewrite(row.etag.clone(), wanted.schema.entity_type, wanted.owner.clone()),
            false => wanted.touch(),
        };
        for detail in misfits {
            self.report(row.key.clone(), ViolationKind::Stale, detail.to_owned(), mend.clone());
        }
    }

    fn missing(&mut self) {
        let partition = self.partition.clone();
        let mut missing: Vec<_> = self.wanted.drain().filter(|(_, wanted)| wanted.required).collect();
        missing.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (row, wanted) in missing {
            let key = RowKey::new(partition.clone(), row);
            self.report(key, ViolationKind::Missing, wanted.missing(), wanted.touch());
        }
    }

    fn report(&mut self, key: RowKey, kind: ViolationKind, detail: String, mend: Mend) {
        self.violations.push(Violation { table: self.table.to_owned(), key, kind, detail, mend });
    }
}

/// Whether the rows of the index are of no meaning: it is not built, or no longer.
fn is_absent(db: &Database, schema: &'static EntitySchema, position: Option<usize>) -> Result<bool> {
    let states = &db.registered(schema)?.setting;
    Ok(position.is_some_and(|position| states.of(position) == IndexState::Absent))
}
