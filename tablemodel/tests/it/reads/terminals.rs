//! Every terminal of a partial path, compared with the list that it should give.

/// Asserts that `all`, `first`, `stream`, `count` and pages of every size over `$path` give `$expected`.
macro_rules! assert_gives {
    ($db:expr, $path:expr, $expected:expr) => {{
        let (db, expected): (&tablemodel::testing::TestDatabase, Vec<_>) = ($db, $expected);
        let told = stringify!($path);
        use crate::reads::fixture::plain;
        for paging in crate::reads::fixture::PAGINGS {
            paging.apply(db);
            assert_eq!(plain($path.all(db).await.unwrap()), expected, "all of {told}, {paging:?}");
            for n in [0, 1, 2, expected.len(), expected.len() + 1] {
                let first = plain($path.first(n, db).await.unwrap());
                assert_eq!(first, expected[..n.min(expected.len())], "first {n} of {told}, {paging:?}");
            }
            let streamed = futures_util::TryStreamExt::try_collect::<Vec<_>>($path.stream(db)).await.unwrap();
            assert_eq!(plain(streamed), expected, "stream of {told}, {paging:?}");
            assert_eq!($path.count(db).await.unwrap(), expected.len() as u64, "count of {told}, {paging:?}");
            for n in [1, 2, 1000] {
                let mut walked = Vec::new();
                let mut cursor = None;
                loop {
                    let page = $path.page(n, cursor.as_ref(), db).await.unwrap();
                    assert!(page.items.len() <= n);
                    assert!(page.cursor.is_none() || page.items.len() == n, "a page of {told} is not full");
                    walked.extend(plain(page.items));
                    cursor = page.cursor;
                    if cursor.is_none() {
                        break;
                    }
                }
                assert_eq!(walked, expected, "pages of {n} of {told}, {paging:?}");
            }
        }
    }};
}
