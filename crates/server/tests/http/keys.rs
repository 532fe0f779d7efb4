//! Bearer keys: made, changed, rotated, revoked; what they may hand on, and how often they may call.

use naven_store::Clock;
use serde_json::{Value, json};

use crate::Factory;
use crate::raw::{Answer, request, request_with};
use crate::shape::assert_shape;
use crate::test_server::TestServer;

const ALL: [&str; 4] = ["produce", "consume", "read", "admin"];

/// A call under another key than the server's own.
async fn ask(server: &TestServer, key: &str, line: &str, body: Option<Value>) -> Answer {
    let (method, path) = line.split_once(' ').expect("METHOD PATH");
    server.send(&request(method, path, key, body.map(|body| body.to_string()).as_deref())).await
}

/// A call with `If-Match`.
async fn ask_if(server: &TestServer, tag: &str, line: &str, body: Option<Value>) -> Answer {
    let (method, path) = line.split_once(' ').expect("METHOD PATH");
    let body = body.map(|body| body.to_string());
    server.send(&request_with(method, path, &server.key, &[("If-Match", tag)], body.as_deref())).await
}

/// A new key: its path and its secret.
async fn make(server: &TestServer, key: Value) -> (String, String) {
    let answer = server.post("/v1/keys", key).await;
    assert_eq!(answer.status, 201, "{}", answer.envelope());
    let data = answer.data();
    (format!("/v1/keys/{}", data["id"].as_str().unwrap()), data["secret"].as_str().unwrap().to_owned())
}

pub(crate) async fn a_key_is_made_shown_changed_and_revoked(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", json!({})).await;
    let wanted = json!({ "name": "worker", "scopes": ["read", "consume"], "queues": ["mail", "jobs.*"] });
    let made = server.post("/v1/keys", wanted.clone()).await;
    let data = made.data();
    let path = format!("/v1/keys/{}", data["id"].as_str().unwrap());
    assert_eq!((made.status, made.header("location")), (201, Some(path.as_str())));
    let secret = data["secret"].as_str().unwrap().to_owned();
    let mut picture = json!({
        "id": data["id"], "name": "worker", "prefix": &secret[..30], "scopes": ["consume", "read"],
        "queues": ["mail", "jobs.*"], "expiresAt": null, "rateLimit": null, "overlapUntil": null,
        "createdAt": "$time", "updatedAt": "$time", "lastUsedAt": null
    });
    let shown = server.get(&path).await;
    assert_eq!(shown.header("etag"), Some("\"1\""));
    assert_shape(&shown.data(), &picture);
    assert_eq!(server.post("/v1/keys", wanted).await.code(), 40_903);

    let mail = "GET /v1/event-queues/mail";
    assert_eq!(ask(&server, &secret, mail, None).await.code(), 0);
    assert_eq!(ask(&server, &secret, "POST /v1/event-queues/mail/pause", None).await.code(), 40_300);
    picture["lastUsedAt"] = json!("$time");
    assert_shape(&server.get(&path).await.data(), &picture);
    let me = ask(&server, &secret, "GET /v1/me", None).await.data();
    assert_eq!((&me["name"], &me["keyId"]), (&json!("worker"), &data["id"]));

    let changed = server.call("PATCH", &path, json!({ "scopes": ["admin"], "queues": ["other"] })).await;
    assert_eq!(changed.header("etag"), Some("\"2\""));
    assert_eq!(changed.data()["scopes"], json!(["admin"]));
    assert_eq!(ask(&server, &secret, mail, None).await.code(), 40_401, "from the next call on");
    let gone = server.call("DELETE", &path, None).await.data();
    assert_eq!(gone, json!({ "id": data["id"], "deleted": true }));
    assert_eq!(ask(&server, &secret, mail, None).await.code(), 40_101);
    assert_eq!(server.get(&path).await.code(), 40_405);
    make(&server, json!({ "name": "worker", "scopes": ["read"] })).await;
}

