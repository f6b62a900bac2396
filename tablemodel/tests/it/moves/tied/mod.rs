//! An entity that moves with its copies and with what it adds to aggregates: of and in an entity beside the old form, one beside the
//! new form, and one elsewhere. Wherever it is on its way, in the end copies are what their sources are, in the form that is read, and
//! totals what all entities come to.

mod bound;
mod crashes;
mod crowd;
mod put_back;
mod random;
mod sabotage;
mod switching;
mod together;

use std::{collections::BTreeMap, time::Duration};

use tablemodel::{Consistency, prelude::*, testing::TestDatabase};

use super::{assert_clean, flights::kind, next, program};

/// In the partition of those who live there, in the old form.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{name}", row = "city")]
pub(crate) struct City {
    pub(crate) name: String,
    pub(crate) mayor: String,
    pub(crate) note: String,
    #[table(aggregate)]
    pub(crate) visits: i64,
    #[table(aggregate)]
    pub(crate) fewest: Option<i64>,
}

/// In the partition of its members, in the new form.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Clubs", partition = "{name}", row = "club")]
pub(crate) struct Club {
    pub(crate) name: String,
    pub(crate) colour: String,
    pub(crate) motto: Option<String>,
    #[table(aggregate)]
    pub(crate) members: i64,
    #[table(aggregate)]
    pub(crate) most: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Sponsors", partition = "{name}", row = "sponsor")]
pub(crate) struct Sponsor {
    pub(crate) name: String,
    pub(crate) logo: i64,
    #[table(aggregate)]
    pub(crate) sponsored: i64,
    #[table(aggregate)]
    pub(crate) best: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = City)]
pub(crate) struct Mayor {
    pub(crate) mayor: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Club)]
pub(crate) struct Shirt {
    pub(crate) colour: String,
    pub(crate) motto: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Club)]
pub(crate) struct Colour {
    pub(crate) colour: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[table(of = Sponsor)]
pub(crate) struct Logo {
    pub(crate) logo: i64,
}

macro_rules! old_person {
    ($name:ident, $($words:tt)*) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "People", entity_type = "Person", partition = "{city}", row = "p_{id:04}", $($words)*)]
        #[table(index(by_club, row = "c_{club}_{id:04}", keys_only))]
        #[table(sum(City, key(name = city), of = visits, into = visits))]
        #[table(min(City, key(name = city), of = visits, into = fewest))]
        #[table(count(Club, key(name = club), into = members))]
        #[table(max(Club, key(name = club), of = visits, into = most))]
        #[table(count(Sponsor, key(name = fund), into = sponsored))]
        #[table(max(Sponsor, key(name = fund), of = visits, into = best))]
        pub(crate) struct $name {
            pub(crate) city: String,
            pub(crate) id: u32,
            pub(crate) club: String,
            pub(crate) sponsor: Option<String>,
            pub(crate) fund: String,
            pub(crate) visits: i64,
            #[table(copy_of(City, key(name = city), on_delete = clear))]
            pub(crate) mayor: Option<Mayor>,
            #[table(copy_of(Club, key(name = club), on_delete = restrict))]
            pub(crate) shirt: Shirt,
            #[table(copy_of(Sponsor, key(name = sponsor), on_delete = keep))]
            pub(crate) logo: Option<Logo>,
        }
    };
}

macro_rules! new_person {
    ($name:ident from $old:ident, $($words:tt)*) => {
        /// Of its club's shirt, the colour alone.
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Clubs", entity_type = "Person", version = 2, partition = "{club}", row = "m_{city}_{id:04}", $($words)*)]
        #[table(index(by_colour, table = "Colours", partition = "{city}", row = "{id:04}_{club}"))]
        #[table(sum(City, key(name = city), of = visits, into = visits))]
        #[table(min(City, key(name = city), of = visits, into = fewest))]
        #[table(count(Club, key(name = club), into = members))]
        #[table(max(Club, key(name = club), of = visits, into = most))]
        #[table(count(Sponsor, key(name = fund), into = sponsored))]
        #[table(max(Sponsor, key(name = fund), of = visits, into = best))]
        pub(crate) struct $name {
            pub(crate) club: String,
            pub(crate) city: String,
            pub(crate) id: u32,
            pub(crate) sponsor: Option<String>,
            pub(crate) fund: String,
            pub(crate) visits: i64,
            #[table(copy_of(City, key(name = city), on_delete = clear))]
            pub(crate) mayor: Option<Mayor>,
            #[table(copy_of(Club, key(name = club), on_delete = restrict))]
            pub(crate) shirt: Colour,
            #[table(copy_of(Sponsor, key(name = sponsor), on_delete = keep))]
            pub(crate) logo: Option<Logo>,
        }

        impl Upgrade<$old> for $name {
            fn upgrade(old: $old) -> Result<Self, UpgradeError> {
                let $old { city, id, club, sponsor, fund, visits, mayor, shirt, logo } = old;
                if visits < 0 {
                    return Err(UpgradeError::new("fewer visits than none"));
                }
                let shirt = Colour { colour: shirt.colour };
                let sponsor = if visits == 666 { Some("another".into()) } else { sponsor };
                let visits = if visits == 777 { 7 } else { visits };
                Ok(Self { club, city, id, sponsor, fund, visits, mayor, shirt, logo })
            }
        }
    };
}

