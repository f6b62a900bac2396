//! The flights application on the first days of January: clean as loaded, and each planted mistake is found.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Command,
};

use chrono::NaiveDate;
use examples::flights::{
    check::{Checked, check},
    load::load,
    model::{Plane, Timetable},
    paths,
};
use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use tablemodel::{
    prelude::{Database, Path as _},
    store::{Condition, KeyRange, Query, TableStoreExt},
};
use tempfile::TempDir;

/// Lines of the bundled flights that the tests take: most of the first day's.
const FLIGHTS: usize = 700;

/// A directory with the small tables and the first flights, each line as `change` gives it.
fn data(change: impl Fn(usize, String) -> String) -> TempDir {
    let (bundled, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("data"), tempfile::tempdir().unwrap());
    for name in ["airlines", "airports", "planes", "weather", "flights"] {
        let name = format!("{name}.csv.gz");
        let lines = BufReader::new(GzDecoder::new(BufReader::new(File::open(bundled.join(&name)).unwrap()))).lines();
        let mut target = GzEncoder::new(File::create(folder.path().join(&name)).unwrap(), Compression::fast());
        let is_flights = name.starts_with("flights");
        for (number, line) in lines.enumerate().take_while(|(number, _)| !is_flights || *number <= FLIGHTS) {
            let line = line.unwrap();
            writeln!(target, "{}", if is_flights { change(number, line) } else { line }).unwrap();
        }
        target.finish().unwrap();
    }
    folder
}

async fn loaded(data: &TempDir) -> Database {
    let db = Database::in_memory::<Timetable>().await.unwrap();
    db.ensure_tables().await.unwrap();
    load(&db, data.path(), |_| {}).await.unwrap();
    db
}

fn first_of_january() -> NaiveDate {
    NaiveDate::from_ymd_opt(2013, 1, 1).unwrap()
}

/// That the check finds something, and all of these among it.
fn finds(checked: &Checked, letters: &[&str]) {
    assert!(checked.failed > 0, "the planted mistake was not found");
    for letter in letters {
        let found = checked.differences.iter().any(|difference| difference.starts_with(letter));
        assert!(found, "{letter} not among {:#?}", checked.differences);
    }
}

#[tokio::test]
async fn every_answer_is_that_of_the_plain_pass() {
    let data = data(|_, line| line);
    let checked = check(&loaded(&data).await, data.path()).await.unwrap();
    assert_eq!(checked.differences, Vec::<String>::new());
    assert!(checked.failed == 0 && checked.made > 7_000, "{} comparisons", checked.made);
}

#[tokio::test]
async fn a_changed_flight_is_found_on_every_path() {
    let data = data(|_, line| line);
    let db = loaded(&data).await;
    let mut flight = paths::flight("EWR", first_of_january(), "UA", 1545).one(&db).await.unwrap().unwrap();
    (flight.arrival_delay, flight.departure_delay) = (Some(999), Some(999));
    db.save(&mut flight).await.unwrap();
    let checked = check(&db, data.path()).await.unwrap();
    finds(
        &checked,
        &[
            "(a) flights of EWR on 2013-01-01",
            "(b) UA 1545 from EWR",
            "(c) departures of N14228",
            "(e)",
            "(g)",
            "(i) flights of N14228",
            "(l) counts of EWR in 2013-01",
        ],
    );
}

#[tokio::test]
async fn a_lost_flight_and_a_wrong_header_are_found() {
    let data = data(|_, line| line);
    let db = loaded(&data).await;
    let flight = paths::flight("EWR", first_of_january(), "UA", 1545).one(&db).await.unwrap().unwrap();
    db.delete(flight).await.unwrap();
    let mut day = paths::day("JFK", first_of_january()).one(&db).await.unwrap().unwrap();
    day.by_hour.clear();
    db.save(&mut day).await.unwrap();
    let checked = check(&db, data.path()).await.unwrap();
    let found = ["(b) UA 1545 from EWR", "(h) busiest hour of JFK", "(l) counts of EWR", "the number of entities"];
    finds(&checked, &found);
}

