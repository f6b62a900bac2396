//! Names of the user that could meet those of generated code.
#![deny(warnings)]
#![deny(missing_docs)]

fn main() {}
