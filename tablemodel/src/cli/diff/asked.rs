//! Renames: written in the program, given by flags, or asked on a terminal; never guessed.

use std::io::Write;

use super::{super::outcome::Failure, Evolution};
use crate::format::{Change, Format};

/// What the user says of renames.
pub(super) struct Asked<'a> {
    /// `[ENTITY.]OLD`, `NEW`.
    pub(super) renames: &'a [(String, String)],
    /// Whether there are no others.
    pub(super) no_more: bool,
    /// Pairs that were said to be none, in an earlier call: `ENTITY.OLD`, `NEW`.
    pub(super) apart: &'a [(String, String)],
    /// Whether someone is there to answer.
    pub(super) asks: bool,
}

impl Asked<'_> {
    /// The renamed properties of an entity: the old name, the new one; those that stand in the program among them.
    pub(super) fn renames(
        &self,
        old: &Format,
        new: &Format,
        written: Vec<(String, String)>,
    ) -> Result<Vec<(String, String)>, Failure> {
        let own = self.renames.iter().filter_map(|(from, to)| {
            let (entity, from) =
                from.split_once('.').map_or((None, from.as_str()), |(entity, from)| (Some(entity), from));
            let is_meant = match entity {
                Some(entity) => entity == new.entity_type,
                None => old.properties.contains_key(from) && !new.properties.contains_key(from),
            };
            is_meant.then(|| (from.to_owned(), to.clone()))
        });
        let mut renames = written;
        for rename in own {
            if !renames.contains(&rename) {
                renames.push(rename);
            }
        }
        if self.asks && !self.no_more {
            self.ask(old, new, &mut renames)?;
        }
        Ok(renames)
    }

    /// Asks of each pair that is stored alike.
    fn ask(&self, old: &Format, new: &Format, renames: &mut Vec<(String, String)>) -> Result<(), Failure> {
        for (from, to) in self.alike(old, new, renames) {
            let is_told = renames.iter().any(|(old, new)| *old == from || *new == to);
            if !is_told && answer(&new.entity_type, &from, &to)? {
                renames.push((from, to));
            }
        }
        Ok(())
    }

    /// What may be a rename that nobody spoke of: a property that is gone, and a new one that is stored alike and would read as
    /// absent. Where the new one has to be computed, whoever writes the upgrade sees what is gone.
    pub(super) fn unsaid(&self, old: &Format, new: &Format, told: &[(String, String)]) -> Vec<(String, String)> {
        if self.asks || self.no_more {
            return Vec::new();
        }
        let mut pairs = self.alike(old, new, told);
        pairs.retain(|(_, to)| new.properties.get(to).is_some_and(|property| property.may_be_absent()));
        pairs
    }

    /// The pairs of a property that is gone and a new one that are stored alike, but for those told of.
    fn alike(&self, old: &Format, new: &Format, told: &[(String, String)]) -> Vec<(String, String)> {
        let gone = old.properties.iter().filter(|(name, _)| !new.properties.contains_key(*name));
        let pairs = gone.flat_map(|(from, was)| {
            let added = new.properties.iter().filter(|(name, _)| !old.properties.contains_key(*name));
            added.filter(|(_, is)| was.codec == is.codec).map(move |(to, _)| (from.clone(), to.clone()))
        });
        let is_open = |(from, to): &(String, String)| {
            let whole = format!("{}.{from}", new.entity_type);
            let is_apart = self.apart.iter().any(|(old, new)| (old, new) == (&whole, to));
            !is_apart && told.iter().all(|(old, new)| old != from && new != to)
        };
        pairs.filter(is_open).collect()
    }

    /// That every flag was of use.
    pub(super) fn check_used(&self, evolutions: &[Evolution<'_>]) -> Result<(), Failure> {
        for (from, to) in self.renames {
            let plain = from.rsplit('.').next().unwrap_or(from);
            let is =
                |change: &Change| matches!(change, Change::Renamed { from, to: new, .. } if from == plain && new == to);
            if !evolutions.iter().any(|evolution| evolution.changes.iter().any(is)) {
                return Err(Failure(format!("no property was renamed from `{from}` to `{to}`: use stored names")));
            }
        }
        Ok(())
    }
}

fn answer(entity: &str, from: &str, to: &str) -> Result<bool, Failure> {
    let mut out = std::io::stderr();
    write!(out, "{entity}: was {from} renamed to {to}? [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
