//! The plan of a change: a file that is reviewed, and chained to the one before it.
//! What it says is `diff`'s; here is how it is written, and whether the chain holds.

mod read;

use std::{collections::BTreeMap, fmt::Write, path::PathBuf};

pub(super) use self::read::Written;

use super::{files, outcome::Failure, project::Project};
use crate::format::{Change, Class, Fingerprint, Format, Lock, LockedPlan};

/// What the parent of the first plan is.
const NONE: &str = "";

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) entity: String,
    pub(super) code: String,
    pub(super) class: Class,
    pub(super) change: String,
    /// Whether anything has to be done, or known later.
    pub(super) needs_plan: bool,
}

impl Step {
    pub(super) fn of(entity: &str, change: &Change) -> Self {
        let (class, needs_plan) = (change.class(), change.needs_version() || change.class() == Class::Unsafe);
        Self {
            entity: entity.to_owned(),
            code: change.code().to_string(),
            class,
            change: change.to_string(),
            needs_plan,
        }
    }

    /// An entity that the model does not list any more, with the version that it had.
    pub(super) fn removal(lock: &Lock, entity: &str) -> Self {
        let was = lock.newest(entity).map_or_else(|| entity.to_owned(), |section| section.format.discriminator());
        Self::of_entity(entity, "TM206", format!("- entity {was}"))
    }

    /// An entity that a plan took out of the lock, and that is there again in a version that its rows may have.
    fn returned(format: &Format, plan: &str) -> Self {
        let (name, is) = (&format.entity_type, format.discriminator());
        Self::of_entity(
            name,
            "TM107",
            format!("+ entity {is}: plan {plan} took one of that name away, whose rows may be there"),
        )
    }

    fn of_entity(entity: &str, code: &str, change: String) -> Self {
        Self { entity: entity.to_owned(), code: code.to_owned(), class: Class::Unsafe, change, needs_plan: true }
    }
}

/// What a plan holds.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) id: String,
    /// The plan before it: its name and fingerprint.
    pub(super) parent: String,
    /// Each entity with the discriminator and the fingerprint that it comes from, if any, and goes to.
    pub(super) entities: Vec<(Option<String>, String)>,
    pub(super) steps: Vec<Step>,
    /// Codes that were allowed, and why.
    pub(super) allowed: Vec<(String, String)>,
}

impl Plan {
    /// Its text, in TOML.
    pub(super) fn text(&self) -> String {
        let mut text = String::from(
            "# Written by `cargo tablemodel diff`; do not edit: the next plan, or tablemodel.lock, has its fingerprint.\n",
        );
        let mut line = |key: &str, value: &str| text.extend([key, " = ", &quoted(value), "\n"]);
        line("id", &self.id);
        line("parent", &self.parent);
        for (from, to) in &self.entities {
            text.push_str("\n[[entity]]\n");
            if let Some(from) = from {
                text.extend(["from = ", &quoted(from), "\n"]);
            }
            text.extend(["to = ", &quoted(to), "\n"]);
        }
        for Step { entity, code, class, change, needs_plan: _ } in &self.steps {
            let (entity, change) = (quoted(entity), quoted(change));
            let _ = write!(
                text,
                "\n[[step]]\nentity = {entity}\ncode = \"{code}\"\nclass = \"{class}\"\nchange = {change}\n"
            );
        }
        for (code, reason) in &self.allowed {
            text.extend(["\n[[allow]]\ncode = ", &quoted(code), "\nreason = ", &quoted(reason), "\n"]);
        }
        text
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// A plan as it lies in its folder.
struct Found {
    id: String,
    parent: String,
    fingerprint: Fingerprint,
}

impl Found {
    fn link(&self) -> String {
        format!("{} {}", self.id, self.fingerprint)
    }
}

/// Where the next plan goes on.
#[derive(Debug)]
pub(super) struct Chain {
    /// The last plan.
    pub(super) last: Option<LockedPlan>,
    /// How many there are.
    pub(super) length: usize,
}

impl Chain {
    /// The name of the next plan.
    pub(super) fn next(&self, name: &str) -> String {
        format!("{:04}_{name}", self.length + 1)
    }

    /// Where it went on when its last plan, whose text this is, was not yet there.
    pub(super) fn before(&self, text: &str) -> Self {
        let parent = parent_of(text).and_then(|parent| parent.split_once(' '));
        let parent = parent.and_then(|(id, fingerprint)| {
            Some(LockedPlan { id: id.to_owned(), fingerprint: fingerprint.parse().ok()? })
        });
        Self { last: parent, length: self.length.saturating_sub(1) }
    }

    /// What the next plan has for its parent.
    pub(super) fn link(&self) -> String {
        self.last.as_ref().map_or_else(|| NONE.to_owned(), |last| format!("{} {}", last.id, last.fingerprint))
    }
}

/// Reads the plans, and checks that each follows the one before it and that the lock has the last.
///
/// The failure of an edited, lost or reordered plan (TM701) names it.
pub(super) fn chain(project: &Project, lock: &Lock) -> Result<Result<Chain, String>, Failure> {
    let mut before = NONE.to_owned();
    let plans = read(project)?;
    let locked = lock.plan.as_ref().map(|plan| format!("{} {}", plan.id, plan.fingerprint)).unwrap_or_default();
    let strays = strays(&plans, &locked);
    if !strays.is_empty() {
        let files: Vec<_> = strays.iter().map(|plan| format!("tablemodel/migrations/{}.toml", plan.id)).collect();
        let last = lock.plan.as_ref().map_or("no plan", |plan| &plan.id);
        return Ok(Err(format!(
            "TM701: {0} is not among the plans that tablemodel.lock ends with ({last}): left by a `diff` that was cut off, or by a \
             merge: delete {0}, and run `cargo tablemodel diff`; or restore the lock that has it from version control",
            files.join(" and ")
        )));
    }
    for plan in &plans {
        if plan.parent != before {
            let follows = if before.is_empty() { "none" } else { &before };
            return Ok(Err(format!(
                "TM701: plan {} was written after `{}`, and what comes before it is `{follows}`: a plan was edited, lost \
                 or put between; restore tablemodel/migrations from version control",
                plan.id, plan.parent,
            )));
        }
        before = plan.link();
    }
    if locked != before {
        return Ok(Err(format!(
            "TM701: the last plan is `{before}`, and tablemodel.lock says `{locked}`: a plan was edited, lost or added \
             without the lock; restore both from version control"
        )));
    }
    Ok(Ok(Chain { last: lock.plan.clone(), length: plans.len() }))
}

/// The plans that the lock's last does not go back to, if all that it does go back to are there.
fn strays<'a>(plans: &'a [Found], locked: &str) -> Vec<&'a Found> {
    let (mut link, mut known) = (locked, Vec::new());
    while let Some(plan) = plans.iter().find(|plan| plan.link() == link) {
        known.push(plan.id.as_str());
        link = &plan.parent;
    }
    let others: Vec<_> = plans.iter().filter(|plan| !known.contains(&plan.id.as_str())).collect();
    let follows = |other: &Found| other.parent == NONE || plans.iter().any(|plan| plan.link() == other.parent);
    match link == NONE && others.iter().all(|other| follows(other)) {
        true => others,
        false => Vec::new(),
    }
}

