//! Random changes of every type, by several writers at once, for as long as the process lives.
//! Which changes, the seed tells; how the writers meet is left to chance.

use std::{convert::Infallible, error::Error as _};

use tablemodel::prelude::*;

use super::{
    Result,
    chance::Chance,
    model::{DAYS, Department, Desk, Employee, Photo, Review, Year},
    people,
};

const DEPARTMENTS: [&str; 3] = ["Sales", "Marketing", "Legal"];
const CITIES: [&str; 3] = ["Oslo", "Rome", "Lima"];
const LAST_NAMES: [&str; 3] = ["Jones", "Smith", "Ito"];
const SKILLS: [&[&str]; 4] = [&[], &["sql"], &["rust", "sql"], &["rust", "c", "sql"]];
/// Few, so that writers meet.
const EMPLOYEES: u32 = 12;
const BADGES: u32 = 6;
/// Of a review, at most: over the 64 KiB of a property.
const WORDS: u32 = 30_000;
/// Of a photo, at most: over what its row holds.
const PHOTO_BYTES: u32 = 4_000;

/// Works until it is killed, and prints a line for each change that was acknowledged.
///
/// # Errors
///
/// The first that a writer does not expect.
pub(super) async fn for_ever(db: &Database, seed: u64) -> Result<Infallible> {
    let (first, second, third, fourth) =
        (writer(db, seed), writer(db, seed + 1), writer(db, seed + 2), writer(db, seed + 3));
    tokio::select! { ended = first => ended, ended = second => ended, ended = third => ended, ended = fourth => ended }
}

async fn writer(db: &Database, seed: u64) -> Result<Infallible> {
    let mut chance = Chance::new(seed);
    loop {
        match change(db, &mut chance).await {
            Ok(()) => println!("acknowledged"),
            Err(error) if is_expected(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether writers that meet may be told so.
fn is_expected(error: &tablemodel::Error) -> bool {
    use ErrorKind::{AlreadyExists, Conflict, NotFound, Unavailable, UniqueViolation};
    matches!(error.kind(), AlreadyExists | Conflict { .. } | NotFound | Unavailable | UniqueViolation { .. })
}

/// Whether a move is decided, and another has taken the entity from its new key already, or the relay is to finish it since the
/// rows there keep changing.
fn is_finished_by_others(error: &tablemodel::Error) -> bool {
    let cause = error.source().map(|cause| cause.downcast_ref().map(tablemodel::Error::kind));
    *error.kind() == ErrorKind::OutcomeUnknown && matches!(cause, None | Some(Some(ErrorKind::Unavailable)))
}

async fn change(db: &Database, chance: &mut Chance) -> tablemodel::Result<()> {
    let (department, id) = (chance.one_of(&DEPARTMENTS), 1 + chance.below(EMPLOYEES));
    match chance.below(13) {
        0 => {
            let manager_id = Some(id).filter(|_| chance.below(3) > 0);
            let department = people::department(department, chance.below(1_000));
            db.upsert(&Department { manager_id, ..department }).await.map(drop)
        }
        1 => db.upsert(&review(department, id, chance)).await.map(drop),
        2 => db.upsert(&photo(department, id, chance)).await.map(drop),
        3 => message(db, department, id, chance).await,
        4 => db.upsert(&desk(department, id, chance)).await.map(drop),
        _ => match Employee::find().department(department).id(id).one(db).await? {
            None => db.insert(&hired(department, id, chance)).await.map(drop),
            Some(found) => changed(db, found, chance).await,
        },
    }
}

async fn changed(db: &Database, mut employee: Stored<Employee>, chance: &mut Chance) -> tablemodel::Result<()> {
    match chance.below(6) {
        0 => db.delete(employee).await,
        1 => {
            employee.department = chance.one_of(&DEPARTMENTS).to_owned();
            match db.rekey(&mut employee).await {
                Err(error) if is_finished_by_others(&error) => Ok(()),
                other => other,
            }
        }
        _ => {
            *employee = hired(&employee.department.clone(), employee.id, chance);
            db.save(&mut employee).await
        }
    }
}

fn hired(department: &str, id: u32, chance: &mut Chance) -> Employee {
    let (city, skills, last) = (chance.one_of(&CITIES), chance.one_of(&SKILLS), chance.one_of(&LAST_NAMES));
    let badge = Some(chance.below(2 * BADGES)).filter(|badge| *badge < BADGES);
    let is_manager = chance.below(4) == 0;
    let salary = chance.below(10_000);
    Employee { badge, is_manager, salary, ..people::employee(department, id, [&format!("E{id}"), last], city, skills) }
}

fn review(department: &str, employee: u32, chance: &mut Chance) -> Review {
    let (year, rating) = (2012 + chance.below(3) as u16, 1 + chance.below(5) as u8);
    let report = "fine ".repeat(chance.below(WORDS) as usize);
    Review { department: department.to_owned(), employee, year, rating, report }
}

fn photo(department: &str, employee: u32, chance: &mut Chance) -> Photo {
    let image = vec![chance.below(256) as u8; chance.below(PHOTO_BYTES) as usize].into();
    Photo { department: department.to_owned(), employee, image }
}

fn desk(department: &str, id: u32, chance: &mut Chance) -> Desk {
    let (floor, number) = (chance.below(2) as u8, chance.below(4) as u16);
    let sitter = Some(id).filter(|_| chance.below(4) > 0);
    Desk { floor, number, department: department.to_owned(), sitter, who: None }
}

/// One more message on a day, or a new year.
async fn message(db: &Database, department: &str, employee: u32, chance: &mut Chance) -> tablemodel::Result<()> {
    let path = || Year::find().department(department).employee(employee).year(2014);
    if path().exists(db).await? {
        let day = chance.below(DAYS as u32) as usize;
        return db.patch(path(), Year::DAY.set(day, chance.below(100))).await;
    }
    let day = [chance.below(100); DAYS];
    db.insert(&Year { department: department.to_owned(), employee, year: 2014, day }).await.map(drop)
}
