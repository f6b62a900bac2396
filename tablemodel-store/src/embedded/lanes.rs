//! Requests that wait for the writer: those in a hurry, and behind them those that are one of many.
//!
//! All of them are under way at the same time, so none is promised to be carried out before another. Who writes one row while somebody
//! loads many need not wait for those; nor do those wait for ever.

use std::collections::VecDeque;

use super::queue::{Haste, Request};

/// How many in a hurry go before one of many that came earlier, at most.
const MOST_OVERTAKEN: usize = 32;

/// Who waits, each lane in the order in which they came.
#[derive(Default)]
pub(super) struct Lanes {
    hurried: VecDeque<Request>,
    of_many: VecDeque<Request>,
    /// How many went before the first of those that are of many.
    overtook: usize,
}

impl Lanes {
    pub(super) fn add(&mut self, request: Request) {
        match request.haste {
            Haste::OfMany => self.of_many.push_back(request),
            Haste::Now | Haste::None => self.hurried.push_back(request),
        }
    }

    /// Takes the one that is next, if it is wanted.
    pub(super) fn take_if(&mut self, is_wanted: impl Fn(&Request) -> bool) -> Option<Request> {
        self.let_go();
        let is_of_many = !self.of_many.is_empty() && (self.hurried.is_empty() || self.overtook >= MOST_OVERTAKEN);
        let lane = if is_of_many { &mut self.of_many } else { &mut self.hurried };
        if !lane.front().is_some_and(is_wanted) {
            return None;
        }
        let next = lane.pop_front();
        self.overtook = if is_of_many || self.of_many.is_empty() { 0 } else { self.overtook + 1 };
        next
    }

    /// Lets those go whose callers went away while they waited: what these ask for later, in another lane, must not come before it.
    fn let_go(&mut self) {
        for lane in [&mut self.hurried, &mut self.of_many] {
            while lane.front().is_some_and(|request| request.reply.is_closed()) {
                lane.pop_front().into_iter().for_each(|gone| gone.split().1.let_go());
            }
        }
    }

    /// How many are in a hurry.
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

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::{super::state::Work, *};

    type Answer = oneshot::Receiver<super::super::state::Reply>;

    fn request(haste: Haste, bytes: usize) -> (Request, Answer) {
        let (reply, answer) = oneshot::channel();
        (Request { work: Work::Flush, bytes, haste, reply }, answer)
    }

    /// Who is taken, by the bytes of each, as long as one in such haste is wanted.
    fn taken(lanes: &mut Lanes, is_wanted: impl Fn(Haste) -> bool) -> Vec<usize> {
        std::iter::from_fn(|| lanes.take_if(|request| is_wanted(request.haste))).map(|request| request.bytes).collect()
    }

    #[test]
    fn those_in_a_hurry_go_first_and_each_lane_in_order() {
        let (mut lanes, mut waiting) = (Lanes::default(), Vec::new());
        for (at, haste) in [Haste::OfMany, Haste::Now, Haste::OfMany, Haste::Now].into_iter().enumerate() {
            let (request, answer) = request(haste, at);
            lanes.add(request);
            waiting.push(answer);
        }
        assert_eq!((lanes.len(), lanes.hurried()), (4, 2));
        assert_eq!(taken(&mut lanes, |haste| haste == Haste::Now), [1, 3]);
        assert!(taken(&mut lanes, |haste| haste == Haste::Now).is_empty());
        assert_eq!(taken(&mut lanes, |_| true), [0, 2]);
        assert!(lanes.is_empty());
    }

    #[test]
    fn however_many_are_in_a_hurry_those_of_many_get_on() {
        let (mut lanes, mut waiting) = (Lanes::default(), Vec::new());
        let hurried = std::iter::repeat_n((Haste::Now, 1), 10 * MOST_OVERTAKEN);
        for (haste, bytes) in [(Haste::OfMany, 0), (Haste::OfMany, 0)].into_iter().chain(hurried) {
            let (request, answer) = request(haste, bytes);
            lanes.add(request);
            waiting.push(answer);
        }
        let order = taken(&mut lanes, |_| true);
        let of_many: Vec<_> = order.iter().enumerate().filter(|(_, bytes)| **bytes == 0).map(|(at, _)| at).collect();
        assert_eq!(of_many, [MOST_OVERTAKEN, 2 * MOST_OVERTAKEN + 1]);
    }

    #[test]
    fn who_went_away_while_others_overtook_it_is_not_carried_out() {
        let mut lanes = Lanes::default();
        let ((of_many, gone), (hurried, also_gone)) = (request(Haste::OfMany, 0), request(Haste::Now, 1));
        lanes.add(of_many);
        lanes.add(hurried);
        drop((gone, also_gone));
        assert!(taken(&mut lanes, |_| true).is_empty());
        assert!(lanes.is_empty());
    }

    /// Those that are of many get on at last, and whoever was in a hurry before may ask for one.
    #[test]
    fn nobody_who_went_away_comes_after_what_he_asks_for_next() {
        let (mut lanes, mut waiting) = (Lanes::default(), Vec::new());
        let hurried = (1..=MOST_OVERTAKEN + 8).map(|at| (Haste::Now, at));
        for (haste, at) in [(Haste::OfMany, 0)].into_iter().chain(hurried) {
            let (request, answer) = request(haste, at);
            lanes.add(request);
            waiting.push(answer);
        }
        let gone = MOST_OVERTAKEN + 3;
        drop(waiting.remove(gone));
        let (next, _answer) = request(Haste::OfMany, 1_000);
        lanes.add(next);
        let order = taken(&mut lanes, |_| true);
        assert!(!order.contains(&gone), "{order:?}");
        assert_eq!(order.len(), MOST_OVERTAKEN + 9);
    }
}
