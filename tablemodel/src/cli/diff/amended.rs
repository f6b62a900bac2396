//! `diff --amend`: the newest plan is taken back, and made anew of what the program stores now.
//! Nothing is written here: what comes of it is written as any other change.

use super::{
    super::{
        args::Diff,
        files,
        outcome::Failure,
        plan::{Chain, Written},
        project::Project,
    },
    Evolution,
};
use crate::format::{Format, Lock};

/// All as it was before the newest plan.
pub(super) struct TakenBack {
    pub(super) lock: Lock,
    pub(super) chain: Chain,
    /// The user's words of then, and those of now.
    pub(super) arguments: Diff,
    /// The pairs that were said then to be no renames, as `renames` of [`Asked`](super::Asked).
    pub(super) apart: Vec<(String, String)>,
    /// The entities that it changes, each with the version that it gives it.
    pub(super) entities: Vec<(String, u32)>,
    /// The formats that it makes, of new entities too.
    pub(super) made: Vec<Format>,
}

/// How to go on where a plan cannot be amended.
const RESTORE: &str = "restore tablemodel.lock and tablemodel/ from version control, and run `cargo tablemodel diff`";

/// Takes the newest plan back; or says why that cannot be.
pub(super) fn take_back(
    project: &Project,
    mut lock: Lock,
    chain: &Chain,
    given: &Diff,
) -> Result<Result<TakenBack, String>, Failure> {
    let Some(newest) = &chain.last else {
        return Ok(Err("there is no plan yet: run `cargo tablemodel diff` without `--amend`".to_owned()));
    };
    let id = newest.id.as_str();
    let name = id.split_once('_').map_or(id, |(_, name)| name);
    if let Some(given) = given.name.as_deref().filter(|given| *given != name && *given != id) {
        return Ok(Err(format!(
            "plan `{given}` is not the newest, which is `{id}`: what was written after a plan has its fingerprint, so that only \
             the newest is amended; a further change is a plan of its own: run `cargo tablemodel diff` without `--amend`"
        )));
    }
    let text = files::read(&project.migrations().join(format!("{id}.toml")))?.unwrap_or_default();
    let plan = Written::parse(&text.replace("\r\n", "\n"));
    if let Some([entity, ..]) = plan.steps.iter().find(|[_, code, _]| code == "TM206") {
        return Ok(Err(format!("plan {id} takes `{entity}` out of the lock, where it would be needed: {RESTORE}")));
    }
    let (mut entities, mut made) = (Vec::new(), Vec::new());
    for (from, to) in &plan.entities {
        let newest = to.split_once('@').and_then(|(name, _)| Some(lock.newest(name)?.format.clone()));
        let Some((name, version)) = undo(&mut lock, &plan, from.as_deref(), to) else {
            return Ok(Err(format!("plan {id}: tablemodel.lock does not have what `{to}` was before: {RESTORE}")));
        };
        let is_made = from.as_ref().is_none_or(|from| !from.starts_with(&format!("{name}@{version} ")));
        made.extend(newest.filter(|_| is_made));
        entities.extend((is_made && from.is_some()).then_some((name, version)));
    }
    let arguments = Diff {
        name: Some(name.to_owned()),
        rename: renames(project, &plan, given),
        no_rename: given.no_rename,
        allow: allowed(&plan, given),
        amend: true,
        ..Diff::default()
    };
    let apart = plan.apart().map(|(entity, from, to)| (format!("{entity}.{from}"), to.to_owned())).collect();
    Ok(Ok(TakenBack { lock, chain: chain.before(&text), arguments, apart, entities, made }))
}

/// Takes a version out of the lock whose predecessor is in it; or what the plan changed of one that stayed. Gives the entity and the
/// version.
fn undo(lock: &mut Lock, plan: &Written, from: Option<&str>, to: &str) -> Option<(String, u32)> {
    let split = |text: &str| -> Option<(String, u32, String)> {
        let (discriminator, fingerprint) = text.split_once(' ')?;
        let (name, version) = discriminator.split_once('@')?;
        Some((name.to_owned(), version.parse().ok()?, fingerprint.to_owned()))
    };
    let (name, version, _) = split(to)?;
    if lock.newest(&name)?.format.version != version {
        return None;
    }
    let Some(from) = from else {
        lock.remove(&name); // with the older versions that came with it
        return Some((name, version));
    };
    let (_, earlier, fingerprint) = split(from)?;
    if earlier == version {
        return unreserve(lock, plan, &name, &fingerprint).map(|()| (name, version));
    }
    let is_it = |own: &Format| own.version == earlier && own.fingerprint().to_string() == fingerprint;
    if !lock.versions(&name).any(|section| is_it(&section.format)) {
        return None;
    }
    lock.take_back(&name, version);
    Some((name, version))
}

/// Of an entity whose version stayed, the names that the plan reserved, or freed: there is nothing else that it may have changed.
fn unreserve(lock: &mut Lock, plan: &Written, name: &str, fingerprint: &str) -> Option<()> {
    let mut section = lock.newest(name)?.clone();
    let reserved = &mut section.format.reserved;
    for [_, _, change] in plan.steps.iter().filter(|[entity, ..]| entity == name) {
        match change.split_once(" reserved ") {
            Some(("+", name)) => drop(reserved.remove(name)),
            Some(("-", name)) => drop(reserved.insert(name.to_owned())),
            _ => {}
        }
    }
    (section.format.fingerprint().to_string() == fingerprint).then(|| lock.set(section))
}

/// The renames that were said when the plan was made and still are ones, and those that are said now.
fn renames(project: &Project, plan: &Written, given: &Diff) -> Vec<(String, String)> {
    let still = plan.renames().filter(|(entity, from, to)| {
        let current = project.entities.iter().find(|current| current.format.entity_type == *entity);
        let has = |name: &str| current.is_some_and(|current| current.format.properties.contains_key(name));
        // One that says no entity may be of any.
        let is_told = given.rename.iter().any(|(other, new)| match other.rsplit_once('.') {
            Some((of, other)) => of == *entity && (other == *from || new == to),
            None => other == from || new == to,
        });
        !is_told && has(to) && !has(from)
    });
    let still = still.map(|(entity, from, to)| (format!("{entity}.{from}"), to.to_owned()));
    still.chain(given.rename.iter().cloned()).collect()
}

/// The codes that were allowed, and those that are now.
fn allowed(plan: &Written, given: &Diff) -> Vec<(String, String)> {
    let is_told = |code: &String| given.allow.iter().any(|(other, _)| other == code);
    let still = plan.allowed.iter().filter(|(code, _)| !is_told(code));
    still.chain(&given.allow).cloned().collect()
}

impl TakenBack {
    /// Why what the program stores now cannot be the same plan; none if it can.
    pub(super) fn misfit(&self, evolutions: &[Evolution<'_>]) -> Option<String> {
        if self.entities.is_empty() && evolutions.is_empty() {
            return Some(format!("nothing that the plan changes is changed any more: {RESTORE}"));
        }
        self.entities.iter().find_map(|(name, version)| {
            let evolution = evolutions.iter().find(|evolution| evolution.new.entity_type == *name);
            match evolution {
                None => Some(format!("`{name}` is not changed any more, and files that the plan wrote are there: {RESTORE}")),
                Some(evolution) if evolution.new.version != *version => Some(format!(
                    "`{}` has version {}, and the plan makes version {version} of it, which no store has yet: write `version = {version}`",
                    evolution.entity.path, evolution.new.version
                )),
                Some(_) => None,
            }
        })
    }
}
