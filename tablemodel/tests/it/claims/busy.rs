//! A store that is busy is told as that, and not as another writer.

use std::time::Duration;

use tablemodel::{
    Consistency, ErrorKind,
    store::{
        StoreErrorKind,
        fault::{Call, Request},
    },
    testing::{Fault, FaultPlan},
};

use super::{Member, database, find, member};

/// Answers no write of this table.
struct Busy(&'static str);

impl FaultPlan for Busy {
    fn fault(&mut self, call: &Call<'_>) -> Option<Fault> {
        match call.request {
            Request::Commit(batches) if batches[0].table == self.0 => Some(Fault::error(StoreErrorKind::Unavailable)),
            _ => None,
        }
    }
}

fn is_of_the_store(told: &str) -> bool {
    told.contains("injected fault") && !told.contains("keeps changing")
}

#[tokio::test]
async fn what_is_set_aside_since_the_store_is_busy_says_so() {
    for table in ["Cities", "Emails"] {
        let db = database(Consistency::Azure).await;
        let mut m = db.insert(&member("A", 1)).await.unwrap();
        (m.city, m.email) = ("Oslo".into(), None);
        db.fail(Busy(table));
        db.save(&mut m).await.unwrap();
        for _ in 0..20 {
            db.clock().advance(Duration::from_secs(600));
            db.relay().run_once().await.unwrap();
        }
        let poisoned = db.relay().poisoned().await.unwrap();
        assert!(matches!(poisoned.as_slice(), [one] if is_of_the_store(&one.error)), "{table}: {poisoned:?}");
    }
}

#[tokio::test]
async fn a_write_that_is_given_up_since_the_store_is_busy_says_so() {
    let db = database(Consistency::Azure).await;
    let mut m = db.insert(&Member { email: None, ..member("A", 1) }).await.unwrap();
    db.fail(Busy("Emails"));
    m.email = Some("v@x".into());
    let error = db.save(&mut m).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable);
    assert!(is_of_the_store(&error.to_string()) && error.to_string().contains("by_email"), "{error}");
    let mut m = find(&db, "A", 1).await.unwrap();
    db.fail(Busy("Club"));
    (m.club, m.id) = ("B".into(), 2);
    let error = db.rekey(&mut m).await.unwrap_err();
    assert!(is_of_the_store(&error.to_string()), "{error}");
}

#[tokio::test]
async fn nor_is_a_source_said_to_change_that_a_busy_store_does_not_write() {
    use crate::copy::{badge, employee};
    let db = crate::copy::database(Consistency::Azure).await;
    db.insert(&employee("A", 1)).await.unwrap();
    db.fail(Busy("Company"));
    let error = db.insert(&badge(9, 1)).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unavailable);
    assert!(is_of_the_store(&error.to_string()), "{error}");
}
