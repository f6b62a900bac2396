//! The keys of shadows: each is one entity's alone. What a commit is about to write there is looked at before, and written under
//! what was read.
//!
//! What a shadow holds is planned in `plan::shadow`; how the parts of one that is several rows come and go is told in `parts`.

mod parts;

#[cfg(feature = "blob")]
use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Action, Batch, Condition, Properties, PropertyName, Row, RowKey};

#[cfg(feature = "blob")]
use super::blobs::{LinkPlace, links_of};

use crate::{
    database::{Database, links},
    error::{Error, ErrorKind, Result},
    plan::{
        batch::BatchPlan,
        change::is_primary,
        entries::{Away, wants},
        image::Image,
        outbox::{AwayRow, Target},
        shadow, system,
    },
    schema::EntitySchema,
};

/// Links of blobs that are put on record at a time.
#[cfg(feature = "blob")]
const CONCURRENT_LINKS: usize = 8;

/// A primary row of the form that entities move to, which a commit is about to write.
pub(super) struct Guarded<'p> {
    schema: &'static EntitySchema,
    away: Away,
    row: String,
    /// Who wants it: one, or nobody where it is to go.
    takers: Vec<RowKey>,
    /// Who leaves it with the same commit.
    left: Vec<RowKey>,
    /// What they want there: one of them is what is written.
    wants: Vec<&'p AwayRow>,
    /// The blobs that it is to link, each with who links it.
    #[cfg(feature = "blob")]
    links: Vec<(RowKey, String)>,
    /// A property that the form does not have and that links one of them, with who has it.
    unknown: Option<(RowKey, PropertyName)>,
}

impl<'p> Guarded<'p> {
    fn at(schema: &'static EntitySchema, away: Away, row: String) -> Self {
        Self {
            schema,
            away,
            row,
            takers: Vec::new(),
            left: Vec::new(),
            wants: Vec::new(),
            #[cfg(feature = "blob")]
            links: Vec::new(),
            unknown: None,
        }
    }

    fn add(&mut self, owner: RowKey, row: &'p AwayRow) {
        if let Some(moved) = &self.schema.moves_to {
            let rows = row.want.iter().chain(row.parts.iter().map(|(_, part)| part));
            rows.for_each(|row| self.link(moved.form(), &owner, row));
        }
        self.wants.extend(Some(row).filter(|row| row.want.is_some()));
        match row.want {
            None => self.left.push(owner),
            Some(_) if self.takers.contains(&owner) => {}
            Some(_) => self.takers.push(owner),
        }
    }

    /// Takes note of what a row of it is to link: also by properties of another release, which go along as they are.
    fn link(&mut self, form: &'static EntitySchema, owner: &RowKey, row: &Properties) {
        #[cfg(feature = "blob")]
        {
            let own = links_of(form, owner, row).into_iter().map(|link| link.blob);
            let others = links::unknown(form, row).map(|(_, blob)| blob.to_owned());
            self.links.extend(own.chain(others).map(|blob| (owner.clone(), blob)));
        }
        if self.unknown.is_none() {
            self.unknown = links::unknown(form, row).next().map(|(property, _)| (owner.clone(), property.clone()));
        }
    }
}

/// Those of these plans, each with its partition.
pub(super) fn guarded<'p>(plans: impl IntoIterator<Item = (&'p str, &'p BatchPlan)>) -> Vec<Guarded<'p>> {
    let mut guarded: Vec<Guarded<'p>> = Vec::new();
    for (partition, plan) in plans {
        for of in plan.away.iter().chain(&plan.shadows).filter(|of| shadow::is_primary(of.schema, of.row.index)) {
            let (schema, away, row) = (of.schema, of.row.away.clone(), of.row.row.clone());
            let owner = RowKey::new(partition, of.row.owner.clone());
            let at = guarded.iter().position(|other| other.row == row && other.away == away).unwrap_or_else(|| {
                guarded.push(Guarded::at(schema, away, row));
                guarded.len() - 1
            });
            let Some(place) = guarded.get_mut(at) else { continue };
            place.add(owner, &of.row);
        }
    }
    guarded
}

impl Database {
    /// That no entity takes the key that another has in the form that both move to; the writes there rest on what was read.
    ///
    /// Cost: while such a form is written, a point read for each of its primary rows that is written; in one commit, a range read
    /// where the form may be several rows.
    pub(super) async fn guard_shadows(&self, guarded: Vec<Guarded<'_>>, batches: &mut Vec<Batch>) -> Result<()> {
        self.record_links(&guarded).await?;
        for Guarded { schema, away, row, mut takers, left, wants, .. } in guarded {
            let table = self.table_name(away.table);
            let place = RowKey::new(away.partition.clone(), row.clone());
            let (there, parts) = match self.is_atomic() && parts::may_be_several(schema) {
                true => self.all_rows_at(&table, &place).await?,
                false => (self.get_row(&table, &place).await?, Vec::new()),
            };
            let owner = there.as_ref().and_then(shadow::owner);
            let is_leaving = owner.is_some_and(|owner| left.contains(&owner));
            takers.retain(|taker| !left.contains(taker));
            match (takers.as_slice(), &there) {
                ([taker, other, ..], _) => {
                    let key = RowKey::new(away.partition.clone(), row);
                    return Err(shadow::collision(schema, taker, Some(other), &key));
                }
                ([taker], Some(there)) if !is_leaving => self.check_shadow(schema, taker, there).await?,
                _ => {}
            }
            let is_there =
                |batch: &Batch| batch.table.eq_ignore_ascii_case(&table) && batch.partition == away.partition;
            for batch in batches.iter_mut().filter(|batch| is_there(batch)) {
                rest_on(batch, &row, there.as_ref(), is_leaving);
            }
            let written = batches.iter().filter(|batch| is_there(batch)).flat_map(|batch| &batch.operations);
            let written =
                written.filter(|operation| operation.row == row).map(|operation| &operation.action).next_back();
            let changed = written.map(|head| parts::beside(head, &wants, &parts)).unwrap_or_default();
            parts::put(changed, &table, &place.partition, batches);
        }
        batches.retain(|batch| !batch.operations.is_empty());
        Ok(())
    }

