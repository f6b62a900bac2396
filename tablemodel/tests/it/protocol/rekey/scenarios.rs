//! What the model of rekey is run on, and the rules switched off one at a time.

use super::{
    Op::{self, Delete, Insert, Move},
    Rekey,
    Rule::{self, *},
    rows::{NOWHERE, RISEN, Rows, TWICE},
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

fn run(rows: Rows, writers: &'static [&'static [Op]], relays: usize) -> Rekey {
    Rekey { rows, writers, relays, returns: false, off: Off::NONE }
}

#[test]
fn an_entity_that_moves_exists_once() {
    holds("one move", &run(Rows::ONE, &[&[Move(0, 1)]], 2));
    holds("moved, deleted", &run(Rows::ONE, &[&[Move(0, 1), Delete(1)]], 2));
    holds("deleted at the new key by another", &run(Rows::ONE, &[&[Move(0, 1)], &[Delete(1)]], 2));
    holds("deleted at the old key by another", &run(Rows::ONE, &[&[Move(0, 1)], &[Delete(0)]], 2));
    holds("there and back and on", &run(Rows::ONE, &[&[Move(0, 1), Move(1, 0), Move(0, 2)]], 2));
}

#[test]
fn a_taken_key_is_found_before_anything_moves() {
    holds("an insert at the new key", &run(Rows::ONE, &[&[Move(0, 1)], &[Insert(1)]], 2));
    holds("an insert that goes again", &run(Rows::ONE, &[&[Move(0, 1)], &[Insert(1), Delete(1)]], 2));
    holds("two entities to one key", &run(Rows::TWO, &[&[Move(0, 1)], &[Move(2, 1)]], 2));
    holds("one makes room for the other", &run(Rows::TWO, &[&[Move(0, 1), Move(1, 2)], &[Move(2, 0)]], 2));
}

#[test]
fn two_programs_may_move_one_entity() {
    holds("to one key", &run(Rows::ONE, &[&[Move(0, 1)], &[Move(0, 1)]], 2));
    holds("to two keys", &run(Rows::ONE, &[&[Move(0, 1)], &[Move(0, 2)]], 2));
    holds("the next life too", &run(Rows::ONE, &[&[Move(0, 1)], &[Delete(1), Insert(0), Move(0, 1)]], 2));
    holds("three programs", &run(Rows::ONE, &[&[Move(0, 1)], &[Move(0, 1)], &[Insert(1), Delete(1)]], 1));
}

/// Where a rule's absence shows, and as what.
fn control(rule: Rule) -> (Rekey, &'static str) {
    let taken = run(Rows::ONE, &[&[Move(0, 1)], &[Insert(1)]], 1);
    let moved_on = run(Rows::ONE, &[&[Move(0, 1), Move(1, 0), Move(0, 2)]], 1);
    match rule {
        TargetReserved
        | ImageBeforeReservation
        | ReservesAgain
        | ConditionalReservation
        | ReservationNotSwept
        | ThiefReadsIntent
        | PrimaryThenIntent
        | MoverTouched
        | ConditionalTouch => (taken, NOWHERE),
        OldUnderEtag => (run(Rows::ONE, &[&[Move(0, 1)], &[Move(0, 2)]], 1), TWICE),
        IntentInEgt => (run(Rows::ONE, &[&[Move(0, 1)]], 1), NOWHERE),
        OnlyReservationReplaced | ConditionalPlacing => (moved_on, TWICE),
        ReservationNamesMove => (run(Rows::ONE, &[&[Move(0, 1)], &[Delete(1), Insert(0), Move(0, 1)]], 1), NOWHERE),
        IntentKeyHasNumber => (moved_on, NOWHERE),
    }
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let (protocol, what) = control(rule);
        finds(&format!("without {rule:?}"), &Rekey { off: protocol.off.and(rule), ..protocol }, what);
    }
}

/// Without reservations, going back to the old key when the new one is taken is no cure.
#[test]
fn going_back_is_no_cure() {
    let returning = |writers, relays| Rekey {
        returns: true,
        off: Off::NONE.and(TargetReserved),
        ..run(Rows::ONE, writers, relays)
    };
    finds("deleted at the new key", &returning(&[&[Move(0, 1)], &[Delete(1)]], 1), RISEN);
    finds("moved on", &returning(&[&[Move(0, 1), Move(1, 0)]], 1), TWICE);
}
