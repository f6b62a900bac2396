//! Writers and relays at once: each store call is a point at which another may come between. First every such point of
//! every pair, then random schedules of several.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use async_trait::async_trait;
use proptest::prelude::*;
use tablemodel::{
    Consistency, Database, ErrorKind, Result,
    prelude::*,
    store::{
        Batch, Capabilities, MemoryStore, Page, Query, Receipts, RowKey, StoreError, TableStore,
        clock::{Clock, ManualClock},
        fault::{Call, Request},
    },
    testing::Fault,
};

use super::{Badge, Department, Desk, Employee, MODES, Model, at, badge, department, desk, employee, faults, note};
use crate::{
    between::{Around, Between},
    points::points,
    stall::NoSleep,
};

/// Crashes at the first read of an outbox row: delivery begins with it.
pub(super) fn die_in_delivery(call: &Call<'_>) -> Option<Fault> {
    match call.request {
        Request::Get(_, key) if key.row.starts_with("~~out|") => Some(Fault::CrashBefore),
        _ => None,
    }
}

/// Lets others go first before every call.
pub(super) struct Yielding;

/// Ready when it is polled for the second time.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[async_trait]
impl Between for Yielding {
    fn capabilities(&self, inner: Capabilities) -> Capabilities {
        Capabilities { may_lose_reply: true, ..inner }
    }

    async fn get(&self, inner: &dyn TableStore, table: &str, key: &RowKey) -> Result<Option<Row>, StoreError> {
        Once(false).await;
        inner.get(table, key).await
    }

    async fn query(&self, inner: &dyn TableStore, query: &Query) -> Result<Page, StoreError> {
        Once(false).await;
        inner.query(query).await
    }

    async fn commit(&self, inner: &dyn TableStore, batches: &[Batch]) -> Result<Vec<Receipts>, StoreError> {
        Once(false).await;
        inner.commit(batches).await
    }
}

/// The store, its clock, one who settles, and those who race.
struct Field {
    store: Arc<dyn TableStore>,
    clock: ManualClock,
    calm: Database,
    racers: Vec<Database>,
}

/// A store as all races of a mode begin with it.
struct Start {
    store: MemoryStore,
    clock: ManualClock,
    mode: Consistency,
}

async fn open(store: Arc<dyn TableStore>, clock: &ManualClock, mode: Consistency) -> Database {
    let builder = Database::builder().clock(Arc::new(clock.clone())).sleep(Arc::new(NoSleep)).deadline(Duration::MAX);
    builder.consistency(mode).with_store::<Model>(store).await.unwrap()
}

impl Start {
    async fn new(mode: Consistency) -> Self {
        let clock = ManualClock::new(tablemodel::DateTime::from_unix_seconds(1_577_836_800).unwrap());
        let store = MemoryStore::builder().clock(clock.clone()).build();
        let calm = open(Arc::new(store.clone()), &clock, mode).await;
        calm.ensure_tables().await.unwrap();
        for id in 1..=3 {
            calm.insert(&employee("A", id)).await.unwrap();
        }
        for number in 1..=2 {
            calm.insert(&department("A", number, 1)).await.unwrap();
        }
        calm.insert(&desk(1, 1)).await.unwrap();
        calm.insert(&badge(2, 2)).await.unwrap();
        calm.insert(&note(1, 1)).await.unwrap();
        Self { store, clock, mode }
    }

