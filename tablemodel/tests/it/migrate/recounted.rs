//! Totals in another partition that mean another thing with a new version of their sources: what each source added is told by
//! its contribution, whatever it means by now.

use tablemodel::{ErrorKind, prelude::*};

use super::{MODES, assert_clean, program, store_of};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Pages", partition = "{id:03}", row = "page", sharded(parts = i64))]
struct Page {
    id: u8,
    #[table(aggregate)]
    total: i64,
}

macro_rules! release {
    ($name:ident, [$($entity:meta),*], [$($adds:meta),*]) => {
        mod $name {
            use tablemodel::prelude::*;

            use super::Page;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Site", entity_type = "Visit", partition = "{site}", row = "visit_{number:06}")]
            $(#[$entity])*
            $(#[$adds])*
            pub(super) struct Visit {
                pub(super) site: String,
                pub(super) number: u32,
                pub(super) page: u8,
                pub(super) cents: i64,
            }

            #[derive(Debug, Clone, PartialEq, TableModel)]
            pub(super) enum Site {
                Page(Page),
                Visit(Visit),
            }
        }
    };
}

release!(
    paid,
    [],
    [
        table(sum(Page, key(id = page), of = cents, into = total)),
        table(sum(Page, key(id = page), of = cents, into = parts))
    ]
);
release!(
    counted,
    [table(version = 2, previous = super::paid::Visit)],
    [table(count(Page, key(id = page), into = total)), table(count(Page, key(id = page), into = parts))]
);
release!(
    paid_again,
    [table(version = 3, previous = super::counted::Visit)],
    [
        table(sum(Page, key(id = page), of = cents, into = total)),
        table(sum(Page, key(id = page), of = cents, into = parts))
    ]
);

macro_rules! upgrade {
    ($old:ident, $new:ident) => {
        impl tablemodel::Upgrade<$old::Visit> for $new::Visit {
            fn upgrade(
                $old::Visit { site, number, page, cents }: $old::Visit,
            ) -> Result<Self, tablemodel::UpgradeError> {
                Ok(Self { site, number, page, cents })
            }
        }
    };
}

upgrade!(paid, counted);
upgrade!(counted, paid_again);

/// The total of the page, in one cell and in parts, and what the page says.
async fn totals(db: &Database) -> tablemodel::Result<(i64, i64, i64)> {
    let page = || Page::find().id(1);
    let says = page().one(db).await?.expect("there").total;
    Ok((db.total(page(), Page::TOTAL).await?, db.total(page(), Page::PARTS).await?, says))
}

/// Has all rows written anew, before which nobody is told what neither version means.
async fn apply(db: &Database, told: &str) {
    let error = totals(db).await.expect_err("neither a number nor a sum");
    assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error}");
    assert_clean(db, told).await;
    db.ensure_tables().await.expect("ensured");
    let applied = db.migrations().apply().await.expect("applied");
    assert!(applied.is_complete(), "{told}: {applied:?}");
    assert_clean(db, told).await;
}

#[tokio::test]
async fn a_total_elsewhere_that_summed_counts_once_all_is_rewritten_and_the_other_way_round() {
    for mode in MODES {
        let told = format!("{mode:?}");
        let store = store_of::<paid::Site>(mode).await;
        let old = program::<paid::Site>(&store).await;
        old.insert(&Page { id: 1, total: 0 }).await.expect("written");
        for number in 0..30 {
            old.insert(&paid::Visit { site: "a".into(), number, page: 1, cents: 5 }).await.expect("written");
        }
        assert_eq!(totals(&old).await.expect("summed"), (150, 150, 150), "{told}");
        drop(old);
        store.clock().advance(std::time::Duration::from_secs(130));

        let db = program::<counted::Site>(&store).await;
        let one = |number| counted::Visit::find().site("a").number(number);
        db.update(one(3), |visit| Ok(visit.cents = 7)).await.expect("updated");
        let gone = one(4).one(&db).await.expect("read").expect("there");
        db.delete(gone).await.expect("deleted");
        apply(&db, &told).await;
        assert_eq!(totals(&db).await.expect("all are counted"), (29, 29, 29), "{told}");
        drop(db);
        store.clock().advance(std::time::Duration::from_secs(130));

        let db = program::<paid_again::Site>(&store).await;
        apply(&db, &told).await;
        assert_eq!(totals(&db).await.expect("all is summed"), (147, 147, 147), "{told}");
    }
}
