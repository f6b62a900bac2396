//! The switch of a move: from when on the new form of an entity is the one that is written, and the old one goes.
//!
//! First no program may be alive that knows the old form alone; what is under way is delivered, and what is wrong put right. Then the old form is
//! closed, so that one that begins meanwhile writes nothing; what is left is delivered; and one batch changes the form. Up to there it is given up where it fails.

use std::{collections::BTreeSet, time::Duration};

use tablemodel_store::{Action, Condition, Operation, Row};

use super::{
    Contracted, Step, forms, recopied,
    record::{Record, Work},
    rows::Rows,
    settle::{drain_all, scrub},
    states::{Owned, any},
    stop::Stop,
    waiting::Waiting,
};
use crate::{
    database::{
        Database,
        registry::{MOST_CHANGES, entity_row, followers, index_row, kept, moved, record, record_for},
    },
    error::{Error, Result},
    plan::states::IndexState,
    schema::{EntitySchema, is_move, taken, taker},
};

/// How long other programs are waited for.
const WAIT: Duration = Duration::from_secs(300);
/// How often the migration is kept while the fence passes.
const SLICE: Duration = Duration::from_secs(10);

/// A move of an entity of the model.
struct Move {
    old: &'static EntitySchema,
    new: &'static EntitySchema,
    name: String,
}

impl Move {
    fn of(new: &'static EntitySchema) -> Option<Self> {
        let old = new.moved_from?;
        Some(Self { old, new, name: old.moves_to.as_ref()?.name() })
    }

    fn row(&self) -> String {
        index_row(self.new.entity_type, &self.name)
    }

    /// Whether the store keeps the entity in its new form.
    fn is_switched(&self, rows: &Rows) -> bool {
        moved::is_kept_as(self.new, self.old, rows.all())
    }
}

/// The moves of entities that the program takes the new form of, and the store does not yet.
fn waiting(rows: &Rows, db: &Database) -> Vec<Move> {
    let moves = db.0.model.iter().copied().filter_map(Move::of);
    moves.filter(|of| moved::is_kept_as(of.old, of.new, rows.all())).collect()
}

/// The moves that can be switched.
pub(super) fn ready(rows: &Rows, db: &Database) -> Result<Vec<(String, String)>> {
    let mut ready = Vec::new();
    for of in waiting(rows, db) {
        if rows.state(of.new.entity_type, &of.name)? == IndexState::Readable {
            ready.push((of.new.entity_type.to_owned(), of.name));
        }
    }
    Ok(ready)
}

/// Whether the migration is the switch of moves.
pub(super) fn is_switch(record: &Record) -> bool {
    record.steps.iter().any(|(_, name)| taken(name).is_some())
}

/// Switches what can be, and takes the old rows away; goes on where an earlier call stopped.
pub(super) async fn contract(db: &Database, stop: &Stop) -> Result<Contracted> {
    let rows = Rows::read(db).await?;
    match rows.unfinished()? {
        Some(record) if !is_switch(&record) => return Ok(Contracted::default()),
        Some(_) => {}
        None => check_complete(&rows, db)?,
    }
    let wanted = |rows: &Rows| {
        let ready = ready(rows, db)?.into_iter();
        let ready: Vec<_> = ready.map(|(entity, name)| (entity, taker(&name))).collect();
        Ok((!ready.is_empty()).then_some((ready, Work::TakeAway)))
    };
    let Some(owned) = Owned::take(db, "contract", stop, any, &wanted).await? else { return Ok(Contracted::default()) };
    let record = owned.rows().await?.1;
    let moves = match moves_of(db, &record) {
        Ok(moves) if is_switch(&record) => moves,
        other => {
            owned.release().await?;
            return other.map(|_| Contracted::default());
        }
    };
    match run(&owned, &record, &moves).await {
        Ok(rows) => Ok(Contracted { migration: Some(record.id), steps: gone(&moves), rows }),
        Err(error) => {
            // A store that is gone cannot be told: then another call goes on.
            let _ = give_up(&owned, &moves).await;
            Err(error)
        }
    }
}

fn gone(moves: &[Move]) -> Vec<Step> {
    let step =
        |of: &Move| Step { entity: of.new.entity_type.to_owned(), index: of.name.clone(), state: IndexState::Absent };
    moves.iter().map(step).collect()
}