pub(crate) async fn a_rotated_key_has_two_secrets_for_a_while(factory: Factory) {
    let server = TestServer::start(factory).await;
    let (path, first) = make(&server, json!({ "name": "w", "scopes": ["read"] })).await;
    let works = async |secret: &str| ask(&server, secret, "GET /v1/me", None).await.code();
    let rotate = async |overlap: u64| {
        let answer = server.post(&format!("{path}/rotate"), json!({ "overlapSeconds": overlap })).await;
        assert_eq!(answer.status, 200, "{}", answer.envelope());
        answer.data()["secret"].as_str().unwrap().to_owned()
    };
    let second = rotate(10).await;
    let shown = server.get(&path).await.data();
    assert_eq!(shown["prefix"], second[..30]);
    assert_ne!(shown["overlapUntil"], Value::Null);
    assert_eq!([works(&first).await, works(&second).await], [0, 0]);
    server.advance(9);
    assert_eq!(works(&first).await, 0);
    server.advance(1);
    assert_eq!([works(&first).await, works(&second).await], [40_101, 0]);
    let third = rotate(60).await;
    let fourth = rotate(60).await;
    let all = [works(&second).await, works(&third).await, works(&fourth).await];
    assert_eq!(all, [40_101, 0, 0], "two are taken at any time");
    let fifth = rotate(0).await;
    assert_eq!([works(&fourth).await, works(&fifth).await], [40_101, 0], "at once");
}

