//! Two thousand malformed requests and more, each with the code and the field that it must be answered with.
//!
//! Lives here: making them of the tables, that no field or parameter of the document is without a row, and
//! playing them on one connection that stays open. Not here: the tables (`malformed_rows.rs`,
//! `malformed_kinds.rs`, `malformed_shapes.rs`), and heads that no HTTP library takes (`malformed.rs`).

use std::collections::BTreeSet;

use naven_store::Clock;
use serde_json::{Value, json};

use crate::Factory;
use crate::malformed_kinds::Kind;
use crate::malformed_rows::{BODIES, Field, MORE, PARAMETERS};
use crate::malformed_shapes;
use crate::raw::{Connection, request};
use crate::test_server::TestServer;

/// One request, and what it must be answered.
pub(crate) struct Case {
    pub(crate) sent: Vec<u8>,
    pub(crate) code: u64,
    /// The field that must be named, alone where `is_alone`.
    pub(crate) field: Option<String>,
    pub(crate) is_alone: bool,
}

/// What paths name.
pub(crate) struct World {
    pub(crate) server: TestServer,
    key_id: String,
    pub(crate) queue_id: String,
    operation: String,
    ahead: String,
}

impl World {
    async fn new(factory: Factory) -> Self {
        let server = TestServer::start(factory).await;
        let queue = server.queue("q", json!({})).await;
        server.publish("q", 1).await;
        let key = server.post("/v1/keys", json!({ "name": "k", "scopes": ["read"] })).await.data();
        let begun = server.post("/v1/event-queues/q/dead-letters/redrive", json!({ "all": true })).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let ahead = server.clock.wall().plus_ms(86_400_000).to_string();
        Self {
            key_id: text(&key["id"]),
            queue_id: text(&queue["id"]),
            operation: text(&begun.data()["id"]),
            ahead,
            server,
        }
    }

    /// Method and path, with a thing that is there in the place of each name, but for events.
    pub(crate) fn target(&self, route: &str) -> (String, String) {
        let (method, path) = route.split_once(' ').expect("a method and a path");
        let id = match path.split('/').nth(2) {
            Some("keys") => &self.key_id,
            Some("operations") => &self.operation,
            _ => "evt_00000000000000000000000000",
        };
        let names = [("{queue}", "q"), ("{name}", "q"), ("{group}", "q"), ("{id}", id)];
        let path = names.iter().fold(path.to_owned(), |path, (part, name)| path.replace(part, name));
        (method.to_owned(), path)
    }

    pub(crate) fn case(&self, route: &str, body: &str, code: u64, field: Option<String>) -> Case {
        let (method, path) = self.target(route);
        let sent = request(&method, &path, &self.server.key, Some(body));
        Case { sent, code, field, is_alone: true }
    }
}

/// Stands for a value until its JSON is put there.
const HOLE: &str = "~hole~";

/// The body with a hole in the place of the field.
fn with_hole(base: &str, path: &str) -> String {
    let mut body: Value = serde_json::from_str(base).expect("a body is JSON");
    let mut at = &mut body;
    for part in path.split('.') {
        let (name, item) = part.split_once('[').map_or((part, false), |(name, _)| (name, true));
        at = &mut at[name];
        if item {
            at = &mut at[0];
        }
    }
    *at = json!(HOLE);
    body.to_string()
}

/// The body without the field.
fn without(base: &str, path: &str) -> String {
    let mut body: Value = serde_json::from_str(base).expect("a body is JSON");
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let pointer = parent.replace("[0]", "/0").replace('.', "/");
    let pointer = if pointer.is_empty() { pointer } else { format!("/{pointer}") };
    let parent = body.pointer_mut(&pointer).expect("it has a parent");
    parent.as_object_mut().expect("in an object").remove(name).expect("it was there");
    body.to_string()
}

fn of_field(world: &World, route: &str, base: &str, field: &Field, cases: &mut Vec<Case>) {
    let body = with_hole(base, field.path);
    let hole = format!("\"{HOLE}\"");
    for bad in field.kind.bad(field.takes_null) {
        let place = (bad.code != 40_000).then(|| format!("{}{}", field.path, bad.within));
        cases.push(world.case(route, &body.replace(&hole, &bad.json), bad.code, place));
    }
    let name = field.path.rsplit('.').next().expect("a name");
    let good = field.kind.good().replace("{ahead}", &world.ahead);
    let (once, pair) = (format!("\"{name}\":{hole}"), format!("\"{name}\":{good},\"{name}\":{good}"));
    let doubled = world.case(route, &body.replace(&once, &pair), 40_001, Some(field.path.to_owned()));
    cases.push(Case { is_alone: false, ..doubled });
    for other in [name.to_uppercase(), format!("{name}s"), format!(" {name}")] {
        let named = body.replace(&once, &format!("\"{other}\":{good}"));
        let start = &field.path[..field.path.len() - name.len()];
        cases.push(world.case(route, &named, 40_002, Some(format!("{start}{other}"))));
    }
    if field.is_required {
        let missing = world.case(route, &without(base, field.path), 40_001, Some(field.path.to_owned()));
        cases.push(missing);
    }
}

