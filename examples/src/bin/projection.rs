//! Projection: some of an entity's properties, so that only those travel. From an index it reads the index's rows
//! alone, and does not compile where they do not hold a field. Cost: one request per 1,000 rows, no point reads.

use tablemodel::prelude::*;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
#[table(index(by_name, row = "name_{last_name}_{id:06}", keep(email)))]
struct Employee {
    department: String,
    id: u32,
    last_name: String,
    email: String,
    #[table(json)]
    skills: Vec<String>,
    biography: String,
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = Employee)]
struct Card {
    id: u32,
    last_name: String,
    email: String,
}

#[derive(TableModel)]
enum Company {
    Employee(Employee),
}

#[tokio::main]
async fn main() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Company>().await?;
    db.ensure_tables().await?;
    for (id, last_name) in [(1, "Jones"), (2, "Smith")] {
        let email = format!("{}@contoso.com", last_name.to_lowercase());
        let (skills, biography) = (vec!["rust".to_owned()], "long ".repeat(4));
        let last_name = last_name.to_owned();
        db.insert(&Employee { department: "Sales".into(), id, last_name, email, skills, biography }).await?;
    }
    examples::print_rows(&db, "Company").await?;

    let from_primary = Employee::find().department("Sales").select::<Card>();
    println!("{}", from_primary.explain());
    assert_eq!(from_primary.all(&db).await?.len(), 2);

    let entities = Employee::by_name().department("Sales").last_name("Jones");
    let cards = Employee::by_name().department("Sales").last_name("Jones").select::<Card>();
    println!("entities by the index: {}\ncards by the index: {}", entities.explain(), cards.explain());
    let cards = cards.all(&db).await?;
    assert_eq!(cards, [Card { id: 1, last_name: "Jones".into(), email: "jones@contoso.com".into() }]);
    let whole = entities.all(&db).await?;
    assert_eq!(whole.first().map(|jones| jones.skills.clone()), Some(vec!["rust".to_owned()]));
    Ok(())
}
