//! What was done to each entity, and whether all of it can have happened one after another: each change at some moment
//! between its call and its answer, each read seeing what was there.
//!
//! The search is that of Wing and Gong with the memory of Lowe ("Testing for linearizability", 2017).

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::{Arc, Mutex},
};

use tablemodel::Result;

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
pub(super) struct History {
    told: Arc<Mutex<Told>>,
    /// Whether what was sent may arrive after what was sent after it was answered.
    late: bool,
}

#[derive(Debug, Default)]
struct Told {
    events: BTreeMap<Key, Vec<Event>>,
    /// How often each answer came.
    answers: BTreeMap<String, usize>,
}

impl History {
    /// One of requests that arrive, or not, when their connections broke.
    pub(super) fn of_late_requests() -> Self {
        Self { late: true, ..Self::default() }
    }

    /// What puts an entity where none is may do so again, should the reply be lost and others take it away before it is asked
    /// for once more: that is not told from a request that never arrived. Nor is one that arrives late.
    pub(super) fn add(&self, who: u64, key: Key, (begun, ended): (u64, Option<u64>), effect: Effect) {
        let event = Event { who, begun, ended, may_fail: ended.is_none(), effect };
        let mut told = self.told.lock().unwrap();
        let events = told.events.entry(key).or_default();
        if event.effect.puts_anew() {
            events.push(Event { may_fail: true, ended: ended.filter(|_| !self.late), ..event.clone() });
        }
        events.push(event);
    }

    /// The entities of which there is anything.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.told.lock().unwrap().events.keys().cloned().collect()
    }

    /// Counts an answer; none where who asked died before.
    pub(super) fn count(&self, answer: Option<&Result<()>>) {
        let answer = match answer {
            None => "died".to_owned(),
            Some(Ok(())) => "done".to_owned(),
            Some(Err(error)) => format!("{:?}", error.kind()).split(' ').take(1).collect(),
        };
        self.count_as(&answer, 1);
    }

    pub(super) fn count_as(&self, answer: &str, times: usize) {
        *self.told.lock().unwrap().answers.entry(answer.to_owned()).or_default() += times;
    }

    pub(super) fn answers(&self) -> Vec<(String, usize)> {
        self.told.lock().unwrap().answers.clone().into_iter().collect()
    }

    /// The keys of which not all can have happened, each with what is told of it.
    pub(super) fn impossible(&self) -> Vec<String> {
        let mut histories = self.told.lock().unwrap().events.clone();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everything::Sponsor;

    fn sponsor(name: &str) -> Option<Entity> {
        Some(Entity::Sponsor(Sponsor { id: 1, name: name.to_owned(), tier: None, note: 0 }))
    }

    /// Whether this can have happened: who, when, and what.
    fn can_be(events: impl IntoIterator<Item = (u64, (u64, Option<u64>), Effect)>) -> bool {
        is_possible_in(History::default(), events)
    }

    fn is_possible_in(history: History, events: impl IntoIterator<Item = (u64, (u64, Option<u64>), Effect)>) -> bool {
        for (who, time, effect) in events {
            history.add(who, ("001".to_owned(), "sponsor".to_owned()), time, effect);
        }
        history.impossible().is_empty()
    }

    #[test]
    fn what_is_told_of_one_another_in_turn_can_be() {
        let inserted = (1, (1, Some(2)), Effect::swap(None, sponsor("a")));
        let saved = (2, (3, Some(6)), Effect::swap(sponsor("a"), sponsor("b")));
        let seen = |at: u64, name: &str| (3, (at, Some(at + 1)), Effect::seen(sponsor(name)));
        assert!(can_be([inserted.clone(), saved.clone(), seen(4, "a"), seen(7, "b")]));
        assert!(can_be([inserted.clone(), saved.clone(), seen(4, "b"), seen(7, "b")]));
        assert!(!can_be([inserted.clone(), saved.clone(), seen(7, "a")]), "it was another by then");
        assert!(!can_be([inserted, saved.clone(), seen(1, "b")]), "it was no other yet");
        assert!(!can_be([saved]), "nothing was there to save");
    }

    #[test]
    fn of_two_who_save_what_both_read_one_is_refused() {
        let inserted = (1, (1, Some(2)), Effect::swap(None, sponsor("a")));
        let saves = |who, name| (who, (3, Some(6)), Effect::swap(sponsor("a"), sponsor(name)));
        assert!(!can_be([inserted.clone(), saves(1, "b"), saves(2, "c")]));
        assert!(can_be([inserted, saves(1, "b"), saves(2, "a")]));
    }

    #[test]
    fn what_nobody_heard_of_may_have_happened_late_or_never() {
        let inserted = (1, (1, Some(2)), Effect::swap(None, sponsor("a")));
        let lost = (2, (3, None), Effect::swap(sponsor("a"), None));
        let seen = |at: u64, there: Option<Entity>| (3, (at, Some(at + 1)), Effect::seen(there));
        assert!(can_be([inserted.clone(), lost.clone(), seen(8, sponsor("a")), seen(10, None)]));
        assert!(can_be([inserted.clone(), lost.clone(), seen(8, sponsor("a"))]));
        assert!(!can_be([inserted, lost, seen(8, None), seen(10, sponsor("a"))]), "what is gone does not come back");
    }

    #[test]
    fn an_insert_may_happen_twice_while_it_is_under_way_and_not_later() {
        let inserted = (1, (1, Some(9)), Effect::swap(None, sponsor("a")));
        let deleted = (2, (3, Some(4)), Effect::swap(sponsor("a"), None));
        let seen = |at: u64, there: Option<Entity>| (3, (at, Some(at + 1)), Effect::seen(there));
        assert!(can_be([inserted.clone(), deleted.clone(), seen(5, None), seen(7, sponsor("a"))]));
        let put_back = [inserted, deleted, seen(10, None), seen(12, sponsor("a"))];
        assert!(!can_be(put_back.clone()));
        assert!(is_possible_in(History::of_late_requests(), put_back), "by a request that came late");
    }
}
