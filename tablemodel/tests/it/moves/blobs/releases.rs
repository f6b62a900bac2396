//! The releases of a program whose entities have blobs and move, by the table in which the new form stands.
//!
//! No test stands here.

macro_rules! releases {
    ($new:tt) => {
        releases!($new, [] [] => [] []);
    };
    // With further words on the structs of both forms, and on their fields.
    ($new:tt, [$($old:tt)*] [$($old_field:tt)*] => [$($form:tt)*] [$($field:tt)*]) => {
        /// Where the new form stands.
        const NEW: &str = $new;

        /// The release that knows of no move.
        pub(super) mod before {
            use tablemodel::prelude::*;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "People", entity_type = "Person", partition = "{team}", row = "p_{name}" $($old)*)]
            pub(crate) struct Person {
                pub(crate) team: String,
                pub(crate) name: String,
                #[table(blob(inline_below = 16) $($old_field)*)]
                pub(crate) portrait: Blob,
                #[table(blob(inline_below = 0) $($old_field)*)]
                pub(crate) film: Option<Blob>,
            }

            #[derive(Debug, TableModel)]
            pub(crate) enum Model {
                Person(Person),
            }
        }

        /// The release that keeps both.
        pub(super) mod first {
            use tablemodel::{Upgrade, UpgradeError, prelude::*};

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "People", partition = "{team}", row = "p_{name}", moves_to = PersonV2 $($old)*)]
            pub(crate) struct Person {
                pub(crate) team: String,
                pub(crate) name: String,
                #[table(blob(inline_below = 16) $($old_field)*)]
                pub(crate) portrait: Blob,
                #[table(blob(inline_below = 0) $($old_field)*)]
                pub(crate) film: Option<Blob>,
            }

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = $new, entity_type = "Person", version = 2, partition = "{name}", row = "m_{team}" $($form)*)]
            pub(crate) struct PersonV2 {
                pub(crate) name: String,
                pub(crate) team: String,
                #[table(blob(inline_below = 16) $($field)*)]
                pub(crate) image: Blob,
                #[table(blob(inline_below = 0) $($field)*)]
                pub(crate) film: Option<Blob>,
            }

            impl Upgrade<Person> for PersonV2 {
                fn upgrade(Person { team, name, portrait, film }: Person) -> Result<Self, UpgradeError> {
                    Ok(Self { name, team, image: portrait, film })
                }
            }

            #[derive(Debug, TableModel)]
            pub(crate) enum Model {
                Person(Person),
            }
        }

        /// The release that takes the new form.
        pub(super) mod second {
            use tablemodel::{Upgrade, UpgradeError, prelude::*};

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "People", entity_type = "Person", frozen, partition = "{team}", row = "p_{name}" $($old)*)]
            pub(crate) struct PersonV1 {
                pub(crate) team: String,
                pub(crate) name: String,
                #[table(blob(inline_below = 16) $($old_field)*)]
                pub(crate) portrait: Blob,
                #[table(blob(inline_below = 0) $($old_field)*)]
                pub(crate) film: Option<Blob>,
            }

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = $new, version = 2, partition = "{name}", row = "m_{team}", moved_from = PersonV1 $($form)*)]
            pub(crate) struct Person {
                pub(crate) name: String,
                pub(crate) team: String,
                #[table(blob(inline_below = 16) $($field)*)]
                pub(crate) image: Blob,
                #[table(blob(inline_below = 0) $($field)*)]
                pub(crate) film: Option<Blob>,
            }

            impl Upgrade<PersonV1> for Person {
                fn upgrade(PersonV1 { team, name, portrait, film }: PersonV1) -> Result<Self, UpgradeError> {
                    Ok(Self { name, team, image: portrait, film })
                }
            }

            #[derive(Debug, TableModel)]
            pub(crate) enum Model {
                Person(Person),
            }
        }

        /// A later release, in which no word of the move is left.
        pub(super) mod third {
            use tablemodel::prelude::*;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = $new, version = 2, partition = "{name}", row = "m_{team}" $($form)*)]
            pub(crate) struct Person {
                pub(crate) name: String,
                pub(crate) team: String,
                #[table(blob(inline_below = 16) $($field)*)]
                pub(crate) image: Blob,
                #[table(blob(inline_below = 0) $($field)*)]
                pub(crate) film: Option<Blob>,
            }

            #[derive(Debug, TableModel)]
            pub(crate) enum Model {
                Person(Person),
            }
        }

        /// The release that moves them back to the keys of before.
        pub(super) mod back {
            use tablemodel::{Upgrade, UpgradeError, prelude::*};

            use super::first::PersonV2;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "People", version = 3, partition = "{team}", row = "p_{name}", moved_from = PersonV2 $($old)*)]
            pub(crate) struct Person {
                pub(crate) team: String,
                pub(crate) name: String,
                #[table(blob(inline_below = 16) $($old_field)*)]
                pub(crate) portrait: Blob,
                #[table(blob(inline_below = 0) $($old_field)*)]
                pub(crate) film: Option<Blob>,
            }

            impl Upgrade<PersonV2> for Person {
                fn upgrade(PersonV2 { name, team, image, film }: PersonV2) -> Result<Self, UpgradeError> {
                    Ok(Self { team, name, portrait: image, film })
                }
            }

            #[derive(Debug, TableModel)]
            pub(crate) enum Model {
                Person(Person),
            }
        }
    };
}

pub(super) use releases;
