//! What the rows of one partition show by themselves: whether each entity has its rows there, and each row its entity.
//!
//! Pure. What concerns rows of other partitions is collected for `elsewhere`.

use std::collections::{BTreeMap, BTreeSet};

use tablemodel_store::{ETag, EdmType, Properties, PropertyName, Row, RowKey, ValueRef};

use super::{Violation, ViolationKind, relist::Relist, repair::Mend};
use crate::{
    database::Database,
    error::Result,
    plan::{
        change::is_primary,
        entries::{Entry, entries},
        group::Group,
        image::Image,
        outbox::OUTBOX,
        part::{self, Parts, Standing},
        shadow,
        states::{IndexState, Setting},
        system::{self, RowKind},
        version::Old,
    },
    rooms::{
        aggregate::{self, Recount, Totals},
        list,
        rekey::{INTENT, Reservation, is_held},
    },
    schema::{AggregateSchema, BLOB, Cover, Derived, EntitySchema, PropertySchema},
};

/// The codec of a field stored as JSON: what its type reads from nothing is not known here.
const JSON: &str = "json";

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
    wanted: BTreeMap<String, Wanted>,
    /// Rows that several entities want.
    contested: BTreeSet<String>,
    /// What they want in other partitions.
    pub(super) away: Vec<WantedAway>,
    /// Rows here of entities that live in other partitions, or did.
    pub(super) guests: Vec<Guest>,
    /// Entities that have copies.
    pub(super) holders: Vec<Image>,
    /// Outbox rows.
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
    targets: BTreeMap<String, Properties>,
    totals: Totals,
    /// Whether what sources come to cannot be told, since one of them cannot be read.
    untold: bool,
    /// Primary rows that cannot be read: what they want cannot be told.
    unreadable: BTreeSet<String>,
    pub(super) violations: Vec<Violation>,
    #[cfg(feature = "blob")]
    pub(super) links: Vec<crate::database::blobs::LinkAt>,
}

/// What an entity wants of one row.
pub(super) struct Wanted {
    pub(super) schema: &'static EntitySchema,
    pub(super) kind: Derived,
    /// The entity.
    pub(super) owner: RowKey,
    pub(super) properties: Properties,
    pub(super) sequence: i64,
    /// While an index is being built its rows may be missing.
    pub(super) required: bool,
}

/// A row that an entity wants in another partition.
pub(super) struct WantedAway {
    pub(super) table: &'static str,
    pub(super) key: RowKey,
    pub(super) wanted: Wanted,
}

/// A row here whose entity lives in another partition.
pub(super) struct Guest {
    pub(super) schema: &'static EntitySchema,
    pub(super) index: usize,
    pub(super) row: Row,
}

impl Check {
    pub(super) fn of(db: &Database, table: &'static str, rows: Vec<Row>, strict: bool) -> Result<Self> {
        let partition = rows.first().map(|row| row.key.partition.clone()).unwrap_or_default();
        let mut check = Self { table, partition, strict, rows: rows.len() as u64, ..Self::default() };
        let mut derived = Vec::new();
        let is_part = |row: &Row| match system::kind(&row.properties) {
            RowKind::Part { entity, .. } => {
                db.model().iter().any(|s| s.entity_type == entity && s.table.eq_ignore_ascii_case(table))
            }
            _ => false,
        };
        let (mut parts, rows) = Parts::apart(rows, is_part);
        for row in rows {
            let Some(row) = check.shadow(db, row)? else { continue };
            let kind = system::kind(&row.properties);
            let schema = kind.entity().and_then(|entity| db.model().iter().copied().find(|s| s.entity_type == entity));
            let own = schema.filter(|schema| schema.table.eq_ignore_ascii_case(table));
            match (kind, own, schema) {
                (RowKind::Primary { .. }, Some(schema), _) => check.primary(db, schema, &parts.with(row))?,
                (RowKind::Tombstone { .. }, Some(schema), _) => match Reservation::of(&row) {
                    Some(reservation) => check.held.extend(reservation.held),
                    None => {
                        check.tombstones += 1;
                        check.dead.push((schema, row));
                    }
                },
                (RowKind::Derived { .. }, Some(schema), _) if row.key.row.starts_with(OUTBOX) => {
                    check.outbox.push((schema, row));
                }
                (RowKind::Derived { name, .. }, Some(schema), _) if aggregate::is_cell(&row) => {
                    check.derived += 1;
                    if is_kept(db, schema, name.trim_start_matches('~'))? {
                        check.cells.insert(row.key.row.clone(), row);
                    }
                }
                (RowKind::Derived { .. }, Some(_), _) if row.key.row.starts_with(INTENT) => check.pending += 1,
                (RowKind::Derived { name, .. }, _, Some(schema)) => {
                    check.entry(db, schema, name.to_owned(), row, &mut derived)?
                }
                _ => check.foreign(db, &row)?,
            }
        }
        for row in derived {
            check.derived_row(row);
        }
        check.parts(db, &parts);
        check.missing();
        check.lists();
        check.aggregates();
        Ok(check)
    }

