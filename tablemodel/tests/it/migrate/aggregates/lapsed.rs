//! Aggregates that were built, and then written beside by a program that does not have them.

use std::time::Duration;

use tablemodel::prelude::*;

use super::{
    super::{MODES, next, program},
    Club, Person, assert_counted, before, filled, old_person,
};

/// What nobody counted can be changed and taken away, and is counted with the rest.
#[tokio::test]
async fn sources_that_no_cell_knows_of_are_changed_and_counted_when_it_is_built_anew() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = filled(mode, 2, 6).await;
        next::<Club>(&store).await.migrations().apply().await.expect("applied");
        store.clock().advance(Duration::from_secs(130));
        let old = next::<before::Club>(&store).await;
        for id in 1..4 {
            old.insert(&old_person("c3", id)).await.expect("inserted"); // of a club without a team, and without cells
        }
        drop(old);
        store.clock().advance(Duration::from_secs(130));
        let db = program::<Club>(&store).await;
        let path = |id: u32| Person::find().club("c3").id(id);
        db.update(path(1), |person| Ok(person.visits = 99)).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        let gone = path(2).one(&db).await.expect("read").expect("there");
        db.delete(gone).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        assert!(db.migrations().apply().await.expect("applied").is_complete(), "{told}");
        assert_counted(&db, &told).await;
    }
}
