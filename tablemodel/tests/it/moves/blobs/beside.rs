//! The same in one table.

#[path = "onward.rs"]
mod onward;
#[path = "people.rs"]
mod people;
#[path = "together.rs"]
mod together;
#[path = "whole.rs"]
mod whole;

use self::people::*;
use super::releases::releases;

releases!("People");
