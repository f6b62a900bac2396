//! Aggregates beside their sources: whatever is written, in whatever order, with whatever failing between, the cell and the
//! property of the target are what the sources come to.

mod crashes;
mod elsewhere;
mod moves;
mod oracle;
mod races;
mod ranked;
mod rows;
mod several;
mod sharded;
mod shifted;
mod stalls;

pub(crate) use self::crashes::a_fault_at_any_store_call_leaves_old_or_new_and_the_aggregates_of_it as enumerate;

use std::{collections::BTreeMap, sync::Arc};

use tablemodel::{
    Consistency, Properties, Value, ValueRef,
    prelude::*,
    store::{Durability, EmbeddedStore, TableStore},
    testing::TestDatabase,
};
use tempfile::TempDir;

use crate::tools::rows_of;
pub(super) use crate::tools::settle;

const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{id:04}")]
#[table(count(Team, key(company = department, number = team), into = members, when = active))]
#[table(sum(Team, key(company = department, number = team), of = salary, into = payroll))]
#[table(sum(Team, key(company = department, number = team), of = hours, into = hours))]
#[table(min(Team, key(company = department, number = team), of = salary, into = least, when = active))]
#[table(max(Team, key(company = department, number = team), of = hours, into = longest))]
#[table(count(Team, key(company = department, number = team), into = badges, when = active))]
#[table(sum(Team, key(company = department, number = team), of = salary, into = wages))]
#[table(sum(Team, key(company = department, number = team), of = hours, into = worked))]
pub(super) struct Employee {
    pub(super) department: String,
    pub(super) id: u32,
    pub(super) team: u8,
    pub(super) salary: i64,
    pub(super) hours: Option<f64>,
    pub(super) active: bool,
    pub(super) name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "c_{id:04}")]
#[table(count(Team, key(company = department, number = team), into = contractors))]
pub(super) struct Contractor {
    pub(super) department: String,
    pub(super) id: u32,
    pub(super) team: u8,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{company}", row = "team_{number:02}")]
#[table(index(copies, row = "copy_{motto}_{number:02}", keep(members, payroll, hours, contractors, least, longest)))]
#[table(index(
    by_motto,
    table = "Mottos",
    partition = "{motto}",
    row = "{company}_{number:02}",
    keep(members, payroll)
))]
#[table(sharded(badges = i64, wages = i64, worked = f64))]
pub(super) struct Team {
    pub(super) company: String,
    pub(super) number: u8,
    pub(super) motto: String,
    pub(super) budget: i64,
    #[table(aggregate)]
    pub(super) members: i64,
    #[table(aggregate)]
    pub(super) payroll: i64,
    #[table(aggregate)]
    pub(super) hours: f64,
    #[table(aggregate)]
    pub(super) contractors: i64,
    #[table(aggregate)]
    pub(super) least: Option<i64>,
    #[table(aggregate)]
    pub(super) longest: Option<f64>,
}

#[derive(TableModel)]
pub(super) enum Model {
    Employee(Employee),
    Contractor(Contractor),
    Team(Team),
}

pub(super) fn employee(id: u32, team: u8) -> Employee {
    Employee { department: "A".into(), id, team, salary: 100, hours: Some(0.1), active: true, name: "Jo".into() }
}

pub(super) fn contractor(id: u32, team: u8) -> Contractor {
    Contractor { department: "A".into(), id, team }
}

/// With nonsense in the fields that are not its own to say.
pub(super) fn team(number: u8) -> Team {
    let (members, payroll, hours, contractors) = (-7, -7, f64::NAN, 1_000);
    let (least, longest) = (Some(-1), if number == 1 { None } else { Some(99.0) });
    let motto = "m".into();
    Team { company: "A".into(), number, motto, budget: 0, members, payroll, hours, contractors, least, longest }
}

pub(super) async fn database(mode: Consistency) -> TestDatabase {
    crate::migrate::store_of::<Model>(mode).await
}

