//! FC-20: a disk that fills, and one that can only be read.
//!
//! Lives here: a disk of 16 MiB that is filled with events, kills and starts while it is full, the same
//! with a disk that turns read-only. Not here: the disk itself (`small_disk.rs`), every write that can fail
//! in turn (`naven-store`).

use serde_json::{Value, json};

use crate::books::{Books, Standing};
use crate::clock::{now, seconds, until};
use crate::read_only::read_only_from_now_on;
use crate::scene::{Claim, Scene};
use crate::small_disk::SmallDisk;
use crate::support::{Answer, Start};
use crate::wire::Wire;

const DISK_BYTES: u64 = 16 << 20;
/// What is on the disk beside the data, and is removed later: that is how space comes back.
const BALLAST_BYTES: usize = 4 << 20;
const PAYLOAD_BYTES: usize = 4 << 10;
/// More events than the disk can hold.
const EVENTS_MAX: u64 = DISK_BYTES / PAYLOAD_BYTES as u64;
const ACKED: usize = 100;
const BEATEN: usize = 10;
const NACKED: usize = 10;
/// Between so many calls on leases somebody tries to publish.
const TRIED_EVERY: usize = 5;
const PUBLISH: &str = "/v1/event-queues/q/events";

#[test]
fn fc20_a_full_disk_refuses_publishes_and_keeps_everything_else() {
    let disk = SmallDisk::of(DISK_BYTES);
    disk.load(BALLAST_BYTES);
    let scene = Scene::started(disk.serve().own_segment_bytes(), json!({}));
    let mut books = Books::new(payload);
    let mut wire = scene.wire();
    let claims = publish_and_claim(&mut wire, &mut books, ACKED + BEATEN + NACKED);
    let mut next = claims.len() as u64;
    fill(&mut wire, &mut books, &mut next);
    println!("fc20: {next} events of 4 KiB until one was refused");
    settle_while_full(&mut wire, &mut books, &claims, &mut next);
    assert!(is_refused(&mut wire, &mut books, &mut next), "there was room for one more event");
    scene.assert_same_process();

    let began = now();
    let scene = scene.killed_and_restarted();
    println!("fc20: the start while the disk was full took {:?}", began.elapsed());
    let mut wire = scene.wire();
    // What was replayed may have made a little room; what is taken is kept.
    fill(&mut wire, &mut books, &mut next);
    for claim in &claims[ACKED..ACKED + BEATEN] {
        beat(&mut wire, claim);
    }

    disk.unload();
    let scene = scene.killed_and_restarted();
    let mut wire = scene.wire();
    until("fc20: with the space that was freed publishes are taken again", seconds(10), || {
        !is_refused(&mut wire, &mut books, &mut next)
    });
    let there = books.count(|standing| *standing == Standing::Ready);
    println!("fc20: {there} events wait, {} are done", books.count(|standing| *standing == Standing::Done));
    books.audit(&scene.http).expect("it serves").assert_whole();
    scene.assert_same_process();
}

#[test]
fn fc20_a_start_on_a_read_only_disk_promises_nothing_and_harms_nothing() {
    let disk = SmallDisk::of(DISK_BYTES);
    let scene = Scene::started(disk.serve(), json!({}));
    let (mut books, mut wire) = (Books::new(payload), scene.wire());
    let claims = publish_and_claim(&mut wire, &mut books, 4);
    ack(&mut wire, &mut books, &claims[3]);
    let mut naven = scene.naven;
    naven.kill();
    disk.remount("ro");
    match disk.serve().try_ready() {
        // Either is right: to serve and refuse what cannot be kept, or to say why it does not serve.
        Ok(naven) => {
            for (path, body) in calls(&claims, &books) {
                refused(&naven.client().post(&path, &body.to_string()));
            }
        }
        Err(ended) => {
            println!("fc20: the start on a read-only disk: {ended:?}");
            assert_eq!(ended.code, Some(74), "{ended:?}");
            assert!(ended.stderr.contains("Read-only file system"), "{ended:?}");
            assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        }
    }
    disk.remount("rw");
    let naven = naven.restart();
    books.audit(&naven.client()).expect("it serves").assert_whole();
}

#[test]
fn fc20_a_disk_that_turns_read_only_under_a_server_loses_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scene = Scene::started(Start::serve().folder(folder.path()), json!({}));
    let (mut books, mut wire) = (Books::new(payload), scene.wire());
    let claims = publish_and_claim(&mut wire, &mut books, 3);
    let read_only = read_only_from_now_on(&scene.naven);
    let calls = calls(&claims, &books);
    let answers: Vec<Option<Answer>> = std::thread::scope(|scope| {
        let ask = |(path, body): &(String, Value)| scene.http.try_call("POST", path, &body.to_string()).ok();
        let threads: Vec<_> = calls.iter().map(|call| scope.spawn(move || ask(call))).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer that can be read")).collect()
    });
    let [publish, acked, nacked, beaten] = answers.try_into().expect("as many answers as calls");
    if may_be_applied(publish) {
        books.maybe_published(claims.len() as u64);
    }
    for (claim, answer) in claims.iter().zip([acked, nacked]) {
        if may_be_applied(answer) {
            books.stands(&claim.id(), Standing::Unsure);
        }
    }
    // The lease is the same whether the heartbeat was applied or not.
    may_be_applied(beaten);
    let ended = scene.naven.ended();
    assert_eq!(ended.code, Some(74), "it does not go on with what it cannot write: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    drop(read_only);
    let naven = Start::serve().folder(folder.path()).ready();
    books.audit(&naven.client()).expect("it serves").assert_whole();
}

