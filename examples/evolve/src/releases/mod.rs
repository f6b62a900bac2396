//! The application in its four releases. Each is what its repository held then; here they stand side by side, so that one
//! program can be all of them in turn.
//!
//! In a real one there is the newest alone, and older structs are frozen by `cargo tablemodel diff`.

pub(crate) mod four;
pub(crate) mod one;
pub(crate) mod three;
pub(crate) mod two;
