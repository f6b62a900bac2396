//! Entities of several rows that move: from one row to several, from several to one, and from several to others; in one table and
//! in two.
//!
//! What a note holds follows from its title and pages, so that it is seen to be whole in whatever form. Here are the releases and
//! what the tests share; no test stands here.

mod crashes;
mod kept;
mod large;
mod late;
mod random;
mod sabotage;
mod whole;

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{Consistency, Row, prelude::*, testing::TestDatabase};

pub(crate) use self::kept::{Before, Kept};
use super::kind;
pub(crate) use crate::migrate::{MODES, assert_clean, next, program};
use crate::migrate::{all_rows, store_of};

/// Some are shelves too: such a note has both of its forms in one partition, where they are in one table.
const TITLES: [&str; 4] = ["S0", "Alba", "S1", "Brut"];
const SHELVES: [&str; 2] = ["S0", "S1"];
/// Wherever rows of notes may stand.
const TABLES: [&str; 4] = ["Notes", "Titles", "Shelves", "ByTitle"];

/// Notes by shelf and number: title, pages, stars.
type Notes = BTreeMap<(String, u32), (String, u32, i64)>;

/// The text on a page: none beyond the last one.
fn page(title: &str, pages: u32, page: u32) -> Option<String> {
    (page < pages).then(|| format!("{title} {page} of {pages}"))
}

