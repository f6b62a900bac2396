//! The whole way: of two releases, of one alone, and back.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind, IndexState,
    prelude::*,
    store::clock::{Clock, Sleep},
};

use super::{
    MODES, ORIGINS, Passing, assert_clean, before, filled, first, new_flights, new_rows, next, old_flights, old_rows,
    program, second, states,
};

/// That the new form is the truth, and nothing is left of the old.
async fn assert_switched(db: &Database, flights: &super::Flights, carriers: u32, told: &str) {
    assert_clean(db, told).await;
    assert_eq!(&new_flights(db, carriers).await.expect("readable"), flights, "{told}");
    let rows = old_rows(db).await;
    assert!(rows.is_empty(), "{told}: {rows:?}");
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
}

#[tokio::test]
async fn an_entity_moves_while_it_is_written_and_every_form_says_who_may() {
    for mode in MODES {
        let store = filled(mode, 3, 70).await;
        let old = next::<first::Model>(&store).await;
        let applied = old.migrations().apply().await.expect("applied");
        assert!(applied.is_complete(), "{applied:?}");
        assert_clean(&old, "applied").await;

        // The old form goes on being written, and the new one follows.
        let mut one = first::Flight::find().carrier("C1").number(4).one(&old).await.unwrap().unwrap();
        one.origin = ORIGINS[3].into();
        old.save(&mut one).await.expect("saved");
        old.patch(first::Flight::find().carrier("C1").number(5), first::Flight::SEATS.set(99)).await.expect("patched");
        let gone = first::Flight::find().carrier("C1").number(6).one(&old).await.unwrap().unwrap();
        old.delete(gone).await.expect("deleted");
        let mut moved = first::Flight::find().carrier("C1").number(7).one(&old).await.unwrap().unwrap();
        moved.carrier = "C0".into();
        moved.number = 500;
        old.rekey(&mut moved).await.expect("moved");
        let flights = old_flights(&old, 3).await;
        assert_eq!(flights.len(), 209);
        assert_clean(&old, "written").await;

        let new = program::<second::Model>(&store).await;
        new.ensure_tables().await.expect("ensured");
        assert_eq!(new_flights(&new, 3).await.expect("complete shadows can be read"), flights, "{mode:?}");
        let mut read =
            second::Flight::find().origin(ORIGINS[3]).carrier("C1").number(4).one(&new).await.unwrap().unwrap();
        let refused = new.save(&mut read).await.unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::NotSwitched { from: 1 }, "{refused:?}");
        let plan = new.migrations().plan().await.expect("planned");
        assert!(plan.steps.is_empty() && plan.dropped.len() == 1, "{plan:?}");

        drop(old);
        let contracted = new.migrations().contract().await.expect("switched");
        assert!(contracted.rows >= 3 * 209, "{contracted:?}");
        assert_switched(&new, &flights, 3, "switched").await;
        second::Flight::find().origin(ORIGINS[3]).carrier("C1").number(4).one(&new).await.unwrap().unwrap();
        new.update(second::Flight::find().origin(ORIGINS[3]).carrier("C1").number(4), |f| {
            f.seats = 7;
            Ok(())
        })
        .await
        .expect("the new form is written");
        assert_clean(&new, "written anew").await;

        let late = program::<first::Model>(&store).await;
        let error = first::Flight::find().carrier("C1").number(4).one(&late).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Moved { to: 2 }, "{error:?}");
        assert!(late.insert(&first_flight("C1", 900)).await.is_err());
        assert_eq!(late.ensure_tables().await.unwrap_err().kind(), &ErrorKind::Moved { to: 2 });
        assert!(new.migrations().rollback().await.is_err(), "there is no way back from a switch");
    }
}

fn first_flight(carrier: &str, number: u32) -> first::Flight {
    let before::Flight { carrier, number, origin, seats } = before::flight(carrier, number);
    first::Flight { carrier, number, origin, seats }
}

#[tokio::test]
async fn one_program_that_owns_its_store_moves_it_alone() {
    for flights in [20, 150] {
        let store = filled(Consistency::Atomic, 2, flights).await;
        let was = old_flights(&program::<first::Model>(&store).await, 2).await;
        let db = program::<second::Model>(&store).await;
        let refused = db.insert(&second_flight()).await.unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::NotSwitched { from: 1 });
        let refused = second::Flight::find().origin(ORIGINS[0]).all(&db).await.unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::NotSwitched { from: 1 });
        db.ensure_tables().await.expect("ensured");
        if flights > 100 {
            let error = db.migrations().contract().await.unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::Unsupported, "{error:?}");
            let sized = db.migrations().apply().dry_run(None).await.expect("reckoned");
            assert_eq!((sized.entities, sized.rows, sized.failed), (300, 900, 0));
            db.migrations().apply().await.expect("applied");
        }
        db.migrations().contract().await.expect("switched");
        assert_switched(&db, &was, 2, "alone").await;
        db.insert(&second_flight()).await.expect("written");
        let again = program::<second::Model>(&store).await;
        assert_clean(&again, "opened again").await;
    }
}

