//! Imports that are cut short, or of lines that were: what came is never found in part by an index.

use tablemodel::{Consistency, ErrorKind, prelude::*, testing::TestDatabase};

use crate::migrate::{MODES, store_of};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Rooms", partition = "{house}", row = "r_{id:04}")]
#[table(index(by_name, table = "Walls", partition = "{name}", row = "{house}_{id:04}", keys_only))]
struct Room {
    house: String,
    id: u32,
    name: String,
}

#[derive(Debug, TableModel)]
enum Houses {
    Room(Room),
}

/// The lines of an export of three rooms, each with a row in another table, and the states at the end.
async fn lines(mode: Consistency) -> Vec<String> {
    let db = store_of::<Houses>(mode).await;
    for id in 0..3 {
        db.insert(&Room { house: "A".into(), id, name: "blue".into() }).await.expect("written");
    }
    let mut lines = Vec::new();
    db.export(&mut lines).await.expect("exported");
    String::from_utf8(lines).expect("text").lines().map(str::to_owned).collect()
}

/// A line without the moment at which the store wrote the row.
fn timeless(line: &str) -> serde_json::Map<String, serde_json::Value> {
    let mut row: serde_json::Map<_, _> = serde_json::from_str(line).expect("a row");
    row.remove("Timestamp");
    row
}

/// That the index gives all rooms that are there, or says that it is not built; then that it is once it was.
async fn assert_whole(db: TestDatabase, told: &str) {
    let next = db.reopen::<Houses>().await.expect("opened");
    next.ensure_tables().await.expect("ensured");
    let there = Room::find().house("A").all(&next).await.expect("read").len();
    match Room::by_name().name("blue").all(&next).await {
        Ok(found) => assert_eq!(found.len(), there, "{told}"),
        Err(error) => assert!(matches!(error.kind(), ErrorKind::IndexNotReady { .. }), "{told}: {error:?}"),
    }
    next.migrations().apply().await.expect("built").into_result().expect("all");
    assert_eq!(Room::by_name().name("blue").all(&next).await.expect("read").len(), there, "{told}");
    assert!(next.verify().await.expect("verified").is_clean(), "{told}");
}

#[tokio::test]
async fn lines_that_were_cut_are_found_whole_or_not_at_all() {
    for mode in MODES {
        let lines = lines(mode).await;
        for cut in 0..=lines.len() {
            let copy = store_of::<Houses>(mode).await;
            copy.drop_tables().await.expect("empty");
            copy.import(lines[..cut].join("\n").as_bytes()).await.expect("imported");
            assert_whole(copy, &format!("{mode:?}, {cut} lines")).await;
        }
    }
}

#[tokio::test]
async fn an_import_that_failed_is_found_whole_or_not_at_all() {
    for mode in MODES {
        let mut lines = lines(mode).await;
        for at in 0..lines.len() {
            lines.insert(at, "no row".to_owned());
            let copy = store_of::<Houses>(mode).await;
            copy.drop_tables().await.expect("empty");
            let error = copy.import(lines.join("\n").as_bytes()).await.expect_err("refused");
            assert_eq!(*error.kind(), ErrorKind::Corrupt);
            assert_whole(copy, &format!("{mode:?}, before line {at}")).await;
            lines.remove(at);
        }
    }
}

#[tokio::test]
async fn a_whole_import_leaves_nothing_to_build_and_exports_the_same() {
    for mode in MODES {
        let lines = lines(mode).await;
        let copy = store_of::<Houses>(mode).await;
        copy.drop_tables().await.expect("empty");
        copy.import(lines.join("\n").as_bytes()).await.expect("imported");
        let mut again = Vec::new();
        copy.export(&mut again).await.expect("exported");
        let again = String::from_utf8(again).expect("text");
        assert!(again.lines().map(timeless).eq(lines.iter().map(|line| timeless(line))), "{mode:?}: {again}");
        assert!(copy.migrations().plan().await.expect("planned").is_empty(), "{mode:?}");
        assert_eq!(Room::by_name().name("blue").all(&copy).await.expect("read").len(), 3, "{mode:?}");
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_passed_over_and_so_is_the_type_that_azure_gives_of_a_timestamp() {
    let line = |id: u32| {
        format!(
            r#"{{"odata.table":"Badges","PartitionKey":"A","RowKey":"b{id}","Timestamp":"2020-01-01T00:00:00Z","Timestamp@odata.type":"Edm.DateTime"}}"#
        )
    };
    let db = Database::in_memory::<Houses>().await.expect("opened");
    let lines = format!("\u{feff}{}\r\n{}\n", line(1), line(2));
    assert_eq!(db.import(lines.as_bytes()).await.expect("imported").rows, 2);

    let error = db.import("\n{\"odata.table\":1,}\n".as_bytes()).await.expect_err("no JSON");
    assert_eq!(*error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().starts_with("line 2 of the export: not a JSON object: "), "{error}");
    assert!(error.to_string().contains("at column 18") && !error.to_string().contains("line 1"), "{error}");
}
