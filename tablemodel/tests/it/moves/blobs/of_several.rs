//! The same of entities of several rows, in one table, which become others.

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

releases!("People", [, wide] [, part = "all"] => [, wide] [, part = "pictures"]);
