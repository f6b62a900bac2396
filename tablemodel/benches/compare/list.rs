//! A list of many keys under one value: one insert more, and reading all keys.
//!
//! By hand it is a table of the value and the key, with a row for each.

use std::path::Path;

use tablemodel::{Database, ListPath as _, TableEntity, TableModel};

use crate::{
    Result,
    keyed::{Entry, Keyed},
    report::Figure,
    side::CACHE_BYTES,
    turns::Turns,
};

/// The names of the workloads.
pub(crate) const NAMES: [&str; 2] = ["insert into a long list", "keys of a long list"];
const TEAM: &str = "Everybody";
/// Inserts of a round.
const INSERTS: u32 = 16;

/// One of a team.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{office}", row = "empid_{id:06}")]
#[table(list(ids_by_team, row = "ids_{team}"))]
struct Person {
    office: String,
    id: u32,
    team: String,
}

#[derive(TableModel)]
enum People {
    Person(Person),
}

fn person(id: u32) -> Person {
    Person { office: "Seattle".to_owned(), id, team: TEAM.to_owned() }
}

fn rows(id: u32) -> Vec<Entry> {
    let key = format!("empid_{id:06}");
    let team = Entry { table: "teams", key: format!("{TEAM}/{key}"), value: Vec::new() };
    vec![Entry { table: "people", key, value: TEAM.as_bytes().to_vec() }, team]
}

/// Both workloads, where they are wanted: entities written, and keys read.
pub(crate) async fn measure(directory: &Path, quick: bool, wants: impl Fn(&str) -> bool) -> Result<Vec<Figure>> {
    let [insert, read] = NAMES;
    let (entities, rounds) = if quick { (2_000, 2) } else { (50_000, 21) };
    eprintln!("loading a list of {entities}");
    let ours = ours(&directory.join("people.tablemodel"), entities).await?;
    let by_hand = Keyed::open(&directory.join("people.redb"))?;
    by_hand.insert((0..entities).flat_map(rows).collect()).await?;
    let (mut figures, mut length) = (Vec::new(), entities);
    if wants(insert) {
        let first = |round| entities + round * INSERTS;
        let figure = Turns { workload: insert, entities, goal: None, rounds }.measure(
            async |round| {
                for id in first(round)..first(round + 1) {
                    drop(ours.insert(&person(id)).await?);
                }
                Ok(INSERTS)
            },
            async |round| {
                for id in first(round)..first(round + 1) {
                    by_hand.insert(rows(id)).await?;
                }
                Ok(INSERTS)
            },
        );
        figures.push(figure.await?);
        length = first(rounds + 1);
    }
    if wants(read) {
        let counted = |count: usize| if count == length as usize { Ok(length) } else { Err("keys are missing".into()) };
        let figure = Turns { workload: read, entities: length, goal: None, rounds }.measure(
            async |_| counted(Person::ids_by_team().office("Seattle").team(TEAM).keys(&ours).await?.len()),
            async |_| counted(by_hand.keys("teams", &format!("{TEAM}/"), &format!("{TEAM}0"))?.len()),
        );
        figures.push(figure.await?);
    }
    Ok(figures)
}

async fn ours(path: &Path, entities: u32) -> Result<Database> {
    let db = Database::builder().cache_bytes(CACHE_BYTES).open::<People>(path).await?;
    db.ensure_tables().await?;
    db.bulk().insert_all(futures_util::stream::iter((0..entities).map(person))).await?.into_result()?;
    Ok(db)
}
