//! Who is taken into a group, and who waits for the next.

use std::{
    sync::mpsc::{Sender, channel},
    thread::JoinHandle,
};

use super::*;
use crate::embedded::prepare::PreparedCommit;

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(30);

fn ask(to: &Sender<Message>, haste: Haste) {
    ask_for(to, Work::Commit(PreparedCommit::default()), haste);
}

/// A group that began with so many requests that are of many.
fn begun(requests: usize, next_of_many: Duration) -> (Sender<Message>, Queue, Taken) {
    let (sender, messages) = channel();
    let (mut queue, mut taken) = (Queue { next_of_many, remembered: NEVER, ..Queue::new(messages) }, Taken::default());
    (0..requests).for_each(|_| ask(&sender, Haste::OfMany));
    assert_eq!(queue.take(&mut taken, false).len(), requests);
    (sender, queue, taken)
}

/// Asks for one of many in a moment; the channel stays open until that is joined.
fn ask_later(to: Sender<Message>) -> JoinHandle<Sender<Message>> {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        ask(&to, Haste::OfMany);
        to
    })
}

fn ask_for(to: &Sender<Message>, work: Work, haste: Haste) {
    let (reply, answer) = oneshot::channel();
    std::mem::forget(answer); // whoever asks waits
    to.send(Message::Request(Request { work, bytes: 1, haste, reply })).unwrap();
}

#[test]
fn nobody_waits_for_a_disk_that_is_done() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    queue.begin_sync(5);
    sender.send(Message::Synced(Ok(()))).unwrap();
    assert!(queue.take_along(&mut Taken::default(), false).is_empty());
    queue.begin_sync(5);
    sender.send(Message::Synced(Ok(()))).unwrap();
    assert!(!queue.has_more());
    queue.wait_for_disk().unwrap();
}

#[test]
fn others_come_along_until_the_disk_is_done_or_they_are_as_many_as_the_group_before() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    let taken = &mut Taken::default();
    queue.begin_sync(3);
    (0..2).for_each(|_| ask(&sender, Haste::Now));
    assert_eq!(queue.take_along(taken, false).len(), 2);
    ask(&sender, Haste::Now);
    assert_eq!(queue.take_along(taken, false).len(), 1);
    ask(&sender, Haste::Now);
    assert!(queue.take_along(taken, false).is_empty(), "it would be larger than the one before");
    sender.send(Message::Synced(Ok(()))).unwrap();
    queue.wait_for_disk().unwrap();
    assert!(queue.take_along(&mut Taken::default(), false).is_empty(), "the disk is done");
    assert_eq!(queue.take(&mut Taken::default(), true).len(), 1, "nobody is forgotten");
}

#[test]
fn where_many_are_under_way_a_group_leaves_half_of_them() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    let mut group_of = |waiting: usize, syncing: usize, beside: bool| {
        (0..waiting).for_each(|_| ask(&sender, Haste::Now));
        queue.syncing = (syncing > 0).then_some(syncing);
        let taken = queue.take(&mut Taken::default(), beside).len();
        queue.requests.clear();
        taken
    };
    assert_eq!(group_of(64, 0, true), 32);
    assert_eq!(group_of(62, 2, true), 32);
    assert_eq!(group_of(32, 32, true), 32);
    assert_eq!(group_of(2, 62, true), 2);
    assert_eq!(group_of(MANY_REQUESTS - 1, 0, true), MANY_REQUESTS - 1, "few are one group");
    assert_eq!(group_of(64, 0, false), 64);
    assert_eq!(group_of(1_000, 0, true), MAX_GROUP_REQUESTS);
}

#[test]
fn no_more_come_along_than_the_group_before_had() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    let taken = &mut Taken::default();
    queue.begin_sync(5);
    ask(&sender, Haste::Now);
    assert_eq!(queue.take(taken, true).len(), 1);
    (0..9).for_each(|_| ask(&sender, Haste::Now));
    assert_eq!(queue.take_along(taken, false).len(), 4);
    assert!(queue.take_along(taken, false).is_empty());
}

