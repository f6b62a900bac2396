//! Indexes that cannot work, as far as it shows without types.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_name, row = "name_{name}"))]
#[table(index(by_id, row = "id_{id:06}", unique))]
#[table(index(without_row))]
#[table(index(misspelt, row = "m_{nam}_{id:06}", keep(emial, age, age, skills, address), when = activ))]
#[table(index(both, row = "b_{id:06}", keep(age), keys_only))]
#[table(index(kept_keys, row = "k_{age}_{id:06}", keep(id, department, age)))]
#[table(index(conditions, row = "c_{id:06}", when = age > 3, keep()))]
#[table(index(find, row = "f_{id:06}"))]
#[table(index(in_partition, row = "g_{id:06}"))]
#[table(index(by_name, row = "h_{id:06}"))]
#[table(index(is_json, row = "i_{id:06}", when = skills))]
#[table(index(is_some_json, row = "n_{id:06}", when = maybe))]
#[table(index(one_row, row = "j_{age}_{id:06}", each(skills)))]
#[table(index(of_an_option, row = "l_{maybe}_{id:06}", each(maybe)))]
#[table(index(of_a_group, row = "o_{address}_{id:06}"))]
struct Employee {
    department: String,
    id: u32,
    name: String,
    email: String,
    age: u8,
    #[table(json)]
    skills: Vec<String>,
    #[table(flatten)]
    address: Address,
    #[table(json)]
    maybe: Option<Vec<String>>,
}

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{id:shard(16)}", row = "empid_{id:06}")]
#[table(index(by_email, row = "email_{email}", unique))]
struct Spread {
    id: u32,
    email: String,
}

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{day}_{id}", find = "by_day", allow_scan)]
#[table(index(by_day, row = "x_{day}_{id}"))]
struct Renamed {
    department: String,
    day: String,
    id: u32,
}

fn main() {}
