//! What the example programs share: the table of physical rows that they print, and the flights application.
//! No pattern is implemented here; the programs in `src/bin` show them.

pub mod flights;
mod physical;

pub use physical::print_rows;
