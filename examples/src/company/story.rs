//! The story: step by step through the rooms of one partition, then `places`. Each step prints the rows as they are stored then.
//! A claim that does not hold ends it with an error.

use tablemodel::prelude::*;

use super::{
    Result, holds,
    model::{Company, DAYS, Department, Employee, Photo, Review, TABLES, Year},
    people::{self, everybody},
    places,
};

/// Tells the story on an empty database, and whether it was clean at the end.
///
/// # Errors
///
/// A claim that does not hold, and those of the database.
pub async fn tell(db: &Database) -> Result<bool> {
    db.ensure_tables().await?;
    hire(db).await?;
    indexes(db).await?;
    sparse(db).await?;
    list(db).await?;
    totals(db).await?;
    copy(db).await?;
    places::elsewhere(db).await?;
    places::copy(db).await?;
    places::unique(db).await?;
    reviews(db).await?;
    year(db).await?;
    photo(db).await?;
    everything_of_one(db).await?;
    places::rekey(db).await?;
    places::dismiss(db).await?;
    places::repair(db).await?;
    places::verified(db).await
}

/// The heading of a step.
pub(super) fn step(title: &str) {
    println!("== {title}");
}

/// The rows of one of the tables, or of all.
pub(super) async fn show(db: &Database, tables: &[&str]) -> Result<()> {
    for table in TABLES.iter().filter(|table| tables.is_empty() || tables.contains(table)) {
        crate::print_rows(db, table).await?;
    }
    Ok(())
}

async fn hire(db: &Database) -> Result<()> {
    step("departments and employees, one batch for each department");
    for (name, budget) in [("Sales", 900), ("Marketing", 400)] {
        let mut batch = db.batch(Department::in_partition(name));
        batch.insert(&people::department(name, budget));
        for employee in everybody().iter().filter(|employee| employee.department == name) {
            batch.insert(employee);
        }
        batch.commit().await?;
    }
    show(db, &["Company"]).await?;
    holds(Employee::find().department("Sales").count(db).await? == 3, "three employees in Sales, by one range query")
}

async fn indexes(db: &Database) -> Result<()> {
    step("index in the same partition: another order, in the same batch");
    let jon = Employee::by_last_name().department("Sales").last_name_starts_with("Jon");
    println!("{}", jon.explain());
    let ids: Vec<_> = jon.all(db).await?.iter().map(|employee| employee.id).collect();
    holds(ids == [2, 1, 3], "Jonas, Jones, Jones: in order of name, from whole copies")?;
    let mut kim = employee(db, "Sales", 3).await?;
    kim.last_name = "Berg".to_owned();
    db.save(&mut kim).await?;
    show(db, &["Company"]).await?;
    let found = Employee::by_last_name().department("Sales").last_name("Berg").count(db).await?;
    holds(found == 1, "the index rows followed the new name")
}

/// One who must be there.
pub(super) async fn employee(db: &Database, department: &str, id: u32) -> Result<Stored<Employee>> {
    let found = Employee::find().department(department).id(id).one(db).await?;
    found.ok_or_else(|| format!("nobody has number {id} in {department}").into())
}

async fn sparse(db: &Database) -> Result<()> {
    step("sparse: a row among the managers only while it says something");
    let managers = || Employee::managers().department("Sales");
    holds(managers().count(db).await? == 0, "no manager, no row")?;
    let mut jun = employee(db, "Sales", 1).await?;
    jun.is_manager = true;
    db.save(&mut jun).await?;
    show(db, &["Company"]).await?;
    holds(managers().all(db).await?.iter().map(|manager| manager.id).eq([1]), "the manager of Sales is number 1")
}

async fn list(db: &Database) -> Result<()> {
    step("list (the guide's index entities): one row holds the keys of all who are called so");
    let jones = Employee::ids_by_last_name().department("Sales").last_name("Jones").keys(db).await?;
    println!("{jones:?}");
    holds(jones == [tablemodel::RowKey::new("Sales", "empid_000001")], "Kim Jones left the list with the name")
}

async fn totals(db: &Database) -> Result<()> {
    step("aggregate: how many work in a department, and for how much, in its own row");
    let sales = department(db, "Sales").await?;
    holds((sales.heads, sales.payroll) == (3, 9_600), "counted and summed by the batch that hired them")?;
    let mut ann = employee(db, "Sales", 2).await?;
    ann.salary += 500;
    db.save(&mut ann).await?;
    show(db, &["Company"]).await?;
    holds(department(db, "Sales").await?.payroll == 10_100, "a raise, and the sum with it")
}

