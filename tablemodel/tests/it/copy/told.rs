//! Holders that cannot follow: the error is of them, and of no change of the batch that they were to follow.

use tablemodel::{
    ErrorKind, RowKey,
    prelude::*,
    store::{Action, Batch},
    testing::TestDatabase,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "m_{id:04}")]
struct Member {
    team: String,
    id: u32,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Member)]
struct Card {
    name: String,
}

/// Beside its member, in a row that has room for some thousands of letters more.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "r_{id:04}")]
struct Report {
    team: String,
    id: u32,
    #[table(flatten)]
    pages: [String; 16],
    #[table(copy_of(Member, key(team = team, id = id)))]
    by: Option<Card>,
}

/// Elsewhere, and planned because of the whole copies in its index.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Seats", partition = "{room}", row = "s_{place:04}")]
#[table(index(by_member, row = "m_{id:04}_{place:04}"))]
struct Seat {
    room: String,
    place: u32,
    team: String,
    id: u32,
    #[table(copy_of(Member, key(team = team, id = id)))]
    who: Option<Card>,
}

#[derive(TableModel)]
#[allow(clippy::large_enum_variant, reason = "the row of a report is to be as long as a row may be")]
enum Model {
    Member(Member),
    Report(Report),
    Seat(Seat),
}

fn member(id: u32) -> Member {
    Member { team: "A".into(), id, name: "short".into() }
}

/// In the mode in which holders follow in the commit of their source, or it fails.
async fn database() -> TestDatabase {
    let db = TestDatabase::atomic::<Model>().await.unwrap();
    db.insert(&member(1)).await.unwrap();
    db
}

#[tokio::test]
async fn a_holder_that_has_no_room_for_its_copy_is_no_operation_of_the_batch() {
    let db = database().await;
    let pages = std::array::from_fn(|_| "p".repeat(32_000));
    db.insert(&Report { team: "A".into(), id: 1, pages, by: None }).await.unwrap();
    let mut source = Member::find().team("A").id(1).one(&db).await.unwrap().unwrap();
    source.name = "n".repeat(32_000);
    let mut batch = db.batch(Member::in_partition("A"));
    batch.save(&mut source);
    let error = batch.commit().await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::TooLarge, Some("Report")), "{error}");
    assert_eq!(error.key().map(|key| key.row.as_str()), Some("r_0001"), "{error}");
    assert_eq!(error.operation(), None, "{error}");
}

#[tokio::test]
async fn a_holder_elsewhere_of_a_newer_version_is_no_operation_of_the_batch() {
    let db = database().await;
    db.insert(&Seat { room: "R".into(), place: 1, team: "A".into(), id: 1, who: None }).await.unwrap();
    let key = RowKey::new("R", "s_0001");
    let mut newer = db.store().get("Seats", &key).await.unwrap().unwrap().properties;
    newer.insert("EntityType", "Seat@9");
    let planted = Batch::new("Seats", "R").with("s_0001", Action::InsertOrReplace(newer));
    db.store().commit(&[planted]).await.unwrap();
    let mut source = Member::find().team("A").id(1).one(&db).await.unwrap().unwrap();
    source.name = "other".into();
    let mut batch = db.batch(Member::in_partition("A"));
    batch.insert(&member(2)).save(&mut source);
    let error = batch.commit().await.unwrap_err();
    assert_eq!((error.kind(), error.entity()), (&ErrorKind::UnknownVersion, Some("Seat")), "{error}");
    assert_eq!(error.operation(), None, "{error}");
}
