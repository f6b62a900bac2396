//! `lint`: what changed since a commit, and whether old and new programs can run together.

use std::process::{Command, Output};

use serde_json::json;

use super::{
    args::{Level, Lint},
    check::removed,
    diff::retired,
    outcome::{DONE, DRIFTED, Failure, Outcome},
    plan::{self, Step, Written},
    project::{Current, Project},
    renames,
};
use crate::format::{Change, Lock, Renames, diff};

pub(super) fn run(project: &Project, arguments: &Lint) -> Result<Outcome, Failure> {
    let Some(old) = lock_at(project, &arguments.against)? else {
        let lines = vec![format!("there was no tablemodel.lock at {}: all is new", arguments.against)];
        return Ok(Outcome { code: DONE, lines, data: json!({ "changes": [] }) });
    };
    let plans = plan::after(project, old.plan.as_ref().map(|plan| plan.id.as_str()))?;
    let mut found = Vec::new();
    for entity in &project.entities {
        found.extend(changed(entity, &old, &plans, arguments.level)?);
    }
    // An entity that one of them does not know goes with neither.
    found.extend(removed(project, &old).map(|name| (Step::removal(&old, name), true)));
    let broken = found.iter().filter(|(_, is_broken)| *is_broken).count();
    let mut lines: Vec<_> = found.iter().map(line).collect();
    lines.push(format!("{broken} of {} changes since {} break the level", found.len(), arguments.against));
    let code = if broken > 0 { DRIFTED } else { DONE };
    Ok(Outcome { code, lines, data: json!({ "changes": found.iter().map(data).collect::<Vec<_>>() }) })
}

/// What changed about an entity, and whether each change breaks the level; nothing of one that is new.
fn changed(entity: &Current, old: &Lock, plans: &[Written], level: Level) -> Result<Vec<(Step, bool)>, Failure> {
    let name = &entity.format.entity_type;
    let Some(section) = old.newest(name) else { return Ok(Vec::new()) };
    let properties = renames::shown(entity, &section.format, plans);
    let renames = Renames { properties, retired: retired(old, &section.format) };
    let changes = with_version(diff(&section.format, &entity.format, &renames)?, section.format.version);
    let step = |change: &Change| {
        let mut step = Step::of(name, change);
        let is_unread = is_unread(change, entity.readable_by);
        if let Change::VersionChanged { from, .. } = change
            && is_unread
        {
            step.change.push_str(&format!(", which programs of version {from} do not read: see `readable_by`"));
        }
        (step, breaks(change, is_unread, level))
    };
    Ok(changes.iter().map(step).collect())
}

/// With the version that `diff` is yet to ask for: the next one.
fn with_version(mut changes: Vec<Change>, from: u32) -> Vec<Change> {
    let is_raised = changes.iter().any(|change| matches!(change, Change::VersionChanged { .. }));
    if !is_raised && changes.iter().any(Change::needs_version) {
        changes.insert(0, Change::VersionChanged { from, to: from.saturating_add(1) });
    }
    changes
}

/// Whether old programs answer `UnknownVersion` for rows of the new version.
fn is_unread(change: &Change, readable_by: Option<u32>) -> bool {
    matches!(change, Change::VersionChanged { from, .. } if readable_by.is_none_or(|oldest| oldest > *from))
}

fn line((Step { entity, code, class, change, .. }, is_broken): &(Step, bool)) -> String {
    let mark = if *is_broken { "error" } else { "ok   " };
    format!("{mark} {entity}: {code} {class} {change}")
}

fn data((Step { entity, code, class, change, .. }, is_broken): &(Step, bool)) -> serde_json::Value {
    json!({ "entity": entity, "code": code, "class": class.word(), "change": change, "broken": is_broken })
}

fn breaks(change: &Change, is_unread: bool, level: Level) -> bool {
    let is_forward = change.is_forward() && !is_unread;
    match level {
        Level::Backward => !change.is_backward(),
        Level::Forward => !is_forward,
        Level::Full => !change.is_backward() || !is_forward,
    }
}

/// The lock of a commit; none if it had none.
fn lock_at(project: &Project, revision: &str) -> Result<Option<Lock>, Failure> {
    if revision.starts_with('-') {
        return Err(Failure(format!("`{revision}` is no revision")));
    }
    let shown = git(project, &["show", &format!("{revision}:./tablemodel.lock")])?;
    if shown.status.success() {
        return Ok(Some(Lock::parse(&String::from_utf8_lossy(&shown.stdout))?));
    }
    let listed = git(project, &["ls-tree", "--name-only", revision, "./tablemodel.lock"])?;
    if listed.status.success() && listed.stdout.is_empty() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&shown.stderr);
    Err(Failure(format!("git has no tablemodel.lock at `{revision}`: {}", said.trim())))
}

fn git(project: &Project, words: &[&str]) -> Result<Output, Failure> {
    let output = Command::new("git").arg("-C").arg(&project.folder).args(words).output();
    output.map_err(|error| Failure(format!("cannot run git: {error}")))
}
