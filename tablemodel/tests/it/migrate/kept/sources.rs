//! Who changes a source has it as it stands, and not as it was before its holders were written as new: for that it is read, and not written.

use tablemodel::{Consistency, prelude::*};

use super::{filled, next};

macro_rules! left_alone {
    ($test:ident, $release:ident) => {
        #[tokio::test]
        async fn $test() {
            use super::$release::{Member, Model, Team};
            let colour = async |db: &Database, id: u32| {
                Member::find().club("c").id(id).one(db).await.expect("read").expect("there").shirt.colour
            };

            let store = filled(Consistency::Atomic).await;
            let db = next::<Model>(&store).await;
            let mut red = Team::find().name("red").one(&db).await.expect("read").expect("there");
            for again in [9, 8] {
                red.colour = again;
                db.save(&mut red).await.expect("nobody else writes it");
                assert_eq!([colour(&db, 6).await, colour(&db, 209).await], [again, again]);
            }

            let store = filled(Consistency::Atomic).await;
            let db = next::<Model>(&store).await;
            let red = Team::find().name("red").one(&db).await.expect("read").expect("there");
            db.delete(red).await.expect("nobody else writes it");
            assert_eq!([colour(&db, 6).await, colour(&db, 209).await], [3, 3], "it is kept");

            // One that a holder waited for: that is written as new behind the insert, or with what comes next.
            let store = filled(Consistency::Atomic).await;
            let db = next::<Model>(&store).await;
            assert_eq!(db.migrations().apply().await.expect("applied").failed, 1);
            let mut blue = db.insert(&Team { name: "blue".into(), colour: 5 }).await.expect("written");
            blue.colour = 6;
            db.save(&mut blue).await.expect("nobody else writes it");
            assert_eq!(colour(&db, 7).await, 6);
        }
    };
}

left_alone!(who_changes_a_source_meets_no_write_of_those_that_copy_it, declares);
left_alone!(so_it_is_where_the_older_structs_leave_out_what_they_copy, leaves_out);
left_alone!(so_it_is_where_blobs_are_put_elsewhere, in_blobs);
