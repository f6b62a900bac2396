//! An entity with every kind of index, hostile values of it, and the naive oracle: a list that is filtered and sorted.

use std::cmp::Ordering;

use proptest::prelude::*;
use tablemodel::{
    DateTime,
    prelude::*,
    store::fault::{Call, Request},
    testing::{Fault, TestDatabase},
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Events", partition = "{room}", row = "ev!{name}!{id:06}", allow_scan)]
#[table(index(by_city, row = "city!{city}!{name}!{id:06}"))]
#[table(index(by_level, row = "level_{level}_{name}!{id:06}", keep(city)))]
#[table(index(by_at, row = "at_{at:desc}_{name}!{id:06}", keys_only))]
#[table(index(by_code, row = "code_{code}", unique, keep(level)))]
#[table(index(by_month, row = "month_{at:month}_{name}!{id:06}", keys_only))]
#[table(index(by_tag, row = "tag_{tag:lower}!{name}!{id:06}", when = active))]
pub(super) struct Event {
    pub(super) room: String,
    pub(super) name: String,
    pub(super) id: u32,
    pub(super) city: String,
    pub(super) level: i16,
    pub(super) at: DateTime,
    pub(super) code: Option<String>,
    pub(super) tag: String,
    pub(super) active: bool,
}

#[derive(TableModel)]
pub(super) enum Model {
    Event(Event),
}

/// What `select` takes of an [`Event`].
#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Event)]
pub(super) struct Card {
    pub(super) name: String,
    pub(super) id: u32,
    pub(super) city: String,
}

impl Event {
    pub(super) fn card(&self) -> Card {
        Card { name: self.name.clone(), id: self.id, city: self.city.clone() }
    }

    pub(super) fn month(&self) -> String {
        self.at.to_string()[..7].to_owned()
    }
}

/// Pieces that meet every edge of the text code and of UTF-16 order.
const PIECES: [&str; 24] = [
    "a",
    "b",
    "A",
    "_",
    "!",
    "\"",
    "~",
    "~~",
    "/",
    ".",
    ".}",
    "%",
    "#",
    "'",
    " ",
    "\0",
    "\u{7F}",
    "\u{9F}",
    "é",
    "Σ",
    "\u{FFEE}",
    "\u{FFFF}",
    "\u{10437}",
    "\u{10FFFF}",
];

/// Short texts that often share prefixes, and now and then are empty.
pub(super) fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..3).prop_map(|pieces| pieces.concat())
}

pub(super) fn instant() -> impl Strategy<Value = DateTime> {
    let edges = [-11_644_473_600, 0, 1_577_836_799, 1_577_836_800, 1_580_515_199, 1_580_515_200, 253_402_300_799];
    prop::sample::select(edges.to_vec()).prop_map(|seconds| DateTime::from_unix_seconds(seconds).unwrap())
}

/// Two rooms of events; no two share a key, and no two a code.
pub(super) fn events(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Event>> {
    let one = (any::<bool>(), text(), text(), -2_i16..3, instant(), any::<bool>(), text(), any::<bool>());
    prop::collection::vec(one, count).prop_map(|events| {
        let numbered = (0..).zip(events).map(|(id, (first, name, city, level, at, coded, tag, active))| {
            let room = if first { "r" } else { "r!" }.to_owned();
            let code = coded.then(|| format!("{city}{id}"));
            Event { room, name, id, city, level, at, code, tag, active }
        });
        numbered.collect()
    })
}

/// Text order of the service: UTF-16 code units.
pub(super) fn utf16(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Each character in lower case by itself; the final sigma as any other.
pub(super) fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

/// The events that pass, in the order of the row keys `name`, `id`, led by `order`.
pub(super) fn oracle(
    events: &[Event],
    keep: impl Fn(&Event) -> bool,
    order: impl Fn(&Event, &Event) -> Ordering,
) -> Vec<Event> {
    let mut kept: Vec<Event> = events.iter().filter(|event| keep(event)).cloned().collect();
    kept.sort_by(|a, b| order(a, b).then_with(|| utf16(&a.name, &b.name)).then_with(|| a.id.cmp(&b.id)));
    kept
}

/// How the store pages its answers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Paging {
    AsAsked,
    /// One row a page, and an empty page before each.
    OneByOne,
    /// Two rows a page.
    TwoByTwo,
}

pub(super) const PAGINGS: [Paging; 3] = [Paging::AsAsked, Paging::OneByOne, Paging::TwoByTwo];

impl Paging {
    pub(super) fn apply(self, db: &TestDatabase) {
        let mut queries = 0;
        db.fail(move |call: &Call<'_>| {
            let Request::Query(_) = call.request else { return None };
            queries += 1;
            match self {
                Self::AsAsked => None,
                Self::OneByOne if queries % 2 == 1 => Some(Fault::EmptyPage),
                Self::OneByOne => Some(Fault::ShortPage { rows: 1 }),
                Self::TwoByTwo => Some(Fault::ShortPage { rows: 2 }),
            }
        });
    }
}

/// A database that holds these events.
pub(super) async fn database(events: &[Event]) -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    for event in events {
        db.insert(event).await.unwrap();
    }
    db
}

pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The values alone.
pub(super) fn plain<F: std::ops::Deref<Target: Clone + Sized>>(found: Vec<F>) -> Vec<F::Target> {
    found.iter().map(|found| (**found).clone()).collect()
}
