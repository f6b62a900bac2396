//! Two programs race for values, one stalled before each of its calls while the other runs, time passes and relays work:
//! a value is never in two hands, and in the end every claim is its entity's.

use std::time::Duration;

use futures_util::FutureExt;
use tablemodel::{Consistency, ErrorKind, Result, prelude::*, testing::TestDatabase};

use super::{Member, Model, assert_exact, database, find, member, settle};
use crate::stall::{Program, is_fair};

/// What a program does to the members 1 and 2 of club A and 3 of club B. `V` is the value that all are after.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    /// Inserts this member with the value.
    Insert(u32),
    /// Gives this member the value.
    Take(u32),
    /// Gives this member another value.
    Give(u32),
    Delete(u32),
    Upsert(u32),
    /// Takes the value back and forth.
    TakeAndGive(u32),
    /// Is refused the value, since this member changes meanwhile.
    Outdated(u32),
    /// Goes to another key, and takes the value there.
    Move(u32),
    /// The same in another club.
    Far(u32),
}

const V: &str = "v@x";

fn club(id: u32) -> &'static str {
    if id == 3 { "B" } else { "A" }
}

fn with(id: u32, email: &str) -> Member {
    Member { email: Some(email.into()), badge: None, ..member(club(id), id) }
}

async fn set(db: &Database, id: u32, email: &str) -> Result<()> {
    let Some(mut m) = Member::find().club(club(id)).id(id).one(db).await? else { return Ok(()) };
    m.email = Some(email.into());
    db.save(&mut m).await
}

async fn run(db: &Database, op: Op) -> Result<()> {
    match op {
        Op::Insert(id) => db.insert(&with(id, V)).await.map(drop),
        Op::Take(id) => set(db, id, V).await,
        Op::Give(id) => set(db, id, "given@x").await,
        Op::Upsert(id) => db.upsert(&with(id, V)).await.map(drop),
        Op::Delete(id) => match Member::find().club(club(id)).id(id).one(db).await? {
            Some(m) => db.delete(m).await,
            None => Ok(()),
        },
        Op::TakeAndGive(id) => {
            set(db, id, V).await?;
            set(db, id, "given@x").await
        }
        Op::Outdated(id) => {
            let Some(mut m) = Member::find().club(club(id)).id(id).one(db).await? else { return Ok(()) };
            set(db, id, "other@x").await?;
            m.email = Some(V.into());
            db.save(&mut m).await
        }
        Op::Move(id) | Op::Far(id) => {
            let Some(mut m) = Member::find().club(club(id)).id(id).one(db).await? else { return Ok(()) };
            m.email = Some(V.into());
            match op {
                Op::Move(_) => m.id += 50,
                _ => m.club = "B".into(),
            }
            match op {
                Op::Move(_) => match db.save(&mut m).await {
                    // It has the value by now, which goes along.
                    Err(error) if *error.kind() == ErrorKind::KeyChanged => db.rekey(&mut m).await,
                    saved => saved,
                },
                _ => db.rekey(&mut m).await,
            }
        }
    }
}

/// Who has the value at first, if anybody, and the two programs.
const RACES: [(Option<u32>, Op, Op); 26] = [
    (None, Op::Insert(1), Op::Insert(3)),
    (None, Op::Upsert(1), Op::Upsert(3)),
    (None, Op::Insert(1), Op::Upsert(1)),
    (Some(1), Op::Give(1), Op::Insert(3)),
    (Some(1), Op::Delete(1), Op::Upsert(3)),
    (Some(1), Op::Insert(3), Op::Give(1)),
    (Some(1), Op::Upsert(3), Op::Delete(1)),
    (Some(1), Op::Give(1), Op::Delete(1)),
    (Some(1), Op::TakeAndGive(1), Op::Upsert(3)),
    (Some(3), Op::Take(3), Op::TakeAndGive(3)),
    (None, Op::TakeAndGive(2), Op::Insert(1)),
    (None, Op::Take(2), Op::Delete(2)),
    (None, Op::Take(2), Op::Upsert(2)),
    (Some(1), Op::Upsert(1), Op::TakeAndGive(1)),
    (None, Op::Outdated(2), Op::Insert(3)),
    (None, Op::Insert(3), Op::Outdated(2)),
    (None, Op::Outdated(2), Op::Take(2)),
    (None, Op::Take(2), Op::Outdated(2)),
    (None, Op::TakeAndGive(2), Op::Outdated(2)),
    (Some(1), Op::Outdated(2), Op::Give(1)),
    (None, Op::Take(2), Op::Move(2)),
    (None, Op::Move(2), Op::Take(2)),
    (None, Op::Take(2), Op::Far(2)),
    (None, Op::Far(2), Op::Take(2)),
    (None, Op::TakeAndGive(2), Op::Far(2)),
    (None, Op::Far(2), Op::Insert(3)),
];

/// How long the stalled program stalls, and whether a relay works before it goes on.
const STALLS: [(u64, bool); 4] = [(0, false), (61, false), (61, true), (2_000, true)];

async fn prepared(holder: Option<u32>) -> TestDatabase {
    let db = database(Consistency::Azure).await;
    db.insert(&with(2, "two@x")).await.unwrap();
    if let Some(id) = holder {
        db.insert(&with(id, V)).await.unwrap();
    }
    db
}

#[tokio::test]
async fn of_two_programs_interleaved_at_any_call_one_gets_the_value_and_the_claims_are_exact() {
    let mut points = 0;
    for (holder, first, second) in RACES {
        for (stall, relays) in STALLS {
            for at in 0.. {
                let told = format!(
                    "{holder:?} has it; {first:?} stalls {stall} s before call {at}, {second:?}, relay {relays}"
                );
                let db = prepared(holder).await;
                let other = db.clone();
                let (tell, heard) = tokio::sync::oneshot::channel();
                let meanwhile = async move {
                    other.clock().advance(Duration::from_secs(stall));
                    tell.send(run(&other, second).await).expect("it is awaited");
                    if relays {
                        for _ in 0..4 {
                            other.relay().run_once().await.unwrap();
                            other.clock().advance(Duration::from_secs(stall));
                        }
                    }
                };
                let program = Program::stalling::<Model>(&db, at, meanwhile.boxed()).await;
                let result = run(&program.db, first).await;
                if !program.has_stalled() {
                    break;
                }
                points += 1;
                let others = heard.await.unwrap();
                assert!(is_fair(&result) && is_fair(&others), "{told}: {result:?}, {others:?}");
                settle(&db).await;
                assert_exact(&db, &format!("{told}: {result:?}, {others:?}")).await;
                // Whoever wants the value in the end gets it, or is told who has it.
                db.clock().advance(Duration::from_secs(61));
                let last = db.insert(&Member { id: 9, ..with(3, V) }).await;
                match last.as_ref().err().map(|error| error.kind()) {
                    None => {}
                    Some(ErrorKind::UniqueViolation { owner: Some(owner), .. }) => {
                        let has = find(&db, &owner.partition, owner.row[2..].parse().unwrap()).await;
                        assert_eq!(has.and_then(|m| m.email.clone()), Some(V.to_owned()), "{told}");
                    }
                    Some(other) => panic!("{told}: {other:?}"),
                }
                settle(&db).await;
                assert_exact(&db, &format!("{told}, at last")).await;
            }
        }
    }
    assert!(points > 300, "{points} points");
}
