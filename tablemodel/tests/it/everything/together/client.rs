//! A program among others: it does its steps one after another, dies at times, and tells the history what became of each.

use std::{collections::BTreeSet, pin::pin, sync::Arc, time::Duration};

use tablemodel::{
    Consistency, Error, ErrorKind, Result,
    blob::ObjectStore,
    prelude::*,
    store::{
        TableStore,
        clock::{Clock, Sleep},
    },
};

use super::{
    super::{
        Entity, Fan, Key, Person,
        calls::{self, Handle, doc_key},
        release::{Newest, Release},
        sponsor_key,
        steps::{Editable, SLOTS, Step},
    },
    history::{Effect, History},
    wire::is_traced,
    world::{Skewed, World},
};

/// The slot that stands for all of a partition.
const SNAPSHOT: usize = 0;

/// Within this time a program hears that an index lapsed.
const LATE: Duration = Duration::from_secs(61);

/// What a program is, from one of its lives to the next.
#[derive(Clone)]
pub(super) struct Program {
    pub(super) world: World,
    pub(super) store: Arc<dyn TableStore>,
    pub(super) blobs: Arc<dyn ObjectStore>,
    pub(super) mode: Consistency,
    pub(super) history: History,
    /// It dies in one of so many moments.
    pub(super) death: u64,
    /// Whether it ensures its tables when it begins.
    pub(super) ensures: bool,
    /// The database that it shares with others, as tasks of one program do: of these a task dies alone.
    pub(super) shared: Option<Database>,
}

impl Program {
    /// One of its lives, of a release; its clock is wrong by so many seconds.
    pub(super) async fn open<R: Release>(&self, skew: i64) -> Result<Database> {
        let clock = Skewed { clock: self.world.clock().clone(), seconds: skew };
        let builder = Database::builder().clock(Arc::new(clock)).random(Arc::new(self.world.clone()));
        let builder = builder.sleep(Arc::new(self.world.clone())).consistency(self.mode).blobs(self.blobs.clone());
        Box::pin(builder.with_store::<R::Model>(self.store.clone())).await
    }

    /// The same by a clock that may be wrong, and with its tables where it ensures them: as often as that takes.
    pub(super) async fn begin<R: Release>(&self) -> Database {
        if let Some(db) = &self.shared {
            return db.clone();
        }
        let skew = if self.world.once_in(2) { 0 } else { self.world.roll(160) as i64 - 80 };
        loop {
            // The store may be busy for longer than opening has patience.
            let Ok(db) = self.open::<R>(skew).await else { continue };
            if !self.ensures || Box::pin(db.ensure_tables()).await.is_ok() {
                return db;
            }
        }
    }
}

pub(super) struct Client<R: Release = Newest> {
    program: Program,
    number: u64,
    db: Database,
    slots: [Option<Handle<R>>; SLOTS],
}

/// What a step does to one entity if it succeeds.
type Deed = (Key, Effect);

/// A step that is a change, or one of a batch: its deeds, and the handle that it goes through, with that handle's place.
struct Call<'s, R: Release> {
    step: &'s Step,
    deeds: Vec<Deed>,
    handle: Option<(usize, Handle<R>)>,
}

impl<R: Release> Client<R> {
    pub(super) async fn new(program: Program, number: u64) -> Self {
        let db = program.begin::<R>().await;
        Self { program, number, db, slots: [const { None }; SLOTS] }
    }

    pub(super) async fn live(mut self, steps: Vec<Step>) {
        for step in &steps {
            self.step(step).await;
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Read(SNAPSHOT, key) if R::IS_NEWEST => self.look(&key.0).await,
            Step::Tick(seconds) => self.program.world.sleep(Duration::from_secs(*seconds)).await,
            Step::Relay => self.keep().await,
            Step::Read(slot, key) => self.read(*slot, key).await,
            Step::Bulk(entities) => self.bulk(entities).await,
            Step::Batch(club, parts) => self.batch(club, parts).await,
            single => self.single(single).await,
        }
    }

