//! Verify takes the rows of an older version for right, and finds what is wrong with them; repair writes them as new.

use tablemodel::{
    Consistency, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition},
};

use super::{MODES, assert_clean, settle, v3, writes::prepared};

#[tokio::test]
async fn rows_of_an_older_version_are_right_as_they_are() {
    for mode in MODES {
        let all = prepared(mode).await;
        assert_clean(&all.v1, "by version 1").await;
        assert_clean(&all.v2, "by version 2").await;
        assert_clean(&all.v3, "by version 3").await;
    }
}

/// Planted: each derived row of the older version is taken away, or left over, in turn.
#[tokio::test]
async fn a_missing_row_of_an_older_version_is_found_and_mended() {
    let places = [
        ("Company", "Sales", "email_E1@X"),
        ("Company", "Sales", "name_F1$20L1_000001"),
        ("Company", "Sales", "city_Bonn"),
        ("Emails", "E1@X", "Sales_000001"),
    ];
    for mode in MODES {
        for (table, partition, row) in places {
            let all = prepared(mode).await;
            let batch = Batch::new(table, partition).with(row, Action::Delete(Condition::Exists));
            all.v1.store().commit(&[batch]).await.unwrap();
            let told = format!("{mode:?} {row}");
            let verified = all.v3.verify().await.unwrap();
            assert!(!verified.is_clean(), "{told}: not found");
            for _ in 0..4 {
                drop(all.v3.repair().await.unwrap());
                settle(&all.v3).await;
            }
            assert_clean(&all.v3, &told).await;
            let one = v3::Employee::find().department("Sales").id(1).one(&all.v3).await.unwrap().unwrap();
            assert_eq!(one.email, "e1@x");
        }
    }
}

#[tokio::test]
async fn an_index_row_that_no_version_of_its_entity_wants_is_found() {
    let all = prepared(Consistency::Atomic).await;
    super::writes::run(&all.v3, super::writes::Kind::Save).await.unwrap();
    let stray = super::row(&all.v3, "name_F2$20L2_000002").await.unwrap();
    let mut properties = stray.properties.clone();
    properties.insert("_rk", "empid_000001");
    let batch = Batch::new("Company", "Sales").with("name_F1$20L1_000001", Action::Insert(properties));
    all.v3.store().commit(&[batch]).await.unwrap();
    let verified = all.v3.verify().await.unwrap();
    let kinds: Vec<_> = verified.violations.iter().map(|violation| violation.kind).collect();
    assert_eq!(kinds, [ViolationKind::Dangling], "{:#?}", verified.violations);
}