/// What an event holds: 4 KiB, different ones.
fn payload(number: u64) -> Value {
    let text = format!("{number:08}").repeat(PAYLOAD_BYTES / 8);
    let around = json!({ "n": number, "text": "" }).to_string().len();
    json!({ "n": number, "text": text[..PAYLOAD_BYTES - around] })
}

fn publish_and_claim(wire: &mut Wire, books: &mut Books, count: usize) -> Vec<Claim> {
    for number in 0..count as u64 {
        let event = wire.post(PUBLISH, &books.body(number)).success();
        books.published(number, &event["id"]);
    }
    let ask = json!({ "leaseSeconds": 3_600, "waitSeconds": 5 });
    let mut claim = || Claim::of(wire.post("/v1/event-queues/q/claim", &ask)).expect("there is an event");
    let claims: Vec<Claim> = (0..count).map(|_| claim()).collect();
    claims.iter().for_each(|claim| books.leased(claim));
    claims
}

/// Publishes until one is refused.
fn fill(wire: &mut Wire, books: &mut Books, next: &mut u64) {
    while !is_refused(wire, books, next) {
        assert!(*next < EVENTS_MAX, "more than the disk can hold was taken");
    }
}

/// Publishes one more event; true where it is refused as it should be.
fn is_refused(wire: &mut Wire, books: &mut Books, next: &mut u64) -> bool {
    let answer = wire.post(PUBLISH, &books.body(*next));
    if answer.code == 0 {
        books.published(*next, &answer.data["id"]);
        *next += 1;
        return false;
    }
    refused(&answer);
    true
}

/// A refusal that says that nothing was written, and that later it may be.
fn refused(answer: &Answer) {
    assert!(matches!(answer.code, 50_700 | 50_301), "{} {}", answer.status, answer.body);
    assert_eq!(u64::from(answer.status), answer.code / 100, "{}", answer.body);
    assert_eq!(answer.data["retryable"], true, "{}", answer.body);
}

/// A hundred acks, ten heartbeats and ten nacks, while publishers do not give up.
fn settle_while_full(wire: &mut Wire, books: &mut Books, claims: &[Claim], next: &mut u64) {
    for (at, claim) in claims.iter().enumerate() {
        match at {
            at if at < ACKED => ack(wire, books, claim),
            at if at < ACKED + BEATEN => beat(wire, claim),
            _ => {
                let again = claim.proof(json!({ "error": "later", "retryDelaySeconds": 0 }));
                let nacked = wire.post(&claim.path("nack"), &again);
                assert_eq!(nacked.code, 0, "nack {at} on a full disk: {}", nacked.body);
                books.stands(&claim.id(), Standing::Ready);
            }
        }
        if at.is_multiple_of(TRIED_EVERY) {
            is_refused(wire, books, next);
        }
    }
}

fn ack(wire: &mut Wire, books: &mut Books, claim: &Claim) {
    let acked = wire.post(&claim.path("ack"), &claim.proof(json!({})));
    assert_eq!(acked.code, 0, "an ack: {}", acked.body);
    books.stands(&claim.id(), Standing::Done);
}

fn beat(wire: &mut Wire, claim: &Claim) {
    let beaten = wire.post(&claim.path("heartbeat"), &claim.proof(json!({ "leaseSeconds": 3_600 })));
    assert_eq!((beaten.code, &beaten.data["state"]), (0, &json!("leased")), "a heartbeat: {}", beaten.body);
}

/// A call of each kind that writes: a publish, and an ack, a nack and a heartbeat of one claim each.
fn calls(claims: &[Claim], books: &Books) -> Vec<(String, Value)> {
    let mut calls = vec![(PUBLISH.to_owned(), books.body(claims.len() as u64))];
    for (verb, claim) in ["ack", "nack", "heartbeat"].into_iter().zip(claims) {
        calls.push((claim.path(verb), claim.proof(json!({}))));
    }
    calls
}

/// Whether a call that cannot have been kept may have been applied all the same. None: it was not answered.
fn may_be_applied(answer: Option<Answer>) -> bool {
    println!("fc20: on a disk that turned read-only: {:?}", answer.as_ref().map(|answer| &answer.body));
    let Some(answer) = answer else { return true };
    assert!(matches!(answer.code, 50_301 | 50_400), "{} {}", answer.status, answer.body);
    answer.code == 50_400
}
