//! Throwing away what waits in a queue, or is dead there.
//!
//! Lives here: what a purge means and what is left. Not here: operations as such (`operations.rs`).

use std::collections::BTreeSet;

use naven_api::{EventId, Timestamp};
use naven_core::View;

use super::bench::{Bench, beat, fail_in, fatal, named, redrive, release};
use super::streams::to_stream;
use crate::engine::Budget;
use crate::read::{Matched, Page, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{
    Append, Bulk, Due, From, OpKind, OperationOp, OperationState, OperationView, PurgeFilter, SettleStep,
};

const WAITING: [View; 3] = [View::Scheduled, View::Ready, View::Retrying];

fn purge(states: &[View], older_than: Option<Timestamp>) -> PurgeFilter {
    PurgeFilter { states: states.iter().copied().collect(), older_than }
}

fn try_begin(bench: &Bench, filter: PurgeFilter) -> Result<OpReply, OpError> {
    bench.ask(OpKind::Operation(OperationOp::Start { queue: named("mail"), bulk: Bulk::Purge(filter) }))
}

fn begun(bench: &Bench, states: &[View]) -> OperationView {
    match try_begin(bench, purge(states, None)) {
        Ok(OpReply::Operation(view)) => *view,
        other => panic!("not begun: {other:?}"),
    }
}

fn shown(bench: &Bench, operation: &OperationView) -> OperationView {
    match bench.read(Read::Operation(operation.id)) {
        Ok(Page::Operation(view)) => *view,
        other => panic!("no operation: {other:?}"),
    }
}

fn tend_some(bench: &Bench, rows: usize) -> bool {
    bench.block_on(bench.engine.tend(Budget { rows })).expect("it tends").more
}

/// Runs a purge to its end: how many it meant, how many it threw away, and at how many it failed.
fn purged(bench: &Bench, filter: PurgeFilter) -> (Option<u64>, u64, u64) {
    let Ok(OpReply::Operation(operation)) = try_begin(bench, filter) else { panic!("not begun") };
    while tend_some(bench, 3) {}
    let over = shown(bench, &operation);
    assert_eq!(over.state, OperationState::Done);
    (over.matched, over.done, over.failed)
}

fn matched(bench: &Bench, filter: PurgeFilter) -> Matched {
    match bench.read(Read::Purgeable { queue: named("mail"), filter }) {
        Ok(Page::Matched(matched)) => matched,
        other => panic!("no count: {other:?}"),
    }
}

fn counts(bench: &Bench) -> [u64; 6] {
    let counts = bench.view("mail").counts;
    let views = [View::Scheduled, View::Ready, View::Leased, View::Retrying, View::Dead, View::Cancelled];
    views.map(|view| counts.of(view))
}

/// One event in each state that can be named, and one that is held.
fn one_of_each(bench: &Bench) -> [EventId; 5] {
    bench.queue("mail");
    let dead = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fatal());
    let retrying = bench.publish("mail", 2);
    bench.must(&bench.claim("mail"), fail_in("no", 600));
    let leased = bench.publish("mail", 3);
    bench.claim("mail");
    let ready = bench.publish("mail", 4);
    let later = Due::In(900.try_into().expect("in bounds"));
    let scheduled = bench.publish_due("mail", 5, later).id;
    [dead, retrying, leased, ready, scheduled]
}

pub fn a_purge_throws_away_what_stands_as_it_says(bench: &Bench) {
    let [dead, retrying, leased, ready, scheduled] = one_of_each(bench);
    assert_eq!(matched(bench, purge(&WAITING, None)).count, 3);
    for (view, event) in [(View::Retrying, retrying), (View::Ready, ready), (View::Scheduled, scheduled)] {
        assert_eq!(matched(bench, purge(&[view], None)), Matched { count: 1, truncated: false }, "{view:?}");
        assert_eq!(purged(bench, purge(&[view], None)), (Some(1), 1, 0), "{view:?}");
        let left = bench.delivery(event);
        assert_eq!((left.state, left.cancel_reason.as_deref()), (View::Cancelled, Some("purged")));
        assert!(left.settled_at.is_some());
        assert_eq!(bench.event(event).body, None, "its content is released");
    }
    assert_eq!(counts(bench), [0, 0, 1, 0, 1, 3]);
    assert_eq!(purged(bench, purge(&[View::Dead], None)), (Some(1), 1, 0));
    assert_eq!((bench.delivery(dead).state, counts(bench)), (View::Cancelled, [0, 0, 1, 0, 0, 4]));
    assert!(bench.dead_letters(&named("mail"), 9).is_empty());
    assert_eq!(bench.delivery(leased).state, View::Leased);
    bench.after(2 * 86_400);
    bench.tend();
    let read = Read::Event { event: ready, payload: false };
    assert_eq!(bench.read(read), Err(Refused::EventNotFound.into()), "it is remembered for its time");
}

pub fn a_purge_leaves_what_somebody_holds_and_old_tokens_are_lost(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 3);
    let (held, failed, died) = (bench.claim("mail"), bench.claim("mail"), bench.claim("mail"));
    bench.must(&failed, fail_in("no", 600));
    bench.must(&died, fatal());
    let all = [View::Scheduled, View::Ready, View::Retrying, View::Dead];
    assert_eq!(purged(bench, purge(&all, None)), (Some(2), 2, 0));
    for old in [failed, died] {
        for step in [fatal(), SettleStep::Ack, beat(30)] {
            assert_eq!(bench.say(&old, step), Err(Refused::Lost.into()));
        }
    }
    assert_eq!(bench.must(&held, SettleStep::Ack).state, View::Done);
}

