//! A move as one commit over both partitions, where the store can.

use tablemodel_store::{Batch, Receipts, Row, RowKey, StoreError};

use crate::{
    database::{
        Database, Registered,
        calls::ATTEMPTS,
        execute::{Outcome, Run},
        followers::Prepared,
        pieces::Pieces,
        shadows::guarded,
        since::Since,
        turns::Meeting,
        write::no_row,
    },
    error::{Error, ErrorKind, Result},
    plan::{batch::BatchPlan, change::Change, group::Group, image::Image, join::join},
};

impl Database {
    /// Delete and insert as one commit.
    pub(super) async fn move_at_once(
        &self,
        registered: &Registered,
        old: Group,
        to: Image,
        uploaded: Option<Since>,
    ) -> Result<Group> {
        let key = to.key.clone();
        let from = old.key().clone();
        let mut leaving = Run::new(self, registered, &from.partition);
        let mut arriving = Run::new(self, registered, &key.partition).joining(&leaving, &from);
        // An entity that follows both keys is found by its plans.
        (leaving.copying.plans_each, arriving.copying.plans_each) = (true, true);
        let (leave, arrive) = ([Change::Delete { schema: to.schema, old }], [Change::Insert(to)]);
        let moved =
            self.commit_move(registered, (&mut leaving, &leave), (&mut arriving, &arrive), &key, uploaded).await;
        let moved =
            moved.map(|rows| arriving.staging.noted(vec![rows])).map_err(|error| arriving.settled(error).alone());
        leaving.give_turns_back();
        leaving.clean_up(&moved).await;
        arriving.clean_up(&moved).await;
        if moved.is_ok() {
            Box::pin(arriving.follow_late()).await;
        }
        moved?.into_iter().next().flatten().ok_or_else(no_row)
    }

