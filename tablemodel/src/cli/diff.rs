//! `diff`: what changed since the lock, and everything that follows from it, written down.
//! Nothing is written unless all of it can be; the lock goes last.

mod amended;
mod asked;
mod bound;
mod copied;
mod entities;
mod left;
mod named;
mod structs;
mod written;

use std::collections::BTreeSet;

use serde_json::json;

use self::asked::Asked;
use super::{
    args::Diff,
    check::removed,
    coming,
    outcome::{DONE, DRIFTED, Failure, Outcome, with},
    plan::{self, Chain, Step},
    project::{Current, Project},
    renames, store,
};
use crate::{
    cli::Model,
    format::{Change, Class, Format, Lock, Renames, diff},
};

/// An entity that changed.
pub(super) struct Evolution<'a> {
    pub(super) entity: &'a Current,
    /// What it was; none if it is new.
    old: Option<Format>,
    /// What it is to be, its version raised where the struct's is not yet.
    pub(super) new: Format,
    changes: Vec<Change>,
    /// What it copies that its source stores otherwise now.
    copied: Vec<String>,
    /// What may be a rename that nobody spoke of.
    unsaid: Vec<(String, String)>,
}

impl Evolution<'_> {
    /// Whether rows of the old version remain to be read.
    fn is_versioned(&self) -> bool {
        self.old.as_ref().is_some_and(|old| old.version != self.new.version)
    }
}

pub(super) fn run(project: &Project, models: &[Model], arguments: &Diff, asks: bool) -> Result<Outcome, Failure> {
    if !project.has_lock() {
        return Err(Failure("there is no tablemodel.lock: run `cargo tablemodel init`".to_owned()));
    }
    let lock = project.lock()?;
    let chain = match plan::chain(project, &lock)? {
        Ok(chain) => chain,
        Err(broken) => return Ok(refused(&broken)),
    };
    if let Some(why) = entities::refused(project, &lock, &arguments.rename) {
        return Ok(refused(&why));
    }
    if arguments.amend {
        return amend(project, models, lock, &chain, arguments, asks);
    }
    if arguments.place.is_given() {
        return Err(Failure(
            "`diff` touches no store: only `diff --amend` asks one, whether the plan was applied".to_owned(),
        ));
    }
    let asked = Asked { renames: &arguments.rename, no_more: arguments.no_rename, apart: &[], asks };
    let evolutions = evolutions(project, &lock, &asked)?;
    if let Some(why) = coming::refused(&lock, &evolutions)? {
        return Ok(refused(&why));
    }
    finish(project, lock, &chain, arguments, &evolutions)
}

/// Makes the newest plan anew.
fn amend(
    project: &Project,
    models: &[Model],
    lock: Lock,
    chain: &Chain,
    arguments: &Diff,
    asks: bool,
) -> Result<Outcome, Failure> {
    let newest = chain.last.clone();
    let taken = match amended::take_back(project, lock, chain, arguments)? {
        Ok(taken) => taken,
        Err(why) => return Ok(refused(&why)),
    };
    if let Some(plan) = newest.filter(|_| arguments.place.is_named())
        && let Some(why) = store::has_taken(models, &arguments.place, &plan.id, &taken.made)?
    {
        return Ok(refused(&why));
    }
    let Diff { rename, no_rename, .. } = &taken.arguments;
    let asked = Asked { renames: rename, no_more: *no_rename, apart: &taken.apart, asks };
    let evolutions = evolutions(project, &taken.lock, &asked)?;
    if let Some(why) = taken.misfit(&evolutions) {
        return Ok(refused(&why));
    }
    if let Some(why) = coming::refused(&taken.lock, &evolutions)? {
        return Ok(refused(&why));
    }
    finish(project, taken.lock, &taken.chain, &taken.arguments, &evolutions)
}

