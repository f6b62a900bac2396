//! Any sequence of operations, in both modes, against a map of values to members.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tablemodel::{ErrorKind, prelude::*};

use super::{MODES, Member, assert_exact, database, find, member, members};

#[derive(Debug, Clone, Copy)]
enum Op {
    Insert(u32, Option<u8>),
    Save(u32, Option<u8>),
    Upsert(u32, Option<u8>),
    Delete(u32),
    /// Both in one batch, where they exist and are of one club: the first takes, the second takes.
    Both((u32, Option<u8>), (u32, Option<u8>)),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let value = || prop::option::weighted(0.8, 0..3_u8);
    let op = prop_oneof![
        2 => (1..5_u32, value()).prop_map(|(id, v)| Op::Insert(id, v)),
        3 => (1..5_u32, value()).prop_map(|(id, v)| Op::Save(id, v)),
        2 => (1..5_u32, value()).prop_map(|(id, v)| Op::Upsert(id, v)),
        1 => (1..5_u32).prop_map(Op::Delete),
        1 => ((1..3_u32, value()), (3..5_u32, value())).prop_map(|(a, b)| Op::Both(a, b)),
    ];
    prop::collection::vec(op, 1..14)
}

/// Who has what; a member without a value is there too.
type Oracle = BTreeMap<u32, Option<u8>>;

fn is_free(oracle: &Oracle, id: u32, value: Option<u8>) -> bool {
    value.is_none() || oracle.iter().all(|(other, has)| *other == id || *has != value)
}

fn with(id: u32, value: Option<u8>) -> Member {
    Member { email: value.map(|v| format!("V{v}@x")), badge: None, ..member("A", id) }
}

/// Does it; whether it was done.
async fn run(db: &Database, op: Op) -> bool {
    let save = async |id: u32, value: Option<u8>| match find(db, "A", id).await {
        Some(mut m) => {
            m.email = with(id, value).email;
            db.save(&mut m).await
        }
        None => Err(tablemodel::Error::new(ErrorKind::NotFound, "")),
    };
    let result = match op {
        Op::Insert(id, value) => db.insert(&with(id, value)).await.map(drop),
        Op::Save(id, value) => save(id, value).await,
        Op::Upsert(id, value) => db.upsert(&with(id, value)).await.map(drop),
        Op::Delete(id) => match find(db, "A", id).await {
            Some(m) => db.delete(m).await,
            None => Err(tablemodel::Error::new(ErrorKind::NotFound, "")),
        },
        Op::Both((a, first), (b, second)) => match (find(db, "A", a).await, find(db, "A", b).await) {
            (Some(mut a), Some(mut b)) => {
                (a.email, b.email) = (with(0, first).email, with(0, second).email);
                let mut batch = db.batch(Member::in_partition("A"));
                batch.save(&mut a).save(&mut b);
                batch.commit().await
            }
            _ => Err(tablemodel::Error::new(ErrorKind::NotFound, "")),
        },
    };
    if let Err(error) = &result {
        let kind = error.kind();
        assert!(
            matches!(kind, ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::UniqueViolation { .. }),
            "{op:?}: {error:?}"
        );
    }
    result.is_ok()
}

/// Whether it is to be done, and what it leaves.
fn expect(oracle: &Oracle, op: Op, one_commit: bool) -> Option<Oracle> {
    let mut after = oracle.clone();
    match op {
        Op::Insert(id, value) => {
            (!oracle.contains_key(&id) && is_free(oracle, id, value)).then(|| after.insert(id, value))?;
        }
        Op::Save(id, value) => {
            (oracle.contains_key(&id) && is_free(oracle, id, value)).then(|| after.insert(id, value))?;
        }
        Op::Upsert(id, value) => {
            is_free(oracle, id, value).then(|| after.insert(id, value))?;
        }
        Op::Delete(id) => {
            after.remove(&id)?;
        }
        Op::Both((a, first), (b, second)) => {
            (oracle.contains_key(&a) && oracle.contains_key(&b)).then_some(())?;
            // Where a claim is a commit of its own, what the other has before the batch cannot be taken in it.
            let taken = !one_commit && (!is_free(oracle, a, first) || !is_free(oracle, b, second));
            after.extend([(a, first), (b, second)]);
            let is_sound = is_free(&after, a, first) && is_free(&after, b, second) && !taken;
            is_sound.then_some(())?;
        }
    }
    Some(after)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn values_are_had_as_the_oracle_says(ops in ops()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for mode in MODES {
                let db = database(mode).await;
                let mut oracle = Oracle::new();
                for op in &ops {
                    let expected = expect(&oracle, *op, mode == tablemodel::Consistency::Atomic);
                    let told = format!("{mode:?} {op:?} of {ops:?}");
                    // A claim that a refused batch left behind belongs to nobody once it has expired.
                    db.clock().advance(std::time::Duration::from_secs(61));
                    assert_eq!(run(&db, *op).await, expected.is_some(), "{told}");
                    oracle = expected.unwrap_or(oracle);
                    let now: Oracle = members(&db).await.into_iter()
                        .map(|m| (m.id, m.email.map(|email| email[1..2].parse().unwrap())))
                        .collect();
                    assert_eq!(now, oracle, "{told}");
                    assert_exact(&db, &told).await;
                }
            }
        });
    }
}
