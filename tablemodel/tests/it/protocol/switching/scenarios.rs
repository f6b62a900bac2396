//! What the switch is run on, and the rules switched off one at a time.

use super::{
    LOST,
    Rule::{self, *},
    STRAY, Switching,
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

/// Each program of the old form writes once, and the new one changes, then deletes.
const CHANGED: Switching =
    Switching { old: [&[Some(1)], &[Some(2)]], new: &[Some(0), None], failures: 1, taken_back: false, off: Off::NONE };
/// The entity comes back to the key that it had.
const RETURNS: Switching = Switching { old: [&[Some(1)], &[Some(0)]], new: &[Some(1), Some(0)], ..CHANGED };
/// It is deleted in its old form, or in its new one at once.
const DELETED: Switching = Switching { old: [&[Some(1), None], &[]], new: &[None], ..CHANGED };

/// The same, and somebody takes it back, unless it is switched.
const TAKEN_BACK: Switching = Switching { taken_back: true, ..CHANGED };

fn without(switching: Switching, rules: &[Rule]) -> Switching {
    Switching { off: rules.iter().fold(switching.off, |off, rule| off.and(*rule)), ..switching }
}

#[test]
fn what_was_written_last_is_what_the_form_that_is_kept_says() {
    holds("changed before and after", &CHANGED);
    holds("back at its key", &RETURNS);
    holds("deleted", &DELETED);
    holds("deleted, while one contracts after the other", &Switching { failures: 2, ..DELETED });
    holds("taken back", &TAKEN_BACK);
    holds("deleted, and taken back", &Switching { taken_back: true, ..DELETED });
}

/// To wait before the old form is closed is for those who write: closed it would be for as long as they live.
#[test]
fn the_second_wait_stands_in_for_the_first() {
    holds("closed before all have ended", &without(CHANGED, &[WaitsBeforeClosing]));
    finds("..and not waited for then", &without(CHANGED, &[WaitsBeforeClosing, WaitsAfterClosing]), LOST);
}

/// What an outbox row leaves that is delivered once shadows are ignored is dead; it is drained for the sake of those.
#[test]
fn that_shadows_are_ignored_stands_in_for_draining_them() {
    holds("taken back, and not drained before", &without(TAKEN_BACK, &[DrainsBeforeTakingBack]));
}

fn control(rule: Rule) -> Option<(Switching, &'static str)> {
    Some(match rule {
        WaitsBeforeClosing => return None, // see `the_second_wait_stands_in_for_the_first`
        Closes | KeepsToClosed | WaitsAfterClosing | DrainsFirst | KeepsTheSwitch | WaitsBeforeRemoving
        | SequenceGuard => (CHANGED, LOST),
        LeavesTombstones | PassesFence => (CHANGED, STRAY),
        HoldsTheRecord => (Switching { failures: 2, ..CHANGED }, LOST),
        DrainsBeforeTakingBack => return None, // see `that_shadows_are_ignored_stands_in_for_draining_them`
        WaitsBeforeLowering | WaitsForRelays => (TAKEN_BACK, STRAY),
    })
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let Some((switching, what)) = control(rule) else { continue };
        finds(&format!("without {rule:?}"), &without(switching, &[rule]), what);
    }
}
