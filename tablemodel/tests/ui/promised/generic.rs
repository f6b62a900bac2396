//! Generic types, with other mistakes: each is told, and nothing of what is asked of the type.

use tablemodel::{Result, Stored, prelude::*};

#[derive(TableEntity)]
#[table(name = "Company", partition = "{department}", row = "e_{id:06}", zebra)]
#[table(index(by_note, row = "n_{note}_{id:06}", keep(id)), list(ids, row = "l_{note}"))]
struct Employee<'a, T, const N: usize> {
    department: String,
    id: u32,
    note: T,
    #[table(json)]
    notes: [T; N],
    #[table(skip)]
    borrowed: Option<&'a T>,
    #[table(flatten)]
    days: [T; 3],
}

#[derive(Property, KeyPart)]
#[table(zebra)]
struct Id<T>(T);

#[derive(Property)]
struct Address<T>
where
    T: Clone,
{
    #[table(zebra)]
    city: T,
}

type Staff = Employee<'static, u8, 3>;

#[derive(Projection)]
#[table(of = Staff, zebra)]
struct Card<T> {
    note: T,
}

#[derive(TableModel)]
enum Company<T> {
    Employee(Staff),
    Other(T, T),
}

#[derive(TableEntity)]
#[table(name = "Desks", partition = "{room}", row = "{owner}")]
struct Desk {
    room: String,
    owner: Id<u32>,
    #[table(flatten)]
    address: Address<String>,
}

async fn uses(db: &Database) -> Result<()> {
    let path = Employee::<u8, 3>::find().department("Sales").id_between(..);
    let all: Vec<Stored<Employee<'_, u8, 3>>> = path.all(db).await?;
    Employee::<u8, 3>::by_note().department("Sales").note(3).select::<Card<u8>>().all(db).await?;
    Employee::<u8, 3>::ids().department("Sales").note(3).keys(db).await?;
    db.batch(Employee::<u8, 3>::in_partition("Sales")).commit().await?;
    let _ = Company::<u8>::rows(Employee::<u8, 3>::in_partition("Sales"));
    let _ = all.first().map(|first| (first.note, Employee::<u8, 3>::NOTE));
    Desk::find().room("a").owner(Id(3)).one(db).await?;
    Ok(())
}

fn main() {}
