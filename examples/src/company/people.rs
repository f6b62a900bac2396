//! Who works in the company, as the story and the random work begin with them.

use super::model::{Department, Employee};

/// An employee without a badge, who manages nobody.
pub(super) fn employee(department: &str, id: u32, name: [&str; 2], city: &str, skills: &[&str]) -> Employee {
    let [first_name, last_name] = name.map(str::to_owned);
    Employee {
        department: department.to_owned(),
        id,
        email: format!("{first_name}.{last_name}@contoso.com"),
        first_name,
        last_name,
        city: city.to_owned(),
        skills: skills.iter().map(ToString::to_string).collect(),
        badge: None,
        is_manager: false,
        salary: 3_000 + 100 * id,
    }
}

/// A department whose manager is not known yet.
pub(super) fn department(name: &str, budget: u32) -> Department {
    // What the framework fills in is not for the struct to say.
    Department { name: name.to_owned(), budget, manager_id: None, manager: None, heads: 0, payroll: 0 }
}

/// The first five.
pub(super) fn everybody() -> [Employee; 5] {
    [
        employee("Sales", 1, ["Jun", "Jones"], "Oslo", &["sql", "rust"]),
        employee("Sales", 2, ["Ann", "Jonas"], "Rome", &["sql"]),
        employee("Sales", 3, ["Kim", "Jones"], "Oslo", &[]),
        employee("Marketing", 4, ["Eva", "Smith"], "Oslo", &["rust"]),
        employee("Marketing", 5, ["Leo", "Ito"], "Rome", &[]),
    ]
}
