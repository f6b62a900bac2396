//! `plan` and `status`: what the store lacks, and how far the last migration is. And how steps are told.
//! Nothing is written.

use serde_json::{Value as Json, json};

use super::{Tool, programs, undo};
use crate::{
    Result,
    cli::outcome::{DONE, DRIFTED, Outcome},
    migrations::{AppliedPlan, DroppedIndex, MigrationStatus, Rewrite, Step, Unfinished, Unread},
    schema::is_move,
};

/// What is said of a step that has to wait.
pub(super) const CANNOT: &str =
    "cannot be built: the property counts other sources until `contract` has taken those away";

/// What the store lacks; DRIFTED if that is anything for `apply` and was asked.
pub(super) async fn plan(tool: &Tool, is_asked: bool) -> Result<Outcome> {
    let migrations = tool.migrations();
    migrations.check_plans(&tool.plans).await?;
    let plan = migrations.plan().await?;
    let in_force = migrations.plans().await?;
    let is_applied = |id: &String| in_force.iter().any(|plan| plan.id == *id && plan.finished.is_some());
    let open: Vec<&String> = tool.plans.iter().map(|(id, _)| id).filter(|id| !is_applied(id)).collect();
    let is_begun = matches!(plan.unfinished, Some(Unfinished::Apply(_)));
    let is_refused = !(plan.unsupported.is_empty() && plan.unread.is_empty()); // `apply` says so too
    let is_due = is_begun || is_refused || !(open.is_empty() && plan.steps.is_empty());
    let mut lines: Vec<String> = open.iter().map(|id| format!("plan {id}: not applied")).collect();
    let unfinished = plan.unfinished.as_ref();
    lines.extend(unfinished.map(|of| format!("migration {} is not finished: `{}` goes on", of.migration(), of.call())));
    lines.extend(plan.steps.iter().map(|step| told(step, due(step))));
    let dropped = |index: &DroppedIndex| match is_move(&index.index) {
        true => told(&step_of(index), "complete: `contract` switches to it, and takes the old rows away"),
        false => told(&step_of(index), "dropped: `contract` takes it away"),
    };
    lines.extend(plan.dropped.iter().map(dropped));
    lines.extend(plan.newer.iter().map(|index| told(&step_of(index), "of a newer program: use that one")));
    lines.extend(plan.unsupported.iter().map(|step| told(step, CANNOT)));
    lines.extend(plan.unread.iter().map(unread));
    if lines.is_empty() {
        lines.push("nothing to do".to_owned());
    }
    let programs = migrations.programs().await?;
    lines.extend(programs::lines(&programs));
    let rewrites = plan.rewrites.iter().map(|rewrite| {
        let Rewrite { entity, version, older, known } = rewrite;
        json!({ "entity": entity, "version": version, "older": older, "known": known })
    });
    let data = json!({
        "due": is_due,
        "rewrites": rewrites.collect::<Vec<_>>(),
        "plans": open,
        "unfinished": unfinished.map(Unfinished::migration),
        "goes_on": unfinished.map(Unfinished::call),
        "steps": steps(&plan.steps),
        "dropped": plan.dropped.iter().map(|index| json_of(&step_of(index))).collect::<Vec<_>>(),
        "newer": plan.newer.iter().map(|index| json_of(&step_of(index))).collect::<Vec<_>>(),
        "unsupported": steps(&plan.unsupported),
        "unread": plan.unread.iter().map(unread_json).collect::<Vec<_>>(),
        "programs": programs::json_of(&programs),
    });
    Ok(Outcome { code: if is_due && is_asked { DRIFTED } else { DONE }, lines, data })
}

pub(super) fn unread(Unread { entity, version, reads }: &Unread) -> String {
    format!(
        "{entity}@{version}  unread  rows may be of it, and the program reads none before version {reads}: name the older structs by `previous`"
    )
}

pub(super) fn unread_json(Unread { entity, version, reads }: &Unread) -> Json {
    json!({ "entity": entity, "version": version, "reads": reads })
}

pub(super) async fn status(tool: &Tool) -> Result<Outcome> {
    let migrations = tool.migrations();
    let plans = migrations.plans().await?;
    let mut lines: Vec<String> = plans.iter().map(plan_line).collect();
    let plans: Vec<Json> = plans.iter().map(plan_json).collect();
    let programs = migrations.programs().await?;
    let alive = programs::json_of(&programs);
    let Some(status) = migrations.status().await? else {
        lines.push("no migration was ever applied".to_owned());
        lines.extend(programs::lines(&programs));
        return Ok(Outcome {
            code: DONE,
            lines,
            data: json!({ "migration": null, "plans": plans, "programs": alive }),
        });
    };
    lines.extend(status_lines(&status));
    lines.extend(programs::lines(&programs));
    let data = json!({
        "migration": status.migration,
        "is": word(&status),
        "steps": steps(&status.steps),
        "started": status.started.to_string(),
        "finished": status.finished.map(|at| at.to_string()),
        "entities": status.entities,
        "touched": status.touched,
        "failed": status.failed,
        "ranges": status.ranges.0,
        "ranges_done": status.ranges.1,
        "paused": status.paused,
        "rate": status.rate,
        "plans": plans,
        "programs": alive,
    });
    Ok(Outcome { code: DONE, lines, data })
}

