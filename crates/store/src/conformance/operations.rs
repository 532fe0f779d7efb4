//! Many dead letters at once: found by their errors, redriven and forgotten by operations.
//!
//! Lives here: filters, groups, discards, operations. Not here: one dead letter's way back
//! (`dead_letters.rs`).

use naven_api::EventId;
use naven_api::limits::{OPERATION_CHUNK_ROWS, OPERATION_SECONDS};
use naven_core::{DeadReason, View};

use super::bench::{Bench, fail_in, fatal, named, redrive};
use crate::engine::Budget;
use crate::read::{DeadFilter, DeadGroups, DeadRead, Matched, Page, Read};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{AdminOp, Bulk, OpKind, OperationOp, OperationState, OperationView, SettleStep, Txn};

fn die(bench: &Bench, n: u32) -> EventId {
    let event = bench.publish("mail", n);
    bench.must(&bench.claim("mail"), fatal());
    event
}

fn die_of(bench: &Bench, error: &str) -> EventId {
    let event = bench.publish("mail", 0);
    let error = Some(naven_api::ErrorText::new(error));
    bench.must(&bench.claim("mail"), SettleStep::Fatal { error });
    event
}

fn discard(event: EventId) -> OpKind {
    OpKind::Admin(AdminOp::Discard { event, queue: named("mail") })
}

fn start(bulk: Bulk) -> OpKind {
    OpKind::Operation(OperationOp::Start { queue: named("mail"), bulk })
}

fn all_back() -> Bulk {
    Bulk::Redrive { filter: DeadFilter::default(), reset_attempts: true }
}

fn begun(bench: &Bench, bulk: Bulk) -> OperationView {
    match bench.ask(start(bulk)) {
        Ok(OpReply::Operation(view)) => *view,
        other => panic!("not begun: {other:?}"),
    }
}

fn shown(bench: &Bench, operation: &OperationView) -> Result<OperationView, OpError> {
    match bench.read(Read::Operation(operation.id))? {
        Page::Operation(view) => Ok(*view),
        other => panic!("no operation: {other:?}"),
    }
}

fn tend_some(bench: &Bench, rows: usize) -> bool {
    bench.block_on(bench.engine.tend(Budget { rows })).expect("it tends").more
}

fn dead(bench: &Bench) -> u64 {
    bench.view("mail").counts.of(View::Dead)
}

fn ready(bench: &Bench) -> u64 {
    bench.view("mail").counts.of(View::Ready)
}

fn groups(bench: &Bench, limit: u32) -> DeadGroups {
    let read = DeadRead::Groups { queue: named("mail"), filter: DeadFilter::default(), limit };
    let Ok(Page::DeadGroups(groups)) = bench.read(Read::Dead(read)) else { panic!("no groups") };
    groups
}

fn listed(bench: &Bench, filter: &DeadFilter, limit: u32) -> Vec<EventId> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let (queue, filter) = (named("mail"), filter.clone());
        let read = DeadRead::List { queue, filter, cursor, limit, payload: false };
        let Ok(Page::DeadLetters(items, next)) = bench.read(Read::Dead(read)) else { panic!("no list") };
        ids.extend(items.iter().map(|item| item.id));
        cursor = next;
        if cursor.is_none() {
            return ids;
        }
    }
}

pub fn errors_that_differ_in_numbers_are_one_group(bench: &Bench) {
    bench.queue("mail");
    let first = bench.wall();
    die_of(bench, "no user 1");
    bench.after(5);
    let last = die_of(bench, "no user 22");
    die_of(bench, "timeout");
    let found = groups(bench, 9);
    assert_eq!((found.groups.len(), found.left_out, found.truncated), (2, 0, false));
    let group = &found.groups[0];
    assert_eq!((group.count, group.reason, group.event), (2, DeadReason::Fatal, last));
    assert_eq!((group.first_died, group.last_died), (first, bench.wall()));
    assert_eq!(group.example.as_deref(), Some("no user 22"));
    let one = groups(bench, 1);
    assert_eq!((one.groups.len(), one.left_out), (1, 1));
    let by_print = DeadFilter { error: Some(group.fingerprint.to_string()), ..DeadFilter::default() };
    assert_eq!(listed(bench, &by_print, 9).len(), 2, "a fingerprint finds its group");
}

