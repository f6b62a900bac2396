//! What the rows of states come to say: the state, for which version the index is recorded, and where its rows stand.
//!
//! Pure: when they are written is told in `states`.

use tablemodel_store::{Action, Condition, Operation};

use super::{record::Record, rows::Rows};
use crate::{
    database::{
        Database,
        registry::{self, index_row},
        rewrites,
    },
    error::{Error, Result},
    plan::states::IndexState,
    schema::{EntitySchema, is_move},
};

/// The rows of states that move on. One that begins to be written is recorded as this program writes it: another may have recorded it, and
/// taken it away, with rows in another table.
pub(super) fn operations(db: &Database, rows: &Rows, moves: &[(String, String, IndexState)]) -> Result<Vec<Operation>> {
    let operation = |(entity, index, state): &(String, String, IndexState)| {
        let row = index_row(entity, index);
        let Some(there) = rows.0.get(&row) else {
            let detail = format!("index `{index}` is not recorded; call `db.ensure_tables()`");
            return Err(Error::unsupported(detail));
        };
        let mut properties = there.properties.clone();
        properties.insert("State", state.word());
        let schema = db.entity_of(entity);
        let begins = rows.state(entity, index)? == IndexState::Absent;
        if let Some(schema) = schema.filter(|schema| begins && schema.derived_position(index).is_some()) {
            registry::record_for(schema, index, &mut properties);
        }
        Ok(Operation { row, action: Action::Replace(properties, Condition::Match(there.etag.clone())) })
    };
    moves.iter().map(operation).collect()
}

/// Lets what follows entities that were rewritten be recorded as this program's version has it: as another had it, no row is left.
pub(super) fn record_rewritten(db: &Database, rows: &Rows, record: &Record, operations: &mut Vec<Operation>) {
    let is_rewritten = |schema: &EntitySchema| {
        let name = rewrites::recorded(schema);
        let mut steps = record.steps.iter();
        name.is_some_and(|name| steps.any(|(entity, step)| entity == schema.entity_type && *step == name))
    };
    for schema in db.model().iter().copied().filter(|schema| is_rewritten(schema)) {
        // What is recorded of a move is told of the form that began to be built.
        for name in registry::followers(schema).filter(|name| !is_move(name)) {
            record_anew(schema, &name, rows, operations);
        }
    }
}

/// Records one of these, with what becomes of its state, if anything does.
fn record_anew(schema: &'static EntitySchema, name: &str, rows: &Rows, operations: &mut Vec<Operation>) {
    let row = index_row(schema.entity_type, name);
    if let Some(operation) = operations.iter_mut().find(|operation| operation.row == row) {
        if let Action::Replace(properties, _) = &mut operation.action {
            registry::record_for(schema, name, properties);
        }
        return;
    }
    let Some(there) = rows.row(&row) else { return };
    let mut properties = there.properties.clone();
    registry::record_for(schema, name, &mut properties);
    if properties != there.properties {
        let action = Action::Replace(properties, Condition::Match(there.etag.clone()));
        operations.push(Operation { row, action });
    }
}
