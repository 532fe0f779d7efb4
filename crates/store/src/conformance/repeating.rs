//! What is done once however often it is asked: dedupe keys and idempotency keys.
//!
//! Lives here: both, as what they share is the caller's doubt. Not here: settling twice (`settling.rs`).

use bytes::Bytes;
use naven_core::View;

use super::bench::{Bench, beat, claim, create, named, settle, token};
use super::streams::{once, reset, to_queue, to_stream};
use crate::queue::{QueueSettings, StreamChanges};
use crate::reply::{OpReply, Refused};
use crate::txn::{Append, Claim, DedupeKey, DedupeSpace, From, GroupOp, OpKind, SettleStep, Txn};

const DAY: i64 = 86_400;

fn keyed(key: &'static str, append: Append) -> Append {
    let key = Bytes::from_static(key.as_bytes());
    Append { dedupe: Some(DedupeKey { space: DedupeSpace::Http, key }), ..append }
}

fn deduped(bench: &Bench, append: Append) -> Option<crate::read::EventView> {
    match bench.ask(OpKind::Append(append)) {
        Ok(OpReply::Deduped(view)) => Some(*view),
        Ok(OpReply::Event(_)) => None,
        other => panic!("publishing: {other:?}"),
    }
}

fn window(bench: &Bench, queue: &str, seconds: u32) {
    let stream = StreamChanges { dedupe_window_seconds: Some(seconds), ..StreamChanges::default() };
    let patch = GroupOp::Patch { queue: named(queue), changes: Box::default(), stream, revision: None };
    bench.ask(OpKind::Group(patch)).expect("it is there");
}

pub fn a_second_event_of_a_key_is_the_first_one_again(bench: &Bench) {
    bench.queue("mail");
    let first = bench.append(keyed("order-7", to_queue("mail", "{\"n\":1}")));
    assert_eq!(first.dedupe_key.as_deref(), Some("order-7"));
    bench.after(60);
    let again = deduped(bench, keyed("order-7", to_queue("mail", "{\"n\":2}"))).expect("it was there");
    assert_eq!(again, crate::read::EventView { body: None, ..bench.event(first.id) });
    assert_eq!(bench.view("mail").counts.of(View::Ready), 1);
    bench.finish("mail");
    let done = deduped(bench, keyed("order-7", to_queue("mail", "{}"))).expect("it was there");
    assert_eq!((done.id, done.deliveries[0].state), (first.id, View::Done));
    assert_eq!(deduped(bench, keyed("order-8", to_queue("mail", "{}"))), None, "another key");
}

pub fn a_key_is_free_again_after_its_window(bench: &Bench) {
    bench.queue("mail");
    window(bench, "mail", 10);
    bench.append(keyed("a", to_queue("mail", "{}")));
    bench.after_ms(9_999);
    assert!(deduped(bench, keyed("a", to_queue("mail", "{}"))).is_some());
    bench.after_ms(1);
    assert!(deduped(bench, keyed("a", to_queue("mail", "{}"))).is_none());
    bench.after(10);
    assert_eq!(bench.tend().rows, 1);
    assert!(deduped(bench, keyed("a", to_queue("mail", "{}"))).is_none());
    window(bench, "mail", 0);
    assert!(deduped(bench, keyed("a", to_queue("mail", "{}"))).is_none(), "no window, no memory");
}

pub fn keys_are_a_stream_s_and_a_space_s_own(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    bench.queue_on("bill", "orders", From::Start);
    bench.queue("other");
    bench.append(keyed("a", to_stream("orders", "{}")));
    assert!(deduped(bench, keyed("a", to_queue("mail", "{}"))).is_some(), "the same stream");
    assert!(deduped(bench, keyed("a", to_queue("other", "{}"))).is_none(), "another stream");
    let space = DedupeSpace::Producer(Bytes::from_static(b"p"));
    let dedupe = Some(DedupeKey { space, key: Bytes::from_static(b"a") });
    let produced = Append { dedupe, ..to_stream("orders", "{}") };
    let view = bench.append(produced.clone());
    assert_eq!(view.dedupe_key, None);
    assert!(deduped(bench, produced).is_some());
}

pub fn a_key_outlives_its_event(bench: &Bench) {
    bench.queue("mail");
    window(bench, "mail", 3 * DAY as u32);
    let first = bench.append(keyed("a", to_queue("mail", "{}")));
    bench.finish("mail");
    bench.after(2 * DAY);
    bench.tend();
    let again = deduped(bench, keyed("a", to_queue("mail", "{}"))).expect("the key is remembered");
    assert_eq!((again.id, again.created_at, again.deliveries.len()), (first.id, first.created_at, 0));
}

pub fn a_redrive_and_a_reset_ask_no_key(bench: &Bench) {
    bench.queue("mail");
    let event = bench.append(keyed("a", to_queue("mail", "{}"))).id;
    bench.must(&bench.claim("mail"), super::bench::fatal());
    bench.ask(super::bench::redrive(event)).expect("it is dead");
    bench.must(&bench.claim("mail"), super::bench::fatal());
    bench.ask(reset("mail", From::Start)).expect("it is there");
    assert_eq!(bench.take("mail", 9), [event]);
}

