//! Many queues on one stream: each goes its own pace over one body.
//!
//! Lives here: publishing to a stream, lanes. Not here: where a queue begins (`starting.rs`).

use naven_core::View;

use super::bench::{Bench, create, delete, fail_in, fatal, named, redrive, release};
use super::streams::{stream, to_queue, to_stream};
use crate::engine::{Hint, WaitSet};
use crate::queue::{QueueSettings, Retention};
use crate::read::{Page, Read};
use crate::reply::{OpReply, Refused};
use crate::txn::{AdminOp, Append, Due, From, OpKind, Proof, Settle, SettleStep, Txn};

fn two(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    bench.queue_on("bill", "orders", From::Start);
}

fn later(seconds: u32) -> Due {
    Due::In(seconds.try_into().expect("in bounds"))
}

pub fn each_queue_of_a_stream_gets_every_event_at_its_own_pace(bench: &Bench) {
    two(bench);
    let sent: Vec<_> = (0..3).map(|n| bench.spread("orders", n)).collect();
    assert_eq!(bench.take("mail", 5), sent);
    assert_eq!(bench.take("bill", 1), sent[..1]);
    assert_eq!(bench.view("mail").counts.of(View::Leased), 3);
    assert_eq!(
        (bench.view("bill").counts.of(View::Ready), bench.view("bill").counts.of(View::Leased)),
        (2, 1)
    );
    let states = |at: usize| bench.event(sent[at]).deliveries.into_iter().map(|one| one.state);
    assert!(states(0).eq([View::Leased, View::Leased]));
    assert!(states(2).eq([View::Leased, View::Ready]));
}

pub fn what_one_queue_does_with_an_event_no_other_sees(bench: &Bench) {
    two(bench);
    let event = bench.spread("orders", 1);
    let mail = bench.claim("mail");
    let bill = bench.claim("bill");
    assert_eq!((mail.event, bill.event), (event, event));
    bench.must(&mail, fatal());
    assert_eq!(bench.say(&mail, SettleStep::Ack), Err(Refused::Settled.into()));
    bench.must(&bill, fail_in("x", 5));
    assert_eq!(bench.dead_letters(&named("mail"), 5).len(), 1);
    assert!(bench.dead_letters(&named("bill"), 5).is_empty());
    bench.after(5);
    let again = bench.claim("bill");
    assert_eq!(bench.must(&again, SettleStep::Ack).state, View::Done);
    assert_eq!(bench.delivery_in(mail.queue, event).state, View::Dead);
}

pub fn a_token_of_one_queue_is_worth_nothing_in_another_of_its_stream(bench: &Bench) {
    two(bench);
    bench.spread("orders", 1);
    let (mail, bill) = (bench.claim("mail"), bench.claim("bill"));
    assert_ne!(mail.token, bill.token);
    bench.must(&mail, SettleStep::Ack);
    assert_eq!(bench.delivery_in(bill.queue, bill.event).state, View::Leased);
}

pub fn an_operator_names_the_queue_where_there_are_several(bench: &Bench) {
    two(bench);
    let event = bench.spread("orders", 1);
    for queue in ["mail", "bill"] {
        bench.must(&bench.claim(queue), fatal());
    }
    assert_eq!(bench.ask(redrive(event)), Err(Refused::QueueNeeded.into()));
    let named = AdminOp::Redrive { event, queue: Some(named("bill")), reset_attempts: true };
    let Ok(OpReply::Event(view)) = bench.ask(OpKind::Admin(named)) else { panic!("not redriven") };
    assert!(view.deliveries.iter().map(|one| one.state).eq([View::Dead, View::Ready]));
    let step = SettleStep::Ack;
    let settle = Settle { event, proof: Proof::Operator { queue: None }, step };
    assert_eq!(bench.ask(OpKind::Settle(settle)), Err(Refused::QueueNeeded.into()));
}

