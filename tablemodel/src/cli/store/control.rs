//! `pause`, `resume`, `set`, `failures` and `retry-failures`: a migration under way, from outside.

use serde_json::{Value as Json, json};

use super::{Tool, words::Set};
use crate::{
    Result,
    cli::outcome::{DONE, Outcome, SET_ASIDE},
    migrations::Failure,
};

fn done(line: &str, data: Json) -> Outcome {
    Outcome { code: DONE, lines: vec![line.to_owned()], data }
}

pub(super) async fn pause(tool: &Tool) -> Result<Outcome> {
    tool.migrations().pause().await?;
    Ok(done("paused: whoever applies it stops after the batch at hand", json!({ "paused": true })))
}

pub(super) async fn resume(tool: &Tool) -> Result<Outcome> {
    tool.migrations().resume().await?;
    Ok(done("not paused any more: `apply` goes on", json!({ "paused": false })))
}

pub(super) async fn set(tool: &Tool, set: &Set) -> Result<Outcome> {
    let rate = set.rate.0;
    tool.migrations().set_rate(rate).await?;
    let line = rate.map_or_else(|| "no limit".to_owned(), |rate| format!("at most {rate} entities a second"));
    Ok(done(&line, json!({ "rate": rate })))
}

pub(super) async fn failures(tool: &Tool) -> Result<Outcome> {
    let failures = tool.migrations().failures().await?;
    let code = if failures.is_empty() { DONE } else { SET_ASIDE };
    let lines = match failures.is_empty() {
        true => vec!["no entity is set aside".to_owned()],
        false => failures.iter().map(failure_line).collect(),
    };
    Ok(Outcome { code, lines, data: json!({ "failures": failures_json(&failures) }) })
}

pub(super) async fn retry(tool: &Tool) -> Result<Outcome> {
    let migrations = tool.migrations();
    migrations.check_plans(&tool.plans).await?;
    let is_any = !migrations.failures().await?.is_empty();
    let left = migrations.retry_failures().await?;
    let (code, line) = match left {
        0 if !is_any => (DONE, "no entity is set aside".to_owned()),
        0 => (DONE, "no entity is set aside any more: `apply` goes on".to_owned()),
        left => (SET_ASIDE, format!("{left} entities are still set aside: see `failures`")),
    };
    Ok(Outcome { code, lines: vec![line], data: json!({ "left": left }) })
}

pub(super) fn failure_line(failure: &Failure) -> String {
    format!("{}: {}", failure.key, failure.error) // which names the entity
}

pub(super) fn failures_json(failures: &[Failure]) -> Vec<Json> {
    let json = |failure: &Failure| {
        let Failure { entity, key, error } = failure;
        json!({ "entity": entity, "partition": key.partition, "row": key.row, "error": error })
    };
    failures.iter().map(json).collect()
}