    /// A row of the form that an entity moves to; any other is given back.
    fn shadow(&mut self, db: &Database, row: Row) -> Result<Option<Row>> {
        let Some((schema, index)) = shadow::kind(&db.model(), &row) else { return Ok(Some(row)) };
        match system::is_dead(&row.properties) {
            true => self.tombstones += 1,
            false => self.derived += 1,
        }
        if db.registered(schema)?.setting.moving {
            self.guests.push(Guest { schema, index, row });
        }
        Ok(None)
    }

    /// Each list against the keys that the entities want in it.
    fn lists(&mut self) {
        let mut lists = std::mem::take(&mut self.lists);
        let mut members = std::mem::take(&mut self.members);
        let rows: BTreeSet<String> = lists.keys().chain(members.keys()).cloned().collect();
        for row in rows {
            let (entity, index, mut keys) = members.remove(&row).unwrap_or_default();
            let found = lists.remove(&row).unwrap_or_default();
            // An entity that cannot be read may well want to be where it is.
            let there = list::keys(&found).ok().flatten().unwrap_or_default();
            let untold: Vec<_> = there.into_iter().filter(|key| self.unreadable.contains(key)).collect();
            let is_told = untold.is_empty();
            keys.extend(untold);
            keys.sort_by(|a, b| tablemodel_store::key::compare(a, b));
            if let Some(fault) = list::fault(&row, &found, &keys) {
                let kind = if keys.is_empty() { ViolationKind::Dangling } else { ViolationKind::Stale };
                let rows = found.into_iter().map(|row| (row.key, row.etag)).collect();
                let members = keys;
                let relist = Relist { entity, index, rows, members };
                let mend = if is_told { Mend::Relist(relist) } else { Mend::No };
                self.report(RowKey::new(self.partition.clone(), row), kind, fault, mend);
            }
        }
    }

    /// Each cell and each entity that holds an aggregate, against what the sources come to.
    fn aggregates(&mut self) {
        if self.untold {
            return;
        }
        let (cells, targets) = (std::mem::take(&mut self.cells), std::mem::take(&mut self.targets));
        for (row, detail, recount) in self.totals.faults(&cells, &targets) {
            let kind = match &recount {
                Recount::Stray(_) => ViolationKind::Dangling,
                Recount::Cell { cell: None, .. } => ViolationKind::Missing,
                Recount::Cell { .. } | Recount::Target(_) => ViolationKind::Stale,
            };
            let key = RowKey::new(self.partition.clone(), row);
            let mend = match recount {
                Recount::Stray(etag) => Mend::Remove(etag),
                Recount::Target(entity) => Mend::Touch(entity, key.clone()),
                cell @ Recount::Cell { .. } => Mend::Recount(Box::new(cell)),
            };
            self.report(key, kind, detail, mend);
        }
    }

    /// What an entity adds to aggregates, and those that it holds.
    fn total(&mut self, db: &Database, image: &Image, setting: &Setting) -> Result<()> {
        let schema = image.latest;
        self.totals.add(image, |at| setting.keeps(at))?;
        for into in aggregate::held(schema, &image.key.row) {
            // A version that does not hold it leaves that to its cell.
            let holds = image.schema.property(into.property.property).is_some_and(|property| property.aggregate);
            if holds && is_kept(db, schema, into.property.property)? {
                self.totals.add_target(into);
                self.targets.insert(image.key.row.clone(), image.fields.clone());
            }
        }
        Ok(())
    }

