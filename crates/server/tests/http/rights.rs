//! The rights table: every documented route under every scope, for what a key reaches and what it does not.
//!
//! Lives here: the cells, made of the OpenAPI document, and what is expected of each. A route with a part in
//! its path that has no thing here fails, so a new route brings its row with it. Not here: what keys are
//! (`keys.rs`).

use serde_json::{Value, json};

use crate::Factory;
use crate::raw::request_with;
use crate::test_server::TestServer;

const SCOPES: [&str; 4] = ["produce", "consume", "read", "admin"];

/// What each route answers to a key that may call it, for a thing that the key reaches: 0, or the one refusal
/// that is told only after rights. Bodies are wrong on purpose (40002), but those of events; conditions
/// name a version that is none (41200), and no queue is empty (40907).
const ALLOWED: &[(&str, u64)] = &[
    // A key that does not reach every queue may not see what names them all.
    ("GET /v1/audit-log", 40_300),
    ("GET /v1/system/backup", 40_300),
    ("GET /metrics", 40_300),
    ("GET /v1/dead-letters", 0),
    ("GET /v1/event-queues", 0),
    ("POST /v1/event-queues", 40_002),
    ("GET /v1/event-queues/{queue}", 0),
    ("PATCH /v1/event-queues/{queue}", 40_002),
    ("DELETE /v1/event-queues/{queue}", 41_200),
    ("POST /v1/event-queues/{queue}/claim", 40_002),
    ("POST /v1/event-queues/{queue}/claim-batch", 40_002),
    ("GET /v1/event-queues/{queue}/dead-letters", 0),
    ("POST /v1/event-queues/{queue}/dead-letters/discard", 40_002),
    ("POST /v1/event-queues/{queue}/dead-letters/redrive", 40_002),
    ("GET /v1/event-queues/{queue}/events", 0),
    ("GET /v1/event-queues/{queue}/stats", 0),
    ("GET /v1/event-queues/{queue}/consumers", 0),
    ("GET /v1/event-queues/{queue}/tail", 40_001),
    ("POST /v1/event-queues/{queue}/purge", 40_002),
    ("POST /v1/event-queues/{queue}/events", 40_002),
    ("POST /v1/event-queues/{queue}/events/batch", 40_002),
    ("POST /v1/event-queues/{queue}/pause", 40_002),
    ("POST /v1/event-queues/{queue}/resume", 40_002),
    ("GET /v1/events/{id}", 0),
    ("POST /v1/events/{id}/heartbeat", 40_901),
    ("POST /v1/events/{id}/ack", 40_901),
    ("POST /v1/events/{id}/nack", 40_901),
    ("PATCH /v1/events/{id}", 0),
    ("POST /v1/events/{id}/run-now", 40_908),
    ("POST /v1/events/{id}/cancel", 0),
    ("POST /v1/events/{id}/redrive", 40_908),
    ("GET /v1/events/{id}/timeline", 0),
    ("GET /v1/keys", 0),
    ("POST /v1/keys", 40_002),
    ("GET /v1/keys/{id}", 0),
    ("PATCH /v1/keys/{id}", 40_002),
    ("DELETE /v1/keys/{id}", 41_200),
    ("POST /v1/keys/{id}/rotate", 40_002),
    ("POST /v1/leases/heartbeat", 40_002),
    ("POST /v1/leases/ack", 40_002),
    ("POST /v1/leases/nack", 40_002),
    ("GET /v1/me", 0),
    ("GET /v1/operations", 0),
    ("GET /v1/operations/{id}", 0),
    ("POST /v1/operations/{id}/cancel", 40_002),
    ("GET /v1/streams", 0),
    ("GET /v1/streams/{name}", 0),
    ("DELETE /v1/streams/{name}", 40_907),
    ("GET /v1/streams/{name}/entries", 0),
    ("POST /v1/streams/{name}/events", 40_002),
    ("POST /v1/streams/{name}/events/batch", 40_002),
    ("GET /v1/streams/{name}/groups", 0),
    ("DELETE /v1/streams/{name}/groups/{group}", 40_907),
    ("GET /v1/streams/{name}/groups/{group}/consumers", 0),
    ("DELETE /v1/streams/{name}/groups/{group}/consumers/{consumer}", 0),
    ("GET /v1/streams/{name}/groups/{group}/pending", 0),
    ("POST /v1/streams/{name}/groups/{group}/reset", 40_002),
    ("POST /v1/streams/{name}/trim", 40_002),
    ("GET /v1/system", 0),
    ("GET /v1/system/nodes", 0),
];

/// The row of a route.
fn allowed(route: &Route) -> u64 {
    let named = format!("{} {}", route.method, route.path);
    let row = ALLOWED.iter().find(|(known, _)| *known == named);
    row.unwrap_or_else(|| panic!("{named} has no row: what does it answer to a key that may call it?")).1
}

