//! Golden rows: real rows of each version, taken from a store into a folder beside the program, and read by each later version.
//! What is there already is left as it is: a golden row does not change.

use std::path::Path;

use serde_json::json;

use super::{
    files,
    frozen::snake,
    outcome::{DONE, Failure, Outcome},
    project::Project,
};
use crate::{
    Database, Error, ErrorKind, Result,
    cli::Model,
    schema::EntitySchema,
    testing::{Golden, check_golden},
};

/// Rows of each version, by the names of their files.
type Sampled = Vec<(String, Vec<String>)>;

/// Takes them from the store.
pub(super) async fn sample(db: &Database, entity: Option<&str>, rows: usize) -> Result<Sampled> {
    if let Some(entity) = entity.filter(|entity| db.model().iter().all(|schema| schema.entity_type != *entity)) {
        let known: Vec<_> = db.model().iter().map(|schema| schema.entity_type).collect();
        let detail = format!("the model has no entity `{entity}`: it has {}", known.join(", "));
        return Err(Error::new(ErrorKind::Invalid, detail));
    }
    let mut sampled = Vec::new();
    let wanted = |schema: &&&'static EntitySchema| entity.is_none_or(|entity| entity == schema.entity_type);
    for schema in db.model().iter().filter(wanted) {
        for (version, lines) in db.sample(schema, rows).await? {
            sampled.push((file(schema.entity_type, version), lines));
        }
    }
    Ok(sampled)
}

/// The file of an entity's golden rows of a version.
pub(super) fn file(entity: &str, version: u32) -> String {
    format!("{}_v{version}.jsonl", snake(entity))
}

/// Puts them beside the program.
pub(super) fn write(folder: &Path, sampled: &Sampled) -> Result<Outcome, Failure> {
    let mut lines = Vec::new();
    for (name, rows) in sampled {
        let path = folder.join(name);
        let did = match path.exists() {
            true => "kept ",
            false => {
                files::write(&path, &format!("{}\n", rows.join("\n")))?;
                "wrote"
            }
        };
        lines.push(format!("{did} {} ({} rows)", files::shown(&path), rows.len()));
    }
    if lines.is_empty() {
        lines.push("the store has no rows of these entities".to_owned());
    }
    let data = json!({ "did": lines });
    Ok(Outcome { code: DONE, lines, data })
}

/// How many golden rows of each version the program reads; or else what it does not.
pub(super) fn check(project: &Project, models: &[Model]) -> Result<Checked, Failure> {
    let (mut golden, mut found) = (Golden::default(), Vec::new());
    for path in files::list(&project.golden())? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") {
            continue;
        }
        let lines = files::read(&path)?.unwrap_or_default();
        match read_lines(models, &lines) {
            Ok(rows) if rows.is_empty() => found.push(format!(
                "golden/{name}: no row is of an entity of the model: delete the file if its entity was taken out of that"
            )),
            Ok(rows) => golden.add(rows),
            Err(error) => found.push(format!("golden/{name}: {error}")),
        }
    }
    found.sort_unstable();
    Ok(if found.is_empty() { Ok(golden) } else { Err(found) })
}

fn read_lines(models: &[Model], lines: &str) -> crate::Result<Golden> {
    let mut golden = Golden::default();
    for model in models {
        golden.add(check_golden(model.entities, model.read, lines)?);
    }
    Ok(golden)
}

/// Golden rows by their version, or what is wrong with some.
pub(super) type Checked = Result<Golden, Vec<String>>;
