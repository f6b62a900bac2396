//! A second fault while the relay recovers from a first: drawn at random, the same in every run.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use tablemodel::{
    Consistency,
    testing::{Script, TestDatabase},
};

use super::{
    Model,
    rooms::{Op, assert_exact, ops, prepared, run, stage},
};
use crate::crashes::faults;

const SAMPLES: usize = 240;

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The operation with this script, and the program that finds what it left.
async fn interrupted(prepared: &TestDatabase, op: Op, script: Script) -> TestDatabase {
    let db = prepared.fork().expect("in memory");
    db.forget_calls();
    db.fail(script);
    let _ = run(&db, op).await;
    db.fail(Script::new());
    db.reopen::<Model>().await.expect("opened")
}

/// How many calls recovery makes; with a script, as far as it comes.
async fn recover(db: &TestDatabase, script: Script) -> usize {
    db.clock().advance(Duration::from_secs(61));
    db.forget_calls();
    db.fail(script);
    let _ = db.relay().run_once().await;
    db.fail(Script::new());
    db.calls().len()
}

#[tokio::test]
async fn a_fault_while_the_relay_recovers_from_another_leaves_old_or_new() {
    let (ops, faults, mut dice, mut met) = (Vec::from_iter(ops()), faults(), Dice(5), 0);
    let mut known = BTreeMap::new();
    let (azure, atomic) = (prepared(Consistency::Azure).await, prepared(Consistency::Atomic).await);
    for sample in 0..SAMPLES {
        let prepared = if sample % 4 == 3 { &atomic } else { &azure };
        let mode = prepared.consistency();
        let op = ops[dice.below(ops.len())];
        if let Entry::Vacant(entry) = known.entry((sample % 4 == 3, op)) {
            let db = prepared.fork().expect("in memory");
            let before = stage(&db).entities().await;
            db.forget_calls();
            run(&db, op).await.expect("no fault");
            entry.insert((before, db.calls().len(), stage(&db).entities().await));
        }
        let (before, calls, after) = &known[&(sample % 4 == 3, op)];
        let (call, fault) = (dice.below(*calls), faults[dice.below(faults.len())].clone());
        let first = || Script::new().at(call, fault.clone());
        let steps = recover(&interrupted(prepared, op, first()).await, Script::new()).await;
        let (second, again) = (dice.below(steps.max(1)), faults[dice.below(faults.len())].clone());
        let told = format!(
            "sample {sample}: {mode:?} {op:?}, {fault:?} at call {call}, then {again:?} at {second} of {steps}"
        );
        let db = interrupted(prepared, op, first()).await;
        met += usize::from(recover(&db, Script::new().at(second, again)).await > second);
        let stage = stage(&db.reopen::<Model>().await.expect("opened"));
        stage.settle().await;
        let now = stage.entities().await;
        assert!(now == *before || now == *after, "{told}: {now:#?}");
        assert_exact(&stage, &told).await;
    }
    assert!(met > SAMPLES / 2, "only {met} met a second fault");
}