pub fn a_purge_means_what_was_there_when_it_began(bench: &Bench) {
    bench.queue("mail");
    let old: BTreeSet<_> = bench.publish_some("mail", 4).into_iter().collect();
    let soon = bench.publish_due("mail", 8, Due::In(5.try_into().expect("in bounds"))).id;
    let operation = begun(bench, &[View::Ready]);
    assert_eq!((operation.state, operation.matched), (OperationState::Pending, None));
    let new = bench.publish("mail", 9);
    assert!(tend_some(bench, 2), "there is more to do");
    let under_way = shown(bench, &operation);
    assert_eq!(
        (under_way.state, under_way.done),
        (OperationState::Running, 1),
        "the one that waits comes first"
    );
    let taken = bench.claim("mail");
    assert!(old.contains(&taken.event), "a purge takes nothing from those who are quicker");
    bench.after(5);
    while tend_some(bench, 2) {}
    let over = shown(bench, &operation);
    assert_eq!((over.state, over.matched, over.done, over.failed), (OperationState::Done, Some(3), 3, 0));
    let got: BTreeSet<_> = bench.take("mail", 9).into_iter().collect();
    assert_eq!(got, [soon, new].into(), "it was not ready then, and came later");
}

pub fn what_is_let_go_of_or_brought_back_since_a_purge_began_stays(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 3);
    let (released, failed, died) = (bench.claim("mail"), bench.claim("mail"), bench.claim("mail"));
    bench.must(&died, fatal());
    let operation = begun(bench, &[View::Ready, View::Retrying]);
    bench.after(1);
    bench.must(&released, release());
    bench.must(&failed, fail_in("no", 600));
    bench.ask(redrive(died.event)).expect("it is dead");
    while tend_some(bench, 2) {}
    let over = shown(bench, &operation);
    assert_eq!((over.state, over.done, over.failed), (OperationState::Done, 0, 0));
    let states = [&released, &failed, &died].map(|one| bench.delivery(one.event).state);
    assert_eq!(states, [View::Ready, View::Retrying, View::Ready]);
}

pub fn what_falls_due_meanwhile_is_met_further_on(bench: &Bench) {
    let [_, _, leased, ..] = one_of_each(bench);
    let operation = begun(bench, &WAITING);
    bench.after(900);
    bench.tend();
    while tend_some(bench, 1) {}
    let over = shown(bench, &operation);
    assert_eq!((over.matched, over.done, over.failed), (Some(3), 3, 0));
    let got = bench.take("mail", 9);
    assert_eq!(got, [leased], "its lease ran out, and it was not meant");
}

pub fn a_purge_may_mean_only_what_is_older(bench: &Bench) {
    bench.queue("mail");
    let old = bench.publish("mail", 1);
    bench.after(10);
    let end = bench.wall();
    let new = bench.publish("mail", 2);
    let filter = || purge(&WAITING, Some(end));
    assert_eq!(matched(bench, filter()), Matched { count: 1, truncated: false });
    assert_eq!(purged(bench, filter()), (Some(1), 1, 0));
    assert_eq!(bench.delivery(old).state, View::Cancelled);
    assert_eq!(bench.take("mail", 9), [new]);
}

pub fn a_purge_of_one_queue_is_nothing_to_another_of_its_stream(bench: &Bench) {
    let mail = bench.queue_on("mail", "s", From::Start);
    let other = bench.queue_on("other", "s", From::Start);
    let event = bench.spread("s", 1);
    let later = Due::In(60.try_into().expect("in bounds"));
    let waits = bench.append(Append { due: later, ..to_stream("s", "{}") }).id;
    assert_eq!(purged(bench, purge(&WAITING, None)), (Some(2), 1, 1), "one waits for both alike");
    assert_eq!(bench.delivery_in(mail, event).state, View::Cancelled);
    assert_eq!(bench.delivery_in(other, event).state, View::Ready);
    assert_eq!(bench.delivery_in(mail, waits).state, View::Scheduled);
    assert!(bench.event(event).body.is_some(), "the other queue needs it");
    assert_eq!((bench.take("mail", 9).len(), bench.take("other", 9)), (0, vec![event]));
}

pub fn one_purge_runs_in_a_queue_paused_or_not(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 3);
    let pause = crate::txn::GroupOp::Pause { queue: named("mail"), reason: None };
    bench.ask(OpKind::Group(pause)).expect("it is there");
    let operation = begun(bench, &WAITING);
    let second = try_begin(bench, purge(&[View::Dead], None));
    assert_eq!(second, Err(Refused::OperationRunning.into()));
    tend_some(bench, 1);
    let cancel = OperationOp::Cancel { operation: operation.id };
    let Ok(OpReply::Operation(view)) = bench.ask(OpKind::Operation(cancel)) else { panic!("it runs") };
    assert_eq!((view.state, view.done, view.matched), (OperationState::Cancelled, 1, Some(3)));
    bench.tend();
    assert_eq!(counts(bench), [0, 2, 0, 0, 0, 1]);
    assert_eq!(purged(bench, purge(&WAITING, None)), (Some(2), 2, 0));
}
