//! A disk on which one write or sync fails.
//!
//! Lives here: the system call that fails while a client works, one run for each place, and what the next start has to
//! find. Not here: the same at every call site of the engine (`naven-store`), a disk that is full or read-only
//! (`field_cases`).
//!
//! The promise: whoever was told of success finds it after the next start. Nobody else is promised anything; the
//! process ends with 74, and says which file failed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::books::{Books, Standing};
use crate::clock::{assert_within, now, seconds};
use crate::scene::{Claim, Scene, text};
use crate::support::{Answer, Ended, Fault, Naven, Reply, Resp, Start, Tracer, files_in, key, run};

/// The log's first syncs: as many as the calls of a client that goes through its verbs, and one to spare.
const SYNCS: u32 = 9;
const WRITERS: usize = 8;
const WRITERS_SYNC: u32 = 20;
/// A quarter of a log file each.
const LARGE_BYTES: usize = 60_000;
/// More calls than any fault here leaves unharmed.
const CALLS_MAX: usize = 2_000;

#[test]
fn a_call_whose_sync_fails_is_not_answered_with_success() {
    let mut hit = BTreeSet::new();
    for nth in 1..=SYNCS {
        let mut case = Case::begin(Start::serve());
        let tracer = case.tracer("fdatasync", Some(nth), Vec::new());
        hit.insert(case.until_it_fails(10));
        case.assert_kept(tracer, "fdatasync");
    }
    println!("outside: a sync failed under {hit:?}");
    for verb in ["publish", "claim", "ack"] {
        assert!(hit.contains(verb), "no sync of a {verb} was made to fail: {hit:?}");
    }
}

#[test]
fn nobody_of_a_group_whose_sync_fails_is_told_of_success() {
    let case = Case::begin(Start::serve());
    let tracer = case.tracer("fdatasync", Some(WRITERS_SYNC), Vec::new());
    let written: Vec<Written> = std::thread::scope(|scope| {
        let write = |writer: usize| if writer.is_multiple_of(2) { case.publish_on() } else { case.add_on() };
        let threads: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer that can be read")).collect()
    });
    assert!(written.iter().all(|one| one.has_failed), "nobody writes on");
    let kept: Vec<&String> = written.iter().flat_map(|one| &one.kept).collect();
    println!(
        "outside: {} of {WRITERS} writers' events were answered before the sync that failed",
        kept.len()
    );
    assert!(!kept.is_empty());
    let (naven, _folder) = case.after_the_end(tracer, "fdatasync");
    let mut redis = Resp::open(naven.redis(), key());
    for id in kept {
        if id.starts_with("evt_") {
            let event = naven.client().get(&format!("/v1/events/{id}"));
            assert_eq!(event.success()["state"], "ready", "{id} was answered");
        } else {
            assert_eq!(redis.done(&format!("XRANGE s {id} {id}")).list().len(), 1, "{id} was answered");
        }
    }
}

#[test]
fn a_cold_store_whose_sync_fails_costs_nothing_that_was_answered() {
    for nth in [1, 2] {
        let mut case = Case::begin(Start::serve());
        let cold = vec![case.naven.data().join("cold.redb")];
        let tracer = case.tracer("fdatasync", Some(nth), cold);
        case.until_it_fails(1_000);
        case.assert_kept(tracer, "fdatasync");
    }
}

#[test]
fn a_log_that_cannot_be_written_or_go_on_costs_nothing_that_was_answered() {
    for (calls, only, is_log) in
        [("pwrite64", Some(1), true), ("pwrite64", Some(5), true), ("fsync", Some(1), false)]
    {
        let mut case = Case::begin(Start::serve());
        let files = if is_log { files_in(&case.naven.data().join("log")) } else { Vec::new() };
        let tracer = case.tracer(calls, only, files);
        case.until_it_fails(LARGE_BYTES);
        case.assert_kept(tracer, calls);
    }
}

/// What one of several writers was told.
struct Written {
    /// The ids of what was answered with success.
    kept: Vec<String>,
    has_failed: bool,
}

const PUBLISH: &str = "/v1/event-queues/q/events";

/// One server, and what it has answered.
struct Case {
    naven: Naven,
    books: Books,
    folder: TempDir,
}