macro_rules! model {
    () => {
        #[derive(Debug, Clone, PartialEq, TableModel)]
        pub(crate) enum Model {
            City(City),
            Club(Club),
            Sponsor(Sponsor),
            Person(Person),
        }
    };
}

/// The release that knows of no move.
pub(crate) mod before {
    use tablemodel::prelude::*;

    use super::{City, Club, Logo, Mayor, Shirt, Sponsor};

    old_person!(Person, allow_scan);
    model!();

    pub(crate) fn person(city: &str, id: u32) -> Person {
        let club = super::CLUBS[id as usize % 3].to_owned();
        let sponsor = (!id.is_multiple_of(3)).then(|| super::SPONSORS[id as usize % 2].to_owned());
        let shirt = Shirt { colour: "none".into(), motto: None };
        let fund = super::SPONSORS[id as usize % 2].to_owned();
        Person { city: city.into(), id, club, sponsor, fund, visits: i64::from(id), mayor: None, shirt, logo: None }
    }
}

/// The release that keeps both: the old form is the truth.
pub(crate) mod first {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::{City, Club, Colour, Logo, Mayor, Shirt, Sponsor};

    old_person!(Person, allow_scan, moves_to = PersonV2);
    new_person!(PersonV2 from Person, allow_scan);
    model!();
}

/// The release that takes the new form.
pub(crate) mod second {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::{City, Club, Colour, Logo, Mayor, Shirt, Sponsor};

    old_person!(PersonV1, frozen);
    new_person!(Person from PersonV1, allow_scan, moved_from = PersonV1);
    model!();
}

pub(crate) const MODES: [Consistency; 2] = super::MODES;
pub(crate) const CITIES: [&str; 2] = ["Oslo", "Rome"];
pub(crate) const CLUBS: [&str; 3] = ["Chess", "Judo", "Oslo"];
pub(crate) const SPONSORS: [&str; 2] = ["Acme", "Zorg"];

pub(crate) fn city(name: &str, mayor: &str) -> City {
    City { name: name.into(), mayor: mayor.into(), note: "x".into(), visits: 0, fewest: None }
}

pub(crate) fn club(name: &str, colour: &str) -> Club {
    let motto = Some(format!("motto of {name}"));
    Club { name: name.into(), colour: colour.into(), motto, members: 0, most: None }
}

pub(crate) fn sponsor(name: &str, logo: i64) -> Sponsor {
    Sponsor { name: name.into(), logo, sponsored: 0, best: None }
}

/// Sources, and so many persons of each city, as the first program wrote them, which has ended.
pub(crate) async fn filled(mode: Consistency, persons: u32) -> TestDatabase {
    let db = crate::migrate::store_of::<before::Model>(mode).await;
    for name in CITIES {
        db.insert(&city(name, &format!("of {name}"))).await.expect("inserted");
    }
    for name in CLUBS {
        db.insert(&club(name, "blue")).await.expect("inserted");
    }
    for name in SPONSORS {
        db.insert(&sponsor(name, 1)).await.expect("inserted");
    }
    for city in CITIES {
        for id in 0..persons {
            db.insert(&before::person(city, id)).await.expect("inserted");
        }
    }
    db.relay().drain().await.expect("drained");
    db.clock().advance(Duration::from_secs(130));
    db
}

/// What a person says, by city and number.
pub(crate) type People = BTreeMap<(String, u32), Said>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) club: String,
    pub(crate) sponsor: Option<String>,
    pub(crate) fund: String,
    pub(crate) visits: i64,
    pub(crate) mayor: Option<String>,
    pub(crate) colour: String,
    pub(crate) logo: Option<i64>,
}

macro_rules! said {
    ($person:expr) => {{
        let of = $person;
        let said = $crate::moves::tied::Said {
            club: of.club.clone(),
            sponsor: of.sponsor.clone(),
            fund: of.fund.clone(),
            visits: of.visits,
            mayor: of.mayor.as_ref().map(|copy| copy.mayor.clone()),
            colour: of.shirt.colour.clone(),
            logo: of.logo.as_ref().map(|copy| copy.logo),
        };
        ((of.city.clone(), of.id), said)
    }};
}

mod onward; // after the macros that it uses

