//! Entities as groups of rows: those of a plan, each head with its parts, and single ones by their key.
//!
//! A group is handed on only if its parts are those that its head names. One that is not is read again by itself, since
//! another may have written it between two pages; one that stays so is corrupt.

use std::collections::VecDeque;

use tablemodel_store::{KeyRange, Query, Row, RowKey, limits};

use crate::{
    database::{Database, Registered},
    error::{Error, ErrorKind, Result},
    path::plan::ReadPlan,
    plan::{
        group::Group,
        part::{self, Torn},
        system::{self, RowKind},
    },
    read::{Rows, results::Results},
    schema::EntitySchema,
};

/// How often an entity whose rows do not fit together is read again.
const REREADS: u32 = 8;

/// Rows of an entity put together as they come, in key order; those of all entities in between pass.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    open: Option<Group>,
}

impl Assembly {
    /// Takes the next row; gives the group that it completes. A part without its head is nobody's.
    pub(crate) fn take(&mut self, row: Row, is_part: bool) -> Option<Group> {
        if !is_part {
            return self.open.replace(row.into());
        }
        let owner = part::entity_row(&row.key.row);
        if let Some(open) = &mut self.open
            && open.head.key.row == owner
            && open.head.key.partition == row.key.partition
        {
            open.parts.push(row);
        }
        None
    }

    /// The head of the group that may go on.
    pub(crate) fn open(&self) -> Option<&Row> {
        self.open.as_ref().map(|open| &open.head)
    }

    /// The last group.
    pub(crate) fn finish(&mut self) -> Option<Group> {
        self.open.take()
    }
}

/// The entities of a plan; rows of an index are groups of one row.
pub(crate) struct Groups {
    rows: Rows,
    db: Database,
    /// Rows asked for for each group; 0 where each row is one.
    rows_each: usize,
    /// Groups asked for beside those that are wanted.
    ahead: usize,
    assembly: Assembly,
    ready: VecDeque<Group>,
    is_done: bool,
}

impl Groups {
    pub(crate) fn new(db: Database, registered: &Registered, plan: ReadPlan) -> Self {
        let rows_each = if plan.is_cut() { registered.rows } else { 0 };
        let rows = Rows::new(db.clone(), registered, plan);
        Self { rows, db, rows_each, ahead: 0, assembly: Assembly::default(), ready: VecDeque::new(), is_done: false }
    }

    pub(crate) fn plan(&self) -> &ReadPlan {
        self.rows.plan()
    }

    /// The table, with the prefix.
    pub(crate) fn table(&self) -> &str {
        self.rows.table()
    }

    /// Only the heads, without properties.
    pub(crate) fn keys_only(&mut self) {
        self.rows_each = 0;
        self.rows.heads_only();
        self.rows.select(&[]);
    }

    /// Whether another group follows will be asked.
    pub(crate) fn look_ahead(&mut self) {
        self.rows.look_ahead();
        self.ahead = 1;
    }

    /// Only entities after the one at this key, of the range at `place`.
    pub(crate) fn resume_after(&mut self, place: usize, key: &RowKey) {
        self.rows.resume_after(place, key);
    }

    /// The next group; `wanted` are asked for at once where a page has to be read.
    pub(crate) async fn next(&mut self, wanted: usize) -> Result<Option<Group>> {
        if self.rows_each == 0 {
            return Ok(self.rows.next(wanted).await?.map(Group::from));
        }
        self.fill(wanted).await?;
        Ok(self.ready.pop_front())
    }

    /// Some groups, at most `wanted`; none at the end.
    pub(crate) async fn some(&mut self, wanted: usize) -> Result<Vec<Group>> {
        if self.rows_each == 0 {
            return Ok(self.rows.some(wanted).await?.into_iter().map(Group::from).collect());
        }
        self.fill(wanted).await?;
        let count = self.ready.len().min(wanted);
        Ok(self.ready.drain(..count).collect())
    }

    /// The results of the next page, where the store shows its rows. `None`: [`Groups::some`] is to be asked, also at the
    /// end.
    pub(crate) fn show(&mut self, wanted: usize, to: &mut dyn Results) -> Result<Option<()>> {
        if self.rows_each > 0 || !to.kind().of_primary {
            return Ok(None);
        }
        self.rows.show(wanted, to)
    }

    /// Whether another group follows.
    pub(crate) async fn has_more(&mut self) -> Result<bool> {
        if self.rows_each == 0 {
            return self.rows.has_more().await;
        }
        self.fill(1).await?;
        Ok(!self.ready.is_empty())
    }

