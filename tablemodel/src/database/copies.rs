//! Delivery of copies: back-references read page by page, and each holder that is behind brought to what its source is.
//!
//! A holder is always read before its source, and written only as it was read: then no order of deliveries can leave an old
//! copy behind, and any may be repeated.

use std::{collections::BTreeMap, ops::ControlFlow};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use tablemodel_store::{Continuation, KeyRange, Page, Query, Row, RowKey, Shown, limits};

use crate::{
    database::{
        Database, Registered, bulk::rows_each, followers::Copying, older::NOTHING, outbox::Outgoing,
        registration::Registration, vain::is_of_all,
    },
    error::{Error, ErrorKind, Result},
    key::beginning_with,
    plan::{change::Change, copies::Recopied, follow, states::CopiedBy, system},
    read::columns::Columns,
    rooms::{copy, rekey::is_reserved},
    schema::EntitySchema,
};

/// Batches of one delivery that are written at the same time.
const CONCURRENT_BATCHES: usize = 8;

/// The holder that a back-reference of this copy names, unless it has let it go.
///
/// `Unavailable` where that is kept in a newer form by now: this program will know soon.
pub(super) fn holder(row: &Row, by: CopiedBy) -> Result<Option<RowKey>> {
    if copy::is_ahead(row, by) {
        let (entity, of) = (by.holder.entity_type, by.copy.source_type);
        let detail = format!("the {entity} that copies the {of} has just moved to other keys; try again in a minute");
        return Err(Error::new(ErrorKind::Unavailable, detail).of(entity).at_key(row.key.clone()));
    }
    Ok(copy::read(row, &[by]).filter(|reference| !reference.is_dead).map(|reference| reference.holder))
}

/// The holders that these back-references of the copy name.
pub(super) fn holders(rows: &[Row], by: CopiedBy) -> Result<Vec<RowKey>> {
    rows.iter().filter_map(|row| holder(row, by).transpose()).collect()
}

/// As [`holder`], of a back-reference in this partition where the store shows it.
fn shown_holder(row: &Shown<'_>, by: CopiedBy, partition: &str, owners: &Columns) -> Result<Option<RowKey>> {
    owners.read(row, |read| {
        let owner = read.owner(partition).filter(|_| read.is_of(by.copy.discriminator));
        match (owner, read.get(system::DEAD)) {
            (Some(owner), None) => Ok(Some(owner)), // the usual case
            _ => holder(&read.row()?, by),
        }
    })
}

/// The query of the page that is next; none after the last.
fn next_query(table: &str, partition: &str, prefix: &str, next: &mut Option<Option<Query>>) -> Option<Query> {
    next.get_or_insert_with(|| Some(Query::new(table, KeyRange::rows(partition, beginning_with(prefix))))).take()
}

/// The query of the page after one that ended here.
fn after(query: Query, continuation: Option<Continuation>) -> Option<Query> {
    continuation.map(|continuation| Query { continuation: Some(continuation), ..query })
}

impl Database {
    /// One page of back-references; none after the last. `next` is where the next one begins.
    pub(super) async fn references(
        &self,
        table: &str,
        partition: &str,
        prefix: &str,
        next: &mut Option<Option<Query>>,
    ) -> Result<Option<Page>> {
        let Some(query) = next_query(table, partition, prefix, next) else { return Ok(None) };
        let mut page = self.query_page(&query).await?;
        *next = Some(after(query, page.continuation.take()));
        Ok(Some(page))
    }

    /// The holders that a page of back-references of the copy names, looked at where they lie if the store shows them; none
    /// after the last page.
    pub(super) async fn named_by(
        &self,
        registered: &Registered,
        partition: &str,
        (prefix, by): (&str, CopiedBy),
        next: &mut Option<Option<Query>>,
    ) -> Result<Option<Vec<RowKey>>> {
        let Some(query) = next_query(&registered.table, partition, prefix, next) else { return Ok(None) };
        let (mut named, mut failure) = (Vec::new(), Ok(()));
        let shown = self.show_page(&query, &mut |row| match shown_holder(row, by, partition, &registered.owners) {
            Ok(holder) => {
                named.extend(holder);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure = Err(error);
                ControlFlow::Break(())
            }
        });
        let continuation = match shown {
            Some(shown) => {
                failure?;
                shown?
            }
            None => {
                let page = self.query_page(&query).await?;
                named = holders(&page.rows, by)?;
                page.continuation
            }
        };
        *next = Some(after(query, continuation));
        Ok(Some(named))
    }

    /// Takes back what was registered for a write that did not happen. What stays is found out when it has expired.
    pub(super) async fn withdraw(&self, copying: Copying) {
        for Registration { table, row, over } in copying.registered {
            let taken_back = match over {
                Some(tombstone) => self.put_back(&table, &row, tombstone).await,
                None => self.remove_row(&table, &row).await,
            };
            if let Err(error) = taken_back {
                tracing::warn!(key = %row.key, %error, "a back-reference without a holder is left until it has expired");
            }
        }
    }

    /// What an outbox row means for the copies that the entity keeps.
    ///
    /// To be done before the totals that count it are brought: a source that is the target of one has another number behind that, for which
    /// the entity would be written again, and what its writer was given would not be current.
    pub(super) async fn deliver_kept(&self, outgoing: &Outgoing) -> Result<()> {
        let schema = outgoing.schema;
        let copy = |name: &str| schema.derived_position(name).and_then(|at| schema.copy(at)).map(|copy| copy.property);
        let named: Vec<_> = outgoing.intent.entries.iter().filter_map(|entry| copy(&entry.index)).collect();
        match (outgoing.intent.copies, named.is_empty()) {
            (true, _) => self.recopy(schema, vec![outgoing.owner()]).await,
            (false, false) => self.recopy_of(schema, vec![outgoing.owner()], Recopied::These(named)).await,
            (false, true) => Ok(()),
        }
    }

