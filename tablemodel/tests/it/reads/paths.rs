//! Every path, asked in every way, against the oracle.

use std::{cmp::Reverse, ops::Bound};

use proptest::prelude::*;
use tablemodel::{DateTime, prelude::*, testing::TestDatabase};

use super::fixture::{Card, Event, PAGINGS, database, events, folded, instant, oracle, run, text, utf16};

/// Values to ask for.
#[derive(Debug, Clone)]
struct Asked {
    texts: (String, String),
    ids: (u32, u32),
    levels: (i16, i16),
    times: (DateTime, DateTime),
}

fn asked() -> impl Strategy<Value = Asked> {
    ((text(), text()), (0_u32..12, 0_u32..12), (-3_i16..4, -3_i16..4), (instant(), instant()))
        .prop_map(|(texts, ids, levels, times)| Asked { texts, ids, levels, times })
}

/// `text` lies between the bounds, in UTF-16 order.
fn within(text: &str, lower: Bound<&str>, upper: Bound<&str>) -> bool {
    (match lower {
        Bound::Included(lower) => utf16(lower, text).is_le(),
        Bound::Excluded(lower) => utf16(lower, text).is_lt(),
        Bound::Unbounded => true,
    }) && match upper {
        Bound::Included(upper) => utf16(text, upper).is_le(),
        Bound::Excluded(upper) => utf16(text, upper).is_lt(),
        Bound::Unbounded => true,
    }
}

fn equal(_: &Event, _: &Event) -> std::cmp::Ordering {
    std::cmp::Ordering::Equal
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_primary_path_gives_what_a_filter_and_sort_give(events in events(0..10), asked in asked()) {
        run(primary(&events, &asked));
    }

    #[test]
    fn index_paths_give_what_a_filter_and_sort_give(events in events(0..10), asked in asked()) {
        run(async {
            let db = database(&events).await;
            whole_copy(&db, &events, &asked).await;
            keep(&db, &events, &asked).await;
            times(&db, &events, &asked).await;
            sparse(&db, &events, &asked).await;
        });
    }

    #[test]
    fn full_keys_give_their_entity_alone(events in events(1..8), other in text()) {
        run(points(&events, &other));
    }

    #[test]
    fn delete_all_deletes_what_the_path_gives_and_nothing_else(events in events(0..10), asked in asked()) {
        run(deletes(&events, &asked));
    }
}

async fn primary(events: &[Event], asked: &Asked) {
    let db = &database(events).await;
    let (a, b) = (asked.texts.0.as_str(), asked.texts.1.as_str());
    let (from, to) = asked.ids;
    let of = |keep: &dyn Fn(&Event) -> bool| oracle(events, |e| e.room == "r" && keep(e), equal);
    let r = || Event::find().room("r");
    assert_gives!(db, r(), of(&|_| true));
    assert_gives!(db, r().name(a), of(&|e| e.name == a));
    assert_gives!(db, r().name_starts_with(a), of(&|e| e.name.starts_with(a)));
    let named = |lower, upper| of(&|e| within(&e.name, lower, upper));
    assert_gives!(db, r().name_between(a..b), named(Bound::Included(a), Bound::Excluded(b)));
    assert_gives!(db, r().name_between(a..=b), named(Bound::Included(a), Bound::Included(b)));
    assert_gives!(db, r().name_between(..b), named(Bound::Unbounded, Bound::Excluded(b)));
    assert_gives!(db, r().name_between(a..), named(Bound::Included(a), Bound::Unbounded));
    let after = || (Bound::Excluded(a.to_owned()), Bound::<String>::Unbounded);
    assert_gives!(db, r().name_between::<_, String>(after()), named(Bound::Excluded(a), Bound::Unbounded));
    let name = events.first().map_or("", |event| event.name.as_str());
    let ids = |range: &dyn Fn(&u32) -> bool| of(&|e| e.name == name && range(&e.id));
    assert_gives!(db, r().name(name).id_between(from..to), ids(&|id| (from..to).contains(id)));
    assert_gives!(db, r().name(name).id_between(from..=to), ids(&|id| (from..=to).contains(id)));
    assert_gives!(db, r().name(name).id_between(from..), ids(&|id| *id >= from));
}

