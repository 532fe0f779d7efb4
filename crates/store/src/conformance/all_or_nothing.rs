//! Transactions: what stands together and what stands alone.
//!
//! Lives here: undo, and that it leaves no trace. Not here: single ops.

use std::time::Duration;

use naven_core::View;

use super::bench::{Bench, append, claim, create, delete, fail, settle, token};
use crate::queue::{QueueRef, QueueSettings};
use crate::read::{Page, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{AdminOp, Due, OpKind, SettleStep, Txn};

pub fn all_or_nothing_takes_all(bench: &Bench) {
    bench.queue("mail");
    let ops = (0..3).map(|n| append("mail", &n.to_string(), Due::Now));
    assert!(bench.submit(Txn::all(ops)).iter().all(Result::is_ok));
    assert_eq!(bench.view("mail").counts.of(View::Ready), 3);
}

pub fn all_or_nothing_undoes_all_where_one_is_refused(bench: &Bench) {
    bench.queue("mail");
    let held = bench.publish("mail", 0);
    let grant = bench.claim("mail");
    let before = (bench.view("mail"), bench.event(held));
    let replies = bench.submit(Txn::all([
        append("mail", "1", Due::Now),
        settle(held, token(&grant), SettleStep::Ack),
        OpKind::Claim(claim("mail", 1, 30)),
        append("nowhere", "2", Due::Now),
        append("mail", "3", Due::Now),
    ]));
    let undone = || Err(OpError::Undone);
    let missing = Err(Refused::QueueNotFound.into());
    assert_eq!(replies, [undone(), undone(), undone(), missing, undone()]);
    assert_eq!((bench.view("mail"), bench.event(held)), before, "nothing is left of it");
    assert_eq!(bench.must(&grant, SettleStep::Ack).state, View::Done);
    assert_eq!(bench.try_claim("mail"), None, "no event was published");
}

pub fn what_is_undone_moves_no_due_time(bench: &Bench) {
    bench.queue("mail");
    let held = bench.publish("mail", 0);
    let grant = bench.claim("mail");
    let replies = bench.submit(Txn::all([
        append("mail", "1", Due::In(5.try_into().expect("5 s is a delay"))),
        settle(held, token(&grant), SettleStep::Ack),
        append("nowhere", "2", Due::Now),
    ]));
    assert_eq!(replies[2], Err(Refused::QueueNotFound.into()));
    let empty = bench.claimed(claim("mail", 1, 30));
    assert_eq!((empty.leases, empty.due_in), (Vec::new(), Some(Duration::from_secs(30))), "the lease's end");
    bench.after(30);
    let again = bench.claim("mail");
    assert_eq!((again.event, again.expiries), (held, 1), "its lease ended as if it had not been acked");
    assert_eq!(bench.try_claim("mail"), None, "no event was published");
}

pub fn a_queue_s_creation_and_deletion_are_undone_too(bench: &Bench) {
    let id = bench.queue("old");
    let event = bench.publish("old", 1);
    let replies = bench.submit(Txn::all([
        create("new", QueueSettings::default()),
        append("new", "1", Due::Now),
        delete("old", true),
        create("old", QueueSettings::default()),
        append("nowhere", "2", Due::Now),
    ]));
    assert_eq!(replies[4], Err(Refused::QueueNotFound.into()));
    assert_eq!(bench.read(Read::Queue(super::bench::named("new"))), Err(Refused::QueueNotFound.into()));
    assert_eq!(bench.view("old").id, id);
    assert_eq!(bench.claim("old").event, event);
    bench.queue("new");
    assert_eq!(bench.try_claim("new"), None, "the name is free and nothing waits under it");
}

pub fn an_undone_redrive_leaves_the_dead_letter_where_it_was(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), super::bench::fatal());
    let before = bench.event(event);
    let redrive = super::bench::redrive(event);
    let replies = bench.submit(Txn::all([redrive, append("nowhere", "2", Due::Now)]));
    assert_eq!(replies[0], Err(OpError::Undone));
    assert_eq!(bench.event(event), before);
    let queue = QueueRef::Name("mail".to_owned());
    assert_eq!(bench.dead_letters(&queue, 10).len(), 1);
}