/// Writes what the changes ask for, if they are allowed.
fn finish(
    project: &Project,
    mut lock: Lock,
    chain: &Chain,
    arguments: &Diff,
    evolutions: &[Evolution<'_>],
) -> Result<Outcome, Failure> {
    let name = arguments.name.as_deref().unwrap_or("change");
    check_name(name)?;
    let gone: Vec<String> = removed(project, &lock).map(str::to_owned).collect();
    let forms = coming::changes(project, &lock)?;
    if evolutions.is_empty() && gone.is_empty() && forms.is_empty() {
        let (lines, data) = (vec!["nothing changed".to_owned()], json!({ "steps": [], "did": [] }));
        return Ok(Outcome { code: DONE, lines, data });
    }
    let new = evolutions.iter().filter(|evolution| evolution.old.is_none()).map(|evolution| &evolution.new);
    let returned = plan::returned(project, new)?;
    let mut lines = told(evolutions);
    lines.extend(forms.iter().map(|(name, what)| format!("entity {name}\n  {what}")));
    let unsaid: Vec<String> = evolutions.iter().flat_map(unsaid).collect();
    if !unsaid.is_empty() {
        lines.extend(unsaid.iter().cloned());
        return Ok(Outcome { code: DRIFTED, lines, data: json!({ "error": unsaid.join("\n"), "steps": [] }) });
    }
    lines.extend(returned.iter().map(|step| format!("  {} {:<9} {}", step.code, step.class.word(), step.change)));
    lines.extend(gone.iter().map(|name| {
        format!("entity {name}\n  TM206 unsafe    - entity {name} ({})", entities::hint(project, &lock, name))
    }));
    let removals = gone.iter().map(|name| Step::removal(&lock, name));
    let steps: Vec<Step> = steps(evolutions).into_iter().chain(returned).chain(removals).collect();
    let open = not_allowed(&steps, &arguments.allow);
    if !open.is_empty() {
        return Ok(not_yet(lines, &open, &steps));
    }
    let left: Vec<_> = gone.iter().flat_map(|name| left::told(project, &lock, name)).collect();
    gone.iter().for_each(|name| lock.remove(name));
    let amends = arguments.amend;
    let next = written::Next { id: chain.next(name), parent: chain.link(), amends, allowed: &arguments.allow };
    let mut did = written::write(project, lock, &next, evolutions, &steps)?;
    did.extend(left);
    let data = with(data(&steps), "did", json!(did));
    lines.extend(did);
    Ok(Outcome { code: DONE, lines, data })
}

fn refused(why: &str) -> Outcome {
    Outcome { code: DRIFTED, lines: vec![why.to_owned()], data: json!({ "error": why, "steps": [] }) }
}

/// What is refused until it is allowed.
fn not_yet(mut lines: Vec<String>, open: &BTreeSet<String>, steps: &[Step]) -> Outcome {
    let why = |code: &String| {
        format!("refused: {code} may lose or misread data; if it does not, say why: --allow {code}=\"..\"")
    };
    let why: Vec<String> = open.iter().map(why).collect();
    let data = with(data(steps), "error", json!(why.join("\n")));
    lines.extend(why);
    Outcome { code: DRIFTED, lines, data }
}

fn data(steps: &[Step]) -> serde_json::Value {
    let step = |Step { entity, code, class, change, .. }: &Step| json!({ "entity": entity, "code": code, "class": class.word(), "change": change });
    json!({ "steps": steps.iter().map(step).collect::<Vec<_>>() })
}

fn check_name(name: &str) -> Result<(), Failure> {
    let is_legal = !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    let fault = || Failure(format!("`{name}` cannot name a plan: use small letters, digits and `_`"));
    is_legal.then_some(()).ok_or_else(fault)
}

fn evolutions<'a>(project: &'a Project, lock: &Lock, asked: &Asked<'_>) -> Result<Vec<Evolution<'a>>, Failure> {
    let mut evolutions = Vec::new();
    for entity in &project.entities {
        evolutions.extend(evolution(project, entity, lock, asked)?);
    }
    asked.check_used(&evolutions)?;
    Ok(evolutions)
}

/// What became of the entity; none if nothing did.
fn evolution<'a>(
    project: &Project,
    entity: &'a Current,
    lock: &Lock,
    asked: &Asked<'_>,
) -> Result<Option<Evolution<'a>>, Failure> {
    let mut new = entity.format.clone();
    let Some(section) = lock.newest(&new.entity_type) else {
        renames::written(entity, lock)?;
        return Ok(Some(Evolution {
            entity,
            old: None,
            new,
            changes: Vec::new(),
            copied: Vec::new(),
            unsaid: Vec::new(),
        }));
    };
    let old = section.format.clone();
    if new.version < old.version {
        let (name, is) = (&new.entity_type, old.version);
        return Err(Failure(format!(
            "`{name}` has version {}, and the lock has {is}: write `version = {is}`",
            new.version
        )));
    }
    let properties = asked.renames(&old, &new, renames::written(entity, lock)?)?;
    let unsaid = asked.unsaid(&old, &new, &properties);
    let renames = Renames { properties, retired: retired(lock, &old) };
    let differs = |new: &Format| diff(&old, new, &renames);
    let copied = copied::otherwise(project, lock, &new);
    if new.version == old.version && (!copied.is_empty() || differs(&new)?.iter().any(Change::needs_version)) {
        new.version += 1;
    }
    let changes = differs(&new)?;
    let has_moved = section.crate_name != "*" && section.crate_name != entity.crate_name;
    Ok((has_moved || !changes.is_empty()).then_some(Evolution { entity, old: Some(old), new, changes, copied, unsaid }))
}