#[tokio::test]
async fn a_changed_plane_is_found_in_its_flights_and_its_fleet() {
    let data = data(|_, line| line);
    let db = loaded(&data).await;
    let mut plane = Plane::find().tail("N14228").one(&db).await.unwrap().unwrap();
    plane.seats = Some(1);
    db.save(&mut plane).await.unwrap();
    let checked = check(&db, data.path()).await.unwrap();
    finds(&checked, &["(f) the fleet of UA", "(m) the plane of UA 1545 from EWR", "plane N14228"]);
    assert!(!checked.differences.iter().any(|difference| difference.starts_with("rows")), "the copies followed");
}

#[tokio::test]
async fn lost_and_changed_weather_is_found() {
    let data = data(|_, line| line);
    let db = loaded(&data).await;
    let flight = paths::flight("EWR", first_of_january(), "UA", 1545).one(&db).await.unwrap().unwrap();
    let mut hour = paths::weather_of_flight(&flight).one(&db).await.unwrap().unwrap();
    hour.temperature = None;
    db.save(&mut hour).await.unwrap();
    let other = paths::weather_of_day("LGA", first_of_january()).first(1, &db).await.unwrap().remove(0);
    db.delete(other).await.unwrap();
    let checked = check(&db, data.path()).await.unwrap();
    let found =
        ["(j) weather at EWR on 2013-01-01", "(j) weather at LGA on 2013-01-01", "(k) weather of UA 1545 from EWR"];
    finds(&checked, &found);
}

#[tokio::test]
async fn a_lost_index_row_is_found() {
    let data = data(|_, line| line);
    let db = loaded(&data).await;
    let rows = db.store().query_all(&Query::new("Departures", KeyRange::partition("EWR_2013-01"))).await.unwrap();
    let row = rows.into_iter().find(|row| row.key.row.starts_with("tail_N14228_")).unwrap();
    db.store().delete("Departures", &row.key, Condition::Exists).await.unwrap();
    let checked = check(&db, data.path()).await.unwrap();
    finds(
        &checked,
        &["(c) departures of N14228", "rows that are not as the model says", "the number of index rows, cells"],
    );
}

#[tokio::test]
async fn a_malformed_file_is_refused_with_its_line_and_column() {
    let broken = |number: usize, line: String| if number == 650 { line.replace("2013,1,1", "2013,1,x") } else { line };
    let data = data(broken);
    let db = Database::in_memory::<Timetable>().await.unwrap();
    db.ensure_tables().await.unwrap();
    let error = load(&db, data.path(), |_| {}).await.unwrap_err().to_string();
    assert!(error.starts_with("flights.csv.gz, line 651, column `day`: `x`: "), "{error}");
}

#[test]
fn the_program_tells_its_figures_and_spares_a_file_that_exists() {
    let data = data(|_, line| line);
    let store = data.path().join("kept.tablemodel");
    let run = |keep: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flights"));
        command.args(["--check", "--json", "--data"]).arg(data.path()).arg("--store").arg(&store);
        command.args(keep.then_some("--keep")).output().unwrap()
    };
    let output = run(true);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&figures["flights"], &figures["check"]["failed"]), (&FLIGHTS.into(), &0.into()));
    let explained =
        figures["queries"].as_array().unwrap().iter().map(|asked| asked["explain"].as_array().unwrap().len());
    assert_eq!(
        explained.collect::<Vec<_>>(),
        [1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 31, 1],
        "each path that is run is explained"
    );
    assert!(store.exists(), "`--keep` keeps it");

    let refused = run(false);
    assert!(!refused.status.success() && store.exists(), "a file that exists is neither written nor removed");
    std::fs::remove_file(&store).unwrap();
    assert!(run(false).status.success() && !store.exists(), "without `--keep` it is removed");
}