/// Over a file, with the outbox.
pub(super) async fn on_disk() -> (TestDatabase, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aggregates");
    let open = |clock| {
        let builder = EmbeddedStore::builder().clock(clock).durability(Durability::Relaxed);
        Arc::new(builder.open(&path).unwrap()) as Arc<dyn TableStore>
    };
    (TestDatabase::over::<Model>(open).await.unwrap(), folder)
}

pub(super) async fn employees(db: &TestDatabase) -> Vec<Employee> {
    Employee::find().department("A").all(db).await.unwrap().into_iter().map(Stored::into_inner).collect()
}

pub(super) async fn contractors(db: &TestDatabase) -> Vec<Contractor> {
    Contractor::find().department("A").all(db).await.unwrap().into_iter().map(Stored::into_inner).collect()
}

pub(super) async fn teams(db: &TestDatabase) -> Vec<Team> {
    Team::find().company("A").all(db).await.unwrap().into_iter().map(Stored::into_inner).collect()
}

pub(super) async fn rows_in(db: &TestDatabase, table: &str) -> BTreeMap<(String, String), Properties> {
    rows_of(&*db.store(), table).await.into_iter().map(|(key, row)| (key, row.properties)).collect()
}

/// What a team should hold, by the people that are there: each value with the number of its sources.
pub(super) fn expected(
    number: u8,
    employees: &[Employee],
    contractors: &[Contractor],
) -> [(&'static str, i64, Option<Value>); 6] {
    let all: Vec<_> = employees.iter().filter(|employee| employee.team == number).collect();
    let members = all.iter().filter(|employee| employee.active).count() as i64;
    let payroll: i128 = all.iter().map(|employee| i128::from(employee.salary)).sum();
    let hours: Vec<f64> = all.iter().filter_map(|employee| employee.hours).collect();
    // Sixteenths, and so exact: but for the tenth of a plain employee, which is the same for all.
    let tenths = hours.iter().filter(|hours| **hours == 0.1).count();
    let rest: f64 = hours.iter().filter(|hours| **hours != 0.1).sum();
    let sum = if rest == 0.0 { exact_tenths(tenths) } else { rest + exact_tenths(tenths) };
    let from = contractors.iter().filter(|contractor| contractor.team == number).count() as i64;
    let least = all.iter().filter(|employee| employee.active).map(|employee| employee.salary).min();
    let longest = hours.iter().copied().reduce(f64::max);
    [
        ("Members", members, Some(Value::Int64(members))),
        ("Payroll", all.len() as i64, Some(Value::Int64(payroll.try_into().unwrap()))),
        ("Hours", hours.len() as i64, Some(Value::Double(sum))),
        ("Contractors", from, Some(Value::Int64(from))),
        ("Least", members, least.map(Value::Int64)),
        ("Longest", hours.len() as i64, longest.map(Value::Double)),
    ]
}

/// The rows that an employee has for the least and the greatest, with what they hold.
fn contributions(employee: &Employee) -> Vec<((String, String), Value)> {
    let row =
        |property, code: u64| format!("~~agg|team_{:02}|{property}|{code:020}!e_{:04}", employee.team, employee.id);
    let least = employee.active.then(|| (row("Least", (employee.salary as u64) ^ 1 << 63), employee.salary.into()));
    let longest = employee.hours.map(|hours| {
        let bits = hours.to_bits();
        let code = if hours < 0.0 { !bits } else { bits | 1 << 63 };
        (row("Longest", !code), hours.into())
    });
    least.into_iter().chain(longest).map(|(row, value)| (("A".to_owned(), row), value)).collect()
}

/// The part that FORMAT.md has a source counted in.
pub(super) fn part_of(partition: &str, row: &str) -> u64 {
    let owner = format!("{partition}!{row}");
    let framed = [&(owner.len() as u64).to_le_bytes(), owner.as_bytes()].concat();
    twox_hash::XxHash3_64::oneshot(&framed) % 16
}

/// The parts of the sharded aggregates, by their keys, with their sources and values.
fn parts(employees: &[Employee]) -> BTreeMap<(String, String), (i64, Value)> {
    let mut by_part = BTreeMap::<(u8, u64), Vec<Employee>>::new();
    for employee in employees {
        let part = part_of("A", &format!("e_{:04}", employee.id));
        by_part.entry((employee.team, part)).or_default().push(employee.clone());
    }
    let mut parts = BTreeMap::new();
    for ((team, part), own) in by_part {
        for (property, sources, value) in expected(team, &own, &[]) {
            let sharded = match property {
                "Members" => "Badges",
                "Payroll" => "Wages",
                "Hours" => "Worked",
                _ => continue,
            };
            if let Some(value) = value.filter(|_| sources > 0) {
                let row = format!("~~agg|team_{team:02}|{sharded}|{part:02}");
                parts.insert(("A".to_owned(), row), (sources, value));
            }
        }
    }
    parts
}

/// So many times the float that 0.1 is, rounded once.
fn exact_tenths(times: usize) -> f64 {
    let tenth = 0.1_f64;
    times as f64 * tenth // one rounding
}

/// That cells, targets and what is made from these are those of the people that are there.
pub(super) async fn assert_exact(db: &TestDatabase, told: &str) {
    let (employees, contractors, teams) = (employees(db).await, contractors(db).await, teams(db).await);
    let rows = rows_in(db, "Company").await;
    let mut cells = Vec::new();
    for (row, value) in employees.iter().flat_map(contributions) {
        let found = rows.get(&row).unwrap_or_else(|| panic!("{told}: no {row:?}"));
        assert_eq!(found.get("_value").map(|value| value.to_value()), Some(value), "{told}: {row:?}");
        cells.push(row);
    }
    for number in 0..10 {
        let team = teams.iter().find(|team| team.number == number);
        for (property, sources, value) in expected(number, &employees, &contractors) {
            let cell = ("A".to_owned(), format!("~~agg|team_{number:02}|{property}"));
            if sources > 0 || team.is_some() {
                let found = rows.get(&cell).unwrap_or_else(|| panic!("{told}: no {cell:?}"));
                assert_eq!(found.get("_value").map(|value| value.to_value()), value, "{told}: {cell:?}");
                assert_eq!(found.get("_count"), Some(ValueRef::Int64(sources)), "{told}: {cell:?}");
                cells.push(cell);
            }
            let Some(team) = team else { continue };
            let copy = ("A".to_owned(), format!("copy_{}_{number:02}", team.motto));
            for row in [("A".to_owned(), format!("team_{number:02}")), copy] {
                assert_eq!(rows[&row].get(property).map(|value| value.to_value()), value, "{told}: {row:?}");
            }
        }
    }
    for (row, (sources, value)) in parts(&employees) {
        let found = rows.get(&row).unwrap_or_else(|| panic!("{told}: no {row:?}"));
        assert_eq!(found.get("_value").map(|value| value.to_value()), Some(value), "{told}: {row:?}");
        assert_eq!(found.get("_count"), Some(ValueRef::Int64(sources)), "{told}: {row:?}");
        cells.push(row);
    }
    for number in 0..4 {
        let path = || Team::find().company("A").number(number);
        let [members, payroll, hours, ..] = expected(number, &employees, &contractors).map(|(_, _, value)| value);
        assert_eq!(Some(db.total(path(), Team::BADGES).await.unwrap().into()), members, "{told}: {number}");
        assert_eq!(Some(db.total(path(), Team::WAGES).await.unwrap().into()), payroll, "{told}: {number}");
        assert_eq!(Some(db.total(path(), Team::WORKED).await.unwrap().into()), hours, "{told}: {number}");
    }
    let found: Vec<_> = rows.keys().filter(|(_, row)| row.starts_with("~~agg|")).cloned().collect();
    cells.sort();
    assert_eq!(found, cells, "{told}");
    let mut mottos = rows_in(db, "Mottos").await;
    mottos.retain(|_, row| row.get("_dead").is_none());
    assert_eq!(mottos.len(), teams.len(), "{told}");
    for team in &teams {
        let row = &mottos[&(team.motto.clone(), format!("A_{:02}", team.number))];
        assert_eq!(row.get("Members"), Some(ValueRef::Int64(team.members)), "{told}");
        assert_eq!(row.get("Payroll"), Some(ValueRef::Int64(team.payroll)), "{told}");
    }
}
