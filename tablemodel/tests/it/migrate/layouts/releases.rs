//! The releases of a program that keeps notes: one entity, cut into rows and blobs in each way that there is, and upgraded to another.
//!
//! Nothing is asserted here but that a note is found by its title as by its number.

use std::collections::BTreeMap;

use tablemodel::{Upgrade, UpgradeError, prelude::*};

/// What a note says, however its release keeps it.
pub(super) trait Body: Sized {
    fn made(bytes: Vec<u8>) -> Self;
    async fn bytes(&self, db: &Database) -> Vec<u8>;
}

impl Body for Vec<u8> {
    fn made(bytes: Vec<u8>) -> Self {
        bytes
    }

    async fn bytes(&self, _: &Database) -> Vec<u8> {
        self.clone()
    }
}

impl Body for Blob {
    fn made(bytes: Vec<u8>) -> Self {
        bytes.into()
    }

    async fn bytes(&self, db: &Database) -> Vec<u8> {
        Blob::bytes(self, db).await.expect("there").to_vec()
    }
}

/// Notes by their numbers: how often they were starred, and their bytes.
pub(super) type Notes = BTreeMap<u32, (i64, Vec<u8>)>;

/// A release of the program.
pub(super) trait Release {
    type Model: TableModel;
    async fn put(db: &Database, id: u32, body: Vec<u8>);
    async fn notes(db: &Database) -> tablemodel::Result<Notes>;
    async fn found(db: &Database, id: u32) -> tablemodel::Result<Vec<u8>>;
    async fn star(db: &Database, id: u32, stars: i64);
    async fn replace(db: &Database, id: u32, body: Vec<u8>);
    async fn save(db: &Database, id: u32);
    async fn delete(db: &Database, id: u32);
}

/// One release: its attributes, those of the likes and of the body, and the body's type; and how that is made of the release before.
macro_rules! release {
    ($name:ident, [$($of:tt)*], [$($likes:tt)*], [$($body:tt)*] $type:ty $(, $before:ident: $old:ty => |$from:ident| $upgrade:expr)?) => {
        pub(super) mod $name {
            use super::*;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Notes", entity_type = "Note", partition = "{shelf}", row = "n_{id:04}", $($of)*)]
            #[table(index(by_title, row = "t_{title}_{id:04}", keep(stars)))]
            #[table(index(titles, table = "Titles", partition = "{title}", row = "{shelf}_{id:04}", keys_only))]
            pub(in super::super) struct Note {
                pub(in super::super) shelf: String,
                pub(in super::super) id: u32,
                pub(in super::super) title: String,
                pub(in super::super) stars: i64,
                $($likes)*
                pub(in super::super) likes: i64,
                $($body)*
                pub(in super::super) body: $type,
            }

            $(impl Upgrade<$before::Note> for Note {
                fn upgrade(old: $before::Note) -> Result<Self, UpgradeError> {
                    let $before::Note { shelf, id, title, stars, likes, body } = old;
                    let $from: $old = body;
                    Ok(Self { shelf, id, title, stars, likes, body: $upgrade })
                }
            })?

            #[derive(Debug, Clone, PartialEq, TableModel)]
            pub(in super::super) enum Notes {
                Note(Note),
            }

            pub(in super::super) struct Program;

            impl Release for Program {
                type Model = Notes;

                async fn put(db: &Database, id: u32, body: Vec<u8>) {
                    let title = format!("t{}", id % 3);
                    let note = Note { shelf: "s".into(), id, title, stars: 0, likes: 0, body: Body::made(body) };
                    db.insert(&note).await.expect("inserted");
                }

                async fn notes(db: &Database) -> tablemodel::Result<super::Notes> {
                    let mut all = super::Notes::new();
                    for note in Note::find().shelf("s").all(db).await? {
                        all.insert(note.id, (note.likes, Body::bytes(&note.body, db).await));
                    }
                    for title in ["t0", "t1", "t2"] {
                        for note in Note::by_title().shelf("s").title(title).all(db).await? {
                            assert_eq!(all[&note.id], (note.likes, Body::bytes(&note.body, db).await), "by its title");
                        }
                    }
                    Ok(all)
                }

                async fn found(db: &Database, id: u32) -> tablemodel::Result<Vec<u8>> {
                    let note = Note::find().shelf("s").id(id).one(db).await?.expect("there");
                    Ok(Body::bytes(&note.body, db).await)
                }

                async fn star(db: &Database, id: u32, stars: i64) {
                    db.patch(Note::find().shelf("s").id(id), Note::LIKES.set(stars)).await.expect("patched");
                }

                async fn replace(db: &Database, id: u32, body: Vec<u8>) {
                    let note = Note::find().shelf("s").id(id).one(db).await.expect("read").expect("there");
                    let note = Note { body: Body::made(body), ..Note::clone(&note) };
                    db.upsert(&note).await.expect("replaced");
                }

                async fn save(db: &Database, id: u32) {
                    let mut note = Note::find().shelf("s").id(id).one(db).await.expect("read").expect("there");
                    note.stars += 1;
                    db.save(&mut note).await.expect("saved");
                }

                async fn delete(db: &Database, id: u32) {
                    let note = Note::find().shelf("s").id(id).one(db).await.expect("read").expect("there");
                    db.delete(note).await.expect("deleted");
                }
            }
        }
    };
}

