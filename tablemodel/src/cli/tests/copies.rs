//! Copies: what a change of one asks for, and a change of what is copied, which the holder's own format does not show.

use super::Folder;

/// A team with colours of this type, and members that copy them.
macro_rules! release {
    ($name:ident, $colours:ty, $version:literal) => {
        mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Teams", entity_type = "Team", partition = "{club}", row = "{name}", crate = "crate")]
            #[table(version = $version)]
            pub(super) struct Team {
                pub(super) club: String,
                pub(super) name: String,
                pub(super) colours: $colours,
                motto: Option<String>,
            }

            #[derive(Projection)]
            #[table(of = Team, crate = "crate")]
            #[expect(dead_code, reason = "it is only planned")]
            pub(super) struct Card {
                colours: $colours,
            }

            #[derive(TableEntity)]
            #[table(name = "Members", entity_type = "Member", partition = "{club}", row = "{id:06}", crate = "crate")]
            #[table(version = $version)]
            pub(super) struct Member {
                club: String,
                id: u32,
                team: String,
                #[table(copy_of(Team, key(club = club, name = team), on_delete = clear))]
                card: Option<Card>,
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Team(Team),
                Member(Member),
            }
        }
    };
}

release!(numbered, u8, 1);
release!(widened, u32, 1);
release!(raised, u32, 2);

#[test]
fn a_source_that_is_stored_otherwise_gives_its_holders_a_version() {
    let folder = Folder::new();
    assert_eq!(folder.run::<numbered::Model>("init"), 0);
    let outcome = folder.answer::<widened::Model>(&["diff"]);
    let told = outcome.lines.join("\n");
    assert_eq!(outcome.code, 0, "{told}");
    assert!(told.contains("entity Member 1 -> 2") && told.contains("it copies Team.Colours"), "{told}");
    assert!(told.contains("next: write `version = 2` on `") && told.contains("::Member`"), "{told}");
    assert!(folder.read("tablemodel.lock").contains("entity Member@2 "));
    assert_eq!(folder.run::<raised::Model>("check"), 0);
    let before = folder.files();
    assert_eq!(folder.run::<raised::Model>("diff"), 0);
    assert_eq!(folder.files(), before);
}

release!(maybe, Option<u8>, 1);

#[test]
fn a_source_whose_copied_property_must_be_there_now_gives_its_holders_a_version() {
    let folder = Folder::new();
    assert_eq!(folder.run::<maybe::Model>("init"), 0);
    let outcome = folder.answer::<numbered::Model>(&["diff"]);
    let told = outcome.lines.join("\n");
    assert_eq!(outcome.code, 0, "{told}");
    assert!(told.contains("entity Member 1 -> 2") && told.contains("it copies Team.Colours"), "{told}");

    let folder = Folder::new();
    assert_eq!(folder.run::<numbered::Model>("init"), 0);
    let outcome = folder.answer::<maybe::Model>(&["diff"]);
    let told = outcome.lines.join("\n");
    assert!(outcome.code == 0 && told.contains("entity Team 1 -> 2") && !told.contains("entity Member"), "{told}");
}

/// The members at other keys.
mod moved {
    use super::numbered::{Card, Team};
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", partition = "{team}", row = "m_{club}_{id:06}", crate = "crate")]
    pub(super) struct Member {
        club: String,
        id: u32,
        team: String,
        #[table(copy_of(Team, key(club = club, name = team), on_delete = clear))]
        card: Option<Card>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

#[test]
fn a_holder_at_other_keys_is_told_to_take_its_copies_along() {
    let folder = Folder::new();
    assert_eq!(folder.run::<numbered::Model>("init"), 0);
    let outcome = folder.answer::<moved::Model>(&["diff"]);
    let told = outcome.lines.join("\n");
    assert_eq!(outcome.code, 0, "{told}");
    assert!(told.contains("moved_from = crate::frozen::MemberV1"), "{told}");
    assert!(told.contains("and on `MemberV1` what `") && told.contains("` copies, as it is there"), "{told}");
}

/// The team, which is copied, at other keys; and what is counted in it.
mod rekeyed {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Clubs", entity_type = "Team", partition = "{name}", row = "t_{club}", crate = "crate")]
    pub(super) struct Team {
        club: String,
        name: String,
        colours: u8,
        motto: Option<String>,
        #[table(aggregate)]
        members: i64,
    }

    #[derive(Projection)]
    #[table(of = Team, crate = "crate")]
    #[expect(dead_code, reason = "it is only planned")]
    pub(super) struct Card {
        colours: u8,
    }

    #[derive(TableEntity)]
    #[table(name = "Members", entity_type = "Member", partition = "{club}", row = "{id:06}", crate = "crate")]
    #[table(count(Team, key(club = club, name = team), into = members))]
    pub(super) struct Member {
        club: String,
        id: u32,
        team: String,
        #[table(copy_of(Team, key(club = club, name = team), on_delete = clear))]
        card: Option<Card>,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Team(Team),
        Member(Member),
    }
}

#[test]
fn what_cannot_move_is_told_before_it_is_tried() {
    let folder = Folder::new();
    assert_eq!(folder.run::<numbered::Model>("init"), 0);
    let outcome = folder.answer::<rekeyed::Model>(&["diff"]);
    let told = outcome.lines.join("\n");
    assert_eq!(outcome.code, 0, "{told}");
    let wanted = "`Team` cannot move yet: it holds the total `Members`, `Member` copies it.";
    assert!(told.contains(wanted), "{told}");
    let outcome = Folder::begun().answer::<super::moved::other::Model>(&["diff"]);
    let told = outcome.lines.join("\n");
    assert!(told.contains("moved_from") && !told.contains("cannot move"), "{told}");
}
