//! Lines that say by which properties an entity knows another, compared while a program compiles. What the other one calls its property
//! is that one's to change: a struct that is frozen says it as it is called today, and the lock as it was called then.

use super::gate::first_line;
use crate::schema::same_bytes;

/// The lines of one side of a comparison.
#[derive(Clone, Copy)]
pub(super) enum Side<'a> {
    /// Of the program: a text.
    Facts(&'a [u8]),
    /// Of the lock.
    Locked(&'a [&'a str]),
}

impl<'a> Side<'a> {
    /// The first line, and the rest.
    const fn next(self) -> Option<(&'a [u8], Self)> {
        match self {
            Self::Facts(text) => match first_line(text) {
                Some((line, rest)) => Some((line, Self::Facts(rest))),
                None => None,
            },
            Self::Locked([line, rest @ ..]) => Some((line.as_bytes(), Self::Locked(rest))),
            Self::Locked([]) => None,
        }
    }
}

/// `aggregate Team.Members key Name = Team`, or of a copy: what is tied, the property of the other entity, and the own one.
struct Tie<'l> {
    what: &'l [u8],
    theirs: &'l [u8],
    own: &'l [u8],
}

impl<'l> Tie<'l> {
    const fn of(line: &'l [u8]) -> Option<Self> {
        let ([b'a', b'g', ..] | [b'c', ..]) = line else { return None };
        let Some((what, key)) = cut(line, b" key ") else { return None };
        let Some((theirs, own)) = cut(key, b" = ") else { return None };
        Some(Self { what, theirs, own })
    }

    /// Whether a side ties the same by this property of the other entity.
    const fn is_named_in(&self, mut side: Side<'_>) -> bool {
        while let Some((line, rest)) = side.next() {
            if let Some(other) = Tie::of(line)
                && same_bytes(other.what, self.what)
                && same_bytes(other.theirs, self.theirs)
            {
                return true;
            }
            side = rest;
        }
        false
    }
}

/// Whether a line of one side stands on the other with another name of the other entity's property. A name that both sides have is of one
/// property, and may not have come to be another's.
pub(super) const fn is_renamed(line: &[u8], here: Side<'_>, mut there: Side<'_>) -> bool {
    let Some(tie) = Tie::of(line) else { return false };
    if tie.is_named_in(there) {
        return false;
    }
    while let Some((line, rest)) = there.next() {
        if let Some(other) = Tie::of(line)
            && same_bytes(other.what, tie.what)
            && same_bytes(other.own, tie.own)
            && !other.is_named_in(here)
        {
            return true;
        }
        there = rest;
    }
    false
}

/// What stands before and behind the first such mark.
const fn cut<'l>(line: &'l [u8], mark: &[u8]) -> Option<(&'l [u8], &'l [u8])> {
    let mut start = 0;
    while let Some((before, rest)) = line.split_at_checked(start)
        && let Some((found, behind)) = rest.split_at_checked(mark.len())
    {
        if same_bytes(found, mark) {
            return Some((before, behind));
        }
        start += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKED: [&str; 3] = ["aggregate A.B keeps count", "copy c key Club = Club", "copy c key Name = Team"];

    fn renamed(facts: &[&str]) -> Vec<bool> {
        let text: Vec<u8> = facts.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
        let (here, there) = (Side::Facts(&text), Side::Locked(&LOCKED));
        let back = LOCKED.iter().map(|line| is_renamed(line.as_bytes(), there, here));
        let forth = facts.iter().map(|line| is_renamed(line.as_bytes(), here, there));
        forth.chain(back).collect()
    }

    #[test]
    fn a_property_of_another_entity_may_have_another_name_and_none_that_is_another_ones() {
        let (own, other) = ("copy c key Club = Club", "copy c key Title = Team");
        assert_eq!(renamed(&[own, other]), [false, true, false, false, true]);
        assert_eq!(renamed(&["copy c key Club = Team", "copy c key Title = Club"]), [false; 5]);
        assert_eq!(renamed(&[own, "copy c key Title = Id"]), [false; 5]);
        assert_eq!(renamed(&[own, "copy d key Title = Team"]), [false; 5]);
        assert_eq!(renamed(&[own, "copy c key Title = Club"]), [false; 5]);
        assert_eq!(renamed(&[own]), [false; 4]);
    }
}