/// That no move is still to be applied: it is not passed over.
fn check_complete(rows: &Rows, db: &Database) -> Result<()> {
    for of in waiting(rows, db) {
        let state = rows.state(of.new.entity_type, &of.name)?;
        if state != IndexState::Readable {
            let detail = format!(
                "the move to version {} is {}, and only one that is complete can be switched: call `apply` first",
                of.new.version,
                state.word()
            );
            return Err(Error::unsupported(detail).of(of.new.entity_type));
        }
        // What goes along is as complete after it as before it.
        for name in followers(of.old).filter(|name| name.starts_with('~') && !is_move(name)) {
            if rows.complete(of.new.entity_type, &name)? != IndexState::Readable {
                let detail = format!("`{name}` is not complete, and goes along as it is: call `apply` first");
                return Err(Error::unsupported(detail).of(of.new.entity_type));
            }
        }
    }
    Ok(())
}

fn moves_of(db: &Database, record: &Record) -> Result<Vec<Move>> {
    let of = |(entity, step): &(String, String)| {
        let listed = db.0.model.iter().copied().find(|schema| schema.entity_type == entity);
        // A later program may know the move after this one.
        let is_it = |of: &Move| taken(step) == Some(of.name.as_str());
        listed.and_then(Move::of).filter(is_it).ok_or_else(|| {
            let detail = format!(
                "`{entity}` is being switched to another form ({}): call `contract` with the program that has that as its `moved_from`",
                taken(step).unwrap_or(step)
            );
            Error::unsupported(detail)
        })
    };
    record.steps.iter().map(of).collect()
}

async fn run(owned: &Owned, record: &Record, moves: &[Move]) -> Result<u64> {
    let what = "keep the entity at its old keys, or have not learnt of the states yet";
    let all = Waiting { indexes: &record.steps, knows: Some(true), what, time: WAIT };
    let (rows, _) = owned.rows().await?;
    if !moves.iter().all(|of| of.is_switched(&rows)) {
        owned.settle(&all).await?;
        drain_all(owned).await?; // what is between two keys of a closed form does not arrive
        let tables: BTreeSet<_> = moves.iter().flat_map(|of| of.old.tables().chain(of.new.tables())).collect();
        scrub(owned, |table| tables.contains(table)).await?;
        close(owned, moves, true).await?;
        owned.settle(&all).await?;
        drain_all(owned).await?;
        for of in moves {
            forms::check_known(owned, of.old, of.new).await?;
        }
        change_form(owned, moves).await?;
    }
    owned.settle(&all).await?;
    for of in moves {
        recopied::recopy(owned, of.new).await?;
    }
    owned.pass_readers().await?;
    let states = owned.hold().await?;
    let mut removed = 0;
    for of in moves {
        removed += forms::remove(owned, &states, of.old, of.new).await?;
    }
    drop(states); // nobody says meanwhile that the program is there
    pass_fence(owned).await?;
    let states = owned.hold().await?;
    for of in moves {
        forms::remove_dead(owned, &states, of.new).await?;
    }
    drop(states);
    owned.forget_work().await?;
    let end = |rows: &Rows, record: &mut Record| {
        record.finished = Some(owned.now());
        Ok(moves.iter().filter_map(|of| deleted(rows.row(&of.row())?)).collect())
    };
    owned.rewrite(end).await?;
    Ok(removed)
}

/// Closes the old forms, or opens them again, unless one was switched.
async fn close(owned: &Owned, moves: &[Move], closed: bool) -> Result<()> {
    let next = |rows: &Rows, _: &mut Record| {
        if !closed && moves.iter().any(|of| of.is_switched(rows)) {
            return Ok(Vec::new());
        }
        let open = moves.iter().filter_map(|of| rows.row(&of.row()));
        let open = open.filter(|row| row.properties.get(moved::CLOSED).is_some() != closed);
        let operation = |row: &Row| {
            let mut properties = row.properties.clone();
            properties.retain(|name| name != moved::CLOSED);
            if closed {
                properties.insert(moved::CLOSED, true);
            }
            replaced(row, properties)
        };
        Ok(open.map(operation).collect())
    };
    owned.rewrite(next).await.map(drop)
}

