//! Pages and cursors: opaque text that survives what happens between two pages, and is good for its own query only.

use tablemodel::{Cursor, DateTime, ErrorKind, prelude::*, testing::TestDatabase};

use super::fixture::{Event, Model, database, plain};

fn event(id: u32) -> Event {
    Event {
        room: "r".into(),
        name: "ä/?".into(),
        id,
        city: "Oslo".into(),
        level: id as i16,
        at: DateTime::UNIX_EPOCH,
        code: None,
        tag: String::new(),
        active: false,
    }
}

async fn ten() -> TestDatabase {
    database(&(0..10).map(event).collect::<Vec<_>>()).await
}

fn ids(found: Vec<Stored<Event>>) -> Vec<u32> {
    plain(found).iter().map(|event| event.id).collect()
}

#[tokio::test]
async fn a_cursor_is_text_that_fits_a_url_and_is_taken_back_as_text() {
    let db = ten().await;
    let page = Event::find().room("r").page(4, None, &db).await.unwrap();
    let text = page.cursor.unwrap().to_string();
    assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'), "{text}");
    assert!(!text.contains("ev!"), "not readable: nobody should be tempted to build one");
    let page = Event::find().room("r").page(4, Some(&Cursor::from(text.as_str())), &db).await.unwrap();
    assert_eq!(ids(page.items), [4, 5, 6, 7]);
    let page = Event::find().room("r").page(4, Some(&text.parse().unwrap()), &db).await.unwrap();
    assert_eq!(ids(page.items), [4, 5, 6, 7]);
    let json = serde_json::to_string(&Cursor::from(text.as_str())).unwrap();
    assert_eq!(json, format!("\"{text}\""));
    let page = Event::find().room("r").page(4, Some(&serde_json::from_str(&json).unwrap()), &db).await.unwrap();
    assert_eq!(ids(page.items), [4, 5, 6, 7]);
}

#[tokio::test]
async fn a_page_is_one_request_also_where_another_follows() {
    let db = ten().await;
    let mut cursor = None;
    for expected in [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]] {
        db.forget_calls();
        let page = Event::find().room("r").page(4, cursor.as_ref(), &db).await.unwrap();
        let is_last = expected.contains(&9);
        assert_eq!((ids(page.items), page.cursor.is_none()), (expected, is_last));
        assert_eq!((db.tally().range_queries, db.calls().len()), (1, 1));
        cursor = page.cursor;
    }
}

#[tokio::test]
async fn a_cursor_goes_on_after_the_row_it_names_whatever_happens_to_the_rows() {
    let db = ten().await;
    let page = Event::find().room("r").page(5, None, &db).await.unwrap();
    let cursor = page.cursor.unwrap();
    db.delete(page.items.into_iter().last().unwrap()).await.unwrap();
    let next = Event::find().room("r").page(2, Some(&cursor), &db).await.unwrap();
    assert_eq!(ids(next.items), [5, 6], "the row it names is gone");
    let mut before = event(1);
    before.name = "A".into();
    db.insert(&before).await.unwrap();
    db.insert(&event(4)).await.unwrap();
    let mut between = event(0);
    between.id = 77;
    db.insert(&between).await.unwrap();
    let reopened = db.reopen::<Model>().await.unwrap();
    let next = Event::find().room("r").page(20, Some(&cursor), &reopened).await.unwrap();
    assert_eq!(ids(next.items), [5, 6, 7, 8, 9, 77], "what came before it does not come again; what came after does");
    assert!(next.cursor.is_none());
}