/// The names that versions before the newest one used, and that it does not use any more.
pub(super) fn retired(lock: &Lock, newest: &Format) -> BTreeSet<String> {
    let used = lock.versions(&newest.entity_type).flat_map(|section| section.format.names());
    used.filter(|name| !newest.names().any(|own| own == *name)).map(str::to_owned).collect()
}

/// What is refused until somebody says whether it is a rename.
fn unsaid(evolution: &Evolution<'_>) -> Vec<String> {
    let name = &evolution.new.entity_type;
    let line = |(from, to): &(String, String)| {
        format!(
            "refused: was {from} of {name} renamed to {to}? say `--rename {name}.{from}={to}`; or `--no-rename`, and the values of {from} are lost"
        )
    };
    evolution.unsaid.iter().map(line).collect()
}

fn steps(evolutions: &[Evolution<'_>]) -> Vec<Step> {
    let of = |evolution: &Evolution<'_>| {
        let name = evolution.new.entity_type.clone();
        evolution.changes.iter().map(|change| Step::of(&name, change)).collect::<Vec<_>>()
    };
    evolutions.iter().flat_map(of).collect()
}

fn told(evolutions: &[Evolution<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for Evolution { old, new, changes, copied, .. } in evolutions {
        let from = old.as_ref().map_or_else(|| "new".to_owned(), |old| old.version.to_string());
        lines.push(format!("entity {} {from} -> {}", new.entity_type, new.version));
        let line = |change: &Change| format!("  {} {:<9} {change}", change.code(), change.class().word());
        lines.extend(changes.iter().map(line));
        let copied = copied
            .iter()
            .map(|what| format!("  it copies {what}, which is stored otherwise now: `apply` copies it anew"));
        lines.extend(copied);
    }
    lines
}

/// The codes of unsafe steps without a reason.
fn not_allowed(steps: &[Step], allowed: &[(String, String)]) -> BTreeSet<String> {
    let unsafe_codes = steps.iter().filter(|step| step.class == Class::Unsafe).map(|step| step.code.clone());
    unsafe_codes.filter(|code| !allowed.iter().any(|(allowed, _)| allowed == code)).collect()
}
