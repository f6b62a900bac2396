//! What the example programs share: the table of physical rows that they print, and the applications on top of them: the company and the flights.
//! No pattern is implemented here; the programs in `src/bin` show them.

#[cfg(feature = "blob")]
pub mod company;
pub mod flights;
mod physical;

pub use physical::print_rows;