    /// What it means for those that others keep of it.
    pub(super) async fn deliver_copied(&self, registered: &Registered, outgoing: &Outgoing) -> Result<()> {
        if outgoing.intent.copied.is_empty() {
            return Ok(());
        }
        let mut delivered = Ok(());
        for by in &registered.setting.copied {
            delivered = delivered.and(self.deliver_to_holders(outgoing, *by).await);
        }
        delivered
    }

    /// Rewrites the holders of one copy. Cost: a query of 1,000 back-references; for each 100 holders of one partition a query, or
    /// a read of each that it does not reach, and a batch of those that are behind; 8 batches at a time.
    async fn deliver_to_holders(&self, outgoing: &Outgoing, by: CopiedBy) -> Result<()> {
        let owner = outgoing.owner();
        self.check_kept(by.holder)?;
        let prefix = copy::references_by(&owner.row, by, None);
        let (mut next, mut delivered) = (None, Ok(()));
        while let Some(page) = self.references(&outgoing.table, &owner.partition, &prefix, &mut next).await? {
            let mut partitions: BTreeMap<String, Vec<RowKey>> = BTreeMap::new();
            for key in holders(&page.rows, by)? {
                partitions.entry(key.partition.clone()).or_default().push(key);
            }
            let per_batch = self.holders_per_batch(by.holder);
            let batches = partitions.values().flat_map(|keys| keys.chunks(per_batch));
            let written: Vec<_> = batches.map(|keys| self.recopy(by.holder, keys.to_vec())).collect();
            let written: Vec<_> = stream::iter(written).buffer_unordered(CONCURRENT_BATCHES).collect().await;
            delivered = written.into_iter().fold(delivered, Result::and);
            self.clear_expired(outgoing, by, &page.rows).await?;
        }
        delivered
    }

    /// That holders are kept in the form that this program takes them to be in, and may follow in it.
    pub(super) fn check_kept(&self, holder: &'static EntitySchema) -> Result<()> {
        match holder.moves() {
            true => self.registered(holder)?.check_open(),
            false => Ok(()),
        }
    }

    /// The same, of those that are written with their source: also by a program that knows of no move.
    pub(super) fn check_followed(&self, holder: &'static EntitySchema) -> Result<()> {
        match self.registered(holder) {
            Ok(registered) => registered.check_open(),
            Err(error) if holder.moves() => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// How many holders surely fit one batch.
    fn holders_per_batch(&self, holder: &'static EntitySchema) -> usize {
        let is_alone = self.registered(holder).is_ok_and(|holder| follow::is_alone(holder.schema, &holder.setting));
        let rows = if is_alone { 1 } else { rows_each(holder) };
        (limits::MAX_BATCH_OPERATIONS / rows).max(1)
    }

    /// Brings the copies of holders of one partition up to date. A batch that cannot be written is written again in halves, so
    /// that one holder holds no other up; but not while the store takes no batch at all.
    pub(super) fn recopy(&self, schema: &'static EntitySchema, keys: Vec<RowKey>) -> BoxFuture<'_, Result<()>> {
        self.recopy_of(schema, keys, Recopied::All)
    }

    fn recopy_of(&self, schema: &'static EntitySchema, keys: Vec<RowKey>, of: Recopied) -> BoxFuture<'_, Result<()>> {
        async move {
            let registered = self.registered(schema)?;
            let Some(partition) = keys.first().map(|key| key.partition.clone()) else { return Ok(()) };
            let change = |key| Change::Recopy { schema, key, of: of.clone(), repair: false };
            let changes: Vec<_> = keys.into_iter().map(change).collect();
            let (mut rest, mut failed) = (vec![changes.as_slice()], Ok(()));
            while let Some(changes) = rest.pop() {
                let written = match self.renew_copied(changes.iter(), NOTHING).await {
                    Ok(_) => self.write(&registered, &partition, changes).await,
                    Err(error) => Err(error),
                };
                match written {
                    Err(error) if is_of_all(&error) => return failed.and(Err(error)),
                    Err(_) if changes.len() > 1 => {
                        let (first, second) = changes.split_at(changes.len() / 2);
                        rest.extend([second, first]);
                    }
                    result => failed = failed.and(result.map(drop)),
                }
            }
            failed
        }
        .boxed()
    }

    /// Takes away back-references whose holder was never written.
    async fn clear_expired(&self, outgoing: &Outgoing, by: CopiedBy, rows: &[Row]) -> Result<()> {
        let now = self.environment().clock.now();
        for row in rows {
            let Some(reference) = copy::read(row, &[by]) else { continue };
            if reference.pending.is_none_or(|expires| now < expires) {
                continue;
            }
            let holder = self.get_row(&self.table_name(by.holder.table), &reference.holder).await?;
            let is_coming = holder.as_ref().is_some_and(is_reserved);
            if !is_coming && !copy::holds(by, true, holder.as_ref(), &outgoing.owner())? {
                self.remove_row(&outgoing.table, row).await?;
            }
        }
        Ok(())
    }
}
