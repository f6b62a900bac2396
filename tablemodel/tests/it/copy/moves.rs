//! Sources and holders that move to another partition: copies follow to what is at the keys in the end.

use tablemodel::{
    Consistency, ErrorKind, Result,
    prelude::*,
    testing::{Fault, Script, TestDatabase},
};

use super::{
    Badge, Department, Desk, Employee, MODES, Model, Name, Note, assert_exact, at, badge, database, department, desk,
    employee, note, settle,
};

/// Employee 1 of A, whom a department beside it, a desk and a note copy; a desk and a department of B wait for the one who
/// comes.
async fn prepared(mode: Consistency) -> TestDatabase {
    let db = database(mode).await;
    db.insert(&employee("A", 1)).await.unwrap();
    db.insert(&department("A", 1, 1)).await.unwrap();
    db.insert(&department("B", 2, 1)).await.unwrap();
    db.insert(&desk(1, 1)).await.unwrap();
    db.insert(&Desk { of: "B".into(), ..desk(2, 1) }).await.unwrap();
    db.insert(&note(1, 1)).await.unwrap();
    settle(&db).await;
    assert_exact(&db, "prepared").await;
    db
}

/// Who moves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Source,
    Holder,
    HolderBeside,
}

async fn run(db: &TestDatabase, kind: Kind) -> Result<()> {
    match kind {
        Kind::Source => {
            let Some(mut moved) = at!("A", 1).one(db).await? else { return Ok(()) };
            moved.department = "B".into();
            db.rekey(&mut moved).await
        }
        Kind::Holder => {
            let Some(mut moved) = Desk::find().room("r1").place(1).one(db).await? else { return Ok(()) };
            moved.room = "r0".into();
            db.rekey(&mut moved).await
        }
        Kind::HolderBeside => {
            let Some(mut moved) = Department::find().name("A").number(1).one(db).await? else { return Ok(()) };
            moved.name = "B".into();
            db.rekey(&mut moved).await
        }
    }
}

/// How often the one who moves is found at its old key, and at its new one.
async fn places(db: &TestDatabase, kind: Kind) -> [bool; 2] {
    let department = |name| Department::find().name(name).number(1);
    let desk = |room| Desk::find().room(room).place(1);
    match kind {
        Kind::Source => [at!("A", 1).exists(db).await.unwrap(), at!("B", 1).exists(db).await.unwrap()],
        Kind::Holder => [desk("r1").exists(db).await.unwrap(), desk("r0").exists(db).await.unwrap()],
        Kind::HolderBeside => [department("A").exists(db).await.unwrap(), department("B").exists(db).await.unwrap()],
    }
}

#[tokio::test]
async fn copies_follow_a_source_to_its_new_key() {
    for mode in MODES {
        let db = prepared(mode).await;
        run(&db, Kind::Source).await.unwrap();
        settle(&db).await;
        assert_exact(&db, &format!("{mode:?}")).await;
        let who = |room: &'static str, place| {
            let path = Desk::find().room(room).place(place);
            async { path.one(&db).await.unwrap().unwrap().into_inner().who }
        };
        assert_eq!(who("r1", 1).await, None, "whoever names the old key has nothing to copy");
        assert_eq!(who("r2", 2).await, Some(Name { first_name: "first1".into() }), "it came to those who waited");
        let note = Note::find().number(1).one(&db).await.unwrap().unwrap();
        assert_eq!(note.author, Some(Name { first_name: "first1".into() }), "what is kept is kept");
        let verified = db.verify().await.unwrap();
        assert!(verified.is_clean(), "{:?}", verified.violations);
    }
}

