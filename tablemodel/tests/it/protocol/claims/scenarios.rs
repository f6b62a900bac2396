//! What the model of claims is run on, and the rules switched off one at a time.

use super::{
    Claims, NEVER_HAD, NOT_TAKEN,
    Op::{self, Delete, Put},
    REPEATED,
    Rule::{self, *},
    TWICE,
    rows::{BLOCKED, Rows, UNCONFIRMED},
};
use crate::protocol::{
    report::{finds, holds},
    rules::Off,
};

const A: u8 = 0;
const B: u8 = 1;

type Programs = &'static [&'static [(u8, Op)]];

fn run(rows: Rows, writers: Programs, relays: usize) -> Claims {
    Claims { rows, writers, relays, lost: 0, sweeps: false, refuses: false, settles: true, off: Off::NONE }
}

fn losing_a_reply(rows: Rows, writers: Programs, relays: usize) -> Claims {
    Claims { lost: 1, ..run(rows, writers, relays) }
}

fn sweeping(rows: Rows, writers: Programs, relays: usize) -> Claims {
    Claims { sweeps: true, ..run(rows, writers, relays) }
}

fn refusing(rows: Rows, writers: Programs, relays: usize) -> Claims {
    Claims { refuses: true, ..run(rows, writers, relays) }
}

const NOBODY: Rows = Rows::EMPTY;
/// Entity 0 has value `a`.
const ONE: Rows = Rows::EMPTY.with(0, A);
const BOTH: Rows = ONE.with(1, B);

const BOTH_INSERT: Programs = &[&[(0, Put(A))], &[(1, Put(A))]];
const CHANGE_BACK: Programs = &[&[(0, Put(B)), (0, Put(A))]];
const CHANGE_BACK_OR_LOSE: Programs = &[&[(0, Put(B)), (0, Put(A))], &[(1, Put(A))]];
const TWO_OF_ONE_ENTITY: Programs = &[&[(0, Put(B))], &[(0, Put(B)), (0, Put(A))]];
const DELETE_OR_TAKE: Programs = &[&[(0, Delete)], &[(1, Put(A))]];
const DELETE_INSERT_OR_TAKE: Programs = &[&[(0, Delete), (0, Put(A))], &[(1, Put(A))]];
const TWO_OF_ONE_OR_TAKE: Programs = &[&[(0, Put(A))], &[(0, Put(A))], &[(1, Put(A))]];
const INSERT_DELETE_OR_TAKE: Programs = &[&[(0, Put(A))], &[(0, Delete)], &[(1, Put(A))]];

#[test]
fn a_value_has_one_owner_and_one_confirmed_claim() {
    holds("both insert", &run(NOBODY, BOTH_INSERT, 2));
    holds("one moves away", &run(ONE, &[&[(0, Put(B))], &[(1, Put(A))]], 2));
    holds("change and back", &run(ONE, CHANGE_BACK, 2));
    holds("change and back, another wants it", &run(ONE, CHANGE_BACK_OR_LOSE, 1));
    holds("delete, another wants it", &run(ONE, DELETE_OR_TAKE, 2));
    holds("delete, insert again, another wants it", &run(ONE, DELETE_INSERT_OR_TAKE, 1));
    holds("each wants the other's", &run(BOTH, &[&[(0, Put(B))], &[(1, Put(A))]], 2));
    holds("one moves away, then each wants the other's", &run(BOTH, &[&[(0, Delete)], &[(1, Put(A)), (1, Put(B))]], 1));
}

#[test]
fn two_writers_of_one_entity_keep_its_claim_confirmed() {
    holds("two of one entity", &run(ONE, TWO_OF_ONE_ENTITY, 1));
    holds("insert and delete, another wants it", &run(NOBODY, INSERT_DELETE_OR_TAKE, 1));
}

#[test]
#[ignore = "eight million states take minutes in an unoptimized build"]
fn two_writers_of_one_entity_and_a_third_of_another() {
    holds("three writers", &run(ONE, &[&[(0, Put(B))], &[(0, Put(B)), (0, Put(A))], &[(1, Put(B))]], 1));
}

#[test]
fn a_lost_reply_changes_nothing() {
    holds("both insert", &losing_a_reply(NOBODY, BOTH_INSERT, 1));
    holds("change and back, another wants it", &losing_a_reply(ONE, CHANGE_BACK_OR_LOSE, 1));
    holds("insert and delete, another wants it", &losing_a_reply(NOBODY, INSERT_DELETE_OR_TAKE, 0));
}

