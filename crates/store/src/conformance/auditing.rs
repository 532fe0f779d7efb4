//! The audit log, and changes under a condition.
//!
//! Lives here: what is noted when, and revisions of queues. Not here: revisions of keys (`reading.rs`).

use super::bench::{Bench, create, named};
use super::streams::once;
use crate::audit::{AuditEntry, AuditNote};
use crate::queue::{QueueChanges, QueueSettings, StreamChanges};
use crate::read::{Page, Read};
use crate::reply::{OpReply, Refused};
use crate::txn::{DeleteOp, GroupOp, Op, OpKind, Txn};

fn note(target: &str) -> AuditNote {
    let text = |text: &str| text.to_owned();
    AuditNote { by: text("nvk_x"), action: text("queue.create"), target: text(target), request_id: text("r") }
}

fn patch(revision: Option<u64>) -> OpKind {
    let changes = QueueChanges { max_attempts: Some(Some(3)), ..QueueChanges::default() };
    let (changes, stream) = (Box::new(changes), StreamChanges::default());
    OpKind::Group(GroupOp::Patch { queue: named("mail"), changes, stream, revision })
}

fn log(bench: &Bench) -> Vec<AuditEntry> {
    match bench.read(Read::Audit { cursor: None, limit: 500 }) {
        Ok(Page::Audit(entries, None)) => entries,
        other => panic!("the audit log: {other:?}"),
    }
}

fn each(ops: Vec<Op>) -> Txn {
    Txn { ops, ..Txn::each([]) }
}

pub fn what_was_done_is_noted_and_what_was_refused_is_not(bench: &Bench) {
    let made = |name: &str| Op::noted(create(name, QueueSettings::default()), note(name));
    let answers = bench.submit(each(vec![made("a"), made("a"), made("b")]));
    assert_eq!(answers[1], Err(Refused::NameTaken.into()));
    bench.after(5);
    bench.queue("unnoted");
    let undone = Txn { all_or_nothing: true, ..each(vec![made("c"), made("a")]) };
    assert_eq!(bench.submit(undone)[1], Err(Refused::NameTaken.into()));
    bench.submit(each(vec![made("d")]));
    let entries = log(bench);
    let targets: Vec<_> = entries.iter().map(|entry| entry.note.target.as_str()).collect();
    assert_eq!(targets, ["d", "b", "a"], "newest first, without a gap");
    assert_eq!(entries[0].at, bench.wall());
    for (after, before) in entries.iter().zip(&entries[1..]) {
        assert_eq!((after.number, after.previous), (before.number + 1, before.hash));
        assert!(after.is_whole());
    }
    assert_eq!((entries[2].number, entries[2].previous), (1, [0; 32]));
    assert!(entries[2].is_whole());
}

pub fn a_repetition_is_not_noted_again(bench: &Bench) {
    let op = || Op { audit: Some(note("a")), ..once("k", create("a", QueueSettings::default())) };
    let [first] = bench.submit(each(vec![op()])).try_into().expect("one answer");
    let [second] = bench.submit(each(vec![op()])).try_into().expect("one answer");
    assert_eq!(second, Ok(OpReply::Replayed(Box::new(first.expect("it is new")))));
    assert_eq!(log(bench).len(), 1);
}

pub fn the_log_comes_in_pages(bench: &Bench) {
    for n in 0..5 {
        let name = format!("q{n}");
        bench.submit(each(vec![Op::noted(create(&name, QueueSettings::default()), note(&name))]));
    }
    let (mut targets, mut cursor) = (Vec::new(), None);
    loop {
        let Ok(Page::Audit(entries, next)) = bench.read(Read::Audit { cursor, limit: 2 }) else {
            panic!("a page of the audit log")
        };
        targets.extend(entries.into_iter().map(|entry| entry.note.target));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(targets, ["q4", "q3", "q2", "q1", "q0"]);
    let bad = Some(crate::read::Cursor(vec![1]));
    assert_eq!(bench.read(Read::Audit { cursor: bad, limit: 2 }), Err(Refused::BadCursor.into()));
}

pub fn a_change_names_the_revision_that_it_saw(bench: &Bench) {
    bench.queue("mail");
    let revision = || bench.view("mail").revision;
    assert_eq!(revision(), 1);
    assert_eq!(bench.ask(patch(Some(2))), Err(Refused::Stale.into()));
    assert_eq!(bench.view("mail").settings.max_attempts, QueueSettings::default().max_attempts);
    bench.ask(patch(Some(1))).expect("it is at that revision");
    bench.ask(patch(None)).expect("at any");
    assert_eq!(revision(), 3);
    let pause = || OpKind::Group(GroupOp::Pause { queue: named("mail"), reason: None });
    let resume = || OpKind::Group(GroupOp::Resume { queue: named("mail") });
    bench.ask(pause()).expect("it is there");
    bench.ask(resume()).expect("it is there");
    assert_eq!(revision(), 5);
    bench.ask(resume()).expect("it may be repeated");
    assert_eq!(revision(), 5, "nothing changed");
    bench.publish("mail", 1);
    bench.claim("mail");
    assert_eq!(revision(), 5, "events are no settings");
    let delete = |revision| {
        let reason = naven_core::DeadReason::QueueDeleted;
        OpKind::Delete(DeleteOp::Queue { queue: named("mail"), force: true, reason, revision })
    };
    assert_eq!(bench.ask(delete(Some(4))), Err(Refused::Stale.into()));
    assert_eq!(bench.ask(delete(Some(5))), Ok(OpReply::Done));
}
