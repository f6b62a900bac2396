//! Rows of another program that lack a property which reads as a default: what is derived from them is derived from that default.

use std::sync::Arc;

use tablemodel::{
    ErrorKind,
    prelude::*,
    store::{Action, Batch, Condition, Durability, EmbeddedStore, TableStore},
    testing::TestDatabase,
};

use super::{assert_clean, plant, properties};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Legacy", entity_type = "Customer", adopt, allow_scan)]
#[table(partition = "{region}", row = "c_{id:04}")]
#[table(index(by_grade, row = "grade_{grade:02}_{id:04}", keep(name)))]
#[table(index(active, row = "active_{id:04}", when = is_active))]
#[table(index(idle, row = "idle_{id:04}", when = !is_active, keys_only))]
#[table(index(by_tag, row = "tag_{tags}_{id:04}", each(tags), keys_only))]
#[table(index(by_town, table = "Towns", partition = "{town}", row = "{region}_{id:04}", keep(grade)))]
#[table(list(of_grade, row = "of_{grade:02}"))]
struct Customer {
    region: String,
    id: u32,
    name: String,
    #[table(default = 3)]
    grade: u8,
    #[table(default = true)]
    is_active: bool,
    #[table(json, default = new_tags)]
    tags: Vec<String>,
    #[table(flatten)]
    home: Home,
    #[table(default)]
    town: String,
}

#[derive(Debug, Clone, PartialEq, Property)]
struct Home {
    #[table(default = "none".to_owned())]
    street: String,
}

#[derive(Debug, TableModel)]
#[allow(dead_code, reason = "the tests read by path")]
enum Legacy {
    Customer(Customer),
}

/// JSON that may be `null`, which is stored as absence.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Documents", partition = "{shelf}", row = "{id:04}", allow_scan)]
#[table(index(marked, row = "m_{id:04}", when = marks, keys_only))]
struct Document {
    shelf: String,
    id: u32,
    #[table(json, default = unset)]
    data: serde_json::Value,
    #[table(json, default)]
    note: serde_json::Value,
    #[table(json)]
    marks: Option<Vec<u8>>,
}

fn unset() -> serde_json::Value {
    serde_json::json!({ "v": 1 })
}

#[derive(Debug, TableModel)]
enum Documents {
    Document(Document),
}

#[tokio::test]
async fn json_that_would_read_as_the_default_is_refused_and_not_changed() {
    let db = TestDatabase::new::<Documents>().await.expect("made");
    let null = serde_json::Value::Null;
    let document = |id, data| Document { shelf: "s".to_owned(), id, data, note: serde_json::Value::Null, marks: None };
    let at = |id| Document::find().shelf("s").id(id);
    let stored = document(1, serde_json::json!([null]));
    db.insert(&stored).await.expect("inserted");
    assert_eq!(at(1).one(&db).await.expect("read").as_deref(), Some(&stored));
    let mut in_batch = db.batch(Document::in_partition("s"));
    in_batch.patch(at(1), Document::DATA.set(null.clone()));
    let refused = [
        db.insert(&document(2, null.clone())).await.map(drop),
        db.patch(at(1), Document::DATA.set(null.clone())).await,
        db.update(at(1), |document| Ok(document.data = null.clone())).await.map(drop),
        in_batch.commit().await,
    ];
    for error in refused.map(|refused| refused.expect_err("refused")) {
        assert_eq!((error.kind(), error.entity()), (&ErrorKind::Invalid, Some("Document")));
        assert!(error.to_string().contains("`data`") && error.to_string().contains("default"), "{error}");
    }
    // As another program may write it: what stands for absence is absence.
    let mut properties = properties([("EntityType", "Document@1".into()), ("Data", "null".into())]);
    properties.insert("_seq", 1_i64);
    db.store().commit(&[Batch::new("Documents", "s").with("0003", Action::Insert(properties))]).await.expect("planted");
    db.update(at(3), |document| Ok(document.note = serde_json::json!(1))).await.expect("updated");
    assert_eq!(at(3).one(&db).await.expect("read").map(|document| document.data.clone()), Some(unset()));
    db.patch(at(1), Document::NOTE.set(null)).await.expect("its default is `null` too");
    assert_eq!(at(1).one(&db).await.expect("read").as_deref(), Some(&stored));
    assert!(at(2).one(&db).await.expect("read").is_none());
}

