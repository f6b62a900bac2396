//! The declarations: six types in three tables, and the rows that belong to them in these and three more.
//! Keys are told here and nowhere else.

#![expect(clippy::duplicated_attributes, reason = "each index says for itself what it holds")]

use tablemodel::prelude::*;

/// Counters of a year.
pub const DAYS: usize = 365;

/// An employee, beside the department.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_last_name, row = "name_{last_name}_{id:06}"))]
#[table(index(by_email, row = "email_{email:lower}", unique, keep(first_name, last_name)))]
#[table(index(managers, row = "manager_{id:06}", when = is_manager, keys_only))]
#[table(index(by_city, table = "Cities", partition = "{city}", row = "{department}_{id:06}", keep(last_name)))]
#[table(index(
    by_skill,
    table = "Skills",
    partition = "{skills}",
    row = "{id:06}_{department}",
    each(skills),
    keys_only
))]
#[table(index(by_badge, table = "Badges", partition = "{badge:05}", row = "badge", unique, keys_only))]
#[table(list(ids_by_last_name, row = "ids_{last_name}"))]
#[table(count(Department, key(name = department), into = heads))]
#[table(sum(Department, key(name = department), of = salary, into = payroll))]
pub struct Employee {
    /// The department, by name.
    pub department: String,
    /// The number, up to six digits.
    pub id: u32,
    /// The first name.
    pub first_name: String,
    /// The last name: an index in order of it, and a list of those called so.
    pub last_name: String,
    /// Unique in the department, in whatever case.
    pub email: String,
    /// Where the employee works: an index over all departments.
    pub city: String,
    /// What the employee can do: an index row for each.
    #[table(json)]
    pub skills: Vec<String>,
    /// Unique in the company, if there is one.
    pub badge: Option<u32>,
    /// Whether there is a row among the managers.
    pub is_manager: bool,
    /// A month, summed for the department.
    pub salary: u32,
}

/// A department's own row, first among those of its partition.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{name}", row = "department")]
pub struct Department {
    /// The name.
    pub name: String,
    /// In thousands.
    pub budget: u32,
    /// The employee who manages it.
    pub manager_id: Option<u32>,
    /// What everybody wants to know of the manager, without a second read.
    #[table(copy_of(Employee, key(department = name, id = manager_id)))]
    pub manager: Option<Card>,
    /// How many work here.
    #[table(aggregate)]
    pub heads: i64,
    /// What they earn together.
    #[table(aggregate)]
    pub payroll: i64,
}

/// What others keep of an employee.
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Employee)]
pub struct Card {
    /// The first name.
    pub first_name: String,
    /// The last name.
    pub last_name: String,
}

/// A desk, in the table of its building, with the name of whoever sits there.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Desks", partition = "{floor:02}", row = "desk_{number:03}")]
pub struct Desk {
    /// The floor.
    pub floor: u8,
    /// The number on the floor.
    pub number: u16,
    /// The department that pays for it.
    pub department: String,
    /// The employee of that department who sits there.
    pub sitter: Option<u32>,
    /// The name on the door.
    #[table(copy_of(Employee, key(department = department, id = sitter), on_delete = clear))]
    pub who: Option<Card>,
}

/// What was said of an employee in a year, next to the employee.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{employee:06}_{year:04}")]
pub struct Review {
    /// The department.
    pub department: String,
    /// The employee's number.
    pub employee: u32,
    /// The year.
    pub year: u16,
    /// From 1 to 5.
    pub rating: u8,
    /// The whole text, over 64 KiB too.
    #[table(chunked)]
    pub report: String,
}

/// How many messages an employee sent on each day of a year.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Messages", wide, partition = "{department}", row = "{employee:06}_{year:04}")]
pub struct Year {
    /// The department.
    pub department: String,
    /// The employee's number.
    pub employee: u32,
    /// The year.
    pub year: u16,
    /// One property for each day.
    #[table(flatten)]
    pub day: [u32; DAYS],
}

/// An employee's photo: in the row if small, else beside the table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "photo_{employee:06}")]
pub struct Photo {
    /// The department.
    pub department: String,
    /// The employee's number.
    pub employee: u32,
    /// The picture.
    #[table(blob(inline_below = 1024))]
    pub image: Blob,
}

/// Every type, and rows of programs that know more types.
#[derive(Debug, TableModel)]
#[expect(clippy::large_enum_variant, reason = "a year is as large as its days; the story holds few at a time")]
pub enum Company {
    /// A department.
    Department(Department),
    /// An employee.
    Employee(Employee),
    /// A review.
    Review(Review),
    /// A year of messages.
    Year(Year),
    /// A photo.
    Photo(Photo),
    /// A desk.
    Desk(Desk),
    /// A row of another program.
    #[table(other)]
    Other(Row),
}

/// The tables, in the order in which they are printed.
pub const TABLES: [&str; 6] = ["Company", "Desks", "Cities", "Skills", "Badges", "Messages"];