/// Of these entities, which are new to the lock, those that return in a version that a plan took out of it, or in an older one.
pub(super) fn returned<'a>(project: &Project, new: impl Iterator<Item = &'a Format>) -> Result<Vec<Step>, Failure> {
    let mut gone = BTreeMap::new();
    for (id, _) in all(project)? {
        let text = files::read(&project.migrations().join(format!("{id}.toml")))?.unwrap_or_default();
        for [entity, _, change] in Written::parse(&text).steps.into_iter().filter(|[_, code, _]| code == "TM206") {
            let version = change.rsplit_once('@').and_then(|(_, version)| version.parse::<u32>().ok());
            gone.insert(entity, (id.clone(), version));
        }
    }
    let returned = |format: &Format| {
        let (plan, version) = gone.get(&format.entity_type)?;
        let is_above = version.is_some_and(|version| format.version > version);
        (!is_above).then(|| Step::returned(format, plan))
    };
    Ok(new.filter_map(returned).collect())
}

/// The plans after this one, as far as they can be written anew; all of them where there is none.
pub(super) fn after(project: &Project, last: Option<&str>) -> Result<Vec<Written>, Failure> {
    let later = all(project)?.into_iter().filter(|(id, _)| last.is_none_or(|last| id.as_str() > last));
    let text = |(id, _)| files::read(&project.migrations().join(format!("{id}.toml")));
    later.map(|plan| Ok(Written::parse(&text(plan)?.unwrap_or_default().replace("\r\n", "\n")))).collect()
}

/// Every plan, by its name and fingerprint, in order.
pub(super) fn all(project: &Project) -> Result<Vec<(String, Fingerprint)>, Failure> {
    Ok(read(project)?.into_iter().map(|plan| (plan.id, plan.fingerprint)).collect())
}

fn read(project: &Project) -> Result<Vec<Found>, Failure> {
    let folder = project.migrations();
    let id = |path: PathBuf| path.file_name()?.to_string_lossy().strip_suffix(".toml").map(str::to_owned);
    let mut ids: Vec<_> = files::list(&folder)?.into_iter().filter_map(id).collect();
    ids.sort_unstable();
    let found = |id: String| {
        let text = files::read(&folder.join(format!("{id}.toml")))?.unwrap_or_default();
        // As git may have it on another system.
        let text = text.replace("\r\n", "\n");
        let parent = parent_of(&text).unwrap_or("?").to_owned();
        Ok(Found { id, parent, fingerprint: Fingerprint::of_text(&text) })
    };
    ids.into_iter().map(found).collect()
}

/// The plan before the one with this text: its name and fingerprint; empty for the first.
fn parent_of(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("parent = \"")?.strip_suffix('"'))
}
