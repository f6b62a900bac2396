//! Typed paths to lists: their type states and their terminals.
//!
//! What a list holds and how it is kept is `rooms::list`'s; reading it is `read::list`'s.

use tablemodel_store::RowKey;

use crate::{
    database::Database,
    entity::TableEntity,
    path::{
        Explain, PathQuery, Running,
        state::{At, FullKey, Way},
    },
    read,
    stored::Stored,
};

/// The way to one list. Implemented by generated markers.
pub trait ListKind: 'static {
    /// The entity whose keys it holds.
    type Entity: TableEntity;
    /// The way to it.
    const WAY: Way;
}

/// The state of a path to a list.
pub trait ListState: 'static {
    /// Which list.
    type Kind: ListKind;
}

impl<K: ListKind, N: 'static> ListState for At<K, N> {
    type Kind = K;
}

/// The path names one list.
#[diagnostic::on_unimplemented(
    message = "this path does not name a list yet",
    label = "needs every component of the list's key",
    note = "a list is read by its whole key; for ranges of a key declare an index"
)]
pub trait Listed {}

#[diagnostic::do_not_recommend]
impl<K: ListKind> Listed for At<K, FullKey> {}

/// The entity of a path to a list.
type ListedBy<P> = <<<P as ListPath>::State as ListState>::Kind as ListKind>::Entity;

/// A typed path to a list of keys: from its components to its terminals.
///
/// Every terminal takes the database, and its future is `Send + 'static`.
pub trait ListPath: Sized + Send + 'static {
    /// Where the path stands.
    type State: ListState;

    /// The query so far.
    fn query(&self) -> &PathQuery;

    /// The query so far.
    fn into_query(self) -> PathQuery;

    /// The keys of the entities in the list, in key order. Cost: one request per 1,000 rows: of a list in the entity's own
    /// partition a row for each 16,000 characters of keys, of one elsewhere a row for each key.
    ///
    /// In another partition the list follows its entities a little later.
    ///
    /// # Errors
    ///
    /// `IndexNotReady` while the list is not built; `Corrupt` if a row of it cannot be read.
    fn keys(self, db: &Database) -> Running<Vec<RowKey>>
    where
        Self::State: Listed,
    {
        let (query, db) = (self.into_query(), db.clone());
        Box::pin(async move { read::list::keys(&db, query).await })
    }

    /// The entities in the list, in key order: read one by one, and left out if they are gone or no longer want to be in it.
    /// Cost: that of [`ListPath::keys`], and a point read each, 16 at a time.
    ///
    /// # Errors
    ///
    /// Those of [`ListPath::keys`].
    fn all(self, db: &Database) -> Running<Vec<Stored<ListedBy<Self>>>>
    where
        Self::State: Listed,
    {
        let (query, db) = (self.into_query(), db.clone());
        Box::pin(async move { read::list::entities(&db, query).await })
    }

    /// The number of keys in the list. Cost: one point read; for a list elsewhere, one request per 1,000 keys.
    ///
    /// # Errors
    ///
    /// Those of [`ListPath::keys`].
    fn count(self, db: &Database) -> Running<u64>
    where
        Self::State: Listed,
    {
        let (query, db) = (self.into_query(), db.clone());
        Box::pin(async move { read::list::count(&db, query).await })
    }

    /// What [`ListPath::all`] would read; [`ListPath::keys`] and [`ListPath::count`] make no point reads of entities. Reads nothing.
    fn explain(&self) -> Explain {
        self.query().explain()
    }
}
