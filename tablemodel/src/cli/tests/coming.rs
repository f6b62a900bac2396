//! The form that an entity moves to: it stands in the lock while the old one is kept, and the next release takes it as it is.

use super::Folder;
use crate::cli::outcome::{DONE, DRIFTED};

/// The release that keeps both forms, the new one with a note of this type; and the one that takes the new form.
macro_rules! release {
    ($both:ident, $taken:ident, $note:ty) => {
        mod $both {
            use crate::{Upgrade, UpgradeError, prelude::*};

            #[derive(TableEntity)]
            #[table(name = "Others", entity_type = "Thing", version = 2, partition = "{id}", row = "t_{p}")]
            #[table(crate = "crate")]
            pub(super) struct ThingV2 {
                id: u32,
                p: String,
                note: $note,
            }

            #[derive(TableEntity)]
            #[table(name = "Things", moves_to = ThingV2, partition = "{p}", row = "{id}", crate = "crate")]
            pub(super) struct Thing {
                p: String,
                id: u32,
            }

            impl Upgrade<Thing> for ThingV2 {
                fn upgrade(Thing { p, id }: Thing) -> Result<Self, UpgradeError> {
                    Ok(Self { id, p, note: Default::default() })
                }
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Thing(Thing),
            }
        }

        mod $taken {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Others", version = 2, partition = "{id}", row = "t_{p}", crate = "crate")]
            pub(super) struct Thing {
                id: u32,
                p: String,
                note: $note,
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Thing(Thing),
            }
        }
    };
}

release!(both, taken, u16);
release!(changed, taken_changed, String);

/// The release before.
mod alone {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Things", partition = "{p}", row = "{id}", crate = "crate")]
    pub(super) struct Thing {
        p: String,
        id: u32,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Thing(Thing),
    }
}

/// The release that keeps both forms, and changes the old one in the same step.
mod grown {
    use crate::{Upgrade, UpgradeError, prelude::*};

    #[derive(TableEntity)]
    #[table(name = "Others", entity_type = "Thing", version = 2, partition = "{id}", row = "t_{p}", crate = "crate")]
    pub(super) struct ThingV2 {
        id: u32,
        p: String,
        size: u32,
    }

    #[derive(TableEntity)]
    #[table(name = "Things", moves_to = ThingV2, partition = "{p}", row = "{id}", crate = "crate")]
    pub(super) struct Thing {
        p: String,
        id: u32,
        size: u32,
    }