#[tokio::test]
async fn a_holder_takes_what_it_keeps_with_it() {
    for mode in MODES {
        let db = prepared(mode).await;
        let gone = at!("A", 1).one(&db).await.unwrap().unwrap();
        db.delete(gone).await.unwrap();
        let mut kept = Note::find().number(1).one(&db).await.unwrap().unwrap();
        kept.number = 2;
        db.rekey(&mut kept).await.unwrap();
        settle(&db).await;
        let kept = Note::find().number(2).one(&db).await.unwrap().unwrap();
        assert_eq!(kept.author, Some(Name { first_name: "first1".into() }), "{mode:?}: its source is gone");
        assert_exact(&db, "moved").await;
    }
}

#[tokio::test]
async fn what_a_struct_says_of_a_copy_is_never_stored_even_where_it_would_be_kept() {
    for mode in MODES {
        let db = prepared(mode).await;
        let forged = || Some(Name { first_name: "forged".into() });
        let inserted = db.insert(&Note { author: forged(), ..note(5, 99) }).await.unwrap();
        assert_eq!(inserted.author, None, "{mode:?}: there is no such source");
        let mut moved = Note::find().number(1).one(&db).await.unwrap().unwrap();
        let before = moved.author.clone();
        (moved.number, moved.author) = (6, forged());
        db.rekey(&mut moved).await.unwrap();
        assert_eq!(moved.author, before, "{mode:?}");
        db.save(&mut moved).await.expect("what was moved is current");
        settle(&db).await;
        assert_eq!(Note::find().number(6).one(&db).await.unwrap().unwrap().author, before, "{mode:?}");
        assert_eq!(Note::find().number(5).one(&db).await.unwrap().unwrap().author, None, "{mode:?}");
    }
}

#[tokio::test]
async fn a_source_whose_copies_restrict_it_stays_and_a_holder_that_must_have_one_moves() {
    for mode in MODES {
        let db = prepared(mode).await;
        db.insert(&badge(1, 1)).await.unwrap();
        let refused = run(&db, Kind::Source).await.unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Restricted { .. }), "{mode:?}: {refused}");
        let mut holder = Badge::find().number(1).one(&db).await.unwrap().unwrap();
        holder.number = 2;
        db.rekey(&mut holder).await.unwrap();
        settle(&db).await;
        assert_exact(&db, "as it was").await;
        assert_eq!(places(&db, Kind::Source).await, [true, false]);
    }
}

#[tokio::test]
async fn a_fault_at_any_call_of_a_move_leaves_it_at_one_key_and_every_copy_right() {
    let mut points = 0;
    for mode in MODES {
        let whole = prepared(mode).await;
        for kind in [Kind::Source, Kind::Holder, Kind::HolderBeside] {
            let db = whole.fork().expect("in memory");
            db.forget_calls();
            run(&db, kind).await.unwrap();
            let calls = db.calls().len();
            for call in 0..calls {
                for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::LostReply] {
                    let told = format!("{mode:?} {kind:?}, {fault:?} at call {call} of {calls}");
                    let db = whole.fork().expect("in memory");
                    db.fail(Script::new().at(call, fault));
                    let result = run(&db, kind).await;
                    db.fail(Script::new());
                    let db = db.reopen::<Model>().await.unwrap();
                    settle(&db).await;
                    let now = places(&db, kind).await;
                    assert!(now[0] != now[1], "{told}: {now:?}");
                    assert!(result.is_err() || now[1], "{told}: acknowledged");
                    assert_exact(&db, &told).await;
                    points += 1;
                }
            }
        }
    }
    assert!(points > 150, "{points} points");
}

/// Copies two employees.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Pairs", partition = "{number}", row = "pair")]
struct Pair {
    number: u32,
    one: Option<String>,
    two: Option<String>,
    id: u32,
    #[table(copy_of(Employee, key(department = one, id = id)))]
    first: Option<Name>,
    #[table(copy_of(Employee, key(department = two, id = id)))]
    second: Option<Name>,
}

#[derive(TableModel)]
enum Pairs {
    Employee(Employee),
    Pair(Pair),
}