async fn whole_copy(db: &TestDatabase, events: &[Event], asked: &Asked) {
    let (a, b) = (asked.texts.0.as_str(), asked.texts.1.as_str());
    let city = |x: &Event, y: &Event| utf16(&x.city, &y.city);
    let of = |keep: &dyn Fn(&Event) -> bool| oracle(events, |e| e.room == "r" && keep(e), city);
    let r = || Event::by_city().room("r");
    assert_gives!(db, r(), of(&|_| true));
    assert_gives!(db, r().city(a), of(&|e| e.city == a));
    assert_gives!(db, r().city_starts_with(a), of(&|e| e.city.starts_with(a)));
    assert_gives!(db, r().city_between(a..b), of(&|e| within(&e.city, Bound::Included(a), Bound::Excluded(b))));
    assert_gives!(db, r().city(a).name_starts_with(b), of(&|e| e.city == a && e.name.starts_with(b)));
    let cards = r().city_starts_with(a).select::<Card>().all(db).await.unwrap();
    assert_eq!(cards, of(&|e| e.city.starts_with(a)).iter().map(Event::card).collect::<Vec<_>>());
}

async fn keep(db: &TestDatabase, events: &[Event], asked: &Asked) {
    let (from, to) = asked.levels;
    let level = |x: &Event, y: &Event| x.level.cmp(&y.level);
    let of = |keep: &dyn Fn(&Event) -> bool| oracle(events, |e| e.room == "r" && keep(e), level);
    let r = || Event::by_level().room("r");
    assert_gives!(db, r(), of(&|_| true));
    assert_gives!(db, r().level(from), of(&|e| e.level == from));
    assert_gives!(db, r().level_between(from..to), of(&|e| (from..to).contains(&e.level)));
    assert_gives!(db, r().level_between(from..=to), of(&|e| (from..=to).contains(&e.level)));
    assert_gives!(db, r().level_between(..=to), of(&|e| e.level <= to));
    let cards = r().level_between(from..).select::<Card>().all(db).await.unwrap();
    assert_eq!(cards, of(&|e| e.level >= from).iter().map(Event::card).collect::<Vec<_>>());
}

async fn times(db: &TestDatabase, events: &[Event], asked: &Asked) {
    let (from, to) = asked.times;
    let newest = |x: &Event, y: &Event| Reverse(x.at).cmp(&Reverse(y.at));
    let of = |keep: &dyn Fn(&Event) -> bool| oracle(events, |e| e.room == "r" && keep(e), newest);
    let r = || Event::by_at().room("r");
    assert_gives!(db, r(), of(&|_| true));
    assert_gives!(db, r().at(from), of(&|e| e.at == from));
    assert_gives!(db, r().at_between(from..to), of(&|e| (from..to).contains(&e.at)));
    assert_gives!(db, r().at_between(from..=to), of(&|e| (from..=to).contains(&e.at)));
    assert_gives!(db, r().at_between(from..), of(&|e| e.at >= from));
    assert_gives!(db, r().at_between(..to), of(&|e| e.at < to));
    let after = (Bound::Excluded(from), Bound::<DateTime>::Unbounded);
    assert_gives!(db, r().at_between::<_, DateTime>(after), of(&|e| e.at > from));

    let month = |at: DateTime| at.to_string()[..7].to_owned();
    let by_month = |x: &Event, y: &Event| x.month().cmp(&y.month());
    let of = |keep: &dyn Fn(&Event) -> bool| oracle(events, |e| e.room == "r" && keep(e), by_month);
    let r = || Event::by_month().room("r");
    assert_gives!(db, r().at_month(from), of(&|e| e.month() == month(from)));
    let touched = |e: &Event| (month(from)..=month(to)).contains(&e.month());
    // A range that holds no moment takes no month.
    assert_gives!(db, r().at_month_between(from..=to), of(&|e| from <= to && touched(e)));
    // A bucket holds values on both sides of a bound, unless it begins with it.
    let before = |e: &Event| touched(e) && (e.month() < month(to) || !to.to_string().ends_with("-01T00:00:00Z"));
    assert_gives!(db, r().at_month_between(from..to), of(&|e| from < to && before(e)));
}