    /// Records where links to blobs will be once their entities have moved. Before there are any.
    #[cfg(feature = "blob")]
    async fn record_links(&self, guarded: &[Guarded<'_>]) -> Result<()> {
        if self.0.blobs.is_none() {
            return check_known(guarded);
        }
        let places = guarded.iter().flat_map(|of| {
            let to = LinkPlace::new(&self.table_name(of.away.table), RowKey::new(of.away.partition.clone(), &*of.row));
            let from = self.table_name(of.schema.table);
            of.links.iter().map(move |(owner, link)| (link, LinkPlace::new(&from, owner.clone()), to.clone()))
        });
        let records = places.map(|(link, from, to)| async move { self.record_shadow(link, &from, &to).await });
        let records: Vec<_> = records.collect();
        stream::iter(records).buffer_unordered(CONCURRENT_LINKS).try_collect().await
    }

    #[cfg(not(feature = "blob"))]
    async fn record_links(&self, guarded: &[Guarded<'_>]) -> Result<()> {
        check_known(guarded)
    }

    /// That the row there, of the form that the entity moves to, may be written for it: it is its own, or of one that has left it.
    pub(super) async fn check_shadow(&self, schema: &'static EntitySchema, owner: &RowKey, there: &Row) -> Result<()> {
        let Some(other) = shadow::owner(there) else {
            return Err(shadow::collision(schema, owner, None, &there.key));
        };
        if other == *owner || system::is_dead(&there.properties) {
            return Ok(());
        }
        let wants = match self.read_owner(schema, &self.table_name(schema.table), &other).await {
            Err(error) if *error.kind() == ErrorKind::Corrupt => true, // it may well
            rows => match rows?.filter(|rows| is_primary(schema, &rows.head)) {
                None => false,
                Some(rows) => match Image::written(schema, &rows) {
                    Ok(image) => wants(&image, schema.first_shadow(), &there.key.partition, &there.key.row)?,
                    Err(_) => true,
                },
            },
        };
        if wants { Err(shadow::collision(schema, owner, Some(&other), &there.key)) } else { Ok(()) }
    }

    /// The write that brings a shadow to its target over what is there; none where it is as new already.
    pub(super) async fn shadow_over(
        &self,
        schema: &'static EntitySchema,
        target: &Target,
        there: &Row,
    ) -> Result<Option<Action>> {
        let is_primary = schema.derived_position(&target.entry.index) == Some(schema.first_shadow());
        if is_primary && target.is_live {
            self.check_shadow(schema, &target.owner, there).await?;
        }
        if target.is_live && shadow::owner(there).as_ref() != Some(&target.owner) {
            // What remembers its own leave would tell that this comes late; another's says nothing of it.
            let now = self.get_row(&self.table_name(schema.table), &target.owner).await?;
            if now.is_none_or(|now| system::sequence(&now.properties) != target.sequence) {
                let detail = "the entity was changed while this was delivered; it is delivered anew";
                return Err(Error::new(ErrorKind::Unavailable, detail)
                    .of(schema.entity_type)
                    .at_key(target.owner.clone()));
            }
        }
        let is_others = shadow::owner(there).as_ref() != Some(&target.owner) && !system::is_dead(&there.properties);
        if target.is_live && is_others {
            return Ok(Some(Action::Replace(target.properties.clone(), Condition::Match(there.etag.clone()))));
        }
        target.over(Some(there))
    }
}

/// That no blob goes along unknown, in a program that cannot record where to.
fn check_known(guarded: &[Guarded<'_>]) -> Result<()> {
    match guarded.iter().find_map(|of| Some((of.schema, of.unknown.as_ref()?))) {
        Some((schema, (owner, property))) => Err(links::refused(schema, owner, property)),
        None => Ok(()),
    }
}

/// Lets the write of a row rest on what was read of it; another's row stays.
fn rest_on(batch: &mut Batch, row: &str, there: Option<&Row>, is_leaving: bool) {
    let Some(at) = batch.operations.iter().position(|operation| operation.row == row) else { return };
    let Some(operation) = batch.operations.get_mut(at) else { return };
    let written = operation.action.properties().cloned();
    operation.action = match (written, there) {
        (Some(properties), Some(there)) => Action::Replace(properties, Condition::Match(there.etag.clone())),
        (Some(properties), None) => Action::Insert(properties),
        (None, Some(there)) if is_leaving => Action::Delete(Condition::Match(there.etag.clone())),
        (None, _) => {
            batch.operations.remove(at);
            return;
        }
    };
}
