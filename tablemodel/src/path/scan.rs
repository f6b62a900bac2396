//! Scans: for types that say `allow_scan`, every row of a partition or table is read and tested.
//!
//! A scan reads as what it is; no path ends here by accident.

use std::marker::PhantomData;

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Filter, KeyRange, Value};

use crate::{
    cursor::{Cursor, Paged, PathPage},
    database::Database,
    entity::TableEntity,
    error::{Error, Result},
    path::{
        Results, Running,
        condition::{holds, pushed},
        explain::Explain,
        field::{Predicate, Test},
        plan::ReadPlan,
        query::PathQuery,
        state::AllowScan,
    },
    plan::{
        group::Group,
        image::{self, Fields},
    },
    read::{self, Groups},
    schema::EntitySchema,
    stored::Stored,
};

/// A scan of `E`. Made by the generated `E::scan_partition(..)`, or by `E::scan_table()`.
#[must_use]
pub struct Scan<E> {
    /// `None` for the whole table.
    partition: Option<PathQuery>,
    test: Option<Test>,
    entity: PhantomData<fn() -> E>,
}

impl<E> std::fmt::Debug for Scan<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("partition", &self.partition).field("test", &self.test).finish()
    }
}

/// Scans of whole tables, for types that allow them.
pub trait EntityScan: TableEntity {
    /// Reads every row of the table.
    fn scan_table() -> Scan<Self>
    where
        Self: AllowScan<()>,
    {
        Scan { partition: None, test: None, entity: PhantomData }
    }
}

impl<E: TableEntity> EntityScan for E {}

impl<E: TableEntity> Scan<E> {
    /// A scan of the partition that the query names. For generated code.
    #[doc(hidden)]
    pub fn partition(query: PathQuery) -> Self {
        Self { partition: Some(query), test: None, entity: PhantomData }
    }

    /// Only entities that satisfy this (and every earlier one).
    pub fn matching(mut self, predicate: Predicate<E>) -> Self {
        self.test = Some(match self.test.take() {
            Some(test) => test.and(predicate.test),
            None => predicate.test,
        });
        self
    }

    fn plan(&self) -> Result<ReadPlan> {
        let schema = E::SCHEMA;
        let ranges = match &self.partition {
            Some(query) => query.partitions()?.into_iter().map(KeyRange::partition).collect(),
            None => vec![KeyRange::table()],
        };
        // Of an entity that is several rows, no row alone holds all that is tested.
        let test = self.test.as_ref().filter(|_| !schema.adopt && !schema.is_joined());
        Ok(ReadPlan { schema, index: None, ranges, filter: test.and_then(|test| pushed(schema, test)), select: None })
    }

    /// Every entity that matches, in key order. Cost: one request per 1,000 rows read; what can be tested by the
    /// store is tested there.
    ///
    /// # Errors
    ///
    /// `Invalid` for a value that cannot be stored; those of [every terminal](crate::Path#errors).
    pub fn all(self, db: &Database) -> Running<Vec<Stored<E>>> {
        self.first(usize::MAX, db)
    }

    /// The first `n` entities that match, in key order. Cost: as [`Scan::all`], until they are found.
    ///
    /// # Errors
    ///
    /// Those of [`Scan::all`].
    pub fn first(self, n: usize, db: &Database) -> Running<Vec<Stored<E>>> {
        let db = db.clone();
        Box::pin(async move {
            let mut running = self.run(&db).await?;
            let mut found = Vec::new();
            while found.len() < n {
                let Some(entity) = running.next(n - found.len()).await? else { break };
                found.push(entity);
            }
            Ok(found)
        })
    }

    /// The entities that match one by one, in key order; memory holds one page. Cost: as [`Scan::all`].
    ///
    /// # Errors
    ///
    /// Those of [`Scan::all`]; after one it ends.
    pub fn stream(self, db: &Database) -> Results<Stored<E>> {
        let db = db.clone();
        let running = stream::once(async move { self.run(&db).await });
        let one_by_one = running.map_ok(|running| {
            stream::try_unfold(running, |mut running| async move {
                Ok::<_, Error>(running.next(usize::MAX).await?.map(|entity| (entity, running)))
            })
        });
        one_by_one.try_flatten().boxed()
    }

    /// At most `n` entities that match, from the start or from where an earlier page of the same scan stopped. Cost: as [`Scan::first`].
    ///
    /// A cursor says that rows follow: where a condition holds of none of them, the last page is empty. It survives deletes (also of the
    /// entity it stopped at) and restarts.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let scan = || Employee::scan_table().matching(Employee::NAME.ne("Name1"));
    /// let first = scan().page(1, None, &db).await?;
    /// assert_eq!(first.items[0].id, 2);
    /// let rest = scan().page(9, first.cursor.as_ref(), &db).await?;
    /// assert_eq!((rest.items.len(), rest.cursor), (1, None));
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` for a cursor of another query (a scan of something else, or with other conditions or in another order), text that is no
    /// cursor, and pages of 0; those of [`Scan::all`].
    pub fn page(self, n: usize, cursor: Option<&Cursor>, db: &Database) -> Running<PathPage<Stored<E>>> {
        let (db, cursor) = (db.clone(), cursor.cloned());
        Box::pin(async move { self.run(&db).await?.page(n, cursor.as_ref()).await })
    }

    /// The number of entities that match. Cost: one request per 1,000 rows read; without a condition their properties do not travel.
    ///
    /// Without a condition rows are not looked into, and one that cannot be read counts as well.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// assert_eq!(Employee::scan_table().count(&db).await?, 3);
    /// assert_eq!(Employee::scan_partition("Sales").matching(Employee::AGE.gt(30)).count(&db).await?, 0);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Scan::all`].
    pub fn count(self, db: &Database) -> Running<u64> {
        let db = db.clone();
        Box::pin(async move { self.run(&db).await?.count::<E>().await })
    }

    async fn run(self, db: &Database) -> Result<RunningScan> {
        if let Some(test) = &self.test {
            check(E::SCHEMA, test)?;
        }
        Ok(RunningScan { rows: read::groups_of(db, self.plan()?).await?, test: self.test })
    }

    /// What running this would read. Reads nothing.
    pub fn explain(&self) -> Explain {
        match self.plan() {
            Ok(plan) => Explain::of(&plan, None, false),
            Err(error) => Explain::failed(E::SCHEMA, error),
        }
    }
}

