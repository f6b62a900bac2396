//! Partitions of one row each: what walks over them, brings them or takes them away has many of its requests under way.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use tablemodel::{
    Consistency, ErrorKind, Row, RowKey, Verified, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition, Receipts, StoreError, TableStore},
    testing::TestDatabase,
};

use crate::{
    between::{Around, Between},
    migrate::{MODES, program_over, store_of},
    tools::rows_in,
};

/// The release that has an index, each of whose rows stands alone in its partition, as each entity does.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Users", entity_type = "User", partition = "{id:06}", row = "user")]
#[table(index(by_email, table = "Emails", partition = "{email}", row = "{id:06}", keys_only))]
struct User {
    id: u32,
    email: String,
}

#[derive(TableModel)]
enum Users {
    User(User),
}

/// The one that dropped it.
mod dropped {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Users", entity_type = "User", partition = "{id:06}", row = "user")]
    pub(super) struct User {
        id: u32,
        email: String,
    }

    #[derive(TableModel)]
    pub(super) enum Users {
        User(User),
    }
}

const USERS: u32 = 1_000;

fn email(id: u32) -> String {
    format!("u{id:06}@x")
}

async fn filled(mode: Consistency) -> TestDatabase {
    let db = store_of::<Users>(mode).await;
    let users = (0..USERS).map(|id| User { id, email: email(id) });
    db.bulk().insert_iter(users).await.unwrap().into_result().unwrap();
    db.clock().advance(Duration::from_secs(130));
    db
}

/// How many requests are under way, and were at most.
#[derive(Default)]
struct Peak {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Peak {
    async fn during<T>(&self, request: impl Future<Output = T>) -> T {
        self.most.fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
        tokio::task::yield_now().await;
        let answer = request.await;
        self.now.fetch_sub(1, SeqCst);
        answer
    }

    fn take(&self) -> usize {
        self.most.swap(0, SeqCst)
    }
}

/// Counts point reads, and commits to the table of the index; and how many of these a commit of states met.
#[derive(Default)]
struct Counting {
    reads: Peak,
    commits: Peak,
    beside_states: AtomicUsize,
}

#[async_trait]
impl Between for Counting {
    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        self.reads.during(inner.get(table, key)).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        let is_of = |table: &str| batches.iter().any(|batch| batch.table == table);
        if is_of("Emails") {
            return self.commits.during(inner.commit(batches)).await;
        }
        if is_of("tmschema") {
            self.beside_states.fetch_max(self.commits.now.load(SeqCst), SeqCst);
        }
        inner.commit(batches).await
    }
}

async fn counted<M: TableModel>(db: &TestDatabase) -> (Arc<Around<Counting>>, Database) {
    let store = Around::over(db.store(), Counting::default());
    let program = program_over::<M>(db, store.clone()).await;
    store.reads.take();
    store.commits.take();
    (store, program)
}

#[tokio::test]
async fn entities_are_looked_up_by_their_keys_sixteen_at_a_time_and_come_in_order() {
    let db = filled(Consistency::Azure).await;
    let (store, program) = counted::<Users>(&db).await;
    let ids: Vec<_> = (0..USERS).rev().step_by(3).collect();
    let keys = ids.iter().map(|id| RowKey::new(format!("{id:06}"), "user"));
    let found = program.get_many::<User>(keys).await.unwrap();
    assert_eq!(found.iter().flatten().map(|user| user.id).collect::<Vec<_>>(), ids);
    assert_eq!(store.reads.take(), 16);
}

#[tokio::test]
async fn a_walk_looks_at_rows_of_many_partitions_at_a_time_and_tells_them_in_order() {
    for mode in MODES {
        let db = filled(mode).await;
        let (store, program) = counted::<Users>(&db).await;
        let verified = program.verify().await.unwrap();
        assert!(verified.is_clean(), "{mode:?}: {verified:?}");
        assert_eq!((verified.entities, verified.derived), (USERS.into(), USERS.into()), "{mode:?}");
        let most = store.reads.take();
        assert!((8..=16).contains(&most), "{mode:?}: {most} at a time");

        let lost = [3, 4, 500, 999];
        for id in lost {
            let delete = Action::Delete(Condition::Exists);
            db.store().commit(&[Batch::new("Emails", email(id)).with(format!("{id:06}"), delete)]).await.unwrap();
        }
        let told = |verified: &Verified| -> Vec<_> {
            verified.violations.iter().map(|of| (of.kind, of.key.partition.clone())).collect()
        };
        let missing = lost.map(|id| (ViolationKind::Missing, email(id)));
        assert_eq!(told(&program.verify().await.unwrap()), missing, "{mode:?}");
    }
}

/// However many are checked together.
#[tokio::test]
async fn a_walk_stops_at_the_partition_where_it_was_told_to() {
    for mode in MODES {
        let db = filled(mode).await;
        let whole = db.verify().await.unwrap();
        let (mut pieces, mut rows, mut told) = (0, 0, 0);
        let mut verified = db.verify().rows(137).progress(|_| told += 1).await.unwrap();
        assert_eq!(told, 137, "{mode:?}: after each partition");
        loop {
            (pieces, rows) = (pieces + 1, rows + verified.rows);
            let Some(next) = verified.next.take() else { break };
            assert_eq!(verified.rows, 137, "{mode:?}");
            verified = db.verify().from(next).rows(137).await.unwrap();
        }
        assert_eq!((pieces, rows), (whole.rows.div_ceil(137), whole.rows), "{mode:?}");
    }
}