/// The new forms are those that are kept, from this batch on: each is complete.
async fn change_form(owned: &Owned, moves: &[Move]) -> Result<()> {
    let (rows, _) = owned.rows().await?;
    for of in moves.iter().filter(|of| !of.is_switched(&rows)) {
        if rows.state(of.new.entity_type, &of.name)? != IndexState::Readable {
            return Err(Error::unsupported("the move is not complete: call `apply` first").of(of.new.entity_type));
        }
    }
    for together in batches(owned, moves, &rows)? {
        let next = |rows: &Rows, _: &mut Record| {
            let forms: Vec<_> = together.iter().map(|of| form(owned, of, rows)).collect::<Result<_>>()?;
            Ok(forms.into_iter().flatten().collect())
        };
        owned.rewrite(next).await?;
    }
    Ok(())
}

/// The moves in as few batches as they take, mostly one; that of an entity is never cut.
fn batches<'m>(owned: &Owned, moves: &'m [Move], rows: &Rows) -> Result<Vec<Vec<&'m Move>>> {
    let (mut batches, mut room) = (Vec::<Vec<&Move>>::new(), 0);
    for of in moves {
        let changes = form(owned, of, rows)?.len();
        if changes > MOST_CHANGES {
            let detail = "both forms together have more indexes than one batch can change the states of";
            return Err(Error::unsupported(detail).of(of.new.entity_type));
        }
        match batches.last_mut().filter(|_| changes <= room) {
            Some(batch) => batch.push(of),
            None => {
                batches.push(vec![of]);
                room = MOST_CHANGES;
            }
        }
        room -= changes;
    }
    Ok(batches)
}

fn form(owned: &Owned, of: &Move, rows: &Rows) -> Result<Vec<Operation>> {
    let (old, new) = (of.old, of.new);
    if of.is_switched(rows) {
        return Ok(Vec::new()); // by an attempt whose reply was lost
    }
    let now = owned.now().ticks();
    let mut operations = Vec::new();
    if let Some(row) = rows.row(&entity_row(new)) {
        let mut properties = row.properties.clone();
        kept::keep(new, &mut properties);
        properties.insert(moved::SINCE, i64::from(new.version));
        moved::leave(row, old, new, &mut properties)?;
        operations.push(replaced(row, properties));
    }
    for name in followers(new) {
        let mut properties = record("~index@1", now);
        properties.insert("State", IndexState::Readable.word());
        record_for(new, &name, &mut properties);
        let key = index_row(new.entity_type, &name);
        operations.push(match rows.row(&key) {
            Some(row) => replaced(row, properties),
            None => Operation { row: key, action: Action::Insert(properties) },
        });
    }
    let kept: BTreeSet<_> = followers(new).collect();
    let former: BTreeSet<_> = old.lineage().flat_map(followers).filter(|name| !is_move(name)).collect();
    let former = former.difference(&kept).map(|name| index_row(old.entity_type, name));
    operations.extend(former.filter_map(|row| deleted(rows.row(&row)?)));
    Ok(operations)
}

/// Before the switch, all is as it was; after it, another call goes on. A switch that was given up may still come.
async fn give_up(owned: &Owned, moves: &[Move]) -> Result<()> {
    close(owned, moves, false).await?;
    owned.abandon_unless(|rows| moves.iter().any(|of| of.is_switched(rows))).await
}

/// What was under way to shadows is over after this.
async fn pass_fence(owned: &Owned) -> Result<()> {
    if owned.db.is_atomic() {
        return Ok(());
    }
    let mut left = owned.db.0.fence;
    while !left.is_zero() {
        let slice = left.min(SLICE);
        owned.db.environment().others.sleep(slice).await;
        owned.go_on().await?;
        left -= slice;
    }
    Ok(())
}

fn replaced(row: &Row, properties: tablemodel_store::Properties) -> Operation {
    Operation { row: row.key.row.clone(), action: Action::Replace(properties, Condition::Match(row.etag.clone())) }
}

#[expect(clippy::unnecessary_wraps, reason = "for chains of rows that may not be there")]
fn deleted(row: &Row) -> Option<Operation> {
    Some(Operation { row: row.key.row.clone(), action: Action::Delete(Condition::Match(row.etag.clone())) })
}
