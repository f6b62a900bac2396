//! Random histories of three programs of different versions over one store: nothing is lost, and every derived row is
//! exactly that of its entity's version.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tablemodel::{Consistency, ErrorKind, Result, prelude::*, testing::TestDatabase};

use super::{Person, Programs, assert_clean, person, programs, settle, v1, v2, v3};

#[derive(Debug, Clone, Copy)]
enum What {
    Insert,
    Upsert,
    Update,
    Patch,
    Delete,
    Upgrade,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    what: What,
    by: u32,
    id: u32,
    value: u32,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let what = prop_oneof![
        3 => Just(What::Insert),
        2 => Just(What::Upsert),
        4 => Just(What::Update),
        2 => Just(What::Patch),
        1 => Just(What::Delete),
        2 => Just(What::Upgrade),
    ];
    let step = (what, 1..=3_u32, 1..=4_u32, 0..6_u32).prop_map(|(what, by, id, value)| Step { what, by, id, value });
    prop::collection::vec(step, 1..16)
}

impl Step {
    fn person(self) -> Person {
        let Self { id, value, .. } = self;
        let city = ["Bonn", "Oslo", "Rome"][value as usize % 3].to_owned();
        Person { email: format!("E{id}v{value}@X"), last: format!("L{value}"), city, age: 20 + value, ..person(id) }
    }

    async fn run(self, all: &Programs) -> Result<()> {
        match self.by {
            1 => self.by_v1(&all.v1).await,
            2 => self.by_v2(&all.v2).await,
            _ => self.by_v3(&all.v3).await,
        }
    }
}

macro_rules! program {
    ($name:ident, $version:ident, $patch:expr) => {
        impl Step {
            async fn $name(self, db: &TestDatabase) -> Result<()> {
                let path = || $version::Employee::find().department("Sales").id(self.id);
                let new = self.person().$version();
                match self.what {
                    What::Insert => db.insert(&new).await.map(drop),
                    What::Upsert => db.upsert(&new).await.map(drop),
                    What::Update => db.update(path(), |one| Ok(*one = new.clone())).await.map(drop),
                    What::Patch => db.patch(path(), $patch).await,
                    What::Delete => match path().one(db).await? {
                        Some(one) => db.delete(one).await,
                        None => Ok(()),
                    },
                    What::Upgrade => match path().one(db).await? {
                        Some(mut one) => db.upgrade(&mut one).await.map(drop),
                        None => Ok(()),
                    },
                }
            }
        }
    };
}

program!(by_v1, v1, v1::Employee::NOTE.set("x"));
program!(by_v2, v2, v2::Employee::NOTE.set("x"));
program!(by_v3, v3, v3::Employee::SKILLS.set(vec!["x".to_owned()]));

/// What lives, and the version of its row.
type Lives = BTreeMap<u32, (Person, u32)>;

/// What the step means; the error that it must have.
fn expect(lives: &mut Lives, step: Step) -> Option<ErrorKind> {
    let there = lives.get(&step.id).cloned();
    match (step.what, there) {
        (What::Insert, Some(_)) => return Some(ErrorKind::AlreadyExists),
        (What::Update | What::Patch, None) => return Some(ErrorKind::NotFound),
        (What::Delete | What::Upgrade, None) => {}
        (What::Upsert | What::Update | What::Patch | What::Delete | What::Upgrade, Some((_, by))) if by > step.by => {
            return Some(ErrorKind::UnknownVersion);
        }
        (What::Insert | What::Upsert, None) | (What::Upsert | What::Update, Some(_)) => {
            lives.insert(step.id, (step.person(), step.by));
        }
        (What::Patch | What::Upgrade, Some((person, _))) => drop(lives.insert(step.id, (person, step.by))),
        (What::Delete, Some(_)) => drop(lives.remove(&step.id)),
    }
    None
}

async fn check(mode: Consistency, steps: &[Step]) {
    let all = programs(mode).await;
    let mut lives = Lives::new();
    for (number, step) in steps.iter().enumerate() {
        let told = format!("{mode:?}, step {number} of {steps:?}");
        let expected = expect(&mut lives, *step);
        let result = step.run(&all).await;
        assert_eq!(result.err().map(|error| error.kind().clone()), expected, "{told}");
        if number + 1 == steps.len() || number % 5 == 4 {
            settle(&all.v3).await;
            assert_clean(&all.v3, &told).await;
        }
    }
    let found = v3::Employee::find().department("Sales").all(&all.v3).await.unwrap();
    let versions: Vec<_> = found.iter().map(|one| one.version()).collect();
    assert_eq!(versions, lives.values().map(|(_, by)| Some(*by)).collect::<Vec<_>>());
    let found: Vec<_> = found.into_iter().map(Stored::into_inner).collect();
    assert_eq!(found, lives.values().map(|(person, _)| person.v3()).collect::<Vec<_>>());
    let sales = v3::Department::find_sales(&all.v3).await;
    assert_eq!(sales.employees, lives.len() as i64);
    assert_eq!(sales.oldest, lives.values().map(|(person, _)| person.age).max());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn versions_that_write_in_any_order_lose_nothing(steps in steps(), atomic in any::<bool>()) {
        let mode = if atomic { Consistency::Atomic } else { Consistency::Azure };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check(mode, &steps));
    }
}