pub(crate) async fn old_people(db: &Database) -> People {
    let mut all = People::new();
    for city in CITIES {
        let found = first::Person::find().city(city).all(db).await.expect("read");
        assert_eq!(first::Person::find().city(city).count(db).await.expect("counted"), found.len() as u64);
        assert_eq!(first::Person::by_club().city(city).all(db).await.expect("read").len(), found.len());
        all.extend(found.iter().map(|person| said!(person)));
    }
    all
}

/// The people in the new form, by every path of it.
pub(crate) async fn new_people(db: &Database) -> tablemodel::Result<People> {
    let mut all = People::new();
    for club in CLUBS {
        let found = second::Person::find().club(club).all(db).await?;
        assert_eq!(second::Person::find().club(club).count(db).await?, found.len() as u64);
        assert_eq!(second::Person::scan_partition(club).all(db).await?.len(), found.len());
        all.extend(found.iter().map(|person| said!(person)));
    }
    let mut colours = 0;
    for city in CITIES {
        for row in second::Person::by_colour().city(city).all(db).await? {
            assert_eq!(row.shirt.colour, all[&(row.city.clone(), row.id)].colour, "an index shows copies");
            colours += 1;
        }
    }
    assert_eq!(colours, all.len());
    Ok(all)
}

/// Every row that says that it is of this version of a person, dead ones too: back-references among them.
pub(crate) async fn rows_of(db: &Database, version: &str) -> Vec<String> {
    let mut all = Vec::new();
    for table in ["People", "Clubs", "Sponsors", "Colours"] {
        let rows = crate::migrate::all_rows(db, table).await;
        let is_it = |row: &&tablemodel::Row| {
            let kind = kind(row);
            kind.starts_with("Person") && kind.ends_with(version) && !kind.contains("~out")
        };
        all.extend(rows.iter().filter(is_it).map(|row| format!("{} {}", row.key, kind(row))));
    }
    all
}

/// What the sources say by now that the people should, and what those come to.
pub(crate) async fn assert_follow(db: &Database, people: &People, told: &str) {
    assert_add_up(db, people, told).await;
    for ((city, id), said) in people {
        let mayor = City::find().name(city).one(db).await.expect("read").map(|city| city.mayor.clone());
        assert_eq!(said.mayor, mayor, "{told}: {city} {id}");
        let club = Club::find().name(&said.club).one(db).await.expect("read").expect("it is held");
        assert_eq!(said.colour, club.colour, "{told}: {city} {id}");
        let Some(name) = &said.sponsor else { continue };
        if let Some(sponsor) = Sponsor::find().name(name).one(db).await.expect("read") {
            assert_eq!(said.logo, Some(sponsor.logo), "{told}: {city} {id}");
        }
    }
}

/// That the totals are what these people come to, who are all.
pub(crate) async fn assert_add_up(db: &Database, people: &People, told: &str) {
    let visits = |is_in: &dyn Fn(&(String, u32), &Said) -> bool| -> Vec<i64> {
        people.iter().filter(|(key, said)| is_in(key, said)).map(|(_, said)| said.visits).collect()
    };
    for name in CITIES {
        let own = visits(&|key, _| key.0 == name);
        if let Some(city) = City::find().name(name).one(db).await.expect("read") {
            let want = (own.iter().sum::<i64>(), own.iter().copied().min());
            assert_eq!((city.visits, city.fewest), want, "{told}: {name}");
        }
    }
    for name in CLUBS {
        let own = visits(&|_, said| said.club == name);
        if let Some(club) = Club::find().name(name).one(db).await.expect("read") {
            let want = (own.len() as i64, own.iter().copied().max());
            assert_eq!((club.members, club.most), want, "{told}: {name}");
        }
    }
    for name in SPONSORS {
        let own = visits(&|_, said| said.fund == name);
        if let Some(sponsor) = Sponsor::find().name(name).one(db).await.expect("read") {
            let want = (own.len() as i64, own.iter().copied().max());
            assert_eq!((sponsor.sponsored, sponsor.best), want, "{told}: {name}");
        }
    }
}

/// Switches with the release of the new form, and looks at all that it then says; `was` are the people before.
pub(crate) async fn assert_switches(store: &TestDatabase, was: &People, told: &str) -> Database {
    store.clock().advance(Duration::from_secs(130));
    let db = next::<second::Model>(store).await;
    assert_eq!(&new_people(&db).await.expect("complete shadows can be read"), was, "{told}");
    db.migrations().contract().await.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    assert_clean(&db, told).await;
    assert_eq!(&new_people(&db).await.expect("read"), was, "{told}");
    assert_follow(&db, was, told).await;
    let left = rows_of(&db, "@1").await;
    assert!(left.is_empty(), "{told}: {left:#?}");
    let plan = db.migrations().plan().await.expect("planned");
    assert!(plan.is_empty() && plan.unfinished.is_none(), "{told}: {plan:?}");
    db
}
