//! Makes the bundled data: January 2013 and the small tables, out of the full year of nycflights13.
//! Copies lines as they are; nothing is parsed or computed.
//!
//! `cargo run -p examples --bin make_january -- DIR [TO]`, where DIR holds the full year's files.

use std::{
    error::Error,
    fs::File,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};

/// The files, and what the lines that are copied begin with, after the airport's code where that comes first.
const FILES: [(&str, &str); 5] =
    [("flights", JANUARY), ("weather", JANUARY), ("airlines", ""), ("airports", ""), ("planes", "")];
const JANUARY: &str = "2013,1,";
const AIRPORTS: [&str; 3] = ["EWR,", "JFK,", "LGA,"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let from = arguments.next().ok_or("which directory holds the full year? usage: make_january DIR [TO]")?;
    let to = arguments.next().unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"));
    for (file, prefix) in FILES {
        let file = format!("{file}.csv.gz");
        let lines = copy(&from.join(&file), &to.join(&file), prefix)?;
        println!("{lines} lines in {file}");
    }
    Ok(())
}

/// Copies the header and every line that begins with `prefix`, or with an airport and it; gives the number of lines after the header.
fn copy(from: &Path, to: &Path, prefix: &str) -> Result<u64, Box<dyn Error>> {
    let lines = BufReader::new(GzDecoder::new(BufReader::new(File::open(from)?))).lines();
    let mut target = GzEncoder::new(File::create(to)?, Compression::best());
    let mut count = 0;
    for (number, line) in lines.enumerate() {
        let line = line?;
        let rest = AIRPORTS.iter().find_map(|airport| line.strip_prefix(airport)).unwrap_or(&line);
        if number == 0 || rest.starts_with(prefix) {
            writeln!(target, "{line}")?;
            count += u64::from(number > 0);
        }
    }
    target.finish()?.sync_all()?;
    Ok(count)
}
