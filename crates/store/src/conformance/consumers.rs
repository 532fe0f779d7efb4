//! Redis consumers: named readers of a queue that hold what they take until somebody says otherwise.
//!
//! Lives here: reading, finishing and the deletion of a consumer, as the engine has them. Not here: the
//! commands that ask for it (the Redis door), and leases.

use bytes::Bytes;
use naven_api::EventId;
use naven_core::{DeadReason, View};

use super::bench::{Bench, append, delete, fail, named, redrive};
use crate::read::{GroupView, Holder, HolderKind, Holders, Page, Read};
use crate::reply::{HeldEntry, OpError, OpReply, Refused, Settled};
use crate::txn::{
    Claim, DeleteOp, Due, GroupFrom, OpKind, Proof, ReadGroup, ReaderOp, Settle, SettleStep, StreamRef, Txn,
};

/// A consumer of this name reads up to `max` entries that were not handed out.
pub fn read_as(bench: &Bench, queue: &str, name: &str, max: u32) -> Vec<HeldEntry> {
    let read = ReadGroup {
        consumer: Bytes::copy_from_slice(name.as_bytes()),
        count: Some(max.into()),
        max_bytes: u64::MAX,
        no_ack: false,
        idle_ms: None,
        from: vec![GroupFrom { queue: named(queue), after: None }],
    };
    match bench.ask(OpKind::Reader(ReaderOp::Read(read))) {
        Ok(OpReply::Read(mut reads)) if reads.len() == 1 => reads.remove(0).entries,
        other => panic!("not read: {other:?}"),
    }
}

/// A reader of the queue, without any proof, says this of an event.
pub fn say_in(bench: &Bench, queue: &str, event: EventId, step: SettleStep) -> Result<Settled, OpError> {
    let proof = Proof::Group { queue: named(queue) };
    match bench.ask(OpKind::Settle(Settle { event, proof, step }))? {
        OpReply::Settled(settled) => Ok(settled),
        other => panic!("no word was taken: {other:?}"),
    }
}

/// The deletion of a consumer.
pub fn without(queue: &str, name: &str) -> OpKind {
    let name = Bytes::copy_from_slice(name.as_bytes());
    OpKind::Delete(DeleteOp::Consumer { queue: named(queue), name })
}

fn remove(bench: &Bench, queue: &str, name: &str) -> u64 {
    match bench.ask(without(queue, name)) {
        Ok(OpReply::Removed(held)) => held,
        other => panic!("not deleted: {other:?}"),
    }
}

fn count(bench: &Bench, view: View) -> u64 {
    bench.view("mail").counts.of(view)
}

fn group(bench: &Bench) -> GroupView {
    match bench.read(Read::Groups(StreamRef(Bytes::from_static(b"mail")))) {
        Ok(Page::Groups(mut groups)) if groups.len() == 1 => groups.remove(0),
        other => panic!("no group: {other:?}"),
    }
}

pub fn what_a_consumer_takes_it_holds_without_a_token_and_without_an_end(bench: &Bench) {
    bench.queue("mail");
    let events = bench.publish_some("mail", 3);
    let grants = read_as(bench, "mail", "c1", 2);
    assert_eq!(grants.iter().map(|grant| grant.event).collect::<Vec<_>>(), events[..2]);
    assert_eq!((count(bench, View::Held), count(bench, View::Ready)), (2, 1));
    let held = bench.delivery(events[0]);
    assert_eq!((held.state, held.attempts, held.fence), (View::Held, 1, 1));
    assert_eq!((held.consumer.as_deref(), held.lease_expires_at), (Some("c1"), None));
    bench.after(30 * 86_400);
    bench.tend();
    assert_eq!(bench.delivery(events[0]).state, View::Held, "nothing ends it");
    assert_eq!(bench.claim("mail").event, events[2], "nobody else gets it");
    assert_eq!(read_as(bench, "mail", "c1", 9), [], "nor does its holder, twice");
}

pub fn a_reader_of_the_queue_finishes_what_a_consumer_holds_or_nobody(bench: &Bench) {
    bench.queue("mail");
    let events = bench.publish_some("mail", 3);
    read_as(bench, "mail", "c1", 1);
    let done = say_in(bench, "mail", events[0], SettleStep::Ack).expect("it is held");
    assert_eq!((done.state, done.settled_at), (View::Done, Some(bench.wall())));
    let again = say_in(bench, "mail", events[0], SettleStep::Ack);
    assert_eq!(again, Err(Refused::WrongState.into()), "there is nothing to finish any more");
    let leased = bench.claim("mail");
    assert_eq!(say_in(bench, "mail", leased.event, SettleStep::Ack), Err(Refused::Lost.into()));
    bench.must(&leased, fail());
    assert!(say_in(bench, "mail", leased.event, SettleStep::Ack).is_ok(), "nobody has it any more");
    let unread = say_in(bench, "mail", events[2], SettleStep::Ack);
    assert_eq!(unread, Err(Refused::Lost.into()), "nobody ever had it");
    assert_eq!((count(bench, View::Done), count(bench, View::Held)), (2, 0));
    assert_eq!(remove(bench, "mail", "c1"), 0, "what is done is held no more");
}