    /// A row of an index: one of this partition's entities, or a guest.
    fn entry(
        &mut self,
        db: &Database,
        schema: &'static EntitySchema,
        name: String,
        row: Row,
        derived: &mut Vec<Row>,
    ) -> Result<()> {
        let index = schema.derived_position(&name);
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
                if let Some(aggregate) = schema.aggregate(index) {
                    self.contribution(aggregate, &row);
                }
                self.guests.push(Guest { schema, index, row });
            }
            _ if schema.table.eq_ignore_ascii_case(self.table) => {
                self.derived += 1;
                let is_list = schema.index_named(&name).is_some_and(|index| index.cover == Cover::List);
                match is_absent(db, schema, &name)? {
                    true => {}
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

    /// A contribution of an entity of another partition; one that cannot be read is taken away, and written anew.
    fn contribution(&mut self, of: &'static AggregateSchema, row: &Row) {
        if !self.totals.add_contribution(of, row) && !system::is_dead(&row.properties) {
            let detail = "a contribution to an aggregate that cannot be read".to_owned();
            self.report(row.key.clone(), ViolationKind::Corrupt, detail, Mend::Remove(row.etag.clone()));
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
            Some(schema) => self.primary(db, schema, &row.clone().into()),
            None => {
                self.foreign += 1;
                Ok(())
            }
        }
    }

    fn primary(&mut self, db: &Database, schema: &'static EntitySchema, rows: &Group) -> Result<()> {
        self.entities += 1;
        let setting = &db.registered(schema)?.setting;
        let found = part::settled(rows.clone()).map_err(|torn| (torn.key, torn.detail.into_owned()));
        match found.and_then(|rows| readable(schema, &rows).map_err(|detail| (rows.head.key, detail))) {
            Ok(old) => {
                let image = &old.written;
                #[cfg(feature = "blob")]
                self.links.extend(crate::database::blobs::links(image));
                self.total(db, image, setting)?;
                if !old.now().schema.copies.is_empty() {
                    self.holders.push(old.now().clone());
                }
                self.want(image, setting, system::sequence(&rows.head.properties))
            }
            Err((key, detail)) => {
                self.untold |= !schema.aggregates.is_empty() || schema.holds_aggregates();
                self.unreadable.insert(rows.head.key.row.clone());
                self.report(key, ViolationKind::Corrupt, detail, Mend::No);
                Ok(())
            }
        }
    }

    /// The parts of entities: each is one that its head names, or one that its writer is about to publish.
    fn parts(&mut self, db: &Database, parts: &Parts) {
        let now = db.environment().clock.now();
        for part in parts.rows.values().flatten() {
            self.derived += 1;
            let head = parts.heads.get(part::entity_row(&part.key.row));
            if part::standing(head, part, now) == Standing::Orphan {
                let detail = "no head names this part; an interrupted write left it, and it can be deleted";
                let mend = Mend::Remove(part.etag.clone());
                self.report(part.key.clone(), ViolationKind::Orphan, detail.to_owned(), mend);
            }
        }
    }

    fn want(&mut self, image: &Image, setting: &Setting, sequence: i64) -> Result<()> {
        let wanted = match setting.entries(image) {
            Err(error) if setting.moving => {
                let detail = format!("it cannot become what it moves to: {error}");
                self.report(image.key.clone(), ViolationKind::Corrupt, detail, Mend::No);
                entries(image)?
            }
            wanted => wanted?,
        };
        for entry in wanted {
            let (state, Some(kind)) = (setting.of(entry.index), image.kind(&entry)) else {
                continue;
            };
            let is_list = image.latest.index_at(entry.index).is_some_and(|index| index.cover == Cover::List);
            if state == IndexState::Absent {
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
        Ok(())
    }

    fn want_here(&mut self, row: String, wanted: Wanted) {
        let name = wanted.kind.name.clone();
        if self.wanted.insert(row.clone(), wanted).is_some() {
            let detail = format!("two entities want this row of index `{name}`; one of them lacks it");
            self.contested.insert(row.clone());
            let key = RowKey::new(self.partition.clone(), row);
            self.report(key, ViolationKind::Missing, detail, Mend::No);
        }
    }

    fn derived_row(&mut self, row: Row) {
        let Some(wanted) = self.wanted.remove(&row.key.row) else {
            let owner = system::owner_row(&row.properties).unwrap_or("no entity").to_owned();
            let is_held = is_held(&row) && self.held.contains(&row.key.row);
            if is_held || self.unreadable.contains(&owner) {
                return;
            }
            let (detail, mend) = (format!("`{owner}` does not want this row"), Mend::Remove(row.etag));
            return self.report(row.key, ViolationKind::Dangling, detail, mend);
        };
        let is_anothers = system::owner(&row).as_ref() != Some(&wanted.owner);
        let mend = match is_anothers && !self.contested.contains(&row.key.row) {
            // Another's unique value is not written over: here nobody has it but the one who wants it.
            true => Mend::Rewrite(row.etag.clone(), wanted.schema.entity_type, wanted.owner.clone()),
            false => wanted.touch(),
        };
        for detail in wanted.misfits(&row) {
            self.report(row.key.clone(), ViolationKind::Stale, detail.to_owned(), mend.clone());
        }
    }

    fn missing(&mut self) {
        let partition = self.partition.clone();
        for (row, wanted) in std::mem::take(&mut self.wanted) {
            if wanted.required {
                let key = RowKey::new(partition.clone(), row);
                self.report(key, ViolationKind::Missing, wanted.missing(), wanted.touch());
            }
        }
    }

    fn report(&mut self, key: RowKey, kind: ViolationKind, detail: String, mend: Mend) {
        self.violations.push(Violation { table: self.table.to_owned(), key, kind, detail, mend });
    }
}

impl Wanted {
    /// What is wrong with the row that stands where this is wanted.
    pub(super) fn misfits(&self, row: &Row) -> Vec<&'static str> {
        let mut misfits = Vec::new();
        if system::sequence(&row.properties) > self.sequence {
            misfits.push("its sequence number is ahead of its entity's");
        }
        let same_type = system::entity_type(&row.properties) == Some(self.kind.discriminator.as_ref());
        let same_owner = shadow::owner_as(&self.kind.name, row).as_ref() == Some(&self.owner);
        if system::is_pending(&row.properties) && !self.kind.name.starts_with('~') {
            misfits.push("it claims the value of its entity, and is not confirmed: reads pass over it");
        }
        if !same_type || !same_owner || !own_fields(&row.properties).eq(own_fields(&self.properties)) {
            misfits.push("it does not hold what its entity wants");
        }
        misfits
    }

    pub(super) fn missing(&self) -> String {
        format!("the entity {} wants a row `{}` here", self.owner, self.kind.discriminator)
    }

    /// What puts this row right.
    pub(super) fn rewrite(&self, row: &Row) -> Mend {
        // A contribution is taken away with what it adds.
        let is_counted = aggregate::is_contribution(&row.properties);
        // A number is one of its owner's: another's says nothing, and who owns a value is decided by claiming it.
        let is_claim = self.kind.unique && self.kind.table.is_some();
        let is_anothers = is_claim && system::owner(row).as_ref() != Some(&self.owner);
        match is_counted || (!is_anothers && system::sequence(&row.properties) > self.sequence) {
            true => Mend::Rewrite(row.etag.clone(), self.schema.entity_type, self.owner.clone()),
            false => self.touch(),
        }
    }

    /// What puts a missing row right.
    pub(super) fn touch(&self) -> Mend {
        Mend::Touch(self.schema.entity_type, self.owner.clone())
    }
}

/// The properties that are not the system's.
fn own_fields(properties: &Properties) -> impl Iterator<Item = (&PropertyName, ValueRef<'_>)> {
    properties.iter().filter(|(name, _)| !system::is_system(name.as_str()))
}

/// Whether the sources of the aggregate in this property of the target keep it.
fn is_kept(db: &Database, target: &'static EntitySchema, property: &str) -> Result<bool> {
    for source in db.model().iter().copied() {
        let is_it = |of: &AggregateSchema| of.target.entity_type == target.entity_type && of.into == property;
        let first = source.indexes.len() + source.copies.len();
        if let Some(at) = source.aggregates.iter().position(is_it)
            && !db.registered(source)?.setting.keeps(first + at)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the rows of the index are of no meaning: it is not built, or no longer.
fn is_absent(db: &Database, schema: &'static EntitySchema, name: &str) -> Result<bool> {
    let position = schema.derived_position(name);
    let states = &db.registered(schema)?.setting;
    Ok(position.is_some_and(|position| states.of(position) == IndexState::Absent))
}

/// An entity whose rows are as the schema of the version that wrote them says, or what is wrong with it.
pub(super) fn readable(schema: &'static EntitySchema, rows: &Group) -> std::result::Result<Old, String> {
    let old = Old::looked_at(schema, rows).map_err(|error| error.to_string())?;
    let (image, by) = (&old.written, old.written.schema);
    if let Some(wrong) = by.properties().find_map(|property| misfit(property, image.fields.get(property.property))) {
        return Err(wrong);
    }
    let again = Image::new(by, image.fields.clone()).map_err(|error| error.to_string())?;
    if again.key != image.key {
        return Err(format!("the key of its fields is {}", again.key));
    }
    Ok(old)
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
        EdmType::String if property.codec == BLOB => value.edm() == EdmType::Binary,
        EdmType::Int32 | EdmType::Int64 | EdmType::Double => is_number,
        EdmType::String => is_number && matches!(property.codec, "u64" | "u128" | "i128" | "decimal"),
        EdmType::Guid => value.edm() == EdmType::String,
        EdmType::Binary | EdmType::Boolean | EdmType::DateTime => false,
    };
    (!fits).then(|| format!("property `{}` is {}, not {}", property.property, value.edm(), property.edm))
}
