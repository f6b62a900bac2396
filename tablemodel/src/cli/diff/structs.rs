//! The struct of an old version, frozen, and how it becomes the one after it. What the user has written stays as it is.

use std::path::Path;

use super::{
    super::{
        files, frozen,
        outcome::Failure,
        project::{Current, Project},
        upgrade,
    },
    Evolution,
    bound::bound,
    named::unwritten,
    written::{Told, own_list},
};
use crate::format::{Class, Format, Lock};

/// The struct of the old version, and how it becomes the new one.
pub(super) fn freeze(
    project: &Project,
    lock: &Lock,
    evolution: &Evolution<'_>,
    told: &mut Told,
) -> Result<(), Failure> {
    let Evolution { entity, old: Some(old), .. } = evolution else { return Ok(()) };
    let earlier = lock.versions(&old.entity_type).map(|section| &section.format);
    let before = earlier.filter(|format| format.version < old.version).max_by_key(|format| format.version);
    // A form that it has moved from has no rows any more.
    let before = match before.filter(|before| stands_alike(before, old)) {
        Some(before) => previous(project, entity, old, before.version, told)?,
        None => None,
    };
    write_struct(project, old, before.as_deref(), told)?;
    write_upgrade(project, evolution, old, told)?;
    let is_move = evolution.changes.iter().any(|change| change.class() == Class::Rekey);
    told.next.extend(unwritten(evolution, old).filter(|_| !is_move));
    tell(entity, old, &evolution.new, is_move, told);
    told.next.extend(bound(project, entity).filter(|_| is_move));
    Ok(())
}

/// The struct of the version before one that is frozen, if the program still reads rows of it: a frozen one, or one of the user's. What
/// upgraded that to the entity now upgrades it to the frozen struct.
fn previous(
    project: &Project,
    entity: &Current,
    old: &Format,
    before: u32,
    told: &mut Told,
) -> Result<Option<String>, Failure> {
    let (module, name) = (frozen::module(&old.entity_type, before), frozen::name(&old.entity_type, before));
    if files::read(&project.frozen().join(format!("{module}.rs")))?.is_some() {
        retarget(project, old, before, told)?;
        return Ok(Some(format!("super::{module}::{name}")));
    }
    let Some(earlier) = entity.earlier.iter().find(|earlier| earlier.format.version == before) else { return Ok(None) };
    let path = earlier.own_path();
    let target = format!("crate::frozen::{}", frozen::name(&old.entity_type, old.version));
    told.next.push(format!("next: let the upgrade of `{path}` make a `{target}`, whose fields are as they are stored"));
    Ok(Some(path))
}

/// Writes the struct, unless it is there already: then it is the user's.
fn write_struct(project: &Project, old: &Format, before: Option<&str>, told: &mut Told) -> Result<(), Failure> {
    let path = project.frozen().join(format!("{}.rs", frozen::module(&old.entity_type, old.version)));
    let text = match files::read(&path)? {
        Some(text) if !frozen::is_of(&text, old) => {
            let of = old.discriminator();
            return Err(Failure(format!(
                "{} is not the struct of `{of}`, which would have to stand there: give it another place",
                files::shown(&path)
            )));
        }
        Some(text) => {
            told.lines.push(format!("kept  {}: it is there already, and stays as it is", files::shown(&path)));
            text
        }
        None => {
            let text = frozen::text(old, before, &project.entities);
            told.write(path.clone(), text.clone());
            text
        }
    };
    let words: Vec<_> = frozen::words_in_lists(old).collect();
    if !words.is_empty() {
        let (names, path) = (words.join(", "), files::shown(&path));
        told.next.push(format!(
            "next: where the texts of {names} in JSON are others than in keys, write the enum of its elements in {path}"
        ));
    }
    let asked = frozen::asked(&text);
    if !asked.is_empty() {
        let (names, path) = (asked.join(", "), files::shown(&path));
        told.next.push(format!("next: say the default of {names} in {path}: what rows without it were read as"));
    }
    Ok(())
}

