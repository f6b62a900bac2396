//! What readers see: one snapshot, shared until the next acknowledged commit; rows that are looked up may be newer.
//!
//! Writes nothing.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    catalogue::Catalogue,
    codec::StoredRow,
    dictionary::Dictionary,
    engine::{Engine, Snapshot},
    guest::Guest,
    kept::Shelf,
    keys::{LookupKey, at_row},
    rows::{Change, Ended, Mark, ReadRow, Rows},
    sight::Sight,
};
use crate::{RowKey, RowState, Shown, StoreError, StoreErrorKind};

/// One state of the store.
pub(super) struct View<S> {
    pub(super) snapshot: S,
    pub(super) catalogue: Arc<Catalogue>,
    /// Never behind the snapshot or the kept rows: a name is in here before the first row that uses it is written.
    pub(super) names: Arc<Dictionary>,
    /// Rows looked up before, in this view or in others: as the newest commit left them.
    pub(super) rows: Arc<Rows>,
    /// Changes that the snapshot has; it may have more.
    pub(super) ended: Ended,
}

impl<S: Snapshot> View<S> {
    /// A view that keeps no rows.
    #[cfg(test)]
    pub(super) fn alone(snapshot: S, catalogue: Catalogue, names: Dictionary) -> Self {
        let (catalogue, names, rows) = (Arc::new(catalogue), Arc::new(names), Arc::new(Rows::new(0)));
        let ended = rows.ended();
        Self { snapshot, catalogue, names, rows, ended }
    }

    /// The row at `key`, without the key.
    pub(super) fn get(&self, table: &str, key: &RowKey) -> Result<Option<RowState>, StoreError> {
        let Some(row) = self.find(table, (&key.partition, &key.row))? else { return Ok(None) };
        let (key, value) = row.parts();
        let read = || StoredRow::again(value)?.open(&self.names)?.state(&self.names, None).map(Some);
        read().map_err(|error| at_row(error, table, key))
    }