    async fn commit_move(
        &self,
        registered: &Registered,
        (leaving, leave): (&mut Run<'_>, &[Change]),
        (arriving, arrive): (&mut Run<'_>, &[Change]),
        key: &RowKey,
        uploaded: Option<Since>,
    ) -> Result<Outcome> {
        let from = leave.first().map_or(key, Change::key);
        for attempt in 0..ATTEMPTS {
            let Some((first, second)) = prepared(leaving, leave, arriving, arrive).await? else { continue };
            let (first, follows, departure) = (first.plan, first.follows, first.batches);
            let (second, then, arrival) = (second.plan, second.follows, second.batches);
            let table = registered.table.as_str();
            let sides = [((table, from.partition.as_str()), &first), ((table, key.partition.as_str()), &second)];
            check_follows(sides, [&follows, &then], key)?;
            let plans: Vec<_> = [&first, &second].into_iter().chain(&follows).chain(&then).collect();
            let places = leaving.places_apart(&plans, Some(arriving));
            let mut batches = match leaving.join_places(places, join(departure, arrival)?).await {
                Ok(batches) => batches,
                Err(error) => {
                    leaving.doubt(error, leave).await.map_err(Error::alone)?;
                    continue;
                }
            };
            let of_keys = [(from.partition.as_str(), &first), (key.partition.as_str(), &second)].into_iter();
            let of_others = follows.iter().chain(&then).map(|plan| (plan.place().1, plan));
            let guarded = guarded(of_keys.chain(of_others));
            Box::pin(self.guard_shadows(guarded, &mut batches)).await?;
            leaving.put_lists(plans).await?;
            self.check_blobs(uploaded)?;
            leaving.wait_where_crowded(&batches).await;
            let committed = match Pieces::of(&batches) {
                None => self.commit_store(&batches, attempt).await,
                Some(pieces) => pieces.told(self.commit_store(&pieces.batches, attempt).await),
            };
            let error = match committed {
                Ok(receipts) => return arrived(&batches, receipts, &registered.table, key, second).map(Some),
                Err(error) => error,
            };
            let met = Meeting::of(&error, &batches);
            let (side, error) = locate(error, &batches, &registered.table, &first, (&key.partition, &second));
            let next = match side {
                _ if arriving.is_ambiguous() => arriving.after_failure(error, &second, &then).await,
                Side::Leaving => leaving.after_failure(error, &first, &follows).await,
                Side::Arriving => arriving.after_failure(error, &second, &then).await,
                Side::Elsewhere => {
                    // Either may know what was missed.
                    let left = leaving.after_failure(error.clone(), &first, &follows).await;
                    of_either(left, arriving.after_failure(error, &second, &then).await)
                }
            };
            match next.map_err(|error| arriving.settled(error).alone())? {
                Some(outcomes) => return Ok(outcomes.into_iter().next().flatten()),
                None => leaving.wait(met, attempt).await,
            }
        }
        Err(arriving.exhausted())
    }
}

/// What two sides make of one failure, where either may be the one to know: who arrives is believed first.
fn of_either<T>(left: Result<Option<T>>, arrived: Result<Option<T>>) -> Result<Option<T>> {
    match (left, arrived) {
        (Err(_), arrived) => arrived,
        // Only who arrives claims values: that another has one is no guess.
        (_, Err(error)) if matches!(error.kind(), ErrorKind::UniqueViolation { .. }) => Err(error),
        (left, Err(_)) => left,
        (left, arrived) => left.and_then(|left| Ok(left.or(arrived?))),
    }
}

/// Both plans, each with the contributions that stand in its partition; nothing where another attempt is to be made.
async fn prepared(
    leaving: &mut Run<'_>,
    leave: &[Change],
    arriving: &mut Run<'_>,
    arrive: &[Change],
) -> Result<Option<(Prepared, Prepared)>> {
    leaving.take_guests(&[], &[]);
    arriving.take_guests(&[], &[]);
    loop {
        let first = match leaving.prepare_with_copies(leave).await {
            Err(error) => leaving.doubt(error, leave).await.map(|()| None).map_err(Error::alone)?,
            Ok(first) => first,
        };
        let second = match arriving.prepare_with_copies(arrive).await {
            Err(error) => arriving.doubt(error, arrive).await.map(|()| None).map_err(Error::alone)?,
            Ok(second) => second,
        };
        let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
        let plans: Vec<_> = [&first, &second].into_iter().flat_map(Prepared::plans).collect();
        let new = leaving.take_guests(&plans, &first.follows) | arriving.take_guests(&plans, &second.follows);
        if !new {
            return Ok(Some((first, second)));
        }
    }
}

/// That no entity follows both the old key and the new one, or follows one and changes with the other: each plan knows of
/// one of them. `sides` are the plans of the keys, and where they write.
fn check_follows(sides: [(Place<'_>, &BatchPlan); 2], follows: [&[BatchPlan]; 2], key: &RowKey) -> Result<()> {
    let [first, second] = sides;
    let [follow, then] = follows.map(|plans| plans.iter().map(|plan| (plan.place(), plan)));
    let second: Vec<_> = std::iter::once(second).chain(then).collect();
    for (place, plan) in std::iter::once(first).chain(follow) {
        let same = second.iter().filter(|(other, _)| *other == place);
        for (_, other) in same {
            if let Some(both) = plan.rows.iter().find(|row| other.planned(&row.planned.row).is_some()) {
                let (partition, row) = (place.1, &both.planned.row);
                let detail = format!(
                    "the entity at {partition}/{row} follows what leaves the old key, and what comes to the new one; change that one first"
                );
                return Err(Error::unsupported(detail).at_key(key.clone()));
            }
        }
    }
    Ok(())
}

/// A table, with the prefix, and a partition.
type Place<'p> = (&'p str, &'p str);

/// Which of two joined plans a failed row is of.
enum Side {
    Leaving,
    Arriving,
    /// A row of a third partition.
    Elsewhere,
}

/// The plan whose own rows hold the one that failed, and the error as that plan alone would have met it.
fn locate(
    error: StoreError,
    batches: &[Batch],
    table: &str,
    leave: &BatchPlan,
    (partition, arrive): (&str, &BatchPlan),
) -> (Side, StoreError) {
    let Some(at) = error.failed_at() else { return (Side::Arriving, error) };
    let failed = batches.get(at.batch).and_then(|batch| Some((batch, batch.operations.get(at.operation)?)));
    let Some((batch, operation)) = failed.filter(|(batch, _)| batch.table.eq_ignore_ascii_case(table)) else {
        return (Side::Elsewhere, error);
    };
    match (at.batch, leave.position(&operation.row), arrive.position(&operation.row)) {
        (0, Some(row), _) => (Side::Leaving, error.at(0, row)),
        (1.., _, Some(row)) if batch.partition == partition => (Side::Arriving, error.at(0, row)),
        _ => (Side::Elsewhere, error),
    }
}

/// The entity's row at its new key, as the commit left it.
fn arrived(batches: &[Batch], receipts: Vec<Receipts>, table: &str, key: &RowKey, plan: BatchPlan) -> Result<Group> {
    let is_ours = |batch: &Batch| batch.table.eq_ignore_ascii_case(table) && batch.partition == key.partition;
    let ours = batches.iter().zip(receipts).find(|(batch, _)| is_ours(batch));
    let (batch, receipts) = ours.ok_or_else(no_row)?;
    let left = plan.left.into_iter().next().ok_or_else(no_row)?;
    let row = |key: RowKey, properties| -> Result<Row> {
        let mut written = batch.operations.iter().zip(&receipts);
        let (_, written) = written.find(|(operation, _)| operation.row == key.row).ok_or_else(no_row)?;
        let etag = written.etag.clone().ok_or_else(no_row)?;
        Ok(Row { key, etag, timestamp: written.timestamp, properties })
    };
    let head = row(key.clone(), left.properties.ok_or_else(no_row)?)?;
    // Those that were written before the commit are not in it.
    let parts = left.parts.into_iter().map(|part| row(part.key.clone(), part.properties.clone()).unwrap_or(part));
    Ok(Group::of(head, parts.collect()))
}
