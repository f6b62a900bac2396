//! What an entity leaves behind that was taken out of the model: files of its rows and its older versions.
//!
//! Nothing is deleted here: they are the user's.

use std::path::PathBuf;

use super::super::{files, frozen, golden, project::Project};
use crate::format::Lock;

/// What is to be deleted by hand, a line each; `lock` still has the entity.
pub(super) fn told(project: &Project, lock: &Lock, entity: &str) -> Vec<String> {
    let (mut rows, mut structs) = (Vec::new(), Vec::new());
    for version in lock.versions(entity).map(|section| section.format.version) {
        let (module, folder) = (frozen::module(entity, version), project.frozen());
        let upgrade = format!("{module}_upgrade.rs");
        rows.push(project.golden().join(golden::file(entity, version)));
        structs.extend([folder.join(format!("{module}.rs")), folder.join(&upgrade), project.upgrades().join(upgrade)]);
    }
    let rows =
        there(&rows).map(|files| format!("next: delete {files}: `check` finds no entity of these rows any more"));
    let structs = there(&structs).map(|files| {
        format!(
            "next: delete {files}, with their lines in `mod.rs`: they read rows of `{entity}`, and nothing needs them"
        )
    });
    rows.into_iter().chain(structs).collect()
}

/// Those that are there.
fn there(files: &[PathBuf]) -> Option<String> {
    let there: Vec<_> = files.iter().filter(|file| file.exists()).map(|file| files::shown(file).to_string()).collect();
    (!there.is_empty()).then(|| there.join(", "))
}
