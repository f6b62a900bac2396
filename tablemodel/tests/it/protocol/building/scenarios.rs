//! What the building of an index is run on, and the rules switched off one at a time.

use super::{
    Building, MISSES,
    Rule::{self, *},
    STALE, UNDONE,
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

/// Two programs that know the index, and learn of its states when they will.
const BOTH: Building = Building { writes: [2, 1], old: [false; 2], scrubs: false, off: Off::NONE };
/// The same with fewer writes.
const SHORT: Building = Building { writes: [1, 1], ..BOTH };
/// A program whose model does not have the index, and one whose model does.
const OLD: Building = Building { writes: [2, 2], old: [true, false], scrubs: false, off: Off::NONE };

const fn scrubbed(building: Building) -> Building {
    Building { scrubs: true, ..building }
}

fn without(building: Building, rules: &[Rule]) -> Building {
    Building { off: rules.iter().fold(building.off, |off, rule| off.and(*rule)), ..building }
}

#[test]
fn an_index_that_is_readable_is_complete() {
    holds("two programs", &SHORT);
    holds("two programs, scrubbed", &scrubbed(SHORT));
    holds("a program without the index", &OLD);
    holds("a program without the index, scrubbed", &scrubbed(OLD));
}

#[test]
#[ignore = "a million states take a minute in an unoptimized build"]
fn an_index_that_is_readable_is_complete_after_a_longer_run() {
    holds("two programs", &BOTH);
}

/// Where leases fail, since a program does not keep to them, the drain and the scrub find what it left.
#[test]
fn the_scrub_stands_in_for_leases() {
    holds("two apart, scrubbed", &without(scrubbed(OLD), &[OneApart]));
}

/// The backfill may write entries itself, as long as tombstones tell it what it missed.
#[test]
fn tombstones_stand_in_for_the_touch() {
    holds("the backfill writes the entry", &without(SHORT, &[TouchesEntity]));
    finds("..without tombstones", &without(BOTH, &[TouchesEntity, EntryTombstone]), STALE);
}

fn control(rule: Rule) -> Option<(Building, &'static str)> {
    let two_apart = without(scrubbed(OLD), &[OneApart]);
    Some(match rule {
        OneApart => (OLD, STALE),
        BackfillWhenAllWrite => (BOTH, MISSES),
        ConditionalTouch => (BOTH, UNDONE),
        RelaysKeepToLeases | LeavesWhatIsWanted => (BOTH, MISSES),
        DrainBeforeScrub => (two_apart, STALE),
        ConditionalScrub => (two_apart, MISSES),
        EntryTombstone => (SHORT, STALE),
        SequenceGuard => (SHORT, STALE),
        TouchesEntity => return None, // see `tombstones_stand_in_for_the_touch`
    })
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let Some((building, what)) = control(rule) else { continue };
        finds(&format!("without {rule:?}"), &without(building, &[rule]), what);
    }
}
