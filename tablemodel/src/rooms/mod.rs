//! The rooms: one modelling pattern each, with the line that declares it, what it costs and what it promises. The patterns are those of
//! Microsoft's design guide for Azure Table Storage (*the guide* on these pages), and some more.
//!
//! | pattern | declared by |
//! |---|---|
//! | [compound key](compound_key) | `row = "{id:06}_{year:desc}"` |
//! | [index] in the same partition | `index(by_email, row = "email_{email}", keep(first_name))` |
//! | [index elsewhere](elsewhere), a row for each element of a list | `index(.., partition = "..", table = "..")`, `each(skills)` |
//! | [outbox] of what is to follow elsewhere | `db.relay()` |
//! | [unique] values | `index(.., unique)` |
//! | [sparse] indexes | `when = active`, `Option` in an index key |
//! | [copy] of another entity's properties | `copy_of(Employee, key(department = name, id = manager_id))` |
//! | [list] of keys | `list(ids_by_name, row = "ids_{name}")` |
//! | [aggregate]: count, sum, least, greatest | `count(Department, key(name = department), into = employees)` |
//! | [wide] entities, [chunked] values | `#[table(wide)]`, `#[table(chunked)]` |
//! | blobs beside the table (feature `blob`) | `#[table(blob)] photo: Blob` |
//! | [several types](model) in one table | `#[derive(TableModel)]` |
//! | [projection] | `#[derive(Projection)]` |
//! | [rekey]: to another partition | `db.rekey(&mut entity)` |
//! | [scan] | `allow_scan` |
// A room is pure and never imports another room; one without code of its own is a page. It has the same name here, in the docs, the derive, the
// examples and the tests: `ls rooms/` is the feature list.

pub mod aggregate;
#[cfg(feature = "blob")]
pub mod blob;
pub mod chunked;
pub mod compound_key;
pub mod copy;
pub mod elsewhere;
pub mod index;
pub mod list;
pub mod model;
pub mod outbox;
pub mod projection;
pub mod rekey;
pub mod scan;
pub mod sparse;
pub mod unique;
pub mod wide;

use crate::plan::outbox::OUTBOX;

/// Whether the row key is in the framework's own space, and of no kind that stands there: only a later release has such rows, and says what
/// becomes of them.
pub(crate) fn is_of_later(row: &str) -> bool {
    const KINDS: [&str; 4] = [OUTBOX, rekey::INTENT, copy::REFERENCE, aggregate::CELL];
    row.starts_with("~~") && !KINDS.iter().any(|kind| row.starts_with(kind))
}
