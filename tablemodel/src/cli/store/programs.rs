//! The programs that are alive, as `plan` and `status` tell them: what each knows, and whether a migration waits for it.
//! Nothing is written.

use serde_json::{Value as Json, json};

use super::report::{steps, told};
use crate::migrations::{Program, Step};

/// A line each; none where one program owns the store.
pub(super) fn lines(programs: &[Program]) -> Vec<String> {
    programs.iter().map(line).collect()
}

/// `program shop:4711 (3f2a..): Person@2; seen 2026-11-21T20:16:22Z; waited for: it does not have Person.by_city`
fn line(program: &Program) -> String {
    let Program { id, name, seen, versions, .. } = program;
    let short: String = id.chars().take(8).collect();
    let called = name.as_ref().map_or_else(|| short.clone(), |name| format!("{name} ({short})"));
    let mut knows: Vec<String> = versions.iter().map(|(entity, version)| format!("{entity}@{version}")).collect();
    knows.push(format!("epoch {}", program.epoch));
    format!("program {called}: knows {}; seen {seen}{}", knows.join(", "), waits(program))
}

/// Why it is waited for.
fn waits(program: &Program) -> String {
    if !program.is_waited_for() {
        return String::new();
    }
    match (program.lacks.as_slice(), program.keeps.as_slice()) {
        ([], []) => "; waited for: it has not learnt of the newest states yet".to_owned(),
        ([], keeps) => format!("; waited for: it still has {}: end it", names(keeps)),
        (lacks, _) => format!("; waited for: it does not have {}: end it", names(lacks)),
    }
}

fn names(steps: &[Step]) -> String {
    let told: Vec<String> = steps.iter().map(|step| told(step, "")).collect();
    let names: Vec<&str> = told.iter().map(|told| told.split("  ").next().unwrap_or(told)).collect();
    names.join(", ")
}

pub(super) fn json_of(programs: &[Program]) -> Json {
    let one = |program: &Program| {
        let Program { id, name, seen, epoch, is_current, versions, lacks, keeps } = program;
        let versions = versions.iter().map(|(entity, version)| json!({ "entity": entity, "version": version }));
        json!({
            "id": id,
            "name": name,
            "seen": seen.to_string(),
            "epoch": epoch,
            "current": is_current,
            "versions": versions.collect::<Vec<_>>(),
            "lacks": steps(lacks),
            "keeps": steps(keeps),
            "waited_for": program.is_waited_for(),
        })
    };
    programs.iter().map(one).collect()
}
