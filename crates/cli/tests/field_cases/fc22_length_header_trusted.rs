//! FC-22: a length that was believed because it was announced.
//!
//! Lives here: ten thousand strangers that break the Redis protocol, and the good connection beside them. Not here: what
//! the decoder says to each breach, byte by byte (`naven-server`).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::clock::{assert_within, millis, now, seconds, sleep, spread};
use crate::random::Random;
use crate::scene::Scene;
use crate::support::{Naven, Reply};

const CONNECTIONS: usize = 10_000;
const AT_ONCE: usize = 16;
/// Those that say a part of a command and then nothing are all there at the same time.
const SILENT: usize = 1_000;
/// How long the door has patience with strangers, in seconds.
const IDLE_LIMIT: u64 = 60;
const GROWTH_MAX_KIB: u64 = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(90);

/// What a stranger sends, and how the answer to it begins.
struct Breach {
    bytes: Vec<u8>,
    told: &'static str,
}

#[test]
fn fc22_ten_thousand_hostile_strangers_cost_no_memory_and_no_time() {
    let scene = Scene::with_queue(json!({}));
    let address = scene.naven.redis().to_owned();
    let mut random = Random::fresh("fc22");
    // What the first connections make once is not growth.
    for breach in breaches(&mut random) {
        play(&address, &breach);
    }
    let before = status_kib(&scene.naven, "VmRSS");
    let silent: Vec<(Instant, TcpStream)> = (0..SILENT).map(|_| (now(), silence(&address))).collect();
    let is_over = AtomicBool::new(false);
    let (mut ends, pings) = std::thread::scope(|scope| {
        let pings = scope.spawn(|| ping(&scene, &is_over));
        // Also where something below fails: else the scope waits for pings that never end.
        let over = Over(&is_over);
        let lanes: Vec<_> = (0..AT_ONCE)
            .map(|lane| {
                let (address, mut random) = (&address, random.fork());
                scope.spawn(move || strangers(address, lane, &mut random))
            })
            .collect();
        let ends: Vec<Duration> =
            lanes.into_iter().flat_map(|lane| lane.join().expect("no lane fails")).collect();
        for (since, stream) in silent {
            let (told, ended) = (rest(&stream), since.elapsed());
            assert_eq!(told, "", "a door that is waited for says nothing");
            assert!(
                ended >= seconds(IDLE_LIMIT) && ended <= seconds(IDLE_LIMIT + 30),
                "silence ended after {ended:?}"
            );
        }
        drop(over);
        (ends, pings.join().expect("no ping fails"))
    });
    assert_eq!(ends.len() + SILENT, CONNECTIONS);
    println!("fc22: breach to close: {}", spread(ends.clone()));
    assert_within(
        "fc22: the longest until a close",
        ends.drain(..).max().expect("there were some"),
        seconds(1),
    );
    println!("fc22: PING on a good connection: {}", spread(pings.clone()));
    assert_within("fc22: the longest PING", pings.into_iter().max().expect("there were some"), millis(50));
    let growth = status_kib(&scene.naven, "VmHWM").saturating_sub(before);
    println!("fc22: {before} KiB before, at most {growth} KiB more");
    assert!(growth <= GROWTH_MAX_KIB, "memory grew by {growth} KiB");
    scene.assert_same_process();
}

/// Says that it is over when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The ways to break the protocol, but for silence.
fn breaches(random: &mut Random) -> Vec<Breach> {
    let told = |bytes: &[u8], told| Breach { bytes: bytes.to_vec(), told };
    let bulk = "-ERR Protocol error: invalid bulk length";
    let many = "-ERR Protocol error: invalid multibulk length";
    vec![
        told(b"*5555555555555555555\r\n", many),
        told(b"*-5\r\n", many),
        told(b"*1048577\r\n", "-ERR Protocol error: unauthenticated multibulk length"),
        told(b"*1\r\n$9223372036854775807\r\n", bulk),
        told(b"*1\r\n$-2\r\n", bulk),
        told(b"$5\r\n", "-ERR Protocol error: expected '*', got '$'"),
        told(&vec![b'a'; 1024 * 1024], "-ERR Protocol error: too big inline request"),
        told(&b"*1\r\n".repeat(10_000), "-ERR Protocol error: expected '$', got '*'"),
        // Chance may make a line of them before it breaks the protocol.
        told(&random.bytes(4 * 1024), "-"),
        told(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", "-ERR Protocol error: HTTP request"),
    ]
}

/// One lane's share of the strangers, one after the other: how long each took to its end.
fn strangers(address: &str, lane: usize, random: &mut Random) -> Vec<Duration> {
    let mut ends = Vec::new();
    let mut ways = breaches(random);
    for n in (lane..CONNECTIONS - SILENT).step_by(AT_ONCE) {
        let at = (n / AT_ONCE) % ways.len();
        if at == 0 {
            ways = breaches(random);
        }
        ends.push(play(address, &ways[at]));
    }
    ends
}

/// One stranger, from its connection to its end.
fn play(address: &str, breach: &Breach) -> Duration {
    let mut stream = connect(address);
    let began = now();
    // The door may close before it has all of it.
    let _ = stream.write_all(&breach.bytes);
    if !breach.told.contains("Protocol error") {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let told = rest(&stream);
    let took = began.elapsed();
    assert!(told.starts_with(breach.told), "{told:?} instead of {:?}", breach.told);
    took
}

/// A stranger that sends a part of a command, and no more.
fn silence(address: &str) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(b"*2\r\n$4\r\nPING\r\n").expect("the door takes it");
    stream
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the door listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a fresh socket takes options");
    stream
}

/// What the door says until it closes.
fn rest(mut stream: &TcpStream) -> String {
    let mut said = Vec::new();
    // A reset is a close as well; what was said before it is kept.
    match stream.read_to_end(&mut said) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it is not closed"),
        // Random words come back in the refusal as they were sent.
        _ => String::from_utf8_lossy(&said).into_owned(),
    }
}

/// PINGs on a connection with a key: how long each took.
fn ping(scene: &Scene, is_over: &AtomicBool) -> Vec<Duration> {
    let mut redis = scene.redis();
    let mut took = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let sent = now();
        assert_eq!(redis.done("PING"), Reply::Text(b"PONG".to_vec()));
        took.push(sent.elapsed());
        sleep(millis(5));
    }
    took
}

/// A figure of the process' memory.
fn status_kib(naven: &Naven, name: &str) -> u64 {
    let path = format!("/proc/{}/status", naven.pid());
    let status = std::fs::read_to_string(path).expect("the process is there");
    let line = status.lines().find(|line| line.starts_with(name)).expect("Linux tells this of a process");
    line.split_whitespace().nth(1).expect("a figure").parse().expect("a number")
}