pub fn refusals_stand_alone_where_not_asked_otherwise(bench: &Bench) {
    bench.queue("mail");
    let replies = bench.submit(Txn::each([
        append("mail", "1", Due::Now),
        append("nowhere", "2", Due::Now),
        append("mail", "3", Due::Now),
    ]));
    assert!(replies[0].is_ok() && replies[2].is_ok());
    assert_eq!(replies[1], Err(Refused::QueueNotFound.into()));
    assert_eq!(bench.view("mail").counts.of(View::Ready), 2);
}

pub fn each_op_sees_what_those_before_it_left(bench: &Bench) {
    let replies = bench.submit(Txn::all([
        create("mail", QueueSettings::default()),
        append("mail", "1", Due::Now),
        OpKind::Claim(claim("mail", 1, 30)),
        OpKind::Read(Read::Queue(super::bench::named("mail"))),
    ]));
    let [_, Ok(OpReply::Event(event)), Ok(OpReply::Claimed(claimed)), Ok(OpReply::Page(page))] =
        replies.as_slice()
    else {
        panic!("{replies:?}")
    };
    assert_eq!(claimed.leases[0].event, event.id);
    let Page::Queue(view) = page.as_ref() else { panic!("{page:?}") };
    assert_eq!((view.counts.of(View::Leased), view.counts.of(View::Ready)), (1, 0));
}

pub fn a_batch_of_settles_is_judged_one_by_one_in_order(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 2);
    let grants = bench.claim_up_to("mail", 2);
    let say = |at: usize, step| settle(grants[at].event, token(&grants[at]), step);
    let replies = bench.submit(Txn::each([
        say(0, SettleStep::Ack),
        say(0, SettleStep::Ack),
        say(0, fail()),
        say(1, fail()),
        say(1, SettleStep::Ack),
    ]));
    let replayed = |at: usize| matches!(&replies[at], Ok(OpReply::Settled(settled)) if settled.replayed);
    assert!(replies[0].is_ok() && !replayed(0) && replayed(1));
    assert_eq!(replies[2], Err(Refused::Settled.into()));
    assert!(replies[3].is_ok());
    assert_eq!(replies[4], Err(Refused::Settled.into()));
}

pub fn a_transaction_without_ops_is_answered(bench: &Bench) {
    assert_eq!(bench.submit(Txn::all([])), []);
    assert_eq!(bench.submit(Txn::each([])), []);
}

pub fn a_transaction_is_refused_where_a_watched_stream_changed(bench: &Bench) {
    let stream = crate::txn::StreamRef(bytes::Bytes::from_static(b"mail"));
    let watching = |version| Txn {
        watch: vec![(stream.clone(), version)],
        ..Txn::each([append("mail", "1", Due::Now), append("mail", "2", Due::Now)])
    };
    let changed: OpError = Refused::Changed.into();
    assert_eq!(bench.submit(watching(7)), [Err(changed.clone()), Err(changed.clone())]);
    bench.queue("mail");
    assert_eq!(bench.submit(watching(0)), [Err(changed.clone()), Err(changed.clone())], "it is there by now");
    let version = bench.stream("mail").version;
    assert!(bench.submit(watching(version)).iter().all(Result::is_ok));
    assert_eq!(bench.submit(watching(version)), [Err(changed.clone()), Err(changed.clone())]);
    assert_eq!(bench.view("mail").counts.unfinished(), 2, "a refusal changes nothing");
    let gone = crate::txn::DeleteOp::Stream { stream: stream.clone(), force: true };
    assert!(bench.ask(OpKind::Delete(gone)).is_ok());
    bench.queue("mail");
    assert_eq!(bench.submit(watching(version)), [Err(changed.clone()), Err(changed)], "nor one made anew");
}

pub fn an_unknown_event_is_refused_by_every_op_on_it(bench: &Bench) {
    let event = naven_api::EventId::new(5, (9 << 56) | 1);
    let unknown: OpError = Refused::EventNotFound.into();
    let bury = AdminOp::Bury { event, queue: None, reason: naven_core::DeadReason::Damaged };
    let lost = naven_api::LeaseToken::new("x");
    for op in [super::bench::redrive(event), OpKind::Admin(bury), settle(event, &lost, fail())] {
        assert_eq!(bench.ask(op), Err(unknown.clone()));
    }
}
