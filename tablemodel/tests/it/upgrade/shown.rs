//! What rows of a version in between show to programs of an older one, after a newer program has written a total onto them.

use tablemodel::prelude::*;

use super::{MODES, assert_clean, rows, settle, text};

/// Who is counted, and the model: the same in all three.
macro_rules! member {
    () => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "Clubs", partition = "{club}", row = "m_{id:04}")]
        #[table(count(Team, key(club = club, name = team), into = members))]
        pub(super) struct Member {
            pub(super) club: String,
            pub(super) id: u32,
            pub(super) team: String,
        }

        #[derive(TableModel)]
        pub(super) enum Model {
            Team(Team),
            Member(Member),
        }
    };
}

/// The first: it reads what the second writes.
mod one {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Clubs", partition = "{club}", row = "t_{name}")]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) name: String,
        pub(super) motto: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    member!();
}

/// The second: it calls the motto otherwise, and shows it to the first as that has it.
mod two {
    use tablemodel::{Downgrade, Upgrade, UpgradeError, prelude::*};

    use super::one;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Clubs", version = 2, previous = one::Team, readable_by = 1, downgrade)]
    #[table(partition = "{club}", row = "t_{name}")]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) name: String,
        pub(super) slogan: String,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    impl Upgrade<one::Team> for Team {
        fn upgrade(one::Team { club, name, motto, members }: one::Team) -> Result<Self, UpgradeError> {
            Ok(Self { club, name, slogan: motto, members })
        }
    }

    impl Downgrade<one::Team> for Team {
        fn downgrade(&self) -> one::Team {
            let Self { club, name, slogan, members } = self.clone();
            one::Team { club, name, motto: slogan, members }
        }
    }

    member!();
}

/// The third: the structs of the other two are as `diff` writes them, which say nothing of who reads their rows.
mod three {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    #[derive(TableEntity)]
    #[table(name = "Clubs", entity_type = "Team", frozen, partition = "{club}", row = "t_{name}")]
    pub(super) struct TeamV1 {
        club: String,
        name: String,
        motto: String,
        #[table(aggregate)]
        members: i64,
    }

    #[derive(TableEntity)]
    #[table(name = "Clubs", entity_type = "Team", version = 2, frozen, previous = TeamV1)]
    #[table(partition = "{club}", row = "t_{name}")]
    pub(super) struct TeamV2 {
        club: String,
        name: String,
        slogan: String,
        #[table(aggregate)]
        members: i64,
    }

    #[derive(Debug, TableEntity)]
    #[table(name = "Clubs", version = 3, previous = TeamV2, readable_by = 2, partition = "{club}", row = "t_{name}")]
    pub(super) struct Team {
        pub(super) club: String,
        pub(super) name: String,
        pub(super) slogan: String,
        pub(super) colour: Option<String>,
        #[table(aggregate)]
        pub(super) members: i64,
    }

    impl Upgrade<TeamV1> for TeamV2 {
        fn upgrade(TeamV1 { club, name, motto, members }: TeamV1) -> Result<Self, UpgradeError> {
            Ok(Self { club, name, slogan: motto, members })
        }
    }

    impl Upgrade<TeamV2> for Team {
        fn upgrade(TeamV2 { club, name, slogan, members }: TeamV2) -> Result<Self, UpgradeError> {
            Ok(Self { club, name, slogan, colour: None, members })
        }
    }

    member!();
}

#[tokio::test]
async fn a_total_that_a_newer_program_writes_leaves_what_older_ones_read_of_the_row() {
    for mode in MODES {
        let first = crate::migrate::store_of::<one::Model>(mode).await;
        let second = first.reopen::<two::Model>().await.unwrap();
        let third = first.reopen::<three::Model>().await.unwrap();
        let team = |name: &str| two::Team { club: "c".into(), name: name.into(), slogan: "On".into(), members: 0 };
        second.insert(&team("red")).await.unwrap();
        for id in 1..3 {
            third.insert(&three::Member { club: "c".into(), id, team: "red".into() }).await.unwrap();
            settle(&third).await;
            let row = rows(&third, "Clubs").await[&("c".to_owned(), "t_red".to_owned())].clone();
            assert_eq!(text(&row, "EntityType").as_deref(), Some("Team@2"), "{mode:?}: it was not written as new");
            let read = one::Team::find().club("c").name("red").one(&first).await.unwrap().unwrap().into_inner();
            let (club, name, motto) = ("c".to_owned(), "red".to_owned(), "On".to_owned());
            assert_eq!(read, one::Team { club, name, motto, members: i64::from(id) }, "{mode:?}");
            let read = two::Team::find().club("c").name("red").one(&second).await.unwrap().unwrap().into_inner();
            assert_eq!(read, two::Team { members: i64::from(id), ..team("red") }, "{mode:?}");
        }
        assert_clean(&third, &format!("{mode:?}")).await;
        // As the newest writes it, the first does not know it any more.
        third.update(three::Team::find().club("c").name("red"), |team| Ok(team.slogan = "Off".into())).await.unwrap();
        let row = rows(&third, "Clubs").await[&("c".to_owned(), "t_red".to_owned())].clone();
        assert_eq!((text(&row, "_reads").as_deref(), text(&row, "Motto")), (Some("Int32(2)"), None), "{mode:?}");
    }
}

/// Notes whose text is cut into chunks.
mod cut {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", partition = "{shelf}", row = "n_{id:04}")]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        #[table(chunked)]
        pub(super) text: String,
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Note(Note),
    }
}

/// Notes whose text is whole again.
mod whole {
    use tablemodel::{Upgrade, UpgradeError, prelude::*};

    use super::cut;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", version = 2, previous = cut::Note, readable_by = 1, partition = "{shelf}", row = "n_{id:04}")]
    pub(super) struct Note {
        pub(super) shelf: String,
        pub(super) id: u32,
        pub(super) text: String,
    }

    impl Upgrade<cut::Note> for Note {
        fn upgrade(cut::Note { shelf, id, text }: cut::Note) -> Result<Self, UpgradeError> {
            Ok(Self { shelf, id, text })
        }
    }

    #[derive(TableModel)]
    pub(super) enum Model {
        Note(Note),
    }
}

#[tokio::test]
async fn what_was_cut_into_chunks_is_read_whole_by_programs_that_cut_it() {
    for mode in MODES {
        let first = crate::migrate::store_of::<cut::Model>(mode).await;
        let second = first.reopen::<whole::Model>().await.unwrap();
        first.insert(&cut::Note { shelf: "s".into(), id: 1, text: "x".repeat(40_000) }).await.unwrap();
        second.insert(&whole::Note { shelf: "s".into(), id: 2, text: "whole".into() }).await.unwrap();
        second.update(whole::Note::find().shelf("s").id(1), |note| Ok(note.text = "shorter".into())).await.unwrap();
        for (id, said) in [(1, "shorter"), (2, "whole")] {
            let row = rows(&second, "Notes").await[&("s".to_owned(), format!("n_{id:04}"))].clone();
            assert_eq!(text(&row, "EntityType").as_deref(), Some("Note@2"), "{mode:?}");
            assert_eq!(text(&row, "Text").as_deref(), Some(said), "{mode:?}");
            let read = cut::Note::find().shelf("s").id(id).one(&first).await.unwrap().unwrap().into_inner();
            assert_eq!(read, cut::Note { shelf: "s".into(), id, text: said.into() }, "{mode:?}");
        }
        assert_clean(&second, &format!("{mode:?}")).await;
    }
}
