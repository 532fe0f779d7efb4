//! The feed: what is told of deliveries, in which order, and what is not.
//!
//! Lives here: scripted lives and what a listener hears of them. Not here: what is counted from it.

use std::task::Poll;

use bytes::Bytes;
use naven_api::{EventId, QueueId};
use naven_core::{DeadReason, Ending, View};

use super::bench::{
    Bench, append, beat, create, fail, fail_in, fatal, named, redrive, release, settle, token,
};
use crate::feed::{Change, ChangeKind, Changes, InQueues, Told};
use crate::queue::{QueueSettings, StreamChanges};
use crate::txn::{AdminOp, Append, Due, From, GroupOp, OpKind, Reading, SettleStep, StreamRef, Target, Txn};

/// What was told and not heard yet; the listener must have kept up. None where the feed is over.
pub(super) async fn told_so_far(feed: &mut Changes) -> Option<Vec<Change>> {
    let mut heard = Vec::new();
    while let Some(told) = tokio::task::unconstrained(now_or_not(feed)).await {
        match told {
            Some(Told::Changes(changes)) => heard.extend_from_slice(&changes),
            Some(Told::Missed) => panic!("a listener that keeps up misses nothing"),
            None => return None,
        }
    }
    Some(heard)
}

/// What is told at once, without waiting for it; none where nothing is.
async fn now_or_not(feed: &mut Changes) -> Option<Option<Told>> {
    std::future::poll_fn(|cx| match std::pin::pin!(feed.next()).poll(cx) {
        Poll::Ready(told) => Poll::Ready(Some(told)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

fn told(bench: &Bench, feed: &mut Changes) -> Vec<Change> {
    bench.block_on(told_so_far(feed)).expect("the engine runs")
}

/// The changes' kinds with the states before and after.
fn steps(changes: &[Change]) -> Vec<(ChangeKind, Option<View>, View)> {
    changes.iter().map(|change| (change.kind, change.from, change.to)).collect()
}

fn kinds(changes: &[Change]) -> Vec<ChangeKind> {
    changes.iter().map(|change| change.kind).collect()
}

fn cancel(event: EventId) -> OpKind {
    OpKind::Admin(AdminOp::Cancel { event, queue: None, reason: None })
}

fn in_seconds(seconds: u32) -> Due {
    Due::In(seconds.try_into().expect("in bounds"))
}

pub fn a_life_is_told_step_by_step(bench: &Bench) {
    let queue = bench.queue("mail");
    let mut feed = bench.engine.changes();
    let event = bench.publish("mail", 1);
    bench.after_ms(250);
    let grant = bench.claim("mail");
    bench.after_ms(40);
    bench.must(&grant, fail_in("x", 5));
    bench.after(5);
    let grant = bench.claim("mail");
    bench.after_ms(70);
    bench.must(&grant, SettleStep::Ack);
    let changes = told(bench, &mut feed);
    let is_its = |change: &Change| change.queues == InQueues::One(queue) && change.event == event;
    assert!(changes.iter().all(is_its), "{changes:?}");
    assert_eq!(
        steps(&changes),
        [
            (ChangeKind::Published, None, View::Ready),
            (ChangeKind::Claimed, Some(View::Ready), View::Leased),
            (ChangeKind::Failed, Some(View::Leased), View::Retrying),
            (ChangeKind::Due, Some(View::Retrying), View::Ready),
            (ChangeKind::Claimed, Some(View::Ready), View::Leased),
            (ChangeKind::Acked, Some(View::Leased), View::Done),
        ]
    );
    let figures = |change: &Change| (change.attempts, change.wait_ms, change.run_ms, change.ending);
    assert_eq!(
        changes.iter().map(figures).collect::<Vec<_>>(),
        [
            (0, None, None, None),
            (1, Some(250), None, None),
            (1, None, Some(40), Some(Ending::Failed)),
            (1, None, None, None),
            (2, Some(0), None, None),
            (2, None, Some(70), Some(Ending::Acked)),
        ]
    );
    let holders = changes.iter().map(|change| change.consumer.as_deref());
    assert_eq!(holders.collect::<Vec<_>>(), [None, Some("w1"), Some("w1"), None, Some("w1"), Some("w1")]);
    assert_eq!(changes[5].at, bench.wall());
}

pub fn what_time_does_is_told_when_it_is_done(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_attempts = Some(2));
    let mut feed = bench.engine.changes();
    bench.publish_due("mail", 1, in_seconds(10));
    assert_eq!(steps(&told(bench, &mut feed)), [(ChangeKind::Published, None, View::Scheduled)]);
    bench.after(10);
    bench.tend();
    assert_eq!(steps(&told(bench, &mut feed)), [(ChangeKind::Due, Some(View::Scheduled), View::Ready)]);
    bench.claim("mail");
    bench.after(30);
    bench.tend();
    let changes = told(bench, &mut feed);
    assert_eq!(kinds(&changes), [ChangeKind::Claimed, ChangeKind::Expired]);
    assert_eq!((changes[1].to, changes[1].ending), (View::Ready, Some(Ending::Expired)));
    assert_eq!(changes[1].run_ms, Some(30_000));
    bench.claim("mail");
    bench.after(30);
    bench.tend();
    let changes = told(bench, &mut feed);
    assert_eq!(kinds(&changes), [ChangeKind::Claimed, ChangeKind::Dead]);
    assert_eq!((changes[1].from, changes[1].ending), (Some(View::Leased), Some(Ending::Expired)));
    assert_eq!(changes[1].dead, Some(DeadReason::ExpiredAttempts));
    let end = bench.wall().plus_ms(1_000);
    let OpKind::Append(one) = append("mail", "{}", Due::Now) else { unreachable!("it is one") };
    assert!(bench.ask(OpKind::Append(Append { expires_at: Some(end), ..one })).is_ok());
    bench.after(1);
    bench.tend();
    let changes = told(bench, &mut feed);
    assert_eq!(steps(&changes)[1], (ChangeKind::Dead, Some(View::Ready), View::Dead));
    assert_eq!((changes[1].dead, changes[1].ending), (Some(DeadReason::EventExpired), None));
}

pub fn what_operators_do_is_told(bench: &Bench) {
    bench.queue("mail");
    let mut feed = bench.engine.changes();
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fatal());
    bench.ask(redrive(event)).expect("it is dead");
    let grant = bench.claim("mail");
    bench.ask(cancel(event)).expect("it may be asked to stop");
    bench.must(&grant, release());
    let later = bench.publish_due("mail", 2, in_seconds(60)).id;
    bench.ask(cancel(later)).expect("it is nobody's");
    let unread = bench.publish("mail", 3);
    bench.must(&bench.claim("mail"), fatal());
    let discard = AdminOp::Discard { event: unread, queue: named("mail") };
    bench.ask(OpKind::Admin(discard)).expect("it is dead");
    assert_eq!(
        steps(&told(bench, &mut feed)),
        [
            (ChangeKind::Published, None, View::Ready),
            (ChangeKind::Claimed, Some(View::Ready), View::Leased),
            (ChangeKind::Dead, Some(View::Leased), View::Dead),
            (ChangeKind::Redriven, Some(View::Dead), View::Ready),
            (ChangeKind::Claimed, Some(View::Ready), View::Leased),
            (ChangeKind::CancelRequested, Some(View::Leased), View::Leased),
            (ChangeKind::Cancelled, Some(View::Leased), View::Cancelled),
            (ChangeKind::Published, None, View::Scheduled),
            (ChangeKind::Cancelled, Some(View::Scheduled), View::Cancelled),
            (ChangeKind::Published, None, View::Ready),
            (ChangeKind::Claimed, Some(View::Ready), View::Leased),
            (ChangeKind::Dead, Some(View::Leased), View::Dead),
            (ChangeKind::Discarded, Some(View::Dead), View::Dead),
        ]
    );
}

pub fn what_is_refused_or_undone_is_not_told(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.must(&grant, SettleStep::Ack);
    let mut feed = bench.engine.changes();
    assert!(bench.say(&grant, SettleStep::Ack).is_ok(), "a repeated ack changes nothing");
    assert!(bench.say(&grant, fail()).is_err());
    assert!(bench.ask(redrive(event)).is_err());
    assert!(bench.try_claim("mail").is_none());
    let undone = [append("mail", "{}", Due::Now), settle(event, token(&grant), fail())];
    assert!(bench.submit(Txn::all(undone)).iter().all(Result::is_err));
    assert_eq!(told(bench, &mut feed), []);
}

pub fn a_heartbeat_is_no_change_and_a_late_one_brings_the_lease_back(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.late_ack_grace_seconds = 60);
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let mut feed = bench.engine.changes();
    bench.must(&grant, beat(30));
    assert_eq!(told(bench, &mut feed), []);
    bench.after(31);
    bench.tend();
    bench.must(&grant, beat(30));
    bench.after(40);
    bench.tend();
    bench.must(&grant, SettleStep::Ack);
    let changes = told(bench, &mut feed);
    assert_eq!(
        steps(&changes),
        [
            (ChangeKind::Expired, Some(View::Leased), View::Ready),
            (ChangeKind::Revived, Some(View::Ready), View::Leased),
            (ChangeKind::Expired, Some(View::Leased), View::Ready),
            (ChangeKind::Acked, Some(View::Ready), View::Done),
        ]
    );
    assert_eq!((changes[3].ending, changes[3].run_ms), (Some(Ending::Acked), Some(71_000)));
}

/// Two queues on one stream.
fn pair(bench: &Bench) -> (Target, [QueueId; 2]) {
    let stream = StreamRef(Bytes::from_static(b"shared"));
    let made = ["one", "two"].map(|name| {
        let OpKind::Group(GroupOp::Create { name, settings, stream: changes, .. }) =
            create(name, QueueSettings::default())
        else {
            unreachable!("it is one")
        };
        let on = Some(Reading { stream: stream.clone(), from: From::Start });
        let _: &StreamChanges = &changes;
        bench
            .ask(OpKind::Group(GroupOp::Create { name: name.clone(), settings, on, stream: changes }))
            .expect("free");
        bench.view(&name).id
    });
    (Target::Stream(stream), made)
}

pub fn an_event_for_many_queues_is_told_once_for_all_of_them(bench: &Bench) {
    let (to, [one, two]) = pair(bench);
    let mut feed = bench.engine.changes();
    let OpKind::Append(to_all) = append("one", "{}", Due::Now) else { unreachable!("it is one") };
    bench.ask(OpKind::Append(Append { to, ..to_all.clone() })).expect("the stream is there");
    bench.ask(OpKind::Append(to_all)).expect("the queue is there");
    bench.claim("two");
    assert_eq!(super::consumers::read_as(bench, "one", "c1", 1).len(), 1);
    let changes = told(bench, &mut feed);
    let places: Vec<_> = changes.iter().map(|change| (change.kind, change.queues.as_slice())).collect();
    assert_eq!(
        places,
        [
            (ChangeKind::Published, &[one, two][..]),
            (ChangeKind::Published, &[one][..]),
            (ChangeKind::Claimed, &[two][..]),
            (ChangeKind::Claimed, &[one][..]),
        ]
    );
    assert_eq!((changes[3].to, changes[3].consumer.as_deref()), (View::Held, Some("c1")));
}

pub fn only_what_happens_from_now_on_is_told(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let (mut early, mut late) = (bench.engine.changes(), bench.engine.changes());
    drop(told(bench, &mut late));
    bench.claim("mail");
    assert_eq!(kinds(&told(bench, &mut early)), [ChangeKind::Claimed]);
    assert_eq!(kinds(&told(bench, &mut late)), [ChangeKind::Claimed], "each listener hears all");
    assert_eq!(told(bench, &mut bench.engine.changes()), []);
}

pub fn a_slow_listener_learns_that_it_missed_some(bench: &Bench) {
    bench.queue("mail");
    let mut feed = bench.engine.changes();
    bench.publish_some("mail", 600);
    let first = bench.block_on(feed.next());
    assert_eq!(first, Some(Told::Missed), "it goes on with what is kept");
    let rest = told(bench, &mut feed);
    assert!((1..600).contains(&rest.len()), "{}", rest.len());
    bench.claim("mail");
    assert_eq!(kinds(&told(bench, &mut feed)), [ChangeKind::Claimed]);
}

pub fn the_feed_ends_when_the_engine_is_closed(bench: &Bench) {
    let mut feed = bench.engine.changes();
    bench.block_on(bench.engine.close());
    assert_eq!(bench.block_on(feed.next()), None);
    assert_eq!(bench.block_on(bench.engine.changes().next()), None, "and so does one that begins later");
}