/// Whose thing a call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// One within the key's patterns.
    Own,
    /// One outside of them.
    Other,
    /// None at all.
    Nobodys,
}

/// One route, as documented.
struct Route {
    method: String,
    path: String,
    /// None: any key will do.
    scope: Option<String>,
}

/// What is there.
struct World {
    server: TestServer,
    /// For each scope a key with that scope alone: its id and secret.
    keys: Vec<(String, String)>,
    own_event: String,
    other_event: String,
    own_operation: String,
    other_operation: String,
    own_queue: String,
    other_queue: String,
    other_key: String,
}

impl World {
    async fn new(factory: Factory) -> Self {
        let server = TestServer::start(factory).await;
        let (mut events, mut queues, mut operations) = (Vec::new(), Vec::new(), Vec::new());
        for side in ["own", "other"] {
            let queue = json!({ "name": format!("{side}.q"), "stream": format!("{side}.s") });
            let made = server.post("/v1/event-queues", queue).await.data();
            queues.push(made["id"].as_str().unwrap().to_owned());
            events.push(server.publish(&format!("{side}.q"), 1).await);
            let letters = format!("/v1/event-queues/{side}.q/dead-letters/redrive");
            let begun = server.post(&letters, json!({ "all": true })).await.data();
            operations.push(begun["id"].as_str().unwrap().to_owned());
            // One more, which no call names: the queue is never empty, so it is not deleted.
            server.publish(&format!("{side}.q"), 2).await;
        }
        let mut keys = Vec::new();
        for scope in SCOPES {
            let key = json!({ "name": format!("only.{scope}"), "scopes": [scope], "queues": ["own.*"] });
            let made = server.post("/v1/keys", key).await.data();
            keys.push((made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned()));
        }
        let other_key = server.get("/v1/me").await.data()["keyId"].as_str().unwrap().to_owned();
        let [own_event, other_event] = events.try_into().expect("two");
        let [own_queue, other_queue] = queues.try_into().expect("two");
        let [own_operation, other_operation] = operations.try_into().expect("two");
        Self {
            server,
            keys,
            own_operation,
            other_operation,
            own_event,
            other_event,
            own_queue,
            other_queue,
            other_key,
        }
    }

    /// The path with a thing in the place of each name.
    fn path(&self, route: &Route, whose: Whose, own_key: &str) -> String {
        let side = match whose {
            Whose::Own => "own",
            Whose::Other => "other",
            Whose::Nobodys => "own.none",
        };
        let pick = |own: &str, other: &str, none: &str| match whose {
            Whose::Own => own.to_owned(),
            Whose::Other => other.to_owned(),
            Whose::Nobodys => none.to_owned(),
        };
        let event = pick(&self.own_event, &self.other_event, "evt_00000000000000000000000000");
        let operation = pick(&self.own_operation, &self.other_operation, "op_00000000000000000000000000");
        let key = pick(own_key, &self.other_key, "key_00000000000000000000000000");
        let parts = route.path.split('/').map(|part| match (part, route.path.split('/').nth(2)) {
            ("{queue}" | "{group}", _) => format!("{side}.q"),
            ("{name}", _) => format!("{side}.s"),
            ("{consumer}", _) => "c".to_owned(),
            ("{id}", Some("events")) => event.clone(),
            ("{id}", Some("keys")) => key.clone(),
            ("{id}", Some("operations")) => operation.clone(),
            (part, _) if part.starts_with('{') => panic!("{}: what is {part}?", route.path),
            (part, _) => part.to_owned(),
        });
        let path: Vec<String> = parts.collect();
        let queue = pick(&self.own_queue, &self.other_queue, "evq_00000000000000000000000000");
        let query = match &*route.path {
            "/v1/dead-letters" => format!("?queueId={queue}"),
            // It would not end: a fault that is told only after rights are.
            path if path.ends_with("/tail") => "?sample=0".to_owned(),
            _ => String::new(),
        };
        path.join("/") + &query
    }

    async fn code(&self, route: &Route, path: &str, key: &str) -> u64 {
        // A body that is wrong in a way that is told only after rights are; those of events are asked for
        // after their body, so theirs is right.
        let body = match (&*route.method, route.path.split('/').nth(2)) {
            ("GET" | "DELETE", _) => None,
            ("PATCH", Some("events")) => Some("{}"),
            (_, Some("events"))
                if ["/redrive", "/cancel", "/run-now"].iter().any(|end| route.path.ends_with(end)) =>
            {
                Some("{}")
            }
            (_, Some("events")) => Some("{\"leaseToken\":\"x\"}"),
            _ => Some("{\"noSuchField\":1}"),
        };
        let head = [("If-Match", "\"0\"")];
        let answer = self.server.send(&request_with(&route.method, path, key, &head, body)).await;
        if answer.header("content-type") == Some("application/octet-stream") { 0 } else { answer.code() }
    }
}