fn second_flight() -> second::Flight {
    second::Flight { origin: ORIGINS[4].into(), carrier: "C9".into(), number: 1, code: "C91".into(), seats: 1 }
}

#[tokio::test]
async fn a_move_is_taken_back_from_every_state() {
    for mode in MODES {
        for calls in (0..).step_by(7) {
            let store = filled(mode, 1, 4).await;
            let was = old_flights(&program::<first::Model>(&store).await, 1).await;
            let db = program::<first::Model>(&store).await;
            store.fail(tablemodel::testing::Script::new().at(calls, tablemodel::testing::Fault::CrashBefore));
            let is_over = db.ensure_tables().await.is_ok() && db.migrations().apply().workers(1).batch(2).await.is_ok();
            drop(db);
            store.fail(tablemodel::testing::Script::new());
            let store = store.reopen::<before::Model>().await.expect("opened");
            Passing(store.clock().clone()).sleep(std::time::Duration::from_secs(130)).await;
            let db = program::<first::Model>(&store).await;
            if db.migrations().status().await.unwrap().is_some() {
                db.migrations().rollback().await.unwrap_or_else(|error| panic!("{mode:?} {calls}: {error:?}"));
                assert_eq!(states(&db).await, [IndexState::Absent]);
            }
            let rows = new_rows(&db).await;
            assert!(rows.is_empty(), "{mode:?} {calls}: {rows:?}");
            assert_eq!(old_flights(&db, 1).await, was);
            assert_clean(&db, "taken back").await;
            if is_over {
                break;
            }
        }
    }
}

#[tokio::test]
async fn where_nothing_moves_yet_no_request_is_spent_on_it() {
    for mode in MODES {
        let store = filled(mode, 1, 300).await;
        let (plain, moving) = (program::<before::Model>(&store).await, next::<first::Model>(&store).await);
        let mut spent = Vec::new();
        for number in [1000, 1001] {
            store.forget_calls();
            match number {
                1000 => drop(plain.insert(&before::flight("C0", number)).await.unwrap()),
                _ => drop(moving.insert(&first_flight("C0", number)).await.unwrap()),
            }
            spent.push(store.calls().len());
        }
        assert_eq!(spent[0], spent[1], "{mode:?}");
        assert!(new_rows(&moving).await.is_empty());
    }
}

/// Stopped at any moment, also while it waits until what is under way is over, it stops soon, and the next call goes on.
#[tokio::test]
async fn a_switch_stops_when_it_is_asked_to_and_goes_on_with_the_next_call() {
    let whole = filled(Consistency::Azure, 1, 4).await;
    let old = next::<first::Model>(&whole).await;
    old.migrations().apply().await.expect("applied");
    let flights = old_flights(&old, 1).await;
    drop(old);
    whole.clock().advance(Duration::from_secs(130));
    let mut stopped = 0;
    for seconds in (0..).step_by(45) {
        let store = whole.fork().expect("in memory");
        let new = next::<second::Model>(&store).await;
        let (clock, at) = (store.clock().clone(), store.clock().monotonic() + Duration::from_secs(seconds));
        let asked = clock.clone();
        let switched = new.migrations().stop_when(move || asked.monotonic() >= at).contract().await;
        let is_over = match switched {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::Stopped, "{error:?}");
                false
            }
        };
        let late = clock.monotonic().saturating_sub(at);
        assert!(late < Duration::from_secs(120), "asked after {seconds} s, stopped {late:?} later");
        new.migrations().contract().await.expect("goes on");
        assert_switched(&new, &flights, 1, &format!("{seconds} s")).await;
        if is_over {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 5, "{stopped}");
}

#[tokio::test]
async fn a_program_that_keeps_the_old_form_is_named_while_the_switch_waits_for_it() {
    let store = filled(Consistency::Azure, 1, 4).await;
    let old = next::<first::Model>(&store).await;
    old.migrations().apply().await.expect("applied");
    let new = next::<second::Model>(&store).await;
    let waiting = new.migrations();
    let a_moment = async {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        over = waiting.contract() => panic!("{over:?}"),
        () = a_moment => {}
    }
    let status = new.migrations().status().await.expect("read").expect("a migration");
    assert!(status.switch && status.steps[0].moved() == Some(2), "{status:?}");
    let programs = new.migrations().programs().await.expect("read");
    let lacking: Vec<_> = programs.iter().filter(|program| !program.lacks.is_empty()).collect();
    let [lacking] = lacking.as_slice() else { panic!("{programs:?}") };
    assert!(lacking.is_waited_for() && lacking.lacks[0].moved() == Some(2), "{lacking:?}");
}