/// Also where partitions are looked through beside the reading of the next ones.
#[tokio::test]
async fn a_long_walk_stops_where_it_was_told_to_as_well() {
    const MANY: u32 = 2_600;
    let db = store_of::<Users>(Consistency::Atomic).await;
    let users = (0..MANY).map(|id| User { id, email: email(id) });
    db.bulk().insert_iter(users).await.unwrap().into_result().unwrap();
    let whole = db.verify().await.unwrap();
    assert!(whole.is_clean() && whole.rows >= 2 * u64::from(MANY), "{whole:?}");
    for limit in [999, 1_000, 1_001, 1_999, 2_000, 2_001, 2_599, 3_100, whole.rows - 1, whole.rows, whole.rows + 1] {
        let (mut rows, mut entities) = (0, 0);
        let mut verified = db.verify().rows(limit).await.unwrap();
        loop {
            (rows, entities) = (rows + verified.rows, entities + verified.entities);
            assert!(verified.is_clean(), "{limit}: {:?}", verified.violations);
            let Some(next) = verified.next.take() else { break };
            // A table that ends just there is no place to stop at: one more row is looked at.
            assert!((limit..=limit + 1).contains(&verified.rows), "{limit}: {}", verified.rows);
            verified = db.verify().from(next).rows(limit).await.unwrap();
        }
        assert_eq!((rows, entities), (whole.rows, whole.entities), "{limit}");
    }
}

async fn exported(db: &Database) -> String {
    let mut lines = Vec::new();
    db.export(&mut lines).await.unwrap();
    String::from_utf8(lines).unwrap()
}

/// A store without a table.
async fn fresh(mode: Consistency) -> TestDatabase {
    let db = store_of::<Users>(mode).await;
    db.drop_tables().await.unwrap();
    db
}

#[tokio::test]
async fn an_import_brings_many_partitions_at_a_time_and_the_states_at_the_end() {
    for mode in MODES {
        let db = filled(mode).await;
        let lines = exported(&db).await;
        let copy = fresh(mode).await;
        let (store, program) = counted::<Users>(&copy).await;
        let imported = program.import(lines.as_bytes()).await.unwrap();
        assert_eq!(imported.rows, lines.lines().count() as u64, "{mode:?}");
        let most = store.commits.take();
        assert!((8..=32).contains(&most), "{mode:?}: {most} at a time");
        assert_eq!(store.beside_states.load(SeqCst), 0, "{mode:?}: a table is whole before the next");
        for table in ["Emails", "Users"] {
            assert_eq!(rows_in(&*copy.store(), table).await, rows_in(&*db.store(), table).await, "{mode:?}");
        }
        assert!(program.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}

#[tokio::test]
async fn an_import_names_the_first_line_that_is_refused_and_ends() {
    for mode in MODES {
        let db = filled(mode).await;
        let lines = exported(&db).await;
        let first = lines.lines().next().unwrap();
        assert!(first.contains(&email(0)), "{first}");
        let copy = fresh(mode).await;
        copy.store().create_table("Emails").await.unwrap();
        for id in [20, 3, 7] {
            let row = Action::Insert(tablemodel::Properties::new());
            copy.store().commit(&[Batch::new("Emails", email(id)).with(format!("{id:06}"), row)]).await.unwrap();
        }
        let error = copy.import(lines.as_bytes()).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::AlreadyExists, "{mode:?}: {error}");
        assert!(error.to_string().contains("line 4 "), "{mode:?}: {error}");
        let states = rows_in(&*copy.store(), "tmschema").await;
        let is_state = |row: &str| row.contains("index|") || row.contains("entity|");
        assert!(
            !states.iter().any(|row| is_state(&format!("{row:?}"))),
            "{mode:?}: nothing is taken after it: {states:?}"
        );

        // One that comes twice is refused where it comes again.
        let twice = format!("{lines}{first}\n");
        let error = fresh(mode).await.import(twice.as_bytes()).await.unwrap_err();
        let again = format!("line {} ", lines.lines().count() + 1);
        assert!(error.to_string().contains(&again), "{mode:?}: {error}");
    }
}

#[tokio::test]
async fn what_is_dropped_or_taken_back_goes_from_many_partitions_at_a_time() {
    for mode in MODES {
        let db = filled(mode).await;
        let (store, program) = counted::<dropped::Users>(&db).await;
        let gone = program.migrations().contract().await.unwrap();
        assert_eq!(gone.rows, u64::from(USERS), "{mode:?}: {gone:?}");
        let most = store.commits.take();
        assert!((8..=32).contains(&most), "{mode:?}: {most} at a time");
        assert!(rows_in(&*db.store(), "Emails").await.is_empty(), "{mode:?}");
        assert!(program.verify().await.unwrap().is_clean(), "{mode:?}");
        program.close().await.unwrap();

        let (store, program) = counted::<Users>(&db).await;
        program.ensure_tables().await.unwrap();
        assert!(program.migrations().apply().await.unwrap().is_complete(), "{mode:?}");
        assert_eq!(rows_in(&*db.store(), "Emails").await.len(), USERS as usize, "{mode:?}");
        store.commits.take();
        let gone = program.migrations().rollback().await.unwrap();
        assert_eq!(gone.rows, u64::from(USERS), "{mode:?}: {gone:?}");
        assert!(store.commits.take() >= 8, "{mode:?}");
        assert!(rows_in(&*db.store(), "Emails").await.is_empty(), "{mode:?}");
    }
}