#[test]
fn tombstones_may_go_after_the_fence() {
    holds("both insert", &sweeping(NOBODY, BOTH_INSERT, 2));
    holds("delete, insert again, another wants it", &sweeping(ONE, DELETE_INSERT_OR_TAKE, 1));
    holds("insert and delete, another wants it", &sweeping(NOBODY, INSERT_DELETE_OR_TAKE, 0));
}

#[test]
fn a_writer_that_is_refused_may_give_its_claim_back() {
    holds("both insert", &refusing(NOBODY, BOTH_INSERT, 2));
    holds("two of one entity, another wants it", &refusing(NOBODY, TWO_OF_ONE_OR_TAKE, 0));
    holds("change and back, another wants it", &refusing(ONE, CHANGE_BACK_OR_LOSE, 1));
    holds("two of one entity", &refusing(ONE, TWO_OF_ONE_ENTITY, 1));
    holds("delete, insert again, another wants it", &refusing(ONE, DELETE_INSERT_OR_TAKE, 1));
    holds("a lost reply", &Claims { lost: 1, ..refusing(ONE, CHANGE_BACK_OR_LOSE, 0) });
}

/// Where a rule's absence shows, and as what. None: see [`expiry_is_not_what_makes_theft_safe`].
fn control(rule: Rule) -> Option<(Claims, &'static str)> {
    let meanwhile = |protocol| Claims { settles: false, ..protocol };
    Some(match rule {
        TheftAfterExpiry => return None,
        ImageBeforeClaim | RewrittenAsPending | ClaimsAgain | OwnerTouched | AbsentOwnerBuried | ConditionalTouch
        | ConditionalClaim | PrimaryIfMatch => (meanwhile(run(NOBODY, BOTH_INSERT, 0)), TWICE),
        OwnerRead => (meanwhile(run(NOBODY, BOTH_INSERT, 0)), TWICE),
        TombstoneForTheFence => (meanwhile(sweeping(NOBODY, BOTH_INSERT, 0)), TWICE),
        ClaimThenPrimary | OnlyConfirmedReleased | ConditionalRelease => {
            (meanwhile(run(ONE, CHANGE_BACK_OR_LOSE, 1)), TWICE)
        }
        ConditionalConfirm => (run(ONE, CHANGE_BACK, 2), BLOCKED),
        PendingRewrittenByRelease => (run(NOBODY, INSERT_DELETE_OR_TAKE, 0), BLOCKED),
        OwnConfirmedCheckedAgain => (run(ONE, TWO_OF_ONE_ENTITY, 0), UNCONFIRMED),
        OutboxRow => (run(ONE, DELETE_OR_TAKE, 1), BLOCKED),
        OnlyItsOwnGivenBack | ConditionalGivingBack => (meanwhile(refusing(NOBODY, TWO_OF_ONE_OR_TAKE, 0)), TWICE),
        PendingIsNotTaken => (run(NOBODY, BOTH_INSERT, 0), NOT_TAKEN),
        ReadsSkipPending => (run(NOBODY, BOTH_INSERT, 0), NEVER_HAD),
        OperationId => (losing_a_reply(NOBODY, INSERT_DELETE_OR_TAKE, 0), REPEATED),
    })
}

#[test]
fn each_rule_switched_off_is_found() {
    for &rule in Rule::ALL {
        let Some((protocol, what)) = control(rule) else { continue };
        finds(&format!("without {rule:?}"), &Claims { off: protocol.off.and(rule), ..protocol }, what);
    }
}

/// Expiry is there so that two writers do not rob each other for ever, and clocks need not agree on it.
#[test]
fn expiry_is_not_what_makes_theft_safe() {
    let off = Off::NONE.and(TheftAfterExpiry);
    holds("without TheftAfterExpiry", &Claims { off, ..run(NOBODY, BOTH_INSERT, 1) });
    holds("without TheftAfterExpiry", &Claims { off, ..run(ONE, CHANGE_BACK_OR_LOSE, 1) });
    holds("without TheftAfterExpiry", &Claims { off, ..run(NOBODY, INSERT_DELETE_OR_TAKE, 0) });
}
