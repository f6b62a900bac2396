//! Keys: what encodes to what, and the laws that hold of all keys.

mod goldens;
mod hostile;
mod laws;
mod overlap;
mod planted_bugs;
mod ranges;
mod templates;
mod tuples;
