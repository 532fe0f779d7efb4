//! Pause, resume and changes of settings.
//!
//! Lives here: what operators do to a queue that lives on. Not here: its deletion (`deletion.rs`).

use naven_core::View;

use super::bench::{Bench, claim, fail_in, named};
use crate::queue::{QueueChanges, StreamChanges};
use crate::reply::{Claimed, OpReply, Refused};
use crate::txn::{Due, GroupOp, OpKind, SettleStep};

fn pause(reason: Option<&str>) -> OpKind {
    OpKind::Group(GroupOp::Pause { queue: named("mail"), reason: reason.map(str::to_owned) })
}

fn resume() -> OpKind {
    OpKind::Group(GroupOp::Resume { queue: named("mail") })
}

fn patch(changes: QueueChanges) -> OpKind {
    OpKind::Group(GroupOp::Patch {
        queue: named("mail"),
        changes: Box::new(changes),
        stream: StreamChanges::default(),
        revision: None,
    })
}

pub fn a_paused_queue_takes_events_and_hands_out_none(bench: &Bench) {
    let queue = bench.queue("mail");
    bench.publish("mail", 1);
    bench.ask(pause(Some("upgrade"))).expect("it is there");
    assert_eq!(bench.view("mail").paused.as_deref(), Some("upgrade"));
    bench.publish("mail", 2);
    let nothing = Claimed { queue, leases: Vec::new(), due_in: None };
    assert_eq!(bench.claimed(claim("mail", 5, 30)), nothing);
    bench.ask(resume()).expect("it is there");
    assert_eq!(bench.view("mail").paused, None);
    assert_eq!(bench.claim_up_to("mail", 5).len(), 2);
}

pub fn a_claim_of_a_paused_queue_changes_nothing(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    bench.publish_due("mail", 2, Due::In(10.try_into().expect("in bounds")));
    let grant = bench.claim("mail");
    bench.ask(pause(None)).expect("it is there");
    bench.after(30);
    let before = (bench.view("mail"), bench.event(grant.event));
    bench.claimed(claim("mail", 5, 30));
    assert_eq!((bench.view("mail"), bench.event(grant.event)), before);
}

pub fn holders_of_a_paused_queue_go_on(bench: &Bench) {
    bench.queue("mail");
    bench.publish_some("mail", 3);
    let grants = bench.claim_up_to("mail", 3);
    bench.ask(pause(None)).expect("it is there");
    assert_eq!(bench.must(&grants[0], SettleStep::Ack).state, View::Done);
    assert_eq!(bench.must(&grants[1], fail_in("x", 1)).state, View::Retrying);
    bench.after(30);
    assert_eq!(bench.tend().rows, 2, "a lease ends and a retry falls due there too");
    bench.ask(resume()).expect("it is there");
    assert_eq!(bench.claim_up_to("mail", 5).len(), 2);
}

pub fn pause_and_resume_may_be_repeated(bench: &Bench) {
    bench.queue("mail");
    for _ in 0..2 {
        assert!(matches!(bench.ask(pause(None)), Ok(OpReply::Queue(view)) if view.paused.is_some()));
    }
    assert_eq!(bench.view("mail").paused.as_deref(), Some(""), "a reason may be empty");
    for _ in 0..2 {
        assert!(matches!(bench.ask(resume()), Ok(OpReply::Queue(view)) if view.paused.is_none()));
    }
}

pub fn a_patch_changes_what_it_names_and_nothing_else(bench: &Bench) {
    bench.queue_with("mail", |settings| settings.description = "letters".to_owned());
    let before = bench.view("mail");
    bench.after(5);
    let changes =
        QueueChanges { max_attempts: Some(None), late_ack_grace_seconds: Some(9), ..Default::default() };
    let Ok(OpReply::Queue(after)) = bench.ask(patch(changes)) else { panic!("not patched") };
    assert_eq!((after.settings.max_attempts, after.settings.late_ack_grace_seconds), (None, 9));
    assert_eq!(after.settings.description, "letters");
    assert_eq!((after.created_at, after.updated_at), (before.created_at, bench.wall()));
    assert_eq!(*after, bench.view("mail"));
}

pub fn a_patch_holds_for_what_is_there_already(bench: &Bench) {
    bench.queue("mail");
    bench.publish("mail", 1);
    let grant = bench.claim("mail");
    bench
        .ask(patch(QueueChanges { max_attempts: Some(Some(1)), ..Default::default() }))
        .expect("it is there");
    assert_eq!(bench.must(&grant, super::bench::fail()).state, View::Dead);
}

pub fn what_is_not_there_cannot_be_changed(bench: &Bench) {
    for op in [pause(None), resume(), patch(QueueChanges::default())] {
        assert_eq!(bench.ask(op), Err(Refused::QueueNotFound.into()));
    }
}
