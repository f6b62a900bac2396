//! The typed paths of an entity: their components in order, and what each can be asked.
//! Type states are generated elsewhere.

use std::rc::Rc;

use proc_macro2::Ident;
use quote::format_ident;

use super::{
    entity::Entity,
    field::Field,
    key::{Key, Part, Segment},
};
use crate::codec::Codec;

/// One way to the entity: its primary key, or an index.
pub(crate) struct Path {
    /// The function that begins it.
    pub(crate) start: Ident,
    /// The index, counted from 0; `None` for the primary key.
    pub(crate) index: Option<usize>,
    pub(crate) components: Vec<Component>,
    /// Whether all components together name one key.
    pub(crate) is_complete: bool,
    /// Whether it names a list, and not rows.
    pub(crate) is_list: bool,
}

/// What one path method gives.
pub(crate) struct Component {
    pub(crate) field: Rc<Field>,
    pub(crate) codec: Codec,
    /// Whether it stands in the row key.
    pub(crate) in_row: bool,
    pub(crate) range: Range,
}

/// Whether ranges of the component are ranges of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    Never,
    Always,
    /// Only for types whose keys are in the order of their values: not for every enum.
    OfOrder,
    /// Only for types whose keys all have one length.
    OfFixedWidth,
}

impl Entity {
    /// The primary path, then those of the indexes.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let primary = path(&self.find, None, &self.partition, &self.row);
        let indexes = self.indexes.iter().enumerate();
        let indexes = indexes.map(|(place, index)| {
            let path = path(&index.name, Some(place), index.partition(&self.partition), &index.row);
            if index.is_list { path.of_list() } else { path }
        });
        std::iter::once(primary).chain(indexes).collect()
    }
}

fn path(start: &Ident, index: Option<usize>, partition: &Key, row: &Key) -> Path {
    let mut components: Vec<Component> = Vec::new();
    for (in_row, key) in [(false, partition), (true, row)] {
        for (place, segment) in key.segments.iter().enumerate() {
            if let Segment::Part(part) = segment
                && !part.codec.is_shard()
                && !components.iter().any(|earlier| earlier.gives(part))
            {
                let range = if in_row { range(part.codec, key.after(place)) } else { Range::Never };
                components.push(Component { field: part.field.clone(), codec: part.codec, in_row, range });
            }
        }
    }
    let is_complete = partition.parts().chain(row.parts()).all(|part| components.iter().any(|c| c.gives(part)));
    Path { start: start.clone(), index, components, is_complete, is_list: false }
}

fn range(codec: Codec, after: Option<&str>) -> Range {
    match codec {
        Codec::Width(_) | Codec::Desc | Codec::Sortable | Codec::Hour | Codec::Day | Codec::Month => Range::Always,
        Codec::Plain if after.is_some_and(|literal| literal.is_empty() || literal.starts_with('!')) => Range::OfOrder,
        Codec::Raw if after == Some("") => Range::Always,
        Codec::Plain => Range::OfFixedWidth,
        Codec::Raw | Codec::Lower | Codec::Shard(_) | Codec::Hash => Range::Never,
    }
}

impl Component {
    /// Whether `part` needs nothing more once this component has a value.
    fn gives(&self, part: &Part) -> bool {
        part.is_of(&self.field) && (!self.codec.is_bucket() || self.codec == part.codec)
    }

    /// The method that gives it.
    pub(crate) fn method(&self) -> Ident {
        let name = self.field.method.as_ref().unwrap_or(&self.field.ident);
        match self.codec {
            codec if codec.is_bucket() => suffixed(name, &codec.word()),
            _ => name.clone(),
        }
    }

    /// The method that gives a range of it.
    pub(crate) fn between(&self) -> Option<Ident> {
        (self.range != Range::Never).then(|| suffixed(&self.method(), "between"))
    }

    /// The method that gives the beginning of it.
    pub(crate) fn starts_with(&self) -> Option<Ident> {
        let may_be_text = self.in_row && matches!(self.codec, Codec::Plain | Codec::Lower | Codec::Raw);
        may_be_text.then(|| suffixed(&self.method(), "starts_with"))
    }
}

impl Path {
    /// The path of a list: every component is given, and none by a range.
    fn of_list(mut self) -> Self {
        for component in &mut self.components {
            (component.in_row, component.range) = (false, Range::Never);
        }
        Self { is_list: true, ..self }
    }

    /// How many components name the partition.
    pub(crate) fn partition_length(&self) -> usize {
        self.components.iter().filter(|component| !component.in_row).count()
    }

    /// `find(): department -> id`
    pub(crate) fn told(&self) -> String {
        let methods: Vec<_> = self.components.iter().map(|component| component.method().to_string()).collect();
        format!("{}(): {}", self.start, methods.join(" -> "))
    }
}

fn suffixed(name: &Ident, suffix: &str) -> Ident {
    format_ident!("{name}_{suffix}", span = name.span())
}
