//! Ranges of enums whose texts are in another order than their variants.

use tablemodel::prelude::*;

#[derive(Property, KeyPart)]
enum Grade {
    Senior,
    Junior,
}

#[derive(Property, KeyPart)]
enum Level {
    High = 2,
    Low = 1,
}

#[derive(Property, KeyPart)]
struct Wrapped(Grade);

#[derive(Property, KeyPart)]
enum Size {
    L = 10,
    M,
    S = 30,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{grade}")]
#[table(index(by_level, row = "l_{level}!{grade}"))]
#[table(index(by_wrapped, row = "w_{wrapped}!{grade}"))]
#[table(index(by_size, row = "s_{size}!{grade}"))]
struct Employee {
    department: String,
    grade: Grade,
    level: Level,
    wrapped: Option<Wrapped>,
    size: Size,
}

fn wrong() {
    let _ = Employee::find().department("Sales").grade_between(Grade::Senior..);
    let _ = Employee::by_level().department("Sales").level_between(..Level::Low);
    let _ = Employee::by_wrapped().department("Sales").wrapped_between(Wrapped(Grade::Senior)..);
    // a bound of another type
    let _ = Employee::by_size().department("Sales").size_between(3..4);
}

fn right() {
    let _ = Employee::by_size().department("Sales").size_between(Size::M..);
}

fn main() {}
