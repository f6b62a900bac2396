//! Requests that wait for the writer: those in a hurry, and behind them those that are one of many.
//!
//! All of them are under way at the same time, so none is promised to be carried out before another. Who writes one row while somebody
//! loads many need not wait for those.

use std::collections::VecDeque;

use super::{
    queue::{Haste, Request},
    state::Work,
};

/// Who waits, each lane in the order in which they came.
#[derive(Default)]
pub(super) struct Lanes {
    hurried: VecDeque<Request>,
    of_many: VecDeque<Request>,
}

impl Lanes {
    pub(super) fn add(&mut self, request: Request) {
        match request.haste {
            Haste::OfMany => self.of_many.push_back(request),
            Haste::Now | Haste::None => self.hurried.push_back(request),
        }
    }

    /// Takes the one that is next.
    pub(super) fn take(&mut self) -> Option<Request> {
        self.hurried.pop_front().or_else(|| self.of_many.pop_front())
    }

    /// How many of those that are next are commits.
    pub(super) fn commits(&self) -> usize {
        let all = self.hurried.iter().chain(&self.of_many);
        all.take_while(|request| matches!(request.work, Work::Commit(_))).count()
    }

    pub(super) fn hurried(&self) -> usize {
        self.hurried.len()
    }

    pub(super) fn len(&self) -> usize {
        self.hurried.len() + self.of_many.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As if nobody had come.
    #[cfg(test)]
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
