//! What belongs together, in the order in which it was first met.
//!
//! Nothing is known here of what that is.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

/// The things of each key; keys and things in the order in which they come.
pub(crate) fn grouped<T: Copy, K: Hash + Eq>(things: impl IntoIterator<Item = T>, key: impl Fn(T) -> K) -> Vec<Vec<T>> {
    let (mut groups, mut places) = (Vec::<Vec<T>>::new(), HashMap::new());
    for thing in things {
        let at = *places.entry(key(thing)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(thing),
            None => groups.push(vec![thing]),
        }
    }
    groups
}

/// The things in turn, each with whether one before has its key.
pub(crate) fn in_turn<'t, T, K: Hash + Eq>(
    things: &'t [T],
    key: impl Fn(&'t T) -> K,
) -> impl Iterator<Item = (&'t T, bool)> {
    let several = things.len() > 1;
    let mut seen = HashSet::with_capacity(if several { things.len() } else { 0 });
    things.iter().map(move |thing| (thing, several && !seen.insert(key(thing))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_what_is_in_them_stay_in_order() {
        assert_eq!(grouped([30, 11, 20, 31, 10, 12], |number| number % 10), [vec![30, 20, 10], vec![11, 31], vec![12]]);
        assert!(grouped(Vec::<u8>::new(), |number| number).is_empty());
    }

    #[test]
    fn who_comes_again_is_told() {
        let again = |things: &[u8]| in_turn(things, |number| number % 10).map(|(_, again)| again).collect::<Vec<_>>();
        assert_eq!(again(&[1, 2, 11, 3, 2]), [false, false, true, false, true]);
        assert_eq!(again(&[1]), [false]);
    }
}
