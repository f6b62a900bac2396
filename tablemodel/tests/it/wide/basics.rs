//! What is stored of an entity of several rows, and what its operations cost.

use tablemodel::{EdmType, ErrorKind, prelude::*};

use super::{Document, Model, Stats, assert_clean, database, document, keys, note, rows, stats};
use crate::wide::Note;

#[tokio::test]
async fn a_year_of_daily_counters_is_one_struct_and_two_rows() {
    let db = database().await;
    db.insert(&stats(7)).await.unwrap();
    assert_eq!(keys(&db).await, ["name_n7_000007", "stats_000007", "stats_000007 ~~01"]);
    let rows = rows(&db).await;
    let head = &rows["stats_000007"].properties;
    assert_eq!(head.get("Day000").map(|day| day.edm()), Some(EdmType::Int64));
    assert!(head.get("Day300").is_none() && rows["stats_000007 ~~01"].properties.get("Day300").is_some());

    db.forget_calls();
    let found = Stats::find().department("Sales").id(7).one(&db).await.unwrap().unwrap();
    assert_eq!(*found, stats(7));
    assert_eq!(db.tally().to_string(), "1 range query page, 0 scans");
    assert_eq!(found.etags().count(), 2);
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_page_is_one_request_also_where_another_follows() {
    let db = database().await;
    for id in 0..5 {
        db.insert(&stats(id)).await.unwrap();
    }
    let mut cursor = None;
    for expected in [vec![0, 1], vec![2, 3], vec![4]] {
        db.forget_calls();
        let page = Stats::find().department("Sales").page(2, cursor.as_ref(), &db).await.unwrap();
        let ids: Vec<_> = page.items.iter().map(|stats| stats.id).collect();
        assert_eq!((page.cursor.is_none(), ids), (expected == [4], expected.clone()));
        assert!(expected == [4] || db.tally().range_queries == 1, "{:?}: {}", expected, db.tally());
        cursor = page.cursor;
    }
}

#[tokio::test]
async fn an_entity_of_many_rows_is_one_request_and_several_of_them_are_few() {
    let db = database().await;
    for id in 1..=3 {
        db.insert(&document(id, 10, Some(20 * 1024 * 1024))).await.unwrap();
    }
    let documents = || Document::find().department("Sales");
    db.forget_calls();
    let one = documents().id(2).one(&db).await.unwrap().unwrap();
    assert!((one.id, one.etags().count() > 20) == (2, true));
    assert_eq!(db.tally().range_queries, 1, "{}", db.tally());

    db.forget_calls();
    let many = documents().get_many([3, 9], &db).await.unwrap();
    assert!(many[0].is_some() && many[1].is_none());
    assert_eq!(db.tally().range_queries, 2, "{}", db.tally());

    db.forget_calls();
    assert_eq!(documents().first(2, &db).await.unwrap().len(), 2);
    let page = documents().page(2, None, &db).await.unwrap();
    assert!(page.items.len() == 2 && page.cursor.is_some());
    assert!(db.tally().range_queries <= 12, "{}", db.tally());
}

#[tokio::test]
async fn of_many_keys_none_is_read_where_one_does_not_fit() {
    let db = database().await;
    db.insert(&stats(7)).await.unwrap();
    db.forget_calls();
    let error = Stats::find().department("Sales").get_many([7, 10_000_000], &db).await.unwrap_err();
    assert_eq!((error.kind(), db.calls().len()), (&ErrorKind::KeyOverflow, 0));
}

#[tokio::test]
async fn a_patch_of_one_day_writes_its_part_and_the_head() {
    let db = database().await;
    let mut before = db.insert(&stats(7)).await.unwrap();
    db.forget_calls();
    db.patch(Stats::find().department("Sales").id(7), Stats::DAY.set(300, 5_u32)).await.unwrap();
    assert_eq!(db.tally().to_string(), "1 range query page, 1 commit of 2 operations, 0 scans");
    let found = Stats::find().department("Sales").id(7).one(&db).await.unwrap().unwrap();
    assert_eq!(found.day[300], 5);
    assert_eq!(found.sequence(), before.sequence() + 1);
    // Of the head's own days, one row is enough.
    db.patch(Stats::find().department("Sales").id(7), Stats::DAY.set(3, 6_u32)).await.unwrap();
    let parts = rows(&db).await;
    assert_eq!(parts["stats_000007 ~~01"].etag, *found.etags().nth(1).unwrap().1);
    before.day[0] = 1;
    assert!(matches!(db.save(&mut before).await.unwrap_err().kind(), ErrorKind::Conflict { .. }));
    let beyond = db.patch(Stats::find().department("Sales").id(7), Stats::DAY.set(365, 5_u32)).await;
    assert_eq!(beyond.unwrap_err().kind(), &ErrorKind::Invalid);
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_save_leaves_unchanged_parts_alone_and_is_current_again() {
    let db = database().await;
    let mut stored = db.insert(&stats(7)).await.unwrap();
    let etags = |stored: &Stored<Stats>| stored.etags().map(|(_, etag)| etag.clone()).collect::<Vec<_>>();
    let before = etags(&stored);
    stored.day[1] = 9;
    db.save(&mut stored).await.unwrap();
    assert!(before[0] != etags(&stored)[0] && before[1] == etags(&stored)[1]);
    stored.day[364] = 9;
    db.save(&mut stored).await.unwrap();
    assert!(before[1] != etags(&stored)[1]);
    stored.note = Some("n".into());
    db.save(&mut stored).await.unwrap();
    let found = Stats::find().department("Sales").id(7).one(&db).await.unwrap().unwrap();
    assert_eq!(etags(&found), etags(&stored));
    assert_eq!(*found, *stored);
    db.delete(stored).await.unwrap();
    assert!(keys(&db).await.is_empty());
}

#[tokio::test]
async fn a_chunked_value_stands_in_its_row_while_it_fits_and_old_chunks_vanish() {
    let db = database().await;
    let mut stored = db.insert(&note(1, 200_000)).await.unwrap();
    assert_eq!(keys(&db).await, ["note_000001"]);
    let chunks = |row: &Row| row.properties.iter().filter(|(name, _)| name.as_str().starts_with("Text_")).count();
    assert_eq!(chunks(&rows(&db).await["note_000001"]), 8);
    stored.text = "short".into();
    db.save(&mut stored).await.unwrap();
    assert_eq!(chunks(&rows(&db).await["note_000001"]), 2);
    db.patch(Note::find().department("Sales").id(1), Note::TEXT.set(super::text(3, 100_000))).await.unwrap();
    db.patch(Note::find().department("Sales").id(1), Note::TEXT.set("")).await.unwrap();
    assert_eq!(chunks(&rows(&db).await["note_000001"]), 1);
    let found = Note::find().department("Sales").id(1).one(&db).await.unwrap().unwrap();
    assert_eq!(found.text, "");
}

#[tokio::test]
async fn a_chunked_value_beyond_its_row_goes_into_parts_and_comes_back() {
    let db = database().await;
    let large = document(1, 700_000, Some(1_100_000));
    let mut stored = db.insert(&large).await.unwrap();
    assert!(keys(&db).await.len() > 4, "{:?}", keys(&db).await);
    assert_eq!(*Document::find().department("Sales").id(1).one(&db).await.unwrap().unwrap(), large);
    assert_clean(&db).await;
    (stored.body, stored.scan) = (String::new(), None);
    db.save(&mut stored).await.unwrap();
    assert_eq!(keys(&db).await, ["doc_000001", "doc_000001 ~~01", "title_t1_000001"]);
    assert_clean(&db).await;
}

#[tokio::test]
async fn every_read_gives_whole_entities() {
    let db = database().await;
    for id in 1..=5 {
        db.insert(&stats(id)).await.unwrap();
        db.insert(&document(id, 40_000 * id as usize, Some(300_000 * id as usize))).await.unwrap();
    }
    let of = || Stats::find().department("Sales");
    let all = of().all(&db).await.unwrap();
    assert_eq!(all.iter().map(|found| (**found).clone()).collect::<Vec<_>>(), (1..=5).map(stats).collect::<Vec<_>>());
    assert_eq!(of().id_between(2..=4).all(&db).await.unwrap().len(), 3);
    assert_eq!(*of().id_between(2..=4).all(&db).await.unwrap()[2], stats(4));
    assert_eq!(of().count(&db).await.unwrap(), 5);
    assert!(of().id(3).exists(&db).await.unwrap());
    db.forget_calls();
    assert_eq!(of().first(2, &db).await.unwrap().len(), 2);
    assert_eq!(db.tally().to_string(), "1 range query page, 0 scans");
    let page = of().page(2, None, &db).await.unwrap();
    let rest = of().page(9, page.cursor.as_ref(), &db).await.unwrap();
    assert_eq!((page.items.len(), rest.items.len(), rest.cursor), (2, 3, None));
    assert_eq!(*rest.items[0], stats(3));
    let by_name = Stats::by_name().department("Sales").name("n4").id(4).one(&db).await.unwrap().unwrap();
    assert_eq!(*by_name, stats(4));
    let scanned = Stats::scan_partition("Sales").matching(Stats::NAME.eq("n5")).all(&db).await.unwrap();
    assert_eq!(*scanned[0], stats(5));
    let last = Stats::DAY.at(364).unwrap();
    assert_eq!(Stats::scan_table().matching(last.gt(3_400_u32)).all(&db).await.unwrap().len(), 2);
    let mixed = Model::rows(Stats::in_partition("Sales")).all(&db).await.unwrap();
    assert_eq!(mixed.len(), 10);
    assert!(mixed.contains(&Model::Document(document(5, 200_000, Some(1_500_000)))));
    let documents = Document::find().department("Sales").delete_all(&db).await.unwrap();
    assert_eq!((documents, keys(&db).await.len()), (5, 15));
    assert_clean(&db).await;
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = Document)]
struct Card {
    title: String,
    body: String,
    likes: Option<i64>,
}

#[tokio::test]
async fn a_projection_reads_across_rows() {
    let db = database().await;
    db.insert(&Document { likes: Some(3), ..document(1, 50_000, Some(900_000)) }).await.unwrap();
    let card = Document::find().department("Sales").id(1).select::<Card>().one(&db).await.unwrap().unwrap();
    assert_eq!(card, Card { title: "t1".into(), body: super::text(1, 50_000), likes: Some(3) });
}

#[tokio::test]
async fn a_batch_folds_changes_of_one_wide_entity() {
    let db = database().await;
    let mut stored = db.insert(&stats(1)).await.unwrap();
    stored.day[364] = 1;
    let mut batch = db.batch(Stats::in_partition("Sales"));
    batch.save(&mut stored).patch(Stats::find().department("Sales").id(1), Stats::DAY.set(363, 2_u32));
    batch.insert(&stats(2)).upsert(&Stats { note: Some("n".into()), ..stats(2) });
    batch.commit().await.unwrap();
    let found = Stats::find().department("Sales").id(1).one(&db).await.unwrap().unwrap();
    assert_eq!((found.day[364], found.day[363]), (1, 2));
    let found = Stats::find().department("Sales").id(2).one(&db).await.unwrap().unwrap();
    assert_eq!(found.note.as_deref(), Some("n"));
    assert_clean(&db).await;
    let mut batch = db.batch(Stats::in_partition("Sales"));
    batch.delete(found);
    batch.insert(&stats(2));
    batch.commit().await.unwrap();
    assert_clean(&db).await;
}

#[tokio::test]
async fn a_moved_entity_takes_its_parts_with_it() {
    let db = database().await;
    let mut stored = db.insert(&stats(1)).await.unwrap();
    stored.id = 9;
    db.save(&mut stored).await.unwrap();
    assert_eq!(keys(&db).await, ["name_n1_000009", "stats_000009", "stats_000009 ~~01"]);
    assert_eq!(
        stored.etags().map(|(key, _)| key.row.clone()).collect::<Vec<_>>(),
        ["stats_000009", "stats_000009 ~~01"]
    );
    assert_clean(&db).await;
}

#[tokio::test]
async fn an_export_carries_parts_as_they_are() {
    let db = database().await;
    db.insert(&stats(1)).await.unwrap();
    db.insert(&document(2, 10, Some(6_000_000))).await.unwrap();
    let mut lines = Vec::new();
    let exported = db.export(&mut lines).await.unwrap();
    let copy = Database::in_memory::<Model>().await.unwrap();
    assert_eq!(copy.import(lines.as_slice()).await.unwrap(), exported);
    assert_eq!(keys(&copy).await, keys(&db).await);
    let found = Document::find().department("Sales").id(2).one(&copy).await.unwrap().unwrap();
    assert_eq!(*found, document(2, 10, Some(6_000_000)));
    assert_clean(&copy).await;
}

/// Spread over buckets, so that reads merge several ranges.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Spread", wide, partition = "{day}_{id:shard(4)}", row = "{hour:02}_{id:04}")]
struct Spread {
    day: u8,
    hour: u8,
    id: u32,
    #[table(flatten)]
    count: [u32; 300],
}

#[derive(TableModel)]
enum SpreadModel {
    Spread(Spread),
}

#[tokio::test]
async fn ranges_that_are_merged_keep_each_head_and_its_parts_together() {
    let db = tablemodel::testing::TestDatabase::new::<SpreadModel>().await.unwrap();
    let spread = |id| Spread { day: 1, hour: (id / 10) as u8, id, count: [id; 300] };
    for id in 0..30 {
        db.insert(&spread(id)).await.unwrap();
    }
    let all = Spread::find().day(1).all(&db).await.unwrap();
    assert_eq!(all.into_iter().map(Stored::into_inner).collect::<Vec<_>>(), (0..30).map(spread).collect::<Vec<_>>());
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let page = Spread::find().day(1).hour(1).page(3, cursor.as_ref(), &db).await.unwrap();
        ids.extend(page.items.iter().map(|found| found.id));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids, (10..20).collect::<Vec<_>>());
    assert!(db.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn bulk_fills_batches_with_rows_not_entities() {
    let db = database().await;
    let report = db.bulk().insert_all(futures_util::stream::iter((0..100).map(stats))).await.unwrap();
    assert_eq!((report.written, report.failed.len(), report.batches), (100, 0, 4)); // 3 rows each
    assert_clean(&db).await;
}

/// What an older program knows of the counters' entity: nothing of parts.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Stats", entity_type = "Stats", partition = "{department}", row = "stats_{id:06}")]
struct OldStats {
    department: String,
    id: u32,
    name: String,
}

#[derive(TableModel)]
enum OldModel {
    Stats(OldStats),
}

#[tokio::test]
async fn a_type_without_parts_does_not_write_over_an_entity_that_has_some() {
    let db = database().await;
    db.insert(&stats(1)).await.unwrap();
    let old = db.reopen::<OldModel>().await.unwrap();
    let mut stored = OldStats::find().department("Sales").id(1).one(&old).await.unwrap().unwrap();
    stored.name = "new".into();
    assert_eq!(old.save(&mut stored).await.unwrap_err().kind(), &ErrorKind::Unsupported);
    assert_eq!(*Stats::find().department("Sales").id(1).one(&db).await.unwrap().unwrap(), stats(1));
}
