//! Which programs are alive, and what they know: whom a migration waits for, told to people.
//!
//! Leases are only read here. Whether one is waited for is decided in `waiting`.

use tablemodel_store::{DateTime, Row, ValueRef};

use super::{Migrations, Step, record::Record, rows::Rows, switch::is_switch, undo::dropped};
use crate::{
    database::{
        Database,
        leases::{INSTANCE, NAME, told_on},
        registry::{self, index_row},
        rewrites,
    },
    error::Result,
};

/// A program that writes the store, and has said so in the last minutes; one that ended without closing its database stays until
/// a migration finds it silent for two minutes, or for a day until another program begins to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What it is called in this store: another for each [`Database`](crate::Database) that is opened.
    pub id: String,
    /// Its executable and process, or what [`DatabaseBuilder::program`](crate::DatabaseBuilder::program) said; none of a program that does not say.
    pub name: Option<String>,
    /// When it last said that it is there, by the store's clock. One that writes says so every 20 s.
    pub seen: DateTime,
    /// The newest states of indexes that all of its writes obey: an epoch.
    pub epoch: i64,
    /// Whether that is the store's newest.
    pub is_current: bool,
    /// The versions that it knows above the first, by entity.
    pub versions: Vec<(String, u32)>,
    /// The steps that are not complete and that its model does not have: no migration goes on before it has ended.
    pub lacks: Vec<Step>,
    /// The steps that are being taken away, which this program's model does not have and its model does: the same.
    pub keeps: Vec<Step>,
}

/// What the last migration waits for, each by what a program says that knows it.
struct Awaited {
    /// That each program has these.
    had: Vec<(String, Step)>,
    /// That none has these.
    gone: Vec<(String, Step)>,
}

impl Awaited {
    fn of(db: &Database, rows: &Rows) -> Result<Self> {
        let all = |record: &Record| -> Result<Vec<(String, Step)>> {
            let names = record.steps.iter().map(|(entity, index)| index_row(entity, index));
            Ok(names.zip(rows.steps(record)?).collect())
        };
        match rows.unfinished()? {
            Some(record) if is_switch(&record) => Ok(Self { had: all(&record)?, gone: Vec::new() }),
            Some(record) if record.undo => {
                let steps = dropped(db, &record);
                Ok(Self { had: Vec::new(), gone: all(&Record { steps, ..record })? })
            }
            _ => {
                let steps = rows.plan(db)?.steps.into_iter();
                let had = steps.map(|step| (index_row(&step.entity, &step.index), step)).collect();
                Ok(Self { had, gone: Vec::new() })
            }
        }
    }
}

impl Program {
    /// Whether a migration that is due, or under way, waits for it: to learn of the newest states, or to end.
    pub fn is_waited_for(&self) -> bool {
        !self.is_current || !self.lacks.is_empty() || !self.keeps.is_empty()
    }

    fn read(row: &Row, id: &str, epoch: i64, awaited: &Awaited) -> Self {
        let text = |name: &str| match row.properties.get(name) {
            Some(ValueRef::String(text)) => Some(text),
            _ => None,
        };
        let knows = told_on(row);
        let known = registry::epoch_of(row);
        let those = |steps: &[(String, Step)], known: bool| {
            let are = steps.iter().filter(|(name, _)| knows.contains(name) == known);
            are.map(|(_, step)| step.clone()).collect()
        };
        Self {
            id: id.to_owned(),
            name: text(NAME).map(str::to_owned),
            seen: row.timestamp,
            epoch: known,
            is_current: known >= epoch,
            versions: versions(&knows),
            lacks: those(&awaited.had, false),
            keeps: those(&awaited.gone, true),
        }
    }
}

/// The newest version of each entity among the names of rewrites: `index|Employee|~@2`.
fn versions(knows: &[String]) -> Vec<(String, u32)> {
    let mut newest = std::collections::BTreeMap::new();
    for name in knows {
        let Some((entity, index)) = name.strip_prefix("index|").and_then(|name| name.split_once('|')) else { continue };
        let Some(version) = rewrites::version(index) else { continue };
        let known = newest.entry(entity.to_owned()).or_insert(version);
        *known = version.max(*known);
    }
    newest.into_iter().collect()
}

impl Migrations {
    /// The programs that are alive, by their ids; none where one program owns the store ([`Consistency::Atomic`](crate::Consistency)).
    /// Cost: one request.
    ///
    /// ```
    /// # use tablemodel::{prelude::*, testing::example::*};
    /// # run(|db| async move {
    /// let programs = db.migrations().programs().await?; // this one has written
    /// assert!(programs.iter().all(|program| program.is_current && !program.is_waited_for()));
    /// # assert_eq!(programs.len(), 1);
    /// # Ok(())
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn programs(&self) -> Result<Vec<Program>> {
        let rows = Rows::read(&self.db).await?;
        let awaited = Awaited::of(&self.db, &rows)?;
        let epoch = registry::epoch(rows.all());
        let leases = rows.all().iter().filter_map(|(key, row)| Some((key.strip_prefix(INSTANCE)?, row)));
        let mut programs: Vec<Program> = leases.map(|(id, row)| Program::read(row, id, epoch, &awaited)).collect();
        programs.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(programs)
    }
}
