//! The files that a change leaves: the plan, frozen structs with their upgrades, and last the lock.

use std::path::Path;

use super::{
    super::{
        files, frozen,
        outcome::Failure,
        plan::{Plan, Step},
        project::{Current, Project},
        upgrade,
    },
    Evolution,
};
use crate::format::{Class, Fingerprint, Format, Lock, LockedPlan, Section};

/// The plan that is written.
pub(super) struct Next<'a> {
    pub(super) id: String,
    pub(super) parent: String,
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
    if steps.iter().any(|step| step.needs_plan) {
        let plan = plan(next, evolutions, steps);
        let text = plan.text();
        told.write(&project.migrations().join(format!("{}.toml", plan.id)), &text)?;
        lock.plan = Some(LockedPlan { id: plan.id, fingerprint: Fingerprint::of_text(&text) });
    }
    for Evolution { entity, new, .. } in evolutions {
        lock.set(Section { format: new.clone(), crate_name: entity.crate_name.clone() });
        if entity.format.version < new.version {
            told.next.insert(0, format!("next: write `version = {}` on `{}`", new.version, entity.path));
        }
    }
    told.write(&project.lock_path(), &lock.to_string())?;
    told.lines.extend(told.next);
    Ok(told.lines)
}

#[derive(Default)]
struct Told {
    lines: Vec<String>,
    next: Vec<String>,
}

impl Told {
    fn write(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        files::write(path, text)?;
        self.lines.push(format!("wrote {}", path.display()));
        Ok(())
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

/// The struct of the old version, and how it becomes the new one.
fn freeze(project: &Project, lock: &Lock, evolution: &Evolution<'_>, told: &mut Told) -> Result<(), Failure> {
    let Evolution { entity, old: Some(old), changes, .. } = evolution else { return Ok(()) };
    let (ident, folder) = (entity.ident(), project.frozen());
    let (name, module) = (frozen::name(ident, old.version), frozen::module(ident, old.version));
    let earlier = lock.versions(&old.entity_type).map(|section| &section.format);
    let before = earlier.filter(|format| format.version < old.version).max_by_key(|format| format.version);
    // A form that it has moved from has no rows any more.
    let before = before.filter(|before| stands_alike(before, old)).map(|before| before.version);
    if let Some(before) = before {
        retarget(project, entity, before, old.version, told)?;
    }
    told.write(&folder.join(format!("{module}.rs")), &frozen::text(ident, old, before))?;
    let missing = upgrade::missing(old, &evolution.new, changes);
    let whole = folder.join(format!("{module}_upgrade.rs"));
    let users = project.upgrades().join(format!("{module}_upgrade.rs"));
    let moves = changes.iter().any(|change| change.class() == Class::Rekey);
    if missing.is_empty() && files::read(&users)?.is_none() {
        told.write(&whole, &upgrade::whole(ident, old.version, &entity.own_path(), changes))?;
    } else {
        // What an earlier form of the plan wrote in full.
        files::remove(&whole)?;
        begin(project, entity, old, &missing, told)?;
    }
    files::write_modules(&folder, "//! Old versions of entities. Written by `cargo tablemodel diff`.", |name| {
        let uses = if name.ends_with("_upgrade") { String::new() } else { format!("\npub use self::{name}::*;") };
        format!("mod {name};{uses}")
    })?;
    let path = "#[path = \"../tablemodel/frozen/mod.rs\"] pub mod frozen;";
    let word = if moves { "moved_from" } else { "previous" };
    told.next.push(format!("next: write `#[table({word} = crate::frozen::{name})]` on `{}`", entity.path));
    if moves {
        let tables = shared_tables(old, &evolution.new);
        told.next.extend((!tables.is_empty()).then(|| {
            format!(
                "      and other tables than {}, or row keys that begin with other literals: rows of both forms stand beside each other",
                tables.join(", ")
            )
        }));
        told.next.push("      (a program that others write beside says `moves_to` on the old struct first: see `tablemodel::moves`)".to_owned());
    }
    told.next.push(format!("      and, if it is not there, `{path}` in src/lib.rs"));
    Ok(())
}

/// Whether rows of the two formats have the same keys in the same table.
fn stands_alike(a: &Format, b: &Format) -> bool {
    a.table.eq_ignore_ascii_case(&b.table) && a.partition == b.partition && a.row == b.row
}

/// The tables that both formats keep rows in.
fn shared_tables(old: &Format, new: &Format) -> Vec<String> {
    let tables = |format: &Format| {
        let elsewhere = format.indexes.values().filter_map(|index| index.elsewhere.as_ref());
        let elsewhere = elsewhere.map(|elsewhere| elsewhere.table.clone());
        std::iter::once(format.table.clone()).chain(elsewhere).collect::<std::collections::BTreeSet<_>>()
    };
    tables(old).intersection(&tables(new)).map(|table| format!("`{table}`")).collect()
}

/// The upgrade that the user has to end; one that is there already is the user's, and stays.
fn begin(
    project: &Project,
    entity: &Current,
    old: &Format,
    missing: &[String],
    told: &mut Told,
) -> Result<(), Failure> {
    let folder = project.upgrades();
    let path = folder.join(format!("{}_upgrade.rs", frozen::module(entity.ident(), old.version)));
    let is_new = files::read(&path)?.is_none();
    if is_new {
        told.write(&path, &upgrade::begun(entity.ident(), old, &entity.own_path(), missing))?;
    }
    let head = "//! Upgrades whose values are computed. This list is written by `cargo tablemodel diff`.";
    files::write_modules(&folder, head, |name| format!("mod {name};"))?;
    let what = if is_new {
        "end the upgrade in"
    } else {
        "see whether the upgrade still says all: it is yours, and stays as it is, in"
    };
    told.next.push(format!("next: {what} {}", path.display()));
    told.next.push("      and, if it is not there, `mod upgrades;` in src/lib.rs".to_owned());
    Ok(())
}

/// What upgraded an older version to the struct now upgrades it to the version that is frozen.
fn retarget(project: &Project, entity: &Current, from: u32, to: u32, told: &mut Told) -> Result<(), Failure> {
    let ident = entity.ident();
    let target = format!("crate::frozen::{}", frozen::name(ident, to));
    let file = format!("{}_upgrade.rs", frozen::module(ident, from));
    for path in [project.frozen().join(&file), project.upgrades().join(&file)] {
        let Some(text) = files::read(&path)? else { continue };
        match upgrade::retargeted(&text, ident, from, &target) {
            Some(text) => told.write(&path, &text)?,
            None => told.next.push(format!("next: let {} make a `{target}`", path.display())),
        }
    }
    Ok(())
}