#[test]
fn what_follows_requests_of_many_comes_along_with_them() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    let taken = &mut Taken::default();
    ask(&sender, Haste::OfMany);
    assert_eq!(queue.take(taken, true).len(), 1);
    (0..5).for_each(|_| ask(&sender, Haste::OfMany));
    assert_eq!(queue.take_along(taken, false).len(), 5);
    ask(&sender, Haste::Now);
    ask(&sender, Haste::OfMany);
    assert_eq!(queue.take_along(taken, false).len(), 2);
    ask(&sender, Haste::OfMany);
    assert!(queue.take_along(taken, false).is_empty(), "one of the group is in a hurry");
    assert_eq!(queue.take(&mut Taken::default(), true).len(), 1, "nobody is forgotten");
}

#[test]
fn who_is_in_a_hurry_waits_for_none_and_beside_few_of_those_that_are_of_many() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    (0..MAX_GROUP_REQUESTS).for_each(|_| ask(&sender, Haste::OfMany));
    ask(&sender, Haste::Now);
    let taken = &mut Taken::default();
    let first = queue.take(taken, false);
    assert_eq!(first.first().map(|request| request.haste), Some(Haste::Now));
    assert_eq!(first.len(), 1 + MANY_AT_ONCE);
    assert!(queue.take_along(taken, false).is_empty());
    let rest = MAX_GROUP_REQUESTS - MANY_AT_ONCE;
    assert_eq!(queue.take(&mut Taken::default(), false).len(), rest, "nobody is forgotten");
}

#[test]
fn who_comes_in_a_hurry_ends_a_group_of_many() {
    let (sender, mut queue, mut taken) = begun(2, NEXT_OF_MANY);
    let taken = &mut taken;
    (0..5).for_each(|_| ask(&sender, Haste::OfMany));
    ask(&sender, Haste::Now);
    let along = queue.take_along(taken, false);
    assert_eq!(along.first().map(|request| request.haste), Some(Haste::Now));
    assert_eq!(along.len(), 6, "few go along");
    ask(&sender, Haste::OfMany);
    assert!(queue.take_along(taken, false).is_empty());
}

#[test]
fn where_enough_of_many_are_in_a_group_those_who_come_in_a_hurry_are_the_last() {
    let (sender, mut queue, mut taken) = begun(MANY_AT_ONCE, NEXT_OF_MANY);
    let taken = &mut taken;
    (0..5).for_each(|_| ask(&sender, Haste::OfMany));
    (0..20).for_each(|_| ask(&sender, Haste::Now));
    assert_eq!(queue.take_along(taken, false).len(), 20, "all of them");
    assert!(queue.take_along(taken, false).is_empty());
    assert_eq!(queue.take(&mut Taken::default(), false).len(), 5, "nobody is forgotten");
}

#[test]
fn a_group_of_many_waits_for_the_next_of_them() {
    let (sender, mut queue, mut taken) = begun(2, NEVER);
    let taken = &mut taken;
    let later = ask_later(sender);
    assert_eq!(queue.take_along(taken, false).len(), 1);
    drop(later.join());
}

#[test]
fn few_are_not_waited_for_once_that_was_in_vain() {
    let (sender, mut queue, mut taken) = begun(2, Duration::ZERO);
    let taken = &mut taken;
    assert!(queue.take_along(taken, false).is_empty());
    queue.next_of_many = NEVER;
    assert!(queue.take_along(taken, false).is_empty(), "they may be all who ask");
    (0..MANY_REQUESTS).for_each(|_| ask(&sender, Haste::OfMany));
    let taken = &mut Taken::default();
    assert_eq!(queue.take(taken, false).len(), MANY_REQUESTS);
    ask(&sender, Haste::OfMany);
    assert_eq!(queue.take_along(taken, false).len(), 1);
}

