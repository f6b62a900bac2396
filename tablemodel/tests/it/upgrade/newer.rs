//! Rows of a version newer than the program: read only where their writer lets it, and never written over.

use futures_util::stream;
use tablemodel::{
    Consistency, Downgrade, ErrorKind, Result, Upgrade, UpgradeError,
    prelude::*,
    store::{Action, Condition},
    testing::TestDatabase,
};

use super::{person, programs, row, text, v1, v3};

pub(super) mod old {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", entity_type = "Note", partition = "{book}", row = "note_{id:04}", allow_scan)]
    #[table(index(by_title, row = "title_{title}_{id:04}", keep(text)))]
    #[table(index(anywhere, table = "Titles", partition = "{title}", row = "{book}_{id:04}", keep(text)))]
    pub(in crate::upgrade) struct Note {
        pub(in crate::upgrade) book: String,
        pub(in crate::upgrade) id: u32,
        pub(in crate::upgrade) title: String,
        pub(in crate::upgrade) text: String,
        pub(in crate::upgrade) stars: Option<i32>,
    }

    #[derive(Debug, PartialEq, Projection)]
    #[table(of = Note)]
    pub(in crate::upgrade) struct Text {
        pub(in crate::upgrade) text: String,
    }

    #[derive(TableModel)]
    pub(in crate::upgrade) enum Model {
        Note(Note),
    }
}

/// Adds a property, and renames one: older programs read what they knew under its old name.
pub(super) mod new {
    use tablemodel::prelude::*;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Notes", version = 2, previous = super::old::Note, readable_by = 1, downgrade)]
    #[table(partition = "{book}", row = "note_{id:04}", allow_scan)]
    #[table(index(by_title, row = "title_{title}_{id:04}", keep(body)))]
    #[table(index(anywhere, table = "Titles", partition = "{title}", row = "{book}_{id:04}", keep(body)))]
    pub(in crate::upgrade) struct Note {
        pub(in crate::upgrade) book: String,
        pub(in crate::upgrade) id: u32,
        pub(in crate::upgrade) title: String,
        pub(in crate::upgrade) body: String,
        pub(in crate::upgrade) stars: Option<i32>,
        pub(in crate::upgrade) words: i64,
    }

    #[derive(TableModel)]
    pub(in crate::upgrade) enum Model {
        Note(Note),
    }
}

impl Upgrade<old::Note> for new::Note {
    fn upgrade(old: old::Note) -> Result<Self, UpgradeError> {
        let old::Note { book, id, title, text, stars } = old;
        let words = text.split_whitespace().count() as i64;
        Ok(Self { book, id, title, body: text, stars, words })
    }
}

impl Downgrade<old::Note> for new::Note {
    fn downgrade(&self) -> old::Note {
        let Self { book, id, title, body, stars, .. } = self.clone();
        old::Note { book, id, title, text: body, stars }
    }
}

pub(super) fn older(id: u32) -> old::Note {
    old::Note { book: "B".into(), id, title: format!("T{id}"), text: "one two".into(), stars: None }
}

pub(super) fn newer(id: u32) -> new::Note {
    new::Note { book: "B".into(), id, title: format!("T{id}"), body: "one two".into(), stars: None, words: 2 }
}

pub(super) async fn two(mode: Consistency) -> (TestDatabase, TestDatabase) {
    let first = crate::migrate::store_of::<old::Model>(mode).await;
    let second = first.reopen::<new::Model>().await.unwrap();
    (first, second)
}