release!(plain, [version = 1], [], [] Vec<u8>);
release!(cut, [version = 1, wide], [#[table(part = "counts")]], [#[table(chunked)]] Vec<u8>);
release!(blob, [version = 1], [], [#[table(blob)]] Blob);

release!(links, [version = 1], [], [#[table(blob(inline_below = 0))]] Blob);

release!(plain_to_cut, [version = 2, wide, previous = plain::Note], [#[table(part = "counts")]], [#[table(chunked)]] Vec<u8>, plain: Vec<u8> => |body| body);
release!(plain_to_chunked, [version = 2, previous = plain::Note], [], [#[table(chunked)]] Vec<u8>, plain: Vec<u8> => |body| body);
release!(cut_to_plain, [version = 2, previous = cut::Note], [], [] Vec<u8>, cut: Vec<u8> => |body| body);
release!(cut_to_wide, [version = 2, wide, previous = cut::Note], [#[table(part = "counts")]], [] Vec<u8>, cut: Vec<u8> => |body| body);
release!(plain_to_blob, [version = 2, previous = plain::Note], [], [#[table(blob)]] Blob, plain: Vec<u8> => |body| body.into());
release!(cut_to_blob, [version = 2, previous = cut::Note], [], [#[table(blob)]] Blob, cut: Vec<u8> => |body| body.into());
release!(blob_to_plain, [version = 2, previous = blob::Note], [], [] Vec<u8>, blob: Blob => |body| body.content()?.to_vec());
release!(blob_to_cut, [version = 2, wide, previous = blob::Note], [#[table(part = "counts")]], [#[table(chunked)]] Vec<u8>, blob: Blob => |body| body.content()?.to_vec());
release!(blob_to_links, [version = 2, previous = blob::Note], [], [#[table(blob(inline_below = 0))]] Blob, blob: Blob => |body| body);
release!(blob_to_rows, [version = 2, previous = blob::Note], [], [#[table(blob(inline_below = 50_000))]] Blob, blob: Blob => |body| body);
// Two versions later: through a blob that is only passed on.
release!(links_to_cut, [version = 3, wide, previous = blob_to_links::Note], [#[table(part = "counts")]], [#[table(chunked)]] Vec<u8>, blob_to_links: Blob => |body| body.content()?.to_vec());
// One that goes on without the content that it asked for: it is fetched all the same.
release!(blob_to_careless, [version = 2, wide, previous = blob::Note], [#[table(part = "counts")]], [#[table(chunked)]] Vec<u8>, blob: Blob => |body| body.content().unwrap_or_default().to_vec());
