//! A lock from its text. Whatever is not as it was written is an error.

use super::{
    super::{Fingerprint, Format},
    FORMAT, Lock, LockError, LockProblem, LockedPlan, Section,
};

/// A section on its way.
struct Open<'a> {
    line: usize,
    /// Whether it is of a form that the entity moves to.
    is_coming: bool,
    discriminator: &'a str,
    entity_type: &'a str,
    version: u32,
    crate_name: &'a str,
    fingerprint: Fingerprint,
    facts: Vec<&'a str>,
}

impl Lock {
    /// The lock with this text.
    ///
    /// # Errors
    ///
    /// [`LockError`] says which line and section is wrong, and what to do.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let mut lines = (1..).zip(text.lines());
        let first = lines.next().map_or("", |(_, line)| line);
        let format: Option<u32> = first.strip_prefix("# tablemodel.lock, format ").and_then(|rest| rest.parse().ok());
        match format {
            Some(FORMAT) => {}
            Some(newer @ 1..) => return Err(error(1, None, LockProblem::Newer(newer))),
            // Of two sides that end their lines otherwise git finds no line alike.
            Some(0) | None if is_mark(first) => return Err(error(1, None, LockProblem::Conflict)),
            Some(0) | None => return Err(error(1, None, LockProblem::NotALock)),
        }
        let mut lock = Self::default();
        let mut open: Option<Open<'_>> = None;
        for (number, line) in lines {
            if let Some(fact) = line.strip_prefix("  ")
                && let Some(open) = &mut open
            {
                open.facts.push(fact);
            } else if !line.is_empty() && !line.starts_with('#') {
                let next = lock.head(number, line)?;
                lock.close(std::mem::replace(&mut open, next))?;
            }
        }
        lock.close(open)?;
        Ok(lock)
    }

    /// A line that begins something.
    fn head<'a>(&mut self, number: usize, line: &'a str) -> Result<Option<Open<'a>>, LockError> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["plan", id, fingerprint] if self.plan.is_none() => {
                if let Ok(fingerprint) = fingerprint.parse() {
                    self.plan = Some(LockedPlan { id: (*id).to_owned(), fingerprint });
                    return Ok(None);
                }
            }
            [word @ ("entity" | "coming"), discriminator, crate_name, fingerprint] => {
                let parts =
                    discriminator.split_once('@').and_then(|(name, version)| Some((name, version.parse().ok()?)));
                if let (Some((entity_type, version)), Ok(fingerprint)) = (parts, fingerprint.parse()) {
                    let (line, facts) = (number, Vec::new());
                    return Ok(Some(Open {
                        line,
                        is_coming: *word == "coming",
                        discriminator,
                        entity_type,
                        version,
                        crate_name,
                        fingerprint,
                        facts,
                    }));
                }
            }
            _ => {}
        }
        Err(error(number, None, if is_mark(line) { LockProblem::Conflict } else { LockProblem::Line(line.to_owned()) }))
    }

    fn close(&mut self, open: Option<Open<'_>>) -> Result<(), LockError> {
        let Some(open) = open else { return Ok(()) };
        let Open { line, is_coming, discriminator, entity_type, version, crate_name, fingerprint: said, facts } = open;
        let problem = |problem| error(line, Some(discriminator), problem);
        let format = Format::parse(entity_type, version, facts).map_err(|error| problem(LockProblem::Format(error)))?;
        let found = format.fingerprint();
        if found != said {
            return Err(problem(LockProblem::Edited { said, found }));
        }
        let is_it = |section: &Section| section.format.version == version;
        let is_there = self.versions(entity_type).chain(self.coming(entity_type)).any(is_it);
        if is_there || (is_coming && self.coming(entity_type).is_some()) {
            return Err(problem(LockProblem::Twice));
        }
        let section = Section { format, crate_name: crate_name.to_owned() };
        match is_coming {
            true => self.set_coming(entity_type, Some(section)),
            false => self.set(section),
        }
        Ok(())
    }
}

fn error(line: usize, section: Option<&str>, problem: LockProblem) -> LockError {
    LockError { line, section: section.map(str::to_owned), problem }
}

/// Whether git left the line in a merge.
fn is_mark(line: &str) -> bool {
    ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|mark| line.starts_with(mark))
}