    impl Upgrade<Thing> for ThingV2 {
        fn upgrade(Thing { p, id, size }: Thing) -> Result<Self, UpgradeError> {
            Ok(Self { id, p, size })
        }
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Model {
        Thing(Thing),
    }
}

/// A model with another entity beside a thing.
macro_rules! beside {
    ($name:ident, $thing:path $(, $field:ident: $type:ty)*) => {
        mod $name {
            use crate::prelude::*;

            #[derive(TableEntity)]
            #[table(name = "Racks", partition = "{room}", row = "{number}", crate = "crate")]
            pub(super) struct Rack {
                room: String,
                number: u32,
                $($field: $type),*
            }

            #[derive(TableModel)]
            #[table(crate = "crate")]
            pub(super) enum Model {
                Thing($thing),
                Rack(Rack),
            }
        }
    };
}

beside!(racks, super::both::Thing);
beside!(higher, super::both::Thing, height: Option<u32>);
beside!(higher_and_taken, super::taken_changed::Thing, height: Option<u32>);

const LOCK: &str = "tablemodel.lock";

fn begun() -> Folder {
    let folder = Folder::new();
    assert_eq!(folder.run::<both::Model>("init"), DONE);
    folder
}

#[test]
fn the_form_that_an_entity_moves_to_is_locked_and_a_change_of_it_is_seen() {
    let folder = begun();
    let lock = folder.read(LOCK);
    let (versions, form) = lock.split_once("\ncoming Thing@2 ").unwrap();
    assert!(!versions.contains("Thing@2") && form.contains("property Note Edm.Int32 as u16"), "{lock}");
    assert_eq!((folder.run::<both::Model>("check"), folder.run::<both::Model>("diff")), (DONE, DONE));
    assert_eq!(folder.read(LOCK), lock);

    let told = folder.answer::<changed::Model>(&["check"]);
    assert!(told.code == DRIFTED && told.lines[0].contains("Thing@2, which it moves to: TM106"), "{:?}", told.lines);
    assert_eq!(folder.run::<changed::Model>("diff"), DONE);
    assert!(folder.read(LOCK).contains("property Note Edm.String as string"));
    assert_eq!(folder.run::<changed::Model>("check"), DONE);
    assert!(!folder.path("tablemodel/migrations").exists(), "the entity stays what it was");

    let told = folder.answer::<alone::Model>(&["check"]);
    assert!(told.code == DRIFTED && told.lines[0].contains("does not move to Thing@2"), "{:?}", told.lines);
    assert_eq!(folder.run::<alone::Model>("diff"), DONE);
    assert!(!folder.read(LOCK).contains("Thing@2"));
}

#[test]
fn a_move_that_is_added_is_put_into_the_lock_by_diff() {
    let folder = Folder::new();
    assert_eq!(folder.run::<alone::Model>("init"), DONE);
    let told = folder.answer::<both::Model>(&["check"]);
    assert!(told.code == DRIFTED && told.lines[0].contains("Thing@2, which is not in the lock"), "{:?}", told.lines);
    let told = folder.answer::<both::Model>(&["diff"]);
    assert!(told.code == DONE && told.lines[0].contains("it moves to Thing@2"), "{:?}", told.lines);
    assert_eq!(folder.read(LOCK), begun().read(LOCK));
    assert_eq!(folder.run::<both::Model>("check"), DONE);
}

#[test]
fn the_release_after_takes_the_form_as_it_is_and_freezes_the_old_one() {
    let folder = begun();
    let before = folder.files();
    let told = folder.answer::<taken_changed::Model>(&["diff", "--name", "keys"]);
    assert_eq!(told.code, DRIFTED, "{:?}", told.lines);
    assert!(told.lines[0].contains("`Thing@2` is stored otherwise than the release said"), "{:?}", told.lines);
    assert_eq!(folder.files(), before);

    let told = folder.answer::<taken::Model>(&["diff", "--name", "keys"]);
    assert_eq!(told.code, DONE, "{:?}", told.lines);
    assert!(told.lines.iter().any(|line| line.contains("moved_from = crate::frozen::ThingV1")), "{:?}", told.lines);
    let lock = folder.read(LOCK);
    assert!(lock.contains("entity Thing@1 ") && lock.contains("entity Thing@2 ") && !lock.contains("coming"), "{lock}");
    assert!(folder.read("tablemodel/frozen/thing_v1.rs").contains("pub struct ThingV1 {"));
    assert!(folder.read("tablemodel/migrations/0001_keys.toml").contains("to = \"Thing@2 "));
    assert_eq!(folder.run::<taken::Model>("check"), DONE);
}

/// Two formats would have one name, and the lock could be read no more.
#[test]
fn an_entity_does_not_come_to_the_version_of_the_form_that_it_moves_to() {
    let folder = Folder::new();
    assert_eq!(folder.run::<alone::Model>("init"), DONE);
    let before = folder.files();
    let told = folder.answer::<grown::Model>(&["diff"]);
    assert_eq!(told.code, DRIFTED, "{:?}", told.lines);
    assert!(
        told.lines[0].contains("becomes version 2, and the form that it moves to is `Thing@2`"),
        "{:?}",
        told.lines
    );
    assert_eq!(folder.files(), before);
}

#[test]
fn a_plan_that_is_written_anew_takes_the_form_as_it_is_too() {
    let folder = Folder::new();
    assert_eq!(folder.run::<racks::Model>("init"), DONE);
    assert_eq!(folder.run::<higher::Model>("diff --name racks"), DONE);
    let before = folder.files();
    let told = folder.answer::<higher_and_taken::Model>(&["diff", "--amend"]);
    assert_eq!(told.code, DRIFTED, "{:?}", told.lines);
    assert!(told.lines[0].contains("`Thing@2` is stored otherwise than the release said"), "{:?}", told.lines);
    assert_eq!(folder.files(), before);
}
