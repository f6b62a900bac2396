//! The files that a change leaves: the plan, frozen structs with their upgrades, and last the lock.

use std::path::PathBuf;

use super::{
    super::{
        files::{self, Together},
        outcome::Failure,
        plan::{Plan, Step},
        project::Project,
    },
    Evolution,
    structs::freeze,
};
use crate::format::{Fingerprint, Format, Lock, LockedPlan, Section};

/// The plan that is written.
pub(super) struct Next<'a> {
    pub(super) id: String,
    pub(super) parent: String,
    /// Whether a plan of this name was there, which is made anew.
    pub(super) amends: bool,
    /// Codes that are allowed, and why.
    pub(super) allowed: &'a [(String, String)],
}

/// Writes all of it; tells what was written, and what is to be done next.
pub(super) fn write(
    project: &Project,
    mut lock: Lock,
    next: &Next<'_>,
    evolutions: &[Evolution<'_>],
    steps: &[Step],
) -> Result<Vec<String>, Failure> {
    let mut told = Told::default();
    for evolution in evolutions.iter().filter(|evolution| evolution.is_versioned()) {
        freeze(project, &lock, evolution, &mut told)?;
    }
    write_modules(project, evolutions, &mut told)?;
    if next.amends || steps.iter().any(|step| step.needs_plan) {
        let plan = plan(next, evolutions, steps);
        let text = plan.text();
        lock.plan = Some(LockedPlan { id: plan.id.clone(), fingerprint: Fingerprint::of_text(&text) });
        told.write(project.migrations().join(format!("{}.toml", plan.id)), text);
    }
    for evolution in evolutions {
        record(&mut lock, evolution);
        let Evolution { entity, new, .. } = evolution;
        if entity.format.version < new.version {
            told.next.insert(0, format!("next: write `version = {}` on `{}`", new.version, entity.path));
        }
    }
    for entity in &project.entities {
        lock.set_coming(&entity.format.entity_type, entity.coming.clone());
    }
    told.write_last(project.lock_path(), lock.to_string());
    told.files.put()?;
    told.lines.extend(told.next);
    Ok(told.lines)
}

/// The new version in the lock; of an entity that is new there also the older ones that the program reads.
fn record(lock: &mut Lock, Evolution { entity, old, new, .. }: &Evolution<'_>) {
    if old.is_none() {
        entity.earlier.iter().for_each(|earlier| lock.set(earlier.section()));
    }
    let of_any = lock.newest(&new.entity_type).is_some_and(|section| section.crate_name == "*");
    let crate_name = if of_any { "*" } else { &entity.crate_name };
    lock.set(Section { format: new.clone(), crate_name: crate_name.to_owned() });
    lock.move_to(&new.entity_type, crate_name);
}

/// What is to be written, and what is said of it.
#[derive(Default)]
pub(super) struct Told {
    pub(super) files: Together,
    pub(super) lines: Vec<String>,
    pub(super) next: Vec<String>,
}

impl Told {
    pub(super) fn write(&mut self, path: PathBuf, text: String) {
        self.lines.push(format!("wrote {}", files::shown(&path)));
        self.files.write(path, text);
    }

    /// One that stands for what the other files make of it.
    pub(super) fn write_last(&mut self, path: PathBuf, text: String) {
        self.lines.push(format!("wrote {}", files::shown(&path)));
        self.files.write_last(path, text);
    }
}

fn plan(next: &Next<'_>, evolutions: &[Evolution<'_>], steps: &[Step]) -> Plan {
    let name = |format: &Format| format!("{} {}", format.discriminator(), format.fingerprint());
    let entity = |evolution: &Evolution<'_>| (evolution.old.as_ref().map(name), name(&evolution.new));
    let is_used = |(code, _): &&(String, String)| steps.iter().any(|step| step.code == *code);
    Plan {
        id: next.id.clone(),
        parent: next.parent.clone(),
        entities: evolutions.iter().map(entity).collect(),
        steps: steps.to_vec(),
        allowed: next.allowed.iter().filter(is_used).cloned().collect(),
    }
}

/// The first line of the list of upgrades that the user ends.
const UPGRADES: &str = "//! Upgrades whose values are computed. This list is written by `cargo tablemodel diff`.";

/// The lists of frozen structs and of upgrades.
fn write_modules(project: &Project, evolutions: &[Evolution<'_>], told: &mut Told) -> Result<(), Failure> {
    if !evolutions.iter().any(Evolution::is_versioned) {
        return Ok(());
    }
    let head = "//! Old versions of entities. Written by `cargo tablemodel diff`.";
    told.files.write_modules(&project.frozen(), head, |name| {
        let uses = if name.ends_with("_upgrade") { String::new() } else { format!("\npub use self::{name}::*;") };
        format!("mod {name};{uses}")
    })?;
    let has_begun = told.files.writes_in(&project.upgrades()) || project.upgrades().join("mod.rs").exists();
    if has_begun && own_list(project)?.is_none() {
        told.files.write_modules(&project.upgrades(), UPGRADES, |name| format!("mod {name};"))?;
    }
    Ok(())
}

/// The list of upgrades, with its text, where it is the user's own.
pub(super) fn own_list(project: &Project) -> Result<Option<(PathBuf, String)>, Failure> {
    let folder = project.upgrades();
    for path in [folder.with_extension("rs"), folder.join("mod.rs")] {
        if let Some(text) = files::read(&path)?.filter(|text| !text.starts_with(UPGRADES)) {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
}