pub(crate) async fn a_key_makes_only_keys_that_may_do_no_more(factory: Factory) {
    let server = TestServer::start(factory).await;
    let ends = server.clock.wall().plus_ms(60_000).to_string();
    let (own, boss) = make(
        &server,
        json!({ "name": "boss", "scopes": ["admin", "read"], "queues": ["a.*"], "expiresAt": ends, "rateLimit": 900 }),
    )
    .await;
    let (wide, _) = make(&server, json!({ "name": "wide", "scopes": ALL })).await;
    let create = async |key: Value| ask(&server, &boss, "POST /v1/keys", Some(key)).await;
    for (key, fields) in [
        (json!({ "name": "x", "scopes": ["read", "consume"] }), vec!["scopes"]),
        (json!({ "name": "x", "scopes": ["read"], "queues": ["a.b", "b"] }), vec!["queues"]),
        (json!({ "name": "x", "scopes": ["read"], "queues": ["*"] }), vec!["queues"]),
        (json!({ "name": "x", "scopes": ["read"], "rateLimit": 901 }), vec!["rateLimit"]),
        (json!({ "name": "x", "scopes": ["read"], "expiresAt": "2035-01-01T00:00:00Z" }), vec!["expiresAt"]),
    ] {
        let refused = create(key.clone()).await;
        assert_eq!(
            (refused.code(), refused.fields()),
            (40_300, fields.into_iter().map(str::to_owned).collect()),
            "{key}"
        );
    }
    let child = create(json!({ "name": "child", "scopes": ["read"] })).await.data();
    assert_eq!((&child["queues"], &child["rateLimit"]), (&json!(["a.*"]), &json!(900)));
    assert_eq!(child["expiresAt"], ends, "what it does not say it has from its maker");
    let child = format!("/v1/keys/{}", child["id"].as_str().unwrap());
    let patch =
        async |path: &str, change: Value| ask(&server, &boss, &format!("PATCH {path}"), Some(change)).await;
    assert_eq!(patch(&child, json!({ "queues": ["a.b*"] })).await.code(), 0);
    assert_eq!(patch(&child, json!({ "expiresAt": null })).await.fields(), ["expiresAt"]);
    assert_eq!(patch(&own, json!({ "scopes": ["admin", "produce"] })).await.code(), 40_300, "nor itself");
    for line in ["GET", "PATCH", "DELETE"] {
        assert_eq!(ask(&server, &boss, &format!("{line} {wide}"), None).await.code(), 40_405, "{line}");
    }
    let names = async |key: &str| {
        let list = ask(&server, key, "GET /v1/keys", None).await.data();
        let items = list["items"].as_array().unwrap().clone();
        items.iter().map(|key| key["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&boss).await, ["boss", "child"]);
    assert_eq!(names(&server.key).await, ["admin", "boss", "child", "wide"]);
    let page = server.get("/v1/keys?limit=3").await.data();
    let next = format!("/v1/keys?cursor={}", page["nextCursor"].as_str().unwrap());
    assert_eq!(server.get(&next).await.data()["items"][0]["name"], "wide");
}

pub(crate) async fn keys_change_under_a_condition(factory: Factory) {
    let server = TestServer::start(factory).await;
    let (path, _) = make(&server, json!({ "name": "w", "scopes": ["read"] })).await;
    let change = || Some(json!({ "scopes": ["admin"] }));
    let patch = format!("PATCH {path}");
    assert_eq!(ask_if(&server, "\"2\"", &patch, change()).await.code(), 41_200);
    assert_eq!(ask_if(&server, "\"1\"", &patch, change()).await.header("etag"), Some("\"2\""));
    assert_eq!(ask_if(&server, "\"1\"", &patch, change()).await.code(), 41_200, "it was changed meanwhile");
    let rotate = format!("POST {path}/rotate");
    assert_eq!(ask_if(&server, "\"1\"", &rotate, Some(json!({}))).await.code(), 41_200);
    assert_eq!(ask_if(&server, "*", &rotate, Some(json!({}))).await.code(), 0);
    let delete = format!("DELETE {path}");
    assert_eq!(ask_if(&server, "\"2\"", &delete, None).await.code(), 41_200);
    assert_eq!(ask_if(&server, "\"9\", \"3\"", &delete, None).await.code(), 0);
}

pub(crate) async fn a_keys_time_is_over_at_its_moment(factory: Factory) {
    let server = TestServer::start(factory).await;
    let ends = server.clock.wall().plus_ms(10_000).to_string();
    let (path, secret) = make(&server, json!({ "name": "w", "scopes": ["read"], "expiresAt": ends })).await;
    server.advance(9);
    assert_eq!(ask(&server, &secret, "GET /v1/me", None).await.data()["expiresAt"], ends);
    server.advance(1);
    let over = ask(&server, &secret, "GET /v1/me", None).await;
    assert_eq!((over.code(), over.header("www-authenticate")), (40_102, Some("Bearer")));
    assert_eq!(server.call("PATCH", &path, json!({ "expiresAt": null })).await.code(), 0);
    assert_eq!(ask(&server, &secret, "GET /v1/me", None).await.code(), 0, "it is a key again");
    let past = server.clock.wall().to_string();
    assert_eq!(server.call("PATCH", &path, json!({ "expiresAt": past })).await.fields(), ["expiresAt"]);
}

pub(crate) async fn calls_are_bounded_but_for_settling(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("q", json!({})).await;
    let id = server.publish("q", 1).await;
    let (path, secret) = make(&server, json!({ "name": "w", "scopes": ALL, "rateLimit": 2 })).await;
    let first = ask(&server, &secret, "GET /v1/me", None).await;
    assert_eq!(first.header("ratelimit-policy"), Some("\"key\";q=2;w=1"));
    assert_eq!(first.header("ratelimit"), Some("\"key\";r=1;t=1"));
    let refused = loop {
        let answer = ask(&server, &secret, "GET /v1/me", None).await;
        if answer.code() != 0 {
            break answer;
        }
    };
    assert_eq!((refused.code(), refused.header("retry-after")), (42_900, Some("1")));
    assert_eq!(refused.header("ratelimit"), Some("\"key\";r=0;t=1"));
    // A change of something else gives no new burst, and settling is never held back.
    let mut codes = Vec::new();
    for _ in 0..20 {
        for step in ["heartbeat", "ack", "nack"] {
            let line = format!("POST /v1/events/{id}/{step}");
            let answer = ask(&server, &secret, &line, Some(json!({ "leaseToken": "x" }))).await;
            assert_eq!((answer.code(), answer.header("ratelimit")), (40_901, None), "{step}");
        }
        let item = json!({ "items": [{ "eventId": id, "leaseToken": "x" }] });
        for word in ["heartbeat", "ack", "nack"] {
            let line = format!("POST /v1/leases/{word}");
            assert_eq!(ask(&server, &secret, &line, Some(item.clone())).await.code(), 20_700, "{word}");
        }
        codes.push(ask(&server, &secret, "GET /v1/me", None).await.code());
    }
    assert!(codes.contains(&42_900), "{codes:?}");
    assert_eq!(server.get("/v1/me").await.header("ratelimit"), None, "the server's own key has no bound");
    assert_eq!(server.call("PATCH", &path, json!({ "rateLimit": null })).await.code(), 0);
    for _ in 0..20 {
        assert_eq!(ask(&server, &secret, "GET /v1/me", None).await.code(), 0);
    }
}

pub(crate) async fn the_servers_own_key_is_changed_in_its_settings(factory: Factory) {
    let server = TestServer::start(factory).await;
    let own = server.get("/v1/me").await.data()["keyId"].as_str().unwrap().to_owned();
    for (method, path) in [("PATCH", ""), ("DELETE", ""), ("POST", "/rotate")] {
        let answer = server.call(method, &format!("/v1/keys/{own}{path}"), None).await;
        assert_eq!(answer.code(), 40_908, "{method}");
    }
}
