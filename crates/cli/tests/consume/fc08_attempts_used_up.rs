//! FC-08, with the runtime: a handler of many leases uses up one attempt.
//!
//! The same with heartbeats by hand, and without any, is in `field_cases`.

use crate::consumer::Consumer;
use crate::{event, server};

#[test]
fn fc08_a_program_of_many_leases_has_one_attempt() {
    let (naven, http) = server();
    http.post("/v1/event-queues", r#"{"name":"three","maxAttempts":3}"#).success();
    let publish = || http.post("/v1/event-queues/three/events", r#"{"payload":{}}"#).success();
    let ids: Vec<String> = (0..10).map(|_| publish()["id"].as_str().expect("an id").to_owned()).collect();
    let args = ["--concurrency", "10", "--lease-seconds", "2", "--exec", "sleep", "15"];
    let consumer = Consumer::start(&naven, "three", &args);
    for id in &ids {
        naven.wait_until("a long handler", |_| event(&http, id)["state"] == "done");
        let event = event(&http, id);
        let counts = (&event["attemptCount"], &event["expiryCount"], &event["deliveryCount"]);
        assert_eq!(counts, (&1.into(), &0.into(), &1.into()), "{event}");
    }
    let ended = consumer.ended_by("TERM");
    assert!(ended.stderr.contains("10 done, 0 not done, 0 leases lost"), "{ended:?}");
}
