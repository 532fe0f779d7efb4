//! FC-01: an event that was leased to a client that has gone.
//!
//! Lives here: claims whose sockets close before, while and after an event comes. Not here: an ack
//! whose reply is lost (`fc02_ack_reply_lost.rs`).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clock::{
    assert_between, assert_within, counted, millis, now, seconds, sleep, sleep_until, spread,
};
use crate::random::Random;
use crate::scene::{Claim, Scene, text};
use crate::wire::{HangUp, Wire};

const QUEUES: usize = 20;
const ROUNDS: usize = 200;
/// Lease of the clients that go, in the rounds.
const LEASE: u64 = 5;
/// Longest until a close is seen, in seconds: three times the figure.
const CLOSE_SEEN_MAX: u64 = 3;
/// How far the hang-up may be from the publish, in either direction.
const AROUND: Duration = millis(20);
/// Queues of one lane: each round has one of its own, as one that was lost stays out of it for L.
const ROUNDS_AT_ONCE: usize = 50;
/// A lane begins no further round of a batch after this long: its first lease is soon over.
const BATCH_MAX: Duration = seconds(4);

#[test]
fn fc01_a_claim_whose_caller_hung_up_takes_no_event() {
    let scene = Scene::with_queue(json!({}));
    let began = now();
    let ghosts: Vec<Wire> = (0..20).map(|_| begin_claim(&scene, "q", 900)).collect();
    scene.until_waiting(20);
    sleep_until(began + seconds(1));
    for (at, ghost) in ghosts.into_iter().enumerate() {
        ghost.hang_up(if at % 2 == 0 { HangUp::Fin } else { HangUp::Reset });
    }
    assert_within("fc01: hang-up to no waiters", scene.until_waiting(0), seconds(1));
    sleep_until(began + seconds(2));
    let published = now();
    let id = scene.publish("q");
    sleep_until(published + millis(100));
    let claim = scene.claimed("q", 900, 5);
    assert_within("fc01: publish to live claim", published.elapsed(), seconds(1));
    assert_eq!((claim.id(), claim.attempt()), (id, 1));
    assert_eq!(claim.fence(), 1, "no closed socket was given the event in between");
}

#[test]
fn fc01_an_event_is_free_at_once_where_the_close_was_seen_before() {
    let scene = Scene::with_queue(json!({}));
    let mut closes = Vec::new();
    for round in 0..100 {
        let ghost = begin_claim(&scene, "q", 900);
        scene.until_waiting(1);
        ghost.hang_up(if round % 2 == 0 { HangUp::Fin } else { HangUp::Reset });
        let seen = scene.until_waiting(0);
        assert!(seen <= seconds(CLOSE_SEEN_MAX), "the close was seen after {seen:?}");
        closes.push(seen);
        let id = scene.publish("q");
        let claim = scene.claimed("q", 900, 0);
        assert_eq!((claim.id(), claim.attempt(), claim.fence()), (id, 1, 1));
        scene.settle("ack", &claim, json!({})).success();
    }
    println!("fc01: hang-up to seen: {}", spread(closes));
}

#[test]
fn fc01_an_event_published_around_the_hang_up_is_never_lost() {
    let scene = Scene::with_queue(json!({}));
    let mut random = Random::fresh("fc01");
    let lanes: Vec<Lane<'_>> = (0..QUEUES).map(|number| Lane::new(&scene, number, random.fork())).collect();
    let fates: Vec<Fate> = std::thread::scope(|scope| {
        let lanes: Vec<_> = lanes.into_iter().map(|lane| scope.spawn(|| lane.play())).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("no lane fails")).collect()
    });
    assert_eq!(fates.len(), QUEUES * ROUNDS);
    print_fates(&fates);
    for fate in &fates {
        // What a live lease covers is nobody else's.
        assert!(fate.attempt == 1 || fate.took > counted(seconds(LEASE)), "{fate:?}");
        assert!(fate.attempt <= 2 && fate.fence <= 2, "{fate:?}");
    }
    // At the latest when the lease is over: what is sooner needs no bound.
    let worst = fates.iter().map(|fate| fate.took).max().unwrap_or_default().max(seconds(LEASE));
    assert_between("fc01: the longest until claimable", worst, seconds(LEASE), seconds(LEASE + 1));
    assert_within("fc01: last hang-up to no waiters", scene.until_waiting(0), seconds(1));
    assert_eq!(states(&scene), json!({ "done": QUEUES * ROUNDS }), "each event was acked, none is left");
}

fn print_fates(fates: &[Fate]) {
    let print = |what: &str, is: &dyn Fn(&Fate) -> bool| {
        let took = fates.iter().filter(|fate| is(fate)).map(|fate| fate.took).collect();
        println!("fc01: {what}: publish to live claim: {}", spread(took));
    };
    let lapsed = |fate: &Fate| fate.attempt == 2;
    print("never leased to the client that went", &|fate| fate.fence == 1);
    print("back when the lease was over", &lapsed);
    print("the same, gone 5 ms or more before the publish", &|fate| {
        lapsed(fate) && fate.hung_up_ahead >= millis(5)
    });
    let given_back = fates.iter().filter(|fate| !lapsed(fate) && fate.fence == 2).count();
    println!("fc01: {given_back} more were given back, and met the consumer when it came by again");
}