fn write_upgrade(project: &Project, evolution: &Evolution<'_>, old: &Format, told: &mut Told) -> Result<(), Failure> {
    let Evolution { entity, new, changes, .. } = evolution;
    let file = format!("{}_upgrade.rs", frozen::module(&old.entity_type, old.version));
    let (whole, users) = (project.frozen().join(&file), project.upgrades().join(&file));
    let missing = upgrade::missing(old, new, changes);
    if files::read(&whole)?.is_some_and(|text| !upgrade::is_as_written(&text, old, changes)) {
        told.lines.push(format!("kept  {}: it is yours, and stays as it is", files::shown(&whole)));
        told.next.push(format!("next: see whether the upgrade still says all, in {}", files::shown(&whole)));
        told.next.extend(missing.iter().map(|what| format!("      {what}")));
        return Ok(());
    }
    let begun = files::read(&users)?;
    if missing.is_empty() && begun.is_none() {
        told.write(whole, upgrade::whole(old, &entity.own_path(), changes));
        return Ok(());
    }
    // What an earlier form of the plan wrote in full.
    told.files.remove(whole);
    let what = match begun {
        Some(text) if missing.is_empty() && upgrade::is_unended(&text) => {
            "nothing has to be computed any more: delete the upgrade that was begun, and `diff --amend` writes a whole one, in place of"
        }
        Some(_) => "see whether the upgrade still says all: it is yours, and stays as it is, in",
        None => {
            told.write(users.clone(), upgrade::begun(old, new, &entity.own_path(), &missing));
            "end the upgrade in"
        }
    };
    told.next.push(format!("next: {what} {}", files::shown(&users)));
    declare(project, &users, told)?;
    told.next.push("      and, if it is not there, `mod upgrades;` in src/lib.rs".to_owned());
    Ok(())
}

/// A list that is the user's own is not written.
fn declare(project: &Project, upgrade: &Path, told: &mut Told) -> Result<(), Failure> {
    let Some((list, text)) = own_list(project)? else { return Ok(()) };
    let line = format!("mod {};", upgrade.file_stem().unwrap_or_default().to_string_lossy());
    if !text.contains(&line) {
        told.next.push(format!("      and `{line}` in {}, which is yours", files::shown(&list)));
    }
    Ok(())
}

/// What is left to write on the struct.
fn tell(entity: &Current, old: &Format, new: &Format, is_move: bool, told: &mut Told) {
    let name = frozen::name(&old.entity_type, old.version);
    let word = if is_move { "moved_from" } else { "previous" };
    told.next.push(format!("next: write `#[table({word} = crate::frozen::{name})]` on `{}`", entity.path));
    if is_move {
        let tables = shared_tables(old, new);
        told.next.extend((!tables.is_empty()).then(|| {
            format!(
                "      and other tables than {}, or row keys that begin with other literals: rows of both forms stand beside each other",
                tables.join(", ")
            )
        }));
        told.next.extend((!new.copies.is_empty()).then(|| {
            let of = &entity.path;
            format!("      and on `{name}` what `{of}` copies, as it is there: a move takes that along")
        }));
        told.next.push("      (a program that others write beside says `moves_to` on the old struct first: see `tablemodel::moves`)".to_owned());
    }
    let path = "#[path = \"../tablemodel/frozen/mod.rs\"] pub mod frozen;";
    told.next.push(format!("      and, if it is not there, `{path}` in src/lib.rs"));
}

/// Whether rows of the two formats have the same keys in the same table, by whatever names they store what is in them.
fn stands_alike(a: &Format, b: &Format) -> bool {
    a.table.eq_ignore_ascii_case(&b.table)
        && a.partition.makes_the_keys_of(&b.partition)
        && a.row.makes_the_keys_of(&b.row)
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

/// What upgraded an older version to the struct now upgrades it to the version that is frozen.
fn retarget(project: &Project, to: &Format, from: u32, told: &mut Told) -> Result<(), Failure> {
    let entity_type = &to.entity_type;
    let target = format!("crate::frozen::{}", frozen::name(entity_type, to.version));
    let file = format!("{}_upgrade.rs", frozen::module(entity_type, from));
    let users = project.upgrades().join(&file);
    for path in [&project.frozen().join(&file), &users] {
        let Some(text) = files::read(path)? else { continue };
        match upgrade::retargeted(&text, entity_type, from, &target) {
            Some(text) => {
                if *path == users {
                    let what = "whose fields are as they are stored: see that it compiles";
                    told.next.push(format!("next: {} makes a `{target}` now, {what}", files::shown(path)));
                }
                told.write_last(path.clone(), text);
            }
            None => told.next.push(format!("next: let {} make a `{target}`", files::shown(path))),
        }
    }
    Ok(())
}
