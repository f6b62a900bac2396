//! Faults at every store call of every operation: afterwards the table is as before or as after, never between, and the
//! answer says no more than what happened.
//!
//! The operations come from a list of kinds and a list of rooms, so that none can be left out.

use std::collections::BTreeMap;

use tablemodel::{
    Error, ErrorKind, Properties,
    prelude::*,
    store::StoreErrorKind,
    testing::{Fault, Script, TestDatabase},
};

use super::{
    Account, Club, Member, account, assert_clean, database, member, plant_row, rows_of, stored_account, stored_member,
    tombstone,
};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Insert,
    InsertOverTombstone,
    InsertRefused,
    Save,
    Move,
    MoveOntoTombstone,
    Upsert,
    UpsertOver,
    Update,
    Patch,
    PatchClear,
    Delete,
    Batch,
    Swap,
}

const KINDS: [Kind; 14] = [
    Kind::Insert,
    Kind::InsertOverTombstone,
    Kind::InsertRefused,
    Kind::Save,
    Kind::Move,
    Kind::MoveOntoTombstone,
    Kind::Upsert,
    Kind::UpsertOver,
    Kind::Update,
    Kind::Patch,
    Kind::PatchClear,
    Kind::Delete,
    Kind::Batch,
    Kind::Swap,
];

