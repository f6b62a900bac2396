//! A thousand entities that copy one, in partitions of their own: they are loaded, and the one is changed, which is 1,001 rows and one wait for
//! the disk.
//!
//! By hand it is a table of who copies whom, and a transaction that writes all of them.

use std::path::Path;

use tablemodel::{Database, Path as _, Projection, TableEntity, TableModel};

use crate::{
    Result,
    keyed::{Entry, Keyed},
    report::Figure,
    side::CACHE_BYTES,
    turns::Turns,
};

/// The names of the workloads: entities loaded, and rows written.
pub(crate) const NAMES: [&str; 2] = ["load of 1,000 that copy one", "change of what 1,000 copy"];
/// At least how fast the change must be, as a share of the speed by hand.
const GOAL: f64 = 0.7;

/// Who is copied.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{office}", row = "empid_{id:06}")]
struct Director {
    office: String,
    id: u32,
    first_name: String,
    last_name: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Director)]
struct Card {
    first_name: String,
    last_name: String,
}

/// Who copies.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Departments", partition = "{number:06}", row = "department")]
struct Department {
    number: u32,
    title: String,
    budget: u64,
    office: String,
    director_id: u32,
    #[table(copy_of(Director, key(office = office, id = director_id)))]
    director: Option<Card>,
}

#[derive(TableModel)]
enum Group {
    Director(Director),
    Department(Department),
}

fn director(round: u32) -> Director {
    let name = |of: &str| format!("{of} {round}");
    Director { office: "Seattle".to_owned(), id: 1, first_name: name("First"), last_name: name("Last") }
}

fn department(number: u32) -> Department {
    let title = format!("Department number {number}");
    Department { number, title, budget: 1_000, office: "Seattle".to_owned(), director_id: 1, director: None }
}

/// Rounds of one load or change each.
pub(crate) async fn measure(directory: &Path, quick: bool, wants: impl Fn(&str) -> bool) -> Result<Vec<Figure>> {
    let (holders, rounds) = if quick { (50, 2) } else { (1_000, 31) };
    let [load, change] = NAMES;
    let mut figures = Vec::new();
    for (workload, directory) in [(load, directory.join("load")), (change, directory.join("change"))] {
        if wants(workload) {
            std::fs::create_dir(&directory)?;
            let sides = Sides::open(&directory, holders).await?;
            let goal = Some(GOAL).filter(|_| workload == change);
            let turns = Turns { workload, entities: holders, goal, rounds };
            figures.push(if workload == load { sides.load(turns).await? } else { sides.change(turns).await? });
        }
    }
    Ok(figures)
}

/// Both, with one who is copied by so many.
struct Sides {
    ours: Database,
    by_hand: Keyed,
    holders: u32,
}

impl Sides {
    async fn open(directory: &Path, holders: u32) -> Result<Self> {
        let ours = ours(&directory.join("departments.tablemodel"), holders).await?;
        let by_hand = Keyed::open(&directory.join("departments.redb"))?;
        by_hand.insert(std::iter::once(source(&director(0))).chain(rows(0..holders)).collect()).await?;
        Ok(Self { ours, by_hand, holders })
    }

    async fn load(self, turns: Turns) -> Result<Figure> {
        let Self { ours, by_hand, holders } = self;
        let new = |round: u32| (round + 1) * holders..(round + 2) * holders;
        let figure = turns.measure(
            async |round| {
                ours.bulk().insert_iter(new(round).map(department)).await?.into_result()?;
                Ok(holders)
            },
            async |round| {
                let copied = by_hand.values("people", &[source(&director(0)).key])?;
                if copied.iter().any(Vec::is_empty) {
                    return Err("the director cannot be read".into());
                }
                by_hand.insert(rows(new(round)).collect()).await?;
                Ok(holders)
            },
        );
        let figure = figure.await?;
        check(&ours, &by_hand, holders * 2, &director(0)).await?;
        Ok(figure)
    }

    async fn change(self, turns: Turns) -> Result<Figure> {
        let Self { ours, by_hand, holders } = self;
        let figure = turns.measure(
            async |round| {
                let changed = Director::find().office("Seattle").id(1);
                let next = director(round);
                let change = |director: &mut Director| {
                    director.clone_from(&next);
                    Ok(())
                };
                drop(ours.update(changed, change).await?);
                Ok(holders + 1)
            },
            async |round| {
                change(&by_hand, &director(round)).await?;
                Ok(holders + 1)
            },
        );
        let figure = figure.await?;
        check(&ours, &by_hand, holders, &director(turns.rounds)).await?;
        Ok(figure)
    }
}

/// That both sides did the same work.
async fn check(ours: &Database, by_hand: &Keyed, holders: u32, last: &Director) -> Result<()> {
    let number = holders / 2;
    let found = Department::find().number(number).one(ours).await?.ok_or("a department is missing")?;
    let value = by_hand.values("departments", &[format!("{number:06}")])?;
    let copied = found.director.as_ref().map(|card| (card.first_name.as_str(), card.last_name.as_str()));
    let is_alike = copied == Some((&last.first_name, &last.last_name)) && value == [encoded(number, last)];
    if is_alike { Ok(()) } else { Err("a copy is not what its source is".into()) }
}

async fn ours(path: &Path, holders: u32) -> Result<Database> {
    let db = Database::builder().cache_bytes(CACHE_BYTES).open::<Group>(path).await?;
    db.ensure_tables().await?;
    drop(db.insert(&director(0)).await?);
    let all = futures_util::stream::iter((0..holders).map(department));
    db.bulk().insert_all(all).await?.into_result()?;
    Ok(db)
}

fn encoded(number: u32, director: &Director) -> Vec<u8> {
    let Department { title, budget, office, director_id, .. } = department(number);
    let mut value = [&budget.to_le_bytes()[..], &director_id.to_le_bytes()].concat();
    for text in [&title, &office, &director.first_name, &director.last_name] {
        value.extend_from_slice(&(text.len() as u32).to_le_bytes());
        value.extend_from_slice(text.as_bytes());
    }
    value
}

fn source(director: &Director) -> Entry {
    let value = [director.first_name.as_bytes(), b"/", director.last_name.as_bytes()].concat();
    Entry { table: "people", key: "Seattle/empid_000001".to_owned(), value }
}

fn rows(numbers: std::ops::Range<u32>) -> impl Iterator<Item = Entry> {
    numbers.flat_map(|number| {
        let value = encoded(number, &director(0));
        let reference = Entry { table: "copies", key: format!("empid_000001/{number:06}"), value: Vec::new() };
        [Entry { table: "departments", key: format!("{number:06}"), value }, reference]
    })
}

/// Finds who copies, reads each, and writes all with the source.
async fn change(by_hand: &Keyed, director: &Director) -> Result<()> {
    let holders = by_hand.keys("copies", "empid_000001/", "empid_0000010")?;
    let keys: Vec<_> = holders.iter().filter_map(|key| key.split_once('/')).map(|(_, key)| key.to_owned()).collect();
    let old = by_hand.values("departments", &keys)?;
    let names = |value: &[u8]| value.len() >= 12;
    let mut rows = vec![source(director)];
    for (key, old) in keys.into_iter().zip(old) {
        if !names(&old) {
            return Err("a department cannot be read".into());
        }
        let value = encoded(key.parse()?, director);
        rows.push(Entry { table: "departments", key, value });
    }
    by_hand.put(rows).await
}
