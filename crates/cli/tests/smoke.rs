//! `naven smoke` against its own server and against a running one.
//!
//! Lives here: that it passes, says so in its agreed lines, and fails where it must. Not here: the
//! guarantees themselves.

mod support;

use support::{Start, key, run};

const LEASES: &str = "ok publish, claim, heartbeat, ack\n\
    ok an expired lease is redelivered once and the stale ack is 409\n\
    ok a repeated ack is 200\n\
    ok the last attempt's failure is a dead letter, and a redrive begins anew\n";
const BOTH_DOORS: &str = "ok both doors see the same event\n";
const NOT_KILLED: &str = "-- kill -9 and restart lose nothing: only against a throw-away server\n\
    -- kill -9 keeps an XADD and last-delivered-id: only against a throw-away server\n";

#[test]
fn it_proves_the_guarantees_on_a_server_of_its_own() {
    // The variables of the user's own server are not meant for the throw-away one.
    let variables =
        [("NAVEN_API_KEY", key()), ("NAVEN_API_URL", "http://127.0.0.1:9"), ("NAVEN_HTTP", "127.0.0.1:9")];
    let ended = run(&["smoke"], &variables);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let killed = "ok kill -9 and restart lose nothing\nok kill -9 keeps an XADD and last-delivered-id\n";
    assert_eq!(ended.stdout, format!("{LEASES}{BOTH_DOORS}{killed}"));
}

#[test]
fn it_proves_them_on_a_running_server_and_leaves_no_queue() {
    let naven = Start::serve().ready();
    let args = ["smoke", "--url", &naven.url(), "--redis", naven.redis()];
    let ended = run(&args, &[("NAVEN_API_KEY", key())]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, format!("{LEASES}{BOTH_DOORS}{NOT_KILLED}"));
    let ended = run(&args[..3], &[("NAVEN_API_KEY", key())]);
    let skipped = "-- both doors see the same event: --redis does not say where the Redis door is\n";
    assert_eq!(ended.stdout, format!("{LEASES}{skipped}{NOT_KILLED}"));
    let queues = naven.client().get("/v1/event-queues").success();
    assert_eq!(queues["items"].as_array().map(Vec::len), Some(0), "{queues}");
}

#[test]
fn a_server_that_does_not_let_it_in_fails_every_check() {
    let naven = Start::serve().ready();
    let wrong = run(&["key", "generate"], &[]).stdout;
    let ended = run(&["smoke", "--url", &naven.url(), "--key", wrong.trim()], &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.stdout.matches("FAILED").count(), 4, "{}", ended.stdout);
    assert!(ended.stdout.contains("40101 key_invalid"), "{}", ended.stdout);
}