async fn sparse(db: &TestDatabase, events: &[Event], asked: &Asked) {
    let a = asked.texts.0.as_str();
    let code = |x: &Event, y: &Event| utf16(x.code.as_ref().unwrap(), y.code.as_ref().unwrap());
    let of = |keep: &dyn Fn(&str) -> bool| {
        oracle(events, |e| e.room == "r" && e.code.as_ref().is_some_and(|code| keep(code)), code)
    };
    let r = || Event::by_code().room("r");
    assert_gives!(db, r(), of(&|_| true));
    assert_gives!(db, r().code_starts_with(a), of(&|code| code.starts_with(a)));
    assert_gives!(db, r().code_between(a..), of(&|code| utf16(a, code).is_le()));

    let tag = |x: &Event, y: &Event| utf16(&folded(&x.tag), &folded(&y.tag));
    let of = |keep: &dyn Fn(&str) -> bool| oracle(events, |e| e.room == "r" && e.active && keep(&folded(&e.tag)), tag);
    let r = || Event::by_tag().room("r");
    assert_gives!(db, r(), of(&|_| true));
    assert_gives!(db, r().tag(a), of(&|tag| tag == folded(a)));
    assert_gives!(db, r().tag_starts_with(a), of(&|tag| tag.starts_with(&folded(a))));
}

async fn points(events: &[Event], other: &str) {
    let db = database(events).await;
    for paging in PAGINGS {
        paging.apply(&db);
        for event in events {
            let key = || Event::find().room(event.room.as_str()).name(event.name.as_str());
            assert_eq!(*key().id(event.id).one(&db).await.unwrap().unwrap(), *event);
            assert!(key().id(event.id).exists(&db).await.unwrap());
            assert_eq!(key().id(event.id).select::<Card>().one(&db).await.unwrap(), Some(event.card()));
            let many = key().get_many([999, event.id, 998, event.id], &db).await.unwrap();
            let many: Vec<_> = many.into_iter().map(|found| found.map(Stored::into_inner)).collect();
            assert_eq!(many, [None, Some(event.clone()), None, Some(event.clone())]);
            assert!(!key().id(999).exists(&db).await.unwrap());
            assert!(key().id(999).one(&db).await.unwrap().is_none());
            let city = Event::by_city().room(event.room.as_str()).city(event.city.as_str());
            let seen = city.name(event.name.as_str()).id(event.id).one(&db).await.unwrap().unwrap();
            assert_eq!(*seen, *event);
            assert_eq!(*seen.load(&db).await.unwrap(), *event);
            let level = || Event::by_level().room(event.room.as_str()).level(event.level).name(event.name.as_str());
            assert_eq!(*level().id(event.id).one(&db).await.unwrap().unwrap(), *event);
            let kept = level().id(event.id).select::<Card>().one(&db).await.unwrap();
            assert_eq!(kept, Some(event.card()));
            if let Some(code) = event.code.as_deref() {
                let by_code = || Event::by_code().room(event.room.as_str()).code(code);
                assert_eq!(*by_code().one(&db).await.unwrap().unwrap(), *event);
                assert!(by_code().exists(&db).await.unwrap());
            }
        }
        let codes = Event::by_code().room("r").get_many([other, "no such code"], &db).await.unwrap();
        let expected = events.iter().find(|e| e.room == "r" && e.code.as_deref() == Some(other));
        assert_eq!(codes[0].as_deref(), expected);
        assert!(codes[1].is_none());
    }
}

async fn deletes(events: &[Event], asked: &Asked) {
    let (a, b) = (asked.texts.0.as_str(), asked.texts.1.as_str());
    for paging in PAGINGS {
        let db = database(events).await;
        paging.apply(&db);
        let mut left = events.to_vec();
        let mut take = |gone: &dyn Fn(&Event) -> bool| {
            let before = left.len();
            left.retain(|event| event.room != "r" || !gone(event));
            ((before - left.len()) as u64, left.clone())
        };
        let (count, _) = take(&|e| e.name.starts_with(a));
        assert_eq!(Event::find().room("r").name_starts_with(a).delete_all(&db).await.unwrap(), count);
        let (count, _) = take(&|e| e.city.starts_with(b));
        assert_eq!(Event::by_city().room("r").city_starts_with(b).delete_all(&db).await.unwrap(), count);
        let (count, _) = take(&|e| e.level < 0);
        assert_eq!(Event::by_level().room("r").level_between(..0).delete_all(&db).await.unwrap(), count);
        let (count, left) = take(&|e| e.active);
        assert_eq!(Event::by_tag().room("r").delete_all(&db).await.unwrap(), count);
        for room in ["r", "r!"] {
            let found = Event::find().room(room).all(&db).await.unwrap();
            let found: Vec<_> = found.into_iter().map(Stored::into_inner).collect();
            assert_eq!(found, oracle(&left, |event| event.room == room, equal));
        }
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{:?}", verified.violations);
    }
}
