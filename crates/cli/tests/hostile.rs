//! Slow and hostile clients against a real server.
//!
//! Lives here: that they cost it a bounded amount of memory, that a good client is served meanwhile by the
//! same process, and what they are answered. Not here: bounds one by one (`naven-server`'s own tests).

mod support;

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use support::{Http, Naven, Resp, Start, key};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Most that the server's memory may grow by, whatever comes.
const GROWTH_KIB_MAX: u64 = 64 * 1024;
const SLOW: usize = 1_000;
const SLOW_SECONDS: u64 = 25;
const UNREAD_CONNECTIONS: usize = 64;
const UNREAD_EACH: usize = 4;
const PAYLOAD_BYTES: usize = 256 * 1024 - 64;
const PIPELINED: usize = 10_000;
/// A stream of 16 MiB.
const ENTRIES: usize = 8 * 1024;
const ENTRY_BYTES: usize = 2 * 1024;
/// Far above what anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn slow_and_hostile_clients_cost_little_and_a_good_one_is_served() {
    let naven = Start::serve().ready();
    let good = naven.client();
    good.post("/v1/event-queues", r#"{"name":"good"}"#).success();
    good.post("/v1/event-queues", r#"{"name":"large"}"#).success();
    let large = json!({"payload": {"text": "x".repeat(PAYLOAD_BYTES)}}).to_string();
    let event = good.post("/v1/event-queues/large/events", &large).success()["id"].clone();
    let event = event.as_str().expect("an id").to_owned();
    (0..200).for_each(|_| _ = one_life(&good));

    let watch = Watch::begin(&naven, move || one_life(&good));
    let runtime = Runtime::new().expect("a runtime starts");
    let slow = runtime.block_on(slow_clients(&naven.http));
    println!("hostile: {slow}");
    runtime.block_on(unread_answers(&naven.http, &event));
    runtime.block_on(pipelined(&naven.http));
    runtime.block_on(malformed(&naven.http));
    let (grown, p99, lives) = watch.end();
    println!("hostile: memory grew by {grown} KiB; of {lives} lives of a good client's events p99 {p99:?}");
    assert!(grown <= GROWTH_KIB_MAX, "{grown} KiB");
    assert!(lives > 100, "{lives}");
    naven.signal("TERM");
    assert_eq!(naven.ended().code, Some(0));
}

#[test]
fn a_redis_client_that_never_reads_costs_little_and_another_is_served() {
    let naven = Start::serve().ready();
    let mut good = Resp::open(naven.redis(), key());
    let entry = |n: usize| format!("XADD big * n {n} text {}", "x".repeat(ENTRY_BYTES));
    good.all(&(0..ENTRIES).map(entry).collect::<Vec<_>>());
    read_in_pages(&mut good);
    let mut one_entry = move || {
        let begun = Instant::now();
        good.done("XADD other * n 1");
        good.done("XLEN other");
        begun.elapsed()
    };
    (0..200).for_each(|_| _ = one_entry());

    let watch = Watch::begin(&naven, one_entry);
    let mut hostile = std::net::TcpStream::connect(naven.redis()).expect("a connection is taken");
    hostile.set_write_timeout(Some(Duration::from_secs(5))).expect("a fresh socket takes options");
    let calls = format!("AUTH {}\r\n{}", key(), "XRANGE big - +\r\n".repeat(PIPELINED));
    // The server may have had enough of them before it has them all.
    let _ = hostile.write_all(calls.as_bytes());
    std::thread::sleep(Duration::from_secs(5));
    let (grown, p99, lives) = watch.end();
    println!("hostile: memory grew by {grown} KiB; of {lives} adds of another client p99 {p99:?}");
    assert!(grown <= GROWTH_KIB_MAX, "{grown} KiB");
    assert!(lives > 50, "{lives}");
    let mut first = [0; 5];
    hostile.read_exact(&mut first).expect("there is an answer");
    assert_eq!(&first, b"+OK\r\n");

    let begun = Instant::now();
    naven.signal("TERM");
    assert_eq!(naven.ended().code, Some(0));
    println!("hostile: the server ended in {:?}, with answers that nobody reads", begun.elapsed());
    // A second, and three on a crowded machine.
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

/// What the engine keeps at hand of a stream that is read is its own, and bounded: it is there from then on.
fn read_in_pages(redis: &mut Resp) {
    let mut from = "-".to_owned();
    loop {
        let page = redis.done(&format!("XRANGE big {from} + COUNT 100"));
        let Some(last) = page.list().last() else { return };
        from = format!("({}", last.list()[0].text());
    }
}

/// Publishes, claims and acks one event; how long that took.
fn one_life(good: &Http) -> Duration {
    let begun = Instant::now();
    good.post("/v1/event-queues/good/events", r#"{"payload":{}}"#).success();
    let claim = good.post("/v1/event-queues/good/claim", r#"{"waitSeconds":0}"#).success();
    let (id, token) = (claim["event"]["id"].as_str(), claim["leaseToken"].as_str());
    let (id, token) = (id.expect("an event"), token.expect("a token"));
    good.post(&format!("/v1/events/{id}/ack"), &json!({"leaseToken": token}).to_string()).success();
    begun.elapsed()
}

/// A good client at work, and the server's memory, until the end.
struct Watch {
    over: Arc<AtomicBool>,
    most: Arc<AtomicU64>,
    before: u64,
    good: std::thread::JoinHandle<Vec<Duration>>,
    memory: std::thread::JoinHandle<()>,
}

impl Watch {
    fn begin(naven: &Naven, mut good: impl FnMut() -> Duration + Send + 'static) -> Self {
        let (over, most) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (pid, before) = (naven.pid(), resident_kib(naven.pid()));
        let (ends, peak) = (Arc::clone(&over), Arc::clone(&most));
        let memory = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                peak.fetch_max(resident_kib(pid), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let ends = Arc::clone(&over);
        let good = std::thread::spawn(move || {
            let mut lives = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                lives.push(good());
                std::thread::sleep(Duration::from_millis(20));
            }
            lives
        });
        Self { over, most, before, good, memory }
    }

    fn end(self) -> (u64, Duration, usize) {
        self.over.store(true, Ordering::Relaxed);
        let mut lives = self.good.join().expect("the good client is served");
        self.memory.join().expect("memory can be read");
        lives.sort_unstable();
        let p99 = lives[(lives.len() * 99 / 100).min(lives.len() - 1)];
        (self.most.load(Ordering::Relaxed).saturating_sub(self.before), p99, lives.len())
    }
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the server lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it tells its memory");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

async fn connect(http: &str) -> TcpStream {
    TcpStream::connect(http).await.expect("a connection is taken")
}

fn head(method: &str, path: &str, more: &str) -> String {
    let key = key();
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{more}\r\n")
}

/// A thousand connections, each with a byte every five seconds: half within a head, half within a body.
async fn slow_clients(http: &str) -> String {
    let mut all = JoinSet::new();
    for at in 0..SLOW {
        let http = http.to_owned();
        all.spawn(async move {
            let mut stream = connect(&http).await;
            let in_body = at % 2 == 0;
            if in_body {
                let body = "Content-Type: application/json\r\nContent-Length: 100000\r\n";
                let head = head("POST", "/v1/event-queues/good/events", body);
                stream.write_all(head.as_bytes()).await.expect("a head is taken");
            }
            drip(&mut stream, if in_body { b"{" } else { b"G" }).await
        });
    }
    let (mut ended, mut open) = (0, 0);
    while let Some(outcome) = all.join_next().await {
        match outcome.expect("no client fails") {
            true => open += 1,
            false => ended += 1,
        }
    }
    // A head has ten seconds in all; a body may go on for two minutes.
    assert_eq!((ended, open), (SLOW / 2, SLOW / 2), "ended and open after {SLOW_SECONDS} s");
    format!("{ended} slow heads were ended, {open} slow bodies were still waited for")
}

/// True where the connection is still open at the end.
async fn drip(stream: &mut TcpStream, byte: &[u8]) -> bool {
    let until = Instant::now() + Duration::from_secs(SLOW_SECONDS);
    let mut answer = [0; 512];
    while Instant::now() < until {
        if stream.write_all(byte).await.is_err() {
            return false;
        }
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut answer));
        if let Ok(Ok(0) | Err(_)) = read.await {
            return false;
        }
    }
    true
}

/// 64 MiB of answers that nobody reads, until the server has had enough of it.
async fn unread_answers(http: &str, event: &str) {
    let request = head("GET", &format!("/v1/events/{event}"), "").repeat(UNREAD_EACH);
    let mut streams = Vec::new();
    for _ in 0..UNREAD_CONNECTIONS {
        let mut stream = connect(http).await;
        stream.write_all(request.as_bytes()).await.expect("requests are taken");
        streams.push(stream);
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut first = [0; 15];
    let one = streams.last_mut().expect("there are some");
    one.read_exact(&mut first).await.expect("there is an answer");
    assert_eq!(&first, b"HTTP/1.1 200 OK");
}

/// Ten thousand requests in one go: each is answered, in order.
async fn pipelined(http: &str) {
    let stream = connect(http).await;
    let (mut read, mut write) = stream.into_split();
    let sender = tokio::spawn(async move {
        for at in 0..PIPELINED {
            let request = head("GET", "/healthz", &format!("Naven-Request-Id: p{at:05}\r\n"));
            write.write_all(request.as_bytes()).await.expect("requests are taken");
        }
        write
    });
    let (mut seen, mut buffer, mut next) = (Vec::new(), vec![0; 64 * 1024], 0);
    while next < PIPELINED {
        let count = tokio::time::timeout(PATIENCE, read.read(&mut buffer)).await.expect("answers come");
        let count = count.expect("the connection is open");
        assert!(count > 0, "closed after {next} answers");
        seen.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&seen).to_ascii_lowercase();
        let mut rest = text.as_str();
        while let Some(at) = rest.find("naven-request-id: p").filter(|at| rest.len() > at + 24) {
            assert_eq!(rest[at + 19..at + 24].parse(), Ok(next), "answers come in order");
            rest = &rest[at + 24..];
            next += 1;
        }
        seen = rest.as_bytes().to_vec();
    }
    drop(sender.await.expect("all were sent"));
}

/// Requests whose length can be read in two ways, or in none: nothing behind them is read.
async fn malformed(http: &str) {
    let json = "Content-Type: application/json\r\n";
    let chunked = format!("{json}Transfer-Encoding: chunked\r\n");
    let behind = head("GET", "/healthz", "");
    let cases = [
        ("both lengths", format!("{json}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"), "0\r\n\r\n{}"),
        ("two lengths", format!("{json}Content-Length: 2\r\nContent-Length: 3\r\n"), "{} "),
        ("a signed length", format!("{json}Content-Length: +2\r\n"), "{}"),
        ("a list of lengths", format!("{json}Content-Length: 2, 3\r\n"), "{} "),
        ("a size that is none", chunked.clone(), "zz\r\n{}\r\n0\r\n\r\n"),
        ("a negative size", chunked.clone(), "-2\r\n{}\r\n0\r\n\r\n"),
        ("a size of 17 digits", chunked.clone(), "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
        ("a piece without its end", chunked.clone(), "2\r\n{}0\r\n\r\n"),
        ("a piece longer than said", chunked, "1\r\n{}\r\n0\r\n\r\n"),
    ];
    for (what, more, body) in cases {
        let mut stream = connect(http).await;
        let request = head("POST", "/v1/event-queues/large/pause", &more) + body + &behind;
        stream.write_all(request.as_bytes()).await.expect("bytes are taken");
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        let ended = read.unwrap_or_else(|_| panic!("{what}: the connection was not ended"));
        // A reset is an end too: there were bytes that nobody will read.
        drop(ended);
        let answer = String::from_utf8_lossy(&answer);
        // With both lengths the chunks count, and the connection ends behind them (RFC 9112, 6.1).
        let is_refused = answer.is_empty() || answer.starts_with("HTTP/1.1 400");
        assert!(is_refused || what == "both lengths", "{what}: {answer}");
        assert!(answer.matches("HTTP/1.1").count() <= 1, "{what}: what is behind it was read: {answer}");
    }
}
