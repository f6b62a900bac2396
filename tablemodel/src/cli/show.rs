//! `show`: the stored formats as they are in the program.

use serde_json::json;

use super::{
    outcome::{DONE, Failure, Outcome},
    project::Project,
};

pub(super) fn run(project: &Project) -> Result<Outcome, Failure> {
    let mut lines = Vec::new();
    let mut entities = Vec::new();
    for entity in &project.entities {
        let (discriminator, fingerprint) = (entity.format.discriminator(), entity.format.fingerprint().to_string());
        let facts = entity.format.lines();
        lines.push(format!("{discriminator} {fingerprint}"));
        lines.extend(facts.iter().map(|fact| format!("  {fact}")));
        entities.push(
            json!({ "entity": discriminator, "fingerprint": fingerprint, "struct": entity.path, "facts": facts }),
        );
    }
    Ok(Outcome { code: DONE, lines, data: json!({ "entities": entities }) })
}
