//! Random operations on the old form, at every state of its move, through replies that are lost, compared with a model.

use std::time::Duration;

use tablemodel::{
    Consistency,
    testing::{Fault, Script},
};

use super::{
    Before, Kept, assert_clean, filled,
    kept::{notes, step},
    next, of_all, orphans, rows,
};
use crate::moves::together::Dice;

async fn any<Was: Before, Old: Kept, New: Kept>(mode: Consistency, told: &str) {
    for seed in 1..=4 {
        let told = format!("{told} {mode:?} {seed}");
        let store = filled::<Was>(mode, 6).await;
        let db = next::<Old::Model>(&store).await;
        let mut dice = Dice(seed * 77);
        let mut model = notes::<Old>(&db).await.expect("read");
        for _ in 0..15 {
            step::<Old>(&db, &mut dice, &mut model).await;
        }
        db.migrations().apply().await.expect("applied");
        for _ in 0..40 {
            if mode == Consistency::Azure && dice.roll(2) == 0 {
                store.fail(Script::new().at(dice.roll(6) as usize, Fault::LostReply));
            }
            step::<Old>(&db, &mut dice, &mut model).await;
        }
        store.fail(Script::new());
        assert_clean(&db, &told).await;
        assert_eq!(notes::<Old>(&db).await.expect("read"), model, "{told}");
        assert_eq!((orphans(&db, 1).await, orphans(&db, 2).await), (vec![], vec![]), "{told}");
        drop(db);
        store.clock().advance(Duration::from_secs(130));
        let db = next::<New::Model>(&store).await;
        assert_eq!(notes::<New>(&db).await.expect("read"), model, "{told}");
        db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
        for _ in 0..25 {
            step::<New>(&db, &mut dice, &mut model).await;
        }
        assert_eq!(notes::<New>(&db).await.expect("read"), model, "{told}");
        assert_clean(&db, &told).await;
        assert_eq!(orphans(&db, 2).await, Vec::<String>::new(), "{told}");
        assert!(rows(&db, 1).await.is_empty(), "{told}");
    }
}

#[tokio::test]
async fn what_is_written_before_while_and_after_it_is_complete_is_what_the_new_form_says() {
    of_all!(any);
}
