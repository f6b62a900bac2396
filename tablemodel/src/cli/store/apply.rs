//! `apply`: brings the store to what the program says, and tells how far it is.

use std::time::Duration;

use serde_json::json;

use super::{
    Tool,
    progress::{Line, duration, text},
    report::{self, CANNOT, steps, told},
    verify,
    words::Apply,
};
use crate::{
    Result,
    cli::outcome::{DONE, DRIFTED, Outcome, SET_ASIDE, WAITING},
    migrations::{self, Applied, DryRun, MigrationPlan, Step, Unread},
};

pub(super) async fn run(tool: &Tool, wanted: &Apply) -> Result<Outcome> {
    if let Some(refused) = refused(tool).await? {
        return Ok(refused);
    }
    let migrations = tool.migrations();
    tool.db.ensure_known().await?;
    migrations.begin_plans(&tool.plans).await?;
    let mut line = Line::new();
    let applied = asked(migrations.apply(), wanted).progress(|progress| line.tell(|| text(progress))).await;
    line.end();
    let applied = applied?;
    let code = code(&applied);
    if code != DONE {
        return Ok(outcome(&applied, code));
    }
    let MigrationPlan { unsupported, .. } = migrations.plan().await?;
    if !unsupported.is_empty() {
        return Ok(incomplete(&applied, &unsupported));
    }
    migrations.finish_plans(&tool.plans, applied.migration.as_deref()).await?;
    Ok(outcome(&applied, code))
}

/// Why nothing may be done, with a dry run as without; the library's own reasons are errors.
async fn refused(tool: &Tool) -> Result<Option<Outcome>> {
    let migrations = tool.migrations();
    migrations.check_plans(&tool.plans).await?;
    migrations.check_open().await?;
    let unread = migrations.plan().await?.unread;
    Ok((!unread.is_empty()).then(|| unreadable(&unread)))
}

/// Nothing is done: what is left of a plan is to write rows that the program cannot read.
fn unreadable(unread: &[Unread]) -> Outcome {
    let lines: Vec<String> = unread.iter().map(report::unread).collect();
    let data =
        json!({ "error": lines.join("; "), "unread": unread.iter().map(report::unread_json).collect::<Vec<_>>() });
    Outcome { code: DRIFTED, lines, data }
}

/// The plans are not applied: the store has something of others in the place of what they make.
fn incomplete(applied: &Applied, unsupported: &[Step]) -> Outcome {
    let mut outcome = outcome(applied, DRIFTED);
    if applied.migration.is_none() {
        outcome.lines.clear(); // there is something to do
    }
    tell_unsupported(&mut outcome, unsupported);
    outcome
}

fn tell_unsupported(outcome: &mut Outcome, unsupported: &[Step]) {
    outcome.lines.extend(unsupported.iter().map(|step| told(step, CANNOT)));
    if let Some(data) = outcome.data.as_object_mut() {
        data.insert("error".to_owned(), json!("there are indexes that cannot be built"));
        data.insert("unsupported".to_owned(), json!(steps(unsupported)));
    }
}

fn asked<'a>(mut apply: migrations::Apply<'a>, wanted: &Apply) -> migrations::Apply<'a> {
    if let Some(rate) = wanted.rate {
        apply = apply.rate(rate);
    }
    if let Some(workers) = wanted.workers {
        apply = apply.workers(workers);
    }
    if let Some(entities) = wanted.batch {
        apply = apply.batch(entities);
    }
    if let Some(failures) = wanted.max_failures {
        apply = apply.max_failures(failures);
    }
    match wanted.wait {
        Some(seconds) => apply.wait(Duration::from_secs(seconds)),
        None => apply,
    }
}

fn code(applied: &Applied) -> u8 {
    match applied {
        Applied { paused: true, .. } => WAITING,
        Applied { failed: 1.., .. } => SET_ASIDE,
        applied if !applied.violations.is_empty() => DRIFTED,
        applied if applied.is_complete() => DONE,
        _ => WAITING,
    }
}

fn outcome(applied: &Applied, code: u8) -> Outcome {
    let mut lines = Vec::new();
    match &applied.migration {
        Some(id) => lines.push(format!("migration {id}: {} entities written once more", applied.touched)),
        None => lines.push("nothing to do".to_owned()),
    }
    lines.extend(applied.steps.iter().map(|step| format!("  {}", told(step, ""))));
    if applied.scrubbed > 0 {
        lines.push(format!("  {} rows put right before the end", applied.scrubbed));
    }
    if applied.paused {
        lines.push("it is paused: `resume`, then `apply`".to_owned());
    }
    if applied.left > 0 && applied.failed > 0 && !applied.paused {
        lines.push(format!("it stopped at its limit of failures: {} entities were not reached", applied.left));
    }
    if applied.failed > 0 {
        let failed = applied.failed;
        lines.push(format!("{failed} entities are set aside: see `failures`; then `retry-failures`, and `apply`"));
    }
    lines.extend(verify::told(&applied.violations));
    let data = json!({
        "migration": applied.migration,
        "steps": steps(&applied.steps),
        "touched": applied.touched,
        "failed": applied.failed,
        "left": applied.left,
        "scrubbed": applied.scrubbed,
        "paused": applied.paused,
        "violations": verify::violations(&applied.violations),
    });
    Outcome { code, lines, data }
}

pub(super) async fn dry_run(tool: &Tool, wanted: &Apply) -> Result<Outcome> {
    if let Some(refused) = refused(tool).await? {
        return Ok(refused);
    }
    let dry = asked(tool.migrations().apply(), wanted).dry_run(wanted.sample).await?;
    let MigrationPlan { unsupported, .. } = tool.migrations().plan().await?;
    let code = match dry.failed {
        0 if unsupported.is_empty() => DONE,
        0 => DRIFTED,
        _ => SET_ASIDE,
    };
    let lines = dry_lines(&dry);
    let data = json!({
        "steps": steps(&dry.steps),
        "entities": dry.entities,
        "read": dry.read,
        "rows": dry.rows,
        "requests": dry.requests,
        "failed": dry.failed,
        "failures": super::control::failures_json(&dry.failures),
        "seconds": dry.time.map(|time| time.as_secs_f64()),
    });
    let mut outcome = Outcome { code, lines, data };
    if code == DRIFTED {
        tell_unsupported(&mut outcome, &unsupported);
    }
    Ok(outcome)
}

fn dry_lines(dry: &DryRun) -> Vec<String> {
    let mut lines: Vec<String> = dry.steps.iter().map(|step| told(step, "")).collect();
    let DryRun { entities, read, rows, requests, failed, .. } = dry;
    lines.push(format!(
        "{entities} entities, of which {read} were read; {rows} derived rows to write, in {requests} requests"
    ));
    lines.extend(dry.time.map(|time| format!("{} at this rate", duration(time))));
    if *failed > 0 {
        lines.push(format!("{failed} would be set aside:"));
        lines.extend(dry.failures.iter().map(super::control::failure_line));
    }
    lines
}