/// An entity of one row.
macro_rules! one {
    ($name:ident $(#[$attr:meta])*) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        $(#[$attr])*
        pub(crate) struct $name {
            pub(crate) shelf: String,
            pub(crate) id: u32,
            pub(crate) title: String,
            pub(crate) pages: u32,
            pub(crate) stars: i64,
        }

        impl $name {
            pub(crate) fn of(shelf: &str, id: u32, (title, pages, stars): (String, u32, i64)) -> Self {
                Self { shelf: shelf.into(), id, title, pages, stars }
            }
        }
    };
}

/// A row for each of the first three pages, and one for stars.
macro_rules! paged {
    ($name:ident $(#[$attr:meta])*) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        $(#[$attr])*
        #[table(wide)]
        pub(crate) struct $name {
            pub(crate) shelf: String,
            pub(crate) id: u32,
            pub(crate) title: String,
            pub(crate) pages: u32,
            #[table(part = "stars")]
            pub(crate) stars: i64,
            #[table(part = "first")]
            pub(crate) first: Option<String>,
            #[table(part = "second")]
            pub(crate) second: Option<String>,
            #[table(part = "third")]
            pub(crate) third: Option<String>,
        }

        impl $name {
            pub(crate) fn of(shelf: &str, id: u32, (title, pages, stars): (String, u32, i64)) -> Self {
                let [first, second, third] = [0, 1, 2].map(|at| $crate::moves::several::page(&title, pages, at));
                Self { shelf: shelf.into(), id, title, pages, stars, first, second, third }
            }
        }
    };
}

/// A number for each day, and all pages in chunks.
macro_rules! bound {
    ($name:ident $(#[$attr:meta])*) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        $(#[$attr])*
        #[table(wide)]
        pub(crate) struct $name {
            pub(crate) shelf: String,
            pub(crate) id: u32,
            pub(crate) title: String,
            #[table(flatten)]
            pub(crate) day: [u32; 245],
            #[table(chunked)]
            pub(crate) text: Option<String>,
            pub(crate) pages: u32,
            pub(crate) stars: i64,
        }

        impl $name {
            pub(crate) fn of(shelf: &str, id: u32, (title, pages, stars): (String, u32, i64)) -> Self {
                let day = std::array::from_fn(|day| pages * 1_000 + day as u32);
                let text: Vec<_> = (0..pages).filter_map(|at| $crate::moves::several::page(&title, pages, at)).collect();
                let text = (pages > 0).then(|| text.join("; "));
                Self { shelf: shelf.into(), id, title, day, text, pages, stars }
            }
        }
    };
}

/// The release that knows of no move, the one that keeps both forms, and the one that takes the new one, which stands in this table.
macro_rules! releases {
    ($name:ident: $old:ident => $new:ident in $table:literal) => {
        pub(crate) mod $name {
            /// It knows of no move.
            pub(crate) mod before {
                use tablemodel::prelude::*;

                $old!(Note
                    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:05}")]
                    #[table(index(sorted, row = "t_{title}_{id:05}", keys_only))]
                    #[table(index(by_title, table = "ByTitle", partition = "{title}", row = "{shelf}_{id:05}", keys_only))]
                );

                #[derive(Debug, Clone, PartialEq, TableModel)]
                #[allow(clippy::large_enum_variant)]
                pub(crate) enum Model {
                    Note(Note),
                }

                impl $crate::moves::several::Before for Note {
                    type Model = Model;

                    fn made(key: (&str, u32), value: (String, u32, i64)) -> Self {
                        Self::of(key.0, key.1, value)
                    }
                }
            }

            /// The old form is the truth.
            pub(crate) mod first {
                use tablemodel::{Upgrade, UpgradeError, prelude::*};

                $old!(Note
                    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:05}", moves_to = NoteV2, allow_scan)]
                    #[table(index(sorted, row = "t_{title}_{id:05}", keys_only))]
                    #[table(index(by_title, table = "ByTitle", partition = "{title}", row = "{shelf}_{id:05}", keys_only))]
                );
                $new!(NoteV2
                    #[table(name = $table, entity_type = "Note", version = 2, partition = "{title}", row = "m_{shelf}_{id:05}")]
                    #[table(index(sorted, row = "p_{pages:05}_{shelf}_{id:05}", keys_only))]
                    #[table(index(of_shelf, table = "Shelves", partition = "{shelf}", row = "{id:05}_{title}", keys_only))]
                );

                impl Upgrade<Note> for NoteV2 {
                    fn upgrade(old: Note) -> Result<Self, UpgradeError> {
                        assert_eq!(old, Note::of(&old.shelf, old.id, (old.title.clone(), old.pages, old.stars)));
                        Ok(Self::of(&old.shelf, old.id, (old.title, old.pages, old.stars)))
                    }
                }

                #[derive(Debug, Clone, PartialEq, TableModel)]
                #[allow(clippy::large_enum_variant)]
                pub(crate) enum Model {
                    Note(Note),
                }

                $crate::moves::several::kept::kept!(Note, Model, shelf, by_title by title, |key, title| {
                    let _ = title;
                    Note::find().shelf(key.0).id(key.1)
                });
            }

            /// The new form is.
            pub(crate) mod second {
                use tablemodel::{Upgrade, UpgradeError, prelude::*};

                $old!(NoteV1
                    #[table(name = "Notes", entity_type = "Note", frozen, partition = "{shelf}", row = "n_{id:05}")]
                    #[table(index(sorted, row = "t_{title}_{id:05}", keys_only))]
                    #[table(index(by_title, table = "ByTitle", partition = "{title}", row = "{shelf}_{id:05}", keys_only))]
                );
                $new!(Note
                    #[table(name = $table, version = 2, partition = "{title}", row = "m_{shelf}_{id:05}", moved_from = NoteV1, allow_scan)]
                    #[table(index(sorted, row = "p_{pages:05}_{shelf}_{id:05}", keys_only))]
                    #[table(index(of_shelf, table = "Shelves", partition = "{shelf}", row = "{id:05}_{title}", keys_only))]
                );

                impl Upgrade<NoteV1> for Note {
                    fn upgrade(old: NoteV1) -> Result<Self, UpgradeError> {
                        assert_eq!(old, NoteV1::of(&old.shelf, old.id, (old.title.clone(), old.pages, old.stars)));
                        Ok(Self::of(&old.shelf, old.id, (old.title, old.pages, old.stars)))
                    }
                }

                #[derive(Debug, Clone, PartialEq, TableModel)]
                #[allow(clippy::large_enum_variant)]
                pub(crate) enum Model {
                    Note(Note),
                }

                $crate::moves::several::kept::kept!(Note, Model, title, of_shelf by shelf, |key, title| {
                    Note::find().title(title).shelf(key.0).id(key.1)
                });
            }
        }
    };
}

releases!(one_to_several: one => paged in "Titles");
releases!(one_to_others: one => bound in "Notes");
releases!(several_to_one: paged => one in "Titles");
releases!(others_to_one: bound => one in "Notes");
releases!(several_to_others: paged => bound in "Titles");
releases!(others_to_several: bound => paged in "Notes");
releases!(several_to_several: paged => paged in "Notes");

/// Runs the scenario for every combination in both modes.
macro_rules! of_all {
    ($scenario:ident) => {
        for mode in $crate::moves::several::MODES {
            of_all!($scenario, mode: one_to_several one_to_others several_to_one others_to_one
                several_to_others others_to_several several_to_several);
        }
    };
    ($scenario:ident, $mode:ident: $($name:ident)*) => {
        $({
            use $crate::moves::several::$name::{before, first, second};
            $scenario::<before::Note, first::Note, second::Note>($mode, stringify!($name)).await;
        })*
    };
}
pub(crate) use of_all;

/// A store of so many notes on each shelf, as the first program wrote them, which has ended.
async fn filled<Was: Before>(mode: Consistency, notes: u32) -> TestDatabase {
    let store = store_of::<Was::Model>(mode).await;
    let db = program::<Was::Model>(&store).await;
    let note = |shelf: &str, id: u32| Was::made((shelf, id), (TITLES[id as usize % 4].to_owned(), id % 5, 0));
    let all = SHELVES.into_iter().flat_map(|shelf| (0..notes).map(move |id| note(shelf, id)));
    let report = db.bulk().insert_all(futures_util::stream::iter(all)).await.expect("written");
    assert!(report.failed.is_empty(), "{report:?}");
    drop(db);
    store.clock().advance(Duration::from_secs(130));
    store
}

/// Every row of notes but for what remembers those that are gone, parts included.
async fn rows(db: &Database, version: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in TABLES {
        if db.store().list_tables().await.expect("listed").iter().any(|there| there == table) {
            rows.extend(all_rows(db, table).await);
        }
    }
    let is_of_version = |row: &Row| kind(row).ends_with(&format!("@{version}"));
    let is_of_notes =
        |row: &Row| kind(row).starts_with("Note") && !["~dead", "~outbox"].iter().any(|of| kind(row).contains(of));
    rows.retain(|row| is_of_version(row) && is_of_notes(row) && row.properties.get("_dead").is_none());
    rows
}

/// The parts of notes that no head names: young ones too.
async fn orphans(db: &Database, version: u32) -> Vec<String> {
    use tablemodel::ValueRef;
    let rows = rows(db, version).await;
    let is_named = |part: &Row| {
        rows.iter().any(|head| {
            let name = part.key.row.strip_prefix(&format!("{} ~~", head.key.row));
            let generation = match head.properties.get("_gen") {
                Some(ValueRef::String(of)) => format!("{of}~"),
                _ => String::new(),
            };
            let number = name.and_then(|name| name.strip_prefix(&generation)?.parse::<i32>().ok());
            let count = match head.properties.get("_parts") {
                Some(ValueRef::Int32(count)) => count,
                _ => 0,
            };
            head.key.partition == part.key.partition && number.is_some_and(|number| number <= count)
        })
    };
    let parts = rows.iter().filter(|row| kind(row).contains("~part"));
    parts.filter(|part| !is_named(part)).map(|part| part.key.to_string()).collect()
}
