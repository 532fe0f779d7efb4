//! Dead letters of a live queue, and redrive.
//!
//! Lives here: their list and their way back. Not here: those of a deleted queue (`deletion.rs`).

use naven_core::View;

use super::bench::{Bench, fail, fail_in, fatal, named, redrive};
use crate::queue::QueueRef;
use crate::read::{Cursor, Page, Read};
use crate::reply::{OpReply, Refused};
use crate::txn::{AdminOp, OpKind, SettleStep};

fn die(bench: &Bench, n: u32) -> naven_api::EventId {
    let event = bench.publish("mail", n);
    bench.must(&bench.claim("mail"), fatal());
    event
}

pub fn the_newest_death_comes_first_and_pages_lose_nothing(bench: &Bench) {
    bench.queue("mail");
    let mut died: Vec<_> = (0..7)
        .map(|n| {
            bench.after_ms(i64::from(n / 3));
            die(bench, n)
        })
        .collect();
    died.reverse();
    for limit in [1, 2, 7, 8, 500] {
        let ids: Vec<_> = bench.dead_letters(&named("mail"), limit).iter().map(|letter| letter.id).collect();
        assert_eq!(ids, died, "pages of {limit}");
    }
}

pub fn a_page_is_stable_while_others_die(bench: &Bench) {
    bench.queue("mail");
    let died: Vec<_> = (0..4).map(|n| die(bench, n)).collect();
    let read = |cursor| Read::DeadLetters { queue: named("mail"), cursor, limit: 2, payload: false };
    let Ok(Page::DeadLetters(first, Some(cursor))) = bench.read(read(None)) else { panic!("two pages") };
    bench.after(1);
    die(bench, 9);
    let Ok(Page::DeadLetters(second, _)) = bench.read(read(Some(cursor))) else { panic!("a page") };
    let ids: Vec<_> = first.iter().chain(&second).map(|letter| letter.id).collect();
    assert_eq!(ids, [died[3], died[2], died[1], died[0]]);
    assert!(first.iter().all(|letter| letter.body.is_none()), "payloads come where they are asked for");
}

pub fn a_cursor_of_nobody_s_is_refused(bench: &Bench) {
    bench.queue("mail");
    for bytes in [&b""[..], b"x", &[7; 15]] {
        let cursor = Some(Cursor(bytes.to_vec()));
        let letters =
            Read::DeadLetters { queue: named("mail"), cursor: cursor.clone(), limit: 9, payload: false };
        assert_eq!(bench.read(letters), Err(Refused::BadCursor.into()));
        let queues = Read::Queues { name_prefix: String::new(), cursor, limit: 9 };
        assert_eq!(bench.read(queues), Err(Refused::BadCursor.into()));
    }
}

pub fn dead_letters_of_no_queue_are_missing(bench: &Bench) {
    let id = QueueRef::Id(naven_api::QueueId::from_bits(5));
    for queue in [named("nowhere"), id] {
        let read = Read::DeadLetters { queue, cursor: None, limit: 9, payload: false };
        assert_eq!(bench.read(read), Err(Refused::QueueNotFound.into()));
    }
}

pub fn a_redrive_opens_a_round_due_now_and_the_fence_goes_on(bench: &Bench) {
    bench.queue("mail");
    let event = die(bench, 1);
    bench.after(60);
    let Ok(OpReply::Event(view)) = bench.ask(redrive(event)) else { panic!("not redriven") };
    let delivery = &view.deliveries[0];
    assert_eq!((delivery.state, delivery.next_attempt_at), (View::Ready, Some(bench.wall())));
    assert_eq!((delivery.attempts, delivery.fence, delivery.dead), (0, 1, None));
    assert_eq!((view.body, delivery.settled_at), (None, None));
    assert!(bench.dead_letters(&named("mail"), 9).is_empty());
    let grant = bench.claim("mail");
    assert_eq!((grant.event, grant.round, grant.fence, grant.attempts), (event, 1, 2, 1));
    assert_eq!(bench.must(&grant, SettleStep::Ack).state, View::Done);
}

pub fn a_redriven_event_is_lost_to_whoever_held_it_before(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench.must(&grant, fatal());
    bench.ask(redrive(grant.event)).expect("it is dead");
    for step in [fatal(), fail(), SettleStep::Ack, super::bench::beat(30)] {
        assert_eq!(bench.say(&grant, step), Err(Refused::Lost.into()));
    }
}

pub fn a_redrive_may_keep_the_attempts(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.max_attempts = Some(1));
    let event = bench.publish("mail", 1);
    bench.must(&bench.claim("mail"), fail());
    let op = AdminOp::Redrive { event, queue: Some(named("mail")), reset_attempts: false };
    bench.ask(OpKind::Admin(op)).expect("it is dead");
    let grant = bench.claim("mail");
    assert_eq!(grant.attempts, 2);
    assert_eq!(bench.must(&grant, fail_in("x", 1)).state, View::Dead);
}

pub fn only_the_dead_are_redriven(bench: &Bench) {
    bench.queue("mail");
    bench.queue("other");
    let refused = Err(Refused::WrongState.into());
    let event = bench.publish("mail", 1);
    assert_eq!(bench.ask(redrive(event)), refused, "ready");
    let grant = bench.claim("mail");
    assert_eq!(bench.ask(redrive(event)), refused, "leased");
    bench.must(&grant, SettleStep::Ack);
    assert_eq!(bench.ask(redrive(event)), refused, "done");
    let dead = die(bench, 2);
    let elsewhere = |queue: &str| {
        OpKind::Admin(AdminOp::Redrive { event: dead, queue: Some(named(queue)), reset_attempts: true })
    };
    assert_eq!(bench.ask(elsewhere("other")), Err(Refused::EventNotFound.into()));
    assert_eq!(bench.ask(elsewhere("nowhere")), Err(Refused::QueueNotFound.into()));
}

pub fn a_redriven_event_goes_behind_what_was_due_before(bench: &Bench) {
    bench.queue("mail");
    let dead = die(bench, 1);
    let early = bench.publish("mail", 2);
    bench.after(1);
    bench.ask(redrive(dead)).expect("it is dead");
    bench.after(1);
    let late = bench.publish("mail", 3);
    let got: Vec<_> = bench.claim_up_to("mail", 5).iter().map(|grant| grant.event).collect();
    assert_eq!(got, [early, dead, late]);
}

pub fn who_dies_again_is_listed_once(bench: &Bench) {
    bench.queue("mail");
    let twice = die(bench, 1);
    let once = die(bench, 2);
    bench.after(1);
    bench.ask(redrive(twice)).expect("it is dead");
    bench.must(&bench.claim("mail"), fatal());
    let ids: Vec<_> = bench.dead_letters(&named("mail"), 1).iter().map(|letter| letter.id).collect();
    assert_eq!(ids, [twice, once]);
}

pub fn a_burial_ends_what_is_held(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    let reason = naven_core::DeadReason::Damaged;
    let bury = AdminOp::Bury { event: grant.event, queue: None, reason };
    bench.ask(OpKind::Admin(bury.clone())).expect("it is held");
    assert_eq!(bench.delivery(grant.event).dead, Some(reason));
    assert_eq!(bench.say(&grant, SettleStep::Ack), Err(Refused::Lost.into()));
    assert_eq!(bench.ask(OpKind::Admin(bury)), Err(Refused::WrongState.into()));
    assert_eq!(bench.dead_letters(&named("mail"), 9).len(), 1);
}
