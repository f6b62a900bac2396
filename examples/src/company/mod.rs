//! The company of the design guide: departments, employees, managers, reviews, in every room that there is.
//! A reading order: `model` is the declarations, `story` what is done with them, `work` and `crash` the same under random
//! kills. What a pattern is, the programs of one room each tell; nothing of `tablemodel` is built here.

mod chance;
pub mod crash;
pub mod model;
mod people;
mod places;
pub mod run;
pub mod story;
mod work;

/// What a step gives: an error of the database or of files, or a claim that does not hold.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Tells a claim that holds.
fn holds(claim: bool, what: &str) -> Result<()> {
    if !claim {
        return Err(format!("this does not hold: {what}").into());
    }
    println!("  holds: {what}");
    Ok(())
}
