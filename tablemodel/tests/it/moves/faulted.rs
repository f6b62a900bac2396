//! Programs that die at random calls while the entity moves, and a switch that nobody prepared for it: what was acknowledged is there
//! in the new form, and of what was not, all or nothing.

use std::{collections::BTreeSet, time::Duration};

use tablemodel::{
    ErrorKind, Result,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use crate::everything::together::seeds;

use super::{
    Flights, MODES, ORIGINS, assert_clean, filled, first, new_flights, next, old_flights, old_rows, program, second,
    together::Dice,
};

type Key = (String, u32);

/// What an operation that was acknowledged leaves of some keys.
type Effect = Vec<(Key, Option<(String, i64)>)>;

/// A store, and what must be in it.
struct Course {
    store: TestDatabase,
    dice: Dice,
    /// What is certain.
    model: Flights,
    /// Of each operation whose end was not heard: what was there, and what would be.
    unheard: Vec<[Effect; 2]>,
    /// The keys of these: no other operation takes them.
    taken: BTreeSet<Key>,
    told: String,
}

impl Course {
    fn flight(&mut self) -> Option<first::Flight> {
        let (carrier, number) = (format!("C{}", self.dice.roll(3)), self.dice.roll(9) as u32);
        let origin = ORIGINS[self.dice.roll(5) as usize].to_owned();
        let flight = first::Flight { carrier, number, origin, seats: self.dice.roll(100) as i64 };
        (!self.taken.contains(&key(&flight))).then_some(flight)
    }

    /// One operation, perhaps with a fault. Whether the old form is still written.
    async fn step(&mut self, db: &Database) -> bool {
        let (Some(new), Some(other)) = (self.flight(), self.flight()) else { return true };
        let kind = self.dice.roll(6);
        let (effect, done) = match kind {
            0 => (vec![(key(&new), Some(value(&new)))], db.upsert(&new).await.map(drop)),
            1 => (vec![(key(&new), None)], delete(db, &new).await),
            2 => (vec![(key(&new), Some(value(&new)))], change(db, &new).await),
            3 | 4 if key(&new) != key(&other) => {
                let was = self.model.get(&key(&new)).cloned();
                let effect = vec![(key(&new), None), (key(&other), was)];
                (effect, rekey(db, &new, &other).await)
            }
            _ => {
                let other = first::Flight { carrier: new.carrier.clone(), ..other.clone() };
                if self.taken.contains(&key(&other)) || key(&other) == key(&new) {
                    return true;
                }
                let mut batch = db.batch(first::Flight::in_partition(&new.carrier));
                batch.upsert(&new).upsert(&other);
                let effect = [&new, &other].map(|flight| (key(flight), Some(value(flight)))).to_vec();
                (effect, batch.commit().await.map(drop))
            }
        };
        match done.as_ref().map_err(|error| error.kind().clone()) {
            Ok(()) => self.model = with(&self.model, &effect),
            Err(ErrorKind::NotFound) if kind != 0 => {
                assert!(!self.model.contains_key(&key(&new)), "{}: {new:?} is lost", self.told);
            }
            Err(ErrorKind::AlreadyExists) => {
                let there = self.model.contains_key(&key(&other));
                assert!(there, "{}: nobody is at {:?}", self.told, key(&other));
            }
            Err(ErrorKind::Moved { .. }) => return false,
            Err(ErrorKind::Denied | ErrorKind::Unavailable | ErrorKind::OutcomeUnknown | ErrorKind::LeaseExpired) => {
                let before = effect.iter().map(|(key, _)| (key.clone(), self.model.remove(key))).collect();
                self.taken.extend(effect.iter().map(|(key, _)| key.clone()));
                self.unheard.push([before, effect]);
            }
            Err(_) => panic!("{}: {done:?}", self.told),
        }
        true
    }

    /// Another program of the first release, after some time, if the last one died.
    async fn with_a_fault(&mut self, db: Database) -> (Database, bool) {
        if self.dice.roll(3) > 0 {
            let goes_on = self.step(&db).await;
            return (db, goes_on);
        }
        let fault = [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply][self.dice.roll(3) as usize].clone();
        let call = self.dice.roll(40) as usize;
        self.store.fail(Script::new().at(call, fault));
        let goes_on = self.step(&db).await;
        drop(db);
        self.store.fail(Script::new());
        self.store = self.store.reopen::<first::Model>().await.expect("opened");
        let pause = [0, 70, 130, 700][self.dice.roll(4) as usize];
        self.store.clock().advance(Duration::from_secs(pause));
        (program::<first::Model>(&self.store).await, goes_on)
    }

    /// A program of the second release takes the form over, and dies at times: it goes on, or another does.
    async fn switch(&mut self) -> Database {
        loop {
            let db = next::<second::Model>(&self.store).await;
            let dies = self.dice.roll(2) == 0;
            if dies {
                let fault = [Fault::CrashBefore, Fault::CrashAfter][self.dice.roll(2) as usize].clone();
                self.store.fail(Script::new().at(self.dice.roll(60) as usize, fault));
            }
            match db.migrations().contract().await {
                Ok(_) => {
                    self.store.fail(Script::new());
                    return next::<second::Model>(&self.store).await;
                }
                Err(error) if *error.kind() == ErrorKind::Unavailable || dies => {}
                Err(error) => panic!("{}: {error:?}", self.told),
            }
            drop(db);
            self.store.fail(Script::new());
            self.store = self.store.reopen::<second::Model>().await.expect("opened");
            self.store.clock().advance(Duration::from_secs(130));
        }
    }

    /// That what is there is what was acknowledged, and all or nothing of the rest.
    fn judge(&self, flights: &Flights) {
        let mut wanted = self.model.clone();
        for [before, after] in &self.unheard {
            let is_there = |effect: &Effect| effect.iter().all(|(key, value)| flights.get(key) == value.as_ref());
            let found = [after, before].into_iter().find(|effect| is_there(effect));
            let found = found.unwrap_or_else(|| panic!("{}: neither {before:?} nor {after:?}: {flights:?}", self.told));
            wanted = with(&wanted, found);
        }
        assert_eq!(*flights, wanted, "{}", self.told);
    }
}

fn key(flight: &first::Flight) -> Key {
    (flight.carrier.clone(), flight.number)
}

fn value(flight: &first::Flight) -> (String, i64) {
    (flight.origin.clone(), flight.seats)
}

fn with(model: &Flights, effect: &Effect) -> Flights {
    let mut model = model.clone();
    for (key, value) in effect {
        match value {
            Some(value) => drop(model.insert(key.clone(), value.clone())),
            None => drop(model.remove(key)),
        }
    }
    model
}

async fn found(db: &Database, flight: &first::Flight) -> Result<Stored<first::Flight>> {
    let found = first::Flight::find().carrier(&flight.carrier).number(flight.number).one(db).await?;
    found.ok_or_else(|| tablemodel::Error::new(ErrorKind::NotFound, "no such flight"))
}

async fn delete(db: &Database, flight: &first::Flight) -> Result<()> {
    db.delete(found(db, flight).await?).await
}

async fn change(db: &Database, flight: &first::Flight) -> Result<()> {
    let path = first::Flight::find().carrier(&flight.carrier).number(flight.number);
    let changed = db.update(path, |there| {
        (there.origin, there.seats) = (flight.origin.clone(), flight.seats);
        Ok(())
    });
    changed.await.map(drop)
}

async fn rekey(db: &Database, from: &first::Flight, to: &first::Flight) -> Result<()> {
    let mut there = found(db, from).await?;
    (there.carrier, there.number) = key(to);
    db.rekey(&mut there).await
}

#[tokio::test]
async fn whoever_dies_while_it_moves_the_new_form_says_what_was_acknowledged() {
    for mode in MODES {
        for seed in seeds() {
            let store = filled(mode, 3, 6).await;
            let db = next::<first::Model>(&store).await;
            let model = old_flights(&db, 3).await;
            let told = format!("{mode:?}, seed {seed}");
            let (unheard, taken, dice) = (Vec::new(), BTreeSet::new(), Dice(seed * 7_919 + 3));
            let mut course = Course { store, dice, model, unheard, taken, told };
            let mut db = db;
            for at in 0..24 {
                if at == 6 {
                    db.migrations().apply().await.unwrap_or_else(|error| panic!("{}: {error:?}", course.told));
                }
                let (other, goes_on) = course.with_a_fault(db).await;
                assert!(goes_on, "{}: nobody has switched it", course.told);
                db = other;
            }
            drop(db);
            course.store.clock().advance(Duration::from_secs(130));
            let new = course.switch().await;
            assert_clean(&new, &course.told).await;
            let flights = new_flights(&new, 3).await.unwrap_or_else(|error| panic!("{}: {error:?}", course.told));
            course.judge(&flights);
            assert!(old_rows(&new).await.is_empty(), "{}", course.told);
        }
    }
}
