//! Reading lists: the keys in one, and the entities behind them.
//!
//! What the rows of a list mean is `rooms::list`'s.

use std::borrow::Cow;

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Row, RowKey};

use crate::{
    database::Database,
    entity::TableEntity,
    error::{Error, ErrorKind, Result},
    path::{found, query::PathQuery},
    plan::image,
    read::{CONCURRENT_READS, Reader, load_limit, rows::still_ready},
    rooms,
    stored::Stored,
};

/// A key in a list, and the row that says so.
struct Member {
    entity: RowKey,
    row: RowKey,
}

/// The keys of the entities in the list, in key order.
pub(crate) async fn keys(db: &Database, query: PathQuery) -> Result<Vec<RowKey>> {
    let Some(head) = query.list_row()? else {
        return Ok(members(db, query).await?.into_iter().map(|member| member.entity).collect());
    };
    let key = |row: Cow<'_, str>| RowKey { partition: head.partition.clone(), row: row.into_owned() };
    whole(db, &query, &head, key).await
}

/// The entities in the list that still want to be in it.
pub(crate) async fn entities<E: TableEntity>(db: &Database, query: PathQuery) -> Result<Vec<Stored<E>>> {
    let Some(index) = query.index() else { return Ok(Vec::new()) };
    let loads = members(db, query).await?.into_iter().map(|member| load::<E>(db, index, member));
    let found: Vec<_> = stream::iter(loads.collect::<Vec<_>>()).buffered(CONCURRENT_READS).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// The number of keys in the list.
pub(crate) async fn count(db: &Database, query: PathQuery) -> Result<u64> {
    let head = query.list_row()?;
    let reader = Reader::new(db, query).await?;
    let Some(head) = head else { return reader.keys_only().unverified().count_rows().await };
    let plan = reader.rows.plan();
    let row = db.get_row(&db.table_name(plan.table()), &head).await?.filter(|row| plan.owns(row));
    still_ready(db, plan).await?;
    row.as_ref().map_or(Ok(0), rooms::list::count)
}

/// The entity, if it is there and wants to be in the list.
async fn load<E: TableEntity>(db: &Database, index: usize, member: Member) -> Result<Option<Stored<E>>> {
    let Some(primary) = db.primary_now(E::SCHEMA, &member.entity).await? else { return Ok(None) };
    let fields = image::Stored::of(E::SCHEMA, &primary)?;
    match rooms::index::wants(&fields, index, &member.row.partition, &member.row.row)? {
        true => Stored::read(primary).map(Some),
        false => Ok(None),
    }
}

async fn members(db: &Database, query: PathQuery) -> Result<Vec<Member>> {
    let schema = query.schema();
    let Some(head) = query.list_row()? else {
        let rows = all_rows(&mut Reader::new(db, query).await?).await?.0;
        let member = |row: Row| Ok(Member { entity: found::owner(schema, &row)?, row: row.key });
        return rows.into_iter().map(member).collect();
    };
    let entity = |row: Cow<'_, str>| RowKey { partition: head.partition.clone(), row: row.into_owned() };
    whole(db, &query, &head, |row| Member { entity: entity(row), row: head.clone() }).await
}

/// What `make` makes of the keys of a list in the entity's own partition. Where it took several requests, its first row is read once more: a
/// key must not have moved between chunks meanwhile.
async fn whole<T>(db: &Database, query: &PathQuery, head: &RowKey, make: impl Fn(Cow<'_, str>) -> T) -> Result<Vec<T>> {
    let mut reader = Reader::new(db, query.clone()).await?;
    let table = db.table_name(reader.rows.plan().table());
    let mut lacking = None;
    for _ in 0..load_limit() {
        let (mut rows, pages) = all_rows(&mut reader).await?;
        if rows.first().is_some_and(|first| first.key != *head) {
            rows.clear(); // chunks that belong to nothing
        }
        if rows.first().is_some_and(rooms::list::is_outside) {
            rows.truncate(1); // chunks beside it belong to nothing
            rows = db.with_keys(&table, rows.pop()).await?.into_iter().collect();
        }
        let cut = rows.first().and_then(rooms::list::cut_of);
        let keys = rooms::list::keys_as(&rows, &make)?;
        let again = match &keys {
            Some(_) if pages <= 1 => cut.clone(),
            _ => db.get_row(&table, head).await?.as_ref().and_then(rooms::list::cut_of),
        };
        match keys {
            Some(keys) if cut == again => return Ok(keys),
            // One that others change has another cut, or all its chunks, when it is read once more.
            None if cut == again && lacking.replace(cut.clone()) == Some(cut) => {
                let detail = "a chunk of the list is missing; repair it";
                return Err(Error::corrupt(detail).of(query.schema().entity_type).at_key(head.clone()));
            }
            _ => reader = Reader::new(db, query.clone()).await?,
        }
    }
    let detail = "the list keeps changing while it is read; try again";
    Err(Error::new(ErrorKind::Unavailable, detail).of(query.schema().entity_type).at_key(head.clone()))
}

/// Every row, and in how many pages they came.
async fn all_rows(reader: &mut Reader) -> Result<(Vec<Row>, usize)> {
    let (mut rows, mut pages) = (Vec::new(), 0);
    loop {
        let page = reader.rows.some(usize::MAX).await?;
        if page.is_empty() {
            return Ok((rows, pages));
        }
        rows.extend(page.into_iter().map(|group| group.head));
        pages += 1;
    }
}
