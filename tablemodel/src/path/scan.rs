//! Scans: for types that say `allow_scan`, every row of a partition or table is read and tested.
//!
//! A scan reads as what it is; no path ends here by accident.

use std::marker::PhantomData;

use futures_util::{StreamExt, TryStreamExt, stream};
use tablemodel_store::{Filter, KeyRange, Value};

use crate::{
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
            Some(test) => Test::And(Box::new(test), Box::new(predicate.test)),
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

    /// The first `n` entities that match. Cost: as [`Scan::all`], until they are found.
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
                let Some(entity) = running.next().await? else { break };
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
                Ok::<_, Error>(running.next().await?.map(|entity| (entity, running)))
            })
        });
        one_by_one.try_flatten().boxed()
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
    /// The next entity that matches.
    async fn next<E: TableEntity>(&mut self) -> Result<Option<Stored<E>>> {
        while let Some(row) = self.rows.next(usize::MAX).await? {
            if self.test.as_ref().map_or(Ok(true), |test| matches(E::SCHEMA, &row, test))? {
                return Stored::read(row).map(Some);
            }
        }
        Ok(None)
    }
}

fn check(schema: &'static EntitySchema, test: &Test) -> Result<()> {
    match test {
        Test::Compare { property, value: Err(error), .. } => {
            Err(image::invalid(schema, crate::entity::FieldError { property, error: error.clone() }))
        }
        Test::Compare { .. } => Ok(()),
        Test::And(a, b) | Test::Or(a, b) => check(schema, a).and_then(|()| check(schema, b)),
        Test::Not(inner) => check(schema, inner),
    }
}

fn matches(schema: &'static EntitySchema, rows: &Group, test: &Test) -> Result<bool> {
    let fields = image::Stored::of(schema, rows)?;
    Ok(holds(&|property| fields.get(property), test))
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