    /// What is done; none where the program died of it, and began anew.
    async fn mortal<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let done = self.program.world.mortal(pin!(work), self.program.death).await;
        if done.is_none() {
            let program = self.program.clone();
            *self = Box::pin(Self::new(program, self.number)).await;
        }
        done
    }

    async fn keep(&mut self) {
        let (db, repairs) = (self.db.clone(), self.program.world.once_in(2));
        let relayed = async {
            let relayed = db.relay().run_once().await.map(drop);
            let repaired = if repairs { Box::pin(db.repair().into_future()).await.map(drop) } else { Ok(()) };
            relayed.and(repaired).and(db.blobs().collect().await.map(drop))
        };
        if let Some(Err(error)) = Box::pin(self.mortal(relayed)).await {
            assert!(is_of_the_store(&error) || *error.kind() == ErrorKind::OutcomeUnknown, "{error:?}");
        }
    }

    async fn read(&mut self, slot: usize, key: &Key) {
        let (db, begun) = (self.db.clone(), self.program.world.next());
        self.slots[slot] = match Box::pin(self.mortal(Handle::read(&db, key))).await {
            Some(Ok(found)) => {
                self.tell(begun, true, [(key.clone(), Effect::seen(found.as_ref().map(Handle::entity)))]);
                found
            }
            Some(Err(error)) => {
                assert!(is_of_the_store(&error), "{key:?}: {error:?}");
                None
            }
            None => None,
        };
    }

    /// Reads whole partitions, each by one request: by the keys, and by an index in them.
    async fn look(&mut self, club: &str) {
        let (db, begun) = (self.db.clone(), self.program.world.next());
        let work = async {
            let persons = Person::find().club(club).all(&db).await?;
            let fans = Fan::find().club(club).all(&db).await?;
            let named = Person::by_name().club(club).all(&db).await?;
            Ok((persons, fans, named))
        };
        let (persons, fans, named) = match Box::pin(self.mortal(work)).await {
            Some(Ok(found)) => found,
            Some(Err(error)) => return assert!(is_of_the_store(&error), "{error:?}"),
            None => return,
        };
        self.see(club, begun, "p_", persons.into_iter().map(|found| Entity::Person(found.into_inner())));
        self.see(club, begun, "p_", named.into_iter().map(|found| Entity::Person(found.into_inner())));
        self.see(club, begun, "f_", fans.into_iter().map(|found| Entity::Fan(found.into_inner())));
        if self.program.ensures {
            self.look_at_new(club).await;
        }
    }

    /// Reads a partition by an index that may be added meanwhile. Should a program without it write, whoever reads it hears of that within a
    /// minute; until then it shows what was.
    async fn look_at_new(&mut self, club: &str) {
        let db = self.db.clone();
        let work = async { Fan::by_nick().club(club).all(&db).await };
        match Box::pin(self.mortal(work)).await {
            Some(Ok(nicked)) => {
                let begun = self.program.world.within(LATE);
                self.see(club, begun, "f_", nicked.into_iter().map(|found| Entity::Fan(found.into_inner())));
            }
            Some(Err(error)) => {
                let is_building = matches!(error.kind(), ErrorKind::IndexNotReady { .. });
                assert!(is_building || is_of_the_store(&error), "{error:?}");
            }
            None => {}
        }
    }

    /// Tells of all entities of a kind that a partition has.
    fn see(&self, club: &str, begun: u64, kind: &str, found: impl IntoIterator<Item = Entity>) {
        let found: Vec<Entity> = found.into_iter().collect();
        let known = self.program.history.keys().into_iter();
        let known: BTreeSet<Key> = known.filter(|key| key.0 == club && key.1.starts_with(kind)).collect();
        let missing = known.into_iter().filter(|key| found.iter().all(|entity| entity.key() != *key));
        let missing = missing.map(|key| (key, Effect::seen(None)));
        let there = found.iter().map(|entity| (entity.key(), Effect::seen(Some(entity.clone()))));
        self.tell(begun, true, there.chain(missing));
    }

    async fn single(&mut self, step: &Step) {
        let Some(mut call) = self.call(step) else { return };
        let (db, begun) = (self.db.clone(), self.program.world.next());
        let work = calls::single(&db, step, call.handle.as_mut().map(|(_, handle)| handle));
        let answer = Box::pin(self.mortal(work)).await;
        self.settle(begun, vec![call], answer);
    }

    async fn batch(&mut self, club: &str, parts: &[Step]) {
        let mut keys = BTreeSet::new();
        let mut parts: Vec<_> = parts.iter().filter_map(|part| self.call(part)).collect();
        let is_apart = |call: &Call<'_, R>, keys: &mut BTreeSet<Key>| {
            call.deeds.iter().all(|(key, _)| key.0 == club && keys.insert(key.clone()))
        };
        parts.retain(|call| is_apart(call, &mut keys));
        if parts.is_empty() {
            return;
        }
        let (db, begun) = (self.db.clone(), self.program.world.next());
        let calls = parts.iter_mut().map(|call| (call.step, call.handle.as_mut().map(|(_, handle)| handle)));
        let answer = Box::pin(self.mortal(calls::batch(&db, club, calls))).await;
        self.settle(begun, parts, answer);
    }

    async fn bulk(&mut self, entities: &[Entity]) {
        let mut keys = BTreeSet::new();
        let mut apart = entities.to_vec();
        apart.retain(|entity| keys.insert(entity.key()));
        let (db, begun) = (self.db.clone(), self.program.world.next());
        let failed = Box::pin(self.mortal(calls::bulk::<R>(&db, &apart))).await;
        for entity in apart {
            let of_it = |error: &&Error| {
                error.key().is_some_and(|key| (&key.partition, &key.row) == (&entity.key().0, &entity.key().1))
            };
            let answer = failed.as_ref().map(|failed| match failed.iter().find(of_it) {
                Some(error) => Err(error.clone()),
                None => Ok(()),
            });
            let deeds = vec![(entity.key(), Effect::swap(None, Some(entity)))];
            self.settle(begun, vec![Call { step: &Step::Relay, deeds, handle: None }], answer);
        }
    }

    /// A change, with what it does; none where its slot is empty.
    fn call<'s>(&self, step: &'s Step) -> Option<Call<'s, R>> {
        let of = |slot: &usize| self.slots[*slot].clone().map(|handle| (*slot, handle));
        let edit = |key: Key, edit: super::history::Edit| vec![(key, Effect::Edit(edit))];
        let mut handle = None;
        let deeds = match step {
            Step::Insert(entity) => vec![(entity.key(), Effect::swap(None, Some(entity.clone())))],
            Step::Upsert(entity) => vec![(entity.key(), Effect::Set(Some(super::history::own(entity.clone()))))],
            Step::Save(slot, with) | Step::Rekey(slot, with) => {
                let (slot, mut held) = of(slot)?;
                let from = held.entity();
                held.edit(with, matches!(step, Step::Rekey(..)));
                let to = held.entity();
                handle = Some((slot, held));
                match from.key() == to.key() {
                    true => vec![(from.key(), Effect::swap(Some(from), Some(to)))],
                    false => {
                        vec![(from.key(), Effect::swap(Some(from), None)), (to.key(), Effect::swap(None, Some(to)))]
                    }
                }
            }
            Step::Delete(slot) => {
                handle = Some(of(slot)?);
                let from = handle.as_ref().map(|(_, handle)| handle.entity())?;
                vec![(from.key(), Effect::swap(Some(from), None))]
            }
            Step::Update(key, with) => {
                let with = with.clone();
                edit(key.clone(), Arc::new(move |entity| entity.edit(&with, false)))
            }
            Step::Patch(club, id, reads, likes) => {
                let (reads, likes) = (*reads, *likes);
                edit(
                    doc_key(*club, *id),
                    Arc::new(move |entity| {
                        if let Entity::Doc(doc) = entity {
                            (doc.reads, doc.likes) = (reads, likes);
                        }
                    }),
                )
            }
            Step::Rename(id, name) => {
                let name = name.clone();
                edit(
                    sponsor_key(*id),
                    Arc::new(move |entity| {
                        if let Entity::Sponsor(sponsor) = entity {
                            sponsor.name = name.clone();
                        }
                    }),
                )
            }
            Step::Read(..) | Step::Batch(..) | Step::Bulk(_) | Step::Tick(_) | Step::Relay => {
                unreachable!("not a change")
            }
        };
        Some(Call { step, deeds, handle })
    }

    /// Tells the history of calls that were one, by their answer, and keeps what they left in its slots.
    fn settle(&mut self, begun: u64, calls: Vec<Call<'_, R>>, answer: Option<Result<()>>) {
        let deeds: Vec<_> = calls.iter().flat_map(|call| call.deeds.clone()).collect();
        self.program.history.count(answer.as_ref());
        if let Some(Err(error)) = &answer
            && is_traced()
        {
            eprintln!("{} program {}, from {begun}: {error:?}", self.program.world.clock().now(), self.number);
        }
        match answer {
            None => self.tell(begun, false, deeds),
            Some(Ok(())) => {
                self.tell(begun, true, deeds);
                for call in calls {
                    let Some((slot, handle)) = call.handle else { continue };
                    self.slots[slot] = if matches!(call.step, Step::Delete(_)) { None } else { Some(handle) };
                }
            }
            Some(Err(error)) => match error.kind() {
                ErrorKind::OutcomeUnknown => self.tell(begun, false, deeds),
                ErrorKind::AlreadyExists | ErrorKind::NotFound if deeds.len() == 1 => {
                    let told = Effect::Told { exists: *error.kind() == ErrorKind::AlreadyExists };
                    self.tell(begun, true, deeds.into_iter().map(|(key, _)| (key, told.clone())));
                }
                ErrorKind::AlreadyExists | ErrorKind::NotFound => {}
                ErrorKind::Conflict { .. } | ErrorKind::UniqueViolation { .. } => {}
                _ => assert!(is_of_the_store(&error), "{deeds:#?}: {error:?}"),
            },
        }
    }

    fn tell(&self, begun: u64, is_certain: bool, deeds: impl IntoIterator<Item = Deed>) {
        let ended = is_certain.then(|| self.program.world.next());
        for (key, effect) in deeds {
            self.program.history.add(self.number, key, (begun, ended), effect);
        }
    }
}

/// Nothing was done, for now.
pub(super) fn is_of_the_store(error: &Error) -> bool {
    // Who knows no newer version leaves it alone.
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::LeaseExpired | ErrorKind::UnknownVersion)
}
