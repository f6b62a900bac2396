//! Changes that are made at once, and in halves where one of them is refused: so that only that one fails.
//!
//! Which of them are made next is decided here; nothing is planned or written.

use std::{iter, ops::Range};

use crate::{
    database::vain::{is_of_a_race, is_of_all},
    error::{Error, ErrorKind},
};

/// What is still to be made of a row of changes, in their order.
pub(super) struct Halves(Vec<Range<usize>>);

impl Halves {
    /// All of so many, at once.
    pub(super) fn of(changes: usize) -> Self {
        Self(iter::once(0..changes).collect())
    }

    /// Those that are made next.
    pub(super) fn next(&mut self) -> Option<Range<usize>> {
        iter::from_fn(|| self.0.pop()).find(|some| !some.is_empty())
    }

    /// They are made next, once more.
    pub(super) fn again(&mut self, some: Range<usize>) {
        self.0.push(some);
    }

    /// They were refused, or cannot be made at once: the error of each of them, or none where they are made in halves first. Those of one
    /// commit are `together`: it may have been refused for what only some of them met.
    pub(super) fn refused(&mut self, some: &Range<usize>, error: Option<Error>, together: bool) -> Option<Error> {
        match error {
            Some(error) if some.len() == 1 || concerns_all(&error, together) => Some(error),
            _ => {
                let middle = some.start + some.len() / 2;
                self.0.extend([middle..some.end, some.start..middle]);
                None
            }
        }
    }
}

/// Whether each of the changes would meet the same error, or may have been written.
fn concerns_all(error: &Error, together: bool) -> bool {
    match error.kind() {
        ErrorKind::OutcomeUnknown => true,
        ErrorKind::Unavailable if together => is_of_all(error), // else rows of others that go with them kept changing: fewer may do better
        // Else another is busy with what that one asks for, or that one's blob is refused.
        ErrorKind::Denied | ErrorKind::Unavailable => error.operation().is_none() && !is_of_a_race(error),
        _ => is_of_all(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made, in order, where nothing can be made with one of these.
    fn made(changes: usize, refused: &[usize]) -> (Vec<Range<usize>>, Vec<usize>) {
        let (mut halves, mut made, mut told) = (Halves::of(changes), Vec::new(), Vec::new());
        while let Some(some) = halves.next() {
            if !refused.iter().any(|one| some.contains(one)) {
                made.push(some);
            } else if halves.refused(&some, Some(Error::new(ErrorKind::AlreadyExists, "taken")), false).is_some() {
                told.extend(some);
            }
        }
        (made, told)
    }

    #[test]
    fn only_those_fail_that_are_refused_alone_and_the_others_are_made_in_their_order() {
        assert_eq!(made(8, &[]), (iter::once(0..8).collect(), vec![]));
        assert_eq!(made(8, &[5]), (vec![0..4, 4..5, 6..8], vec![5]));
        assert_eq!(made(5, &[0, 4]), (vec![1..2, 2..3, 3..4], vec![0, 4]));
        assert_eq!(made(0, &[]), (vec![], vec![]));
        for refused in 0..7 {
            let (made, told) = made(7, &[refused]);
            let made: Vec<_> = made.into_iter().flatten().collect();
            assert_eq!(told, [refused]);
            assert_eq!(made, (0..7).filter(|change| *change != refused).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_concerns_all_is_told_to_all_at_once() {
        let mut halves = Halves::of(8);
        let all = halves.next().expect("eight");
        let lost = Error::new(ErrorKind::OutcomeUnknown, "a reply was lost");
        assert!(halves.refused(&all, Some(lost), true).is_some());
        assert!(halves.next().is_none());
    }
}