fn word(status: &MigrationStatus) -> &'static str {
    match (status.finished.is_some(), status.undone) {
        (true, true) if status.switch => "switched",
        (false, true) if status.switch => "being switched",
        (true, true) => "taken away",
        (false, true) => "being taken away",
        (true, false) => "finished",
        (false, false) if status.paused => "paused",
        (false, false) => "unfinished",
    }
}

fn status_lines(status: &MigrationStatus) -> Vec<String> {
    let mut lines = vec![format!("migration {}: {}, begun {}", status.migration, word(status), status.started)];
    if let Some(finished) = status.finished {
        lines.push(format!("  finished {finished}"));
    }
    let why = |step: &Step| if status.switch { undo::switched(step) } else { "" };
    lines.extend(status.steps.iter().map(|step| format!("  {}", told(step, why(step)))));
    lines.extend((status.ranges.0 > 0).then(|| format!("  {}", reached(status))));
    if status.failed > 0 {
        lines.push(format!("  {} set aside: see `failures`, then `retry-failures`", status.failed));
    }
    lines.extend(status.rate.map(|rate| format!("  at most {rate} entities a second")));
    lines
}

/// How many entities were written once more: of how many is told while some are left.
fn reached(status: &MigrationStatus) -> String {
    let MigrationStatus { entities, touched, ranges: (ranges, done), .. } = status;
    if done < ranges {
        return format!("{touched} of {entities} entities written once more, {done} of {ranges} ranges done");
    }
    let others = entities.saturating_sub(status.failed).saturating_sub(*touched);
    match others {
        0 => format!("{touched} entities written once more"),
        _ => format!(
            "{touched} entities written once more; of {others} that were counted this was not needed, or not put down before a call died"
        ),
    }
}

fn plan_line(plan: &AppliedPlan) -> String {
    match plan.finished {
        Some(at) => format!("plan {}: applied {at}", plan.id),
        None => format!("plan {}: being applied", plan.id),
    }
}

fn plan_json(plan: &AppliedPlan) -> Json {
    json!({
        "plan": plan.id,
        "fingerprint": plan.fingerprint.to_string(),
        "migration": plan.migration,
        "finished": plan.finished.map(|at| at.to_string()),
    })
}

fn step_of(index: &DroppedIndex) -> Step {
    Step { entity: index.entity.clone(), index: index.index.clone(), state: index.state }
}

fn due(step: &Step) -> &'static str {
    match (step.rewrite(), step.moved()) {
        (Some(_), _) => "rows of older versions: `apply` writes them anew",
        (_, Some(_)) => "other keys: `apply` writes them, `contract` switches to them",
        (None, None) => "to be built by `apply`",
    }
}

/// A step in a line: `Employee.by_email  write-only  why`; of a rewrite `Employee@2  write-only  why`, of a move
/// `Employee -> @3  write-only  why`.
pub(super) fn told(step: &Step, why: &str) -> String {
    let what = match (step.rewrite(), step.moved()) {
        (Some(version), _) => format!("{}@{version}", step.entity),
        (_, Some(version)) => format!("{} -> @{version}", step.entity),
        (None, None) => format!("{}.{}", step.entity, step.index),
    };
    let line = format!("{what}  {}", step.state.word());
    if why.is_empty() { line } else { format!("{line}  {why}") }
}

pub(super) fn steps(steps: &[Step]) -> Vec<Json> {
    steps.iter().map(json_of).collect()
}

fn json_of(step: &Step) -> Json {
    json!({ "entity": step.entity, "index": step.index, "rewrite": step.rewrite(), "moved": step.moved(), "state": step.state.word() })
}

#[cfg(test)]
mod tests {
    use tablemodel_store::DateTime;

    use super::*;

    fn status(entities: u64, touched: u64, failed: u64, ranges: (u64, u64)) -> MigrationStatus {
        MigrationStatus {
            migration: "0001".to_owned(),
            steps: Vec::new(),
            started: DateTime::MIN,
            finished: None,
            undone: false,
            switch: false,
            entities,
            touched,
            failed,
            ranges,
            paused: false,
            rate: None,
        }
    }

    #[test]
    fn how_many_were_written_is_told_as_a_share_only_while_some_are_left() {
        let begun = reached(&status(3202, 1000, 0, (4, 1)));
        assert_eq!(begun, "1000 of 3202 entities written once more, 1 of 4 ranges done");
        assert_eq!(reached(&status(3202, 3202, 0, (4, 4))), "3202 entities written once more");
        assert_eq!(reached(&status(3202, 3201, 1, (4, 4))), "3201 entities written once more");
        let killed = reached(&status(3202, 1501, 0, (4, 4)));
        assert!(killed.starts_with("1501 entities written once more; of 1701 that were counted"), "{killed}");
    }
}
