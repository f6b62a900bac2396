//! Random sequences of calls: a store answers as a naive model does, call by call.
//!
//! The model shares no code with any store: rows in a plain list, keys compared as vectors of UTF-16 units, every
//! rule written out again.

mod naive;
mod steps;

use std::sync::Arc;

use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestCaseError, TestError, TestRunner},
};
use tablemodel_store::{
    Action, Batch, Condition, ETag, MemoryStore, Page, PropertyName, Query, Row, RowKey, StoreError, StoreErrorKind,
    TableStore,
};

use naive::{Model, NaiveRow};
use steps::{Do, If, Step, Write, own, table_name};

/// How a call failed: the kind, and the batch and operation that it names.
type Failure = (StoreErrorKind, Option<(usize, usize)>);

/// Does the steps on an empty store and on the model; says where they differ.
pub(crate) async fn agrees(store: &dyn TableStore, steps: &[Step]) -> Result<(), String> {
    let (mut model, mut etags) = (Model::default(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        let outcome = match step {
            Step::Create(table) => same(failure(store.create_table(&table_name(*table)).await), model.create(*table)),
            Step::Drop(table) => same(failure(store.delete_table(&table_name(*table)).await), model.drop(*table)),
            Step::Commit(writes) => commit(store, &mut model, &mut etags, writes).await,
            Step::Get(table, partition, row) => {
                let found = store.get(&table_name(*table), &RowKey::new(partition, row)).await;
                let expected = model.get(*table, partition, row);
                same(failure(found).map(|row| row.map(|row| seen(&row, &etags))), expected)
            }
            Step::Query(query) => pages(store, &model, &etags, query).await,
        };
        outcome.map_err(|difference| format!("step {at}, {step:?}: {difference}"))?;
    }
    Ok(())
}

async fn commit(
    store: &dyn TableStore,
    model: &mut Model,
    etags: &mut Vec<Option<ETag>>,
    writes: &[Write],
) -> Result<(), String> {
    let batches: Vec<_> = writes.iter().map(|write| batch(write, etags)).collect();
    let receipts = failure(store.commit(&batches).await);
    let states = model.commit(writes);
    let shape = |receipts: &Vec<Vec<_>>| receipts.iter().map(Vec::len).collect::<Vec<_>>();
    same(receipts.as_ref().map(shape).map_err(|failure| *failure), states)?;
    etags.extend(receipts.into_iter().flatten().flatten().map(|written| written.etag));
    Ok(())
}

/// Reads all pages: together they are the rows that the model has, and each keeps its limit.
async fn pages(
    store: &dyn TableStore,
    model: &Model,
    etags: &[Option<ETag>],
    asked: &steps::Question,
) -> Result<(), String> {
    let mut query = Query {
        filter: asked.at_least.map(steps::at_least),
        select: asked.select.map(|name| vec![PropertyName::from_static(name)]),
        ..Query::new(table_name(asked.table), asked.range.clone()).limited(asked.limit)
    };
    let mut rows = Vec::new();
    loop {
        let Page { rows: page, continuation } = match failure(store.query(&query).await) {
            Ok(page) => page,
            Err(failure) => return same(Err(failure), model.query(asked)),
        };
        if page.len() > asked.limit {
            return Err(format!("a page of {} rows, over its limit", page.len()));
        }
        rows.extend(page.iter().map(|row| seen(row, etags)));
        query.continuation = continuation;
        if query.continuation.is_none() {
            return same(Ok(rows), model.query(asked));
        }
    }
}

fn batch((table, partition, operations): &Write, etags: &[Option<ETag>]) -> Batch {
    let condition = |condition: &If| match condition {
        If::Exists => Condition::Exists,
        If::Recent(recent) => {
            let etag = If::state(*recent, etags.len()).and_then(|state| etags[state].clone());
            // Of a write that never was, or of a delete: an ETag that no row has.
            Condition::Match(etag.unwrap_or(ETag::from_stamp(1)))
        }
    };
    operations.iter().fold(Batch::new(table_name(*table), partition), |batch, (row, action)| {
        let action = match action {
            Do::Insert(pairs) => Action::Insert(own(pairs)),
            Do::Replace(pairs, when) => Action::Replace(own(pairs), condition(when)),
            Do::Merge(pairs, when) => Action::Merge(own(pairs), condition(when)),
            Do::InsertOrReplace(pairs) => Action::InsertOrReplace(own(pairs)),
            Do::InsertOrMerge(pairs) => Action::InsertOrMerge(own(pairs)),
            Do::Delete(when) => Action::Delete(condition(when)),
        };
        batch.with(row, action)
    })
}

/// A row as the model would say it; its state is the number of the write that gave it its ETag.
fn seen(row: &Row, etags: &[Option<ETag>]) -> NaiveRow {
    let state = etags.iter().rposition(|etag| etag.as_ref() == Some(&row.etag));
    let own = row.properties.iter().map(|(name, value)| (name.to_string(), format!("{value:?}")));
    NaiveRow {
        partition: row.key.partition.clone(),
        row: row.key.row.clone(),
        state: state.unwrap_or(usize::MAX),
        own: own.collect(),
    }
}

fn failure<T>(result: Result<T, StoreError>) -> Result<T, Failure> {
    result.map_err(|error| (error.kind(), error.failed_at().map(|at| (at.batch, at.operation))))
}

fn same<T: PartialEq + std::fmt::Debug>(found: Result<T, Failure>, expected: Result<T, Failure>) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {found:?}")) }
}

/// Tries `cases` random sequences on stores made by `make`; the smallest that differs is the error.
pub(crate) fn try_random(cases: u32, make: impl Fn() -> Arc<dyn TableStore>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let sequences = proptest::collection::vec(steps::step(), 1..60);
    let tables = |steps: Vec<Step>| [Step::Create(0), Step::Create(1)].into_iter().chain(steps).collect::<Vec<_>>();
    let outcome = runner.run(&sequences.prop_map(tables), |steps| {
        runtime.block_on(agrees(&*make(), &steps)).map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, steps)) => Err(format!("{reason}\nafter the steps {steps:#?}")),
        Err(TestError::Abort(reason)) => Err(format!("gave up: {reason}")),
    }
}

#[test]
fn the_memory_store_agrees_with_the_model() {
    try_random(512, || Arc::new(MemoryStore::new())).unwrap();
}

/// The checker can fail: stores with a planted bug do not agree.
#[test]
fn planted_bugs_do_not_agree_with_the_model() {
    for name in [
        "If-Match is ignored",
        "a merge replaces",
        "an insert-or-merge replaces",
        "operations are committed one by one",
        "the first operation is always named",
        "ETags are hashes of the content",
        "rows of a page come in UTF-8 order",
        "bounds are compared as UTF-8",
        "upper bounds are inclusive",
        "lower bounds are exclusive",
        "filters are ignored",
        "selections are ignored",
        "continuations skip a row",
        "deletes of tables never fail",
    ] {
        let caught = try_random(512, || crate::sabotage::store_with(name));
        assert!(caught.is_err(), "a store where {name} agrees with the model");
    }
}
