//! Entries that leave a stream: settled by all, trimmed, or deleted one by one.
//!
//! Lives here: what leaves, what stays for whom. Not here: what time takes away (`keeping.rs`).

use naven_core::View;

use super::bench::{Bench, delete, fatal, named};
use super::streams::{delete_entry, retention, stream, to_queue, trim_to};
use crate::queue::{QueueRef, Retention};
use crate::reply::{Fate, OpReply, Refused};
use crate::txn::{From, Keep, OpKind, SettleStep, Trim, Trimming};

pub fn a_consumed_entry_leaves_once_every_queue_has_settled_it(bench: &Bench) {
    bench.queue("mail");
    bench.queue_on("bill", "mail", From::Start);
    let event = bench.spread("mail", 1);
    let version = bench.stream("mail").version;
    bench.finish("mail");
    assert_eq!(bench.entries("mail")[0].event, event, "the other queue needs it");
    assert!(bench.event(event).body.is_some());
    bench.finish("bill");
    assert!(bench.entries("mail").is_empty());
    let view = bench.event(event);
    assert_eq!((view.body, view.deliveries.len()), (None, 2));
    assert!(view.place.is_some());
    let of = bench.stream("mail");
    assert_eq!((of.length, of.added, of.first), (0, 1, None));
    assert!(of.version > version);
}

pub fn a_dead_delivery_keeps_a_consumed_entry(bench: &Bench) {
    bench.queue("mail");
    bench.queue_on("bill", "mail", From::Start);
    let event = bench.spread("mail", 1);
    bench.must(&bench.claim("mail"), fatal());
    bench.finish("bill");
    assert_eq!(bench.entries("mail").len(), 1);
    assert!(bench.event(event).body.is_some());
}

pub fn a_queue_may_keep_the_payload_of_what_is_done(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.keep_done_payload = true);
    let event = bench.publish("mail", 1);
    bench.finish("mail");
    assert!(bench.event(event).body.is_some());
    assert!(bench.entries("mail").is_empty());
}

pub fn entries_of_a_shared_stream_stay_until_they_are_trimmed(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    let events: Vec<_> = (0..3).map(|n| bench.spread("orders", n)).collect();
    (0..3).for_each(|_| drop(bench.finish("mail")));
    assert_eq!(bench.stream("orders").length, 3);
    assert!(bench.event(events[0]).body.is_some(), "the body stays with its entry");
    assert_eq!(bench.ask(trim_to("orders", 1)), Ok(OpReply::Removed(2)));
    assert_eq!(bench.entries("orders").len(), 1);
    let view = bench.event(events[0]);
    assert_eq!((view.body, view.deliveries[0].state), (None, View::Done));
    assert_eq!(bench.ask(trim_to("orders", 1)), Ok(OpReply::Removed(0)));
}

pub fn a_trim_goes_by_place_or_number_and_keeps_to_its_limit(bench: &Bench) {
    bench.queue_on_with("mail", "orders", From::Start, |settings| settings.protect_unread = false);
    for n in 0..5 {
        bench.after(1);
        bench.spread("orders", n);
    }
    let places: Vec<_> = bench.entries("orders").iter().map(|entry| entry.place).collect();
    let trim = |keep, limit| {
        OpKind::Trim(Trim { stream: stream("orders"), how: Trimming { limit, ..Trimming::to(keep) } })
    };
    assert_eq!(bench.ask(trim(Keep::Newest(0), Some(1))), Ok(OpReply::Removed(1)));
    assert_eq!(bench.ask(trim(Keep::From(places[3]), None)), Ok(OpReply::Removed(2)));
    assert_eq!(bench.stream("orders").first, Some(places[3]));
    let nowhere = OpKind::Trim(Trim { stream: stream("nowhere"), how: Trimming::to(Keep::Newest(0)) });
    assert_eq!(bench.ask(nowhere), Err(Refused::StreamNotFound.into()));
}

pub fn a_trim_in_steps_takes_whole_groups_from_the_oldest_on(bench: &Bench) {
    bench.queue_on_with("mail", "orders", From::Start, |settings| settings.protect_unread = false);
    for n in 0..8 {
        bench.after(1);
        bench.spread("orders", n);
    }
    let places: Vec<_> = bench.entries("orders").iter().map(|entry| entry.place).collect();
    let trim = |keep, limit| {
        let how = Trimming { step: 3, limit, ..Trimming::to(keep) };
        bench.ask(OpKind::Trim(Trim { stream: stream("orders"), how }))
    };
    assert_eq!(trim(Keep::Newest(6), None), Ok(OpReply::Removed(0)), "a group would take one too many");
    assert_eq!(trim(Keep::Newest(0), Some(2)), Ok(OpReply::Removed(0)), "a group is over the limit");
    assert_eq!(trim(Keep::From(places[2]), None), Ok(OpReply::Removed(0)), "a group's last one is to stay");
    assert_eq!(trim(Keep::From(places[3]), None), Ok(OpReply::Removed(3)));
    assert_eq!(trim(Keep::Newest(1), Some(4)), Ok(OpReply::Removed(3)));
    assert_eq!(trim(Keep::Newest(1), None), Ok(OpReply::Removed(0)));
    assert_eq!(trim(Keep::Newest(0), None), Ok(OpReply::Removed(2)), "the last group is what is left");
}