pub fn a_publish_to_several_queues_lists_none_and_one_to_one_lists_that(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    let sole = bench.append(to_stream("orders", "{}"));
    assert_eq!((sole.deliveries.len(), sole.stream.as_str()), (1, "orders"));
    assert!(sole.place.is_some());
    bench.queue_on("bill", "orders", From::New);
    assert!(bench.append(to_stream("orders", "{}")).deliveries.is_empty());
    assert_eq!(bench.append(to_queue("bill", "{}")).deliveries.len(), 1);
}

pub fn an_event_for_one_queue_is_seen_by_no_other(bench: &Bench) {
    two(bench);
    let before = bench.stream("orders");
    let direct = bench.append(to_queue("mail", "{\"only\":1}"));
    assert_eq!(direct.place, None, "its place is not for all to see");
    let after = bench.stream("orders");
    assert_eq!((after.length, after.added, after.version), (before.length, before.added, before.version));
    assert!(bench.entries("orders").is_empty());
    assert_eq!(bench.try_claim("bill"), None);
    assert_eq!(
        (bench.view("bill").counts.of(View::Ready), bench.view("mail").counts.of(View::Ready)),
        (0, 1)
    );
    let grant = bench.finish("mail");
    assert_eq!(grant.event, direct.id);
    let view = bench.event(direct.id);
    assert_eq!((view.deliveries.len(), view.deliveries[0].state, view.body), (1, View::Done, None));
}

pub fn a_lane_and_the_stream_are_read_in_the_order_of_places(bench: &Bench) {
    two(bench);
    let first = bench.spread("orders", 1);
    let second = bench.append(to_queue("mail", "{}")).id;
    let third = bench.spread("orders", 3);
    let fourth = bench.append(to_queue("mail", "{}")).id;
    assert_eq!(bench.take("mail", 9), [first, second, third, fourth]);
    assert_eq!(bench.take("bill", 9), [first, third]);
}

pub fn events_of_a_lane_wait_for_their_time_too(bench: &Bench) {
    two(bench);
    let late = bench.append(Append { due: later(5), ..to_queue("mail", "{}") }).id;
    let early = bench.append(Append { due: later(2), ..to_stream("orders", "{}") }).id;
    assert_eq!(
        (bench.view("mail").counts.of(View::Scheduled), bench.view("bill").counts.of(View::Scheduled)),
        (2, 1)
    );
    assert_eq!(bench.stream("orders").scheduled, 1);
    bench.after(9);
    assert_eq!(bench.take("mail", 9), [early, late]);
    assert_eq!(bench.take("bill", 9), [early]);
    let retried = bench.queue("other");
    assert_ne!(bench.event(late).deliveries[0].queue_id, retried);
}

pub fn a_queue_alone_on_its_stream_publishes_to_the_stream(bench: &Bench) {
    bench.queue("mail");
    let view = bench.append(to_queue("mail", "{}"));
    assert!(view.place.is_some());
    assert_eq!(bench.entries("mail").len(), 1);
    bench.queue_on("copy", "mail", From::Start);
    assert_eq!(bench.take("copy", 5), [view.id]);
}

pub fn names_of_queues_and_of_streams_do_not_meet(bench: &Bench) {
    bench.queue_on("a", "b", From::Start);
    bench.queue_on("b", "a", From::Start);
    assert_eq!((bench.view("a").stream, bench.view("b").stream), ("b".to_owned(), "a".to_owned()));
    let taken = Err(Refused::NameTaken.into());
    bench.queue_on("c", "b", From::Start);
    assert_eq!(bench.ask(create("c", QueueSettings::default())), taken, "a queue has it");
    bench.ask(delete("c", true)).expect("it is there");
    bench.queue_on("d", "c", From::Start);
    assert_eq!(bench.ask(create("c", QueueSettings::default())), taken, "a stream has it");
}