pub fn a_reader_without_proof_does_nothing_but_finish(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    read_as(bench, "mail", "c1", 1);
    for step in [fail(), super::bench::fatal(), super::bench::release(), super::bench::beat(5)] {
        assert_eq!(say_in(bench, "mail", event, step), Err(Refused::Lost.into()));
    }
    assert_eq!(say_in(bench, "mail", event, SettleStep::GiveBack), Err(Refused::Lost.into()));
    assert_eq!(say_in(bench, "nowhere", event, SettleStep::Ack), Err(Refused::Lost.into()));
    assert_eq!(bench.delivery(event).state, View::Held);
}

pub fn what_a_deleted_consumer_held_is_dead_and_a_redrive_brings_it_back(bench: &Bench) {
    bench.queue("mail");
    let events = bench.publish_some("mail", 12);
    assert_eq!(read_as(bench, "mail", "c1", 10).len(), 10);
    say_in(bench, "mail", events[0], SettleStep::Ack).expect("it is held");
    assert_eq!(remove(bench, "mail", "c1"), 9);
    assert_eq!((count(bench, View::Held), count(bench, View::Dead)), (0, 9));
    let letters = bench.dead_letters(&named("mail"), 100);
    let mut dead: Vec<EventId> = letters.iter().map(|letter| letter.id).collect();
    dead.sort_unstable();
    assert_eq!(dead, events[1..10], "nothing is lost");
    let reason = |letter: &crate::read::EventView| letter.deliveries[0].dead;
    assert!(letters.iter().all(|letter| reason(letter) == Some(DeadReason::ConsumerDeleted)));
    let next: Vec<EventId> = read_as(bench, "mail", "c2", 100).iter().map(|grant| grant.event).collect();
    assert_eq!(next, events[10..], "the next reader does not meet them");
    let late = say_in(bench, "mail", events[1], SettleStep::Ack);
    assert_eq!(late, Err(Refused::WrongState.into()));
    for event in &events[1..10] {
        assert!(bench.ask(redrive(*event)).is_ok());
    }
    assert_eq!(read_as(bench, "mail", "c2", 100), [], "what comes again is none that was not handed out");
    let again: Vec<EventId> = bench.claim_up_to("mail", 100).iter().map(|grant| grant.event).collect();
    assert_eq!(again, events[1..10]);
    assert_eq!((count(bench, View::Held), count(bench, View::Dead)), (2, 0));
}

pub fn a_consumer_that_is_not_there_holds_nothing(bench: &Bench) {
    bench.queue("mail");
    assert_eq!(remove(bench, "mail", "c1"), 0);
    assert_eq!(read_as(bench, "mail", "c1", 5), [], "one that finds nothing holds nothing");
    assert_eq!(remove(bench, "mail", "c1"), 0);
    assert_eq!(bench.ask(without("nowhere", "c1")), Err(Refused::QueueNotFound.into()));
}

pub fn a_consumer_made_again_under_the_name_holds_nothing_of_the_old_one(bench: &Bench) {
    bench.queue("mail");
    let events = bench.publish_some("mail", 3);
    read_as(bench, "mail", "c1", 1);
    assert_eq!(remove(bench, "mail", "c1"), 1);
    assert_eq!(read_as(bench, "mail", "c1", 1)[0].event, events[1]);
    assert_eq!(remove(bench, "mail", "c1"), 1, "its own, and not the old one's");
    assert_eq!(count(bench, View::Dead), 2);
    assert_eq!(read_as(bench, "mail", "c1", 1)[0].event, events[2]);
}

pub fn consumers_of_other_queues_and_other_names_keep_what_they_hold(bench: &Bench) {
    bench.queue("mail");
    bench.queue("other");
    let (mail, other) = (bench.publish_some("mail", 4), bench.publish("other", 1));
    for name in ["c", "cc", "", "c\u{0}"] {
        assert_eq!(read_as(bench, "mail", name, 1).len(), 1);
    }
    assert_eq!(read_as(bench, "other", "cc", 1).len(), 1);
    assert_eq!(remove(bench, "mail", "cc"), 1);
    let state = |event| bench.delivery(event).state;
    assert_eq!(
        mail.iter().map(|event| state(*event)).collect::<Vec<_>>(),
        [View::Held, View::Dead, View::Held, View::Held]
    );
    assert_eq!(state(other), View::Held);
    assert_eq!((remove(bench, "mail", ""), remove(bench, "other", "cc")), (1, 1));
}

pub fn a_deletion_that_is_undone_leaves_the_holds(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 2);
    read_as(bench, "mail", "c1", 2);
    let refused = bench.submit(Txn::all([without("mail", "c1"), without("nowhere", "c1")]));
    assert_eq!(refused, [Err(OpError::Undone), Err(Refused::QueueNotFound.into())]);
    assert_eq!((count(bench, View::Held), count(bench, View::Dead)), (2, 0));
    assert_eq!(remove(bench, "mail", "c1"), 2);
}

