//! Copies of another entity's properties: whatever fails between, they are in the end what their sources are.

mod alike;
mod bound;
mod chain;
mod claiming;
mod counted;
mod crashes;
mod crowds;
mod defaulted;
mod delivery;
mod headed;
mod in_order;
mod listed;
mod many;
mod moves;
mod older;
mod oracle;
mod races;
mod renamed;
mod repeated;
mod rows;
mod several;
mod three_sources;
mod told;

pub(crate) use self::crashes::a_fault_at_any_store_call_leaves_every_copy_as_its_source_is as enumerate;

use tablemodel::{Consistency, Properties, Value, ValueRef, prelude::*, store::TableStore, testing::TestDatabase};

pub(super) use crate::tools::{Rows, rows_in, settle};

/// The source: copied by departments in its own partition, by desks elsewhere, by badges that restrict, by notes that keep.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{id:04}")]
pub(super) struct Employee {
    pub(super) department: String,
    pub(super) id: u32,
    pub(super) first_name: String,
    pub(super) last_name: Option<String>,
    pub(super) age: u8,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Employee)]
pub(super) struct Card {
    pub(super) id: u32,
    pub(super) first_name: String,
    pub(super) last_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Employee)]
pub(super) struct Name {
    pub(super) first_name: String,
}

/// In the partition of its manager, if it is of the department's own.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{name}", row = "d_{number:02}")]
#[table(index(by_budget, row = "b_{budget:06}_{number:02}"))]
pub(super) struct Department {
    pub(super) name: String,
    pub(super) number: u8,
    pub(super) budget: u32,
    pub(super) manager_id: Option<u32>,
    #[table(copy_of(Employee, key(department = name, id = manager_id)))]
    pub(super) manager: Option<Card>,
}

/// In another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Desks", partition = "{room}", row = "desk_{place:04}")]
#[table(index(by_place, table = "Places", partition = "{place}", row = "{room}", keys_only))]
pub(super) struct Desk {
    pub(super) room: String,
    pub(super) place: u32,
    pub(super) of: String,
    pub(super) sitter: Option<u32>,
    #[table(copy_of(Employee, key(department = of, id = sitter), on_delete = clear))]
    pub(super) who: Option<Name>,
}

/// In another table, and its employee stays while it is there.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Badges", partition = "{number}", row = "badge")]
pub(super) struct Badge {
    pub(super) number: u32,
    pub(super) department: String,
    pub(super) id: u32,
    #[table(copy_of(Employee, key(department = department, id = id), on_delete = restrict))]
    pub(super) bearer: Name,
}

/// In another table, and keeps what it copied.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Notes", partition = "{number}", row = "note")]
pub(super) struct Note {
    pub(super) number: u32,
    pub(super) department: String,
    pub(super) id: Option<u32>,
    #[table(copy_of(Employee, key(department = department, id = id), on_delete = keep))]
    pub(super) author: Option<Name>,
}

#[derive(TableModel)]
pub(super) enum Model {
    Employee(Employee),
    Department(Department),
    Desk(Desk),
    Badge(Badge),
    Note(Note),
}

pub(super) fn employee(department: &str, id: u32) -> Employee {
    let last_name = id.is_multiple_of(2).then(|| format!("last{id}"));
    Employee { department: department.into(), id, first_name: format!("first{id}"), last_name, age: 30 }
}

pub(super) fn department(name: &str, number: u8, manager: impl Into<Option<u32>>) -> Department {
    // What the struct says of a copy is ignored.
    let wrong = Card { id: 99, first_name: "nobody".into(), last_name: None };
    Department { name: name.into(), number, budget: 7, manager_id: manager.into(), manager: Some(wrong) }
}

pub(super) fn desk(place: u32, sitter: impl Into<Option<u32>>) -> Desk {
    Desk { room: format!("r{}", place % 3), place, of: "A".into(), sitter: sitter.into(), who: None }
}

pub(super) fn badge(number: u32, id: u32) -> Badge {
    Badge { number, department: "A".into(), id, bearer: Name { first_name: "nobody".into() } }
}

pub(super) fn note(number: u32, id: impl Into<Option<u32>>) -> Note {
    Note { number, department: "A".into(), id: id.into(), author: None }
}