#[tokio::test]
async fn a_row_that_says_so_is_read_by_the_older_program_in_every_way() {
    for mode in super::MODES {
        let (old, new) = two(mode).await;
        new.insert(&newer(1)).await.unwrap();
        let book = || old::Note::find().book("B");
        assert_eq!(book().id(1).one(&old).await.unwrap().map(Stored::into_inner), Some(older(1)));
        assert_eq!(book().all(&old).await.unwrap().len(), 1);
        let title = || old::Note::by_title().book("B").title("T1");
        assert_eq!(
            title().all(&old).await.unwrap().into_iter().map(Stored::into_inner).collect::<Vec<_>>(),
            [older(1)]
        );
        let text = title().select::<old::Text>().all(&old).await.unwrap();
        assert_eq!(
            text,
            [old::Text { text: "one two".into() }],
            "not from the newer index row, which has no such property"
        );
        let seen = old::Note::anywhere().title("T1").all(&old).await.unwrap();
        assert_eq!(seen.into_iter().map(Stored::into_inner).collect::<Vec<_>>(), [older(1)]);
        // And what the newer program wrote of it follows each of its writes.
        new.patch(new::Note::find().book("B").id(1), new::Note::STARS.set(3)).await.unwrap();
        new.update(new::Note::find().book("B").id(1), |note| Ok(note.body = "three".into())).await.unwrap();
        let wanted = old::Note { text: "three".into(), stars: Some(3), ..older(1) };
        assert_eq!(book().id(1).one(&old).await.unwrap().map(Stored::into_inner), Some(wanted));
        assert!(new.verify().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn a_row_that_does_not_say_so_is_an_unknown_version_to_the_older_program() {
    let all = programs(Consistency::Azure).await;
    all.v3.insert(&person(1).v3()).await.unwrap();
    let error = v1::Employee::find().department("Sales").id(1).one(&all.v1).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnknownVersion);
    assert!(error.to_string().contains("deploy the newer program"), "{error}");
    assert_eq!(
        *v1::Employee::find().department("Sales").all(&all.v1).await.unwrap_err().kind(),
        ErrorKind::UnknownVersion
    );
}

/// Every way to write, over the newer row 1; 2 is the program's own.
#[derive(Debug, Clone, Copy)]
enum Way {
    Save,
    Update,
    Patch,
    Upsert,
    Delete,
    DeleteAll,
    Upgrade,
    Rekey,
    BatchSave,
    BatchUpsert,
    BatchDelete,
    BatchPatch,
    Bulk,
}

const WAYS: [Way; 13] = [
    Way::Save,
    Way::Update,
    Way::Patch,
    Way::Upsert,
    Way::Delete,
    Way::DeleteAll,
    Way::Upgrade,
    Way::Rekey,
    Way::BatchSave,
    Way::BatchUpsert,
    Way::BatchDelete,
    Way::BatchPatch,
    Way::Bulk,
];

async fn write(db: &TestDatabase, way: Way) -> Result<()> {
    let path = || old::Note::find().book("B").id(1);
    let mut one = path().one(db).await?.unwrap();
    let changed = old::Note { text: "mine".into(), ..older(1) };
    let mut batch = db.batch(old::Note::in_partition("B"));
    let mut two = old::Note::find().book("B").id(2).one(db).await?.unwrap();
    two.text = "mine".into();
    match way {
        Way::Save => {
            one.text = "mine".into();
            db.save(&mut one).await
        }
        Way::Update => db.update(path(), |note| Ok(note.text = "mine".into())).await.map(drop),
        Way::Patch => db.patch(path(), old::Note::STARS.set(Some(1))).await,
        Way::Upsert => db.upsert(&changed).await.map(drop),
        Way::Delete => db.delete(one).await,
        Way::DeleteAll => old::Note::find().book("B").id_between(1..=1).delete_all(db).await.map(drop),
        Way::Upgrade => db.upgrade(&mut one).await.map(drop),
        Way::Rekey => {
            one.book = "C".into();
            db.rekey(&mut one).await
        }
        Way::BatchSave => {
            one.text = "mine".into();
            batch.save(&mut two).save(&mut one);
            batch.commit().await
        }
        Way::BatchUpsert => {
            batch.save(&mut two).upsert(&changed);
            batch.commit().await
        }
        Way::BatchDelete => {
            batch.save(&mut two).delete(one);
            batch.commit().await
        }
        Way::BatchPatch => {
            batch.save(&mut two).patch(path(), old::Note::STARS.set(Some(1)));
            batch.commit().await
        }
        Way::Bulk => db.bulk().upsert_all(stream::iter([changed])).await?.into_result().map(drop),
    }
}

#[tokio::test]
async fn no_way_to_write_touches_a_row_that_may_only_be_read() {
    for mode in super::MODES {
        let (old, new) = two(mode).await;
        new.insert(&newer(1)).await.unwrap();
        old.insert(&older(2)).await.unwrap();
        super::settle(&new).await;
        let before = super::rows(&new, "Notes").await;
        for way in WAYS {
            let error = write(&old, way).await.expect_err(&format!("{mode:?} {way:?}"));
            assert_eq!(*error.kind(), ErrorKind::UnknownVersion, "{mode:?} {way:?}: {error}");
            assert!(error.to_string().contains("may read but not write it"), "{way:?}: {error}");
            let now = super::rows(&new, "Notes").await;
            let own = |rows: &std::collections::BTreeMap<_, Row>| {
                rows.iter()
                    .map(|(key, row): (&(String, String), &Row)| (key.clone(), row.etag.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(own(&now), own(&before), "{mode:?} {way:?}");
        }
        let error = old.insert(&older(1)).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::AlreadyExists);
    }
}

/// Without the right to read, every write that has to read says so too.
#[tokio::test]
async fn no_way_to_write_touches_a_row_that_may_not_be_read() {
    let all = programs(Consistency::Azure).await;
    all.v3.insert(&person(1).v3()).await.unwrap();
    let before = row(&all.v3, "empid_000001").await.unwrap().etag;
    let path = || v1::Employee::find().department("Sales").id(1);
    let mut batch = all.v1.batch(v1::Employee::in_partition("Sales"));
    batch.upsert(&person(1).v1());
    let errors = [
        all.v1.update(path(), |one| Ok(one.age = 1)).await.map(drop).unwrap_err(),
        all.v1.patch(path(), v1::Employee::NOTE.set(None)).await.unwrap_err(),
        all.v1.upsert(&person(1).v1()).await.map(drop).unwrap_err(),
        batch.commit().await.unwrap_err(),
        all.v1.bulk().upsert_all(stream::iter([person(1).v1()])).await.unwrap().into_result().unwrap_err(),
    ];
    for error in errors {
        assert_eq!(*error.kind(), ErrorKind::UnknownVersion, "{error}");
    }
    assert_eq!(row(&all.v3, "empid_000001").await.unwrap().etag, before);
}

#[tokio::test]
async fn a_frozen_version_writes_nothing() {
    #[derive(TableEntity)]
    #[table(name = "Notes", entity_type = "Note", frozen, partition = "{book}", row = "note_{id:04}")]
    struct Frozen {
        book: String,
        id: u32,
    }
    let (old, _) = two(Consistency::Azure).await;
    let error = old.insert(&Frozen { book: "B".into(), id: 1 }).await.map(drop).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("version 1 is frozen"), "{error}");
}

/// Rows with what older programs read are left without it by a version that does not keep it any more.
#[tokio::test]
async fn what_was_kept_for_older_programs_is_no_property_of_the_entity() {
    let (_, new) = two(Consistency::Azure).await;
    new.insert(&newer(1)).await.unwrap();
    let stored = super::rows(&new, "Notes").await[&("B".to_owned(), "note_0001".to_owned())].clone();
    assert_eq!((text(&stored, "Text"), text(&stored, "Body")), (Some("one two".into()), Some("one two".into())));
    let index = super::rows(&new, "Notes").await[&("B".to_owned(), "title_T1_0001".to_owned())].clone();
    assert_eq!((text(&index, "Text"), text(&index, "_reads")), (None, None));
    assert_eq!(text(&stored, "_reads").as_deref(), Some("Int32(1)"));
    // One that was written before there was a newer program reads as it did.
    let plain = Action::Merge([("Stars", 5_i32)].into_iter().collect(), Condition::Exists);
    let batch = tablemodel::store::Batch::new("Notes", "B").with("note_0001", plain);
    new.store().commit(&[batch]).await.unwrap();
    let read = new::Note::find().book("B").id(1).one(&new).await.unwrap().unwrap();
    assert_eq!(read.stars, Some(5));
}

/// What a newer program left undone names indexes that the older one does not know: it is left to a newer relay.
#[tokio::test]
async fn a_relay_of_the_older_program_leaves_newer_work_alone() {
    use tablemodel::testing::{Fault, Script};
    let mut left = 0;
    for call in 0..16 {
        let all = programs(Consistency::Azure).await;
        all.v1.insert(&person(2).v1()).await.unwrap();
        all.v3.fail(Script::new().at(call, Fault::CrashBefore));
        let _ = all.v3.insert(&person(1).v3()).await;
        all.v3.fail(Script::new());
        let (old, new) = (all.v1.reopen::<v1::Model>().await.unwrap(), all.v3.reopen::<v3::Model>().await.unwrap());
        for _ in 0..15 {
            old.clock().advance(std::time::Duration::from_secs(400));
            let report = old.relay().run_once().await.unwrap();
            assert_eq!((report.failed, report.poisoned), (0, 0), "call {call}: {report:?}");
            left += report.waiting;
        }
        super::settle(&new).await;
        let verified = new.verify().await.unwrap();
        assert!(verified.is_clean(), "call {call}: {:#?}", verified.violations);
    }
    assert!(left > 0, "nothing was left to the newer program");
}

/// The third: it has no words, which the second may have, and the first must.
mod third {
    use tablemodel::{Downgrade, Upgrade, UpgradeError, prelude::*};

    macro_rules! words {
        ($name:ident, $words:ty, $($more:tt)*) => {
            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Words", entity_type = "Words", partition = "{book}", row = "w_{id:04}", $($more)*)]
            pub(in crate::upgrade) struct $name {
                pub(in crate::upgrade) book: String,
                pub(in crate::upgrade) id: u32,
                #[table(default)]
                pub(in crate::upgrade) words: $words,
            }
        };
    }

    words!(First, i64, version = 1);
    words!(Second, Option<i64>, version = 2, previous = First, readable_by = 1, downgrade);

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "Words", entity_type = "Words", version = 3, previous = Second, readable_by = 1, downgrade)]
    #[table(partition = "{book}", row = "w_{id:04}")]
    pub(in crate::upgrade) struct Third {
        pub(in crate::upgrade) book: String,
        pub(in crate::upgrade) id: u32,
    }

    impl Upgrade<First> for Second {
        fn upgrade(First { book, id, words }: First) -> Result<Self, UpgradeError> {
            Ok(Self { book, id, words: Some(words) })
        }
    }

    impl Downgrade<First> for Second {
        fn downgrade(&self) -> First {
            First { book: self.book.clone(), id: self.id, words: self.words.unwrap_or(-1) }
        }
    }

    impl Upgrade<Second> for Third {
        fn upgrade(Second { book, id, .. }: Second) -> Result<Self, UpgradeError> {
            Ok(Self { book, id })
        }
    }

    impl Downgrade<Second> for Third {
        fn downgrade(&self) -> Second {
            Second { book: self.book.clone(), id: self.id, words: self.id.checked_sub(1).map(i64::from) }
        }
    }

    macro_rules! model {
        ($name:ident, $entity:ident) => {
            #[derive(TableModel)]
            pub(in crate::upgrade) enum $name {
                Words($entity),
            }
        };
    }

    model!(FirstModel, First);
    model!(SecondModel, Second);
    model!(ThirdModel, Third);
}

#[tokio::test]
async fn what_a_nearer_version_has_not_is_not_made_up_for_it_by_an_older_one() {
    use third::{First, FirstModel, Second, SecondModel, Third, ThirdModel};
    let first = TestDatabase::new::<FirstModel>().await.unwrap();
    let second = first.reopen::<SecondModel>().await.unwrap();
    let third = first.reopen::<ThirdModel>().await.unwrap();
    for (id, is, was) in [(0, None, 0), (8, Some(7), 7)] {
        third.insert(&Third { book: "B".into(), id }).await.unwrap();
        let read = Second::find().book("B").id(id).one(&second).await.unwrap().unwrap();
        assert_eq!(read.words, is);
        // The first has a default for what is absent.
        let read = First::find().book("B").id(id).one(&first).await.unwrap().unwrap();
        assert_eq!(read.words, was);
    }
}
