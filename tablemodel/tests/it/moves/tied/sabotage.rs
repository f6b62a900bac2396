//! Back-references and contributions of the form that an entity moves to that are not as they should be: found, told apart, and put
//! right, and no total changes by it.

use tablemodel::ViolationKind;

use super::{MODES, assert_clean, assert_follow, filled, first, next, old_people};
use crate::{
    migrate::all_rows,
    moves::{kind, sabotage::plant},
};

#[tokio::test]
async fn what_ties_the_new_form_and_is_missing_stale_or_nobodys_is_found_and_put_right() {
    for mode in MODES {
        for (table, of) in [
            ("People", "Person.~mayor@2"),
            ("Clubs", "Person.~shirt@2"),
            ("Sponsors", "Person.~logo@2"),
            ("People", "Person.~City.Visits@2"),
            ("People", "Person.~City.Fewest@2"),
            ("Clubs", "Person.~Club.Most@2"),
            ("Sponsors", "Person.~Sponsor.Sponsored@2"),
        ] {
            for (planted, found) in [
                ("missing", ViolationKind::Missing),
                ("stale", ViolationKind::Stale),
                ("orphan", ViolationKind::Dangling),
            ] {
                let store = filled(mode, 8).await;
                let db = next::<first::Model>(&store).await;
                db.migrations().apply().await.expect("applied");
                assert_clean(&db, "applied").await;
                let rows = all_rows(&db, table).await;
                let row = rows.into_iter().find(|row| kind(row) == of).unwrap_or_else(|| panic!("no {of}"));
                plant(&db, table, &row, planted, "[\"Bern\",\"p_0001\"]").await;
                let told = format!("{mode:?}: {planted} {of}");
                let verified = db.verify().await.expect("verify runs");
                assert_eq!(verified.violations.len(), 1, "{told}: {:#?}", verified.violations);
                assert_eq!(verified.violations[0].kind, found, "{told}");
                let repaired = db.repair().await.expect("repair runs");
                assert_eq!((repaired.repaired, repaired.left.len()), (1, 0), "{told}: {repaired:#?}");
                assert_clean(&db, &told).await;
                assert_follow(&db, &old_people(&db).await, &told).await;
            }
        }
    }
}
