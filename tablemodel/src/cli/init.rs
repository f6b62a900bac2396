//! `init`: the alias, the program behind it, and the first lock.
//! What is there already is left as it is.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{
    Package, files,
    outcome::{DONE, Failure, Outcome},
    project::{Project, workspace_of},
};
use crate::format::Section;

pub(super) fn run(project: &Project) -> Result<Outcome, Failure> {
    let mut lines = vec![write_alias(&project.package)?, write_program(&project.package)?];
    lines.extend(default_run(&project.package)?);
    let path = project.lock_path();
    if project.has_lock() {
        project.lock()?; // a damaged one is told
        lines.push(format!("kept  {}", files::shown(&path)));
    } else {
        let mut lock = project.lock()?;
        for entity in &project.entities {
            entity.earlier.iter().for_each(|earlier| lock.set(earlier.section()));
            lock.set(Section { format: entity.format.clone(), crate_name: entity.crate_name.clone() });
            lock.set_coming(&entity.format.entity_type, entity.coming.clone());
        }
        files::write(&path, &lock.to_string())?;
        lines.push(format!("wrote {} ({} entities): commit it", files::shown(&path), project.entities.len()));
        let read = project.entities.iter().flat_map(|entity| &entity.earlier).filter(|earlier| !earlier.frozen);
        lines.extend(
            read.map(|earlier| format!("next: write `frozen` on `{}`, which is only read by now", earlier.path)),
        );
    }
    let data = json!({ "did": lines });
    Ok(Outcome { code: DONE, lines, data })
}

/// The line of the alias; the features are on only while it runs.
fn alias(package: &str) -> String {
    format!(
        "tablemodel = \"run --quiet --package {package} --features tablemodel/cli,tablemodel/ungated --bin tablemodel --\""
    )
}

fn write_alias(package: &Package) -> Result<String, Failure> {
    let folder = workspace_of(Path::new(package.folder)).unwrap_or_else(|| PathBuf::from(package.folder));
    let path = folder.join(".cargo").join("config.toml");
    let text = files::read(&path)?.unwrap_or_default();
    match with_alias(&text, package.name) {
        Ok(Some(text)) => {
            files::write(&path, &text)?;
            Ok(format!("wrote {}: `cargo tablemodel`", files::shown(&path)))
        }
        Ok(None) => Ok(format!("kept  {}", files::shown(&path))),
        Err(alias) => Ok(format!(
            "next: add to the aliases in {}, where they stand in one line each: {alias}",
            files::shown(&path)
        )),
    }
}

/// The configuration with the alias; none if it has one. Or the alias alone, where it has others that are no table of lines.
pub(super) fn with_alias(text: &str, package: &str) -> Result<Option<String>, String> {
    let alias = alias(package);
    if let Some(there) = aliases(text).find(|(name, _)| *name == "tablemodel").map(|(_, words)| words) {
        // One that the user wrote for himself names no package, or says it otherwise.
        let is_of_another = package_of(there).is_some_and(|other| other != package);
        let is_called_otherwise =
            |words: &str| package_of(words) == Some(package) && words.contains("--bin tablemodel");
        return if is_of_another && !aliases(text).any(|(_, words)| is_called_otherwise(words)) {
            Err(format!("tablemodel-of-{}", alias.replacen("tablemodel", package, 1)))
        } else {
            Ok(None)
        };
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let is_inline = |line: &&str| {
        line.trim_start().strip_prefix("alias").is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    };
    if lines.iter().any(is_inline) {
        return Err(alias);
    }
    let is_table = |line: &str| {
        let line = line.split_once('#').map_or(line, |(line, _)| line);
        line.split_whitespace().collect::<String>() == "[alias]"
    };
    match lines.iter().position(|line| is_table(line)) {
        Some(place) => lines.insert(place + 1, &alias),
        None if lines.is_empty() => lines.extend(["[alias]", &alias]),
        None => lines.extend(["", "[alias]", &alias]),
    }
    Ok(Some(lines.join("\n") + "\n"))
}

/// The aliases that stand in one line each: what they are called, and their words.
fn aliases(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut section = String::new();
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.starts_with('[') {
            section = line.split_once('#').map_or(line, |(line, _)| line).split_whitespace().collect();
        }
        let (name, words) = line.split_once('=')?;
        (section == "[alias]" && !name.starts_with('#')).then_some((name.trim(), words))
    })
}

/// The package that an alias names.
fn package_of(words: &str) -> Option<&str> {
    let mut words = words.split(|c: char| c.is_whitespace() || c == '"').skip_while(|word| *word != "--package");
    words.nth(1)
}

fn write_program(package: &Package) -> Result<String, Failure> {
    let path = Path::new(package.folder).join("src").join("bin").join("tablemodel.rs");
    if path.exists() {
        return Ok(format!("kept  {}", files::shown(&path)));
    }
    let text = format!(
        "//! `cargo tablemodel`: versions of what the program stores.\n\ntablemodel::cli!({});\n",
        package.model
    );
    files::write(&path, &text)?;
    Ok(format!("wrote {}", files::shown(&path)))
}

/// What to write so that plain `cargo run` knows which of two programs is meant; nothing where it does.
fn default_run(package: &Package) -> Result<Option<String>, Failure> {
    let folder = Path::new(package.folder);
    let manifest = folder.join("Cargo.toml");
    let says_so = files::read(&manifest)?
        .is_none_or(|text| text.lines().any(|line| line.trim_start().starts_with("default-run")));
    if says_so || !folder.join("src").join("main.rs").exists() {
        return Ok(None);
    }
    let (name, manifest) = (package.name, files::shown(&manifest));
    Ok(Some(format!(
        "next: write `default-run = \"{name}\"` under [package] in {manifest}: `cargo run` knows two programs now"
    )))
}
