//! Names that are reserved, taken twice, or would hide a terminal.

use tablemodel::prelude::*;

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "{count}_{id_between}_{id}_{at:day}_{at_day}_{verified}")]
struct Employee {
    department: String,
    count: u32,
    id: u32,
    id_between: u32,
    at: tablemodel::DateTime,
    at_day: u32,
    verified: u8,
    #[table(rename = "PartitionKey")]
    a: u8,
    row_key: u8,
    #[table(rename = "_seq")]
    b: u8,
    #[table(rename = "odata.type")]
    c: u8,
    #[table(rename = "not a name")]
    d: u8,
    #[table(rename = "Email")]
    mail: String,
    email: String,
    #[table(constant = "EMAIL")]
    e: u8,
    #[table(method = "not a name")]
    f: u8,
}

#[derive(Property)]
#[table(rename_all = "kebab-case")]
struct Group {
    first_name: String,
    #[table(rename = "A")]
    a: u8,
    #[table(rename = "A")]
    b: u8,
    #[table(flatten)]
    c: u8,
}

#[derive(Property)]
enum Color {
    Red,
    #[table(rename = "Red")]
    Green,
    Mixed(u8),
    #[table(rename_al = "x")]
    Blue,
}

#[derive(Property)]
enum Never {}

#[derive(TableModel)]
enum Model {
    Employee(Employee),
    Two(Employee, Employee),
    Named { employee: Employee },
    Unit,
    #[table(other)]
    Other(Row),
    #[table(other)]
    Rest(Row),
}

#[derive(TableModel)]
struct NotAnEnum;

#[derive(TableModel)]
enum Empty {}

#[derive(Projection)]
struct OfNothing {
    id: u32,
}

#[derive(Projection)]
#[table(off = Employee)]
struct Misspelt {
    #[table(rename = "Id")]
    id: u32,
}

#[derive(Projection)]
#[table(of = "Employee")]
struct OfText(u32);

/// In tables of the framework.
#[derive(TableEntity)]
#[table(name = "TMDirty", partition = "{a}", row = "r")]
#[table(index(by_b, table = "tmschema", partition = "{b}", row = "{a}"))]
struct OfTheFramework {
    a: String,
    b: String,
}

/// Handles and functions of one name.
#[derive(TableEntity)]
#[table(name = "Handles", partition = "{a}", row = "r")]
#[table(index(AGE, row = "age_{age}"), index(by_b, row = "b_{b}"))]
struct OneName {
    a: String,
    age: u8,
    #[table(constant = "by_b")]
    b: String,
    #[table(constant = "find")]
    c: String,
    #[table(constant = "in_partition")]
    d: String,
}

/// Under names that a service keeps for itself; what only the key holds is no property.
#[derive(TableEntity)]
#[table(name = "Services", partition = "{a}", row = "{id}", rename_all = "camelCase")]
struct KeptByAService {
    a: String,
    id: u32,
    etag: String,
    #[table(rename = "ResourceId")]
    resource: String,
}

#[derive(Property)]
struct OfAService {
    rid: u32,
}

/// Names that are keywords, and an entity in quotes, are told with what to write.
#[derive(TableEntity)]
#[table(name = "Keywords", partition = "{a}", row = "{id}", find = "for")]
struct Keywords {
    a: String,
    #[table(method = "type", constant = "self")]
    id: u32,
    #[table(constant = "in")]
    b: String,
}

#[derive(Projection)]
#[table(of = "Keywords")]
struct Quoted {
    #[table(constant = "r#in")]
    b: String,
}

async fn uses(db: &Database) -> tablemodel::Result<()> {
    let _: Option<Quoted> = Keywords::r#for().a("x").r#type(3).select::<Quoted>().one(db).await?;
    Ok(())
}

fn main() {}
