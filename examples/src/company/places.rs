//! The steps of the story that reach into other partitions, and its end: relay, repair, verification.
//! Those of one partition are `story`'s.

use std::time::{Duration, Instant};

use tablemodel::{
    RowKey,
    prelude::*,
    store::{Action, Batch, Condition, TableStoreExt},
};

use super::{
    Result, holds,
    model::{Desk, Employee},
    people,
    story::{department, employee, show, step},
};

/// Between two rounds of the relay, and how long these may take.
const PAUSE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn elsewhere(db: &Database) -> Result<()> {
    step("index in another table, and `each`: a row for each element of a list");
    show(db, &["Cities", "Skills"]).await?;
    let in_oslo = Employee::by_city().city("Oslo");
    println!("{}", in_oslo.explain());
    holds(in_oslo.count(db).await? == 3, "three work in Oslo, of two departments")?;
    holds(Employee::by_skill().skills("rust").count(db).await? == 2, "two know rust")?;
    let mut ann = employee(db, "Sales", 2).await?;
    (ann.city, ann.skills) = ("Oslo".to_owned(), vec!["rust".to_owned()]);
    db.save(&mut ann).await?;
    show(db, &["Cities", "Skills"]).await?;
    holds(Employee::by_city().city("Oslo").verified().count(db).await? == 4, "and one more since")?;
    holds(Employee::by_skill().skills("sql").count(db).await? == 1, "who forgot sql")
}

pub(super) async fn copy(db: &Database) -> Result<()> {
    step("copy in another table: names on doors, which follow through the outbox");
    let department = "Sales".to_owned();
    db.insert(&Desk { floor: 3, number: 14, department, sitter: Some(1), who: None }).await?;
    let rename = |june: &mut Employee| {
        june.last_name = "Jonson".to_owned();
        Ok(())
    };
    db.update(Employee::find().department("Sales").id(1), rename).await?;
    show(db, &["Desks"]).await?;
    holds(name_on_door(db).await?.is_some_and(|name| name == "Jonson"), "the door says the new name")
}

async fn name_on_door(db: &Database) -> Result<Option<String>> {
    let desk = Desk::find().floor(3).number(14).one(db).await?.ok_or("the desk is gone")?;
    Ok(desk.into_inner().who.map(|card| card.last_name))
}

pub(super) async fn unique(db: &Database) -> Result<()> {
    step("unique: an address in its department, a badge in the company");
    let twin = people::employee("Sales", 9, ["JUN", "Jones"], "Rome", &[]);
    refused(db.insert(&twin).await.map(drop), "by_email", "the address is taken in Sales, in whatever case")?;
    db.insert(&people::employee("Legal", 9, ["JUN", "Jones"], "Rome", &[])).await?;
    let mut jun = employee(db, "Sales", 1).await?;
    jun.badge = Some(7);
    db.save(&mut jun).await?;
    let mut eva = employee(db, "Marketing", 4).await?;
    eva.badge = Some(7);
    refused(db.save(&mut eva).await, "by_badge", "the badge is taken by one of another department")?;
    show(db, &["Badges"]).await?;
    let badged = Employee::by_badge().badge(7).one(db).await?;
    holds(badged.is_some_and(|badged| badged.id == 1), "one look-up by badge over all departments")
}

/// That a write was refused because of this unique index.
fn refused(written: tablemodel::Result<()>, by: &str, what: &str) -> Result<()> {
    let Err(error) = written else { return holds(false, what) };
    println!("{error}");
    holds(matches!(error.kind(), ErrorKind::UniqueViolation { index, .. } if *index == by), what)
}

pub(super) async fn rekey(db: &Database) -> Result<()> {
    step("rekey: an employee moves to another department with every row");
    let mut jun = employee(db, "Sales", 1).await?;
    jun.department = "Marketing".to_owned();
    db.rekey(&mut jun).await?;
    show(db, &["Company", "Desks", "Cities", "Skills", "Badges"]).await?;
    holds(!Employee::find().department("Sales").id(1).exists(db).await?, "no longer in Sales")?;
    let badged = Employee::by_badge().badge(7).one(db).await?;
    holds(badged.is_some_and(|badged| badged.department == "Marketing"), "the badge leads to Marketing")?;
    let (sales, marketing) = (department(db, "Sales").await?, department(db, "Marketing").await?);
    holds((sales.heads, marketing.heads) == (2, 3), "one less there, one more here")?;
    holds(sales.manager.is_none() && name_on_door(db).await?.is_none(), "nobody manages Sales, or sits at the desk")
}

pub(super) async fn dismiss(db: &Database) -> Result<()> {
    step("delete, and the relay");
    db.delete(employee(db, "Marketing", 4).await?).await?;
    holds(Employee::by_city().city("Oslo").count(db).await? == 3, "no path finds who was deleted")?;
    println!("Where the store commits one partition at a time, tombstones (`_dead`) stand until the fence has passed:");
    show(db, &["Company", "Cities", "Skills"]).await?;
    settle(db).await?;
    show(db, &["Company", "Cities", "Skills"]).await?;
    let verified = db.verify().await?;
    holds(verified.tombstones + verified.pending == 0, "nothing waits, and nothing is left")
}

/// Has relays deliver, and sweep once the fence has passed, until the outbox is empty.
pub(super) async fn settle(db: &Database) -> Result<()> {
    let (begin, mut swept) = (Instant::now(), 0);
    while begin.elapsed() < PATIENCE {
        let report = db.relay().run_once().await?;
        swept += report.swept;
        if report.partitions == 0 {
            println!("the relay swept what {swept} changes left");
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err("the outbox is not empty, long after the fence".into())
}

pub(super) async fn repair(db: &Database) -> Result<()> {
    step("verify and repair: a row is taken away, and a count falsified, behind the model's back");
    db.store().delete("Cities", &RowKey::new("Rome", "Marketing_000005"), Condition::Exists).await?;
    let falsify = Action::Merge([("Heads", 77_i64)].into_iter().collect(), Condition::Exists);
    db.store().commit(&[Batch::new("Company", "Sales").with("department", falsify)]).await?;
    let verified = db.verify().await?;
    verified.violations.iter().for_each(|violation| println!("{violation}"));
    holds(verified.violations.len() == 2, "verify finds both, and only them")?;
    let repaired = db.repair().await?;
    settle(db).await?;
    show(db, &["Company", "Cities"]).await?;
    holds(repaired.repaired == 2 && repaired.left.is_empty(), "and repair writes them again")
}

/// The end: what the database holds, and whether all of it is right.
pub(super) async fn verified(db: &Database) -> Result<bool> {
    step("verify");
    let verified = db.verify().await?;
    verified.violations.iter().for_each(|violation| println!("{violation}"));
    let (rows, entities, derived) = (verified.rows, verified.entities, verified.derived);
    println!("{rows} rows: {entities} entities, {derived} derived; {} tombstones", verified.tombstones);
    println!("{} violations", verified.violations.len());
    Ok(verified.is_clean())
}
