//! A wall clock that is set while the server runs, and while it is stopped.
//!
//! Lives here: an hour forth, an hour back, a day forth, on the process' own clock. Not here: the rules (conformance
//! `clock_steps`), and random steps (worlds).
//!
//! The promise: a lease lasts its length whatever the wall clock does; due times, dedupe windows and what is told of
//! times follow it; entries' ids and fences rise all the same; nobody gets what another holds.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::clock::{assert_between, assert_within, counted, now, seconds, sleep, sleep_until};
use crate::scene::{Claim, Scene, text};
use crate::support::{Naven, Resp, Start};

const HOUR: i64 = 3_600;
const LEASE_SECONDS: u32 = 5;
/// Further off than the steps here that are to leave it alone, nearer than the longest.
const DELAY_SECONDS: i64 = 5 * HOUR;
/// What is asked of the wall clock takes a moment on a crowded machine.
const SLACK_SECONDS: i64 = 60;
/// Until a claim that waits has seen that the clock was set: it looks once a second.
const SEEN_WITHIN: std::time::Duration = seconds(3);

#[test]
fn an_hour_forth_moves_due_times_and_no_lease() {
    let (wall, scene) = Wall::scene();
    let held = held(&scene, "held");
    let delayed = publish(&scene, json!({ "delaySeconds": HOUR - 600 }));
    let first = sent(&scene, json!({ "dedupeKey": "k", "delaySeconds": DELAY_SECONDS }));
    let http = scene.http.clone();
    let waits = std::thread::spawn(move || {
        http.post("/v1/event-queues/q/claim", r#"{"waitSeconds":60,"leaseSeconds":600}"#)
    });
    scene.until_waiting(1);
    let before = entry(&scene);
    wall.step(&scene, HOUR);
    let stepped = now();
    let came = Claim::of(waits.join().expect("it is answered")).expect("what is due now came");
    assert_within("outside: what a step made due came", stepped.elapsed(), SEEN_WITHIN);
    assert_eq!(came.id(), delayed);
    assert!(entry(&scene) > before);
    held.lasts_its_length(&scene);
    // The window is of 300 seconds, of which an hour has passed.
    let again = sent(&scene, json!({ "dedupeKey": "k", "delaySeconds": DELAY_SECONDS }));
    assert_ne!(again["id"], first["id"], "the dedupe window is over");
    scene.assert_same_process();
}

#[test]
fn an_hour_back_puts_due_times_off_and_no_lease() {
    let (wall, scene) = Wall::scene();
    let held = held(&scene, "held");
    let delayed = publish(&scene, json!({ "delaySeconds": 2 }));
    let first = sent(&scene, json!({ "dedupeKey": "k", "delaySeconds": DELAY_SECONDS }));
    let before = [entry(&scene), entry(&scene)];
    assert!(before[1] > before[0]);
    let ready = publish(&scene, json!({}));
    wall.step(&scene, -HOUR);
    let after = [entry(&scene), entry(&scene)];
    assert!(after[0] > before[1] && after[1] > after[0], "{before:?}, {after:?}: ids rise");
    let came = scene.claimed("q", 600, 5);
    assert_eq!(came.id(), ready, "what was ready stays so");
    assert_eq!(scene.settle("ack", &came, json!({})).code, 0, "its lease is judged by no wall clock");
    held.lasts_its_length(&scene);
    assert_eq!(scene.event(&delayed)["state"], "scheduled", "its time is an hour off again");
    let again = sent(&scene, json!({ "dedupeKey": "k", "delaySeconds": DELAY_SECONDS }));
    assert_eq!((&again["id"], &again["deduped"]), (&first["id"], &json!(true)));
    wall.step(&scene, 0);
    assert_eq!(scene.claimed("q", 600, 5).id(), delayed, "its time has come");
    scene.assert_same_process();
}

#[test]
fn a_day_forth_between_a_stop_and_a_start_ends_no_lease() {
    for is_killed in [false, true] {
        let (wall, scene) = Wall::scene();
        let claim = claimed_for_a_minute(&scene);
        let delayed = publish(&scene, json!({ "delaySeconds": DELAY_SECONDS }));
        let before = entry(&scene);
        // The reading of the lease clock is on disk a second later, at the latest.
        sleep(seconds(2));
        let scene = wall.set_between(scene, 24 * HOUR, is_killed);
        assert!(entry(&scene) > before);
        let came = scene.claimed("q", 600, 5);
        assert_eq!(came.id(), delayed, "what became due meanwhile, and not what is held");
        assert!(scene.claim("q", 600, 0).is_none(), "it is held still");
        assert_eq!(scene.settle("ack", &claim, json!({})).code, 0, "it has as much time left as before");
        scene.assert_same_process();
    }
}

#[test]
fn an_hour_back_between_a_stop_and_a_start_prolongs_no_lease() {
    let (wall, scene) = Wall::scene();
    let held = held(&scene, "held");
    let before = entry(&scene);
    let scene = wall.set_between(scene, -HOUR, false);
    assert!(entry(&scene) > before, "ids rise over a start as well");
    let ready = publish(&scene, json!({}));
    assert_eq!(scene.claimed("q", 600, 5).id(), ready, "what is published by the clock of now is ready now");
    held.lasts_its_length(&scene);
    scene.assert_same_process();
}

/// The wall clock of servers that are started with it.
struct Wall {
    folder: TempDir,
}

impl Wall {
    fn scene() -> (Self, Scene) {
        let wall = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        wall.set(0);
        let file = wall.file();
        let start = Start::serve()
            .env("LD_PRELOAD", library().to_str().expect("a plain path"))
            .env("FAKETIME_TIMESTAMP_FILE", file.to_str().expect("temporary folders have plain names"))
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("NO_FAKE_STAT", "1");
        (wall, Scene::started(start, json!({})))
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("offset")
    }

    /// How far the clock is from the machine's.
    fn set(&self, offset_seconds: i64) {
        // Read at any time, so it is never half written.
        let fresh = self.folder.path().join("fresh");
        std::fs::write(&fresh, format!("{offset_seconds:+}\n")).expect("a file");
        std::fs::rename(&fresh, self.file()).expect("its name");
    }

    /// Sets it under a running server, which has to notice: without that the test would try nothing.
    fn step(&self, scene: &Scene, offset_seconds: i64) {
        self.set(offset_seconds);
        assert_offset(&scene.naven, offset_seconds);
    }

    /// Sets it while no server runs.
    fn set_between(&self, scene: Scene, offset_seconds: i64, is_killed: bool) -> Scene {
        let mut naven = scene.naven;
        if is_killed {
            naven.kill()
        } else {
            naven.stop()
        }
        self.set(offset_seconds);
        let scene = Scene::around(naven.restart());
        assert_offset(&scene.naven, offset_seconds);
        scene
    }
}

/// The server's wall clock is so far from this process' own.
fn assert_offset(naven: &Naven, offset_seconds: i64) {
    let said = Resp::open(naven.redis(), crate::support::key()).done("TIME");
    let theirs: i64 = said.list()[0].text().parse().expect("seconds since 1970");
    let off = theirs - wall_seconds() - offset_seconds;
    assert!(off.abs() < SLACK_SECONDS, "the server's wall clock is {off} s from where it was set to");
}

#[expect(clippy::disallowed_methods, reason = "what the server's wall clock is compared with")]
fn wall_seconds() -> i64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).expect("the clock is past 1970");
    i64::try_from(since.as_secs()).expect("the year is a sane one")
}