pub fn a_repeated_publish_gets_the_first_answer(bench: &Bench) {
    bench.queue("mail");
    let publish = || once("k1", OpKind::Append(to_queue("mail", "{}")));
    let Ok(OpReply::Event(first)) = bench.ask_once(publish()) else { panic!("not published") };
    bench.finish("mail");
    bench.after(DAY - 1);
    assert_eq!(bench.ask_once(publish()), Ok(OpReply::Replayed(Box::new(OpReply::Event(first.clone())))));
    bench.after(1);
    let Ok(OpReply::Event(second)) = bench.ask_once(publish()) else { panic!("the key is free again") };
    assert_ne!(first.id, second.id);
}

pub fn a_key_of_another_request_is_refused(bench: &Bench) {
    bench.queue("mail");
    let publish = || once("k1", OpKind::Append(to_queue("mail", "{}")));
    bench.ask_once(publish()).expect("it is new");
    let mut other = publish();
    other.idempotency.as_mut().expect("it has one").fingerprint = [2; 32];
    assert_eq!(bench.ask_once(other), Err(Refused::KeyReused.into()));
    let mut elsewhere = publish();
    elsewhere.idempotency.as_mut().expect("it has one").scope = Bytes::from_static(b"key_2 POST /x");
    assert!(matches!(bench.ask_once(elsewhere), Ok(OpReply::Event(_))));
    assert_eq!(bench.view("mail").counts.of(View::Ready), 2);
}

pub fn a_repeated_claim_gets_the_leases_that_live(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 3);
    let take = || once("k1", OpKind::Claim(claim("mail", 2, 30)));
    let Ok(OpReply::Claimed(first)) = bench.ask_once(take()) else { panic!("nothing claimed") };
    let again = |left: usize| match bench.ask_once(take()) {
        Ok(OpReply::Replayed(reply)) => match *reply {
            OpReply::Claimed(claimed) => {
                assert_eq!(claimed.leases, first.leases[2 - left..]);
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    again(2);
    bench.must(&first.leases[0], SettleStep::Ack);
    again(1);
    bench.must(&first.leases[1], SettleStep::Ack);
    let Ok(OpReply::Claimed(anew)) = bench.ask_once(take()) else { panic!("not claimed anew") };
    assert_eq!(anew.leases.len(), 1);
    bench.after(30);
    let Ok(OpReply::Claimed(lapsed)) = bench.ask_once(take()) else { panic!("not claimed anew") };
    assert_eq!(lapsed.leases[0].fence, anew.leases[0].fence + 1);
}

pub fn a_claim_is_remembered_no_longer_than_its_leases_hold(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 2);
    let take = |fingerprint| {
        let mut take = once("k1", OpKind::Claim(claim("mail", 1, 30)));
        take.idempotency.as_mut().expect("it has one").fingerprint = [fingerprint; 32];
        take
    };
    let Ok(OpReply::Claimed(first)) = bench.ask_once(take(1)) else { panic!("nothing claimed") };
    bench.after(29);
    assert_eq!(bench.ask_once(take(2)), Err(Refused::KeyReused.into()));
    bench.must(&first.leases[0], beat(30));
    bench.after(1);
    let Ok(OpReply::Claimed(second)) = bench.ask_once(take(2)) else { panic!("the key is not free again") };
    assert_ne!(second.leases[0].event, first.leases[0].event, "the first lease was extended, and stands");
}

pub fn a_claim_that_took_nothing_is_asked_again(bench: &Bench) {
    bench.queue("mail");
    let take = || once("k1", OpKind::Claim(Claim { max: 1, ..claim("mail", 1, 30) }));
    assert!(matches!(bench.ask_once(take()), Ok(OpReply::Claimed(claimed)) if claimed.leases.is_empty()));
    let event = bench.publish("mail", 1);
    assert!(
        matches!(bench.ask_once(take()), Ok(OpReply::Claimed(claimed)) if claimed.leases[0].event == event)
    );
}

pub fn whatever_succeeds_is_repeated_and_no_refusal_is(bench: &Bench) {
    let make = || once("k1", create("mail", QueueSettings::default()));
    let Ok(first) = bench.ask_once(make()) else { panic!("not made") };
    assert_eq!(bench.ask_once(make()), Ok(OpReply::Replayed(Box::new(first))));
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let ack = || once("k2", settle(grant.event, token(&grant), SettleStep::Ack));
    let Ok(OpReply::Settled(settled)) = bench.ask_once(ack()) else { panic!("not acked") };
    assert!(!settled.replayed);
    assert_eq!(bench.ask_once(ack()), Ok(OpReply::Replayed(Box::new(OpReply::Settled(settled)))));
    let early = || once("k3", OpKind::Append(to_queue("later", "{}")));
    assert_eq!(bench.ask_once(early()), Err(Refused::QueueNotFound.into()));
    bench.queue("later");
    assert!(matches!(bench.ask_once(early()), Ok(OpReply::Event(_))));
}

pub fn an_undone_answer_is_not_remembered(bench: &Bench) {
    bench.queue("mail");
    let publish = once("k1", OpKind::Append(to_queue("mail", "{}")));
    let refused = crate::txn::Op::plain(OpKind::Append(to_queue("nowhere", "{}")));
    bench.submit(Txn { ops: vec![publish.clone(), refused], ..Txn::all([]) });
    assert!(matches!(bench.ask_once(publish), Ok(OpReply::Event(_))));
}
