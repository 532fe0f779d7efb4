//! `naven consume`: programs as consumers, in real processes.
//!
//! Lives here: what exit codes do, what a program is told, and how it is ended. Not here: leases and settling by a clock that
//! tests move (`naven-client`), and field cases of the server (`field_cases`).

#[path = "../support/mod.rs"]
mod support;

mod consumer;
mod fc05_lost_lease_at_settle_time;
mod fc06_starved_cpu;
mod fc07_heartbeats_stop_at_shutdown;
mod fc08_attempts_used_up;
mod forward;
mod receiver;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{Http, Naven, Start, key};

use consumer::Consumer;

fn server() -> (Naven, Http) {
    let naven = Start::serve().ready();
    let http = Http::new(&naven.http, key());
    http.post("/v1/event-queues", r#"{"name":"q"}"#).success();
    (naven, http)
}

fn publish(http: &Http, body: &str) -> String {
    let event = http.post("/v1/event-queues/q/events", body).success();
    event["id"].as_str().expect("an id").to_owned()
}

fn event(http: &Http, id: &str) -> Value {
    http.get(&format!("/v1/events/{id}")).success()
}

/// What this file has, once it is there as a whole.
fn file(naven: &Naven, path: &Path) -> String {
    let text = || fs::read_to_string(path).unwrap_or_default();
    naven.wait_until("a file of the program", |_| text().ends_with('\n'));
    text()
}

/// Ends as its payload says, which is `{"code":N}`.
const EXIT_AS_TOLD: &str =
    r#"read -r payload; code=${payload#*:}; code=${code%\}}; echo "it is $code" >&2; exit "$code""#;

#[test]
fn an_exit_code_says_what_becomes_of_an_event() {
    let (naven, http) = server();
    let codes = [(0, "done"), (65, "dead"), (75, "retrying"), (3, "retrying")];
    let ids = codes.map(|(code, _)| publish(&http, &format!(r#"{{"payload":{{"code":{code}}}}}"#)));
    let args = ["--retry-seconds", "3600", "--exec", "sh", "-c", EXIT_AS_TOLD];
    let consumer = Consumer::start(&naven, "q", &args);
    for (id, (code, state)) in ids.iter().zip(codes) {
        naven.wait_until("the end of an attempt", |_| event(&http, id)["state"] == state);
        let attempts = &http.get(&format!("/v1/events/{id}/timeline")).success()["items"];
        let error = if code == 0 { Value::Null } else { format!("exit code {code}: it is {code}").into() };
        assert_eq!(attempts[0]["error"], error, "{attempts}");
    }
    let (told, by_backoff) = (event(&http, &ids[2]), event(&http, &ids[3]));
    let next = |event: &Value| event["nextAttemptAt"].as_str().expect("it is tried again").to_owned();
    assert!(next(&told) > next(&by_backoff), "{told} {by_backoff}");
    let ended = consumer.ended_by("TERM");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("1 done, 3 not done, 0 leases lost"), "{ended:?}");
}

#[test]
fn a_program_is_told_of_its_event_and_given_the_payload_byte_for_byte() {
    let (naven, http) = server();
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told");
    let payload = r#"{"a": 1.50, "é":"😀","n":[1, 2]}"#;
    let id = publish(&http, &format!(r#"{{"payload":{payload},"headers":{{"k":"v"}}}}"#));
    let script = format!(
        r#"{{ cat; echo; echo "$NAVEN_EVENT_ID $NAVEN_QUEUE $NAVEN_ATTEMPT $NAVEN_FENCE $NAVEN_HEADERS"; }} > '{0}.new'; mv '{0}.new' '{0}'"#,
        told.display()
    );
    let _consumer = Consumer::start(&naven, "q", &["--exec", "sh", "-c", &script]);
    assert_eq!(file(&naven, &told), format!("{payload}\n{id} q 1 1 {{\"k\":\"v\"}}\n"));
}

#[test]
fn a_program_whose_lease_is_lost_is_sent_sigterm_then_sigkill() {
    let (naven, http) = server();
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    // One ends when it is asked to; so does the other, but not what it started.
    let script = format!(
        r#"cd '{}'; case $(cat) in
           *polite*) trap 'echo asked > polite; exit 0' TERM; echo $$ > begun-polite; sleep 60 & wait ;;
           *) (trap '' TERM; while :; do sleep 60; done) & echo $! > started-stubborn; echo $$ > begun-stubborn; wait ;;
           esac"#,
        folder.path().display()
    );
    publish(&http, r#"{"payload":{"is":"polite"}}"#);
    publish(&http, r#"{"payload":{"is":"stubborn"}}"#);
    let args =
        ["--concurrency", "2", "--lease-seconds", "2", "--grace-seconds", "1", "--exec", "sh", "-c", &script];
    let consumer = Consumer::start(&naven, "q", &args);
    let pids = ["begun-polite", "begun-stubborn", "started-stubborn"].map(|name| file(&naven, &at(name)));
    // Nobody knows its events any more.
    http.call("DELETE", "/v1/event-queues/q?force=true", "").success();
    assert_eq!(file(&naven, &at("polite")), "asked\n");
    for pid in pids {
        let process = format!("/proc/{}", pid.trim());
        naven.wait_until("the end of a program", |_| !Path::new(&process).exists());
    }
    // There is no such queue to claim from, so it ends with an error.
    let ended = consumer.ended();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("cannot be claimed: 40401 queue_not_found"), "{ended:?}");
}

#[test]
fn a_second_signal_ends_what_runs_and_gives_its_event_back() {
    let (naven, http) = server();
    let id = publish(&http, r#"{"payload":{}}"#);
    let args = ["--drain-seconds", "600", "--exec", "sh", "-c", "echo begun >&2; exec sleep 600"];
    let consumer = Consumer::start(&naven, "q", &args);
    consumer.wait_until_it_says("begun");
    consumer.signal("HUP");
    consumer.wait_until_it_says("no further claim");
    let ended = consumer.ended_by("INT");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("0 done, 1 not done, 0 leases lost"), "{ended:?}");
    let event = event(&http, &id);
    assert_eq!((&event["state"], &event["attemptCount"]), (&"ready".into(), &0.into()), "{event}");
}

#[test]
fn what_cannot_be_run_or_set_is_a_usage_error() {
    let (naven, _) = server();
    for (args, why) in [
        (&["--exec", "no-such-program-here"][..], "exec: no-such-program-here is in no folder of PATH"),
        (&["--exec", "./no/such/file"], "exec: there is no program ./no/such/file"),
        (&["--concurrency", "0", "--exec", "true"], "0 is not in 1..=1000"),
        (&["--lease-seconds", "0", "--exec", "true"], "expected an integer from 1 to 43200, found 0"),
        (&[], "--exec"),
    ] {
        let ended = Consumer::start(&naven, "q", args).ended();
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(why), "{args:?}: {ended:?}");
    }
}