    /// A copy of it, with so many who race.
    async fn field(&self, racers: usize) -> Field {
        let clock = ManualClock::new(self.clock.now());
        let store: Arc<dyn TableStore> = Arc::new(self.store.fork(clock.clone()));
        let calm = open(store.clone(), &clock, self.mode).await;
        let mut all = Vec::new();
        for _ in 0..racers {
            all.push(open(Around::over(store.clone(), Yielding), &clock, self.mode).await);
        }
        Field { store, clock, calm, racers: all }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    InsertDesk,
    InsertBeside,
    InsertBadge,
    Repoint,
    RepointBeside,
    RepointBadge,
    Away,
    DeleteDesk,
    Save,
    Patch,
    Delete,
    Reborn,
    MoveBeside,
    InsertSource,
    Relay,
}

const STEPS: [Step; 15] = [
    Step::InsertDesk,
    Step::InsertBeside,
    Step::InsertBadge,
    Step::Repoint,
    Step::RepointBeside,
    Step::RepointBadge,
    Step::Away,
    Step::DeleteDesk,
    Step::Save,
    Step::Patch,
    Step::Delete,
    Step::Reborn,
    Step::MoveBeside,
    Step::InsertSource,
    Step::Relay,
];

/// One of each kind: what another does at once.
const COMING_BETWEEN: [Step; 9] = [
    Step::InsertDesk,
    Step::InsertBeside,
    Step::InsertBadge,
    Step::Repoint,
    Step::Save,
    Step::Delete,
    Step::Reborn,
    Step::InsertSource,
    Step::Relay,
];

/// `who` tells racers apart, so that each writes something of its own.
async fn take(db: &Database, step: Step, who: u32) -> Result<()> {
    let name = format!("by{who}");
    let the_desk = || Desk::find().room("r1").place(1);
    match step {
        Step::InsertDesk => db.insert(&desk(10 + who, 1)).await.map(drop),
        Step::InsertBeside => db.insert(&department("A", 10 + who as u8, 1)).await.map(drop),
        Step::InsertBadge => db.insert(&badge(10 + who, 1)).await.map(drop),
        Step::Repoint => db.update(the_desk(), |d| Ok(d.sitter = Some(2 + who % 2))).await.map(drop),
        Step::RepointBeside => {
            db.update(Department::find().name("A").number(2), |d| Ok(d.manager_id = Some(3))).await.map(drop)
        }
        Step::RepointBadge => db.update(Badge::find().number(2), |b| Ok(b.id = 1)).await.map(drop),
        Step::Away => db.update(the_desk(), |d| Ok(d.sitter = None)).await.map(drop),
        Step::DeleteDesk => match the_desk().one(db).await? {
            Some(desk) => db.delete(desk).await,
            None => Ok(()),
        },
        Step::Save => db.update(at!("A", 1), |e| Ok(e.first_name = name.clone())).await.map(drop),
        Step::Patch => db.patch(at!("A", 1), Employee::FIRST_NAME.set(name)).await,
        Step::Delete => match at!("A", 1).one(db).await? {
            Some(source) => db.delete(source).await,
            None => Ok(()),
        },
        Step::Reborn => {
            if let Some(source) = at!("A", 1).one(db).await? {
                db.delete(source).await?;
            }
            db.insert(&Employee { first_name: name, ..employee("A", 1) }).await.map(drop)
        }
        // To another key, and to one who is not there.
        Step::MoveBeside => {
            let change = |d: &mut Department| Ok((d.number, d.manager_id) = (12, Some(7)));
            db.update(Department::find().name("A").number(2), change).await.map(drop)
        }
        Step::InsertSource => db.insert(&employee("A", 7)).await.map(drop),
        Step::Relay => db.relay().run_once().await.map(drop),
    }
}

/// What a racer still has to do.
type Task<'a> = Option<Pin<Box<dyn Future<Output = Result<()>> + 'a>>>;

/// Polls the racers in turns as `schedule` says, and then to their ends; what they may fail with is checked.
fn race(field: &Field, steps: &[Step], schedule: impl Iterator<Item = usize>, told: &str) -> usize {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (who, (db, step)) in field.racers.iter().zip(steps).enumerate() {
        tasks.push(Some(Box::pin(take(db, *step, who as u32))));
    }
    let mut context = Context::from_waker(Waker::noop());
    let mut polls = 0;
    let mut poll = |at: usize, tasks: &mut Vec<Task<'_>>| {
        let Some(task) = tasks[at].as_mut() else { return false };
        polls += 1;
        let Poll::Ready(result) = task.as_mut().poll(&mut context) else { return true };
        tasks[at] = None;
        if let Err(error) = result {
            let may = matches!(
                error.kind(),
                ErrorKind::Conflict { .. }
                    | ErrorKind::Restricted { .. }
                    | ErrorKind::NotFound
                    | ErrorKind::AlreadyExists
                    | ErrorKind::Unavailable
            );
            assert!(may, "{told}: {error:?}");
        }
        false
    };
    for at in schedule {
        poll(at % steps.len(), &mut tasks);
    }
    for at in 0..steps.len() {
        while poll(at, &mut tasks) {}
    }
    polls
}

async fn settled(field: &Field, told: &str) {
    for _ in 0..20 {
        field.clock.advance(Duration::from_secs(60));
        if field.calm.relay().run_once().await.unwrap().is_settled() {
            // A registration whose writer gave up is found out when it has expired.
            let wrong = faults(&*field.store).await;
            assert_eq!(wrong, Vec::<String>::new(), "{told}");
            return;
        }
    }
    panic!("{told}: the relay does not settle");
}

#[tokio::test]
async fn another_writer_at_any_store_call_leaves_every_copy_as_its_source_is() {
    let mut there = 0;
    for mode in MODES {
        let start = Start::new(mode).await;
        for first in STEPS {
            // How often it calls the store when it is alone: once less than it is polled.
            let calls = race(&start.field(1).await, &[first], std::iter::empty(), "alone") - 1;
            for second in COMING_BETWEEN {
                let told = format!("{mode:?}: {first:?} and {second:?}");
                let mut tried = 0;
                // The first stops before its n-th call, and the second goes all the way.
                for n in points(calls, 3, &told) {
                    let told = format!("{told} before call {n}");
                    let field = start.field(2).await;
                    let schedule = std::iter::repeat_n(0, n + 1).chain(std::iter::repeat_n(1, 2_000));
                    let total = race(&field, &[first, second], schedule, &told);
                    settled(&field, &told).await;
                    assert!(total > n + 1, "{told}: nobody went on");
                    tried += 1;
                }
                assert!(tried >= calls.min(3), "{told}: {tried} of {calls} calls");
                there += calls;
            }
        }
    }
    assert!(there > 900, "{there} points");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn writers_and_relays_in_any_order_leave_every_copy_as_its_source_is(
        steps in prop::collection::vec(prop::sample::select(STEPS.to_vec()), 2..5),
        schedule in prop::collection::vec(0..4_usize, 0..120),
        is_atomic in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mode = if is_atomic { Consistency::Atomic } else { Consistency::Azure };
            let field = Start::new(mode).await.field(steps.len()).await;
            let told = format!("{mode:?} {steps:?} {schedule:?}");
            race(&field, &steps, schedule.into_iter(), &told);
            settled(&field, &told).await;
        });
    }
}

#[tokio::test]
async fn a_holder_may_come_between_the_end_of_its_source_and_the_next_life() {
    let cases: [(&[Step], &[usize]); 2] = [
        (&[Step::RepointBadge, Step::InsertDesk, Step::Reborn, Step::InsertBeside], &[2, 2, 2, 2, 2, 2, 2, 3, 2, 3]),
        (&[Step::Reborn, Step::InsertBadge, Step::InsertBeside], &[2, 3, 0, 3, 2, 3, 3, 3, 0, 0, 2, 2]),
    ];
    for (steps, schedule) in cases {
        let told = format!("{steps:?}");
        let field = Start::new(Consistency::Azure).await.field(steps.len()).await;
        race(&field, steps, schedule.iter().copied(), &told);
        settled(&field, &told).await;
    }
}