/// Which room's rows the operation touches, as an edit of a member.
type Room = (&'static str, fn(&mut Member));

const ROOMS: [Room; 9] = [
    ("model", |_| {}),
    ("whole copy", |m| m.last_name = "Smith".into()),
    ("keep", |m| m.first_name = "Ann".into()),
    ("keys only", |m| m.city = "Rome".into()),
    ("unique", |m| m.email = Some("new@x".into())),
    ("option", |m| m.email = None),
    ("when", |m| m.is_active = false),
    ("when some", |m| m.note = Some("n".into())),
    ("group and json", |m| (m.address.zip, m.skills) = (Some("1".into()), vec![])),
];

/// Every kind with every room that it can touch.
fn cases() -> impl Iterator<Item = (Kind, &'static str, fn(&mut Member))> {
    KINDS.into_iter().flat_map(|kind| {
        // These change no member as the room says.
        let rooms = if matches!(kind, Kind::Patch | Kind::PatchClear | Kind::Delete) { 1 } else { ROOMS.len() };
        ROOMS.into_iter().take(rooms).map(move |(room, edit)| (kind, room, edit))
    })
}

/// The table without what differs from run to run.
type Image = BTreeMap<(String, String), Properties>;

async fn image(db: &TestDatabase) -> Image {
    let rows = rows_of(&*db.store(), super::TABLE).await.into_iter();
    rows.map(|(key, mut row)| {
        row.properties.remove("_ops");
        (key, row.properties)
    })
    .collect()
}

/// A database with two members and an account, and tombstones where one is needed.
async fn prepared(kind: Kind) -> TestDatabase {
    let db = database().await;
    for id in [1, 2] {
        db.insert(&member("A", id)).await.expect("inserted");
    }
    db.insert(&super::Account { memo: Some("m".into()), ..account("A", 1) }).await.expect("inserted");
    if matches!(kind, Kind::InsertOverTombstone | Kind::MoveOntoTombstone) {
        plant_row(&db, "A", "m_0003", tombstone("Member", 3, super::ticks(&db) + 70)).await;
    }
    db.forget_calls();
    db
}

async fn act(db: &TestDatabase, kind: Kind, edit: fn(&mut Member), handles: Handles) -> Result<(), Error> {
    let edited = |id| {
        let mut edited = member("A", id);
        edit(&mut edited);
        edited
    };
    let Handles { mut one, mut two, account } = handles;
    match kind {
        Kind::Insert | Kind::InsertOverTombstone => db.insert(&edited(3)).await.map(drop),
        Kind::InsertRefused => db.insert(&edited(2)).await.map(drop),
        Kind::Save => {
            edit(&mut one);
            db.save(&mut one).await
        }
        Kind::Move | Kind::MoveOntoTombstone => {
            edit(&mut one);
            one.id = 3;
            db.save(&mut one).await
        }
        Kind::Upsert => db.upsert(&edited(3)).await.map(drop),
        Kind::UpsertOver => db.upsert(&edited(1)).await.map(drop),
        Kind::Update => {
            let path = Member::find().club("A").id(1);
            db.update(path, |member| Ok(edit(member))).await.map(drop)
        }
        Kind::Patch => db.patch(Account::find().club("A").id(1), Account::BALANCE.set(5)).await,
        Kind::PatchClear => db.patch(Account::find().club("A").id(1), Account::MEMO.set(None)).await,
        Kind::Delete => db.delete(one).await,
        Kind::Batch => {
            edit(&mut one);
            let mut batch = db.batch(Member::in_partition("A"));
            batch.save(&mut one).delete(two).insert(&member("A", 5)).upsert(&super::account("A", 2)).delete(account);
            batch.commit().await
        }
        Kind::Swap => {
            edit(&mut one);
            (one.email, two.email) = (two.email.clone(), one.email.clone());
            let mut batch = db.batch(Member::in_partition("A"));
            batch.save(&mut one).save(&mut two);
            batch.commit().await
        }
    }
}

struct Handles {
    one: Stored<Member>,
    two: Stored<Member>,
    account: Stored<Account>,
}

async fn handles(db: &TestDatabase) -> Handles {
    let handles = Handles {
        one: stored_member(db, "A", 1).await,
        two: stored_member(db, "A", 2).await,
        account: stored_account(db, "A", 1).await,
    };
    db.forget_calls();
    handles
}

/// Each way in which one call can fail, and whether the process dies of it.
fn modes() -> Vec<(Fault, bool)> {
    use StoreErrorKind as E;
    let refusals = [
        E::TableNotFound,
        E::RowNotFound,
        E::RowExists,
        E::ConditionNotMet,
        E::InvalidInput,
        E::TooLarge,
        E::InvalidBatch,
        E::Unavailable,
        E::OutcomeUnknown,
        E::Closed,
        E::Denied,
        E::Corrupt,
        E::Unsupported,
    ];
    let mut modes: Vec<_> = refusals.into_iter().map(|kind| (Fault::error(kind), false)).collect();
    modes.extend([(Fault::LostReply, false), (Fault::CrashBefore, true), (Fault::CrashAfter, true)]);
    modes
}

/// What a run without faults does.
struct Clean {
    calls: usize,
    answer: Result<(), Error>,
    old: Image,
    new: Image,
}

async fn clean(kind: Kind, edit: fn(&mut Member)) -> Clean {
    let db = prepared(kind).await;
    let (old, handles) = (image(&db).await, handles(&db).await);
    let answer = act(&db, kind, edit, handles).await;
    let calls = db.calls().len();
    assert_clean(&db).await;
    Clean { calls, answer, old, new: image(&db).await }
}

/// One run with faults, and everything that must hold after it.
async fn faulty(kind: Kind, edit: fn(&mut Member), clean: &Clean, script: Script, dies: bool, what: &str) {
    let db = prepared(kind).await;
    let handles = handles(&db).await;
    db.fail(script);
    let answer = act(&db, kind, edit, handles).await;
    db.fail(Script::new());
    let db = db.reopen::<Club>().await.expect("opened again");
    let now = image(&db).await;
    let (is_old, is_new) = (now == clean.old, now == clean.new);
    assert!(is_old || is_new, "{what}: neither old nor new: {now:#?}");
    assert_clean(&db).await;
    match &answer {
        _ if dies => {}
        Ok(()) => assert!(is_new && clean.answer.is_ok(), "{what}: success, but nothing was written"),
        Err(error) if *error.kind() == ErrorKind::OutcomeUnknown => {}
        Err(error) => assert!(is_old, "{what}: {error:?}, but it was written"),
    }
    // Life goes on.
    if let Ok(Some(mut left)) = Member::find().club("A").id(1).one(&db).await {
        left.city = "Bern".into();
        db.save(&mut left).await.expect("saved");
        assert_clean(&db).await;
    }
}

#[tokio::test]
async fn each_fault_at_each_call_leaves_the_old_or_the_new_state_and_an_honest_answer() {
    let mut runs = 0;
    for (kind, room, edit) in cases() {
        let clean = clean(kind, edit).await;
        assert!(clean.calls > 0, "{kind:?} makes no call");
        assert_eq!(clean.answer.is_ok(), kind != Kind::InsertRefused, "{kind:?} {room}: {:?}", clean.answer);
        for call in 0..clean.calls {
            for (fault, dies) in modes() {
                let what = format!("{kind:?}, {room}, call {call}, {fault:?}");
                faulty(kind, edit, &clean, Script::new().at(call, fault), dies, &what).await;
                runs += 1;
            }
        }
    }
    assert!(runs >= cases().count() * modes().len(), "{runs}");
}

#[tokio::test]
async fn a_second_fault_in_the_retry_changes_nothing_of_that() {
    let first =
        [Fault::LostReply, Fault::error(StoreErrorKind::Unavailable), Fault::error(StoreErrorKind::OutcomeUnknown)];
    let mut drawn = 0_usize;
    for (kind, room, edit) in cases() {
        let clean = clean(kind, edit).await;
        for call in 0..clean.calls {
            for first in &first {
                for (second, dies) in modes() {
                    drawn += 1;
                    // One of every seven, and not the same for each room; which of the next calls, likewise.
                    if !drawn.is_multiple_of(7) {
                        continue;
                    }
                    let next = call + 1 + drawn % 4 / 2;
                    let what = format!("{kind:?}, {room}, call {call} {first:?}, call {next} {second:?}");
                    let script = Script::new().at(call, first.clone()).at(next, second);
                    faulty(kind, edit, &clean, script, dies, &what).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_half_done_batch_is_found_out_by_verify() {
    // No store may tear a batch: this shows that the checks above could fail.
    let mut found = 0;
    for operations in 1..8 {
        let db = prepared(Kind::Insert).await;
        db.fail(Script::new().at(0, Fault::Torn { operations }));
        let torn = db.insert(&Member { note: Some("n".into()), ..member("A", 3) }).await;
        assert!(torn.is_err());
        let db = db.reopen::<Club>().await.expect("opened again");
        found += usize::from(!db.verify().await.expect("verify runs").is_clean());
    }
    assert_eq!(found, 5, "6 rows: 5 prefixes are torn, the rest is whole");
}

#[tokio::test]
async fn a_store_that_stays_busy_is_unavailable_after_bounded_attempts() {
    let db = prepared(Kind::Insert).await;
    db.fail(|_: &tablemodel::store::fault::Call<'_>| Some(Fault::error(StoreErrorKind::Unavailable)));
    let error = db.insert(&member("A", 3)).await.expect_err("busy");
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    db.fail(|_: &tablemodel::store::fault::Call<'_>| Some(Fault::error(StoreErrorKind::OutcomeUnknown)));
    let error = db.insert(&member("A", 3)).await.expect_err("unknown");
    assert_eq!(*error.kind(), ErrorKind::OutcomeUnknown);
}

#[tokio::test]
async fn the_tables_are_listed_although_the_store_is_busy_for_a_while() {
    let db = database().await;
    let all = db.list_tables().await.unwrap();
    let busy = || Fault::error(StoreErrorKind::Unavailable);
    db.fail(Script::new().at(0, busy()).at(1, Fault::LostReply));
    assert_eq!(db.list_tables().await.unwrap(), all);
    db.fail((0..100).fold(Script::new(), |script, call| script.at(call, busy())));
    assert_eq!(*db.list_tables().await.unwrap_err().kind(), ErrorKind::Unavailable);
}
