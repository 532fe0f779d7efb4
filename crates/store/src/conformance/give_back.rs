//! Claims whose answer reaches nobody.
//!
//! Lives here: the give-back and what a dropped future leaves. Not here: releases (`settling.rs`).

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use naven_core::{Ending, View};

use super::bench::{Bench, beat, claim, fail, release};
use crate::reply::Refused;
use crate::txn::{OpKind, SettleStep, Txn};

/// How often a claim asks again for what a dropped one may still hold. Each is a round trip through
/// the engine, which by then has work of the dropped one behind it.
const TRIES: usize = 10_000;

pub fn a_give_back_counts_no_attempt_and_keeps_the_due_time(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    let due = bench.wall();
    let grant = bench.claim("mail");
    bench.after(10);
    let later = bench.publish("mail", 2);
    let given_back = bench.must(&grant, SettleStep::GiveBack);
    assert_eq!((given_back.state, given_back.next_at), (View::Ready, None));
    let delivery = bench.delivery(event);
    assert_eq!((delivery.state, delivery.attempts, delivery.fence), (View::Ready, 0, 1));
    assert_eq!(delivery.next_attempt_at, Some(due));
    assert_eq!(delivery.log[0].ended.map(|(_, ending)| ending), Some(Ending::GivenBack));
    let again = bench.claim_up_to("mail", 2);
    assert_eq!((again[0].event, again[1].event), (event, later), "it keeps its turn");
    assert_eq!((again[0].attempts, again[0].fence), (1, 2));
}

pub fn what_was_given_back_is_lost_to_the_token(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.must(&grant, SettleStep::GiveBack);
    for step in [beat(30), SettleStep::Ack, fail(), release(), SettleStep::GiveBack] {
        assert_eq!(bench.say(&grant, step), Err(Refused::Lost.into()));
    }
}

pub fn a_claim_dropped_before_it_ran_takes_nothing(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    drop(bench.engine.submit(vec![Txn::one(OpKind::Claim(claim("mail", 1, 30)))]));
    let grant = wait_for(bench);
    assert_eq!(grant.attempts, 1);
}

pub fn a_claim_dropped_on_its_way_holds_nothing_and_counts_nothing(bench: &Bench) {
    bench.queue("mail");
    let event = bench.publish("mail", 1);
    for _ in 0..20 {
        let mut sent = bench.engine.submit(vec![Txn::one(OpKind::Claim(claim("mail", 1, 30)))]);
        let mut polled = pin!(&mut sent);
        let answer = polled.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(mut replies) = answer {
            // It was answered at once, so it was not dropped on its way: the lease is ours.
            let Ok(crate::reply::OpReply::Claimed(mut claimed)) = replies.remove(0).ops.remove(0) else {
                panic!("claimed")
            };
            bench.must(&claimed.leases.remove(0), SettleStep::GiveBack);
            continue;
        }
        drop(sent);
        let grant = wait_for(bench);
        assert_eq!((grant.event, grant.attempts, grant.expiries), (event, 1, 0));
        bench.must(&grant, SettleStep::GiveBack);
    }
    let delivery = bench.delivery(event);
    let ended = |past: &naven_core::Past| past.ended.map(|(_, ending)| ending);
    assert!(delivery.log.iter().all(|past| ended(past) == Some(Ending::GivenBack)), "{:?}", delivery.log);
}

pub fn other_work_dropped_on_its_way_is_done_wholly_or_not_at_all(bench: &Bench) {
    bench.queue("mail");
    for round in 0..20 {
        let ops = (0..3).map(|n| super::bench::append("mail", &n.to_string(), crate::txn::Due::Now));
        let mut sent = bench.engine.submit(vec![Txn::all(ops)]);
        let answer = pin!(&mut sent).as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop((answer, sent));
        let count = bench.view("mail").counts.of(View::Ready);
        assert_eq!(count % 3, 0, "round {round}: {count} events of transactions of three");
    }
}

/// Claims until the one event of the queue comes.
fn wait_for(bench: &Bench) -> crate::reply::Grant {
    (0..TRIES).find_map(|_| bench.try_claim("mail")).expect("what a dropped claim took comes back")
}
