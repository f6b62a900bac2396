//! Copies in a batch on its way: the sources that it reads, and the holders that follow in its commit.
//!
//! What a copy holds is decided in `rooms::copy` and planned in `plan::copies`. Back-references are read before the source
//! that they belong to is written, and after the row that its write rests on.

use std::collections::{BTreeMap, HashSet};

use tablemodel_store::{Batch, Row, RowKey, limits};

use crate::{
    database::{
        Registered,
        bulk::rows_each,
        execute::Run,
        holders::{Holders, join},
        registration::Registration,
        since::Since,
    },
    error::{Error, ErrorKind, Result},
    plan::{
        batch::BatchPlan,
        change::{self, Change},
        copies::followed,
    },
    rooms::copy::{self, Source},
    schema::EntitySchema,
};

/// How a batch goes about copies; kept between its attempts.
#[derive(Debug, Default)]
pub(super) struct Copying {
    /// Holders beside their source are not written in one batch with it.
    apart: bool,
    /// But for these, by row key: the batch of the changes writes their rows in any case.
    pub(super) along: HashSet<String>,
    /// A derived row of a holder was not as it should be: all are read.
    pub(super) repair: bool,
    /// Each holder is planned, also one of which only its own row changes.
    pub(super) plans_each: bool,
    /// The first batch of those that are not.
    pub(super) alone_from: Option<usize>,
    /// Sources that the batch itself writes, by row key: their holders see what it makes of them.
    pub(super) own: HashSet<String>,
    /// Back-references put before their holder, and since when.
    pub(super) registered: Vec<Registration>,
    pub(super) since: Option<Since>,
    /// How often it was waited until holders are kept in another form.
    pub(super) waited: u32,
    /// Holders that follow after the commit: they wait for a source that it writes, and others copy them.
    pub(super) late: Vec<Change>,
}

impl Copying {
    /// Whether another attempt without the holders may do better.
    pub(super) fn go_apart(&mut self, error: &Error) -> bool {
        let is_new = !self.apart && !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Restricted { .. });
        self.apart |= is_new;
        is_new
    }

    /// Notes that a batch with this number was refused, behind `own` of the changes themselves.
    pub(super) fn refused(&mut self, batch: usize, own: usize) {
        let is_alone = self.alone_from.is_some_and(|first| batch >= first);
        self.repair |= batch >= own && !is_alone;
    }
}

/// The holders that follow a batch in its commit.
#[derive(Default)]
pub(super) struct Followers {
    /// In the same batch, which writes them in any case.
    mates: Vec<Change>,
    /// In the same batch, if it has room.
    pub(super) beside: Vec<Change>,
    /// In other batches, by table and partition.
    pub(super) apart: BTreeMap<(&'static str, String), Vec<Change>>,
    /// In other batches, and planned with no other.
    pub(super) alone: Vec<Holders>,
    /// The sources that they follow.
    pub(super) sources: Vec<(&'static str, String)>,
}

impl Followers {
    /// Those in the same batch.
    pub(super) fn in_batch(&self) -> impl Iterator<Item = &Change> {
        self.mates.iter().chain(&self.beside)
    }

    /// Whether the batch can do with less.
    pub(super) fn may_go_apart(&self) -> bool {
        !self.beside.is_empty()
    }

    fn add_apart(&mut self, change: Change) {
        let place = (change.schema().table, change.key().partition.clone());
        self.apart.entry(place).or_default().push(change);
    }
}

/// A batch that is ready to be committed, with what follows it.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) plan: BatchPlan,
    /// The plans of holders in other partitions.
    pub(super) follows: Vec<BatchPlan>,
    pub(super) batches: Vec<Batch>,
    /// How many of the batches are the plan's own.
    pub(super) own: usize,
}

impl Prepared {
    /// All plans of the commit.
    pub(super) fn plans(&self) -> impl Iterator<Item = &BatchPlan> {
        std::iter::once(&self.plan).chain(&self.follows)
    }
}

impl Run<'_> {
    /// As `prepare`, with the holders that follow; nothing where another attempt is to be made without holders.
    pub(super) async fn prepare_with_copies(&mut self, changes: &[Change]) -> Result<Option<Prepared>> {
        if !self.concerns_copies(changes)? {
            let (plan, batches) = self.prepare(changes).await?;
            return Ok(Some(Prepared { plan, follows: Vec::new(), own: batches.len(), batches }));
        }
        // Boxed, so that writes without copies do not carry the room for it.
        Box::pin(self.prepare_following(changes)).await
    }