pub(super) fn card(employee: &Employee) -> Card {
    Card { id: employee.id, first_name: employee.first_name.clone(), last_name: employee.last_name.clone() }
}

macro_rules! at {
    ($department:expr, $id:expr) => {
        crate::copy::Employee::find().department($department).id($id)
    };
}
pub(super) use at;

pub(super) const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

pub(super) async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

pub(super) async fn all_rows(store: &dyn TableStore) -> Rows {
    let mut rows = Rows::new();
    for table in ["Company", "Desks", "Badges", "Notes", "Places"] {
        rows.extend(rows_in(store, table).await);
    }
    rows
}

fn text(properties: &Properties, name: &str) -> Option<String> {
    match properties.get(name)?.to_value() {
        Value::String(text) => Some(text),
        other => panic!("{name} is {other:?}"),
    }
}

fn number(properties: &Properties, name: &str) -> Option<u32> {
    match properties.get(name)?.to_value() {
        Value::Int64(number) => Some(number as u32),
        other => panic!("{name} is {other:?}"),
    }
}

/// What is wrong with the copies: every holder's row is compared, by hand, with the row of the employee that it names, and
/// the back-references with the holders.
pub(super) async fn faults(store: &dyn TableStore) -> Vec<String> {
    let rows = all_rows(store).await;
    let kind = |properties: &Properties| text(properties, "EntityType").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut wanted = Vec::new();
    for ((table, partition, row), holder) in &rows {
        let kind = kind(holder);
        let (copy, of, id, names): (_, _, _, &[&str]) = match kind.as_str() {
            "Department@1" | "Department.by_budget@1" => {
                ("Manager", Some(partition.clone()), number(holder, "ManagerId"), &["FirstName", "LastName"])
            }
            "Desk@1" => ("Who", text(holder, "Of"), number(holder, "Sitter"), &["FirstName"]),
            "Badge@1" => ("Bearer", text(holder, "Department"), number(holder, "Id"), &["FirstName"]),
            "Note@1" => ("Author", text(holder, "Department"), number(holder, "Id"), &["FirstName"]),
            _ => continue,
        };
        let id = id.filter(|_| of.is_some());
        let source = id.and_then(|id| rows.get(&("Company".to_owned(), of.clone().unwrap(), format!("e_{id:04}"))));
        let source = source.filter(|source| kind_of(source) == "Employee@1");
        if kind == "Badge@1" && source.is_none() {
            wrong.push(format!("{table} {partition} {row}: its source is gone, though it restricts that"));
        }
        for name in names {
            let expected = source.and_then(|source| text(source, name));
            let found = text(holder, &format!("{copy}_{name}"));
            let is_kept = kind == "Note@1" && source.is_none() && id.is_some();
            if found != expected && !is_kept {
                wrong.push(format!(
                    "{table} {partition} {row}: {copy}_{name} is {found:?}, its source says {expected:?}"
                ));
            }
        }
        let says_so = matches!(holder.get(&format!("{copy}__seq")), Some(ValueRef::Int64(1..)));
        if says_so != source.is_some() && kind != "Note@1" {
            wrong.push(format!("{table} {partition} {row}: {copy}__seq"));
        }
        if let (Some(id), Some(of), false) = (id, of, kind.contains('.')) {
            let tail = format!("{}|{partition}|{row}", partition.len());
            let (holder, _) = kind.split_once('@').unwrap();
            let name = copy.to_lowercase();
            wanted.push(("Company".to_owned(), of, format!("~~ref|6|e_{id:04}|{holder}.{name}|{tail}")));
        }
    }
    let is_live = |properties: &Properties| properties.get("_dead").is_none() && properties.get("_claim").is_none();
    let found = rows.iter().filter(|((_, _, row), p)| row.starts_with("~~ref|") && is_live(p));
    let found: Vec<_> = found.map(|(key, _)| key.clone()).collect();
    wanted.sort();
    if found != wanted {
        wrong.push(format!("back-references are {found:?}, the holders want {wanted:?}"));
    }
    wrong
}

fn kind_of(properties: &Properties) -> String {
    text(properties, "EntityType").unwrap_or_default()
}

pub(super) async fn assert_exact(db: &TestDatabase, told: &str) {
    assert_eq!(faults(&*db.store()).await, Vec::<String>::new(), "{told}");
}
