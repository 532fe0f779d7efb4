//! Many dead letters at once: their groups, redrive and discard, operations.
//!
//! Lives here: what the door says of them. Not here: one dead letter (`dead_letters.rs`), and how
//! operations go on (the engines' suite).

use std::time::Duration;

use serde_json::{Value, json};

use crate::Factory;
use crate::shape::assert_shape;
use crate::test_server::TestServer;

const LETTERS: &str = "/v1/event-queues/mail/dead-letters";

/// Publishes an event and lets it fail for good with this error.
async fn die_of(server: &TestServer, error: &str) -> (String, Value) {
    let id = server.publish("mail", 1).await;
    let claim = server.claim("mail", 30).await;
    server.settle("nack", &claim, json!({ "mode": "fatal", "error": error })).await.data();
    server.advance(1);
    (id, claim)
}

async fn counts(server: &TestServer) -> Value {
    server.get("/v1/event-queues/mail").await.data()["counts"].clone()
}

/// The operation once it is over.
async fn over(server: &TestServer, operation: &Value) -> Value {
    let path = format!("/v1/operations/{}", operation["id"].as_str().unwrap());
    for _ in 0..200 {
        let shown = server.get(&path).await.data();
        if !["pending", "running"].contains(&shown["state"].as_str().unwrap()) {
            return shown;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{operation} does not end")
}

pub(crate) async fn dead_letters_are_grouped_and_filtered_by_error(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    die_of(&server, "no user 1").await;
    die_of(&server, "timeout").await;
    let (last, _) = die_of(&server, "no user 22").await;
    let groups = server.get(&format!("{LETTERS}?groupBy=error")).await.data();
    let group = |count: u64, example: &str| {
        json!({
            "fingerprint": "$text", "reason": "fatal", "example": example, "count": count,
            "firstDeadAt": "$time", "lastDeadAt": "$time", "exampleEventId": "$evt"
        })
    };
    let items = json!([group(2, "no user 22"), group(1, "timeout")]);
    assert_shape(&groups, &json!({ "items": items, "groupsLeftOut": 0, "scanTruncated": false }));
    assert_eq!(groups["items"][0]["exampleEventId"], json!(last));
    let one = server.get(&format!("{LETTERS}?groupBy=error&limit=1")).await.data();
    assert_eq!((one["items"].as_array().unwrap().len(), &one["groupsLeftOut"]), (1, &json!(1)));

    let print = groups["items"][0]["fingerprint"].as_str().unwrap();
    let first = groups["items"][0]["firstDeadAt"].as_str().unwrap();
    for (filter, found) in [
        (format!("error={print}"), 2),
        ("error=no+user&reason=fatal".to_owned(), 2),
        ("reason=expired_attempts".to_owned(), 0),
        (format!("diedAfter={first}"), 3),
        (format!("diedBefore={first}"), 0),
    ] {
        let page = server.get(&format!("{LETTERS}?{filter}")).await.data();
        assert_eq!(page["items"].as_array().unwrap().len(), found, "{filter}");
        assert_eq!((&page["scanTruncated"], &page["nextCursor"]), (&json!(false), &Value::Null));
    }
    let page = server.get(&format!("{LETTERS}?error=no+user&limit=1")).await.data();
    let cursor = page["nextCursor"].as_str().expect("there is a second page");
    let next = format!("{LETTERS}?error=no+user&limit=1&cursor={cursor}");
    assert_eq!(server.get(&next).await.data()["items"].as_array().unwrap().len(), 1);
    for other in [format!("error=timeout&cursor={cursor}"), format!("cursor={cursor}")] {
        assert_eq!(server.get(&format!("{LETTERS}?{other}")).await.code(), 40_005, "{other}");
    }
}

pub(crate) async fn those_that_are_named_are_redriven_or_discarded_at_once(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({ "maxAttempts": 1 })).await;
    let (one, _) = die_of(&server, "a").await;
    let (two, claim) = die_of(&server, "b").await;
    let redrive = format!("{LETTERS}/redrive");
    let dry = server.post(&redrive, json!({ "ids": [one, two, one, "x"], "dryRun": true })).await.data();
    assert_eq!(dry, json!({ "matched": 2, "scanTruncated": false }));
    assert_eq!(counts(&server).await["dead"], 2, "a dry run does nothing");

    let done = server.post(&redrive, json!({ "ids": [one] })).await;
    let item = |index: u32, id: &str| json!({ "index": index, "eventId": id, "code": 0, "message": "ok", "data": null });
    assert_eq!((done.code(), done.data()), (0, json!({ "items": [item(0, &one)] })));
    let some = server.post(&redrive, json!({ "ids": [one, two, "x"], "resetAttempts": false })).await;
    assert_eq!((some.status, some.code()), (207, 20_700));
    let data = &some.envelope()["data"];
    assert_eq!((&data["failed"], &data["items"][1]), (&json!(2), &item(1, &two)));
    assert_eq!((&data["items"][0]["code"], &data["items"][2]["code"]), (&json!(40_908), &json!(40_402)));
    assert_eq!(data["items"][0]["data"]["reason"], "wrong_state");
    assert_eq!(counts(&server).await["ready"], 2);
    let attempts = [server.claim("mail", 5).await, server.claim("mail", 5).await]
        .map(|claim| claim["event"]["attemptCount"].as_u64().unwrap());
    assert_eq!(attempts, [1, 2], "one began anew, the other goes on");
    assert_eq!(server.settle("ack", &claim, json!({})).await.code(), 40_901);
}

pub(crate) async fn a_discarded_dead_letter_is_gone_for_good(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    let (id, claim) = die_of(&server, "a").await;
    let discard = format!("{LETTERS}/discard");
    let once = server.post_once(&discard, "k", json!({ "ids": [id] })).await;
    assert_eq!((once.code(), once.header("idempotent-replayed")), (0, None));
    let again = server.post_once(&discard, "k", json!({ "ids": [id] })).await;
    assert_eq!((again.code(), again.header("idempotent-replayed")), (0, Some("true")));
    assert_eq!(counts(&server).await["dead"], 0);
    assert_eq!(server.get(LETTERS).await.data()["items"], json!([]));
    for verb in ["ack", "nack", "heartbeat"] {
        assert_eq!(server.settle(verb, &claim, json!({})).await.code(), 40_901, "{verb}");
    }
    assert_eq!(server.post(&discard, json!({ "ids": [id] })).await.code(), 20_700);
    assert_eq!(server.event(&id).await["payload"], Value::Null, "its content is released");
}

pub(crate) async fn an_operation_does_it_in_the_background(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    for error in ["no user 1", "timeout", "no user 2"] {
        die_of(&server, error).await;
    }
    let redrive = format!("{LETTERS}/redrive");
    let some = json!({ "filter": { "error": "no user" } });
    let mut dry = some.clone();
    dry["dryRun"] = json!(true);
    assert_eq!(server.post(&redrive, dry).await.data(), json!({ "matched": 2, "scanTruncated": false }));
    let begun = server.post_once(&redrive, "k", some.clone()).await;
    assert_eq!(begun.status, 202);
    let operation = begun.data();
    assert_eq!(
        begun.header("location"),
        Some(&*format!("/v1/operations/{}", operation["id"].as_str().unwrap()))
    );
    let picture = |state: &str, done: u64, matched: Value| {
        json!({
            "id": operation["id"], "kind": "redrive", "queue": "mail", "queueId": "$evq", "state": state,
            "matched": matched, "done": done, "failed": 0, "error": null, "createdAt": "$time",
            "updatedAt": "$time"
        })
    };
    assert_shape(&operation, &picture("pending", 0, Value::Null));
    assert_shape(&over(&server, &operation).await, &picture("done", 2, json!(2)));
    let again = server.post_once(&redrive, "k", some).await;
    assert_eq!(
        (again.data()["id"].clone(), again.header("idempotent-replayed")),
        (operation["id"].clone(), Some("true"))
    );
    let found = counts(&server).await;
    assert_eq!((&found["ready"], &found["dead"]), (&json!(2), &json!(1)));

    server.advance(1);
    let discard = server.post(&format!("{LETTERS}/discard"), json!({ "all": true })).await.data();
    assert_eq!(discard["matched"], 1);
    assert_eq!(over(&server, &discard).await["done"], 1);
    assert_eq!(counts(&server).await["dead"], 0);
    let path = format!("/v1/operations/{}/cancel", discard["id"].as_str().unwrap());
    assert_eq!(server.call("POST", &path, None).await.code(), 40_908, "it is over");
    let listed = server.get("/v1/operations?limit=1").await.data();
    assert_eq!(listed["items"][0]["id"], discard["id"], "newest first");
    let cursor = listed["nextCursor"].as_str().expect("there is another");
    let rest = server.get(&format!("/v1/operations?cursor={cursor}")).await.data();
    assert_eq!((&rest["items"][0]["id"], &rest["nextCursor"]), (&operation["id"], &Value::Null));
}
