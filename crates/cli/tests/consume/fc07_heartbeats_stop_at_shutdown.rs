//! FC-07: a worker that is told to stop keeps its leases until the last of its work is settled.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::consumer::Consumer;
use crate::{event, publish, server};

#[test]
#[expect(clippy::disallowed_methods, reason = "the case names times, by the real clock")]
fn fc07_heartbeats_go_on_until_the_last_handler_has_settled() {
    let (naven, http) = server();
    let folder = tempfile::tempdir().expect("a folder");
    let others = folder.path().join("others");
    let ids: Vec<String> = (0..5).map(|_| publish(&http, r#"{"payload":{}}"#)).collect();
    let began = Instant::now();
    // One slot more than there are events, so that a claim waits when the signal comes.
    let args =
        ["--concurrency", "6", "--lease-seconds", "3", "--drain-seconds", "20", "--exec", "sleep", "10"];
    let stopped = Consumer::start(&naven, "q", &args);
    naven.wait_until("five leases", |_| ids.iter().all(|id| event(&http, id)["state"] == "leased"));
    let script = format!(r#"echo "$NAVEN_EVENT_ID $NAVEN_ATTEMPT" >> '{}'"#, others.display());
    let other = Consumer::start(&naven, "q", &["--lease-seconds", "3", "--exec", "sh", "-c", &script]);
    sleep(Duration::from_secs(2).saturating_sub(began.elapsed()));
    stopped.signal("TERM");
    // It may take a moment until the signal is seen.
    stopped.wait_until_it_says("no further claim");
    let late = publish(&http, r#"{"payload":{}}"#);
    let ended = stopped.ended();
    let took = began.elapsed();
    println!("five handlers of 10 s, told to stop after 2 s: ended after {took:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("5 done, 0 not done, 0 leases lost"), "{ended:?}");
    assert!((Duration::from_secs(10)..Duration::from_secs(36)).contains(&took), "{took:?}");
    for id in &ids {
        let event = event(&http, id);
        assert_eq!((&event["state"], &event["deliveryCount"]), (&"done".into(), &1.into()), "{event}");
    }
    naven.wait_until("the late event", |_| event(&http, &late)["state"] == "done");
    assert_eq!(other.ended_by("TERM").code, Some(0));
    assert_eq!(fs::read_to_string(&others).expect("the other had one"), format!("{late} 1\n"));
}
