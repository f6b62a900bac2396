//! Compound key (the guide's *compound key pattern*): values that are asked for together stand in one row key, in
//! order, padded, so that key order is their order. Cost: one row per review; all of an employee's reviews are one
//! range query, one review is one point read.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{employee:06}_{year:04}")]
struct Review {
    department: String,
    employee: u32,
    year: u16,
    rating: u8,
}

#[derive(TableModel)]
enum Company {
    Review(Review),
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    for (employee, year, rating) in [(9, 2014, 3), (123, 2012, 4), (123, 2014, 5), (123, 2013, 4), (1230, 2013, 2)] {
        db.insert(&Review { department: "Sales".into(), employee, year, rating }).await?;
    }
    examples::print_rows(&db, "Company").await?;

    let of_123 = Review::find().department("Sales").employee(123);
    println!("{}", of_123.explain());
    let reviews = of_123.all(&db).await?;
    let years: Vec<_> = reviews.iter().map(|review| review.year).collect();
    assert_eq!(years, [2012, 2013, 2014], "in order, and not those of employee 1230");

    let lately = Review::find().department("Sales").employee(123).year_between(2013..);
    println!("{}", lately.explain());
    assert_eq!(lately.count(&db).await?, 2);

    let one = Review::find().department("Sales").employee(123).year(2014).one(&db).await?;
    assert_eq!(one.map(|review| review.rating), Some(5));

    let too_wide = Review { department: "Sales".into(), employee: 1_000_000, year: 2014, rating: 3 };
    let refused = db.insert(&too_wide).await.map(drop);
    println!("{refused:?}");
    assert!(refused.is_err_and(|error| *error.kind() == ErrorKind::KeyOverflow), "seven digits do not fit six");
    Ok(())
}
