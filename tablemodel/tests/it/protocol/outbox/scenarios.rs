//! What the outbox's model is run on, and the rules switched off one at a time.

use super::{
    Op::{self, Delete, Put},
    Outbox,
    Rule::{self, *},
    rows::Rows,
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;

/// One entity, with value `a` and its entry delivered.
fn entity(writers: &'static [&'static [(u8, Op)]], relays: usize) -> Outbox {
    Outbox { rows: Rows::empty().with(0, A), writers, relays, lost: 0, half_fences: 0, off: Off::NONE }
}

fn losing_a_reply(writers: &'static [&'static [(u8, Op)]], relays: usize) -> Outbox {
    Outbox { lost: 1, ..entity(writers, relays) }
}

fn with_time(half_fences: u8, writers: &'static [&'static [(u8, Op)]], relays: usize) -> Outbox {
    Outbox { half_fences, ..entity(writers, relays) }
}

const CHANGE_BACK: &[&[(u8, Op)]] = &[&[(0, Put(B)), (0, Put(A))]];
const DELETE_INSERT: &[&[(u8, Op)]] = &[&[(0, Delete), (0, Put(A))]];
const CHANGE_DELETE: &[&[(u8, Op)]] = &[&[(0, Put(B)), (0, Delete)]];
const RACING: &[&[(u8, Op)]] = &[&[(0, Put(B))], &[(0, Put(C))]];
const DELETE_RACING_INSERT: &[&[(u8, Op)]] = &[&[(0, Delete)], &[(0, Put(A))]];
/// Two entities with one value: with one contribution each, a list.
const TWO_ENTITIES: &[&[(u8, Op)]] = &[&[(0, Put(B)), (0, Delete)], &[(1, Put(B))]];

#[test]
fn entries_are_those_of_the_entity_whatever_two_relays_do() {
    holds("a change and back", &entity(CHANGE_BACK, 2));
    holds("a new image under the same entry", &entity(&[&[(0, Put(A)), (0, Put(A))]], 2));
    holds("delete, insert again", &entity(DELETE_INSERT, 2));
    holds("change, delete, insert again", &entity(&[&[(0, Put(B)), (0, Delete), (0, Put(A))]], 2));
    holds("two writers", &entity(RACING, 2));
    holds("delete racing insert", &entity(DELETE_RACING_INSERT, 2));
    holds("change and delete racing insert", &entity(&[&[(0, Put(B)), (0, Delete)], &[(0, Put(A))]], 1));
}

#[test]
fn a_lost_reply_changes_nothing() {
    holds("two writers, two relays", &losing_a_reply(RACING, 2));
    holds("delete racing insert", &losing_a_reply(DELETE_RACING_INSERT, 2));
    holds("change, delete, insert again", &losing_a_reply(&[&[(0, Put(B)), (0, Delete), (0, Put(A))]], 1));
}

#[test]
fn tombstones_may_go_after_the_fence() {
    holds("change, delete", &with_time(3, CHANGE_DELETE, 2));
    holds("delete, insert again", &with_time(3, DELETE_INSERT, 2));
    holds("delete racing insert, longer", &with_time(4, DELETE_RACING_INSERT, 1));
}

#[test]
fn lists_hold_one_contribution_per_owner() {
    holds("two entities, two relays", &entity(TWO_ENTITIES, 2));
    holds("two entities, a lost reply", &losing_a_reply(TWO_ENTITIES, 1));
    holds("two entities and time", &with_time(3, &[&[(0, Delete)], &[(1, Put(A))]], 1));
}

const MISSES: &str = "an entity misses its entry";
const STALE: &str = "an entry stands that its entity does not want";

/// Where a rule's absence shows, and as what. None: see [`either_of_two_rules_will_do`].
fn control(rule: Rule) -> Option<(Outbox, &'static str)> {
    Some(match rule {
        SequenceNeverGoesBack | PrimaryTombstone => (entity(DELETE_INSERT, 2), MISSES),
        ClocksAgree | PrimarySweptAfterFence => (with_time(3, DELETE_INSERT, 2), MISSES),
        PrimaryWaitsForDelivery | OutboxRowHasSequence => return None,
        EntryTombstone | TombstoneWhereNoneStood | ConditionalEntryWrite => (entity(CHANGE_BACK, 2), STALE),
        SequenceGuard => (entity(CHANGE_BACK, 2), MISSES),
        OneOwner => (entity(TWO_ENTITIES, 1), MISSES),
        EntrySweptAfterFence | AbandonAfterHalf => (with_time(4, DELETE_RACING_INSERT, 1), STALE),
        ConditionalEntryRemoval => (with_time(3, DELETE_INSERT, 1), MISSES),
        ConditionalPrimaryRemoval => (with_time(3, DELETE_INSERT, 1), STALE),
        OutboxInEgt => (entity(CHANGE_BACK, 1), STALE),
        PrimaryIfMatch => (entity(RACING, 1), STALE),
        OperationId => (losing_a_reply(RACING, 1), "one write was carried out twice"),
    })
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let Some((protocol, what)) = control(rule) else { continue };
        finds(&format!("without {rule:?}"), &Outbox { off: protocol.off.and(rule), ..protocol }, what);
    }
}

/// A primary tombstone that is held until its outbox rows are delivered, and outbox rows that have the number of their write,
/// guard against one thing: a relay that finds no primary and so has no number to write entries under.
#[test]
fn either_of_two_rules_will_do() {
    let protocol = with_time(3, DELETE_RACING_INSERT, 1);
    for rule in [PrimaryWaitsForDelivery, OutboxRowHasSequence] {
        for protocol in [protocol, with_time(3, DELETE_INSERT, 2), with_time(3, CHANGE_DELETE, 1)] {
            holds(&format!("without {rule:?}"), &Outbox { off: protocol.off.and(rule), ..protocol });
        }
    }
    let neither = protocol.off.and(PrimaryWaitsForDelivery).and(OutboxRowHasSequence);
    finds("without both", &Outbox { off: neither, ..protocol }, MISSES);
}

#[test]
#[ignore = "millions of states take minutes in an unoptimized build"]
fn either_of_two_rules_will_do_in_a_longer_run() {
    const WRITERS: &[&[(u8, Op)]] = &[&[(0, Put(B)), (0, Delete)], &[(0, Put(A))]];
    for rule in [PrimaryWaitsForDelivery, OutboxRowHasSequence] {
        let protocol = with_time(4, WRITERS, 1);
        holds(&format!("without {rule:?}"), &Outbox { off: protocol.off.and(rule), ..protocol });
    }
}
