//! Entities that copy one of those that they count: whoever writes a source writes the one row for both reasons, and never
//! hears of others who wrote that row meanwhile.

use futures_util::FutureExt;
use tablemodel::{Result, prelude::*, testing::TestDatabase};

use super::settle;
use crate::stall::Program;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{team}", row = "m_{id:04}")]
#[table(count(Team, key(name = team), into = heads))]
#[table(sum(Team, key(name = team), of = pay, into = payroll))]
struct Member {
    team: String,
    id: u32,
    name: String,
    pay: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Staff", partition = "{name}", row = "team")]
struct Team {
    name: String,
    title: String,
    leader: Option<u32>,
    #[table(copy_of(Member, key(team = name, id = leader)))]
    led_by: Option<Card>,
    #[table(aggregate)]
    heads: i64,
    #[table(aggregate)]
    payroll: i64,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Member)]
struct Card {
    name: String,
}

#[derive(TableModel)]
enum Model {
    Member(Member),
    Team(Team),
}

/// The number of who leads team A.
const LEADER: u32 = 1;

fn member(team: &str, id: u32) -> Member {
    Member { team: team.into(), id, name: format!("M{id}"), pay: 10 * id }
}

fn team(name: &str, leader: Option<u32>) -> Team {
    Team { name: name.into(), title: "first".into(), leader, led_by: None, heads: 0, payroll: 0 }
}

/// What a program does; no two of them change the same entity, but all change what team A holds.
#[derive(Debug, Clone, Copy)]
enum Op {
    HireLeader,
    RenameLeader,
    PayLeader,
    FireLeader,
    /// From team B, under the number of the leader, who is not there.
    MoveLeaderIn,
    MoveLeaderOut,
    /// In one batch with a patch of the team.
    RenameLeaderAndPatch,
    /// In one batch with the team, written over whatever it is.
    RenameLeaderAndPut,
    Hire,
    Pay,
    Retitle,
}

impl Op {
    fn needs_leader(self) -> bool {
        !matches!(self, Self::HireLeader | Self::MoveLeaderIn)
    }
}

const OF_LEADER: [Op; 8] = [
    Op::HireLeader,
    Op::RenameLeader,
    Op::PayLeader,
    Op::FireLeader,
    Op::MoveLeaderIn,
    Op::MoveLeaderOut,
    Op::RenameLeaderAndPatch,
    Op::RenameLeaderAndPut,
];
const OF_OTHERS: [Op; 3] = [Op::Hire, Op::Pay, Op::Retitle];

async fn found(db: &Database, team: &str, id: u32) -> Result<Stored<Member>> {
    Ok(Member::find().team(team).id(id).one(db).await?.expect("nobody else takes it"))
}

async fn run(db: &Database, op: Op) -> Result<()> {
    match op {
        Op::HireLeader => db.insert(&member("A", LEADER)).await.map(drop),
        Op::RenameLeader => {
            let mut leader = found(db, "A", LEADER).await?;
            leader.name = "other".into();
            db.save(&mut leader).await
        }
        Op::PayLeader => db.update(Member::find().team("A").id(LEADER), |it| Ok(it.pay = 77)).await.map(drop),
        Op::FireLeader => db.delete(found(db, "A", LEADER).await?).await,
        Op::MoveLeaderIn | Op::MoveLeaderOut => {
            let (from, to) = if matches!(op, Op::MoveLeaderIn) { ("B", "A") } else { ("A", "B") };
            let mut moving = found(db, from, LEADER).await?;
            moving.team = to.into();
            db.rekey(&mut moving).await
        }
        Op::RenameLeaderAndPatch | Op::RenameLeaderAndPut => {
            let mut leader = found(db, "A", LEADER).await?;
            leader.name = "other".into();
            let mut batch = db.batch(Team::in_partition("A"));
            match op {
                Op::RenameLeaderAndPatch => batch.patch(Team::find().name("A"), Team::TITLE.set("third")),
                _ => batch.upsert(&team("A", Some(LEADER))),
            };
            batch.save(&mut leader);
            batch.commit().await
        }
        Op::Hire => db.insert(&member("A", 9)).await.map(drop),
        Op::Pay => db.update(Member::find().team("A").id(2), |it| Ok(it.pay = 55)).await.map(drop),
        Op::Retitle => db.update(Team::find().name("A"), |it| Ok(it.title = "second".into())).await.map(drop),
    }
}

async fn prepared(with_leader: bool) -> TestDatabase {
    let db = TestDatabase::new::<Model>().await.unwrap();
    db.insert(&team("A", Some(LEADER))).await.unwrap();
    db.insert(&team("B", None)).await.unwrap();
    db.insert(&member("A", 2)).await.unwrap();
    db.insert(&member(if with_leader { "A" } else { "B" }, LEADER)).await.unwrap();
    settle(&db).await;
    db
}

async fn assert_exact(db: &TestDatabase, told: &str) {
    settle(db).await;
    for name in ["A", "B"] {
        let there = Team::find().name(name).one(db).await.unwrap().unwrap();
        let members = Member::find().team(name).all(db).await.unwrap();
        let leader = members.iter().find(|it| Some(it.id) == there.leader).map(|it| it.name.as_str());
        let payroll = members.iter().map(|it| i64::from(it.pay)).sum();
        assert_eq!((there.heads, there.payroll), (members.len() as i64, payroll), "{told}");
        assert_eq!(there.led_by.as_ref().map(|card| card.name.as_str()), leader, "{told}");
    }
    let report = db.verify().await.unwrap();
    assert!(report.violations.is_empty(), "{told}: {:?}", report.violations);
}

/// Whether the first came as far as the call before which it was to stall.
async fn race(base: &TestDatabase, [first, second]: [Op; 2], at: usize, told: &str) -> bool {
    let db = base.fork().expect("in memory");
    let (other, during) = (db.database().clone(), told.to_owned());
    let meanwhile = async move { run(&other, second).await.unwrap_or_else(|error| panic!("{during}: {error:?}")) };
    let program = Program::stalling::<Model>(&db, at, meanwhile.boxed()).await;
    run(&program.db, first).await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    assert_exact(&db, told).await;
    program.has_stalled()
}

#[tokio::test]
async fn who_writes_a_source_never_hears_that_its_holder_and_count_changed() {
    let (with, without) = (prepared(true).await, prepared(false).await);
    let mut races = 0;
    for of_leader in OF_LEADER {
        for of_others in OF_OTHERS {
            let base = if of_leader.needs_leader() { &with } else { &without };
            for pair in [[of_leader, of_others], [of_others, of_leader]] {
                for at in 0.. {
                    if !race(base, pair, at, &format!("{pair:?}, the second before call {at}")).await {
                        break;
                    }
                    races += 1;
                }
            }
        }
    }
    assert!(races > 300, "{races} races");
}
