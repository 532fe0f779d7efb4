//! Wake-ups: who is told to look, and when.
//!
//! Lives here: that a hint comes. That too many come is no fault: they are lossy in both ways.

use std::time::Duration;

use naven_api::QueueId;

use super::bench::{Bench, create, delete, fail_in, fatal, named, redrive, release};
use super::streams::stream;
use crate::engine::{Hint, Hints, WaitSet};
use crate::queue::{QueueChanges, QueueSettings, StreamChanges};
use crate::txn::{Due, From, GroupOp, OpKind, SettleStep};

/// So long a missing hint is waited for before the case fails; a present one takes no time.
const PATIENCE: Duration = Duration::from_secs(20);

fn next(bench: &Bench, hints: &mut Hints) -> Option<Hint> {
    let next = async { tokio::time::timeout(PATIENCE, hints.next()).await };
    bench.block_on(next).expect("a hint comes")
}

/// What `act` does wakes whoever waits for `queue`.
pub(super) fn wakes(bench: &Bench, queue: QueueId, what: &str, act: impl FnOnce()) {
    let mut hints = bench.engine.hints(WaitSet::Queues(vec![queue]));
    act();
    assert_eq!(next(bench, &mut hints), Some(Hint::Queue(queue)), "{what}");
}

pub fn a_publish_wakes_those_who_wait_for_its_queue(bench: &Bench) {
    let queue = bench.queue("mail");
    let other = bench.queue("other");
    wakes(bench, queue, "a due event", || {
        bench.publish("mail", 1);
    });
    let later = Due::In(9.try_into().expect("in bounds"));
    wakes(bench, queue, "a scheduled one, too: the wait is shorter now", || {
        drop(bench.publish_due("mail", 2, later));
    });
    // The first hint is for the other queue: none of the first queue's came between.
    let mut hints = bench.engine.hints(WaitSet::Queues(vec![other]));
    bench.publish("mail", 3);
    bench.publish("other", 1);
    assert_eq!(next(bench, &mut hints), Some(Hint::Queue(other)));
}

pub fn whatever_frees_an_event_wakes_too(bench: &Bench) {
    let queue = bench.queue("mail");
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    wakes(bench, queue, "a release", || {
        bench.must(&grant, release());
    });
    let grant = bench.claim("mail");
    wakes(bench, queue, "a give-back", || {
        bench.must(&grant, SettleStep::GiveBack);
    });
    let grant = bench.claim("mail");
    wakes(bench, queue, "a failure", || {
        bench.must(&grant, fail_in("x", 1));
    });
    bench.after(1);
    bench.must(&bench.claim("mail"), fatal());
    wakes(bench, queue, "a redrive", || drop(bench.ask(redrive(event))));
}

pub fn what_operators_do_to_a_queue_wakes_its_waiters(bench: &Bench) {
    let queue = bench.queue("mail");
    let group = |op| drop(bench.ask(OpKind::Group(op)).expect("it is there"));
    let mail = || named("mail");
    wakes(bench, queue, "pause", || group(GroupOp::Pause { queue: mail(), reason: None }));
    wakes(bench, queue, "resume", || group(GroupOp::Resume { queue: mail() }));
    let changes = Box::<QueueChanges>::default();
    wakes(bench, queue, "patch", || {
        group(GroupOp::Patch { queue: mail(), changes, stream: StreamChanges::default(), revision: None })
    });
    wakes(bench, queue, "delete", || drop(bench.ask(delete("mail", true))));
}

pub fn a_waiter_for_all_queues_hears_of_new_ones(bench: &Bench) {
    let mut hints = bench.engine.hints(WaitSet::All);
    bench.ask(create("mail", QueueSettings::default())).expect("the name is free");
    bench.publish("mail", 1);
    let queue = bench.view("mail").id;
    assert_eq!(next(bench, &mut hints), Some(Hint::Queue(queue)));
}

pub fn hints_end_when_the_engine_is_closed(bench: &Bench) {
    let mut hints = bench.engine.hints(WaitSet::All);
    bench.block_on(bench.engine.close());
    assert_eq!(next(bench, &mut hints), None);
}

pub fn an_entry_wakes_those_who_read_its_stream_without_a_queue(bench: &Bench) {
    bench.queue_on("first", "log", From::New);
    bench.ask(delete("first", true)).expect("it is there");
    let mut hints = bench.engine.hints(WaitSet::Everything);
    bench.spread("log", 1);
    assert_eq!(next(bench, &mut hints), Some(Hint::Stream(stream("log").0)), "no queue reads it");
    // Who asks for queues alone hears of none.
    let queue = bench.queue("mail");
    let mut queues = bench.engine.hints(WaitSet::All);
    bench.spread("log", 2);
    bench.publish("mail", 1);
    assert_eq!(next(bench, &mut queues), Some(Hint::Queue(queue)));
}
