//! Proofs: tokens, fences, an operator's right.
//!
//! Lives here: what a proof is worth where it leads elsewhere or nowhere. Not here: what a right one
//! may do (`settling.rs`).

use naven_api::{EventId, LeaseToken, QueueId};
use naven_core::View;

use super::bench::{Bench, beat, fail, fatal, json, named, release, token};
use crate::reply::{OpError, OpReply, Refused, Settled};
use crate::txn::{OpKind, Proof, Settle, SettleStep};

const LOST: OpError = OpError::Refused(Refused::Lost);
const UNKNOWN: OpError = OpError::Refused(Refused::EventNotFound);

fn calls() -> [SettleStep; 5] {
    [beat(30), SettleStep::Ack, fail(), fatal(), release()]
}

fn say(bench: &Bench, event: EventId, proof: Proof, step: SettleStep) -> Result<Settled, OpError> {
    match bench.ask(OpKind::Settle(Settle { event, proof, step }))? {
        OpReply::Settled(settled) => Ok(settled),
        other => panic!("settling: {other:?}"),
    }
}

pub fn a_token_is_worth_nothing_for_another_event(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    bench.publish("mail", 2);
    let grants = bench.claim_up_to("mail", 2);
    for step in calls() {
        assert_eq!(bench.say_under(grants[0].event, token(&grants[1]), step), Err(LOST));
    }
    assert_eq!(bench.must(&grants[0], SettleStep::Ack).state, View::Done);
}

pub fn a_token_is_worth_nothing_in_another_queue(bench: &Bench) {
    bench.queue("a");
    bench.queue("b");
    bench.publish("a", 1);
    bench.publish("b", 1);
    let (a, b) = (bench.claim("a"), bench.claim("b"));
    assert_eq!(bench.say_under(a.event, token(&b), SettleStep::Ack), Err(LOST));
    assert_eq!(bench.say_under(b.event, token(&a), SettleStep::Ack), Err(LOST));
}

pub fn a_token_of_a_queue_that_is_not_the_caller_s_is_worth_nothing(bench: &Bench) {
    let (mail, other) = (bench.queue("mail"), bench.queue("other"));
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let among = |queues: &[QueueId], step| {
        let proof = Proof::TokenAmong { token: token(&grant).clone(), queues: queues.to_vec() };
        say(bench, grant.event, proof, step)
    };
    for step in calls() {
        assert_eq!(among(&[], step.clone()), Err(LOST));
        assert_eq!(among(&[other], step), Err(LOST));
    }
    assert_eq!(among(&[other, mail], SettleStep::Ack).map(|settled| settled.state), Ok(View::Done));
    assert_eq!(among(&[other], SettleStep::Ack), Err(LOST), "nor may it learn that it is done");
}

pub fn a_string_that_is_no_token_is_lost_and_not_an_error_of_its_own(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let good = token(&grant).reveal();
    let flipped = if good.starts_with('A') { "B" } else { "A" };
    for bad in ["", "no token", "é", &"A".repeat(43), &good[1..], &format!("{flipped}{}", &good[1..])] {
        for step in calls() {
            assert_eq!(bench.say_under(grant.event, &LeaseToken::new(bad), step), Err(LOST), "{bad}");
        }
    }
}

pub fn what_was_never_held_has_no_holder(bench: &Bench) {
    let queue = bench.queue("mail");
    let event = bench.publish("mail", 1);
    bench.queue("other");
    bench.publish("other", 1);
    let other = bench.claim("other");
    assert_eq!(bench.say_under(event, token(&other), SettleStep::Ack), Err(LOST));
    let proof = Proof::Fence { queue, round: 0, fence: 0 };
    assert_eq!(say(bench, event, proof, SettleStep::Ack), Err(LOST), "nor by a fence of 0");
}

pub fn an_event_is_known_by_all_128_bits_of_its_id(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let bits = grant.event.bits();
    for flip in [1, 1 << 56, 1 << 79, 1 << 80, 1 << 127] {
        let other = EventId::from_bits(bits ^ flip);
        assert_eq!(bench.say_under(other, token(&grant), SettleStep::Ack), Err(UNKNOWN), "{flip:#x}");
        let read = crate::read::Read::Event { event: other, payload: false };
        assert_eq!(bench.read(read), Err(UNKNOWN));
    }
}

pub fn the_engine_s_own_fence_proves_the_present_hold_only(bench: &Bench) {
    let queue = bench.queue("mail");
    let elsewhere = bench.queue("other");
    bench.publish("mail", 1);
    let first = bench.claim("mail");
    bench.after(30);
    let second = bench.claim("mail");
    let by =
        |queue, round, fence| say(bench, second.event, Proof::Fence { queue, round, fence }, SettleStep::Ack);
    assert_eq!(by(queue, 0, first.fence), Err(LOST));
    assert_eq!(by(queue, 1, second.fence), Err(LOST));
    assert_eq!(by(queue, 0, second.fence + 1), Err(LOST));
    assert_eq!(by(elsewhere, 0, second.fence), Err(LOST));
    assert_eq!(by(queue, 0, second.fence).map(|settled| settled.state), Ok(View::Done));
}

pub fn an_operator_may_settle_what_anybody_holds(bench: &Bench) {
    bench.queue("mail");
    bench.queue("other");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let by = |queue: Option<&str>| {
        say(bench, grant.event, Proof::Operator { queue: queue.map(named) }, SettleStep::Ack)
    };
    assert_eq!(by(Some("nowhere")), Err(Refused::QueueNotFound.into()));
    assert_eq!(by(Some("other")), Err(UNKNOWN), "it is not in that queue");
    assert_eq!(by(Some("mail")).map(|settled| settled.state), Ok(View::Done));
    assert!(bench.must(&grant, SettleStep::Ack).replayed, "to its holder it is acked");
}

pub fn tokens_differ_from_hold_to_hold_and_are_never_shown(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let grant = bench.claim("mail");
        seen.push(token(&grant).reveal().to_owned());
        assert!(!format!("{grant:?}").contains(&seen[seen.len() - 1]), "not even in a debug text");
        bench.must(&grant, release());
    }
    assert_eq!(bench.claim("mail").body, json("{\"n\":1}"));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3);
}
