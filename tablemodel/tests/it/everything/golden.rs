//! A store as this format keeps it, in the middle of its work: rows of every room, and what programs left that died over them.
//!
//! Whoever writes other bytes has changed the format, which FORMAT.md freezes; whoever cannot go on from these has lost somebody's data.
//! The file is written anew by `TABLEMODEL_OVERWRITE=1`, for rooms that are added, and never to fit the code.

use std::path::Path;

use tablemodel::{
    Consistency,
    testing::{Fault, Script, TestDatabase},
};

use super::{
    Model, Stage,
    rooms::{Op, assert_exact, prepared, run, stage},
};

const GOLDEN: &str = include_str!("golden.jsonl");

/// Operations, and the call of each before which its program dies.
const INTERRUPTED: [(Op, usize); 7] = [
    (Op::Insert, 8),
    (Op::Save, 6),
    (Op::Join, 9),
    (Op::Move, 12),
    (Op::Rename, 4),
    (Op::Transfer, 8),
    (Op::Delete, 4),
];

async fn halfway() -> TestDatabase {
    let mut db = prepared(Consistency::Azure).await;
    for (op, call) in INTERRUPTED {
        db.fail(Script::new().at(call, Fault::CrashBefore));
        assert!(
            run(&db, op).await.is_err() || db.relay().run_once().await.is_err(),
            "{op:?} does not come to call {call}"
        );
        db.fail(Script::new());
        db = db.reopen::<Model>().await.unwrap();
    }
    db
}

/// The rows without the store's own times, and without the leases, which name the programs of a test.
async fn exported(db: &TestDatabase) -> String {
    let (_, lines) = crate::transfer::exported(db).await;
    let is_lease = |line: &&str| line.contains("\"tmschema\"") && line.contains("\"app|");
    lines.lines().filter(|line| !is_lease(line)).map(|line| format!("{line}\n")).collect()
}

#[tokio::test]
async fn every_kind_of_row_is_written_as_the_format_has_it() {
    let lines = exported(&halfway().await).await;
    if std::env::var_os("TABLEMODEL_OVERWRITE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/everything/golden.jsonl");
        std::fs::write(path, &lines).unwrap();
    }
    let (written, golden): (Vec<_>, Vec<_>) = (lines.lines().collect(), GOLDEN.lines().collect());
    let differs = written.iter().zip(&golden).find(|(written, golden)| written != golden);
    assert!(differs.is_none(), "{differs:#?}");
    assert_eq!(written.len(), golden.len());
    for kind in [
        "~outbox@",
        "~dead@",
        "~held@",
        "~dirty@",
        "~part@",
        "~team@",
        "~Members@",
        "~Heads@",
        ".by_email@",
        ".called@",
        ".titled@",
        "~entity@",
        "~index@",
        "_dead",
        "_entries",
        "_move",
        "_rk",
    ] {
        assert!(GOLDEN.contains(kind), "{kind} is in no row");
    }
}

#[tokio::test]
async fn what_such_a_store_was_at_work_on_is_brought_to_its_end() {
    let db = halfway().await;
    let as_it_is = settled(&db).await.entities().await;
    let db = halfway().await; // its blobs are not among the rows
    db.drop_tables().await.unwrap();
    db.import(GOLDEN.as_bytes()).await.unwrap();
    let db = db.reopen::<Model>().await.unwrap();
    let found = settled(&db).await;
    assert_eq!(found.entities().await, as_it_is);
    assert_exact(&found, "from the golden rows").await;
}

async fn settled(db: &TestDatabase) -> Stage {
    let stage = stage(db);
    stage.settle().await;
    stage
}