/// JSON that says `null` is read as absence, and so is what is made of it.
#[tokio::test]
async fn json_that_another_program_made_null_is_absence_wherever_it_is_asked_for() {
    let db = TestDatabase::new::<Legacy>().await.expect("made");
    db.migrations().apply().await.expect("there is nothing to build");
    let other = Customer { tags: vec!["old".to_owned()], ..customer(2) };
    db.insert(&customer(1)).await.expect("inserted");
    db.insert(&other).await.expect("inserted");
    let null = || Action::Merge(properties([("Tags", "null".into())]), Condition::Exists);
    let batch = Batch::new("Legacy", "eu").with("c_0001", null()).with("c_0002", null());
    db.store().commit(&[batch]).await.expect("written");
    let found = Customer::by_tag().region("eu").tags("new").all(&db).await.expect("read");
    assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [1]); // the other has no row for its default yet
    assert_eq!(Customer::by_tag().region("eu").tags("old").all(&db).await.expect("read").len(), 0);
    let first = Customer::find().region("eu").id(1).one(&db).await.expect("read").expect("there");
    assert_eq!(first.tags, new_tags());

    let db = TestDatabase::new::<Documents>().await.expect("made");
    let mut planted = properties([("EntityType", "Document@1".into()), ("Marks", "null".into())]);
    planted.insert("_seq", 1_i64);
    db.store().commit(&[Batch::new("Documents", "s").with("0003", Action::Insert(planted))]).await.expect("planted");
    let found = async |test| Document::scan_partition("s").matching(test).all(&db).await.expect("read").len();
    assert_eq!(found(Document::MARKS.eq(None)).await, 1);
    assert_eq!(found(Document::MARKS.ne(None)).await, 0);
    assert_eq!(found(Document::MARKS.ne(vec![1])).await, 0);
    assert_eq!(found(!Document::MARKS.ne(Some(vec![1]))).await, 1);
    assert!(db.verify().await.expect("verified").is_clean(), "no row of `marked` is missed");
}

fn new_tags() -> Vec<String> {
    vec!["new".to_owned()]
}

fn customer(id: u32) -> Customer {
    let (region, name, home) = ("eu".to_owned(), format!("n{id}"), Home { street: "none".to_owned() });
    Customer { region, id, name, grade: 3, is_active: true, tags: new_tags(), home, town: "Oslo".to_owned() }
}

/// So that each row of an index is another.
fn change(customer: &mut Customer) {
    (customer.grade, customer.is_active, customer.tags) = (4, false, vec!["old".to_owned()]);
    customer.town = "Rome".to_owned();
}

