//! `verify` finds every violation that is planted, and invents none.
//!
//! Sabotage of a healthy store, through the port.

use std::collections::{BTreeMap, BTreeSet};

use tablemodel::{
    Properties, RowKey, Value, Violation, ViolationKind,
    prelude::*,
    store::{Action, Batch, Condition},
    testing::TestDatabase,
};

use super::{Account, Member, TABLE, account, database, member, plant_row, properties, rows_of, tombstone};

const ENTITIES: u32 = 10_000;
const PLANTED: usize = 25;

/// Members and accounts of every shape.
async fn healthy(entities: u32) -> TestDatabase {
    let db = database().await;
    let member_of = |id: u32| Member {
        email: (!id.is_multiple_of(5)).then(|| format!("m{id}@x")),
        is_active: id.is_multiple_of(2),
        note: id.is_multiple_of(3).then(|| "n".to_owned()),
        ..member(&format!("C{}", id % 50), id)
    };
    let members = (0..entities * 3 / 4).map(member_of);
    let accounts = (0..entities / 4).map(|id| account(&format!("C{}", id % 50), id));
    let written = db.bulk().insert_all(futures_util::stream::iter(members)).await.expect("bulk runs").written
        + db.bulk().insert_all(futures_util::stream::iter(accounts)).await.expect("bulk runs").written;
    assert_eq!(written, u64::from(entities));
    db
}

/// A small generator: which rows are hit is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

async fn write(db: &TestDatabase, key: &RowKey, action: Action) {
    let batch = Batch::new(TABLE, key.partition.clone()).with(key.row.clone(), action);
    db.store().commit(&[batch]).await.expect("planted");
}

/// One way to damage a row; which violation that is, and of which row.
type Damage = fn(&RowKey, &Properties) -> (Action, ViolationKind, RowKey);

fn replaced(row: &Properties, name: &'static str, value: impl Into<Value>) -> Action {
    let mut row = row.clone();
    row.insert(name, value);
    Action::Replace(row, Condition::Exists)
}

const OF_DERIVED: [Damage; 6] = [
    |key, _| (Action::Delete(Condition::Exists), ViolationKind::Missing, key.clone()),
    |key, row| (replaced(row, "Extra", 1), ViolationKind::Stale, key.clone()),
    |key, row| (replaced(row, "_rk", "m_999999"), ViolationKind::Stale, key.clone()),
    |key, row| (replaced(row, "_seq", i64::MAX), ViolationKind::Stale, key.clone()),
    |key, row| (replaced(row, "EntityType", "Member.by_email@1"), ViolationKind::Stale, key.clone()),
    |key, row| {
        let mut row = row.clone();
        row.remove("_rk");
        (Action::Replace(row, Condition::Exists), ViolationKind::Stale, key.clone())
    },
];

const OF_PRIMARY: [Damage; 4] = [
    |key, row| (replaced(row, "LastName", 7), ViolationKind::Corrupt, key.clone()),
    |key, row| {
        let mut row = row.clone();
        row.remove("City");
        (Action::Replace(row, Condition::Exists), ViolationKind::Corrupt, key.clone())
    },
    |key, row| (replaced(row, "EntityType", "Member@77"), ViolationKind::UnknownVersion, key.clone()),
    |key, row| (replaced(row, "Skills", 1.5), ViolationKind::Corrupt, key.clone()),
];

