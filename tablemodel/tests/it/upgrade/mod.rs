//! Versions of one entity over one store: rows of older ones are read, upgraded and written back, those of newer ones left.
//!
//! Three programs: of version 1, 2 and 3 of `Employee`, with every kind of derived row, some in all versions, some in one.

mod cursors;
mod faults;
mod golden;
mod histories;
mod newer;
mod patched;
mod reads;
mod repairs;
mod shown;
mod totals;
mod writes;

use std::collections::BTreeMap;

use tablemodel::{
    Consistency, Database, Properties, Row, RowKey, Value,
    store::{Action, Batch},
    testing::TestDatabase,
};

use crate::tools::rows_of;
pub(crate) use crate::tools::settle;

/// A person, whatever the version: what a test means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) id: u32,
    pub(crate) first: String,
    pub(crate) last: String,
    /// In capitals, which version 3 makes small.
    pub(crate) email: String,
    pub(crate) city: String,
    pub(crate) age: u32,
}

pub(crate) fn person(id: u32) -> Person {
    Person {
        id,
        first: format!("F{id}"),
        last: format!("L{}", id % 3),
        email: format!("E{id}@X"),
        city: "Bonn".into(),
        age: 30,
    }
}

pub(crate) mod v1 {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", entity_type = "Employee", partition = "{department}", row = "empid_{id:06}", allow_scan)]
    #[table(index(by_email, row = "email_{email}", unique, keep(name)))]
    #[table(index(by_name, row = "name_{name}_{id:06}", keep(email)))]
    #[table(index(anywhere, table = "Emails", partition = "{email}", row = "{department}_{id:06}", keep(name)))]
    #[table(list(ids_by_city, row = "city_{city}"))]
    #[table(count(Department, key(name = department), into = employees))]
    #[table(max(Department, key(name = department), of = age, into = oldest))]
    pub(crate) struct Employee {
        pub(crate) department: String,
        pub(crate) id: u32,
        pub(crate) name: String,
        pub(crate) email: String,
        pub(crate) city: String,
        pub(crate) age: u32,
        pub(crate) note: Option<String>,
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Employee)]
    pub(crate) struct Card {
        pub(crate) email: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", partition = "{name}", row = "department")]
    pub(crate) struct Department {
        pub(crate) name: String,
        pub(crate) boss: Option<u32>,
        #[table(copy_of(Employee, key(department = name, id = boss)))]
        pub(crate) manager: Option<Card>,
        #[table(aggregate)]
        pub(crate) employees: i64,
        #[table(aggregate)]
        pub(crate) oldest: Option<u32>,
    }

    #[derive(TableModel)]
    pub(crate) enum Model {
        Employee(Employee),
        Department(Department),
    }
}

pub(crate) mod v2 {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", version = 2, previous = super::v1::Employee)]
    #[table(partition = "{department}", row = "empid_{id:06}", allow_scan)]
    #[table(index(by_email, row = "email_{email}", unique, keep(first_name)))]
    #[table(index(by_last_name, row = "last_{last_name}_{id:06}", keys_only))]
    #[table(index(anywhere, table = "Emails", partition = "{email}", row = "{department}_{id:06}", keep(first_name)))]
    #[table(list(ids_by_city, row = "city_{city}"))]
    #[table(count(Department, key(name = department), into = employees))]
    #[table(max(Department, key(name = department), of = age, into = oldest))]
    pub(crate) struct Employee {
        pub(crate) department: String,
        pub(crate) id: u32,
        pub(crate) first_name: String,
        pub(crate) last_name: String,
        pub(crate) email: String,
        pub(crate) city: String,
        pub(crate) age: u32,
        pub(crate) note: Option<String>,
    }

    impl Upgrade<super::v1::Employee> for Employee {
        fn upgrade(old: super::v1::Employee) -> Result<Self, UpgradeError> {
            let name = old.name.split_once(' ').ok_or_else(|| UpgradeError::new("a name without a space"))?;
            let (first_name, last_name) = (name.0.to_owned(), name.1.to_owned());
            let super::v1::Employee { department, id, email, city, age, note, .. } = old;
            Ok(Self { department, id, first_name, last_name, email, city, age, note })
        }
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Employee)]
    pub(crate) struct Card {
        pub(crate) email: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", partition = "{name}", row = "department")]
    pub(crate) struct Department {
        pub(crate) name: String,
        pub(crate) boss: Option<u32>,
        #[table(copy_of(Employee, key(department = name, id = boss)))]
        pub(crate) manager: Option<Card>,
        #[table(aggregate)]
        pub(crate) employees: i64,
        #[table(aggregate)]
        pub(crate) oldest: Option<u32>,
    }

    #[derive(TableModel)]
    pub(crate) enum Model {
        Employee(Employee),
        Department(Department),
    }
}

pub(crate) mod v3 {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", version = 3, previous = super::v2::Employee)]
    #[table(partition = "{department}", row = "empid_{id:06}", allow_scan)]
    #[table(index(by_email, row = "email_{email}", unique, keep(first_name)))]
    #[table(index(by_last_name, row = "last_{last_name}_{id:06}", keep(first_name)))]
    #[table(index(by_mail, table = "Mails", partition = "{email}", row = "mail", unique, keep(last_name)))]
    #[table(list(ids_by_town, row = "town_{town}"))]
    #[table(count(Department, key(name = department), into = employees))]
    #[table(max(Department, key(name = department), of = years, into = oldest))]
    pub(crate) struct Employee {
        pub(crate) department: String,
        pub(crate) id: u32,
        pub(crate) first_name: String,
        pub(crate) last_name: String,
        pub(crate) email: String,
        pub(crate) town: String,
        pub(crate) years: u32,
        #[table(json)]
        pub(crate) skills: Vec<String>,
    }

