//! Sparse: an index row that exists only while it says something: `when = flag`, or an `Option` in the index's key.
//! A query over the few that matter reads only those. Cost: no row for the others.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Orders", partition = "{customer}", row = "order_{id:06}")]
#[table(index(open, row = "open_{id:06}", when = is_open, keys_only))]
#[table(index(by_parcel, row = "parcel_{parcel}_{id:06}", keys_only))]
struct Order {
    customer: String,
    id: u32,
    is_open: bool,
    parcel: Option<String>,
}

#[derive(TableModel)]
enum Shop {
    Order(Order),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Database::in_memory::<Shop>().await?;
    db.ensure_tables().await?;
    for id in 1..=4 {
        db.insert(&Order { customer: "Ada".into(), id, is_open: id > 2, parcel: None }).await?;
    }
    examples::print_rows(&db, "Orders").await?;
    let open = || Order::open().customer("Ada");
    println!("{}", open().explain());
    assert_eq!(open().count(&db).await?, 2, "index rows of open orders alone");

    let mut third = Order::find().customer("Ada").id(3).one(&db).await?.ok_or("no third order")?;
    third.is_open = false;
    third.parcel = Some("P7".into());
    db.save(&mut third).await?; // one batch: the order, one index row deleted, another written
    examples::print_rows(&db, "Orders").await?;
    let still_open: Vec<_> = open().all(&db).await?.into_iter().map(|order| order.id).collect();
    assert_eq!(still_open, [4]);
    let sent = Order::by_parcel().customer("Ada").parcel("P7").all(&db).await?;
    assert_eq!(sent.first().map(|order| order.id), Some(3));
    assert!(db.verify().await?.is_clean());
    Ok(())
}
