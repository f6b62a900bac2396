//! A release that knows of no move is put back while one is readable, and writes what the moving entities copy.

use std::time::Duration;

use tablemodel::{Consistency, ErrorKind};

use super::{
    City, Club, MODES, Sponsor, assert_clean, assert_follow, before, filled, first, new_people, next, program, second,
};

#[tokio::test]
async fn what_is_copied_is_as_its_source_is_in_the_new_form_whoever_wrote_that() {
    for mode in MODES {
        let (store, told) = (filled(mode, 4).await, format!("{mode:?}"));
        next::<first::Model>(&store).await.migrations().apply().await.expect("applied");
        store.clock().advance(Duration::from_secs(130));
        let late = program::<before::Model>(&store).await;
        let written = [
            late.patch(City::find().name("Oslo"), City::MAYOR.set("new")).await,
            late.patch(Club::find().name("Judo"), Club::COLOUR.set("red")).await,
            late.patch(Sponsor::find().name("Acme"), Sponsor::LOGO.set(7)).await,
        ];
        for written in written {
            match written {
                Ok(()) => assert_eq!(mode, Consistency::Azure, "nothing would bring the new form along"),
                Err(error) => assert_eq!(*error.kind(), ErrorKind::Moved { to: 2 }, "{told}: {error}"),
            }
        }
        late.patch(City::find().name("Rome"), City::NOTE.set("y")).await.expect("nobody copies that");
        drop(late);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<second::Model>(&store).await;
        db.relay().drain().await.expect("drained");
        assert_follow(&db, &new_people(&db).await.expect("readable"), &told).await;
        assert_clean(&db, &told).await;
    }
}
