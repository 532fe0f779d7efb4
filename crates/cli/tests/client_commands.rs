//! `publish`, `claim`, `ack` and `nack` against a running server.
//!
//! Lives here: their arguments, their output and their errors. Not here: what the calls mean.

mod support;

use serde_json::Value;
use support::{Ended, Naven, Start, key, run, run_with_input};

fn server() -> Naven {
    let naven = Start::serve().ready();
    naven.client().post("/v1/event-queues", r#"{"name":"mail"}"#).success();
    naven
}

fn command_with_input(naven: &Naven, args: &[&str], input: &str) -> Ended {
    let url = naven.url();
    let variables = [("NAVEN_API_URL", url.as_str()), ("NAVEN_API_KEY", key()), ("NAVEN_QUEUE_ID", "mail")];
    run_with_input(args, &variables, input)
}

fn command(naven: &Naven, args: &[&str]) -> Ended {
    command_with_input(naven, args, "")
}

fn json(ended: Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("one JSON text: {ended:?}"))
}

#[test]
fn an_event_goes_through_from_publish_to_ack() {
    let naven = server();
    let payload = r#"{"n":1.50,"a":1,"a":2}"#;
    let published = json(command(&naven, &["publish", payload, "--header", "k=a=b", "--max-attempts", "3"]));
    let claimed =
        command(&naven, &["claim", "--lease-seconds", "900", "--wait-seconds", "5", "--consumer-id", "w"]);
    assert!(claimed.stdout.contains(payload), "byte for byte: {}", claimed.stdout);
    assert_eq!(claimed.stdout.lines().count(), 1, "a pipe gets JSON lines");
    let claimed = json(claimed);
    assert_eq!(claimed["event"]["id"], published["id"]);
    assert_eq!(claimed["event"]["headers"]["k"], "a=b");
    let (event, token) = (claimed["event"]["id"].as_str(), claimed["leaseToken"].as_str());
    let (event, token) = (event.expect("an id"), token.expect("a token"));
    let acked = json(command_with_input(&naven, &["ack", event, "--token", "-"], &format!("{token}\n")));
    assert_eq!((&acked["state"], &acked["replayed"]), (&Value::from("done"), &Value::from(false)));
    assert_eq!(json(command(&naven, &["ack", event, "--token", token]))["replayed"], true);

    let late = command(&naven, &["nack", event, "--token", token]);
    assert_eq!(late.code, Some(1));
    assert!(late.stderr.starts_with("error: 40902 lease_settled: "), "{}", late.stderr);
    assert_eq!(late.stdout, "");
}