#[tokio::test]
async fn every_planted_violation_is_found_and_none_is_invented() {
    let db = healthy(ENTITIES).await;
    let before = db.verify().await.expect("verify runs");
    assert!(before.is_clean());
    assert_eq!((before.entities, before.foreign), (u64::from(ENTITIES), 0));
    let rows: Vec<_> = rows_of(&*db.store(), TABLE).await.into_values().collect();
    let is_primary = |row: &&Row| row.key.row.starts_with("m_");
    let derived: Vec<_> = rows.iter().filter(|row| row.properties.get("_rk").is_some()).collect();
    let primary: Vec<_> = rows.iter().filter(is_primary).collect();
    let (mut dice, mut hit) = (Dice(7), BTreeSet::new());
    let mut planted: BTreeMap<RowKey, ViolationKind> = BTreeMap::new();
    for (damages, of) in [(&OF_DERIVED[..], &derived), (&OF_PRIMARY[..], &primary)] {
        for damage in damages {
            for _ in 0..PLANTED {
                // No two of one entity: a primary row that cannot be read hides its derived ones.
                let row = loop {
                    let row = of[dice.below(of.len())];
                    let owner = match row.properties.get("_rk") {
                        Some(tablemodel::ValueRef::String(owner)) => owner.to_owned(),
                        _ => row.key.row.clone(),
                    };
                    if hit.insert((row.key.partition.clone(), owner)) {
                        break row;
                    }
                };
                let (action, kind, key) = damage(&row.key, &row.properties);
                write(&db, &row.key, action).await;
                planted.insert(key, kind);
            }
        }
    }
    for n in 0..PLANTED {
        // Rows of entities that never were, and of one that does not want them.
        let owner = if n % 2 == 0 { "m_999999".to_owned() } else { primary[dice.below(primary.len())].key.row.clone() };
        let key = RowKey::new(format!("C{}", n % 50), format!("city_Nowhere_{n:04}"));
        let dangling =
            properties([("EntityType", "Member.by_city@3".into()), ("_rk", owner.into()), ("_seq", 1_i64.into())]);
        write(&db, &key, Action::Insert(dangling)).await;
        planted.insert(key, ViolationKind::Dangling);
        // And what is no violation: tombstones, and rows of other programs.
        let (club, row) = (format!("C{}", n % 50), format!("m_{:04}", 9000 + n));
        write(&db, &RowKey::new(club.clone(), row), Action::Insert(tombstone("Member", 3, 5))).await;
        let theirs = properties([("Text", "theirs".into())]);
        write(&db, &RowKey::new(club, format!("theirs {n}")), Action::Insert(theirs)).await;
    }
    let found = db.verify().await.expect("verify runs");
    let found: BTreeMap<RowKey, ViolationKind> =
        found.violations.into_iter().map(|violation| (violation.key, violation.kind)).collect();
    assert_eq!(planted.len(), PLANTED * (OF_DERIVED.len() + OF_PRIMARY.len() + 1));
    let differences: Vec<_> = planted.iter().filter(|(key, kind)| found.get(*key) != Some(kind)).take(5).collect();
    assert!(differences.is_empty(), "not found as planted: {differences:?}");
    let invented: Vec<_> = found.iter().filter(|(key, _)| !planted.contains_key(*key)).take(5).collect();
    assert!(invented.is_empty(), "invented: {invented:?}");
}

/// Of many that are left as they are, beside some that are put right.
#[tokio::test]
async fn a_repair_tells_exactly_what_it_left_of_thousands_of_violations() {
    const UNKNOWN: u32 = 5_000;
    const LOST: u32 = 40;
    let db = healthy(400).await;
    let ids: Vec<_> = (1_000..1_000 + UNKNOWN).collect();
    for ids in ids.chunks(100) {
        let newer = |id: &u32| properties([("EntityType", "Account@77".into()), ("_seq", i64::from(*id).into())]);
        let batch = Batch::new(TABLE, "C7");
        let batch = ids.iter().fold(batch, |batch, id| batch.with(format!("a_{id:04}"), Action::Insert(newer(id))));
        db.store().commit(&[batch]).await.expect("planted");
    }
    for id in 0..LOST {
        super::remove_row(&db, &format!("C{id}"), &format!("badge_{id:06}")).await;
    }
    let repaired = db.repair().await.expect("repair runs");
    assert_eq!(repaired.found.violations.len(), (UNKNOWN + LOST) as usize);
    assert_eq!((repaired.left.len(), repaired.repaired), (UNKNOWN as usize, u64::from(LOST)));
    let is_unknown = |violation: &Violation| violation.kind == ViolationKind::UnknownVersion;
    // They are a newer program's, which reads them: who follows the words must not delete them.
    let is_told = |(violation, why): &(Violation, String)| {
        is_unknown(violation) && why.contains("repair with the newer program") && why.contains("do not delete it")
    };
    assert!(repaired.left.iter().all(is_told), "{:?}", repaired.left.first());
    let again = db.verify().await.expect("verify runs").violations;
    assert!(again.len() == UNKNOWN as usize && again.iter().all(is_unknown), "{}", again.len());
}

#[tokio::test]
async fn two_entities_with_one_unique_value_are_found_whoever_has_the_row() {
    for owner in [1_u32, 2] {
        let db = database().await;
        for id in [1, 2] {
            db.insert(&account("A", id)).await.expect("inserted");
        }
        let twin = super::row(&db, "A", &format!("a_{:04}", 3 - owner)).await.expect("there");
        let mut properties = twin.properties;
        properties.insert("Badge", i64::from(owner));
        plant_row(&db, "A", &twin.key.row, properties).await;
        super::remove_row(&db, "A", &format!("badge_{:06}", 3 - owner)).await;
        let violations = db.verify().await.expect("verify runs").violations;
        assert!(violations.iter().any(|violation| violation.kind == ViolationKind::Missing), "{violations:?}");
        assert!(violations.iter().all(|violation| violation.key.row == format!("badge_{owner:06}")), "{violations:?}");
    }
}

#[tokio::test]
async fn a_store_that_is_written_to_meanwhile_is_clean() {
    let db = healthy(600).await;
    let writer = {
        let db = db.clone();
        async move {
            for id in 0..300 {
                let path = Account::find().club(format!("C{}", id % 50)).id(id % 150);
                let _ = db.update(path, |account| Ok(account.badge = account.badge.map(|badge| badge + 1000))).await;
                tokio::task::yield_now().await;
            }
        }
    };
    let verifier = async {
        for _ in 0..10 {
            super::assert_clean(&db).await;
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(writer, verifier);
}