/// Rows without what has a default, but for the town; of every third nothing is missing.
async fn add(db: &TestDatabase, ids: std::ops::RangeInclusive<u32>) {
    for id in ids {
        let mut theirs = properties([("Name", format!("n{id}").into()), ("Town", "Oslo".into())]);
        if id % 3 == 0 {
            let all = [("Grade", 3.into()), ("IsActive", true.into()), ("Tags", r#"["new"]"#.into())];
            theirs.merge(&properties(all));
        }
        plant(db, "Legacy", "eu", &format!("c_{id:04}"), Action::Insert(theirs)).await;
    }
}

/// The same entity before it had indexes.
mod before {
    use tablemodel::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Legacy", entity_type = "Customer", adopt, partition = "{region}", row = "c_{id:04}")]
    pub(super) struct Customer {
        pub(super) region: String,
        pub(super) id: u32,
        pub(super) name: String,
    }

    #[derive(TableModel)]
    #[allow(dead_code, reason = "it only names the entity")]
    pub(super) enum Legacy {
        Customer(Customer),
    }
}

/// In memory, where rows elsewhere follow and where they are written at once, and in a file.
async fn databases() -> Vec<(TestDatabase, Option<tempfile::TempDir>)> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("legacy.tables");
    let open = |clock| -> Arc<dyn TableStore> {
        let builder = EmbeddedStore::builder().clock(clock).durability(Durability::Relaxed);
        Arc::new(builder.open(path).expect("opened"))
    };
    vec![
        (TestDatabase::new::<before::Legacy>().await.expect("a database"), None),
        (TestDatabase::atomic::<before::Legacy>().await.expect("a database"), None),
        (TestDatabase::over::<before::Legacy>(open).await.expect("a database"), Some(directory)),
    ]
}

/// The program with the indexes, once they are built.
async fn built(before: &TestDatabase) -> TestDatabase {
    before.database().clone().close().await.expect("ended");
    before.clock().advance(std::time::Duration::from_secs(130));
    let db = before.reopen::<Legacy>().await.expect("a database");
    db.ensure_tables().await.expect("tables");
    db.migrations().apply().await.expect("built");
    db
}

/// How many customers each way finds.
async fn found(db: &Database) -> [usize; 6] {
    [
        Customer::by_grade().region("eu").grade(3).all(db).await.expect("read").len(),
        Customer::active().region("eu").all(db).await.expect("read").len(),
        Customer::idle().region("eu").all(db).await.expect("read").len(),
        Customer::by_tag().region("eu").tags("new").all(db).await.expect("read").len(),
        Customer::by_town().town("Oslo").all(db).await.expect("read").len(),
        Customer::of_grade().region("eu").grade(3).all(db).await.expect("read").len(),
    ]
}

#[tokio::test]
async fn indexes_that_are_built_hold_the_rows_that_lack_a_default() {
    for (db, _directory) in databases().await {
        add(&db, 1..=4).await;
        let db = built(&db).await;
        assert_clean(&db).await;
        assert_eq!(found(&db).await, [4, 4, 0, 4, 4, 4]);
        for id in 1..=4 {
            let path = || Customer::find().region("eu").id(id);
            assert_eq!(*path().one(&db).await.expect("read").expect("there"), customer(id));
            let seen = Customer::active().region("eu").id(id).one(&db).await.expect("read").expect("there");
            assert_eq!(*seen, customer(id), "a whole copy");
        }
    }
}

#[tokio::test]
async fn a_row_whose_index_rows_nobody_wrote_is_saved_updated_and_deleted() {
    for (db, _directory) in databases().await {
        let db = built(&db).await;
        add(&db, 1..=5).await;
        let read = async |id| Customer::find().region("eu").id(id).one(&db).await.expect("read").expect("there");
        let (mut saved, deleted) = (read(1).await, read(2).await);
        change(&mut saved);
        db.save(&mut saved).await.expect("saved");
        db.delete(deleted).await.expect("deleted");
        let update = |customer: &mut Customer| {
            change(customer);
            Ok(())
        };
        db.update(Customer::find().region("eu").id(4), update).await.expect("updated");
        let mut other = customer(5);
        change(&mut other);
        db.upsert(&other).await.expect("upserted");
        let there = db.insert(&customer(3)).await.expect_err("it is there");
        assert_eq!(*there.kind(), ErrorKind::AlreadyExists);
        db.delete(read(3).await).await.expect("deleted");
        db.relay().run_once().await.expect("the relay runs");
        assert_clean(&db).await;
        assert_eq!(found(&db).await, [0, 0, 3, 0, 0, 0]);
    }
}

#[tokio::test]
async fn verify_tells_what_lacks_in_an_index_over_a_default_and_repair_adds_it() {
    for (db, _directory) in databases().await {
        let db = built(&db).await;
        add(&db, 1..=2).await;
        let verified = db.verify().await.expect("verify runs");
        assert!(!verified.is_clean(), "another program wrote beside the indexes");
        drop(db.repair().await.expect("repaired"));
        assert_clean(&db).await;
        assert_eq!(found(&db).await, [2, 2, 0, 2, 2, 2]);
    }
}

#[tokio::test]
async fn a_scan_is_matched_against_the_default() {
    for (db, _directory) in databases().await {
        let db = built(&db).await;
        add(&db, 1..=2).await;
        let scan = || Customer::scan_partition("eu");
        assert_eq!(scan().matching(Customer::GRADE.eq(3)).all(&db).await.expect("read").len(), 2);
        assert_eq!(scan().matching(Customer::GRADE.gt(3)).all(&db).await.expect("read").len(), 0);
    }
}

/// What a program that knows less of it leaves, in the same version.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Legacy", entity_type = "Member", partition = "{region}", row = "m_{id:04}", allow_scan)]
#[table(index(by_grade, row = "grade_{grade:02}_{id:04}", keys_only))]
struct Member {
    region: String,
    id: u32,
    #[table(default = 3)]
    grade: u8,
}

/// A member whose row names its type and lacks the grade.
async fn lacking() -> (Database, Member) {
    #[derive(TableModel)]
    enum Model {
        Member(Member),
    }

    let db = Database::in_memory::<Model>().await.expect("a database");
    db.ensure_tables().await.expect("tables");
    let member = Member { region: "eu".to_owned(), id: 1, grade: 3 };
    let stored = db.insert(&member).await.expect("inserted");
    let lacking = properties([("EntityType", "Member@1".into()), ("_seq", stored.sequence().into())]);
    let batch = Batch::new("Legacy", "eu").with("m_0001", Action::InsertOrReplace(lacking));
    db.store().commit(&[batch]).await.expect("planted");
    (db, member)
}

#[tokio::test]
async fn a_row_that_names_its_type_and_lacks_a_default_is_found_by_an_index_over_it() {
    let (db, member) = lacking().await;
    assert_clean(&db).await;
    let path = || Member::by_grade().region("eu").grade(3);
    assert_eq!(path().all(&db).await.expect("read").len(), 1);
    assert_eq!(*path().id(1).one(&db).await.expect("read").expect("there"), member);
}

#[tokio::test]
async fn a_row_that_names_its_type_and_lacks_a_default_is_scanned_by_it() {
    let (db, _) = lacking().await;
    let grade = || Member::GRADE;
    let finding = [grade().eq(3), grade().ne(4), grade().lt(4), grade().eq(3).and(grade().ge(3)), !grade().eq(4)];
    let passing = [grade().eq(4), grade().ne(3), grade().gt(3), grade().eq(3).and(grade().eq(4)), !grade().eq(3)];
    for (predicates, found) in [(finding, 1), (passing, 0)] {
        for predicate in predicates {
            let scan = Member::scan_partition("eu").matching(predicate);
            assert_eq!(scan.all(&db).await.expect("read").len(), found);
        }
    }
}