#[test]
fn a_payload_comes_from_standard_input_or_a_file_and_may_be_put_off() {
    let naven = server();
    let text = r#"{"from":"stdin"}"#;
    let later = json(command_with_input(&naven, &["publish", "-", "--delay-seconds", "3600"], text));
    assert_eq!(later["state"], "scheduled");
    let file = naven.cwd().join("payload.json");
    std::fs::write(&file, r#"{"from":"file"}"#).expect("a file");
    let at = format!("@{}", file.display());
    json(command(&naven, &["publish", &at, "--scheduled-at", "2001-01-01T00:00:00+01:00"]));
    let claimed = json(command(&naven, &["claim", "--wait-seconds", "5"]));
    assert_eq!(claimed["event"]["payload"]["from"], "file");
    assert_eq!(claimed["event"]["scheduledAt"], "2000-12-31T23:00:00.000Z");
}

#[test]
fn several_events_are_claimed_at_once_and_one_is_given_up() {
    let naven = server();
    for n in 0..3 {
        json(command(&naven, &["publish", &format!("{{\"n\":{n}}}")]));
    }
    let claimed = command(&naven, &["claim", "--max-events", "2", "--output", "json"]);
    let claims = json(claimed);
    assert_eq!(claims.as_array().map(Vec::len), Some(2));
    let (event, token) = (claims[0]["event"]["id"].as_str(), claims[0]["leaseToken"].as_str());
    let (event, token) = (event.expect("an id"), token.expect("a token"));
    let args = ["nack", event, "--token", token, "--mode", "fatal", "--error", "no such address"];
    assert_eq!(json(command(&naven, &args))["state"], "dead");
    let table = command(&naven, &["claim", "--output", "table"]);
    assert!(table.stdout.contains("payload       {\"n\":2}\n"), "{}", table.stdout);
}

#[test]
fn dead_letters_are_grouped_brought_back_and_forgotten() {
    let naven = server();
    let mut ids = Vec::new();
    for n in 0..3 {
        json(command(&naven, &["publish", &format!("{{\"n\":{n}}}")]));
        let claimed = json(command(&naven, &["claim"]));
        let (event, token) = (claimed["event"]["id"].as_str(), claimed["leaseToken"].as_str());
        let (event, token) = (event.expect("an id").to_owned(), token.expect("a token"));
        let error = ["no user 1", "no user 2", "timeout"][n];
        json(command(&naven, &["nack", &event, "--token", token, "--mode", "fatal", "--error", error]));
        ids.push(event);
    }
    let groups = json(command(&naven, &["dead-letter", "groups", "--output", "json"]));
    assert_eq!((&groups[0]["count"], &groups[1]["example"]), (&Value::from(2), &Value::from("timeout")));
    let table = command(&naven, &["dead-letter", "list", "--error", "timeout", "--output", "table"]);
    assert!(table.stdout.contains("error     timeout\n"), "{}", table.stdout);
    let dry = json(command(&naven, &["dead-letter", "redrive", "--reason", "fatal", "--dry-run"]));
    assert_eq!(dry["matched"], 3);
    let operation = json(command(&naven, &["dead-letter", "redrive", "--error", "no user"]));
    let id = operation["id"].as_str().expect("an operation");
    let over = json(command(&naven, &["operation", "wait", id]));
    assert_eq!((&over["state"], &over["done"]), (&Value::from("done"), &Value::from(2)));
    assert_eq!(json(command(&naven, &["operation", "show", id]))["id"], operation["id"]);
    assert_eq!(json(command(&naven, &["operation", "list", "--output", "json"]))[0]["id"], operation["id"]);
    let over = command(&naven, &["operation", "cancel", id]);
    assert!(over.stderr.starts_with("error: 40908 wrong_state"), "{}", over.stderr);
    let some = command(&naven, &["dead-letter", "discard", &ids[2], &ids[0], "--output", "table"]);
    assert!(some.stdout.contains(&format!("event  {}: done", ids[2])), "{}", some.stdout);
    assert!(some.stderr.starts_with("error: 1 of 2 were refused"), "{}", some.stderr);
    let which = command(&naven, &["dead-letter", "discard", &ids[2], "--all"]);
    assert!(which.stderr.contains("in one way"), "{}", which.stderr);
}

#[test]
fn a_stream_reaches_its_queues_and_is_looked_at() {
    let naven = server();
    for queue in ["a", "b"] {
        let body = format!(r#"{{"name":"{queue}","stream":"Orders/EU"}}"#);
        naven.client().post("/v1/event-queues", &body).success();
    }
    let args = ["publish", r#"{"n":1.50}"#, "--stream", "Orders/EU", "--dedupe-key", "order 7"];
    let first = json(command(&naven, &args));
    assert_eq!(first["stream"], "Orders/EU", "although NAVEN_QUEUE_ID names a queue");
    let again = json(command(&naven, &args));
    assert_eq!((&again["id"], &again["deduped"]), (&first["id"], &Value::from(true)));
    let args = ["publish", "{}", "--stream", "Orders/EU", "--expires-at", "2036-01-01T00:00:00+01:00"];
    assert_eq!(json(command(&naven, &args))["expiresAt"], "2035-12-31T23:00:00.000Z");

    let streams = command(&naven, &["stream", "list", "--output", "json"]);
    assert_eq!(json(streams)[0]["name"], "Orders/EU", "newest first");
    let shown = json(command(&naven, &["stream", "show", "Orders/EU"]));
    assert_eq!((&shown["length"], &shown["groups"][1]["name"]), (&Value::from(2), &Value::from("b")));
    let table = command(&naven, &["stream", "show", "Orders/EU", "--output", "table"]);
    assert!(table.stdout.contains("queue      a: 2 unread, 0 pending, 0 dead\n"), "{}", table.stdout);
    let last = ["stream", "entries", "Orders/EU", "--reverse", "--limit", "1"];
    assert_eq!(json(command(&naven, &last))["payload"], serde_json::json!({}));
    let id = first["streamId"].as_str().expect("it has a place");
    let until = command(&naven, &["stream", "entries", "Orders/EU", "--end", id]);
    assert!(until.stdout.contains(r#""payload":{"n":1.50}"#), "byte for byte: {}", until.stdout);

    let claimed = json(command(&naven, &["claim", "--queue", "a"]));
    assert_eq!(claimed["event"]["id"], first["id"]);
    let reset = ["stream", "reset", "Orders/EU", "--queue", "a", "--id", "0-0"];
    assert_eq!(json(command(&naven, &reset))["counts"]["ready"], 2);
    let full = command(&naven, &["stream", "delete", "Orders/EU"]);
    assert!(full.stderr.starts_with("error: 40907 queue_not_empty"), "{}", full.stderr);
    assert_eq!(json(command(&naven, &["stream", "delete", "Orders/EU", "--force"]))["deleted"], true);
    let gone = command(&naven, &["stream", "show", "Orders/EU"]);
    assert!(gone.stderr.starts_with("error: 40404 stream_or_group_not_found"), "{}", gone.stderr);
}

#[test]
fn nothing_to_claim_is_no_failure() {
    let naven = server();
    for (output, expected) in [("jsonl", ""), ("json", "null\n"), ("table", "")] {
        let ended = command(&naven, &["claim", "--wait-seconds", "0", "--output", output]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), expected), "{output}");
    }
}

#[test]
fn a_refusal_names_code_and_fields() {
    let naven = server();
    let ended = command(&naven, &["publish", "{}", "--max-attempts", "1001"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("40001 invalid_field") && ended.stderr.contains("maxAttempts"),
        "{}",
        ended.stderr
    );
    // What begins with a hyphen is a token all the same, if a wrong one.
    let event = json(command(&naven, &["publish", "{}"]));
    let id = event["id"].as_str().expect("an id");
    let ended = command(&naven, &["nack", id, "--token", "-x", "--error", "-1 left"]);
    assert!(ended.stderr.starts_with("error: 40901 lease_lost"), "{}", ended.stderr);
    let ended = command(&naven, &["publish", "{}", "--queue", "nowhere"]);
    assert!(ended.stderr.starts_with("error: 40401 queue_not_found"), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_sent_is_a_usage_error() {
    let naven = server();
    for args in [
        &["publish", "{not json"][..],
        &["publish", "[1]"],
        &["publish", "{}", "--delay-seconds", "1", "--scheduled-at", "2030-01-01T00:00:00Z"],
        &["publish", "{}", "--scheduled-at", "tomorrow"],
        &["publish", "{}", "--expires-at", "tomorrow"],
        &["publish", "{}", "--dedupe-key", ""],
        &["publish", "{}", "--queue", "mail", "--stream", "mail"],
        &["stream", "reset", "mail"],
        &["stream", "reset", "mail", "--id", "0"],
        &["stream", "reset", "mail", "--id", "0-0", "--time", "2026-01-01T00:00:00Z"],
        &["claim", "--lease-seconds", "0"],
        &["claim", "--wait-seconds", "61"],
        &["ack", "not-an-id", "--token", "t"],
        &["ack", "evt_00000000000000000000000000"],
        &["claim", "--url", "ftp://h"],
        &["claim", "--key", ""],
    ] {
        assert_eq!(command(&naven, args).code, Some(2), "{args:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_a_failure_that_says_so() {
    let ended = run(&["claim", "--queue", "q", "--url", "http://127.0.0.1:9"], &[("NAVEN_API_KEY", key())]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("error: no answer from http://127.0.0.1:9: "), "{}", ended.stderr);
}
