//! The chapter of five changes: what it shows is what the commands print.

use std::path::Path;

use super::{Folder, store::within};
use crate::{cli::outcome::DONE, prelude::*};

/// The page, in whose blocks `$` begins what is typed.
const CHAPTER: &str = include_str!("../../../docs/changing.md");

mod first {
    use crate::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", partition = "{department}", row = "empid_{id:06}", crate = "crate")]
    pub(super) struct Employee {
        pub(super) department: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) mail: String,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Company {
        Employee(Employee),
    }
}

/// A property that old rows lack, with a default.
mod second {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", version = 2, previous = super::first::Employee, crate = "crate")]
    #[table(partition = "{department}", row = "empid_{id:06}")]
    pub(super) struct Employee {
        pub(super) department: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) mail: String,
        #[table(default = 40)]
        pub(super) hours: u8,
    }

    impl Upgrade<super::first::Employee> for Employee {
        fn upgrade(old: super::first::Employee) -> Result<Self, UpgradeError> {
            let super::first::Employee { department, id, name, mail } = old;
            Ok(Self { department, id, name, mail, hours: 40 })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Company {
        Employee(Employee),
    }
}

/// Another name for a property.
mod third {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", version = 3, previous = super::second::Employee, crate = "crate")]
    #[table(partition = "{department}", row = "empid_{id:06}")]
    pub(super) struct Employee {
        pub(super) department: String,
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) email: String,
        #[table(default = 40)]
        pub(super) hours: u8,
    }

    impl Upgrade<super::second::Employee> for Employee {
        fn upgrade(old: super::second::Employee) -> Result<Self, UpgradeError> {
            let super::second::Employee { department, id, name, mail, hours } = old;
            Ok(Self { department, id, name, email: mail, hours })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Company {
        Employee(Employee),
    }
}

/// A name in two parts.
mod fourth {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", version = 4, previous = super::third::Employee, crate = "crate")]
    #[table(partition = "{department}", row = "empid_{id:06}")]
    pub(super) struct Employee {
        pub(super) department: String,
        pub(super) id: u32,
        pub(super) first_name: String,
        pub(super) last_name: String,
        pub(super) email: String,
        #[table(default = 40)]
        pub(super) hours: u8,
    }

    impl Upgrade<super::third::Employee> for Employee {
        fn upgrade(old: super::third::Employee) -> Result<Self, UpgradeError> {
            let super::third::Employee { department, id, name, email, hours } = old;
            let (first, last) = name.split_once(' ').ok_or_else(|| UpgradeError::new("the name has no space"))?;
            let (first_name, last_name) = (first.to_owned(), last.to_owned());
            Ok(Self { department, id, first_name, last_name, email, hours })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Company {
        Employee(Employee),
    }
}

/// An index of a large table.
mod fifth {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Company", version = 5, previous = super::fourth::Employee, crate = "crate")]
    #[table(partition = "{department}", row = "empid_{id:06}")]
    #[table(index(by_email, table = "Emails", partition = "{email}", row = "{department}_{id:06}", keys_only))]
    pub(super) struct Employee {
        pub(super) department: String,
        pub(super) id: u32,
        pub(super) first_name: String,
        pub(super) last_name: String,
        pub(super) email: String,
        #[table(default = 40)]
        pub(super) hours: u8,
    }

    impl Upgrade<super::fourth::Employee> for Employee {
        fn upgrade(old: super::fourth::Employee) -> Result<Self, UpgradeError> {
            let super::fourth::Employee { department, id, first_name, last_name, email, hours } = old;
            Ok(Self { department, id, first_name, last_name, email, hours })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Company {
        Employee(Employee),
    }
}

/// Other keys, in a table of their own.
mod sixth {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Employees", version = 6, moved_from = super::fifth::Employee, crate = "crate")]
    #[table(partition = "{id:shard(16)}", row = "{id:06}")]
    #[table(index(by_email, table = "EmployeeEmails", partition = "{email}", row = "{id:06}", keys_only))]
    pub(super) struct Employee {
        pub(super) id: u32,
        pub(super) department: String,
        pub(super) first_name: String,
        pub(super) last_name: String,
        pub(super) email: String,
        #[table(default = 40)]
        pub(super) hours: u8,
    }

    impl Upgrade<super::fifth::Employee> for Employee {
        fn upgrade(old: super::fifth::Employee) -> Result<Self, UpgradeError> {
            let super::fifth::Employee { department, id, first_name, last_name, email, hours } = old;
            Ok(Self { department, id, first_name, last_name, email, hours })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Company {
        Employee(Employee),
    }
}

/// What is typed in the chapter, each with what it shows as printed: `("diff --name hours", ["entity ..", ..])`.
fn typed() -> Vec<(&'static str, Vec<String>)> {
    let blocks = CHAPTER.split("```text\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
    let mut typed: Vec<(&str, Vec<String>)> = Vec::new();
    for block in blocks {
        let mut printed: Option<&mut Vec<String>> = None;
        for line in block.lines() {
            if let Some(words) = line.strip_prefix("$ cargo tablemodel ") {
                typed.push((words, Vec::new()));
                printed = typed.last_mut().map(|(_, printed)| printed);
            } else if let Some(printed) = printed.as_mut().filter(|_| !line.is_empty()) {
                printed.push(line.to_owned());
            }
        }
    }
    typed
}

/// The same without what another run has otherwise: times, and where the package lies.
fn lasting(line: &str, package: &Path) -> String {
    let line = line.replace(&format!("{}/", package.display()), "");
    let is_time = |word: &str| word.len() > 20 && word.starts_with("20") && word.ends_with('Z');
    line.split(' ').map(|word| if is_time(word) { "TIME" } else { word }).collect::<Vec<_>>().join(" ")
}

fn fill(path: &Path) {
    let employee = |id: u32| {
        let name = format!("Ada{id} Byron{id}");
        first::Employee { department: format!("d{}", id % 7), id, name, mail: format!("e{id}@contoso.com") }
    };
    within(async {
        let db = Database::open::<first::Company>(path).await.unwrap();
        db.ensure_tables().await.unwrap();
        let all = futures_util::stream::iter((0..1_000).map(employee));
        db.bulk().insert_all(all).await.unwrap().into_result().unwrap();
        db.close().await.unwrap();
    });
}

/// Runs one release's part of the chapter: up to, and without, the next `diff`.
fn show<M: TableModel>(folder: &Folder, store: &Path, rest: &mut &[(&'static str, Vec<String>)]) {
    let mut is_first = true;
    while let [(words, shown), others @ ..] = *rest {
        if !is_first && words.starts_with("diff") {
            return;
        }
        (is_first, *rest) = (false, others);
        let mut all: Vec<&str> = words.split(' ').collect();
        if !["init", "diff", "check"].iter().any(|schema| words.starts_with(schema)) {
            all.extend(["--store", store.to_str().unwrap()]);
        }
        let outcome = folder.answer::<M>(&all);
        let printed: Vec<String> = outcome.lines.iter().flat_map(|line| line.lines()).map(str::to_owned).collect();
        let lasting = |lines: &[String]| lines.iter().map(|line| lasting(line, folder.folder.path())).collect::<Vec<_>>();
        assert_eq!(lasting(&printed), lasting(shown), "{words}: {}", printed.join("\n"));
        assert_eq!(outcome.code, DONE, "{words}");
    }
}

#[test]
fn the_chapter_shows_what_the_commands_print() {
    let (folder, typed) = (Folder::new(), typed());
    let store = folder.path("company.tablemodel");
    fill(&store);
    let mut rest = typed.as_slice();
    show::<first::Company>(&folder, &store, &mut rest);
    show::<second::Company>(&folder, &store, &mut rest);
    show::<third::Company>(&folder, &store, &mut rest);
    show::<fourth::Company>(&folder, &store, &mut rest);
    show::<fifth::Company>(&folder, &store, &mut rest);
    show::<sixth::Company>(&folder, &store, &mut rest);
    assert_eq!(rest, [], "nothing is shown that was not run");
    assert!(typed.iter().filter(|(words, _)| words.starts_with("diff")).count() == 5, "{typed:?}");
    within(async {
        let db = Database::open::<sixth::Company>(&store).await.unwrap();
        let ada = sixth::Employee::find().id_shard(7).id(7).one(&db).await.unwrap().unwrap();
        assert_eq!((ada.last_name.as_str(), ada.hours, ada.email.as_str()), ("Byron7", 40, "e7@contoso.com"));
        db.close().await.unwrap();
    });
}
