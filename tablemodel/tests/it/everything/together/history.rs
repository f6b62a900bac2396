//! What was done to each entity, and whether all of it can have happened one after another: each change at some moment
//! between its call and its answer, each read seeing what was there.
//!
//! The search is that of Wing and Gong with the memory of Lowe ("Testing for linearizability", 2017).

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::{Arc, Mutex},
};

use super::super::{Entity, Key};

/// What is there, without what others bring: copies and totals.
type There = Option<Entity>;

/// A change of what is there.
pub(super) type Edit = Arc<dyn Fn(&mut Entity) + Send + Sync>;

#[derive(Clone)]
pub(super) enum Effect {
    /// This was seen.
    Seen(There),
    /// That there was an entity, or none.
    Told { exists: bool },
    /// Put in the place of whatever is there.
    Set(There),
    /// Put in the place of this.
    Swap { from: There, to: There },
    /// Done to what is there.
    Edit(Edit),
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seen(there) => write!(f, "saw {there:?}"),
            Self::Told { exists } => write!(f, "was told that it {}", if *exists { "exists" } else { "does not" }),
            Self::Set(to) => write!(f, "set {to:?}"),
            Self::Swap { from, to } => write!(f, "put, for {from:?}, {to:?}"),
            Self::Edit(_) => f.write_str("edited it"),
        }
    }
}

impl Effect {
    pub(super) fn seen(entity: Option<Entity>) -> Self {
        Self::Seen(entity.map(own))
    }

    pub(super) fn swap(from: Option<Entity>, to: Option<Entity>) -> Self {
        Self::Swap { from: from.map(own), to: to.map(own) }
    }

    fn puts_anew(&self) -> bool {
        matches!(self, Self::Set(Some(_)) | Self::Swap { from: None, to: Some(_) })
    }

    /// What is there after it; none where it cannot happen now.
    fn apply(&self, there: &There) -> Option<There> {
        match self {
            Self::Seen(seen) => (seen == there).then(|| there.clone()),
            Self::Told { exists } => (*exists == there.is_some()).then(|| there.clone()),
            Self::Set(to) => Some(to.clone()),
            Self::Swap { from, to } => (from == there).then(|| to.clone()),
            Self::Edit(edit) => {
                let mut entity = there.clone()?;
                edit(&mut entity);
                Some(Some(entity))
            }
        }
    }
}

/// An entity without what others bring.
pub(super) fn own(mut entity: Entity) -> Entity {
    match &mut entity {
        Entity::Team(team) => (team.sponsor, team.members, team.points, team.rates) = (None, 0, 0, 0.0),
        Entity::Fan(fan) => (fan.team, fan.backing) = (None, None),
        Entity::Person(_) | Entity::Doc(_) | Entity::Sponsor(_) => {}
    }
    entity
}

#[derive(Debug, Clone)]
struct Event {
    who: u64,
    begun: u64,
    /// None: it may happen at any time from then on, or never.
    ended: Option<u64>,
    /// Whether it need not have happened.
    may_fail: bool,
    effect: Effect,
}

/// All that was done. Clones are one.
#[derive(Debug, Clone, Default)]
pub(super) struct History(Arc<Mutex<BTreeMap<Key, Vec<Event>>>>);

impl History {
    /// What puts an entity where none is may do so again, should the reply be lost and others take it away before it is asked
    /// for once more: that is not told from a request that never arrived.
    pub(super) fn add(&self, who: u64, key: Key, (begun, ended): (u64, Option<u64>), effect: Effect) {
        let event = Event { who, begun, ended, may_fail: ended.is_none(), effect };
        let mut all = self.0.lock().unwrap();
        let events = all.entry(key).or_default();
        if event.effect.puts_anew() {
            events.push(Event { may_fail: true, ..event.clone() });
        }
        events.push(event);
    }

    /// The entities of which there is anything.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    /// How many events there are.
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().values().map(Vec::len).sum()
    }

    /// The keys of which not all can have happened, each with what is told of it.
    pub(super) fn impossible(&self) -> Vec<String> {
        let mut histories = self.0.lock().unwrap().clone();
        let mut told = Vec::new();
        for (key, events) in &mut histories {
            events.sort_by_key(|event| event.begun);
            if !is_possible(events) {
                let lines: Vec<_> = events.iter().map(Event::line).collect();
                told.push(format!("{key:?}:\n{}", lines.join("\n")));
            }
        }
        told
    }
}

impl Event {
    fn line(&self) -> String {
        let ended = self.ended.map_or("?".to_owned(), |ended| ended.to_string());
        let may = if self.may_fail { " may have" } else { "" };
        format!("  {:>5}..{ended:<5} program {}{may}: {:?}", self.begun, self.who, self.effect)
    }
}

/// Whether events, by when they began, can have happened one after another to what was not there before.
fn is_possible(events: &[Event]) -> bool {
    let mut states: Vec<There> = vec![None];
    let mut open = vec![(vec![false; events.len()], 0)];
    let mut met = HashSet::new();
    let last_begun =
        |done: &[bool]| (0..done.len()).filter(|at| done[*at]).map(|at| events[at].begun).max().unwrap_or(0);
    while let Some((done, state)) = open.pop() {
        let left = || (0..events.len()).filter(|at| !done[*at]);
        let Some(first_end) = left().filter(|at| !events[*at].may_fail).filter_map(|at| events[at].ended).min() else {
            return true;
        };
        for at in left().take_while(|at| events[*at].begun <= first_end) {
            let is_over = events[at].ended.is_some_and(|ended| last_begun(&done) > ended);
            let Some(after) = events[at].effect.apply(&states[state]).filter(|_| !is_over) else { continue };
            let after = states.iter().position(|known| *known == after).unwrap_or_else(|| {
                states.push(after);
                states.len() - 1
            });
            let mut done = done.clone();
            done[at] = true;
            if met.insert((done.clone(), after)) {
                open.push((done, after));
            }
        }
    }
    false
}
