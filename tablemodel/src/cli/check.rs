//! `check`: whether the lock says what the program stores, the plans are as they were written, and golden rows are read.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    coming,
    diff::retired,
    golden,
    outcome::{DONE, DRIFTED, Failure, Outcome},
    plan,
    project::{Current, Project},
    renames,
};
use crate::{
    cli::Model,
    format::{Change, Lock, Renames, diff},
    testing::Golden,
};

pub(super) fn run(project: &Project, models: &[Model]) -> Result<Outcome, Failure> {
    if !project.has_lock() {
        let line = "there is no tablemodel.lock: run `cargo tablemodel init`".to_owned();
        return Ok(drifted(vec![line]));
    }
    let plans = match compare(project)? {
        Ok(plans) => plans,
        Err(found) => return Ok(drifted(found)),
    };
    let golden = match golden::check(project, models)? {
        Ok(golden) => golden,
        Err(found) => return Ok(drifted(found)),
    };
    let line = format!("ok: the lock has what the program stores ({} entities, {plans} plans)", project.entities.len());
    let data = json!({
        "drift": [],
        "golden": golden.read,
        "unchecked": golden.unchecked,
        "passed_over": golden.passed_over,
    });
    Ok(Outcome { code: DONE, lines: vec![line + &told(&golden)], data })
}

/// `; golden rows read: 7 of Employee@1`, and those that are not.
fn told(golden: &Golden) -> String {
    let of = |(what, versions): (&str, &BTreeMap<String, usize>)| {
        let rows: Vec<_> = versions.iter().map(|(version, rows)| format!("{rows} of {version}")).collect();
        if rows.is_empty() { String::new() } else { format!("; golden rows {what}: {}", rows.join(", ")) }
    };
    let unchecked = "not checked, since their upgrade asks for the content of a blob that they link";
    let passed_over = "of versions that the program does not name any more";
    [("read", &golden.read), (unchecked, &golden.unchecked), (passed_over, &golden.passed_over)].map(of).concat()
}

/// How many plans there are, if the lock, the program and the plans agree; or else what is between them.
pub(super) fn compare(project: &Project) -> Result<Result<usize, Vec<String>>, Failure> {
    let lock = project.lock()?;
    let mut found: Vec<String> = project.entities.iter().flat_map(|entity| drift(entity, &lock)).collect();
    found.extend(coming::changes(project, &lock)?.into_iter().map(|(name, what)| format!("{name}: {what}")));
    for name in removed(project, &lock) {
        found.push(format!("{name}: it is in the lock, and the model does not list it"));
    }
    match plan::chain(project, &lock)? {
        Err(broken) => found.push(broken),
        Ok(chain) if found.is_empty() => return Ok(Ok(chain.length)),
        Ok(_) => found.push("run `cargo tablemodel diff`".to_owned()),
    }
    Ok(Err(found))
}

fn drifted(found: Vec<String>) -> Outcome {
    let data = json!({ "drift": found });
    Outcome { code: DRIFTED, lines: found, data }
}

/// Entities of the program's crates that the lock has and the model has not. One of any crate (`*`) may be another program's, which
/// shares the lock.
pub(super) fn removed<'a>(project: &'a Project, lock: &'a Lock) -> impl Iterator<Item = &'a str> {
    let is_own = |name: &str| {
        let of = lock.newest(name).map(|section| section.crate_name.as_str());
        project.entities.iter().any(|entity| Some(entity.crate_name.as_str()) == of)
    };
    let is_listed = |name: &str| project.entities.iter().any(|entity| entity.format.entity_type == name);
    lock.entities().filter(move |name| is_own(name) && !is_listed(name))
}

/// What is between an entity and the lock, a line each.
fn drift(entity: &Current, lock: &Lock) -> Vec<String> {
    let format = &entity.format;
    let name = &format.entity_type;
    let Some(section) = lock.newest(name) else { return vec![format!("{name}: it is not in the lock")] };
    if section.crate_name != "*" && section.crate_name != entity.crate_name {
        let (was, is) = (&section.crate_name, &entity.crate_name);
        return vec![format!("{name}: the lock looks for it in crate `{was}`, and it is in `{is}`")];
    }
    let properties = match renames::written(entity, lock) {
        Ok(renames) => renames,
        Err(Failure(fault)) => return vec![format!("{name}: {fault}")],
    };
    let renames = Renames { properties, retired: retired(lock, &section.format) };
    let changes = match diff(&section.format, format, &renames) {
        Ok(changes) => changes,
        Err(wrong) => return vec![format!("{name}: {wrong}")],
    };
    let line = |change: &Change| format!("{name}: {} {} {change}", change.code(), change.class());
    changes.iter().map(line).collect()
}
