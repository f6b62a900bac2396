//! What the model of copies is run on, and the rules switched off one at a time.

use super::{
    Copies,
    Op::{self, Delete, Leave, Put, Refer},
    Rule::{self, *},
    rows::{DANGLING, MISSING, ORPHANED, Rows, STALE},
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

const B: u8 = 1;
const C: u8 = 2;

fn run(rows: Rows, writers: &'static [&'static [Op]], relays: usize) -> Copies {
    Copies { rows, writers, relays, cascades: false, tolerates: &[], off: Off::NONE }
}

fn cascading(rows: Rows, writers: &'static [&'static [Op]], relays: usize) -> Copies {
    Copies { cascades: true, ..run(rows, writers, relays) }
}

#[test]
fn a_copy_follows_its_source() {
    holds("two changes", &run(Rows::COPIED, &[&[Put(B), Put(0)]], 2));
    holds("three changes", &run(Rows::COPIED, &[&[Put(B), Put(0), Put(B)]], 2));
    holds("two writers", &run(Rows::COPIED, &[&[Put(B)], &[Put(C)]], 2));
    holds("delete, insert again", &run(Rows::COPIED, &[&[Delete, Put(B)]], 2));
    holds("the source comes later", &run(Rows::AWAITED, &[&[Put(B), Delete]], 2));
}

#[test]
fn a_target_may_register_while_its_source_changes() {
    holds("one change", &run(Rows::APART, &[&[Put(B)], &[Refer]], 2));
    holds("two changes", &run(Rows::APART, &[&[Put(B), Put(0)], &[Refer]], 1));
    holds("delete", &run(Rows::APART, &[&[Delete], &[Refer]], 2));
    holds("leaves meanwhile", &run(Rows::COPIED, &[&[Put(B)], &[Leave]], 2));
    holds("leaves and comes back", &run(Rows::COPIED, &[&[Put(B)], &[Leave, Refer]], 1));
    holds("comes and leaves", &run(Rows::APART, &[&[Put(B)], &[Refer, Leave]], 1));
    holds("comes and leaves, two relays", &run(Rows::APART, &[&[Refer, Leave]], 2));
}

#[test]
fn a_target_goes_with_its_source_if_so_declared() {
    holds("delete", &cascading(Rows::COPIED, &[&[Delete]], 2));
    holds("delete while it registers", &cascading(Rows::APART, &[&[Delete], &[Refer]], 2));
    holds("delete, insert again", &cascading(Rows::COPIED, &[&[Delete, Put(B)]], 2));
    holds("delete while it leaves and comes back", &cascading(Rows::COPIED, &[&[Delete], &[Leave, Refer]], 1));
}

/// Where a rule's absence shows, and as what. None: see [`either_of_two_rules_will_do`].
fn control(rule: Rule) -> Option<(Copies, &'static str)> {
    let registering = run(Rows::APART, &[&[Put(B)], &[Refer]], 1);
    Some(match rule {
        CopiedSequence | SourceReadLast => return None,
        OutboxAlways | BackReferencesAfterEgt | BackReferenceFirst | SourceReadAgain => (registering, STALE),
        RegisteredAfterEgt => (Copies { tolerates: &[DANGLING], ..registering }, STALE),
        DeletesToo => (run(Rows::COPIED, &[&[Delete]], 1), STALE),
        TargetHasOutboxRow => (registering, MISSING),
        EqualIsNotNew => (run(Rows::APART, &[&[Put(B), Put(0)], &[Refer]], 1), STALE),
        CopyUnderEtag => (run(Rows::COPIED, &[&[Put(B)], &[Put(C)]], 1), STALE),
        BackReferenceGuard => (run(Rows::COPIED, &[&[Leave, Refer]], 2), MISSING),
        BackReferenceTombstone => (run(Rows::APART, &[&[Refer, Leave]], 2), DANGLING),
    })
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let Some((protocol, what)) = control(rule) else { continue };
        finds(&format!("without {rule:?}"), &Copies { off: protocol.off.and(rule), ..protocol }, what);
    }
    let silent = cascading(Rows::COPIED, &[&[Delete]], 1);
    finds("without DeletesToo", &Copies { off: silent.off.and(DeletesToo), ..silent }, ORPHANED);
}

/// The source's number beside the copy saves writes; without it, a target that is read before its source, and written whatever
/// it holds, is right too.
#[test]
fn either_of_two_rules_will_do() {
    let scenarios = [
        run(Rows::APART, &[&[Put(B), Put(0)], &[Refer]], 1),
        run(Rows::COPIED, &[&[Put(B), Put(0), Put(B)]], 2),
        run(Rows::COPIED, &[&[Put(B)], &[Leave, Refer]], 1),
    ];
    for rule in [CopiedSequence, SourceReadLast] {
        for protocol in scenarios {
            holds(&format!("without {rule:?}"), &Copies { off: protocol.off.and(rule), ..protocol });
        }
    }
    let protocol = run(Rows::COPIED, &[&[Put(B)], &[Put(C)]], 1);
    finds("without both", &Copies { off: protocol.off.and(CopiedSequence).and(SourceReadLast), ..protocol }, STALE);
}
