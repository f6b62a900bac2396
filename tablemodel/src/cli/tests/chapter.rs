//! The chapter of five changes: what it shows is what the commands print.

use std::path::Path;

use super::{Folder, store::within};
use crate::{
    cli::{Model, outcome::DONE},
    prelude::*,
};

/// The page, in whose blocks `$` begins what is typed.
const CHAPTER: &str = include_str!("../../../docs/changing.md");

/// How the command is called: the first time there is no alias yet.
const COMMANDS: [&str; 2] =
    ["$ cargo tablemodel ", "$ cargo run --bin tablemodel --features tablemodel/cli,tablemodel/ungated -- "];

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

/// The chapter with what the commands print now in place of what it shows. `run` gives the lines of a command.
fn printed_anew(mut run: impl FnMut(&str) -> Vec<String>) -> String {
    let (mut anew, mut in_block) = (Vec::new(), false);
    for line in CHAPTER.lines() {
        match COMMANDS.iter().find_map(|command| line.strip_prefix(command)) {
            Some(words) => {
                anew.push(line.to_owned());
                anew.extend(run(words));
            }
            None if !in_block || line.starts_with("```") || line.is_empty() => anew.push(line.to_owned()),
            None => {} // what was printed before
        }
        in_block = if line.starts_with("```") { line == "```text" } else { in_block };
    }
    anew.join("\n") + "\n"
}

/// The text without what another run has otherwise: times.
fn lasting(text: &str) -> String {
    let is_time = |word: &str| word.len() > 20 && word.starts_with("20") && word.ends_with('Z');
    let words = text.split_inclusive([' ', '\n']);
    words
        .map(|word| if is_time(word.trim_end()) { word.replace(word.trim_end(), "TIME") } else { word.to_owned() })
        .collect()
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
        assert!(db.bulk().insert_all(all).await.unwrap().failed.is_empty());
        db.close().await.unwrap();
    });
}

/// The lines that a command of a release prints, where paths begin in the package.
fn lines(folder: &Folder, store: &Path, release: Model, words: &str) -> Vec<String> {
    let mut all: Vec<&str> = words.split(' ').collect();
    if !["init", "diff", "check"].contains(&all[0]) {
        all.extend(["--store", store.to_str().unwrap()]);
    }
    let outcome = folder.answer_of(&[release], &all);
    assert_eq!(outcome.code, DONE, "{words}: {:?}", outcome.lines);
    let within = format!("{}/", folder.folder.path().display());
    let shown = |line: &str| match line.replace(&within, "").split_once(concat!(module_path!(), "::")) {
        // each release stands for the program as it is then
        Some((before, named)) => format!("{before}company::{}", named.split_once("::").map_or(named, |(_, own)| own)),
        None => line.replace(&within, ""),
    };
    outcome.lines.iter().flat_map(|line| line.lines()).map(shown).collect()
}

/// `CHAPTER=overwrite` writes the page anew.
#[test]
fn the_chapter_shows_what_the_commands_print() {
    let folder = Folder::new();
    let store = folder.path("company.tablemodel");
    fill(&store);
    let own = folder.path("src/bin/tablemodel.rs");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::write(own, "tablemodel::cli!(company::Company);\n").unwrap();
    let releases = [
        Model::of::<first::Company>(),
        Model::of::<second::Company>(),
        Model::of::<third::Company>(),
        Model::of::<fourth::Company>(),
        Model::of::<fifth::Company>(),
        Model::of::<sixth::Company>(),
    ];
    let mut release = 0;
    let anew = printed_anew(|words| {
        release += usize::from(words.starts_with("diff"));
        lines(&folder, &store, releases[release], words)
    });
    assert_eq!(release, 5, "each change is planned");
    if std::env::var("CHAPTER").is_ok_and(|word| word == "overwrite") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/changing.md"), &anew).unwrap();
    } else {
        assert_eq!(lasting(&anew), lasting(CHAPTER));
    }
    within(async {
        let db = Database::open::<sixth::Company>(&store).await.unwrap();
        let ada = sixth::Employee::find().id(7).one(&db).await.unwrap().unwrap();
        assert_eq!((ada.last_name.as_str(), ada.hours, ada.email.as_str()), ("Byron7", 40, "e7@contoso.com"));
        db.close().await.unwrap();
    });
}
