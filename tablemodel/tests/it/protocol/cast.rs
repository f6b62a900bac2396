//! Who plays in every family: writers with their programs, and relays that are all alike.

/// Names, for traces.
pub(crate) const WRITERS: [&str; 3] = ["writer 0", "writer 1", "writer 2"];
pub(crate) const RELAYS: [&str; 2] = ["relay 0", "relay 1"];

/// The number of a writer's next operation among all operations of all programs.
pub(crate) fn number<T>(programs: &[&[T]], writer: usize, next: u8) -> u8 {
    programs[..writer].iter().map(|program| program.len() as u8).sum::<u8>() + next
}

/// Which of two relays is which does not matter: the lesser comes first. (In a trace they may seem to change places.)
pub(crate) fn sort_relays<A: Ord>(actors: &mut [A], writers: usize, relays: usize) {
    if let Some(relays) = actors.get_mut(writers..writers + relays) {
        relays.sort_unstable();
    }
}

/// Lets a fresh relay deliver what is in `places`, first to last and last to first; what is wrong then.
pub(crate) fn settle<R: Copy>(
    rows: R,
    places: usize,
    deliver: impl Fn(&mut R, usize),
    wrong: impl Fn(&R) -> Option<&'static str>,
) -> Option<&'static str> {
    let settled = |order: &mut dyn Iterator<Item = usize>| {
        let mut rows = rows;
        order.for_each(|place| deliver(&mut rows, place));
        wrong(&rows)
    };
    settled(&mut (0..places)).or_else(|| settled(&mut (0..places).rev()))
}
