//! What a frozen struct says that its version added to aggregates: by the names of today.

use super::Folder;
use crate::cli::outcome::DONE;

/// The first release.
mod before {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{club}", row = "{name}", crate = "crate")]
    pub(super) struct Team {
        club: String,
        name: String,
        #[table(aggregate)]
        members: i64,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{club}", row = "m_{id:04}", crate = "crate")]
    #[table(count(Team, key(club = club, name = team), into = members))]
    pub(super) struct Member {
        club: String,
        id: u32,
        team: String,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

/// The next, in which a team's name is called its title.
mod after {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Teams", partition = "{club}", row = "{title}", crate = "crate")]
    pub(super) struct Team {
        club: String,
        #[table(was = "Name")]
        title: String,
        #[table(aggregate)]
        members: i64,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", partition = "{club}", row = "m_{id:04}", crate = "crate")]
    #[table(count(Team, key(club = club, title = team), into = members))]
    pub(super) struct Member {
        club: String,
        id: u32,
        team: String,
        note: Option<String>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

#[test]
fn a_total_is_counted_by_the_key_of_its_target_as_that_is_called_now() {
    let folder = Folder::new();
    assert_eq!(folder.run::<before::Model>("init"), DONE);
    assert_eq!(folder.run::<after::Model>("diff"), DONE);
    let frozen = folder.read("tablemodel/frozen/member_v1.rs");
    assert!(frozen.contains("#[table(count(Team, key(club = club, title = team), into = members))]"), "{frozen}");
}
