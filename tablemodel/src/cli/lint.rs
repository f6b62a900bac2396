//! `lint`: what changed since a commit, and whether old and new programs can run together.

use std::process::Command;

use serde_json::json;

use super::{
    args::{Level, Lint},
    outcome::{DONE, DRIFTED, Failure, Outcome},
    project::Project,
    renames,
};
use crate::format::{Change, Lock, Renames, diff};

pub(super) fn run(project: &Project, arguments: &Lint) -> Result<Outcome, Failure> {
    let old = lock_at(project, &arguments.against)?;
    let (mut lines, mut data, mut broken) = (Vec::new(), Vec::new(), 0);
    for entity in &project.entities {
        let name = &entity.format.entity_type;
        let Some(section) = old.newest(name) else { continue };
        let renames = Renames { properties: renames::shown(entity, &section.format), ..Renames::default() };
        for change in diff(&section.format, &entity.format, &renames)? {
            let is_broken = breaks(&change, arguments.level);
            broken += usize::from(is_broken);
            let mark = if is_broken { "error" } else { "ok   " };
            lines.push(format!("{mark} {name}: {} {} {change}", change.code(), change.class()));
            data.push(json!({
                "entity": name, "code": change.code().to_string(), "class": change.class().word(),
                "change": change.to_string(), "broken": is_broken,
            }));
        }
    }
    lines.push(format!("{broken} of {} changes since {} break the level", data.len(), arguments.against));
    let code = if broken > 0 { DRIFTED } else { DONE };
    Ok(Outcome { code, lines, data: json!({ "changes": data }) })
}

fn breaks(change: &Change, level: Level) -> bool {
    match level {
        Level::Backward => !change.is_backward(),
        Level::Forward => !change.is_forward(),
        Level::Full => !change.is_backward() || !change.is_forward(),
    }
}

/// The lock of a commit.
fn lock_at(project: &Project, revision: &str) -> Result<Lock, Failure> {
    if revision.starts_with('-') {
        return Err(Failure(format!("`{revision}` is no revision")));
    }
    let spec = format!("{revision}:./tablemodel.lock");
    let output = Command::new("git").arg("-C").arg(&project.folder).args(["show", &spec]).output();
    let output = output.map_err(|error| Failure(format!("cannot run git: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure(format!("git has no tablemodel.lock at `{revision}`: {}", said.trim())));
    }
    Ok(Lock::parse(&String::from_utf8_lossy(&output.stdout))?)
}