    /// Reads until a group is complete: until the next one begins, or the end.
    async fn fill(&mut self, wanted: usize) -> Result<()> {
        while self.ready.is_empty() && !self.is_done {
            let wanted = wanted.saturating_add(self.ahead).saturating_mul(self.rows_each);
            let rows = self.rows.some(wanted.saturating_add(1)).await?;
            self.is_done = rows.is_empty();
            let (read, mut complete) = (rows.len(), Vec::new());
            for row in rows {
                let is_part = self.rows.plan().owns_part(&row);
                complete.extend(self.assembly.take(row, is_part));
            }
            self.expect(read, complete.len());
            let last = if self.is_done { self.assembly.finish() } else { None };
            for group in complete.into_iter().chain(last) {
                let settled = self.db.settled(self.rows.plan().schema, self.rows.table(), group).await?;
                self.ready.extend(settled);
            }
        }
        Ok(())
    }

    /// Entities may have more rows than their layout says: as many are asked for as those before had, and twice as many where one did not end.
    fn expect(&mut self, read: usize, complete: usize) {
        let each = if complete == 0 { self.rows_each.saturating_mul(2) } else { read.div_ceil(complete) };
        self.rows_each = self.rows_each.max(each);
    }
}

impl Database {
    /// The rows of the entity whose head stands at `key`, whatever stands there. One point read, or one range read of an
    /// entity that may be several rows.
    pub(crate) async fn read_entity(
        &self,
        schema: &'static EntitySchema,
        table: &str,
        key: &RowKey,
    ) -> Result<Option<Group>> {
        if !schema.has_parts() {
            return Ok(self.get_row(table, key).await?.map(Group::from));
        }
        let mut last: Option<(Group, Torn)> = None;
        for attempt in 0..REREADS {
            let Some(group) = self.read_rows(table, key).await? else { return Ok(None) };
            let torn = match part::settled(group.clone()) {
                Ok(settled) => return Ok(Some(settled)),
                Err(torn) => torn,
            };
            // Twice the same rows: no other program is writing them.
            if last.is_some_and(|(before, _)| before.etags().eq(group.etags())) {
                return Err(Error::corrupt(torn.detail).of(schema.entity_type).at_key(torn.key));
            }
            last = Some((group, torn));
            self.pause(attempt).await;
        }
        let detail = "the entity keeps changing while its parts are read; read it again";
        let current = last.map(|(group, _)| Box::new(group.head));
        Err(Error::new(ErrorKind::Conflict { current }, detail).of(schema.entity_type).at_key(key.clone()))
    }

    /// As [`Database::read_entity`], for what follows the entity. `Corrupt` also where its head names a version that is none: it is there,
    /// and what it wants cannot be told.
    pub(crate) async fn read_owner(
        &self,
        schema: &'static EntitySchema,
        table: &str,
        key: &RowKey,
    ) -> Result<Option<Group>> {
        let rows = self.read_entity(schema, table, key).await?;
        rows.iter().try_for_each(|rows| crate::plan::change::check_told(schema, &rows.head))?;
        Ok(rows)
    }

    /// The rows at the entity's key, page by page, as they are found: perhaps in the middle of a write.
    pub(crate) async fn read_rows(&self, table: &str, key: &RowKey) -> Result<Option<Group>> {
        let range = KeyRange::rows(key.partition.clone(), part::rows_of(&key.row));
        let mut query = Query::new(table, range).limited(limits::MAX_PAGE_ROWS);
        let mut assembly = Assembly::default();
        loop {
            let page = self.query_page(&query).await?;
            for row in page.rows {
                let is_part = matches!(system::kind(&row.properties), RowKind::Part { .. });
                // A row of another program may lie between the head and its parts.
                if is_part || row.key.row == key.row {
                    assembly.take(row, is_part);
                }
            }
            match page.continuation {
                Some(next) => query.continuation = Some(next),
                None => return Ok(assembly.finish()),
            }
        }
    }

    /// The group as it was read if its parts are those that its head names, else as it is read again; none if it is gone.
    pub(crate) async fn settled(
        &self,
        schema: &'static EntitySchema,
        table: &str,
        group: Group,
    ) -> Result<Option<Group>> {
        let key = group.key().clone();
        match part::settled(group) {
            Ok(settled) => self.completed(schema, settled).await.map(Some),
            Err(_) => {
                let rows = self.read_entity(schema, table, &key).await?;
                match rows.filter(|rows| crate::plan::change::is_primary(schema, &rows.head)) {
                    Some(rows) => self.completed(schema, rows).await.map(Some),
                    None => Ok(None),
                }
            }
        }
    }
}
