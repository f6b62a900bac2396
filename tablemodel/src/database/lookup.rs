//! Entities by keys that are known whole: of one row key, of many, of many paths.
//!
//! Nothing is read here; what stands at a key, and how it is read, is `read`'s.

use tablemodel_store::RowKey;

use crate::{
    database::Database,
    entity::TableEntity,
    error::Result,
    path::{Path, Running, state::Complete},
    read,
    stored::Stored,
};

impl Database {
    /// The entity whose primary row has this key: of which an error, a list or a report told. None where there is none of this type.
    /// One point read, or one range read of an entity that may be several rows.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// db.insert(&employee(223)).await?;
    /// let found = Employee::find().department("Sales").id(223).one(&db).await?.unwrap();
    /// let again = db.get::<Employee>(found.key()).await?.unwrap();
    /// assert_eq!(*again, *found);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// As those of any [path](crate::Path).
    pub async fn get<E: TableEntity>(&self, key: &RowKey) -> Result<Option<Stored<E>>> {
        self.read_primary(key).await
    }

    /// The entities whose primary rows have these keys, in the order given, also where a key comes twice; `None` where there is none of
    /// this type. The keys may be of several partitions.
    ///
    /// Cost: one point read each, 16 at a time; of an entity that may be several rows one range read each. Without keys nothing is read.
    ///
    /// ```
    /// # use tablemodel::{RowKey, prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// db.insert(&Employee { department: "Legal".into(), ..employee(7) }).await?;
    /// let keys = [("Legal", "empid_000007"), ("Sales", "empid_000099"), ("Sales", "empid_000001")];
    /// let found = db.get_many::<Employee>(keys.map(|(partition, row)| RowKey::new(partition, row))).await?;
    /// let ids: Vec<_> = found.iter().map(|found| found.as_ref().map(|employee| employee.id)).collect();
    /// assert_eq!(ids, [Some(7), None, Some(1)]);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// The first, in the order of the keys, that [`Database::get`] would give.
    pub fn get_many<E: TableEntity>(&self, keys: impl IntoIterator<Item = RowKey>) -> Running<Vec<Option<Stored<E>>>> {
        let (db, keys): (_, Vec<_>) = (self.clone(), keys.into_iter().collect());
        Box::pin(async move { read::at_keys(&db, keys).await })
    }

    /// What [`Path::one`] gives of each of these paths, in the order given, also where a path comes twice. They are of one kind, and may be
    /// of several partitions; where they differ in their last component alone, [`Path::get_many`] is shorter.
    ///
    /// Cost: that of `one` for each, 16 at a time. Without paths nothing is read.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// db.insert(&Employee { department: "Legal".into(), ..employee(7) }).await?;
    /// let asked = [("Legal", 7_u32), ("Sales", 99), ("Sales", 1)];
    /// let paths = asked.map(|(department, id)| Employee::find().department(department).id(id));
    /// let found = db.find_many(paths).await?;
    /// assert!(found[0].is_some() && found[1].is_none() && found[2].is_some());
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [every terminal](Path#errors). A value that does not fit its key is told before anything is read; else the first in the order
    /// of the paths.
    pub fn find_many<P>(&self, paths: impl IntoIterator<Item = P>) -> Running<Vec<Option<P::Found>>>
    where
        P: Path,
        P::State: Complete,
    {
        let (db, queries): (_, Vec<_>) = (self.clone(), paths.into_iter().map(Path::into_query).collect());
        Box::pin(async move { read::many(&db, queries).await })
    }
}
