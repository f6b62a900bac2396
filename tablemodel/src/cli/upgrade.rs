//! The upgrade of a frozen struct to the version after it: written in full where every value is there, and otherwise
//! begun, so that it does not compile until its user has ended it.

use super::frozen;
use crate::{
    format::{Change, Code, Format},
    schema::BLOB,
};

/// What a value has to be computed for; none if the old one has all.
pub(super) fn missing(old: &Format, new: &Format, changes: &[Change]) -> Vec<String> {
    let mut missing: Vec<String> = changes.iter().filter(|change| is_computed(change)).map(Change::to_string).collect();
    if old.properties.values().any(|property| property.codec == BLOB) {
        missing.push("blobs, which go along as they are where you say so: `photo: old.photo`".to_owned());
    }
    let required = new.copies.iter().filter(|(_, copy)| !copy.optional);
    missing.extend(required.map(|(name, _)| format!("copy {name}: any value, since a write fills it from its source")));
    missing
}

fn is_computed(change: &Change) -> bool {
    match change {
        Change::PropertyAdded { property, .. } => !property.may_be_absent(),
        Change::PropertyChanged { .. } => matches!(change.code(), Code::TM106 | Code::TM502),
        _ => false,
    }
}

/// The line that an implementation begins with.
fn head(entity_type: &str, from: u32, target: &str) -> String {
    format!("{}{target} {{", start(entity_type, from))
}

fn start(entity_type: &str, from: u32) -> String {
    format!("impl tablemodel::Upgrade<{}> for ", frozen::name(entity_type, from))
}

/// The same implementation for another target; none where its first line is not as it was written.
pub(super) fn retargeted(text: &str, entity_type: &str, from: u32, target: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let written = start(entity_type, from);
    let short = written.replacen("tablemodel::", "", 1); // with `use tablemodel::Upgrade`
    let (before, rest) = text.split_once(&written).or_else(|| text.split_once(&short))?;
    let (target_of_before, rest) = rest.split_once(" {\n")?;
    if target_of_before.contains(['{', '\n']) {
        return None; // the brace is another's
    }
    Some(format!("{before}{}\n{rest}", head(entity_type, from, target)))
}

/// Whether a whole upgrade stands as it was written, of these renames or fewer, and however it is formatted.
pub(super) fn is_as_written(text: &str, old: &Format, changes: &[Change]) -> bool {
    let wanted = whole(old, "crate::Any", changes);
    let bare = |text: &str| {
        let text: String = text.split_whitespace().collect();
        let text = text.replace(",)", ")").replace(",]", "]");
        let (before, rest) = text.split_once("carry(&old,&[")?;
        let (renames, after) = rest.split_once("]);")?;
        let (head, rest) = before.split_once(&start(&old.entity_type, old.version).replace(' ', ""))?;
        let (_, body) = rest.split_once('{')?;
        let renames = renames.split_inclusive(')').map(|pair| pair.trim_start_matches(',').to_owned()).collect();
        Some(([head, body, after].map(str::to_owned), renames))
    };
    let (written, wanted): (Option<(_, Vec<_>)>, _) = (bare(text), bare(&wanted));
    written
        .zip(wanted)
        .is_some_and(|((text, renames), (same, all))| text == same && renames.iter().all(|pair| all.contains(pair)))
}

/// The whole upgrade, to stand beside the frozen struct.
pub(super) fn whole(old: &Format, target: &str, changes: &[Change]) -> String {
    let renames = changes.iter().filter_map(|change| match change {
        Change::Renamed { from, to, .. } => Some(format!("({from:?}, {to:?})")),
        _ => None,
    });
    let renames = renames.collect::<Vec<_>>().join(", ");
    let Format { entity_type, version, .. } = old;
    let (name, head) = (frozen::name(entity_type, *version), head(entity_type, *version, target));
    format!(
        "//! `{name}` as the version after it. Written by `cargo tablemodel diff`: every value is there already.\n\n\
         use super::{name};\n\n\
         {head}\n    \
             fn upgrade(old: {name}) -> Result<Self, tablemodel::UpgradeError> {{\n        \
                 let new = tablemodel::format::carry(&old, &[{renames}]);\n        \
                 new.map_err(|error| tablemodel::UpgradeError::new(error.to_string()))\n    \
             }}\n\
         }}\n"
    )
}

/// What stands in an upgrade that was begun, until it is ended.
const UNENDED: &str = "compile_error!(\"say how version ";

/// Whether the upgrade was begun, and not ended yet.
pub(super) fn is_unended(text: &str) -> bool {
    text.contains(UNENDED)
}

/// The upgrade that is the user's to end.
pub(super) fn begun(old: &Format, new: &Format, target: &str, missing: &[String]) -> String {
    let Format { entity_type, version, .. } = old;
    let (name, head) = (frozen::name(entity_type, *version), head(entity_type, *version, target));
    let comment = |what: &String| format!("        // {what}\n");
    let missing: String = missing.iter().map(comment).collect();
    let kept: String = frozen::read_as(old, new).iter().map(comment).collect();
    let kept = if kept.is_empty() {
        kept
    } else {
        format!("        // What goes along, where the frozen struct has another type:\n{kept}")
    };
    format!(
        "//! `{name}` as the version after it. Begun by `cargo tablemodel diff`, and yours from here on: of it only\n\
         //! the struct that it makes is written again, by the plan after this.\n\
         //! An upgrade asks neither clock nor store nor chance: it may run many times over one row.\n\n\
         use crate::frozen::{name};\n\n\
         {head}\n    \
             fn upgrade(old: {name}) -> Result<Self, tablemodel::UpgradeError> {{\n        \
                 // Yours to say:\n\
         {missing}{kept}        \
                 {UNENDED}{version} of `{entity_type}` becomes the version after it\");\n    \
             }}\n\
         }}\n"
    )
}