impl Case {
    fn begin(start: Start) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scene = Scene::started(start.folder(folder.path()), json!({ "defaultLeaseSeconds": 600 }));
        Self { naven: scene.naven, books: Books::new(payload), folder }
    }

    fn tracer(&self, calls: &str, only: Option<u32>, files: Vec<PathBuf>) -> Tracer {
        Tracer::from_now_on(&self.naven, &Fault { calls, error: "EIO", only, files })
    }

    /// Publishes until that fails.
    fn publish_on(&self) -> Written {
        let (mut kept, http) = (Vec::new(), self.naven.client());
        for _ in 0..CALLS_MAX {
            match http.try_call("POST", PUBLISH, r#"{"payload":{}}"#) {
                Ok(answer) if answer.code == 0 => kept.push(text(&answer.data["id"])),
                Ok(answer) => return Written { kept, has_failed: is_a_failure(&answer) },
                Err(_) => return Written { kept, has_failed: true },
            }
        }
        Written { kept, has_failed: false }
    }

    /// The same on the Redis door.
    fn add_on(&self) -> Written {
        let (mut kept, mut redis) = (Vec::new(), Resp::open(self.naven.redis(), key()));
        for _ in 0..CALLS_MAX {
            match redis.try_run("XADD s * n 1") {
                Ok(Reply::Text(id)) => kept.push(String::from_utf8(id).expect("ids are text")),
                Ok(Reply::Error(why)) => {
                    let has_failed =
                        why.starts_with("TRYAGAIN") || why.starts_with("ERR the outcome is not known");
                    return Written { kept, has_failed };
                }
                Ok(other) => panic!("not an answer to XADD: {other:?}"),
                Err(_) => return Written { kept, has_failed: true },
            }
        }
        Written { kept, has_failed: false }
    }

    /// One client goes through its verbs until a call is not answered with success; which verb that was.
    fn until_it_fails(&mut self, payload_bytes: usize) -> &'static str {
        let mut number = 0;
        while number < CALLS_MAX as u64 {
            for last in ["ack", "nack"] {
                if let Some(verb) = self.one_life(number, last, payload_bytes) {
                    return verb;
                }
                number += 1;
            }
        }
        panic!("{CALLS_MAX} events went through as if nothing had failed");
    }

    /// Publishes, claims, beats and settles; the verb that was not answered with success, if one was not.
    fn one_life(&mut self, number: u64, last: &'static str, payload_bytes: usize) -> Option<&'static str> {
        let number = number * SIZES + payload_bytes as u64;
        let Some(published) = self.call(PUBLISH, &self.books.body(number)) else {
            self.books.maybe_published(number);
            return Some("publish");
        };
        self.books.published(number, &published["id"]);
        let id = text(&published["id"]);
        let Some(data) = self.call("/v1/event-queues/q/claim", &json!({ "waitSeconds": 0 })) else {
            self.books.stands(&id, Standing::Unsure);
            return Some("claim");
        };
        let claim = Claim { data, body: String::new() };
        assert_eq!(claim.id(), id, "the one that is ready");
        self.books.leased(&claim);
        for (verb, more) in [("heartbeat", json!({})), (last, json!({ "mode": "fatal" }))] {
            let more = if verb == "nack" { more } else { json!({}) };
            if self.call(&claim.path(verb), &claim.proof(more)).is_none() {
                let is_beat = verb == "heartbeat";
                // The lease is the same whether the heartbeat was applied or not.
                (!is_beat).then(|| self.books.stands(&id, Standing::Unsure));
                return Some(verb);
            }
        }
        self.books.stands(&id, if last == "ack" { Standing::Done } else { Standing::Dead });
        None
    }

    /// The data of a success. None: it was refused as it should be, or was not answered.
    fn call(&self, path: &str, body: &Value) -> Option<Value> {
        let answer = self.naven.client().try_call("POST", path, &body.to_string()).ok()?;
        (answer.code == 0 || !is_a_failure(&answer)).then(|| answer.success())
    }

    /// What was answered is there after the next start.
    fn assert_kept(self, tracer: Tracer, calls: &str) {
        let books = self.books.clone();
        let (mut naven, _folder) = self.after_the_end(tracer, calls);
        books.audit(&naven.client()).expect("it serves").assert_whole();
        let data = naven.data();
        naven.stop();
        assert_verified(&data);
    }

    /// The server on the same folder, after one that ended by itself because of a fault.
    fn after_the_end(self, tracer: Tracer, calls: &str) -> (Naven, TempDir) {
        let (data, began) = (self.naven.data(), now());
        // Nobody needs to write for it to end, and nobody writes any more.
        let late = self.naven.client().try_call("POST", PUBLISH, r#"{"payload":{}}"#);
        assert!(late.is_err() || late.is_ok_and(|late| is_a_failure(&late)), "it writes on");
        let ended = self.naven.ended();
        assert_within("outside: the server's end after its disk failed", began.elapsed(), seconds(1));
        let failed = tracer.failed();
        assert!(!failed.is_empty(), "no {calls} was made to fail, so nothing was tried");
        assert_told(&ended);
        assert_verified(&data);
        (Start::serve().folder(self.folder.path()).ready(), self.folder)
    }
}

/// A payload's length is in its number, so that audits know it.
const SIZES: u64 = 100_000;

fn payload(number: u64) -> Value {
    json!({ "n": number, "text": "x".repeat((number % SIZES) as usize) })
}

/// True for the codes of a log that has failed: nothing was written, or nobody knows.
fn is_a_failure(answer: &Answer) -> bool {
    matches!((answer.status, answer.code), (503, 50_301 | 50_302) | (504, 50_400))
}

fn assert_told(ended: &Ended) {
    assert_eq!(ended.code, Some(74), "{ended:?}");
    assert!(ended.stderr.contains("Input/output error"), "it says what failed: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

/// Nothing is wrong with a folder that no server uses.
pub(crate) fn assert_verified(data: &std::path::Path) {
    let verified = run(&["verify", "--data", data.to_str().expect("paths of tests are UTF-8")], &[]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
