//! Two programs, one of which moves an entity and stalls before each of its calls while the other runs, time passes and
//! relays work.

use std::time::Duration;

use futures_util::FutureExt;
use tablemodel::{Consistency, ErrorKind, Result, prelude::*, testing::TestDatabase};

use super::{Guest, Member, Model, assert_exact, database, guests, member, members, settle};
use crate::stall::{Program, is_fair};

/// What a program does to member 1 of club A, and guest 1 of club A.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Move(&'static str),
    MoveGuest(&'static str),
    /// Moves the other member to the same key.
    MoveOther,
    InsertThere,
    UpsertHere,
    InsertHere,
    DeleteHere,
    DeleteThere,
    Rename,
    /// Another member with the first one's values.
    TakeValues,
    /// There, and away again.
    MoveOn,
    DeleteGuests,
    InsertGuestThere,
}

async fn run(db: &Database, op: Op) -> Result<()> {
    let at = |club: &'static str, id| Member::find().club(club).id(id);
    let rekey = async |from: &'static str, id: u32, to: &str| match at(from, id).one(db).await? {
        Some(mut m) => {
            (m.club, m.id) = (to.into(), 1);
            db.rekey(&mut m).await
        }
        None => Ok(()),
    };
    let delete = async |club: &'static str| match at(club, 1).one(db).await? {
        Some(m) => db.delete(m).await,
        None => Ok(()),
    };
    match op {
        Op::Move(club) => rekey("A", 1, club).await,
        Op::MoveOther => rekey("C", 2, "B").await,
        Op::MoveOn => {
            rekey("A", 1, "B").await?;
            rekey("B", 1, "A").await
        }
        Op::MoveGuest(club) => match Guest::find().club("A").id(1).one(db).await? {
            Some(mut g) => {
                g.club = club.into();
                db.rekey(&mut g).await
            }
            None => Ok(()),
        },
        Op::InsertGuestThere => db.insert(&Guest { club: "B".into(), id: 1, pass: 50 }).await.map(drop),
        Op::DeleteGuests => {
            for club in ["A", "B"] {
                if let Some(g) = Guest::find().club(club).id(1).one(db).await? {
                    db.delete(g).await?;
                }
            }
            Ok(())
        }
        Op::InsertThere => {
            db.insert(&Member { seat: Some(50), email: None, nick: None, ..member("B", 1) }).await.map(drop)
        }
        Op::UpsertHere => db.upsert(&member("A", 1)).await.map(drop),
        Op::InsertHere => db.insert(&member("A", 1)).await.map(drop),
        Op::DeleteHere => delete("A").await,
        Op::DeleteThere => delete("B").await,
        Op::Rename => db.update(at("A", 1), |m| Ok(m.name = "renamed".into())).await.map(drop),
        Op::TakeValues => db.insert(&Member { seat: None, nick: None, id: 5, ..member("B", 1) }).await.map(drop),
    }
}

const RACES: [(Op, Op); 17] = [
    (Op::Move("B"), Op::Move("B")),
    (Op::Move("B"), Op::Move("C")),
    (Op::Move("B"), Op::MoveOther),
    (Op::Move("B"), Op::MoveOn),
    (Op::Move("B"), Op::InsertThere),
    (Op::Move("B"), Op::UpsertHere),
    (Op::Move("B"), Op::InsertHere),
    (Op::Move("B"), Op::DeleteHere),
    (Op::Move("B"), Op::DeleteThere),
    (Op::Move("B"), Op::Rename),
    (Op::Move("B"), Op::TakeValues),
    (Op::TakeValues, Op::Move("B")),
    (Op::InsertThere, Op::Move("B")),
    (Op::UpsertHere, Op::Move("B")),
    (Op::MoveGuest("B"), Op::MoveGuest("B")),
    (Op::MoveGuest("B"), Op::InsertGuestThere),
    (Op::MoveGuest("B"), Op::DeleteGuests),
];

const STALLS: [(u64, bool); 3] = [(0, false), (61, true), (2_000, true)];

async fn prepared() -> TestDatabase {
    let db = database(Consistency::Azure).await;
    db.insert(&member("A", 1)).await.unwrap();
    db.insert(&Member { seat: Some(60), ..member("C", 2) }).await.unwrap();
    db.insert(&Guest { club: "A".into(), id: 1, pass: 7 }).await.unwrap();
    db
}

/// How many there must be of those that began as member 1, the other member, and the guest; `None` where it depends.
fn conserved(first: Op, second: Op) -> bool {
    let changes = [Op::InsertThere, Op::InsertHere, Op::UpsertHere, Op::DeleteHere, Op::DeleteThere, Op::TakeValues];
    let guests = [Op::InsertGuestThere, Op::DeleteGuests];
    ![first, second].iter().any(|op| changes.contains(op) || guests.contains(op))
}

#[tokio::test]
async fn however_two_programs_interleave_each_entity_is_at_one_key_with_exactly_its_rows() {
    let mut points = 0;
    for (first, second) in RACES {
        for (stall, relays) in STALLS {
            for at in 0.. {
                let told = format!("{first:?} stalls {stall} s before call {at}, {second:?}, relay {relays}");
                let db = prepared().await;
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
                let told = format!("{told}: {result:?}, {others:?}");
                assert!(is_fair(&result) && is_fair(&others), "{told}");
                settle(&db).await;
                assert_exact(&db, &told).await;
                if conserved(first, second) {
                    let emails: Vec<_> = members(&db).await.into_iter().filter_map(|m| m.email).collect();
                    let (one, two) = ("e1@x".to_owned(), "e2@x".to_owned());
                    assert!(emails.len() == 2 && emails.contains(&one) && emails.contains(&two), "{told}: {emails:?}");
                    assert_eq!(guests(&db).await.len(), 1, "{told}");
                }
                // Nothing stays reserved or claimed: each key and value can be taken, or is told to be.
                db.clock().advance(Duration::from_secs(61));
                for op in [Op::InsertThere, Op::InsertHere, Op::InsertGuestThere] {
                    let last = run(&db, op).await;
                    let kind = last.as_ref().err().map(|error| error.kind());
                    let taken =
                        matches!(kind, None | Some(ErrorKind::AlreadyExists | ErrorKind::UniqueViolation { .. }));
                    assert!(taken, "{told}, at last {op:?}: {last:?}");
                }
                settle(&db).await;
                assert_exact(&db, &format!("{told}, at last")).await;
            }
        }
    }
    assert!(points > 500, "{points} points");
}