#[tokio::test]
async fn a_cursor_of_another_query_is_invalid_before_any_call() {
    let db = ten().await;
    let page = Event::find().room("r").page(2, None, &db).await.unwrap();
    let cursor = page.cursor.unwrap();
    db.forget_calls();
    let refusals = [
        Event::find().room("s").page(2, Some(&cursor), &db).await.unwrap_err(),
        Event::find().room("r").name("ä/?").page(2, Some(&cursor), &db).await.unwrap_err(),
        Event::find().room("r").name_starts_with("ä").page(2, Some(&cursor), &db).await.unwrap_err(),
        Event::by_at().room("r").page(2, Some(&cursor), &db).await.unwrap_err(),
        Event::by_city().room("r").page(2, Some(&cursor), &db).await.unwrap_err(),
    ];
    for error in refusals {
        assert_eq!(*error.kind(), ErrorKind::Invalid);
        assert_eq!(error.entity(), Some("Event"), "{error}");
        assert!(error.to_string().contains("cursor"), "{error}");
    }
    assert_eq!(db.calls(), []);
}

#[tokio::test]
async fn garbage_is_no_cursor() {
    let db = ten().await;
    let cursor = Event::find().room("r").page(2, None, &db).await.unwrap().cursor.unwrap().to_string();
    let mut flipped = cursor.clone().into_bytes();
    flipped[4] ^= 1;
    let truncated = &cursor[..10];
    for garbage in ["", "a", "====", "../../etc", truncated, "é", std::str::from_utf8(&flipped).unwrap()] {
        let refused = Event::find().room("r").page(2, Some(&Cursor::from(garbage)), &db).await;
        assert_eq!(*refused.unwrap_err().kind(), ErrorKind::Invalid, "{garbage}");
    }
}

#[tokio::test]
async fn the_last_page_has_no_cursor_even_when_it_is_full() {
    let db = ten().await;
    let page = Event::find().room("r").page(10, None, &db).await.unwrap();
    assert_eq!((page.items.len(), page.cursor), (10, None));
    let page = Event::find().room("empty").page(10, None, &db).await.unwrap();
    assert_eq!((page.items.len(), page.cursor), (0, None));
}

#[tokio::test]
async fn a_page_of_nothing_is_refused_since_it_would_look_like_the_end() {
    let db = ten().await;
    let refused = Event::find().room("r").page(0, None, &db).await.unwrap_err();
    assert_eq!(*refused.kind(), ErrorKind::Invalid, "{refused}");
}

#[tokio::test]
async fn a_full_key_is_a_range_of_one_for_pages_too() {
    let db = ten().await;
    let path = || Event::find().room("r").name("ä/?").id(3);
    let page = path().page(2, None, &db).await.unwrap();
    assert_eq!((ids(page.items), page.cursor), (vec![3], None));
    assert_eq!(ids(path().all(&db).await.unwrap()), [3]);
    assert_eq!(path().count(&db).await.unwrap(), 1);
}

#[tokio::test]
async fn a_page_fills_up_although_index_rows_are_dropped() {
    let db = ten().await;
    super::indexes::plant_dangling(&db, &[1, 2, 3, 5, 8]).await;
    let page = Event::by_level().room("r").page(4, None, &db).await.unwrap();
    assert_eq!(ids(page.items), [0, 4, 6, 7]);
    let page = Event::by_level().room("r").page(4, page.cursor.as_ref(), &db).await.unwrap();
    assert_eq!((ids(page.items), page.cursor), (vec![9], None));
}

#[tokio::test]
async fn a_walk_of_pages_with_writes_between_gives_each_row_that_stays_exactly_once() {
    let db = ten().await;
    let (mut walked, mut cursor) = (Vec::new(), None);
    for round in 0.. {
        let page = Event::find().room("r").page(3, cursor.as_ref(), &db).await.unwrap();
        walked.extend(ids(page.items));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
        let path = Event::find().room("r").name("ä/?").id(walked[walked.len() - 1]);
        db.update(path, |event| {
            event.city = format!("moved {round}");
            Ok(())
        })
        .await
        .unwrap();
        db.insert(&event(100 + round)).await.unwrap();
    }
    assert_eq!(walked[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    walked.dedup();
    assert!(walked.is_sorted() && walked.len() >= 13, "{walked:?}");
}