    impl Upgrade<super::v2::Employee> for Employee {
        fn upgrade(old: super::v2::Employee) -> Result<Self, UpgradeError> {
            let super::v2::Employee { department, id, first_name, last_name, email, city, age, note } = old;
            let skills = note.into_iter().collect();
            Ok(Self {
                department,
                id,
                first_name,
                last_name,
                email: email.to_lowercase(),
                town: city,
                years: age,
                skills,
            })
        }
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Employee)]
    pub(crate) struct Card {
        pub(crate) email: String,
    }

    /// What an index row holds, and less.
    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Employee)]
    pub(crate) struct Name {
        pub(crate) id: u32,
        pub(crate) first_name: String,
    }

    #[derive(Debug, Clone, PartialEq, Projection)]
    #[table(of = Employee)]
    pub(crate) struct Town {
        pub(crate) town: String,
    }

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", partition = "{name}", row = "department")]
    pub(crate) struct Department {
        pub(crate) name: String,
        pub(crate) boss: Option<u32>,
        #[table(copy_of(Employee, key(department = name, id = boss)))]
        pub(crate) manager: Option<Card>,
        #[table(aggregate)]
        pub(crate) employees: i64,
        #[table(aggregate)]
        pub(crate) oldest: Option<u32>,
    }

    #[derive(TableModel)]
    pub(crate) enum Model {
        Employee(Employee),
        Department(Department),
        #[table(other)]
        Other(Row),
    }
}

impl Person {
    pub(crate) fn v1(&self) -> v1::Employee {
        let Self { id, first, last, email, city, age } = self.clone();
        let name = format!("{first} {last}");
        v1::Employee { department: "Sales".into(), id, name, email, city, age, note: Some("x".into()) }
    }

    pub(crate) fn v2(&self) -> v2::Employee {
        let Self { id, first, last, email, city, age } = self.clone();
        let (first_name, last_name) = (first, last);
        v2::Employee { department: "Sales".into(), id, first_name, last_name, email, city, age, note: Some("x".into()) }
    }

    pub(crate) fn v3(&self) -> v3::Employee {
        let Self { id, first, last, email, city, age } = self.clone();
        v3::Employee {
            department: "Sales".into(),
            id,
            first_name: first,
            last_name: last,
            email: email.to_lowercase(),
            town: city,
            years: age,
            skills: vec!["x".into()],
        }
    }
}

/// Three programs over one store, in which every index of every version is complete.
pub(crate) struct Programs {
    pub(crate) v1: TestDatabase,
    pub(crate) v2: TestDatabase,
    pub(crate) v3: TestDatabase,
}

pub(crate) async fn programs(mode: Consistency) -> Programs {
    let first = crate::migrate::store_of::<v1::Model>(mode).await;
    first.reopen::<v2::Model>().await.unwrap().ensure_tables().await.unwrap();
    first.reopen::<v3::Model>().await.unwrap().ensure_tables().await.unwrap();
    let built = ["by_last_name", "by_mail", "ids_by_town"].map(|index| (index, "readable"));
    // No rows were rewritten, as a store of one program is where it is small: all three go on writing.
    tell(&first, built.into_iter().chain([("~@2", "absent"), ("~@3", "absent")])).await;
    let v1 = first.reopen::<v1::Model>().await.unwrap();
    let v2 = first.reopen::<v2::Model>().await.unwrap();
    let v3 = first.reopen::<v3::Model>().await.unwrap();
    let sales = v1::Department { name: "Sales".into(), boss: Some(1), manager: None, employees: 0, oldest: None };
    v1.insert(&sales).await.unwrap();
    Programs { v1, v2, v3 }
}

/// Has the store say of indexes and rewrites how far they are.
pub(crate) async fn tell(db: &TestDatabase, states: impl IntoIterator<Item = (&str, &str)>) {
    for (index, state) in states {
        let state: Properties =
            [("EntityType", Value::from("~index@1")), ("_seq", Value::from(1_i64)), ("State", Value::from(state))]
                .into_iter()
                .collect();
        let row = format!("index|Employee|{index}");
        let batch = Batch::new("tmschema", "s").with(row, Action::InsertOrReplace(state));
        db.store().commit(&[batch]).await.unwrap();
    }
}

pub(crate) const MODES: [Consistency; 2] = [Consistency::Azure, Consistency::Atomic];

pub(crate) async fn rows(db: &TestDatabase, table: &str) -> BTreeMap<(String, String), Row> {
    rows_of(&*db.store(), table).await
}

/// The row of the partition "Sales".
pub(crate) async fn row(db: &TestDatabase, row: &str) -> Option<Row> {
    db.store().get("Company", &RowKey::new("Sales", row)).await.unwrap()
}

pub(crate) fn text(row: &Row, property: &str) -> Option<String> {
    match row.properties.get(property)?.to_value() {
        Value::String(text) => Some(text),
        other => Some(format!("{other:?}")),
    }
}

pub(crate) async fn assert_clean(db: &Database, told: &str) {
    let verified = db.verify().await.unwrap();
    assert!(verified.is_clean(), "{told}: {:#?}", verified.violations);
}

/// What stands in the store of entities and what is derived from them: not the bookkeeping of relays.
pub(crate) async fn standing(db: &TestDatabase) -> Vec<String> {
    let mut standing = Vec::new();
    for table in ["Company", "Emails", "Mails"] {
        for (key, row) in rows(db, table).await {
            let is_dead = row.properties.get("_dead").is_some();
            if !key.1.starts_with("~~out") && !is_dead {
                standing.push(format!("{table} {} {}: {}", key.0, key.1, text(&row, "EntityType").unwrap_or_default()));
            }
        }
    }
    standing
}
