//! What the model of the hand-over is run on, and the rules switched off one at a time.

use super::{
    BLOCKED, HandOver,
    Op::{self, Delete, Insert, Move},
    Rule::{self, *},
    TWICE, UNCONFIRMED,
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

fn run(writers: &'static [&'static [Op]], relays: usize) -> HandOver {
    HandOver { writers, relays, pending: false, off: Off::NONE }
}

/// The entity's own claim is not confirmed yet, nor its outbox row delivered.
fn unsettled(writers: &'static [&'static [Op]], relays: usize) -> HandOver {
    HandOver { pending: true, ..run(writers, relays) }
}

const MOVE_AND_INSERT: &[&[Op]] = &[&[Move], &[Insert(2)]];
/// Into the key that the entity leaves, once the value is free again.
const MOVE_AND_COME_AFTER: &[&[Op]] = &[&[Move], &[Delete(1), Insert(0)]];

#[test]
fn a_claim_goes_with_its_entity() {
    holds("one move", &run(&[&[Move]], 2));
    holds("one move, unsettled", &unsettled(&[&[Move]], 2));
}

#[test]
fn nobody_takes_the_value_of_an_entity_under_way() {
    holds("an insert elsewhere", &run(MOVE_AND_INSERT, 1));
    holds("an insert elsewhere, unsettled", &unsettled(MOVE_AND_INSERT, 1));
    holds("an insert at the old key, unsettled", &unsettled(&[&[Move], &[Insert(0)]], 1));
    holds("moved, deleted, inserted elsewhere", &unsettled(&[&[Move], &[Delete(1)], &[Insert(2)]], 0));
    holds("moved, deleted, inserted at the old key", &run(MOVE_AND_COME_AFTER, 1));
}

#[test]
#[ignore = "two million states take a minute in an unoptimized build"]
fn nobody_takes_the_value_of_an_entity_under_way_three_programs() {
    holds("three programs", &run(&[&[Move], &[Delete(1)], &[Insert(0)]], 1));
}

/// Where a rule's absence shows, and as what.
fn control(rule: Rule) -> (HandOver, &'static str) {
    match rule {
        ReleaseReadsIntent => (unsettled(&[&[Move]], 1), UNCONFIRMED),
        ThiefReadsIntent | PrimaryThenIntent => (unsettled(MOVE_AND_INSERT, 1), UNCONFIRMED),
        MoveFinishedFirst => (unsettled(&[&[Move], &[Insert(0)]], 0), TWICE),
        HandedOver => (run(&[&[Move]], 1), UNCONFIRMED),
        IntentReadAgain => (run(MOVE_AND_COME_AFTER, 1), UNCONFIRMED),
        ConditionalHandOver => (run(&[&[Move]], 2), UNCONFIRMED),
        HandedOverAsPending => (run(MOVE_AND_COME_AFTER, 1), BLOCKED),
    }
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let (protocol, what) = control(rule);
        finds(&format!("without {rule:?}"), &HandOver { off: protocol.off.and(rule), ..protocol }, what);
    }
}
