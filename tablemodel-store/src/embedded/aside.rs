//! Requests in no hurry: they wait until a commit of others takes them along, but not for long.
//!
//! Commits nothing itself.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::queue::Request;

/// How long a request waits for others, at most.
const PATIENCE: Duration = Duration::from_millis(100);
/// Bytes of requests that a commit of others takes along, about: these should not wait noticeably longer for it.
const TAKEN_ALONG: usize = 4 * 1024;

/// Who waits, and since when; the oldest first.
#[derive(Default)]
pub(super) struct Aside(VecDeque<(Instant, Request)>);

impl Aside {
    pub(super) fn add(&mut self, request: Request, now: Instant) {
        self.0.push_back((now, request));
    }

    /// When the oldest has waited long enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.front().map(|(since, _)| *since + PATIENCE)
    }

    /// Those that others take along: one at least, where somebody waits.
    pub(super) fn along(&mut self) -> Vec<Request> {
        self.up_to(TAKEN_ALONG)
    }

    /// Those that go together where one of them has waited long enough, in so many bytes.
    pub(super) fn due(&mut self, most: usize, now: Instant) -> Vec<Request> {
        match self.deadline() {
            Some(deadline) if deadline <= now => self.up_to(most),
            _ => Vec::new(),
        }
    }

    /// From the oldest on, until there are so many bytes. Those whose callers went away while they waited are let go: what these ask for
    /// later must not come before it.
    pub(super) fn up_to(&mut self, most: usize) -> Vec<Request> {
        let (mut requests, mut bytes) = (Vec::new(), 0);
        while bytes < most
            && let Some((_, request)) = self.0.pop_front()
        {
            if request.reply.is_closed() {
                request.split().1.let_go();
                continue;
            }
            bytes += request.bytes;
            requests.push(request);
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::embedded::{
        queue::Haste,
        state::{Reply, Work},
    };

    /// A request of so many bytes, and who waits for its answer.
    fn request(bytes: usize) -> (Request, oneshot::Receiver<Reply>) {
        let (reply, answer) = oneshot::channel();
        (Request { work: Work::Flush, bytes, haste: Haste::None, reply }, answer)
    }

    fn sizes(requests: &[Request]) -> Vec<usize> {
        requests.iter().map(|request| request.bytes).collect()
    }

    #[test]
    fn requests_are_due_when_the_oldest_of_them_has_waited() {
        let (mut aside, now) = (Aside::default(), Instant::now());
        assert_eq!(aside.deadline(), None);
        let ((first, _one), (second, _two)) = (request(1), request(2));
        aside.add(first, now);
        aside.add(second, now + PATIENCE / 2);
        assert!(aside.due(usize::MAX, now + PATIENCE / 2).is_empty());
        assert_eq!(sizes(&aside.due(usize::MAX, now + PATIENCE)), [1, 2]);
        assert_eq!(aside.deadline(), None);
    }

    #[test]
    fn others_take_along_little_but_one_at_least() {
        let (mut aside, now) = (Aside::default(), Instant::now());
        let sizes_there = [TAKEN_ALONG * 2, 1, TAKEN_ALONG, 7];
        let (requests, _answers): (Vec<_>, Vec<_>) = sizes_there.map(request).into_iter().unzip();
        requests.into_iter().for_each(|request| aside.add(request, now));
        assert_eq!(sizes(&aside.along()), [TAKEN_ALONG * 2]);
        assert_eq!(sizes(&aside.along()), [1, TAKEN_ALONG]);
        assert_eq!(sizes(&aside.up_to(usize::MAX)), [7]);
        assert!(aside.along().is_empty());
    }

    #[test]
    fn those_whose_callers_went_away_are_let_go() {
        let (mut aside, now) = (Aside::default(), Instant::now());
        let ((gone, answer), (waits, _answer)) = (request(1), request(2));
        aside.add(gone, now);
        aside.add(waits, now);
        drop(answer);
        assert_eq!(sizes(&aside.along()), [2]);
    }
}
