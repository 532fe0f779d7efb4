//! Publishing and claiming: what comes, in which order, and what an empty claim says.
//!
//! Lives here: events that are due. Not here: scheduled ones (`scheduling.rs`), retries (`retries.rs`).

use std::time::Duration;

use naven_core::View;

use super::bench::{Bench, append, claim, json, named};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{Append, ClaimHold, Due, OpKind, Target, Txn};

fn events(grants: &[crate::reply::Grant]) -> Vec<naven_api::EventId> {
    grants.iter().map(|grant| grant.event).collect()
}

pub fn a_published_event_comes_back_as_it_was_sent(bench: &Bench) {
    let queue = bench.queue("mail");
    let headers = vec![("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())];
    let body = json("{ \"x\":1e3, \"x\":\"\\ud800\" }");
    let (to, max_attempts) = (Target::Queue(named("mail")), Some(4));
    let append = Append {
        to,
        body: body.clone(),
        due: Due::Now,
        headers: headers.clone(),
        max_attempts,
        dedupe: None,
        expires_at: None,
        trace: None,
        entry: None,
    };
    let Ok(OpReply::Event(sent)) = bench.ask(OpKind::Append(append)) else { panic!("not published") };
    assert_eq!((sent.stream.as_str(), &sent.headers, &sent.body), ("mail", &headers, &None));
    assert_eq!((sent.created_at, sent.scheduled_at), (bench.wall(), bench.wall()));
    assert_eq!(sent.id.published_ms(), bench.wall().as_ms());
    let delivery = &sent.deliveries[0];
    assert_eq!((delivery.state, delivery.queue_id, delivery.max_attempts), (View::Ready, queue, Some(4)));
    assert_eq!(delivery.next_attempt_at, Some(bench.wall()));

    let claimed = bench.claimed(claim("mail", 1, 30));
    assert_eq!((claimed.queue, claimed.due_in), (queue, None));
    let grant = &claimed.leases[0];
    assert_eq!((grant.event, grant.queue, grant.queue_name.as_str()), (sent.id, queue, "mail"));
    assert_eq!((&grant.body, &grant.headers), (&body, &headers));
    assert_eq!((grant.round, grant.fence, grant.attempts, grant.expiries), (0, 1, 1, 0));
    assert_eq!(
        (grant.scheduled_at, grant.lease_expires_at),
        (bench.wall(), Some(bench.wall().plus_ms(30_000)))
    );
    assert_eq!(bench.event(sent.id).body, Some(body));
}

pub fn events_come_in_the_order_in_which_they_were_published(bench: &Bench) {
    bench.queue("mail");
    let sent: Vec<_> = (0..5)
        .map(|n| {
            bench.after_ms(i64::from(n % 2));
            bench.publish("mail", n)
        })
        .collect();
    let mut got = events(&bench.claim_up_to("mail", 2));
    got.extend(events(&bench.claim_up_to("mail", 100)));
    assert_eq!(got, sent);
}

pub fn what_somebody_holds_nobody_else_gets(bench: &Bench) {
    bench.queue("mail");
    let sent = bench.publish("mail", 1);
    assert_eq!(bench.claim("mail").event, sent);
    assert_eq!(bench.try_claim("mail"), None);
    bench.after_ms(29_999);
    assert_eq!(bench.try_claim("mail"), None);
}

pub fn queues_share_nothing(bench: &Bench) {
    bench.queue("a");
    bench.queue("b");
    let sent = bench.publish("a", 1);
    assert_eq!(bench.try_claim("b"), None);
    assert_eq!(bench.claim("a").event, sent);
}

pub fn an_earlier_due_time_goes_first_and_equal_ones_by_publish_order(bench: &Bench) {
    bench.queue("mail");
    let first = bench.publish("mail", 1);
    let second = bench.publish("mail", 2);
    let both = bench.claim_up_to("mail", 2);
    bench.after(1);
    let third = bench.publish("mail", 3);
    // Given back now: due like the third, yet published before it.
    bench.must(&both[1], super::bench::release());
    bench.must(&both[0], super::bench::release());
    assert_eq!(events(&bench.claim_up_to("mail", 5)), [first, second, third]);
}

pub fn an_empty_claim_says_how_long_until_something_may_be_due(bench: &Bench) {
    bench.queue("mail");
    let due_in = || bench.claimed(claim("mail", 1, 30)).due_in;
    assert_eq!(due_in(), None, "nothing is there at all");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    assert_eq!(due_in(), Some(Duration::from_secs(30)), "the lease may run out");
    bench.publish_due("mail", 2, Due::In(20.try_into().expect("in bounds")));
    assert_eq!(due_in(), Some(Duration::from_secs(20)), "the scheduled one comes before that");
    bench.after_ms(500);
    assert_eq!(due_in(), Some(Duration::from_millis(19_500)));
    bench.must(&grant, super::bench::fail_in("later", 7));
    assert_eq!(due_in(), Some(Duration::from_secs(7)), "the retry comes before both");
}

pub fn a_queue_that_is_not_there_is_said_to_be_missing(bench: &Bench) {
    let missing: OpError = Refused::QueueNotFound.into();
    assert_eq!(bench.ask(append("nowhere", "{}", Due::Now)), Err(missing.clone()));
    assert_eq!(bench.ask(OpKind::Claim(claim("nowhere", 1, 30))), Err(missing));
}

pub fn a_claim_that_names_no_lease_gets_the_queue_s(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.default_lease = 9.try_into().expect("in bounds"));
    bench.publish("mail", 1);
    let grants =
        bench.claimed(crate::txn::Claim { hold: ClaimHold::Lease(None), ..claim("mail", 1, 1) }).leases;
    assert_eq!(grants[0].lease_expires_at, Some(bench.wall().plus_ms(9_000)));
    let beaten = bench.must(&grants[0], crate::txn::SettleStep::Extend(None));
    assert_eq!(beaten.lease_expires_at, Some(bench.wall().plus_ms(9_000)));
}

pub fn many_transactions_at_once_are_answered_in_their_order(bench: &Bench) {
    bench.queue("mail");
    let one = |n: u32| Txn::one(append("mail", &n.to_string(), Due::Now));
    let mut txns: Vec<Txn> = (0..20).map(one).collect();
    txns.push(Txn::one(OpKind::Claim(claim("mail", 100, 30))));
    let mut replies = bench.block_on(bench.engine.submit(txns));
    let last = replies.pop().expect("an answer for each");
    assert!(replies.windows(2).all(|pair| pair[0].version < pair[1].version), "one point of the order each");
    let sent: Vec<_> = replies
        .into_iter()
        .map(|reply| match &reply.ops[0] {
            Ok(OpReply::Event(view)) => view.id,
            other => panic!("not published: {other:?}"),
        })
        .collect();
    let Ok(OpReply::Claimed(claimed)) = &last.ops[0] else { panic!("not claimed: {last:?}") };
    assert_eq!(events(&claimed.leases), sent, "the claim sees all that came before it");
}
