//! FC-05: a lease that is lost before its attempt is settled stops nobody.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::consumer::Consumer;
use crate::{event, publish, server};

/// Hands connections on, but for the heartbeats of one event.
struct Proxy {
    url: String,
    dropped: Arc<AtomicU32>,
    nacks: Arc<AtomicU32>,
    /// Of which event heartbeats are dropped, and until when. What goes out with one goes with it.
    target: Arc<Mutex<Option<(String, Instant)>>>,
}

impl Proxy {
    fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (dropped, nacks) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let target = Arc::new(Mutex::new(None));
        let (counting, looking, refusing) = (Arc::clone(&dropped), Arc::clone(&target), Arc::clone(&nacks));
        // Ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&upstream).expect("the server is there");
                let back = (server.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
                let (counting, looking) = (Arc::clone(&counting), Arc::clone(&looking));
                let refusing = Arc::clone(&refusing);
                thread::spawn(move || {
                    hand_on(client, server, |piece| {
                        let line = piece.split(|byte| *byte == b'\n').next().unwrap_or_default();
                        let is_nack = String::from_utf8_lossy(line).contains("/nack ");
                        refusing.fetch_add(u32::from(is_nack), Ordering::Relaxed);
                        is_dropped(piece, &looking, &counting)
                    })
                });
                thread::spawn(move || hand_on(back.0, back.1, |_| false));
            }
        });
        Self { url, dropped, nacks, target }
    }
}

#[expect(clippy::disallowed_methods, reason = "the case names times, by the real clock")]
fn is_dropped(piece: &[u8], target: &Mutex<Option<(String, Instant)>>, dropped: &AtomicU32) -> bool {
    let target = target.lock().expect("nobody panics");
    let is_it = target.as_ref().is_some_and(|(event, until)| {
        let request = String::from_utf8_lossy(piece);
        request.starts_with("POST /v1/leases/heartbeat ")
            && request.contains(event)
            && Instant::now() < *until
    });
    dropped.fetch_add(u32::from(is_it), Ordering::Relaxed);
    is_it
}

/// A request is one piece: it is small, and its connection carries one at a time.
fn hand_on(mut from: TcpStream, mut to: TcpStream, is_dropped: impl Fn(&[u8]) -> bool) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(len @ 1..) = from.read(&mut piece) {
        if is_dropped(&piece[..len]) || to.write_all(&piece[..len]).is_err() {
            break;
        }
    }
    // Either may be closed already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the case names times, by the real clock")]
fn fc05_a_lease_that_is_lost_at_settle_time_frees_its_slot_and_the_others_go_on() {
    let (naven, http) = server();
    let proxy = Proxy::start(naven.http.clone());
    let lost = publish(&http, r#"{"payload":{"is":"slow"}}"#);
    let until = Instant::now() + Duration::from_secs(5);
    *proxy.target.lock().expect("nobody panics") = Some((lost.clone(), until));
    // Its first handler fails, long after its lease; the second does not.
    let script = r#"case "$(cat) $NAVEN_ATTEMPT" in *slow*' 1') trap '' TERM; sleep 4; exit 3 ;; esac"#;
    let args =
        ["--concurrency", "4", "--lease-seconds", "2", "--grace-seconds", "9", "--exec", "sh", "-c", script];
    let consumer = Consumer::start_at(&naven, &proxy.url, "q", &args);
    naven.wait_until("the first lease", |_| event(&http, &lost)["state"] == "leased");
    let others: Vec<String> = (0..100).map(|_| publish(&http, r#"{"payload":{}}"#)).collect();
    for id in &others {
        naven.wait_until("an event that others wait for", |_| event(&http, id)["state"] == "done");
    }
    naven.wait_until("the lost event", |_| event(&http, &lost)["state"] == "done");
    // Long enough for whatever might be said of the first attempt.
    sleep(until.saturating_duration_since(Instant::now()));
    let ended = consumer.ended_by("TERM");
    assert!(proxy.dropped.load(Ordering::Relaxed) >= 2, "no heartbeat was dropped");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // What is known to be lost is not nacked, and nothing else failed.
    assert_eq!(proxy.nacks.load(Ordering::Relaxed), 0);
    // Once for each lease; the second one's heartbeats may be among those that are dropped.
    for fence in 1..=2 {
        let told = ended.stderr.matches(&format!("attempt={fence} fence={fence} ")).count();
        assert!(told == 1 || (told == 0 && fence == 2), "{ended:?}");
    }
    assert!(ended.stderr.contains("101 done, 0 not done, "), "{ended:?}");
    let attempts = &http.get(&format!("/v1/events/{lost}/timeline")).success()["items"];
    let outcomes: Vec<_> = attempts.as_array().expect("a list").iter().map(|one| &one["outcome"]).collect();
    assert!(
        outcomes.len() >= 2 && outcomes.iter().all(|one| **one == "expired" || **one == "acked"),
        "{attempts}"
    );
}
