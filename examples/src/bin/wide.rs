//! Wide entity: how many messages an employee sent on each of 365 days, as one struct. A row holds at most 249
//! properties of an entity, so that it is two rows with adjacent keys, written in one batch and read by one range query.
//! Cost: one range read; a write sends the head and the parts that changed, a patch only the days that it sets.

use tablemodel::{CostClass, prelude::*};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Messages", wide, partition = "{department}", row = "{employee:06}_{year:04}")]
#[table(index(by_total, row = "total_{total}_{employee:06}_{year:04}", keys_only))]
struct Year {
    department: String,
    employee: u32,
    year: u16,
    total: u32,
    #[table(flatten)]
    day: [u32; 365], // properties `Day000` to `Day364`
}

#[derive(TableModel)]
enum Messages {
    Year(Year),
}

fn sent(employee: u32) -> Year {
    let day = std::array::from_fn(|day| (day as u32 * 7 + employee) % 40);
    Year { department: "Sales".into(), employee, year: 2014, total: day.iter().sum(), day }
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Messages>().await?;
    db.ensure_tables().await?;
    for employee in 1..=3 {
        let year = db.insert(&sent(employee)).await?;
        println!("{}", year.etags().map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(" and "));
        assert_eq!(year.etags().count(), 2, "a head and a part");
    }

    let path = || Year::find().department("Sales").employee(2).year(2014);
    println!("{}", path().explain());
    assert_eq!(path().explain().class, CostClass::Range);
    assert_eq!(path().one(&db).await?.map(Stored::into_inner), Some(sent(2)));

    // One more message on a day late in the year: the part of that day, and the head's marks.
    db.patch(path(), Year::DAY.set(364, 41_u32)).await?;
    let add_up = |year: &mut Year| {
        year.total = year.day.iter().sum();
        Ok(())
    };
    let mut year = db.update(path(), add_up).await?;
    assert_eq!(year.day.last(), Some(&41));

    // A change of days in both rows is still one batch, under both ETags.
    let stale = year.clone();
    year.day.fill(0);
    db.save(&mut year).await?;
    let refused = db.save(&mut { stale }).await;
    assert!(refused.is_err_and(|error| matches!(error.kind(), ErrorKind::Conflict { .. })));

    let all = Year::find().department("Sales").all(&db).await?;
    assert_eq!(all.iter().map(|year| year.employee).collect::<Vec<_>>(), [1, 2, 3], "whole entities, in key order");
    for year in all {
        db.delete(year).await?;
    }
    assert_eq!(db.verify().await?.rows, 0, "a delete takes every row");
    Ok(())
}
