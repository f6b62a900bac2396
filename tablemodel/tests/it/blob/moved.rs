//! Entities with blobs that move to another partition: the blob stays where it is, its link moves, and whatever fails on the
//! way it is never collected while somebody links it, and always once nobody does.

use tablemodel::{
    Consistency, ErrorKind,
    testing::{Fault, Script},
};

use super::{faulty::When, *};
use crate::crashes::faults;

const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];
const TEAMS: [&str; 3] = ["A", "B", "C"];

/// One person in team A, with both blobs.
async fn prepared(mode: Consistency) -> (TestDatabase, Arc<FaultyBlobs>, Stored<Person>) {
    let mut blobs = None;
    let wrap = |inner| {
        let faulty = Arc::new(FaultyBlobs::new(inner));
        blobs = Some(faulty.clone());
        faulty as Arc<dyn ObjectStore>
    };
    let db = match mode {
        Consistency::Azure => TestDatabase::new::<People>().await.unwrap(),
        Consistency::Atomic => TestDatabase::atomic::<People>().await.unwrap(),
    };
    let db = db.with_blobs::<People>(wrap).await.unwrap();
    let stored = db.insert(&Person { film: Some(large(2).into()), ..person("old", &large(1)) }).await.unwrap();
    let blobs = blobs.unwrap();
    blobs.heal();
    db.forget_calls();
    (db, blobs, stored)
}

/// Where each person is, and the contents of the blobs.
type Found = BTreeSet<(String, u8, Vec<u8>, Option<Vec<u8>>)>;

async fn found(db: &Database) -> Found {
    let mut found = Found::new();
    for team in TEAMS {
        for person in Person::find().team(team).all(db).await.unwrap() {
            let portrait = person.portrait.bytes(db).await.expect("what is linked is there").to_vec();
            let film = match &person.film {
                Some(film) => Some(film.bytes(db).await.expect("what is linked is there").to_vec()),
                None => None,
            };
            found.insert((team.to_owned(), person.age, portrait, film));
        }
    }
    found
}

/// The relay finishes what was begun.
async fn finish(db: &TestDatabase) {
    for _ in 0..20 {
        db.clock().advance(Duration::from_secs(61));
        if db.relay().run_once().await.unwrap().is_settled() {
            return;
        }
    }
    panic!("the relay does not settle");
}

