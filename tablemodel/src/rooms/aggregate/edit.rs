//! What changes in aggregates: what an entity beside them adds, when it was one and is another.
//!
//! What a cell then says is told where it is written.

use super::{Into, Rank, Term, term};
use crate::{
    error::Result,
    plan::{image::Image, known::Known, states::IndexState},
    schema::AggregateSchema,
};

/// What changes in an aggregate. With neither, its target comes or goes.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) into: Into,
    pub(crate) loss: Option<Term>,
    pub(crate) gain: Option<Term>,
    /// Whether what the cell says is not true from now on: its aggregate is not counted.
    pub(crate) spoils: bool,
    /// Whether each source was counted: else one may be that no cell knows of, as a program wrote it that has no such aggregate.
    pub(crate) is_counted: bool,
}

impl Edit {
    /// That the target comes or goes.
    pub(crate) fn of_target(into: Into) -> Self {
        Self { into, loss: None, gain: None, spoils: false, is_counted: true }
    }

    /// Of the least or greatest: a rank that changes.
    pub(crate) fn rank(&self) -> Option<&Rank> {
        [&self.loss, &self.gain].into_iter().flatten().find_map(|term| match term {
            Term::Rank(rank) => Some(rank),
            Term::Int(_) | Term::Float(_) => None,
        })
    }

    /// Of the least or greatest: the rank that a source leaves.
    pub(crate) fn lost(&self) -> Option<&Rank> {
        match &self.loss {
            Some(Term::Rank(rank)) => Some(rank),
            _ => None,
        }
    }

    /// What must be read to know what comes first afterwards, by the cell: where the first may go, the contributions behind
    /// it. Asked again once the cell is known.
    pub(crate) fn range(&self, known: &Known) -> Result<Option<String>> {
        let (Some(Term::Rank(lost)), Some(cell)) = (&self.loss, known.get(&self.into.cell())) else { return Ok(None) };
        if self.spoils {
            return Ok(None);
        }
        let first = self.into.total(cell.as_ref())?.rank(lost);
        let stays = self.loss == self.gain;
        Ok((first.as_ref() == Some(lost) && !stays).then(|| self.into.prefix()))
    }
}

/// The aggregates beside an entity that it adds to, by their numbers in the latest schema.
fn beside(image: &Image) -> impl Iterator<Item = (usize, &'static AggregateSchema)> {
    let (schema, latest) = (image.schema, image.latest);
    let first = schema.indexes.len() + schema.copies.len();
    let own = schema.aggregates.iter().enumerate().filter(|(_, aggregate)| aggregate.is_beside(schema));
    own.map(move |(at, aggregate)| match schema.version == latest.version {
        true => (first + at, aggregate),
        false => (latest.position_of(schema, first + at), aggregate),
    })
}

/// What changes in aggregates beside an entity when it was `old` and is `new`; `state` tells of an aggregate, by its number
/// in the latest schema, how far it is built. One that is not complete is told of a source that only moves in its partition too: who
/// counts the sources meanwhile may have met it at both keys, or at neither. So is one that ranks them: who reads, page by page, which
/// comes next may meet it at neither.
pub(crate) fn edits(
    old: Option<&Image>,
    new: Option<&Image>,
    state: impl Fn(usize) -> IndexState,
) -> Result<Vec<Edit>> {
    let kept = |image: Option<&Image>| -> Vec<_> {
        image.into_iter().flat_map(beside).filter(|(position, _)| state(*position) > IndexState::Absent).collect()
    };
    let moves = old.zip(new).is_some_and(|(old, new)| old.key != new.key);
    let (earlier, later) = (kept(old), kept(new));
    let only_earlier = earlier.iter().filter(|(at, _)| later.iter().all(|(other, _)| at != other));
    let mut edits = Vec::new();
    for (position, aggregate) in later.iter().chain(only_earlier) {
        let of = |all: &[(usize, &'static AggregateSchema)], image: Option<&Image>| {
            let own = all.iter().find(|(at, _)| at == position).zip(image);
            own.map(|((_, aggregate), image)| term(image, aggregate)).transpose().map(Option::flatten)
        };
        let (before, after) = (of(&earlier, old), of(&later, new));
        // What cannot be told of an entity came before the aggregate and was never counted; it may stay so until that is complete.
        let is_aside = before.is_err() && state(*position) < IndexState::Readable;
        let after = if is_aside { after.ok().flatten() } else { after? };
        let before = if is_aside { None } else { before? };
        let spoils = state(*position) == IndexState::DeleteOnly;
        let is_counted = state(*position) == IndexState::Readable;
        let is_read = moves && (!is_counted || aggregate.is_extreme());
        match (before, after) {
            (None, None) => {}
            (Some((into, loss)), Some((other, gain))) if into.place() == other.place() => {
                if loss != gain || is_read {
                    edits.push(Edit { into, loss: Some(loss), gain: Some(gain), spoils, is_counted });
                }
            }
            (before, after) => {
                let (before, after) = (
                    before.map(|(into, loss)| (into, Some(loss), None)),
                    after.map(|(into, gain)| (into, None, Some(gain))),
                );
                let both = before.into_iter().chain(after);
                edits.extend(both.map(|(into, loss, gain)| Edit { into, loss, gain, spoils, is_counted }));
            }
        }
    }
    Ok(edits)
}
