//! Releases of one model, for the commands over a store.
//! Nothing is tested here.

/// The first release.
pub(super) mod old {
    use crate::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:06}", crate = "crate")]
    pub(in crate::cli::tests) struct Person {
        pub(in crate::cli::tests) club: String,
        pub(in crate::cli::tests) id: u32,
        pub(in crate::cli::tests) city: String,
        pub(in crate::cli::tests) badge: u32,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Club {
        Person(Person),
    }
}

/// The second: an index beside the entity, and one elsewhere.
pub(super) mod new {
    use crate::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", partition = "{club}", row = "p_{id:06}", crate = "crate")]
    #[table(index(by_city, row = "city_{city}_{id:06}", keys_only))]
    #[table(index(by_badge, table = "Badges", partition = "{badge}", row = "{club}_{id:06}", keep(city)))]
    pub(in crate::cli::tests) struct Person {
        pub(in crate::cli::tests) club: String,
        pub(in crate::cli::tests) id: u32,
        pub(in crate::cli::tests) city: String,
        pub(in crate::cli::tests) badge: u32,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Club {
        Person(Person),
    }
}

/// Another second: a badge belongs to one person of a club.
pub(super) mod unique {
    use crate::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(
        name = "Club",
        entity_type = "Person",
        version = 2,
        partition = "{club}",
        row = "p_{id:06}",
        crate = "crate"
    )]
    #[table(previous = super::old::Person)]
    #[table(index(by_badge, row = "badge_{badge:06}", unique, keys_only))]
    pub(in crate::cli::tests) struct Person {
        pub(in crate::cli::tests) club: String,
        pub(in crate::cli::tests) id: u32,
        pub(in crate::cli::tests) city: String,
        pub(in crate::cli::tests) badge: u32,
    }

    impl crate::Upgrade<super::old::Person> for Person {
        fn upgrade(old: super::old::Person) -> Result<Self, crate::UpgradeError> {
            let super::old::Person { club, id, city, badge } = old;
            Ok(Self { club, id, city, badge })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Club {
        Person(Person),
    }
}

/// A second release with this upgrade.
macro_rules! upgraded {
    ($name:ident, $upgrade:expr) => {
        pub(super) mod $name {
            use crate::{Upgrade, UpgradeError, prelude::*};

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Club", entity_type = "Person", version = 2, partition = "{club}", row = "p_{id:06}")]
            #[table(previous = super::old::Person, crate = "crate")]
            pub(in crate::cli::tests) struct Person {
                pub(in crate::cli::tests) club: String,
                pub(in crate::cli::tests) id: u32,
                pub(in crate::cli::tests) town: String,
            }

            impl Upgrade<super::old::Person> for Person {
                fn upgrade(old: super::old::Person) -> Result<Self, UpgradeError> {
                    let town: Result<String, UpgradeError> = $upgrade(&old);
                    Ok(Self { club: old.club, id: old.id, town: town? })
                }
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(in crate::cli::tests) enum Club {
                Person(Person),
            }
        }
    };
}

upgraded!(picky, |old: &super::old::Person| match old.badge {
    7 => Err(UpgradeError::new("nobody knows badge 7")),
    _ => Ok(old.city.clone()),
});
upgraded!(mended, |old: &super::old::Person| Ok(old.city.clone()));

/// The second, with nothing that reads the first.
pub(super) mod forgetful {
    use crate::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Club", entity_type = "Person", version = 2, partition = "{club}", row = "p_{id:06}")]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) struct Person {
        club: String,
        id: u32,
        town: String,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(in crate::cli::tests) enum Club {
        Person(Person),
    }
}