/// Whether the route names one thing, so that its rights hang on whose that is.
fn names_a_thing(route: &Route) -> bool {
    route.path.contains('{') || route.path == "/v1/dead-letters"
}

/// What a missing thing is answered.
fn missing(route: &Route) -> u64 {
    match route.path.split('/').nth(2) {
        Some("event-queues" | "dead-letters") => 40_401,
        Some("events") => 40_402,
        Some("streams") => 40_404,
        Some("keys" | "operations") => 40_405,
        other => panic!("what is missing of {other:?}?"),
    }
}

async fn routes(server: &TestServer) -> Vec<Route> {
    let answer = server.send(b"GET /openapi.json HTTP/1.1\r\nHost: t\r\n\r\n").await;
    let document: Value = serde_json::from_slice(&answer.body).expect("the document is JSON");
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            if operation["security"].is_null() {
                continue;
            }
            let scope = operation["x-naven-scope"].as_str().map(str::to_owned);
            routes.push(Route { method: method.to_uppercase(), path: path.clone(), scope });
        }
    }
    routes
}

pub(crate) async fn every_route_asks_for_its_rights(factory: Factory) {
    let world = World::new(factory).await;
    let (mut cells, mut wrong) = (0, Vec::new());
    let routes = routes(&world.server).await;
    assert_eq!(routes.len(), ALLOWED.len(), "each row is a route, and each route has a row");
    for route in &routes {
        for (scope, (id, secret)) in SCOPES.iter().zip(&world.keys) {
            let has = route.scope.as_deref().is_none_or(|needed| needed == *scope);
            for whose in [Whose::Own, Whose::Other, Whose::Nobodys] {
                if whose != Whose::Own && !names_a_thing(route) {
                    continue;
                }
                let code = world.code(route, &world.path(route, whose, id), secret).await;
                let is_late =
                    ["/v1/events/", "/v1/operations/"].iter().any(|late| route.path.starts_with(late))
                        || route.path == "/v1/dead-letters";
                let is_right = match (whose, has) {
                    (Whose::Own, true) => code == allowed(route),
                    (Whose::Own, false) => code == 40_300,
                    // What is found by an id alone is looked for after the scope was.
                    (_, false) if is_late => code == 40_300,
                    // What is not there is not there, whatever the key may do; a key that lacks the scope
                    // may be told so first, where the name is within its patterns.
                    (Whose::Nobodys, false) => code == missing(route) || code == 40_300,
                    _ => code == missing(route),
                };
                cells += 1;
                if !is_right {
                    wrong.push(format!("{} {} {scope} {whose:?}: {code}", route.method, route.path));
                }
            }
        }
    }
    cells += no_key_at_all(&world, &routes, &mut wrong).await;
    println!("{cells} cells of {} routes", routes.len());
    assert!(wrong.is_empty(), "{} of {cells} cells: {wrong:#?}", wrong.len());
}

/// Keys that are none any more, and no key.
async fn no_key_at_all(world: &World, routes: &[Route], wrong: &mut Vec<String>) -> usize {
    let ends = naven_store::Clock::wall(&*world.server.clock).plus_ms(1_000).to_string();
    let all = json!({ "name": "over", "scopes": SCOPES, "expiresAt": ends });
    let over = world.server.post("/v1/keys", all).await.data()["secret"].as_str().unwrap().to_owned();
    let revoked = world.server.post("/v1/keys", json!({ "name": "gone", "scopes": SCOPES })).await.data();
    let path = format!("/v1/keys/{}", revoked["id"].as_str().unwrap());
    assert_eq!(world.server.call("DELETE", &path, None).await.code(), 0);
    world.server.advance(1);
    let mut cells = 0;
    for route in routes {
        let path = world.path(route, Whose::Own, &world.keys[0].0);
        for (key, expected) in [(revoked["secret"].as_str().unwrap(), 40_101), (&over, 40_102), ("", 40_101)]
        {
            let code = world.code(route, &path, key).await;
            cells += 1;
            if code != expected {
                wrong.push(format!("{} {} expected {expected}: {code}", route.method, route.path));
            }
        }
        let line = format!("{} {path} HTTP/1.1\r\nHost: t\r\n\r\n", route.method);
        let code = world.server.send(line.as_bytes()).await.code();
        cells += 1;
        if code != 40_100 {
            wrong.push(format!("{} {} without a key: {code}", route.method, route.path));
        }
    }
    cells
}
