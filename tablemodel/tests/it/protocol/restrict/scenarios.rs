//! What the model of `restrict` is run on, and the rules switched off one at a time.

use super::{
    BLOCKED,
    Op::{self, Delete, Leave, Refer},
    Restrict, Rows,
    Rule::{self, *},
    TORN, UNCONFIRMED,
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

fn run(rows: Rows, writers: &'static [&'static [Op]], relays: usize) -> Restrict {
    Restrict { rows, writers, relays, settles: true, off: Off::NONE }
}

#[test]
fn a_source_is_not_deleted_while_a_target_refers_to_it() {
    holds("one registers", &run(Rows::APART, &[&[Refer], &[Delete]], 2));
    holds("registers and leaves", &run(Rows::APART, &[&[Refer, Leave], &[Delete, Delete]], 1));
    holds("leaves and registers", &run(Rows::REFERRING, &[&[Leave, Refer], &[Delete]], 2));
}

#[test]
fn two_writers_of_one_target_keep_its_back_reference() {
    holds("both register", &run(Rows::APART, &[&[Refer], &[Refer], &[Delete]], 1));
    holds("one registers, one leaves", &run(Rows::APART, &[&[Refer], &[Leave], &[Delete]], 1));
}

/// Where a rule's absence shows, and as what.
fn control(rule: Rule) -> (Restrict, &'static str) {
    let registering = run(Rows::APART, &[&[Refer], &[Delete]], 0);
    match rule {
        ImageFirst
        | BackReferenceBeforeEgt
        | SourceTouched
        | RegistersAgain
        | SourceThenBackReferences
        | DeleteUnderEtag
        | TargetRead
        | TargetTouched => (Restrict { settles: false, ..registering }, TORN),
        PendingRewrittenByRelease => (run(Rows::APART, &[&[Refer], &[Leave]], 0), BLOCKED),
        OwnConfirmedCheckedAgain => (run(Rows::APART, &[&[Refer], &[Refer]], 0), UNCONFIRMED),
        OutboxRow => (registering, UNCONFIRMED),
    }
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let (protocol, what) = control(rule);
        finds(&format!("without {rule:?}"), &Restrict { off: protocol.off.and(rule), ..protocol }, what);
    }
}
