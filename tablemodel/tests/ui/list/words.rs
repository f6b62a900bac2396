//! Lists: wrong words, keys that cannot be those of a list, all mistakes at once.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id}")]
#[table(list())]
#[table(list(row = "ids_{name}"))]
#[table(list = "ids")]
#[table(list(nameless))]
#[table(list(misspelt, rwo = "m_{name}"))]
#[table(list(kept, row = "k_{name}", keep(age)))]
#[table(list(only, row = "o_{name}", unique))]
#[table(list(unknown, row = "u_{nmae}"))]
#[table(list(alone, row = "a_{name}_{id}"))]
#[table(list(in_blob, row = "blob_{name}", store = blob(below = 3)))]
#[table(list(long_rows, row = "long_{name}", store = blob(inline_below = 16001)))]
#[table(list(blob_elsewhere, row = "be_{name}", partition = "{name}", store = blob))]
#[table(list(somewhere, row = "w_{name}", store = elsewhere))]
#[table(list(stored, row = "t_{name}", store))]
#[table(list(twice, row = "x_{name}", row = "y_{name}"))]
#[table(list(no_partition, row = "p_{name}", table = "Names"))]
#[table(list(constant, row = "c_{name}", partition = "all"))]
#[table(list(spread, row = "s_{name}", partition = "{name}_{id:shard(4)}"))]
#[table(list(of_one, row = "e_{skills}", each(name)))]
#[table(list(doubled, row = "d_{name}", store = blob(inline_below = 3, inline_below = 4)))]
#[table(list(each_alike, row = "l_{name}", each(skills)))]
#[table(list(find, row = "f_{name}"))]
struct Employee {
    department: String,
    id: u32,
    name: String,
    age: u8,
    #[table(json)]
    skills: Vec<String>,
}

fn main() {
    let _ = Employee::misspelt().department("Sales").name("Jones");
    let _ = Employee::AGE.set(3);
}
