//! The canonical text of a format: one line for each fact, sorted.
//! What reads it is `parse`; the same lines come off a schema in `facts`.

use super::{
    AggregateFormat, CopyFormat, CoverFormat, Format, FunctionFormat, IndexFormat, KeyFormat, PropertyFormat,
    WhenFormat,
};
use crate::schema::OnDelete;

impl Format {
    /// The facts, one line each, sorted by bytes.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("table {}", self.table),
            format!("key partition {}", quoted(&self.partition)),
            format!("key row {}", quoted(&self.row)),
        ];
        lines.extend(self.adopt.then(|| "adopt".to_owned()));
        lines.extend(self.wide.then(|| "wide".to_owned()));
        lines.extend(self.reserved.iter().map(|name| format!("reserved {name}")));
        lines.extend(self.properties.iter().map(|(name, property)| format!("property {name} {}", property.text())));
        lines.extend(self.indexes.iter().flat_map(|(name, index)| of("index", name, index.facts())));
        lines.extend(self.copies.iter().flat_map(|(name, copy)| of("copy", name, copy.facts())));
        lines.extend(self.aggregates.iter().flat_map(|(name, of_it)| of("aggregate", name, of_it.facts())));
        lines.sort_unstable();
        lines
    }
}

fn of<'a>(what: &'a str, name: &'a str, facts: Vec<String>) -> impl Iterator<Item = String> + 'a {
    facts.into_iter().map(move |fact| format!("{what} {name} {fact}"))
}

fn quoted(key: &KeyFormat) -> String {
    format!("\"{key}\"")
}

impl PropertyFormat {
    /// `Edm.Int64 nullable as u32`
    pub(super) fn text(&self) -> String {
        let mut text = self.edm.name().to_owned();
        let flags = [
            (self.nullable, "nullable"),
            (self.default, "default"),
            (self.aggregate, "aggregate"),
            (self.chunked, "chunked"),
        ];
        for (_, word) in flags.into_iter().filter(|(is_set, _)| *is_set) {
            text.push(' ');
            text.push_str(word);
        }
        text + " as " + &self.codec
    }
}

impl IndexFormat {
    fn facts(&self) -> Vec<String> {
        let cover = match &self.cover {
            CoverFormat::Whole => "whole",
            CoverFormat::Keep(_) => "keep",
            CoverFormat::KeysOnly => "keys",
            CoverFormat::List => "list",
            CoverFormat::ListInBlob => "list in blob",
        };
        let mut facts = vec![format!("row {}", quoted(&self.row)), format!("cover {cover}")];
        if let Some(elsewhere) = &self.elsewhere {
            facts.push(format!("table {}", elsewhere.table));
            facts.push(format!("partition {}", quoted(&elsewhere.partition)));
        }
        if let CoverFormat::Keep(kept) = &self.cover {
            facts.extend(kept.iter().map(|property| format!("keep {property}")));
        }
        facts.extend(self.each.iter().map(|property| format!("each {property}")));
        facts.extend(self.unique.then(|| "unique".to_owned()));
        facts.extend(self.when.iter().map(WhenFormat::text));
        facts
    }
}

impl WhenFormat {
    fn text(&self) -> String {
        format!("when {}{}", if self.negated { "!" } else { "" }, self.property)
    }
}

impl CopyFormat {
    fn facts(&self) -> Vec<String> {
        let delete = match self.on_delete {
            OnDelete::Clear => "clear",
            OnDelete::Restrict => "restrict",
            OnDelete::Keep => "keep",
        };
        let mut facts =
            vec![format!("source {}", self.source), format!("stored {}", self.stored), format!("delete {delete}")];
        facts.extend(self.optional.then(|| "optional".to_owned()));
        facts.extend(self.key.iter().map(|(source, own)| format!("key {source} = {own}")));
        facts.extend(self.properties.iter().map(|property| format!("property {property}")));
        facts
    }
}

impl AggregateFormat {
    fn facts(&self) -> Vec<String> {
        let function = match &self.function {
            FunctionFormat::Count => "keeps count".to_owned(),
            FunctionFormat::Sum(property) => format!("keeps sum {property}"),
            FunctionFormat::Min(property) => format!("keeps min {property}"),
            FunctionFormat::Max(property) => format!("keeps max {property}"),
        };
        let mut facts = vec![function];
        facts.extend(self.sharded.then(|| "sharded".to_owned()));
        facts.extend(self.key.iter().map(|(target, own)| format!("key {target} = {own}")));
        facts.extend(self.when.iter().map(WhenFormat::text));
        facts
    }
}
