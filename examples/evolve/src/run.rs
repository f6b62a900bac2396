//! The run: each release is deployed over the store of the one before, and the tool does what the release asks for.
//! What the tool prints stands between; the end is a comparison with a store into which release 4 was loaded anew.

use std::{path::Path, process::ExitCode};

use examples::flights::Result;
use tablemodel::{Upgrade, prelude::*};
use tokio::runtime::Runtime;

use crate::{
    compare::{Compared, Questions},
    releases::{four, one, three, two},
    source,
    tool::Tool,
};

/// The airline whose arrivals release 2 corrects.
const CORRECTED: &str = "HA";

/// Runs all of it, with the files of `data`, in the empty folder `work`.
///
/// # Errors
///
/// Files that cannot be read, commands that fail, and those of the database.
pub(crate) fn run(data: &Path, work: &Path) -> Result<ExitCode> {
    let runtime = Runtime::new()?;
    let store = work.join("flights.tablemodel");
    let tool = Tool::new(&work.join("package"), &store);

    println!("== release 1: flights are loaded");
    let loaded = runtime.block_on(load::<one::Timetable, _>(&store, source::flights(data)?))?;
    println!("{loaded} flights");
    tool.schema::<one::Timetable>(&["init"])?;

    println!("\n== release 2: a property is added, one is renamed");
    tool.schema::<two::Timetable>(&["diff", "--name", "is_late", "--rename", "Dest=Destination"])?;
    println!("\n{} flights are corrected before the rest is swept", runtime.block_on(correct(&store, data))?);
    migrate::<two::Timetable>(&tool)?;

    println!("\n== release 3: an index in another partition is added");
    tool.schema::<three::Timetable>(&["diff", "--name", "anywhere_by_tail"])?;
    migrate::<three::Timetable>(&tool)?;

    println!("\n== release 4: a partition is a day, no longer a month");
    tool.schema::<four::Timetable>(&["diff", "--name", "by_day"])?;
    migrate::<four::Timetable>(&tool)?;
    tool.store::<four::Timetable>(&["contract"])?;
    tool.store::<four::Timetable>(&["verify"])?;

    println!("\n== the same answers as a fresh load?");
    let compared = runtime.block_on(compare(&store, &work.join("fresh.tablemodel"), data))?;
    let Compared { flights, by_tail, answers, differences } = compared;
    println!("{answers} answers of {flights} flights by day and {by_tail} by plane: {differences} differences");
    let is_whole = flights as u64 == loaded && differences == 0;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What every release asks of its store.
fn migrate<M: TableModel>(tool: &Tool) -> Result<()> {
    tool.schema::<M>(&["check"])?;
    for command in ["plan", "apply", "status"] {
        tool.store::<M>(&[command])?;
    }
    Ok(())
}

async fn open<M: TableModel>(store: &Path) -> Result<Database> {
    let db = Database::open::<M>(store).await?;
    db.ensure_tables().await?;
    Ok(db)
}

/// Loads a new store; gives how many flights were written.
async fn load<M: TableModel, E: TableEntity>(
    store: &Path,
    flights: impl Iterator<Item = Result<E>> + Send,
) -> Result<u64> {
    let db = open::<M>(store).await?;
    let mut broken = None;
    let flights = flights.map_while(|flight| flight.map_err(|error| broken = Some(error)).ok());
    let report = db.bulk().stop_on_error().insert_iter(flights).await?;
    broken.map_or(Ok(()), Err)?;
    Ok(report.into_result()?.written)
}

/// Release 2 at work: some flights are written, and so stored in its form; the others are left in that of release 1.
async fn correct(store: &Path, data: &Path) -> Result<u64> {
    let db = open::<two::Timetable>(store).await?;
    let mut corrected = 0;
    for flight in source::flights(data)? {
        let one::Flight { origin, date, scheduled, carrier, number, .. } = flight?;
        if carrier != CORRECTED {
            continue;
        }
        let path = two::Flight::find().origin(origin).date_month(date).date(date).scheduled(scheduled);
        let correct = |flight: &mut two::Flight| {
            correct_by_five(flight);
            Ok(())
        };
        db.update(path.carrier(carrier).number(number), correct).await?;
        corrected += 1;
    }
    Ok(corrected)
}

/// The correction: five minutes less.
fn correct_by_five(flight: &mut two::Flight) {
    flight.arrival_delay = flight.arrival_delay.map(|minutes| minutes - 5);
}

/// A flight of the files as release 4 holds it.
fn newest(flight: one::Flight) -> Result<four::Flight> {
    let mut flight = two::Flight::upgrade(flight)?;
    if flight.carrier == CORRECTED {
        correct_by_five(&mut flight);
    }
    Ok(four::Flight::upgrade(three::Flight::upgrade(flight)?)?)
}

async fn compare(evolved: &Path, fresh: &Path, data: &Path) -> Result<Compared> {
    let newest_flights = || Ok::<_, examples::flights::Error>(source::flights(data)?.map(|flight| newest(flight?)));
    load::<four::Timetable, _>(fresh, newest_flights()?).await?;
    let mut questions = Questions::default();
    for flight in newest_flights()? {
        questions.add(&flight?);
    }
    let (evolved, fresh) = (open::<four::Timetable>(evolved).await?, open::<four::Timetable>(fresh).await?);
    questions.ask(&evolved, &fresh).await
}