    async fn prepare_following(&mut self, changes: &[Change]) -> Result<Option<Prepared>> {
        self.known.forget_copies();
        self.read_needs(changes).await?;
        self.read_guests().await?;
        self.register(changes).await?;
        let followers = self.followers(changes).await?;
        self.copying.alone_from = None;
        let Some((plan, follows)) = self.plan_with(changes, &followers).await? else { return Ok(None) };
        for plan in &follows {
            self.read_claims(plan).await.map_err(Error::alone)?;
        }
        self.read_claims(&plan).await?;
        let mut batches = match self.batched(&plan) {
            Err(error) if followers.may_go_apart() && self.copying.go_apart(&error) => return Ok(None),
            other => other?,
        };
        let own = batches.len();
        self.append(&follows, &mut batches).map_err(Error::alone)?;
        self.append_alone(&plan, followers, &mut batches).await?;
        Ok(Some(Prepared { plan, follows, batches, own }))
    }

    /// Whether an entity of the changes has copies, or is copied.
    fn concerns_copies(&self, changes: &[Change]) -> Result<bool> {
        for change in changes {
            if change.schema().has_copies() || !self.registered(change)?.setting.copied.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The holders that are written in the commit of these changes: as far as they fit into its batch where they stand
    /// beside their source, and all others where several partitions commit as one.
    pub(super) async fn followers(&mut self, changes: &[Change]) -> Result<Followers> {
        let (mut followers, mut asked) = (Followers::default(), None);
        for change in changes {
            let registered = self.registered(change)?;
            if registered.setting.copied.is_empty() {
                continue;
            }
            for source in followed(change, &registered.setting, &self.known)? {
                followers.sources.push((change.schema().entity_type, source.clone()));
                self.find_restricting(change, &registered, &source).await?;
                let before = followers.beside.len();
                self.find_followers(change.schema(), &registered, &source, &mut followers).await?;
                if followers.beside.len() > before {
                    let asked = asked.get_or_insert_with(|| changes.iter().map(entity).collect::<HashSet<_>>());
                    let is_along = |holder: &Change| self.copying.along.contains(&holder.key().row);
                    let found = followers.beside.split_off(before).into_iter();
                    let (mates, beside): (Vec<_>, Vec<_>) =
                        found.partition(|holder| is_along(holder) || asked.contains(&entity(holder)));
                    followers.mates.extend(mates); // the batch writes them in any case
                    followers.beside.extend(beside);
                }
            }
        }
        if followers.sources.is_empty() {
            return Ok(followers);
        }
        self.renew_followers(&mut followers).await?;
        self.mates(changes, &mut followers)?;
        let rows_of = |change: &Change| rows_each(change.schema()) + 1;
        let rows = changes.iter().chain(&followers.beside).map(rows_of).sum::<usize>();
        let fits = rows <= limits::MAX_BATCH_OPERATIONS && !self.copying.apart;
        match (fits, self.db.is_atomic()) {
            (true, _) => {}
            (false, true) => self.go_apart(&mut followers),
            (false, false) => followers.beside.clear(), // the outbox sees to them
        }
        Ok(followers)
    }

    /// Lets the holders in the same batch follow in others.
    fn go_apart(&self, followers: &mut Followers) {
        for change in std::mem::take(&mut followers.beside) {
            match self.alone(change.schema()) {
                Some(registered) => followers.add_alone(&registered, change.key().clone()),
                None => followers.add_apart(change),
            }
        }
    }

    /// The holders of one source, by its back-references.
    async fn find_followers(
        &mut self,
        schema: &'static EntitySchema,
        registered: &Registered,
        source: &str,
        to: &mut Followers,
    ) -> Result<()> {
        let is_atomic = self.db.is_atomic();
        for by in &registered.setting.copied {
            let is_same_table = by.holder.table.eq_ignore_ascii_case(schema.table);
            if !is_atomic && !is_same_table {
                continue;
            }
            if !self.may_follow(by.holder)? {
                continue; // the outbox sees to it once they have moved
            }
            let alone = self.alone(by.holder);
            let prefix = copy::references_by(source, *by, (!is_atomic).then_some(self.partition));
            let mut next = None;
            while let Some(page) = self.db.named_by(registered, self.partition, (&prefix, *by), &mut next).await? {
                for holder in page {
                    let is_beside = is_same_table && holder.partition == self.partition;
                    if let Some(registered) = alone.as_ref().filter(|_| !is_beside) {
                        to.add_alone(registered, holder);
                        continue;
                    }
                    let change = Change::recopied(by.holder, holder, self.copying.repair);
                    match is_beside {
                        true => to.beside.push(change),
                        false => to.add_apart(change),
                    }
                }
                if !is_atomic && to.beside.len() > limits::MAX_BATCH_OPERATIONS {
                    return Ok(()); // more than fit
                }
            }
        }
        Ok(())
    }

    /// Whether holders of this entity can be written in the form that they are kept in.
    fn may_follow(&self, holder: &'static EntitySchema) -> Result<bool> {
        let kept = self.db.check_followed(holder);
        match self.db.is_atomic() {
            true => kept.map(|()| true),
            false => Ok(kept.is_ok()),
        }
    }

    /// Holders among the changes themselves: what one of them copies, another may change.
    fn mates(&self, changes: &[Change], followers: &mut Followers) -> Result<()> {
        let sources: HashSet<_> = followers.sources.iter().map(|(of, row)| (*of, row.as_str())).collect();
        for change in changes {
            let (Change::Insert(image) | Change::Upsert(image) | Change::Save { new: image, .. }) = change else {
                continue;
            };
            for copy in image.schema.copies {
                let Some(source) = copy::source(image, copy)? else { continue };
                let is_changed = source.is_beside(image.schema, self.partition)
                    && sources.contains(&(source.schema.entity_type, source.key.row.as_str()));
                if is_changed {
                    let (schema, key) = (image.schema, image.key.clone());
                    followers.mates.push(Change::recopied(schema, key, false));
                }
            }
        }
        Ok(())
    }

    /// The plan of the changes with the holders beside them, and those of the other holders; nothing where another
    /// attempt is to be made without holders.
    pub(super) async fn plan_with(
        &mut self,
        changes: &[Change],
        followers: &Followers,
    ) -> Result<Option<(BatchPlan, Vec<BatchPlan>)>> {
        self.copying.own = followers.sources.iter().map(|(_, row)| row.clone()).collect();
        self.read_needs(&followers.mates).await.map_err(Error::alone)?;
        self.read_needs(&followers.beside).await.map_err(Error::alone)?;
        self.copying.own.clear();
        let plan = match self.plan(changes.iter().chain(followers.in_batch())) {
            Err(error) if followers.may_go_apart() && self.copying.go_apart(&error) => return Ok(None),
            other => other?,
        };
        let mut follows = Vec::with_capacity(followers.apart.len());
        for ((_, partition), changes) in &followers.apart {
            let Some(schema) = changes.first().map(Change::schema) else { continue };
            let registered = self.db.registered(schema)?;
            let mut run = Run::new(self.db, &registered, partition);
            self.show_sources(&plan, followers, &registered, &mut run);
            run.host(self);
            run.read_needs(changes).await.map_err(Error::alone)?;
            run.read_guests().await?;
            follows.push(run.plan(changes.iter()).map_err(Error::alone)?.at(&registered.table, partition));
        }
        Ok((!self.take_along(&plan, &follows, followers)).then_some((plan, follows)))
    }

    /// The sources that the plan writes, as it leaves them.
    pub(super) fn sources_left(&self, plan: &BatchPlan, followers: &Followers) -> Vec<(Source, Option<Row>)> {
        let mut seen = HashSet::new(); // two changes of one batch may be of one source
        let left = followers.sources.iter().filter(|source| seen.insert(*source)).filter_map(|(entity, row)| {
            let left = plan.row_after(row)?;
            let schema = self.db.entity_of(entity)?;
            let key = RowKey::new(self.partition, row.clone());
            let row = left.map(|properties| change::planned_row(key.clone(), properties.clone()));
            Some((Source { schema, key }, row))
        });
        left.collect()
    }

    /// The sources as the plan leaves them, to one who plans their holders.
    fn show_sources(&self, plan: &BatchPlan, followers: &Followers, registered: &Registered, run: &mut Run<'_>) {
        for (Source { schema, key }, row) in self.sources_left(plan, followers) {
            if schema.table.eq_ignore_ascii_case(registered.schema.table) && self.partition == run.partition {
                run.known.insert(key.row.clone(), row.clone());
            }
            run.known.show((schema.table, key.clone()));
            run.known.elsewhere.insert((schema.table, key), row);
        }
    }

    /// The batches of the other holders, behind those of the changes.
    pub(super) fn append(&self, follows: &[BatchPlan], to: &mut Vec<Batch>) -> Result<()> {
        let own = to.len();
        for plan in follows {
            let (table, partition) = plan.place();
            let all = plan.all_batches(table, partition, &self.db.0.prefix, &self.missing, &self.claims)?;
            all.into_iter().for_each(|batch| join(batch, own, to));
        }
        Ok(())
    }
}

/// The stored name and the key of the entity that is changed.
fn entity(change: &Change) -> (&'static str, &RowKey) {
    (change.schema().entity_type, change.key())
}