pub fn filters_let_in_what_they_say(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_attempts = Some(1));
    let first = die_of(bench, "no user 1");
    bench.after(10);
    let later = bench.wall();
    let used_up = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fail_in("no user 2", 1));
    let last = die_of(bench, "timeout");
    let all = DeadFilter::default();
    for (filter, expected) in [
        (all.clone(), vec![last, used_up, first]),
        (DeadFilter { reason: Some(DeadReason::AttemptsUsedUp), ..all.clone() }, vec![used_up]),
        (DeadFilter { error: Some("no user".to_owned()), ..all.clone() }, vec![used_up, first]),
        (DeadFilter { error: Some("nothing".to_owned()), ..all.clone() }, vec![]),
        (DeadFilter { died_after: Some(later), ..all.clone() }, vec![last, used_up]),
        (DeadFilter { died_before: Some(later), ..all.clone() }, vec![first]),
    ] {
        for limit in [1, 2, 9] {
            assert_eq!(listed(bench, &filter, limit), expected, "{filter:?} in pages of {limit}");
        }
        let read = DeadRead::Count { queue: named("mail"), filter };
        let matched = Matched { count: expected.len() as u64, truncated: false };
        assert_eq!(bench.read(Read::Dead(read)), Ok(Page::Matched(matched)));
    }
    let among = DeadRead::Among { queue: named("mail"), events: vec![first, first, EventId::from_bits(1)] };
    let one = Matched { count: 1, truncated: false };
    assert_eq!(bench.read(Read::Dead(among)), Ok(Page::Matched(one)), "each counts once");
}

pub fn a_discarded_dead_letter_is_gone_and_its_token_lost(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    assert_eq!(bench.ask(discard(grant.event)), Err(Refused::WrongState.into()), "it is held");
    bench.must(&grant, fatal());
    assert_eq!(bench.ask(discard(grant.event)), Ok(OpReply::Done));
    assert_eq!(dead(bench), 0);
    assert!(bench.dead_letters(&named("mail"), 9).is_empty());
    for step in [fatal(), SettleStep::Ack, super::bench::beat(30)] {
        assert_eq!(bench.say(&grant, step), Err(Refused::Lost.into()));
    }
    assert_eq!(bench.ask(discard(grant.event)), Err(Refused::WrongState.into()), "it is gone");
    assert_eq!(bench.ask(redrive(grant.event)), Err(Refused::WrongState.into()), "for good");
    let read = Read::Event { event: grant.event, payload: true };
    let Ok(Page::Event(view)) = bench.read(read) else { panic!("its outcome is remembered") };
    assert_eq!(view.body, None, "its content is released");
    bench.after(2 * 86_400);
    bench.tend();
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::EventNotFound.into()), "after its time");
}

pub fn an_operation_means_what_is_dead_when_it_begins(bench: &Bench) {
    bench.queue("mail");
    let died: Vec<_> = (0..5).map(|n| die(bench, n)).collect();
    let operation = begun(bench, all_back());
    assert_eq!((operation.state, operation.matched), (OperationState::Pending, Some(5)));
    assert!(tend_some(bench, 2), "there is more to do");
    let under_way = shown(bench, &operation).expect("it is there");
    assert_eq!((under_way.state, under_way.done), (OperationState::Running, 2));
    assert_eq!((ready(bench), dead(bench)), (2, 3));
    // The first comes back and dies again at the same instant, one is taken away, one dies anew.
    assert_eq!(bench.claim("mail").event, died[0]);
    let bury = AdminOp::Bury { event: died[0], queue: None, reason: DeadReason::Damaged };
    bench.ask(OpKind::Admin(bury)).expect("it is held");
    bench.ask(discard(died[3])).expect("it is dead");
    bench.ask(redrive(died[4])).expect("it is dead");
    for event in [died[1], died[4]] {
        let grant = bench.claim("mail");
        assert_eq!(grant.event, event);
        bench.must(&grant, fatal());
    }
    bench.after(1);
    let newly = die(bench, 9);
    while tend_some(bench, 2) {}
    let over = shown(bench, &operation).expect("it is there");
    assert_eq!((over.state, over.done, over.failed), (OperationState::Done, 3, 0));
    let mut left: Vec<_> = bench.dead_letters(&named("mail"), 9).iter().map(|letter| letter.id).collect();
    left.sort();
    let mut expected = vec![died[0], died[1], died[4], newly];
    expected.sort();
    assert_eq!(left, expected, "what died meanwhile stays dead");
    assert_eq!((ready(bench), bench.claim("mail").event), (1, died[2]));
}

pub fn an_operation_goes_on_in_bounded_steps(bench: &Bench) {
    bench.queue("mail");
    let letters = OPERATION_CHUNK_ROWS + 7;
    for _ in 0..letters.div_ceil(100) {
        bench.publish_some("mail", 100);
    }
    for _ in 0..letters {
        bench.must(&bench.claim("mail"), fatal());
    }
    let filter = DeadFilter { reason: Some(DeadReason::Fatal), ..DeadFilter::default() };
    let operation = begun(bench, Bulk::Discard { filter });
    assert_eq!(operation.matched, None, "how many it means is known at its end");
    tend_some(bench, 100_000);
    assert_eq!(dead(bench), 7);
    assert_eq!(shown(bench, &operation).map(|view| view.done), Ok(u64::from(OPERATION_CHUNK_ROWS)));
    tend_some(bench, 100_000);
    let over = shown(bench, &operation).expect("it is there");
    assert_eq!((over.state, over.matched), (OperationState::Done, Some(u64::from(letters))));
    assert_eq!(dead(bench), 0);
}