async fn assert_no_litter(db: &TestDatabase, told: &str) {
    settle(db).await;
    assert_eq!(names_in(&*db.blob_store()).await, linked(db).await, "{told}");
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{told}: {:#?}", verified.violations);
}

async fn all_names(db: &TestDatabase) -> Vec<String> {
    let all: Vec<_> = db.blob_store().list(Some(&Path::from("people"))).try_collect().await.unwrap();
    all.into_iter().map(|meta| meta.location.to_string()).collect()
}

#[tokio::test]
async fn a_move_takes_the_links_along_and_copies_nothing() {
    for mode in MODES {
        let (db, _, mut person) = prepared(mode).await;
        let names = linked(&db).await;
        assert_eq!(names.len(), 2);
        for team in ["B", "C", "A", "B", "A", "C"] {
            person.team = team.into();
            db.rekey(&mut person).await.unwrap();
            assert_eq!(linked(&db).await, names, "{mode:?}: to {team}");
            assert_eq!(names_in(&*db.blob_store()).await, names, "nothing is uploaded");
            assert_no_litter(&db, team).await;
            assert_eq!(found(&db).await, [(team.into(), 30, large(1), Some(large(2)))].into());
        }
        person.portrait = large(8).into();
        db.save(&mut person).await.unwrap();
        assert_no_litter(&db, "saved where it has come to").await;
        db.delete(person).await.unwrap();
        finish(&db).await;
        assert_no_litter(&db, "deleted").await;
        assert_eq!(all_names(&db).await, Vec::<String>::new(), "records of moves go with their blob");
    }
}

#[tokio::test]
async fn a_move_may_bring_a_new_blob_and_leave_one() {
    for mode in MODES {
        let (db, _, mut person) = prepared(mode).await;
        let before = linked(&db).await;
        (person.team, person.portrait) = ("B".into(), large(7).into());
        db.rekey(&mut person).await.unwrap();
        assert_eq!(linked(&db).await.intersection(&before).count(), 1);
        assert_no_litter(&db, "a new portrait").await;
        (person.team, person.film) = ("C".into(), None);
        db.rekey(&mut person).await.unwrap();
        assert_no_litter(&db, "no film").await;
        assert_eq!(found(&db).await, [("C".into(), 30, large(7), None)].into());
    }
}

/// Another comes to the old key, with blobs of its own.
#[tokio::test]
async fn who_comes_to_the_old_key_shares_nothing() {
    for mode in MODES {
        let (db, _, mut first) = prepared(mode).await;
        first.team = "B".into();
        db.rekey(&mut first).await.unwrap();
        let second = db.insert(&person("old", &large(5))).await.unwrap();
        assert_no_litter(&db, "both").await;
        db.delete(second).await.unwrap();
        finish(&db).await;
        assert_no_litter(&db, "one").await;
        assert_eq!(found(&db).await, [("B".into(), 30, large(1), Some(large(2)))].into());
        db.delete(first).await.unwrap();
        finish(&db).await;
        assert_no_litter(&db, "none").await;
        assert!(all_names(&db).await.is_empty());
    }
}

/// A program dies when the entity has left its old key, and no relay runs for hours, while a collector does.
#[tokio::test]
async fn what_is_on_its_way_for_hours_is_not_collected() {
    let (db, _, mut stored) = prepared(Consistency::Azure).await;
    stored.team = "B".into();
    db.rekey(&mut stored).await.unwrap();
    let calls = db.calls().len();
    let mut under_way = 0;
    for call in 0..calls {
        let (db, blobs, mut stored) = prepared(Consistency::Azure).await;
        (stored.team, stored.portrait) = ("B".into(), large(7).into());
        db.fail(Script::new().at(call, Fault::CrashAfter));
        let _ = db.rekey(&mut stored).await;
        db.fail(Script::new());
        let db = db.reopen::<People>().await.unwrap();
        for _ in 0..4 {
            settle(&db).await;
        }
        under_way += usize::from(found(&db).await.is_empty());
        finish(&db).await;
        let now = found(&db).await;
        let (old, new) = (("A".into(), 30, large(1), Some(large(2))), ("B".into(), 30, large(7), Some(large(2))));
        assert!(now == [old].into() || now == [new].into(), "call {call}: {now:?}");
        blobs.heal();
        assert_no_litter(&db, &format!("call {call}")).await;
    }
    assert!(under_way > 0, "no fault left it on its way");
}

#[tokio::test]
async fn a_fault_at_any_call_of_either_store_leaves_the_entity_at_one_key_with_its_blobs() {
    let mut points = 0;
    for mode in MODES {
        let act = async |db: &TestDatabase, mut stored: Stored<Person>| {
            (stored.team, stored.age, stored.portrait) = ("B".into(), 40, large(7).into());
            db.rekey(&mut stored).await
        };
        let (db, blobs, stored) = prepared(mode).await;
        let before = found(&db).await;
        blobs.heal();
        db.forget_calls();
        act(&db, stored).await.unwrap();
        let (calls, objects, after) = (db.calls().len(), blobs.calls(), found(&db).await);
        assert!(objects >= 2 && before != after, "{objects}");
        for (call, fault) in (0..calls).flat_map(|call| faults().into_iter().map(move |fault| (call, fault))) {
            let told = format!("{mode:?}, {fault:?} at call {call} of {calls}");
            let (db, blobs, stored) = prepared(mode).await;
            db.fail(Script::new().at(call, fault));
            let result = act(&db, stored).await;
            check(&db, &blobs, &before, &after, &told, &result).await;
            points += 1;
        }
        for (call, when) in (0..objects).flat_map(|call| [When::Before, When::After].map(|when| (call, when))) {
            let told = format!("{mode:?}, {when:?} object call {call} of {objects}");
            let (db, blobs, stored) = prepared(mode).await;
            blobs.fail(call, when);
            let result = act(&db, stored).await;
            check(&db, &blobs, &before, &after, &told, &result).await;
            points += 1;
        }
    }
    assert!(points > 60, "{points} points");
}

async fn check(
    db: &TestDatabase,
    blobs: &FaultyBlobs,
    before: &Found,
    after: &Found,
    told: &str,
    result: &tablemodel::Result<()>,
) {
    blobs.heal();
    db.fail(Script::new());
    let db = db.reopen::<People>().await.unwrap();
    settle(&db).await;
    finish(&db).await;
    let now = found(&db).await;
    assert!(now == *before || now == *after, "{told}: {now:?}");
    assert!(result.is_err() || now == *after, "{told}: acknowledged");
    assert_no_litter(&db, told).await;
}

/// Two programs that would move one entity: each records where to, and one of them moves it.
#[tokio::test]
async fn of_two_movers_one_moves_it_and_its_blobs_stay() {
    for mode in MODES {
        let (db, _, first) = prepared(mode).await;
        let (mut to_b, mut to_c) = (first.clone(), first);
        (to_b.team, to_c.team) = ("B".into(), "C".into());
        let (b, c) = futures_util::future::join(db.rekey(&mut to_b), db.rekey(&mut to_c)).await;
        let errors: Vec<_> = [b, c].into_iter().filter_map(Result::err).collect();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(matches!(errors[0].kind(), ErrorKind::NotFound | ErrorKind::Conflict { .. }), "{errors:?}");
        finish(&db).await;
        assert_no_litter(&db, "raced").await;
        assert_eq!(found(&db).await.len(), 1);
    }
}