/// One that must be there.
pub(super) async fn department(db: &Database, name: &str) -> Result<Stored<Department>> {
    let found = Department::find().name(name).one(db).await?;
    found.ok_or_else(|| format!("there is no department {name}").into())
}

async fn copy(db: &Database) -> Result<()> {
    step("copy: the name of its manager in the row of the department");
    let mut sales = department(db, "Sales").await?;
    sales.manager_id = Some(1);
    db.save(&mut sales).await?;
    holds(sales.manager.as_ref().is_some_and(|card| card.first_name == "Jun"), "filled from the employee's row")?;
    let rename = |jun: &mut Employee| {
        jun.first_name = "June".to_owned();
        Ok(())
    };
    db.update(Employee::find().department("Sales").id(1), rename).await?;
    show(db, &["Company"]).await?;
    let card = department(db, "Sales").await?.into_inner().manager;
    holds(card.is_some_and(|card| card.first_name == "June"), "and changed in the batch that changed the employee")
}

async fn reviews(db: &Database) -> Result<()> {
    step("compound key, and chunked: reviews stand behind their employee, one with a text of 150 KB");
    for (year, rating, words) in [(2012, 3, 4), (2013, 4, 30_000), (2014, 5, 4)] {
        let report = "fine ".repeat(words);
        db.insert(&Review { department: "Sales".to_owned(), employee: 1, year, rating, report }).await?;
    }
    show(db, &["Company"]).await?;
    let path = || Review::find().department("Sales").employee(1);
    println!("{}", path().year_between(2013..).explain());
    let lately = path().year_between(2013..).all(db).await?;
    holds(lately.iter().map(|review| review.rating).eq([4, 5]), "those since 2013, in order")?;
    holds(lately.first().is_some_and(|review| review.report.len() == 150_000), "the long text is whole")
}

async fn year(db: &Database) -> Result<()> {
    step("wide: 365 daily counters as one struct, in two rows");
    let day = std::array::from_fn(|day| day as u32 % 7);
    let year = db.insert(&Year { department: "Sales".to_owned(), employee: 1, year: 2014, day }).await?;
    holds(year.etags().count() == 2, "a head and a part, written in one batch")?;
    let path = || Year::find().department("Sales").employee(1).year(2014);
    db.patch(path(), Year::DAY.set(DAYS - 1, 41_u32)).await?;
    show(db, &["Messages"]).await?;
    let year = path().one(db).await?.ok_or("the year is gone")?;
    holds(year.day.last() == Some(&41), "one day was patched, and the others stand")
}

async fn photo(db: &Database) -> Result<()> {
    step("blob: a small photo in its row, a large one beside the table");
    for (employee, bytes) in [(1, 300), (2, 200_000)] {
        let image = vec![employee as u8; bytes].into();
        db.insert(&Photo { department: "Sales".to_owned(), employee, image }).await?;
    }
    show(db, &["Company"]).await?;
    let photo = Photo::find().department("Sales").employee(2).one(db).await?.ok_or("the photo is gone")?;
    holds(photo.image.bytes(db).await?.len() == 200_000, "the large photo is fetched when it is asked for")
}

async fn everything_of_one(db: &Database) -> Result<()> {
    step("model: several types by one query, in key order");
    let rows = Company::rows(Employee::in_partition("Sales")).row_starts_with("empid_000001");
    println!("{}", rows.explain());
    let told: Vec<_> = rows.all(db).await?.iter().map(named).collect();
    println!("{}", told.join(", "));
    holds(
        told == ["employee Jonson", "review of 2012", "review of 2013", "review of 2014"],
        "an employee, and what is told",
    )
}

fn named(row: &Company) -> String {
    match row {
        Company::Department(department) => format!("department {}", department.name),
        Company::Employee(employee) => format!("employee {}", employee.last_name),
        Company::Review(review) => format!("review of {}", review.year),
        Company::Year(year) => format!("messages of {}", year.year),
        Company::Desk(desk) => format!("desk {} on floor {}", desk.number, desk.floor),
        Company::Photo(photo) => format!("photo of {}", photo.employee),
        Company::Other(row) => format!("unknown: {}", row.key),
    }
}