fn of_bodies(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    for (route, base, groups) in BODIES.iter().chain(MORE) {
        for field in groups.iter().copied().flatten() {
            of_field(world, route, base, field, &mut cases);
        }
    }
    cases
}

/// Fields and parameters that the document has, as the rows write them.
fn documented(document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, call) in item.as_object().expect("methods") {
            let route = format!("{} {path}", method.to_uppercase());
            let schema = &call["requestBody"]["content"]["application/json"]["schema"];
            if !schema.is_null() {
                names.insert(format!("{route} has a body"));
                fields_of(document, schema, &format!("{route} "), &mut names);
            }
            for parameter in call["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] != "path" {
                    names.insert(format!("{route} ?{}", parameter["name"].as_str().expect("a name")));
                }
            }
        }
    }
    names
}

fn fields_of(document: &Value, schema: &Value, before: &str, names: &mut BTreeSet<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let pointer = target.trim_start_matches('#');
        return fields_of(document, document.pointer(pointer).expect("it leads somewhere"), before, names);
    }
    for part in ["allOf", "oneOf"] {
        for schema in schema[part].as_array().into_iter().flatten() {
            fields_of(document, schema, before, names);
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        names.insert(format!("{before}{name}"));
        fields_of(document, field, &format!("{before}{name}."), names);
        if !field["items"].is_null() {
            fields_of(document, &field["items"], &format!("{before}{name}[0]."), names);
        }
    }
}

fn rows() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (route, _, groups) in BODIES.iter().chain(MORE) {
        names.insert(format!("{route} has a body"));
        names.extend(groups.iter().copied().flatten().map(|field| format!("{route} {}", field.path)));
    }
    for (route, groups) in PARAMETERS {
        names.extend(groups.iter().copied().flatten().map(|(name, _)| format!("{route} ?{name}")));
    }
    names
}

#[test]
fn no_field_and_no_parameter_is_without_a_row() {
    let document: Value =
        serde_json::from_str(&naven_server::openapi_document()).expect("the document is JSON");
    let (documented, rows) = (documented(&document), rows());
    let missing: Vec<_> = documented.difference(&rows).collect();
    let gone: Vec<_> = rows.difference(&documented).collect();
    assert!(missing.is_empty() && gone.is_empty(), "without a row: {missing:#?}; rows of nothing: {gone:#?}");
    assert!(rows.len() > 150, "{}", rows.len());
}

#[test]
fn no_kind_takes_what_is_bad_for_it() {
    for (_, _, groups) in BODIES.iter().chain(MORE) {
        for field in groups.iter().copied().flatten() {
            let bad = field.kind.bad(field.takes_null);
            assert!(bad.len() >= 8, "{}: only {} bad values", field.path, bad.len());
            assert!(bad.iter().all(|bad| bad.json != field.kind.good()), "{}", field.path);
            let is_null = bad.iter().any(|bad| bad.json == "null");
            assert_eq!(is_null, !field.takes_null || field.kind == Kind::Payload, "{}", field.path);
        }
    }
}

pub(crate) async fn two_thousand_malformed_requests(factory: Factory) {
    let world = World::new(factory).await;
    let mut cases = of_bodies(&world);
    let of_fields = cases.len();
    cases.extend(malformed_shapes::parameters(&world));
    cases.extend(malformed_shapes::bodies(&world));
    cases.extend(malformed_shapes::heads(&world));
    cases.extend(malformed_shapes::paths(&world));
    println!("{} malformed requests, {of_fields} of them by single fields", cases.len());
    assert!(cases.len() >= 2_000, "only {} malformed requests", cases.len());
    let mut connection = world.server.connect().await;
    let mut wrong = Vec::new();
    for case in &cases {
        if let Err(what) = play(&world.server, &mut connection, case).await {
            wrong.push(what);
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {:#?}", wrong.len(), cases.len(), &wrong[..wrong.len().min(40)]);
    // None of them did anything.
    let queues = world.server.get("/v1/event-queues").await.data();
    assert_eq!(queues["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&queues["items"][0]["counts"]["ready"], &queues["items"][0]["paused"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(world.server.get("/v1/keys").await.data()["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(world.server.claim("q", 5).await["event"]["payload"], json!({ "n": 1 }));
}

async fn play(server: &TestServer, connection: &mut Connection, case: &Case) -> Result<(), String> {
    connection.send(&case.sent).await;
    let shown =
        || String::from_utf8_lossy(&case.sent[..case.sent.len().min(400)]).replace(&server.key, "{key}");
    let Some(answer) = connection.answer().await else {
        *connection = server.connect().await;
        return Err(format!("the connection ended: {}", shown()));
    };
    if serde_json::from_slice::<Value>(&answer.body).is_err() {
        *connection = server.connect().await;
        return Err(format!("status {} without an envelope: {}", answer.status, shown()));
    }
    let (code, fields) = (answer.code(), answer.fields());
    let is_named = match &case.field {
        None => true,
        Some(field) if case.is_alone => fields == [field.as_str()],
        Some(field) => fields.contains(field),
    };
    if code == case.code && is_named {
        return Ok(());
    }
    Err(format!("expected {} {:?}, got {code} {fields:?}: {}", case.code, case.field, shown()))
}
