//! What a test says of an exploration: that the protocol holds, or that a rule switched off is found.

use std::time::Instant;

use super::checker::{Protocol, explore};

/// The protocol as it is: no reachable state is wrong.
pub(crate) fn holds(name: &str, protocol: &impl Protocol) {
    let begun = Instant::now();
    let outcome = explore(protocol);
    println!(
        "{name:<60} {:>8} states {:>7} rows {:>6.2} s",
        outcome.states,
        outcome.rows,
        begun.elapsed().as_secs_f64()
    );
    if let Some(wrong) = outcome.wrong {
        panic!("{name}:\n{}", wrong.trace);
    }
}

/// A rule switched off: it must be found, by this violation.
pub(crate) fn finds(name: &str, protocol: &impl Protocol, what: &str) {
    let begun = Instant::now();
    let outcome = explore(protocol);
    let wrong = outcome.wrong.unwrap_or_else(|| panic!("{name}: nothing wrong in {} states", outcome.states));
    println!(
        "{name:<60} {:>8} states {:>3} steps {:>6.2} s\n{}\n",
        outcome.states,
        wrong.steps,
        begun.elapsed().as_secs_f64(),
        wrong.trace
    );
    assert_eq!(wrong.what, what, "{name}:\n{}", wrong.trace);
}