pub fn many_holds_of_a_deleted_consumer_end_in_bounded_steps(bench: &Bench) {
    const MANY: u64 = naven_api::limits::CONSUMER_HOLDS_ENDED_MAX as u64 + 200;
    bench.queue("mail");
    for _ in 0..MANY / 100 {
        bench.submit(Txn::each((0..100).map(|_| append("mail", "{}", Due::Now))));
        assert_eq!(read_as(bench, "mail", "c1", 100).len(), 100);
    }
    assert_eq!(count(bench, View::Held), MANY);
    assert_eq!(remove(bench, "mail", "c1"), MANY, "however many steps it takes");
    bench.publish("mail", 1);
    assert_eq!(read_as(bench, "mail", "c1", 9).len(), 1, "the name is free at once");
    while bench.tend().more {}
    assert_eq!((count(bench, View::Held), count(bench, View::Dead)), (1, MANY));
    assert_eq!(remove(bench, "mail", "c1"), 1);
}

pub fn a_deleted_queue_takes_its_consumers_along(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    read_as(bench, "mail", "c1", 1);
    assert!(bench.ask(delete("mail", false)).is_err(), "what is held is not finished");
    assert!(bench.ask(delete("mail", true)).is_ok());
    assert_eq!(bench.delivery(event).dead, Some(DeadReason::QueueDeleted));
    assert_eq!(say_in(bench, "mail", event, SettleStep::Ack), Err(Refused::Lost.into()));
    bench.queue("mail");
    assert_eq!(remove(bench, "mail", "c1"), 0, "the new queue knows none of them");
    bench.after(400 * 86_400);
    while bench.tend().more {}
    assert!(bench.read(Read::Event { event, payload: false }).is_err());
}

pub fn a_group_stands_where_its_last_answered_read_left_it(bench: &Bench) {
    bench.queue("mail");
    let events = bench.publish_some("mail", 30);
    for (nth, event) in events.iter().enumerate() {
        let grants = read_as(bench, "mail", "c1", 1);
        assert_eq!(grants.iter().map(|grant| grant.event).collect::<Vec<_>>(), [*event], "no entry twice");
        // Every third stays pending.
        if nth % 3 != 0 {
            say_in(bench, "mail", *event, SettleStep::Ack).expect("it is held");
        }
        let (group, last) = (group(bench), bench.event(*event).place);
        // An entry that is done has left its stream; one that is held shows its place.
        assert!(last.is_none_or(|last| last == group.last_delivered), "{group:?}");
        assert_eq!((group.pending, group.lag), (nth as u64 / 3 + 1, 29 - nth as u64));
    }
    let before = group(bench);
    assert_eq!((read_as(bench, "mail", "c1", 100), read_as(bench, "mail", "c2", 100)), (vec![], vec![]));
    let after = group(bench);
    assert_eq!((after.last_delivered, after.pending), (before.last_delivered, 10), "pending is kept");
    for event in events.iter().step_by(3) {
        say_in(bench, "mail", *event, SettleStep::Ack).expect("it was held all the time");
    }
    assert_eq!((group(bench).last_delivered, group(bench).pending), (before.last_delivered, 0));
}

pub fn who_holds_what_is_summed_by_name(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 8);
    let began = bench.wall();
    bench.claim_up_to("mail", 2);
    bench.after(1);
    bench.claim_up_to("mail", 1);
    bench.claimed(Claim { consumer: None, ..super::bench::claim("mail", 1, 5) });
    assert_eq!(read_as(bench, "mail", "c1", 1).len(), 1);
    let gone = read_as(bench, "mail", "c2", 1);
    say_in(bench, "mail", gone[0].event, SettleStep::Ack).expect("it is held");
    let later = bench.wall();
    let holder =
        |kind, name: Option<&str>, held, oldest| Holder { kind, name: name.map(str::to_owned), held, oldest };
    let redis = [
        holder(HolderKind::Redis, Some("c1"), 1, Some(later)),
        holder(HolderKind::Redis, Some("c2"), 0, None),
    ];
    let leases = [
        holder(HolderKind::Http, None, 1, Some(later)),
        holder(HolderKind::Http, Some("w1"), 3, Some(began)),
    ];
    let items = |leases: &[Holder]| [leases, &redis].concat();
    let read = || bench.read(Read::Holders(named("mail")));
    let found = |items| Ok(Page::Holders(Holders { items, truncated: false }));
    assert_eq!(read(), found(items(&leases)));
    bench.after(5);
    assert_eq!(read(), found(items(&leases[1..])), "a lease that is over is nobody's, recorded or not");
    remove(bench, "mail", "c1");
    remove(bench, "mail", "c2");
    assert_eq!(read(), found(leases[1..].to_vec()));
    assert_eq!(bench.read(Read::Holders(named("nowhere"))), Err(Refused::QueueNotFound.into()));
}