/// How one round ended.
#[derive(Debug)]
struct Fate {
    /// How long before the publish the client hung up; zero where it did so after.
    hung_up_ahead: Duration,
    /// From the publish to the live consumer's claim.
    took: Duration,
    attempt: u64,
    fence: u64,
}

/// An event that the live consumer has not found at its first look.
struct Missing {
    queue: String,
    id: String,
    hung_up_ahead: Duration,
    published: Instant,
}

/// One of the lanes in which rounds follow each other.
struct Lane<'a> {
    scene: &'a Scene,
    wire: Wire,
    number: usize,
    random: Random,
    fates: Vec<Fate>,
}

impl<'a> Lane<'a> {
    fn new(scene: &'a Scene, number: usize, random: Random) -> Self {
        Self { scene, wire: scene.wire(), number, random, fates: Vec::with_capacity(ROUNDS) }
    }

    fn play(mut self) -> Vec<Fate> {
        for place in 0..ROUNDS_AT_ONCE {
            let name = self.queue(place);
            self.wire.post("/v1/event-queues", &json!({ "name": name })).success();
        }
        while self.fates.len() < ROUNDS {
            let (began, mut missing) = (now(), Vec::new());
            for place in 0..ROUNDS_AT_ONCE.min(ROUNDS - self.fates.len()) {
                if began.elapsed() < BATCH_MAX {
                    missing.extend(self.round(place));
                }
            }
            // In the order of their publishes, so that each is waited for when its lease ends.
            for event in missing {
                let claim = self.claim(&event.queue, 20).expect("an event whose lease is over comes back");
                self.finish(&event, &claim);
            }
        }
        self.fates
    }

    /// One client that goes, one event, and one look of a live consumer.
    fn round(&mut self, place: usize) -> Option<Missing> {
        let queue = self.queue(place);
        let ghost = begin_claim(self.scene, &queue, LEASE as u32);
        let how = if self.random.coin() { HangUp::Fin } else { HangUp::Reset };
        sleep(millis(10));
        let ahead = self.random.coin();
        let apart = self.random.time(Duration::ZERO, AROUND);
        if ahead {
            ghost.hang_up(how);
            sleep(apart);
            let published = now();
            self.send_publish(&queue);
            return self.look(queue, apart, published);
        }
        let published = now();
        self.send_publish(&queue);
        sleep_until(published + apart);
        ghost.hang_up(how);
        self.look(queue, Duration::ZERO, published)
    }

    fn send_publish(&mut self, queue: &str) {
        self.wire.send("POST", &format!("/v1/event-queues/{queue}/events"), br#"{"payload":{}}"#);
    }

    fn look(&mut self, queue: String, hung_up_ahead: Duration, published: Instant) -> Option<Missing> {
        let id = text(&self.wire.answer().success()["id"]);
        let event = Missing { queue, id, hung_up_ahead, published };
        match self.claim(&event.queue, 0) {
            Some(claim) => {
                self.finish(&event, &claim);
                None
            }
            None => Some(event),
        }
    }

    fn claim(&mut self, queue: &str, wait: u32) -> Option<Claim> {
        let body = json!({ "leaseSeconds": 900, "waitSeconds": wait });
        Claim::of(self.wire.post(&format!("/v1/event-queues/{queue}/claim"), &body))
    }

    fn finish(&mut self, event: &Missing, claim: &Claim) {
        let took = event.published.elapsed();
        assert_eq!(claim.id(), event.id, "a queue holds the event of one round");
        let acked = self.wire.post(&claim.path("ack"), &claim.proof(json!({}))).success();
        assert_eq!(acked["replayed"], false);
        let (attempt, fence) = (claim.attempt(), claim.fence());
        self.fates.push(Fate { hung_up_ahead: event.hung_up_ahead, took, attempt, fence });
    }

    fn queue(&self, place: usize) -> String {
        format!("lane{}-{place}", self.number)
    }
}

/// A claim that waits 20 s, on a connection of its own.
fn begin_claim(scene: &Scene, queue: &str, lease: u32) -> Wire {
    let mut wire = scene.wire();
    let body = json!({ "leaseSeconds": lease, "waitSeconds": 20, "consumerId": "ghost" }).to_string();
    wire.send("POST", &format!("/v1/event-queues/{queue}/claim"), body.as_bytes());
    wire
}

/// Events of all queues by state, states without any left out.
fn states(scene: &Scene) -> Value {
    let mut sums = std::collections::BTreeMap::<String, u64>::new();
    let mut next = String::new();
    loop {
        let page = scene.http.get(&format!("/v1/event-queues?limit=500{next}")).success();
        for queue in page["items"].as_array().expect("a list has items") {
            for (state, count) in queue["counts"].as_object().expect("a queue has counts") {
                *sums.entry(state.clone()).or_default() += count.as_u64().expect("counts are numbers");
            }
        }
        let Some(cursor) = page["nextCursor"].as_str() else { break };
        next = format!("&cursor={cursor}");
    }
    sums.into_iter().filter(|(_, count)| *count > 0).collect()
}