pub fn what_is_trimmed_unread_is_kept_for_queues_that_ask_for_it(bench: &Bench) {
    bench.queue_on("keeps", "orders", From::Start);
    bench.queue_on_with("loses", "orders", From::Start, |settings| settings.protect_unread = false);
    let events: Vec<_> = (0..3).map(|n| bench.spread("orders", n)).collect();
    bench.ask(trim_to("orders", 1)).expect("it is there");
    let ready = |queue: &str| bench.view(queue).counts.of(View::Ready);
    assert_eq!((ready("keeps"), ready("loses")), (3, 1));
    let groups = bench.groups("orders");
    assert_eq!((groups[0].trimmed_unread, groups[0].lag), (0, 1));
    assert_eq!((groups[1].trimmed_unread, groups[1].lag), (2, 1));
    let trimmed = |queue: &str| bench.view(queue).trimmed_unread;
    assert_eq!((trimmed("keeps"), trimmed("loses")), (0, 2), "the queue's own picture says the same");
    assert_eq!(bench.take("loses", 9), events[2..]);
    assert_eq!(bench.event(events[0]).deliveries.len(), 1);
    bench.queue_on("late", "orders", From::Start);
    assert_eq!(bench.take("late", 9), events[2..], "it came after the trim");
    assert_eq!(bench.take("keeps", 9), events);
}

pub fn what_is_held_or_dead_outlives_a_trim(bench: &Bench) {
    bench.queue_on_with("mail", "orders", From::Start, |settings| settings.protect_unread = false);
    let events: Vec<_> = (0..2).map(|n| bench.spread("orders", n)).collect();
    let grants = bench.claim_up_to("mail", 2);
    bench.must(&grants[1], fatal());
    bench.ask(trim_to("orders", 0)).expect("it is there");
    assert!(bench.entries("orders").is_empty());
    assert!(bench.event(events[0]).body.is_some() && bench.event(events[1]).body.is_some());
    bench.ask(super::bench::redrive(events[1])).expect("it is dead");
    bench.after(30);
    assert_eq!(bench.take("mail", 9), [events[1], events[0]], "by their due times");
}

pub fn what_nobody_needs_and_nobody_remembers_goes_with_its_entry(bench: &Bench) {
    bench.queue_on_with("mail", "orders", From::Start, |settings| settings.protect_unread = false);
    let event = bench.spread("orders", 1);
    bench.ask(trim_to("orders", 0)).expect("it is there");
    let read = crate::read::Read::Event { event, payload: true };
    assert_eq!(bench.read(read), Err(Refused::EventNotFound.into()));
    assert_eq!(bench.try_claim("mail"), None);
}

pub fn an_entry_may_be_deleted_by_its_place(bench: &Bench) {
    bench.queue_on_with("mail", "orders", From::Start, |settings| settings.protect_unread = false);
    bench.queue_on("bill", "orders", From::Start);
    let events: Vec<_> = (0..3).map(|n| bench.spread("orders", n)).collect();
    let place = bench.entries("orders")[1].place;
    assert_eq!(bench.ask(delete_entry("orders", place)), Ok(OpReply::Fates(vec![Fate::Done])));
    assert_eq!(bench.ask(delete_entry("orders", place)), Ok(OpReply::Fates(vec![Fate::Missing])));
    assert_eq!(bench.entries("orders").len(), 2);
    assert_eq!(bench.take("mail", 9), [events[0], events[2]]);
    assert_eq!(bench.take("bill", 9), events, "in the order of places");
}

pub fn events_of_a_lane_are_not_trimmed(bench: &Bench) {
    bench.queue_on_with("mail", "orders", From::Start, |settings| settings.protect_unread = false);
    bench.queue_on("bill", "orders", From::Start);
    let direct = bench.append(to_queue("mail", "{}")).id;
    bench.spread("orders", 1);
    assert_eq!(bench.ask(trim_to("orders", 0)), Ok(OpReply::Removed(1)));
    assert_eq!(bench.take("mail", 9), [direct]);
}

pub fn a_deleted_queue_s_dead_letters_outlive_a_trim(bench: &Bench) {
    let id = bench.queue_on_with("mail", "orders", From::Start, |settings| settings.protect_unread = false);
    bench.queue_on_with("bill", "orders", From::Start, |settings| settings.protect_unread = false);
    let event = bench.spread("orders", 1);
    bench.ask(delete("mail", true)).expect("it is there");
    bench.ask(trim_to("orders", 0)).expect("it is there");
    assert_eq!(bench.try_claim("bill"), None);
    let letters = bench.dead_letters(&QueueRef::Id(id), 5);
    assert_eq!((letters[0].id, letters[0].body.is_some()), (event, true));
}

pub fn a_stream_s_retention_may_be_changed(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    bench.spread("orders", 1);
    bench.ask(retention("mail", Retention::Consumed)).expect("it is there");
    assert_eq!(bench.view("mail").stream_settings.retention, Retention::Consumed);
    bench.finish("mail");
    assert_eq!(bench.stream("orders").length, 0);
    bench.ask(retention("mail", Retention::Trim)).expect("it is there");
    bench.spread("orders", 2);
    let grant = bench.claim("mail");
    bench.must(&grant, SettleStep::Ack);
    assert_eq!(bench.stream("orders").length, 1);
    assert!(bench.dead_letters(&named("mail"), 5).is_empty());
}
