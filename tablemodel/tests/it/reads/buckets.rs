//! Ranges of buckets of time: which of them a bound takes in.

use tablemodel::{DateTime, prelude::*};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Logins", partition = "{user}", row = "{at:day}_{id}")]
struct Login {
    user: String,
    at: DateTime,
    id: u32,
}

#[derive(TableModel)]
enum Model {
    Login(Login),
}

fn at(text: &str) -> DateTime {
    text.parse().expect("a time")
}

#[tokio::test]
async fn what_is_deleted_up_to_the_beginning_of_a_day_spares_the_day() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Model>().await?;
    db.ensure_tables().await?;
    for (id, text) in (0..).zip(["2014-07-30T23:59:59Z", "2014-07-31T00:00:00Z", "2014-07-31T12:00:00Z"]) {
        db.insert(&Login { user: "a".into(), at: at(text), id }).await?;
    }
    let midnight = at("2014-07-31T00:00:00Z");
    assert_eq!(Login::find().user("a").at_day_between(..midnight).delete_all(&db).await?, 1);
    assert_eq!(Login::find().user("a").at_day_between(midnight..).count(&db).await?, 2);
    let noon = at("2014-07-31T12:00:00Z");
    assert_eq!(Login::find().user("a").at_day_between(..noon).count(&db).await?, 2, "a day is taken whole");
    assert_eq!(Login::find().user("a").at_day_between(noon..).count(&db).await?, 2);
    Ok(())
}

#[tokio::test]
async fn a_range_that_holds_no_moment_takes_no_day() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Model>().await?;
    db.ensure_tables().await?;
    for (id, text) in (0..).zip(["2014-07-30T12:00:00Z", "2014-07-31T12:00:00Z", "2014-07-31T18:30:00Z"]) {
        db.insert(&Login { user: "a".into(), at: at(text), id }).await?;
    }
    let (noon, later) = (at("2014-07-31T12:00:00Z"), at("2014-07-31T18:30:00Z"));
    assert_eq!(Login::find().user("a").at_day_between(noon..noon).delete_all(&db).await?, 0);
    assert_eq!(Login::find().user("a").at_day_between(later..noon).delete_all(&db).await?, 0);
    assert_eq!(Login::find().user("a").at_day_between(later..=noon).count(&db).await?, 0);
    assert_eq!(Login::find().user("a").at_day_between(noon..later).count(&db).await?, 2, "a day is taken whole");
    assert_eq!(Login::find().user("a").at_day_between(noon..=noon).count(&db).await?, 2);
    Ok(())
}