#[test]
fn that_nothing_came_is_soon_forgotten() {
    let (sender, mut queue, mut taken) = begun(1, Duration::ZERO);
    let taken = &mut taken;
    assert!(queue.take_along(taken, false).is_empty());
    (queue.next_of_many, queue.remembered) = (NEVER, Duration::ZERO);
    let later = ask_later(sender);
    assert_eq!(queue.take_along(taken, false).len(), 1);
    drop(later.join());
}

#[test]
fn who_is_in_no_hurry_waits_no_longer_for_what_follows_others() {
    let (sender, messages) = channel();
    let mut queue = Queue { next_of_many: NEVER, ..Queue::new(messages) };
    let taken = &mut Taken::default();
    ask(&sender, Haste::None);
    (0..2).for_each(|_| ask(&sender, Haste::OfMany));
    assert_eq!(queue.take(taken, true).len(), 2);
    assert!(queue.take_along(taken, false).is_empty());
    assert!(queue.aside.deadline().is_some_and(|due| due <= Instant::now()));
    assert!(queue.in_vain.is_none(), "it was cut short");
}

#[test]
fn commits_alone_follow() {
    for other in [Work::Flush, Work::CreateTable("a".into()), Work::DeleteTable("a".into())] {
        let (sender, mut queue, mut taken) = begun(2, NEXT_OF_MANY);
        let taken = &mut taken;
        ask(&sender, Haste::OfMany);
        ask_for(&sender, other, Haste::Now);
        ask(&sender, Haste::OfMany);
        assert!(queue.take_along(taken, false).is_empty());
        assert_eq!(queue.take(&mut Taken::default(), true).len(), 3);
    }
}

#[test]
fn nothing_follows_into_a_group_that_does_not_wait_for_the_disk() {
    let (sender, mut queue, mut taken) = begun(2, NEXT_OF_MANY);
    let taken = &mut taken;
    ask(&sender, Haste::OfMany);
    ask(&sender, Haste::Now); // which may ask that all before it is on the disk
    assert!(queue.take_along(taken, true).is_empty());
    assert_eq!(queue.take(&mut Taken::default(), false).len(), 2);
}

#[test]
fn what_follows_waits_where_a_group_has_enough() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    let taken = &mut Taken::default();
    let most = MORE_OF_MANY * MAX_GROUP_REQUESTS;
    (0..most + 3).for_each(|_| ask(&sender, Haste::OfMany));
    let mut pieces = vec![queue.take(taken, true).len()];
    pieces.extend(std::iter::repeat_with(|| queue.take_along(taken, false).len()).take_while(|taken| *taken > 0));
    assert_eq!(pieces, vec![MANY_AT_ONCE; most / MANY_AT_ONCE], "who comes in a hurry waits for a piece");
    sender.send(Message::Close(None)).unwrap();
    assert_eq!(queue.take(&mut Taken::default(), true).len(), 3);
}

#[test]
fn nobody_waits_for_what_follows_once_the_store_is_to_be_closed() {
    let (sender, mut queue, mut taken) = begun(2, NEVER);
    let taken = &mut taken;
    sender.send(Message::Close(None)).unwrap();
    let begun = Instant::now();
    assert!(queue.take_along(taken, false).is_empty());
    assert!(begun.elapsed() < NEVER, "it was waited for");
}

#[test]
fn what_was_asked_before_the_end_is_taken_and_what_comes_after_it_is_not() {
    let (sender, messages) = channel();
    let mut queue = Queue::new(messages);
    ask(&sender, Haste::Now);
    ask(&sender, Haste::None);
    sender.send(Message::Close(None)).unwrap();
    ask(&sender, Haste::Now);
    queue.wait(None).unwrap();
    assert!(!queue.is_at_its_end());
    assert_eq!(queue.take(&mut Taken::default(), true).len(), 1);
    assert!(queue.is_at_its_end() && queue.aside.deadline().is_some());
    queue.wait(None).unwrap(); // does not block
    assert!(queue.take(&mut Taken::default(), true).is_empty());
}
