//! The deletion of queues, and the making of another under the same name.
//!
//! Lives here: what is left of a deleted queue. Not here: dead letters of a live one
//! (`dead_letters.rs`).

use naven_core::{DeadReason, View};

use super::bench::{
    Bench, append, beat, claim, create, delete, fail, fail_in, fatal, named, redrive, release,
};
use crate::queue::{QueueRef, QueueSettings};
use crate::read::{Page, Read};
use crate::reply::{OpReply, Refused};
use crate::txn::{Due, OpKind, SettleStep};

pub fn a_name_belongs_to_one_queue(bench: &Bench) {
    bench.queue("mail");
    let again = bench.ask(create("mail", QueueSettings::default()));
    assert_eq!(again, Err(Refused::NameTaken.into()));
}

pub fn a_queue_with_unfinished_events_is_deleted_by_force_only(bench: &Bench) {
    bench.queue("mail");
    let refused = Err(Refused::NotEmpty.into());
    bench.publish("mail", 1);
    assert_eq!(bench.ask(delete("mail", false)), refused, "ready");
    let grant = bench.claim("mail");
    assert_eq!(bench.ask(delete("mail", false)), refused, "leased");
    bench.must(&grant, fail_in("x", 5));
    assert_eq!(bench.ask(delete("mail", false)), refused, "retrying");
    bench.after(5);
    bench.must(&bench.claim("mail"), fatal());
    assert_eq!(bench.ask(delete("mail", false)), refused, "dead");
    assert_eq!(bench.ask(delete("mail", true)), Ok(OpReply::Done));
}

pub fn a_queue_of_done_events_is_deleted_without_force(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), SettleStep::Ack);
    assert_eq!(bench.ask(delete("mail", false)), Ok(OpReply::Done));
    bench.queue("mail");
    bench.publish_due("mail", 1, Due::In(9.try_into().expect("in bounds")));
    assert_eq!(bench.ask(delete("mail", false)), Err(Refused::NotEmpty.into()), "scheduled counts");
}

pub fn a_deleted_queue_is_found_no_more(bench: &Bench) {
    let id = bench.queue("mail");
    bench.ask(delete("mail", true)).expect("it is there");
    let missing = || Refused::QueueNotFound.into();
    for queue in [named("mail"), QueueRef::Id(id)] {
        let claim = OpKind::Claim(crate::txn::Claim { queue: queue.clone(), ..claim("mail", 1, 30) });
        assert_eq!(bench.ask(claim), Err(missing()));
        assert_eq!(bench.read(Read::Queue(queue)), Err(missing()));
    }
    assert_eq!(bench.ask(append("mail", "{}", Due::Now)), Err(missing()));
    assert_eq!(bench.ask(delete("mail", true)), Err(missing()));
    let all = Read::Queues { name_prefix: String::new(), cursor: None, limit: 10 };
    assert!(matches!(bench.read(all), Ok(Page::Queues(items, _)) if items.is_empty()));
}

pub fn what_a_deleted_queue_had_not_finished_is_its_dead_letters(bench: &Bench) {
    let id = bench.queue("mail");
    let done = bench.publish("mail", 0);
    bench.must(&bench.claim("mail"), SettleStep::Ack);
    let dead = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fatal());
    let leased = bench.publish("mail", 2);
    let grant = bench.claim("mail");
    let retrying = bench.publish("mail", 3);
    bench.must(&bench.claim("mail"), fail_in("x", 50));
    let ready = bench.publish("mail", 4);
    let scheduled = bench.publish_due("mail", 5, Due::In(50.try_into().expect("in bounds"))).id;
    bench.after(1);
    let closed = bench.wall();
    bench.ask(delete("mail", true)).expect("it is there");
    bench.after(100);
    let letters = bench.dead_letters(&QueueRef::Id(id), 2);
    let ids: Vec<_> = letters.iter().map(|letter| letter.id).collect();
    assert_eq!(ids, [scheduled, ready, retrying, leased, dead], "newest death first, then newest arrival");
    for letter in &letters[..4] {
        let delivery = &letter.deliveries[0];
        assert_eq!((delivery.state, delivery.dead), (View::Dead, Some(DeadReason::QueueDeleted)));
        assert_eq!((delivery.settled_at, delivery.next_attempt_at), (Some(closed), None));
        assert_eq!((&delivery.consumer, delivery.lease_expires_at), (&None, None));
        assert!(letter.body.is_some(), "the payload is kept");
        assert_eq!(bench.event(letter.id), *letter);
    }
    assert_eq!(letters[4].deliveries[0].dead, Some(DeadReason::Fatal), "who died before died of that");
    assert_eq!(bench.delivery(done).state, View::Done);
    for step in [beat(30), SettleStep::Ack, fail(), fatal(), release(), SettleStep::GiveBack] {
        assert_eq!(bench.say(&grant, step), Err(Refused::Lost.into()), "its tokens are worth nothing");
    }
    assert_eq!(bench.ask(redrive(ready)), Err(Refused::WrongState.into()));
    assert_eq!(bench.ask(redrive(dead)), Err(Refused::WrongState.into()));
}

pub fn nothing_becomes_due_in_a_deleted_queue(bench: &Bench) {
    bench.queue("mail");
    bench.publish_due("mail", 1, Due::In(5.try_into().expect("in bounds")));
    bench.publish_some("mail", 2);
    let grants = bench.claim_up_to("mail", 2);
    bench.must(&grants[0], fail_in("x", 5));
    bench.ask(delete("mail", true)).expect("it is there");
    let before = bench.event(grants[1].event);
    bench.after(60);
    assert_eq!(bench.tend().rows, 0);
    assert_eq!(bench.event(grants[1].event), before);
}

pub fn even_who_acked_is_told_that_the_queue_is_gone(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.must(&grant, SettleStep::Ack);
    bench.ask(delete("mail", false)).expect("it is there");
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Lost.into()));
}

pub fn a_queue_made_again_under_the_name_shares_nothing_with_the_old(bench: &Bench) {
    let old = bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.publish("mail", 2);
    bench.ask(delete("mail", true)).expect("it is there");
    let new = bench.queue("mail");
    assert_ne!(old, new);
    assert_eq!(bench.try_claim("mail"), None);
    assert_eq!(bench.view("mail").counts.unfinished(), 0);
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Lost.into()));
    let event = bench.publish("mail", 1);
    assert_ne!(event, grant.event);
    let fresh = bench.claim("mail");
    assert_eq!((fresh.event, fresh.queue, fresh.fence), (event, new, 1));
    assert!(bench.dead_letters(&named("mail"), 10).is_empty());
    assert_eq!(bench.dead_letters(&QueueRef::Id(old), 10).len(), 2);
}
