//! What a projection leaves out is not forgotten by who writes.

use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{team}", row = "p_{id:04}")]
#[table(index(by_email, row = "email_{email}_{id:04}", keys_only))]
#[table(index(by_code, row = "code_{code}", unique, keys_only))]
#[table(index(everywhere, table = "ByCity", partition = "{city}", row = "{team}_{id:04}", keys_only))]
#[table(list(in_city, row = "ids_{city}"))]
struct Person {
    team: String,
    id: u32,
    email: Option<String>,
    code: String,
    city: String,
}

#[derive(Debug, Projection)]
#[table(of = Person)]
struct Number {
    id: u32,
}

#[derive(TableModel)]
enum Model {
    Person(Person),
}

#[tokio::test]
async fn what_is_selected_and_deleted_goes_with_every_row_that_it_had() {
    for db in [TestDatabase::new::<Model>().await.unwrap(), TestDatabase::atomic::<Model>().await.unwrap()] {
        let is_atomic = matches!(db.consistency(), Consistency::Atomic);
        for id in 0..5 {
            let (email, city) = (Some(format!("{id}@x")), "Oslo".to_owned());
            db.insert(&Person { team: "A".into(), id, email, code: format!("c{id}"), city }).await.unwrap();
        }
        let deleted = Person::find().team("A").id_between(1..=3).select::<Number>().delete_all(&db).await.unwrap();
        assert_eq!(deleted, 3);
        let report = db.verify().await.unwrap();
        assert!(report.is_clean(), "atomic: {is_atomic}: {report:?}");
        let left = Person::find().team("A").select::<Number>().all(&db).await.unwrap();
        assert_eq!(left.iter().map(|number| number.id).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(Person::in_city().team("A").city("Oslo").keys(&db).await.unwrap().len(), 2);
        // A value that was unique is free again.
        let (email, city) = (None, "Oslo".to_owned());
        db.insert(&Person { team: "A".into(), id: 9, email, code: "c2".into(), city }).await.unwrap();
    }
}