pub fn one_of_a_kind_runs_in_a_queue_and_the_oldest_first(bench: &Bench) {
    bench.queue("mail");
    die(bench, 1);
    die(bench, 2);
    let first = begun(bench, all_back());
    assert_eq!(bench.ask(start(all_back())), Err(Refused::OperationRunning.into()));
    bench.after(1);
    let second = begun(bench, Bulk::Discard { filter: DeadFilter::default() });
    assert!(tend_some(bench, 1));
    let state = |view| shown(bench, view).expect("it is there").state;
    assert_eq!((state(&first), state(&second)), (OperationState::Running, OperationState::Pending));
    while tend_some(bench, 1) {}
    let view = shown(bench, &second).expect("it is there");
    assert_eq!((view.state, view.done, view.failed), (OperationState::Done, 0, 0), "none was left");
    begun(bench, all_back());
    let Ok(Page::Operations(listed, None)) = bench.read(Read::Operations { cursor: None, limit: 9 }) else {
        panic!("a list")
    };
    assert_eq!(listed.iter().map(|view| view.id).skip(1).collect::<Vec<_>>(), [second.id, first.id]);
}

pub fn operations_are_listed_newest_first_whatever_the_clock_does(bench: &Bench) {
    bench.queue("mail");
    let mut begun_so_far = Vec::new();
    for step_ms in [0, 0, -5_000, 1, 0, 0, 0, 0] {
        bench.clock.step_wall_ms(step_ms);
        begun_so_far.insert(0, begun(bench, all_back()).id);
        bench.tend();
    }
    let Ok(Page::Operations(listed, None)) = bench.read(Read::Operations { cursor: None, limit: 9 }) else {
        panic!("a list")
    };
    assert_eq!(listed.iter().map(|view| view.id).collect::<Vec<_>>(), begun_so_far);
}

pub fn a_cancelled_operation_stays_where_it_is(bench: &Bench) {
    bench.queue("mail");
    for n in 0..3 {
        die(bench, n);
    }
    let operation = begun(bench, all_back());
    tend_some(bench, 1);
    let cancel = || bench.ask(OpKind::Operation(OperationOp::Cancel { operation: operation.id }));
    let Ok(OpReply::Operation(view)) = cancel() else { panic!("it runs") };
    assert_eq!((view.state, view.done, view.matched), (OperationState::Cancelled, 1, Some(3)));
    bench.tend();
    assert_eq!((ready(bench), dead(bench)), (1, 2));
    assert!(cancel().is_ok(), "once more does no harm");
    let other = begun(bench, all_back());
    bench.tend();
    let cancel = OperationOp::Cancel { operation: other.id };
    assert_eq!(bench.ask(OpKind::Operation(cancel)), Err(Refused::WrongState.into()), "it is done");
    let none = OperationOp::Cancel { operation: naven_api::OperationId::from_bits(1) };
    assert_eq!(bench.ask(OpKind::Operation(none)), Err(Refused::OperationNotFound.into()));
}

pub fn an_operation_ends_with_its_queue(bench: &Bench) {
    bench.queue("mail");
    die(bench, 1);
    let operation = begun(bench, all_back());
    bench.ask(super::bench::delete("mail", true)).expect("it is forced");
    bench.tend();
    let view = shown(bench, &operation).expect("it is there");
    assert_eq!((view.state, view.done, view.queue_name.as_str()), (OperationState::Failed, 0, "mail"));
    assert!(view.error.is_some());
    assert_eq!(bench.ask(start(all_back())), Err(Refused::QueueNotFound.into()));
}

pub fn an_operation_that_is_over_is_shown_for_its_time(bench: &Bench) {
    bench.queue("mail");
    let operation = begun(bench, all_back());
    bench.tend();
    bench.after(i64::from(OPERATION_SECONDS) - 1);
    bench.tend();
    assert!(shown(bench, &operation).is_ok());
    bench.after(1);
    bench.tend();
    assert_eq!(shown(bench, &operation), Err(Refused::OperationNotFound.into()));
}

pub fn an_operation_that_is_undone_never_began(bench: &Bench) {
    bench.queue("mail");
    let event = die(bench, 1);
    let answers = bench.submit(Txn::all([start(all_back()), redrive(EventId::from_bits(1))]));
    assert!(answers.iter().all(Result::is_err));
    bench.tend();
    assert_eq!(bench.delivery(event).state, View::Dead);
    begun(bench, all_back());
}
