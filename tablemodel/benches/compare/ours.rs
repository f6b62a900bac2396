//! Our side: the public interface of tablemodel, as a user would write it.
//!
//! Nothing is cached or prepared here.

use std::path::Path;

use futures_util::StreamExt;
use tablemodel::{Database, Path as _, Projection, Stored};

use crate::{
    Result,
    employee::{Employee, OFFICE, Staff},
    side::Side,
};

/// Employees kept by tablemodel.
#[derive(Clone)]
pub(crate) struct Ours(Database);

/// What the index by last name keeps.
#[derive(Debug, Projection)]
#[table(of = Employee)]
struct Card {
    email: String,
}

impl Side for Ours {
    type Kept = Stored<Employee>;

    async fn open(path: &Path, cache_bytes: usize) -> Result<Self> {
        let db = Database::builder().cache_bytes(cache_bytes).open::<Staff>(path).await?;
        db.ensure_tables().await?;
        Ok(Self(db))
    }

    async fn bulk(&self, employees: Vec<Employee>) -> Result<()> {
        let report = self.0.bulk().insert_all(futures_util::stream::iter(employees)).await?;
        report.into_result()?;
        Ok(())
    }

    async fn insert(&self, employee: Employee) -> Result<Self::Kept> {
        Ok(self.0.insert(&employee).await?)
    }

    async fn get(&self, id: u32) -> Result<Option<Self::Kept>> {
        Ok(Employee::find().office(OFFICE).id(id).one(&self.0).await?)
    }

    async fn by_email(&self, email: &str) -> Result<Option<Self::Kept>> {
        Ok(Employee::by_email().office(OFFICE).email(email).one(&self.0).await?)
    }

    async fn range(&self, first: u32, last: u32) -> Result<Vec<Self::Kept>> {
        Ok(Employee::find().office(OFFICE).id_between(first..=last).all(&self.0).await?)
    }

    async fn emails_of(&self, last_name: &str) -> Result<Vec<String>> {
        let cards = Employee::by_last_name().office(OFFICE).last_name(last_name).select::<Card>().all(&self.0).await?;
        Ok(cards.into_iter().map(|card| card.email).collect())
    }

    async fn rename(&self, id: u32, last_name: &str) -> Result<Self::Kept> {
        let rename = |employee: &mut Employee| {
            last_name.clone_into(&mut employee.last_name);
            Ok(())
        };
        Ok(self.0.update(Employee::find().office(OFFICE).id(id), rename).await?)
    }

    async fn delete(&self, kept: Self::Kept) -> Result<()> {
        Ok(self.0.delete(kept).await?)
    }

    async fn each(&self, see: impl FnMut(&Employee) + Send) -> Result<()> {
        let mut see = see;
        let mut employees = Box::pin(Employee::find().office(OFFICE).stream(&self.0));
        while let Some(employee) = employees.next().await {
            see(&*employee?);
        }
        Ok(())
    }

    async fn close(self) -> Result<()> {
        Ok(self.0.close().await?)
    }

    fn employee(kept: &Self::Kept) -> &Employee {
        kept
    }
}
