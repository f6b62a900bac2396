//! Items that cannot be stored at all.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{a}", row = "{b}")]
struct Generic<T> {
    a: T,
    b: T,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{a}", row = "{b}")]
struct Borrowed<'a> {
    a: &'a str,
    b: &'a str,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{a}", row = "{b}")]
struct Sized<const N: usize> {
    a: [u8; N],
    b: [u8; N],
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{a}", row = "{b}")]
struct Tuple(u32, u32);

#[derive(TableEntity)]
#[table(name = "Company", partition = "{a}", row = "{b}")]
enum Enum {
    A,
}

#[derive(TableEntity)]
union Union {
    a: u32,
    b: u32,
}

#[derive(TableModel)]
enum Model<T> {
    A(T),
}

#[derive(Projection)]
#[table(of = Tuple)]
struct Projected<T> {
    a: T,
}

#[derive(Property, KeyPart)]
struct Two(u32, u32);

#[derive(Property, KeyPart)]
struct Unit;

#[derive(Property, KeyPart)]
struct Wrapper<T>(T);

#[derive(KeyPart)]
struct Group {
    a: u32,
}

#[derive(Property, KeyPart)]
union Both {
    a: u32,
    b: u32,
}

fn used(tuple: Tuple, all: Enum) -> &'static tablemodel::EntitySchema {
    let _ = (tuple.0, all);
    <Tuple as TableEntity>::SCHEMA
}

#[derive(Property, KeyPart)]
struct Tags(#[table(rename = "T")] String);

#[derive(TableModel)]
enum Listed {
    Tuple(#[table(other)] Tuple),
}

fn main() {}
