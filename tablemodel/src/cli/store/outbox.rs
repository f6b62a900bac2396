//! `poisoned`, `retry-poisoned` and `discard-poisoned`: what could not be delivered to other partitions, and was set aside.

use serde_json::{Value as Json, json};

use super::{Tool, words::Discarded};
use crate::{
    Error, ErrorKind, Poisoned, Result,
    cli::outcome::{DONE, Outcome, SET_ASIDE},
};

pub(super) async fn list(tool: &Tool) -> Result<Outcome> {
    let poisoned = tool.db.relay().poisoned().await?;
    let (code, lines) = match poisoned.is_empty() {
        true => (DONE, vec!["no outbox row is set aside".to_owned()]),
        false => (SET_ASIDE, poisoned.iter().map(line).collect()),
    };
    Ok(Outcome { code, lines, data: json!({ "poisoned": poisoned.iter().map(json).collect::<Vec<_>>() }) })
}

pub(super) async fn retry(tool: &Tool) -> Result<Outcome> {
    let relay = tool.db.relay();
    let poisoned = relay.poisoned().await?;
    for row in &poisoned {
        relay.retry(row).await?;
    }
    let _ = relay.run_once().await?; // of others too, which are not told of here
    let mut failed = 0;
    for row in &poisoned {
        failed += u64::from(relay.is_left(row).await?);
    }
    let retried = poisoned.len();
    let (code, line) = match failed {
        0 => (DONE, format!("{retried} outbox rows tried again, and delivered")),
        failed => {
            let line = format!(
                "{retried} outbox rows tried again; {failed} are not delivered yet, and are tried again by the relay"
            );
            (SET_ASIDE, line)
        }
    };
    Ok(Outcome { code, lines: vec![line], data: json!({ "retried": retried, "failed": failed }) })
}

pub(super) async fn discard(tool: &Tool, words: &Discarded) -> Result<Outcome> {
    let relay = tool.db.relay();
    let found: Vec<_> = relay.poisoned().await?.into_iter().filter(|poisoned| words.is(poisoned)).collect();
    let [poisoned] = found.as_slice() else { return Err(unclear(&words.row, &found)) };
    relay.discard(poisoned).await?;
    let line = "discarded: what it names may be wrong until `verify --repair`, once the fence has passed";
    Ok(Outcome { code: DONE, lines: vec![line.to_owned()], data: json!({ "discarded": json(poisoned) }) })
}

/// That there is no such row, or more than one.
fn unclear(row: &str, found: &[Poisoned]) -> Error {
    if found.is_empty() {
        return Error::new(ErrorKind::NotFound, format!("no outbox row `{row}` is set aside: see `poisoned`"));
    }
    let places = found.iter().map(|of| format!("`--partition {} --table {}`", of.row.partition, of.table));
    let places = places.collect::<Vec<_>>().join(", or ");
    Error::unsupported(format!("several outbox rows `{row}` are set aside: say which is meant, by {places}"))
}

fn line(poisoned: &Poisoned) -> String {
    let Poisoned { table, row, entity, attempts, error } = poisoned;
    format!("{} in {table}, of the entity at {entity}: tried {attempts} times: {error}", row.row)
}

fn json(poisoned: &Poisoned) -> Json {
    let Poisoned { table, row, entity, attempts, error } = poisoned;
    let entity = json!({ "partition": entity.partition, "row": entity.row });
    json!({
        "table": table, "partition": row.partition, "row": row.row, "entity": entity, "attempts": attempts, "error": error,
    })
}
