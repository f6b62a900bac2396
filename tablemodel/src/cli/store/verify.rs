//! `verify`, and with `--repair` the mending: whether each row is as the program says.

use serde_json::{Value as Json, json};

use super::{Tool, progress::Line};
use crate::{
    Result, Verified, Violation,
    cli::outcome::{DONE, DRIFTED, Outcome, WAITING, with},
};

/// Violations that are told in full; JSON has all.
const TOLD: usize = 100;

pub(super) async fn run(tool: &Tool) -> Result<Outcome> {
    let mut line = Line::new();
    let verified = tool.db.verify().progress(|so_far| line.tell(|| progress(so_far))).await;
    line.end();
    let verified = verified?;
    let mut lines = vec![counts(&verified)];
    lines.extend(told(&verified.violations));
    let code = code(verified.is_clean(), &verified);
    Ok(Outcome { code, lines, data: json_of(&verified) })
}

pub(super) async fn repair(tool: &Tool) -> Result<Outcome> {
    let mut line = Line::new();
    let repaired = tool.db.repair().progress(|so_far| line.tell(|| progress(so_far))).await;
    line.end();
    let repaired = repaired?;
    let found = repaired.found.violations.len();
    let mut lines = vec![counts(&repaired.found)];
    lines.push(format!("{found} rows not as they should be: {} put right", repaired.repaired));
    lines.extend(repaired.left.iter().take(TOLD).map(|(violation, why)| format!("left: {violation} ({why})")));
    lines.extend(more(repaired.left.len()));
    let left = repaired.left.iter().map(|(violation, why)| with(violation_json(violation), "why", json!(why)));
    let data = with(json_of(&repaired.found), "left", left.collect());
    let data = with(data, "repaired", json!(repaired.repaired));
    let code = code(repaired.left.is_empty(), &repaired.found);
    Ok(Outcome { code, lines, data })
}

/// What is written all the while may be told by the same command later.
fn code(is_clean: bool, verified: &Verified) -> u8 {
    match (is_clean, verified.unsettled) {
        (false, _) => DRIFTED,
        (true, 0) => DONE,
        (true, _) => WAITING,
    }
}

fn progress(so_far: &Verified) -> String {
    format!("{} rows, {} violations", so_far.rows, so_far.violations.len())
}

fn counts(verified: &Verified) -> String {
    let Verified { rows, entities, derived, tombstones, pending, foreign, unsettled, violations, .. } = verified;
    let busy = match unsettled {
        0 => String::new(),
        _ => format!(", {unsettled} partitions written too often to tell"),
    };
    format!(
        "{rows} rows: {entities} entities, {derived} derived, {tombstones} tombstones, {pending} pending, {foreign} foreign; \
         {} violations{busy}",
        violations.len()
    )
}

fn more(count: usize) -> Option<String> {
    (count > TOLD).then(|| format!("and {} more: `--json` has all", count - TOLD))
}

/// A line for each violation, up to a number.
pub(super) fn told(violations: &[Violation]) -> Vec<String> {
    let lines = violations.iter().take(TOLD).map(ToString::to_string);
    lines.chain(more(violations.len())).collect()
}

pub(super) fn violations(violations: &[Violation]) -> Vec<Json> {
    violations.iter().map(violation_json).collect()
}

fn violation_json(violation: &Violation) -> Json {
    let Violation { table, key, kind, detail, .. } = violation;
    let kind = format!("{kind:?}");
    json!({ "table": table, "partition": key.partition, "row": key.row, "kind": kind, "detail": detail })
}

/// The object with one more member.
fn json_of(verified: &Verified) -> Json {
    json!({
        "rows": verified.rows,
        "entities": verified.entities,
        "derived": verified.derived,
        "tombstones": verified.tombstones,
        "pending": verified.pending,
        "foreign": verified.foreign,
        "unsettled": verified.unsettled,
        "violations": violations(&verified.violations),
    })
}
