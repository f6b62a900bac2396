//! Random operations on the old form, at every state of its move, compared with a model.

use std::time::Duration;

use tablemodel::{ErrorKind, prelude::*};

use super::{
    Flights, MODES, ORIGINS, assert_clean, filled, first, new_flights, next, old_flights, second, together::Dice,
};

fn flight(dice: &mut Dice) -> first::Flight {
    let (carrier, number) = (format!("C{}", dice.roll(3)), dice.roll(12) as u32);
    let origin = ORIGINS[dice.roll(5) as usize].to_owned();
    first::Flight { carrier, number, origin, seats: dice.roll(100) as i64 }
}

/// One operation, and what it means to the model.
async fn step(db: &Database, dice: &mut Dice, model: &mut Flights) {
    let new = flight(dice);
    let key = (new.carrier.clone(), new.number);
    let path = || first::Flight::find().carrier(&key.0).number(key.1);
    let value = (new.origin.clone(), new.seats);
    match dice.roll(7) {
        0 => match db.insert(&new).await {
            Ok(_) => assert!(model.insert(key, value).is_none()),
            Err(error) => assert!(*error.kind() == ErrorKind::AlreadyExists && model.contains_key(&key), "{error:?}"),
        },
        1 => {
            db.upsert(&new).await.expect("upserted");
            model.insert(key, value);
        }
        2 => match db.patch(path(), first::Flight::SEATS.set(new.seats)).await {
            Ok(()) => model.get_mut(&key).expect("there").1 = new.seats,
            Err(error) => assert!(*error.kind() == ErrorKind::NotFound && !model.contains_key(&key), "{error:?}"),
        },
        3 => {
            if let Some(there) = path().one(db).await.expect("read") {
                db.delete(there).await.expect("deleted");
                model.remove(&key);
            }
        }
        4 => {
            let to = flight(dice);
            let (to_key, is_free) =
                ((to.carrier.clone(), to.number), !model.contains_key(&(to.carrier.clone(), to.number)));
            if let Some(mut there) = path().one(db).await.expect("read").filter(|_| is_free) {
                (there.carrier, there.number) = (to.carrier, to.number);
                db.rekey(&mut there).await.expect("moved");
                let was = model.remove(&key).expect("there");
                model.insert(to_key, was);
            }
        }
        5 => {
            let mut batch = db.batch(first::Flight::in_partition(&key.0));
            let others: Vec<_> = (0..3).map(|_| first::Flight { carrier: key.0.clone(), ..flight(dice) }).collect();
            others.iter().for_each(|one| {
                batch.upsert(one);
            });
            batch.commit().await.expect("committed");
            model.extend(others.into_iter().map(|f| ((f.carrier, f.number), (f.origin, f.seats))));
        }
        _ => {
            let several: Vec<_> = (0..6).map(|_| flight(dice)).collect();
            let all = futures_util::stream::iter(several.clone());
            let _ = db.bulk().upsert_all(all).await.expect("begun").into_result().expect("written");
            model.extend(several.into_iter().map(|f| ((f.carrier, f.number), (f.origin, f.seats))));
        }
    }
}

#[tokio::test]
async fn what_is_written_before_while_and_after_it_is_complete_is_what_the_new_form_says() {
    for mode in MODES {
        for seed in 1..=12 {
            let store = filled(mode, 3, 4).await;
            let db = next::<first::Model>(&store).await;
            let mut dice = Dice(seed * 77);
            let mut model = old_flights(&db, 3).await;
            for _ in 0..20 {
                step(&db, &mut dice, &mut model).await;
            }
            db.migrations().apply().await.expect("applied");
            for _ in 0..60 {
                step(&db, &mut dice, &mut model).await;
            }
            let told = format!("{mode:?} {seed}");
            assert_eq!(old_flights(&db, 3).await, model, "{told}");
            assert_clean(&db, &told).await;
            drop(db);
            store.clock().advance(Duration::from_secs(130));
            let new = next::<second::Model>(&store).await;
            assert_eq!(new_flights(&new, 3).await.expect("readable"), model, "{told}");
            new.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
            assert_eq!(new_flights(&new, 3).await.expect("readable"), model, "{told}");
            assert_clean(&new, &told).await;
        }
    }
}