#[tokio::test]
async fn one_who_copies_the_old_key_and_waits_at_the_new_one_is_named_where_all_is_one_commit() {
    for db in [TestDatabase::new::<Pairs>().await.unwrap(), TestDatabase::atomic::<Pairs>().await.unwrap()] {
        db.insert(&employee("A", 1)).await.unwrap();
        let both = |two: Option<&str>| Pair {
            number: 7,
            one: Some("A".into()),
            two: two.map(Into::into),
            id: 1,
            first: None,
            second: None,
        };
        db.insert(&both(Some("B"))).await.unwrap();
        settle(&db).await;
        let mut moved = at!("A", 1).one(&db).await.unwrap().unwrap();
        moved.department = "B".into();
        let result = db.rekey(&mut moved).await;
        if db.consistency() == Consistency::Atomic {
            let refused = result.unwrap_err();
            assert_eq!(refused.kind(), &ErrorKind::Unsupported);
            assert!(refused.to_string().contains("00007"), "{refused}");
            db.upsert(&both(None)).await.unwrap();
            moved = at!("A", 1).one(&db).await.unwrap().unwrap();
            moved.department = "B".into();
            db.rekey(&mut moved).await.unwrap();
        } else {
            result.unwrap();
        }
        settle(&db).await;
        let pair = Pair::find().number(7).one(&db).await.unwrap().unwrap();
        let expected = pair.two.as_ref().map(|_| Name { first_name: "first1".into() });
        assert_eq!((pair.first.clone(), pair.second.clone()), (None, expected));
    }
}

#[tokio::test]
async fn a_fence_that_never_ends_is_waited_for_and_no_error() {
    let store = database(Consistency::Azure).await;
    let builder = Database::builder().fence(std::time::Duration::MAX).consistency(Consistency::Azure);
    let db = builder.with_store::<Model>(store.store()).await.unwrap();
    db.insert(&employee("A", 1)).await.unwrap();
    db.insert(&badge(1, 1)).await.unwrap();
    let mut holder = Badge::find().number(1).one(&db).await.unwrap().unwrap();
    holder.number = 2;
    db.rekey(&mut holder).await.unwrap();
    db.relay().drain().await.unwrap();
    assert_exact(&store, "moved").await;
    assert!(db.verify().await.unwrap().is_clean());
}

/// Where the one that it copies goes.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Company", partition = "{home}", row = "p_{id:04}")]
struct Project {
    home: String,
    id: u32,
    of: String,
    lead_id: u32,
    #[table(copy_of(Employee, key(department = of, id = lead_id), on_delete = clear))]
    lead: Option<Name>,
}

#[derive(TableModel)]
enum Projects {
    Employee(Employee),
    Project(Project),
}

#[tokio::test]
async fn any_number_of_holders_may_stand_where_their_source_goes() {
    for (holders, mode) in [(98, Consistency::Atomic), (200, Consistency::Atomic), (200, Consistency::Azure)] {
        let db = crate::migrate::store_of::<Projects>(mode).await;
        db.insert(&employee("A", 1)).await.unwrap();
        let all = (0..holders).map(|id| Project { home: "B".into(), id, of: "A".into(), lead_id: 1, lead: None });
        assert!(db.bulk().insert_all(futures_util::stream::iter(all)).await.unwrap().failed.is_empty());
        let mut source = at!("A", 1).one(&db).await.unwrap().unwrap();
        source.department = "B".into();
        db.rekey(&mut source).await.unwrap_or_else(|error| panic!("{holders}, {mode:?}: {error:?}"));
        settle(&db).await;
        let all = Project::find().home("B").all(&db).await.unwrap();
        assert!(all.len() == holders as usize && all.iter().all(|project| project.lead.is_none()), "{mode:?}");
        assert!(Employee::find().department("B").id(1).exists(&db).await.unwrap());
        assert!(db.verify().await.unwrap().is_clean(), "{mode:?}");
    }
}