    /// Shows the row at `key`; whether there is one. None where [rows cannot be shown](Self::shows_rows).
    pub(super) fn show(
        &self,
        table: &str,
        key: (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool, StoreError>> {
        let row = match self.find(table, key) {
            Ok(row) => row,
            Err(error) => return Some(Err(error)),
        };
        // Asked once the row is there, which may be newer than the view.
        self.shows_rows().then(|| {
            row.map_or(Ok(false), |row| {
                let sight = Sight::looked_up(&row, &self.names);
                see(&Shown::stored(sight.map_err(|error| at_row(error, table, row.parts().0))?));
                Ok(true)
            })
        })
    }

    /// As [`show`](Self::show), where the row lies: it is not kept.
    pub(super) fn show_in_passing(
        &self,
        table: &str,
        (partition, row): (&str, &str),
        see: &mut dyn FnMut(&Shown<'_>),
    ) -> Option<Result<bool, StoreError>> {
        self.shows_rows().then(|| {
            let space = self.catalogue.rows(table)?;
            if partition.as_bytes().contains(&0) {
                return Ok(false); // as below
            }
            let mut room = LookupKey::new();
            let key = room.bytes(partition, row);
            let (mut guest, shelf) = (Guest::default(), Shelf::new());
            let shown = self.snapshot.get(space, key, |value| {
                let row = StoredRow::checked(space, key, value)?.open(&self.names)?;
                let row = Shown::stored(Sight::new(key, row, &self.names, &shelf));
                guest.run(|| see(&row));
                Ok(())
            });
            guest.leave();
            let shown = shown?.transpose().map_err(|error| at_row(error, table, key))?;
            Ok(shown.is_some())
        })
    }

    /// Whether all names are in the dictionary. Those of this view's rows then are, and of rows that were found before.
    pub(super) fn shows_rows(&self) -> bool {
        !self.names.is_full()
    }

    /// The row at this key: as it was read before, if it is kept and has not changed.
    #[inline]
    fn find(&self, table: &str, (partition, row): (&str, &str)) -> Result<Option<ReadRow>, StoreError> {
        let space = self.catalogue.rows(table)?;
        // No stored key holds U+0000, and one that does could have the bytes of another.
        if partition.as_bytes().contains(&0) {
            return Ok(None);
        }
        let mut room = LookupKey::new();
        let key = room.bytes(partition, row);
        let mark = Mark::of(space, key);
        if let Some(kept) = self.rows.get(mark, key) {
            return Ok(Some(kept));
        }
        let checked = |value: &[u8]| ReadRow::checked(space, mark, key, value);
        let read = self.snapshot.get(space, key, checked)?.transpose().map_err(|error| at_row(error, table, key))?;
        if let Some(read) = &read {
            self.rows.put(read, self.ended);
        }
        Ok(read)
    }
}

/// Where readers get the current view from, and the writer takes it back.
pub(super) struct Views<E: Engine> {
    current: RwLock<Current<E>>,
    names: Arc<Dictionary>,
}

struct Current<E: Engine> {
    /// Absent once the store is closed.
    engine: Option<Arc<E>>,
    /// Why it was closed, if that was not asked for.
    failure: Option<StoreError>,
    catalogue: Arc<Catalogue>,
    rows: Arc<Rows>,
    view: Option<Arc<View<E::Snapshot>>>,
}

impl<E: Engine> Views<E> {
    pub(super) fn new(engine: Arc<E>, catalogue: Arc<Catalogue>, names: Arc<Dictionary>, rows: Rows) -> Self {
        let current = Current { engine: Some(engine), failure: None, catalogue, rows: Arc::new(rows), view: None };
        Self { current: RwLock::new(current), names }
    }

    /// A view that holds every commit acknowledged before this call.
    pub(super) fn current(&self) -> Result<Arc<View<E::Snapshot>>, StoreError> {
        if let Some(view) = &self.read().view {
            return Ok(Arc::clone(view));
        }
        let mut current = self.write();
        if let Some(view) = &current.view {
            return Ok(Arc::clone(view));
        }
        // Under the lock, so that no commit can be acknowledged between the snapshot and its publication.
        let ended = current.rows.ended();
        let snapshot = current.engine()?.snapshot()?;
        let (catalogue, rows) = (Arc::clone(&current.catalogue), Arc::clone(&current.rows));
        let view = Arc::new(View { snapshot, catalogue, names: Arc::clone(&self.names), rows, ended });
        current.view = Some(Arc::clone(&view));
        Ok(view)
    }

    /// Begins a change of rows, which are to be [taken out](Self::take_out) before it is committed, and [renewed](Self::renew) after that.
    pub(super) fn begin(&self) -> Change {
        self.read().rows.begin()
    }

    /// Lets go of the rows with these marks, if they were looked up before.
    pub(super) fn take_out(&self, change: Change, marks: impl IntoIterator<Item = Mark>) {
        self.read().rows.take_out(change, marks);
    }

    /// Makes the next reader take a new snapshot. Called after a commit, before it is acknowledged.
    ///
    /// The old snapshot is let go here, not at the next read: while it lives the engine cannot reuse its pages.
    pub(super) fn renew(&self, catalogue: &Arc<Catalogue>) {
        let mut current = self.write();
        current.view = None;
        current.rows.end();
        current.catalogue = Arc::clone(catalogue);
    }

    /// The view of what was just committed, for [publication](Self::publish) once it is on the disk. Until then readers must share
    /// the view before it: the engine's own snapshots are of the last commit.
    pub(super) fn following(
        &self,
        catalogue: &Arc<Catalogue>,
        change: Change,
    ) -> Result<View<E::Snapshot>, StoreError> {
        let current = self.read();
        let (snapshot, catalogue) = (current.engine()?.snapshot()?, Arc::clone(catalogue));
        let (names, rows) = (Arc::clone(&self.names), Arc::clone(&current.rows));
        Ok(View { snapshot, catalogue, names, rows, ended: change.ended() })
    }

    /// Lets readers see this view. Called when its commit is on the disk, before that is acknowledged.
    pub(super) fn publish(&self, view: View<E::Snapshot>, change: Change) {
        let mut current = self.write();
        current.rows.end_up_to(change);
        current.catalogue = Arc::clone(&view.catalogue);
        let before = current.view.replace(Arc::new(view));
        drop(current);
        drop(before);
    }

    /// Ends all reading, because it was asked for or because of a failure.
    pub(super) fn close(&self, failure: Option<StoreError>) {
        let mut current = self.write();
        current.view = None;
        current.rows = Arc::new(Rows::new(0));
        current.engine = None;
        current.failure = failure;
    }

    /// What stopped the store, if something did.
    pub(super) fn failure(&self) -> Option<StoreError> {
        self.read().failure.clone()
    }

    /// Asks the engine, unless the store is closed.
    pub(super) fn with_engine<T>(&self, ask: impl FnOnce(&E) -> Result<T, StoreError>) -> Result<T, StoreError> {
        ask(self.read().engine()?)
    }

    // A panic cannot leave the fields half changed, so a poisoned lock is still good.
    fn read(&self) -> RwLockReadGuard<'_, Current<E>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Current<E>> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Engine> Current<E> {
    fn engine(&self) -> Result<&E, StoreError> {
        self.engine.as_deref().ok_or_else(|| self.failure.clone().unwrap_or_else(closed))
    }
}

/// The error of a store that was closed.
pub(super) fn closed() -> StoreError {
    StoreError::new(StoreErrorKind::Closed, "the store is closed; open it again")
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;
    use crate::{
        Comparison, DateTime, Filter, KeyRange, PropertyName, Query,
        embedded::{
            catalogue::TableEntry,
            engine::{Group, Space, Sync, TableId},
            keys::key_bytes,
            page::{Progress, Step},
            redb_engine,
            seal::Digest,
        },
    };

    /// A view of one row with this body, under a right checksum.
    fn planted(body: &[u8]) -> View<impl Snapshot> {
        let space = Space::Rows(TableId(1));
        let key = key_bytes("p", "r");
        let seal = Digest::of(&key, body).seal(space, 9);
        let value = [&[3][..], &seal, &9_u64.to_le_bytes(), body].concat();
        let engine = redb_engine::open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        let engine = Box::leak(Box::new(engine)); // a snapshot ends with its database
        let planted = engine.apply(Sync::Disk, |group| {
            group.create(space)?;
            group.put(space, &key, &value)
        });
        assert!(planted.unwrap().committed);
        let mut catalogue = Catalogue::default();
        let created = DateTime::from_ticks(1);
        catalogue.insert("people", TableEntry { id: TableId(1), name: "People".to_owned(), created });
        let names = Dictionary::new(["Age", "City"].map(PropertyName::from));
        View::alone(engine.snapshot().unwrap(), catalogue, names)
    }

    fn queried(view: &View<impl Snapshot>, query: &Query) -> Result<usize, StoreErrorKind> {
        match Progress::begin(query).unwrap().read_short(view, query) {
            Ok(Step::Done(page)) => Ok(page.rows.len()),
            Ok(Step::Paused(_)) => panic!("one row is not much to look at"),
            Err(error) => Err(error.kind()),
        }
    }

    #[test]
    fn a_malformed_row_is_corrupt_though_its_checksum_is_right() {
        let key = RowKey::new("p", "r");
        let all = Query::new("People", KeyRange::table());
        let old = Query { filter: Some(Filter::compare("City", Comparison::Equal, "x")), ..all.clone() };
        let selected = Query { select: Some(vec!["City".into()]), ..all.clone() };
        let well_formed = planted(&[0, 3, 2, 0x15, 0x27, 0, 1, 2, 1, b'x']);
        assert!(well_formed.get("People", &key).unwrap().is_some());
        assert_eq!([&all, &old, &selected].map(|query| queried(&well_formed, query)), [Ok(1); 3]);
        let text_beyond_the_end = planted(&[0, 3, 2, 0x15, 0x27, 0, 1, 2, 9, b'x']);
        assert_eq!(text_beyond_the_end.get("People", &key).unwrap_err().kind(), StoreErrorKind::Corrupt);
        let read = [&all, &old, &selected].map(|query| queried(&text_beyond_the_end, query));
        assert_eq!(read, [Err(StoreErrorKind::Corrupt); 3]);
    }

    /// A view of one row, with memory for rows that are looked up.
    fn keeping() -> View<impl Snapshot> {
        let view = planted(&[0, 3, 2, 0x15, 0x27, 0, 1, 2, 1, b'x']);
        View { rows: Arc::new(Rows::new(1 << 20)), ..view }
    }

    fn shown(view: &View<impl Snapshot>, see: &mut dyn FnMut(&Shown<'_>)) -> Option<Result<bool, StoreError>> {
        view.show("People", ("p", "r"), see)
    }

    #[test]
    fn a_kept_row_is_not_shown_any_more_once_names_have_no_numbers() {
        let view = keeping();
        let mut seen = 0;
        for _ in 0..2 {
            assert!(shown(&view, &mut |_| seen += 1).unwrap().unwrap());
        }
        // As if the last names that can have one came with rows of another writer, while the row is kept.
        (0..).map(|n| PropertyName::from(format!("P{n}"))).find(|name| view.names.number(name).is_none());
        assert!(shown(&view, &mut |_| seen += 1).is_none());
        assert_eq!(seen, 2);
        let row = view.get("People", &RowKey::new("p", "r")).unwrap().unwrap();
        assert_eq!(row.properties.get("City"), Some(crate::ValueRef::String("x")));
    }

    #[test]
    fn a_row_shown_in_passing_is_not_kept() {
        let view = keeping();
        let key = ("p", "r");
        let is_kept = |view: &View<_>| {
            let key = key_bytes(key.0, key.1);
            view.rows.get(Mark::of(Space::Rows(TableId(1)), &key), &key).is_some()
        };
        let mut seen = Vec::new();
        let passed = view.show_in_passing("People", key, &mut |row| seen.push(row.row().unwrap()));
        assert!(passed.unwrap().unwrap() && !is_kept(&view));
        assert!(shown(&view, &mut |row| seen.push(row.row().unwrap())).unwrap().unwrap() && is_kept(&view));
        assert_eq!(seen[0], seen[1]);
        assert!(!view.show_in_passing("People", ("p", "s"), &mut |_| panic!("no row")).unwrap().unwrap());
        let missing = view.show_in_passing("Nobody", key, &mut |_| panic!("no table")).unwrap();
        assert_eq!(missing.unwrap_err().kind(), StoreErrorKind::TableNotFound);
    }

    #[test]
    fn a_panic_of_who_is_shown_a_row_in_passing_is_not_taken_for_damage() {
        let view = keeping();
        let shown = || view.show_in_passing("People", ("p", "r"), &mut |_| panic!("the caller's own words"));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(shown)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"the caller's own words"));
    }

    #[test]
    fn a_closed_store_lets_go_of_the_rows_that_it_kept() {
        let engine = redb_engine::open_backend(Box::new(InMemoryBackend::new()), 1 << 20).unwrap();
        let names = Arc::new(Dictionary::new([]));
        let views = Views::new(Arc::new(engine), Arc::new(Catalogue::default()), names, Rows::new(1 << 20));
        let kept = Arc::downgrade(&views.current().unwrap().rows);
        assert!(kept.upgrade().is_some());
        views.close(None);
        assert!(kept.upgrade().is_none());
    }
}