/// A scan whose rows come.
struct RunningScan {
    rows: Groups,
    test: Option<Test>,
}

impl RunningScan {
    /// The next entity that matches; `wanted` are asked for at once where a page has to be read.
    async fn next<E: TableEntity>(&mut self, wanted: usize) -> Result<Option<Stored<E>>> {
        // Of how many rows a condition holds is not known before they are read, unless the store is asked for those alone.
        let is_asked = self.test.is_none() || self.rows.plan().filter.is_some();
        let mut wanted = if is_asked { wanted } else { usize::MAX };
        while let Some(row) = self.rows.next(wanted).await? {
            if self.takes::<E>(&row)? {
                return Stored::read(row).map(Some);
            }
            wanted = wanted.saturating_mul(2); // it is asked for a part of the condition, which holds of more
        }
        Ok(None)
    }

    async fn page<E: TableEntity>(mut self, n: usize, cursor: Option<&Cursor>) -> Result<PathPage<Stored<E>>> {
        let query = Paged::scan(self.rows.plan(), &self.test.as_ref().map(text).unwrap_or_default());
        if let Some((place, key)) = query.begin(n, cursor)? {
            self.rows.resume_after(place, &key);
        }
        self.rows.look_ahead();
        let mut items: Vec<Stored<E>> = Vec::new();
        while items.len() < n {
            match self.next(n - items.len()).await? {
                Some(entity) => items.push(entity),
                None => return Ok(PathPage { items, cursor: None }),
            }
        }
        let goes_on = self.rows.has_more().await?;
        let cursor = items.last().filter(|_| goes_on).map(|last| Cursor::after(&query, last.key()));
        Ok(PathPage { items, cursor })
    }

    async fn count<E: TableEntity>(mut self) -> Result<u64> {
        if self.test.is_none() {
            self.rows.keys_only();
        }
        let mut count = 0;
        loop {
            let rows = self.rows.some(usize::MAX).await?;
            if rows.is_empty() {
                return Ok(count);
            }
            for row in &rows {
                count += u64::from(self.takes::<E>(row)?);
            }
        }
    }

    /// Whether the condition holds of the entity.
    fn takes<E: TableEntity>(&self, row: &Group) -> Result<bool> {
        self.test.as_ref().map_or(Ok(true), |test| matches(E::SCHEMA, row, test))
    }
}

fn check(schema: &'static EntitySchema, test: &Test) -> Result<()> {
    match test {
        Test::Compare { property, value: Err(error), .. } => {
            Err(image::invalid(schema, crate::entity::FieldError { property, error: error.clone() }))
        }
        Test::Compare { .. } => Ok(()),
        Test::All(tests) | Test::Any(tests) => tests.iter().try_for_each(|test| check(schema, test)),
        Test::Not(inner) => check(schema, inner),
    }
}

fn matches(schema: &'static EntitySchema, rows: &Group, test: &Test) -> Result<bool> {
    let fields = image::Stored::of(schema, rows)?;
    Ok(holds(&|property| fields.get(property), test))
}

/// The condition as text that none of another meaning has, for cursors: values in it can be stored.
fn text(test: &Test) -> String {
    match test {
        Test::Compare { property, comparison, value, .. } => {
            let value = value.as_ref().ok().and_then(Option::as_ref).map_or_else(|| "null".to_owned(), literal);
            format!("{property} {} {value}", comparison.word())
        }
        Test::All(tests) => tests.iter().map(text).collect::<Vec<_>>().join(" and "),
        Test::Any(tests) => format!("({})", tests.iter().map(text).collect::<Vec<_>>().join(" or ")),
        Test::Not(inner) => format!("not ({})", text(inner)),
    }
}

/// The condition as OData text, for `explain`.
pub(crate) fn odata(filter: &Filter) -> String {
    match filter {
        Filter::Compare { property, comparison, value } => {
            format!("{property} {} {}", comparison.word(), literal(value))
        }
        Filter::And(a, b) => format!("{} and {}", odata(a), odata(b)),
        Filter::Or(a, b) => format!("({} or {})", odata(a), odata(b)),
        Filter::Not(inner) => format!("not ({})", odata(inner)),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => super::explain::quoted(text),
        Value::Int32(number) => number.to_string(),
        Value::Int64(number) => format!("{number}L"),
        Value::Double(number) => format!("{number:?}"),
        Value::Boolean(value) => value.to_string(),
        Value::DateTime(at) => format!("datetime'{at}'"),
        Value::Guid(id) => format!("guid'{id}'"),
        Value::Binary(bytes) => format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}
