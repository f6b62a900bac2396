//! `rollback` and `contract`: what was built, or is not wanted any more, is taken away.

use serde_json::json;

use super::{
    Tool,
    report::{steps, told},
};
use crate::{
    IndexState, Result,
    cli::outcome::{DONE, Outcome},
    migrations::{Contracted, Step},
};

pub(super) async fn rollback(tool: &Tool) -> Result<Outcome> {
    tool.migrations().check_plans(&tool.plans).await?;
    Ok(outcome(&tool.migrations().rollback().await?, kept))
}

pub(super) async fn contract(tool: &Tool) -> Result<Outcome> {
    tool.migrations().check_plans(&tool.plans).await?;
    Ok(outcome(&tool.migrations().contract().await?, switched))
}

/// What is said of a step that was taken back, where rows stay as it made them.
fn kept(step: &Step) -> &'static str {
    let is_rewrite = step.rewrite().is_some();
    if is_rewrite { "taken back: rows that were written as this version stay so" } else { "" }
}

/// What is said of a step of `contract` once it is a move that is over.
pub(super) fn switched(step: &Step) -> &'static str {
    let is_over = step.moved().is_some() && step.state == IndexState::Absent;
    if is_over { "switched: the new form is the one that is written" } else { "" }
}

fn outcome(contracted: &Contracted, why: impl Fn(&Step) -> &'static str) -> Outcome {
    let mut lines = vec![match &contracted.migration {
        Some(id) => format!("migration {id}: {} rows deleted", contracted.rows),
        None => "nothing to take away".to_owned(),
    }];
    lines.extend(contracted.steps.iter().map(|step| format!("  {}", told(step, why(step)))));
    let data = json!({ "migration": contracted.migration, "steps": steps(&contracted.steps), "rows": contracted.rows });
    Outcome { code: DONE, lines, data }
}