pub fn a_stream_is_made_where_it_is_missing_and_its_entries_stay(bench: &Bench) {
    let missing = Err(Refused::StreamNotFound.into());
    assert_eq!(bench.ask(OpKind::Append(to_stream("orders", "{}"))), missing);
    assert_eq!(bench.read(Read::Stream(stream("orders"))), Err(Refused::StreamNotFound.into()));
    bench.queue_on("mail", "orders", From::New);
    assert_eq!(bench.stream("orders").settings.retention, Retention::Trim);
    bench.spread("orders", 1);
    bench.finish("mail");
    bench.ask(delete("mail", true)).expect("it is there");
    let view = bench.stream("orders");
    assert_eq!((view.length, view.queues, view.created_at), (1, 0, bench.wall()));
    let kept = bench.spread("orders", 2);
    assert!(bench.event(kept).deliveries.is_empty());
    bench.queue_on("late", "orders", From::Start);
    assert_eq!(bench.take("late", 9).len(), 2);
}

pub fn a_transaction_wakes_each_queue_of_a_stream_once(bench: &Bench) {
    two(bench);
    let (mail, bill) = (bench.view("mail").id, bench.view("bill").id);
    let mut hints = bench.engine.hints(WaitSet::All);
    let publish = |n: u32| OpKind::Append(to_stream("orders", &format!("{{\"n\":{n}}}")));
    assert!(bench.submit(Txn::each((0..100).map(publish))).iter().all(Result::is_ok));
    let mut next = || {
        let next = async { tokio::time::timeout(std::time::Duration::from_secs(20), hints.next()).await };
        bench.block_on(next).expect("a hint comes")
    };
    let mut woken = [next(), next()];
    woken.sort_by_key(|hint| format!("{hint:?}"));
    let mut both = [Some(Hint::Queue(mail)), Some(Hint::Queue(bill))];
    both.sort_by_key(|hint| format!("{hint:?}"));
    assert_eq!(woken, both, "both before any of them twice");
}

pub fn groups_show_how_far_each_queue_is(bench: &Bench) {
    two(bench);
    let first = bench.append(to_stream("orders", "{}"));
    bench.after(1);
    let second = bench.append(to_stream("orders", "{}"));
    let grant = bench.claim("mail");
    bench.after(1);
    bench.claim("mail");
    bench.must(&grant, release());
    let groups = bench.groups("orders");
    let [mail, bill] = groups.as_slice() else { panic!("two queues: {groups:?}") };
    assert_eq!((mail.queue.name.as_str(), bill.queue.name.as_str()), ("mail", "bill"));
    assert_eq!((mail.lag, mail.pending, Some(mail.last_delivered)), (0, 2, second.place));
    assert_eq!(mail.oldest_pending, Some(bench.wall().plus_ms(-1_000)));
    assert_eq!((bill.lag, bill.pending, bill.oldest_pending), (2, 0, None));
    assert_eq!(bill.last_delivered, crate::txn::Place::default());
    let Ok(Page::Entries(items, more)) = bench.read(Read::Entries {
        stream: stream("orders"),
        start: crate::txn::Place::default(),
        end: second.place.expect("it is due"),
        reverse: true,
        limit: 1,
        max_bytes: u64::MAX,
        payload: false,
    }) else {
        panic!("entries")
    };
    assert_eq!((items[0].event, &items[0].body, more), (second.id, &None, true));
    assert_eq!(bench.entries("orders")[0].event, first.id);
}

pub fn streams_are_listed_newest_first_by_prefix(bench: &Bench) {
    for name in ["orders", "mail", "orders.eu"] {
        bench.queue_on(&format!("q-{name}"), name, From::Start);
    }
    let names = |prefix: &'static str, limit| {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let name_prefix = bytes::Bytes::from_static(prefix.as_bytes());
            let Ok(Page::Streams(items, next)) = bench.read(Read::Streams { name_prefix, cursor, limit })
            else {
                panic!("a list of streams")
            };
            all.extend(items.into_iter().map(|view| String::from_utf8_lossy(&view.name).into_owned()));
            cursor = next;
            if cursor.is_none() {
                return all;
            }
        }
    };
    for limit in [1, 2, 9] {
        assert_eq!(names("", limit), ["orders.eu", "mail", "orders"]);
        assert_eq!(names("orders", limit).len(), 2);
    }
}