/// The library that sets the clock of a process.
fn library() -> PathBuf {
    let folders =
        ["/usr/lib", "/usr/lib64"].into_iter().flat_map(|folder| crate::support::files_in(Path::new(folder)));
    let mut places = folders.map(|folder| folder.join("faketime/libfaketime.so.1"));
    places.find(|place| place.exists()).expect("libfaketime is there: ./test installs the package faketime")
}

/// A lease, and when it was asked for.
struct Held {
    claim: Claim,
    asked: std::time::Instant,
}

fn held(scene: &Scene, why: &str) -> Held {
    scene.publish_body("q", &json!({ "payload": { "why": why } }).to_string());
    let asked = now();
    Held { claim: scene.claimed("q", LEASE_SECONDS, 0), asked }
}

impl Held {
    /// Nobody gets it before its time is over by the clock that never steps, and then somebody does.
    fn lasts_its_length(&self, scene: &Scene) {
        let length = seconds(u64::from(LEASE_SECONDS));
        sleep_until(self.asked + length - seconds(1));
        assert_eq!(scene.event(&self.claim.id())["state"], "leased", "a second before its end");
        let again = scene.claimed("q", 600, 30);
        assert_eq!(again.id(), self.claim.id());
        assert_between("outside: a lease lasted", self.asked.elapsed(), counted(length), length + seconds(2));
        assert!(again.fence() > self.claim.fence());
        let late = scene.settle("ack", &self.claim, json!({}));
        assert_eq!((late.status, late.code), (409, 40_901), "{}", late.body);
        assert_eq!(scene.settle("ack", &again, json!({})).code, 0);
    }
}

fn claimed_for_a_minute(scene: &Scene) -> Claim {
    scene.publish("q");
    scene.claimed("q", 60, 0)
}

fn publish(scene: &Scene, more: Value) -> String {
    text(&sent(scene, more)["id"])
}

/// The data of a publish.
fn sent(scene: &Scene, more: Value) -> Value {
    let mut body = more;
    body["payload"] = json!({});
    scene.http.post("/v1/event-queues/q/events", &body.to_string()).success()
}

/// Adds an entry; its id, as numbers.
fn entry(scene: &Scene) -> (u64, u64) {
    let id = scene.redis().done("XADD other * n 1").text();
    let (ms, seq) = id.split_once('-').expect("an id has two parts");
    (ms.parse().expect("a number"), seq.parse().expect("a number"))
}
