//! Malformed requests: parameters, whole bodies, heads and paths that are wrong on any route that has them.
//!
//! Lives here: what is wrong, and its code. Not here: single fields of bodies (`malformed_kinds.rs`), and
//! playing them (`malformed_play.rs`).

use crate::malformed_play::{Case, World};
use crate::malformed_rows::{Asked, BODIES, PARAMETERS};
use crate::raw::{request, request_with};

/// Places in a stream that are none, escaped.
const NO_PLACES: &[&str] = &[
    "",
    "-",
    "%2B",
    "$",
    "5",
    "5-",
    "-5",
    "5-0-0",
    "+5-0",
    "a-b",
    "18446744073709551616-0",
    "now",
    "2026-02-30T00:00:00Z",
    "2026-11-29",
    "2026-11-29T00:00:00%2B24:00",
];
/// Times that are none, escaped.
const NO_TIMES: &[&str] = &[
    "",
    "x",
    "1",
    "now",
    "2026-11-29",
    "2026-11-29T00:00:00",
    "2026-02-30T00:00:00Z",
    "2026-11-29T00:00:00%2B24:00",
    "2026-11-29T00:00:60Z",
    "1764426154123",
];

/// Values of the query, escaped.
fn bad(asked: Asked) -> &'static [&'static str] {
    match asked {
        Asked::Limit => &[
            "",
            "0",
            "501",
            "-1",
            "+1",
            "1.0",
            "1e1",
            "x",
            "true",
            "null",
            "0x1",
            "%31x",
            "1%00",
            "1,2",
            "%20",
            "99999999999999999999",
        ],
        Asked::Flag => &["", "1", "0", "TRUE", "True", "yes", "on", "null", "true%20", "%00", "truefalse"],
        Asked::Cursor => &[
            "",
            "x",
            "0",
            "00",
            "0000000",
            "%FF",
            "%00",
            "FF",
            "ffffffffffffffffffffffffff",
            "%C3%A9",
            "null",
        ],
        Asked::Place => NO_PLACES,
        Asked::Time => NO_TIMES,
        Asked::Word(_) => &["", "x", "FATAL", "Error", "fatal,error", "%00", "null"],
        Asked::Error | Asked::Part => &[""],
        Asked::Number(..) => {
            &["", "0", "-1", "+10", "10.0", "1e1", "x", "null", "0x10", "%20", "99999999999999999999"]
        }
        // Told as a queue that is not there.
        Asked::QueueId => &["", "q", "evq_", "evq_00000000000000000000000000", "%FF", "null"],
        Asked::Repetition => &["", "a b", "a\tb", "\u{e9}"],
        Asked::Text | Asked::Elsewhere => &[],
    }
}

/// The code of a value that a parameter does not take.
fn code(asked: Asked) -> u64 {
    match asked {
        Asked::Cursor => 40_005,
        Asked::QueueId => 40_401,
        _ => 40_001,
    }
}

/// A value that it takes.
fn good(world: &World, asked: Asked) -> String {
    match asked {
        Asked::Limit => "1".to_owned(),
        Asked::Number(min, _) => min.to_string(),
        Asked::Flag => "false".to_owned(),
        Asked::Place => "0-0".to_owned(),
        Asked::Time => "2026-11-29T00:00:00Z".to_owned(),
        Asked::Word(word) => word.to_owned(),
        Asked::QueueId => world.queue_id.clone(),
        Asked::Cursor | Asked::Error | Asked::Text | Asked::Part => "x".to_owned(),
        Asked::Repetition | Asked::Elsewhere => "x".to_owned(),
    }
}

/// The rest of a body that is right.
fn base(route: &str) -> Option<&'static str> {
    BODIES.iter().find(|(known, ..)| *known == route).map(|(_, base, _)| *base)
}

pub(crate) fn parameters(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    for (route, groups) in PARAMETERS {
        for &(name, asked) in groups.iter().copied().flatten() {
            match asked {
                Asked::Repetition => repetition(world, route, &mut cases),
                Asked::Elsewhere => {}
                _ => of_query(world, route, name, asked, &mut cases),
            }
        }
    }
    cases
}

fn of_query(world: &World, route: &str, name: &str, asked: Asked, cases: &mut Vec<Case>) {
    let (method, path) = world.target(route);
    let needed = if path == "/v1/dead-letters" && asked != Asked::QueueId {
        format!("queueId={}&", world.queue_id)
    } else {
        String::new()
    };
    let mut add = |query: &str, code: u64, field: Option<&str>| {
        let target = format!("{path}?{needed}{query}");
        let sent = request(&method, &target, &world.server.key, base(route));
        cases.push(Case { sent, code, field: field.map(str::to_owned), is_alone: false });
    };
    let expected = code(asked);
    let field = (expected == 40_001).then_some(name);
    let is_least = |value: &str| matches!(asked, Asked::Number(0, _)) && value == "0";
    for value in bad(asked).iter().filter(|value| !is_least(value)) {
        add(&format!("{name}={value}"), expected, field);
    }
    match asked {
        Asked::Error => add(&format!("{name}={}", "x".repeat(1_025)), 40_001, Some(name)),
        Asked::Part => add(&format!("{name}={}", "x".repeat(257)), 40_001, Some(name)),
        Asked::Number(_, max) => add(&format!("{name}={}", max + 1), 40_001, Some(name)),
        _ => {}
    }
    let good = good(world, asked);
    add(&format!("{name}={good}&{name}={good}"), 40_001, Some(name));
    for other in [name.to_uppercase(), format!("{name}s"), format!("{name}%5B%5D")] {
        let shown = other.replace("%5B%5D", "[]");
        add(&format!("{other}={good}"), if asked == Asked::QueueId { 0 } else { 40_002 }, Some(&shown));
    }
    if asked == Asked::QueueId {
        // Without the queue that is meant, the parameter that is none is told of all the same.
        cases.retain(|case| case.code != 0);
    }
}

fn repetition(world: &World, route: &str, cases: &mut Vec<Case>) {
    let (method, path) = world.target(route);
    let ids = r#"{"ids":["e"]}"#;
    let body = if route.contains("/dead-letters/") { ids } else { base(route).expect("it has a body") };
    let body = if route.ends_with("/reset") { r#"{"id":"0-0"}"# } else { body };
    let long = "x".repeat(256);
    let values = bad(Asked::Repetition).iter().copied().chain([long.as_str()]);
    let single = values.map(|value| vec![("Idempotency-Key", value)]);
    for headers in single.chain([vec![("Idempotency-Key", "a"), ("Idempotency-Key", "a")]]) {
        let sent = request_with(&method, &path, &world.server.key, &headers, Some(body));
        let field = Some("Idempotency-Key".to_owned());
        cases.push(Case { sent, code: 40_001, field, is_alone: true });
    }
}

/// Bodies that are wrong whatever the route, with their codes.
const TEXTS: &[(&[u8], u64)] = &[
    (b"{", 40_000),
    (b"}", 40_000),
    (b"[", 40_000),
    (b"nul", 40_000),
    (b" ", 40_000),
    (b"{}{}", 40_000),
    (b"{} x", 40_000),
    (b"{}\x00", 40_000),
    (b"\x00", 40_000),
    (b"\xef\xbb\xbf{}", 40_000),
    (b"\xff\xfe{\x00}\x00", 40_000),
    (b"{'a':1}", 40_000),
    (b"{a:1}", 40_000),
    (b"{\"a\":1,}", 40_000),
    (b"{\"a\" 1}", 40_000),
    (b"{\"a\":}", 40_000),
    (b"{\"a\":NaN}", 40_000),
    (b"{\"a\":Infinity}", 40_000),
    (b"{\"a\":+1}", 40_000),
    (b"{\"a\":01}", 40_000),
    (b"{\"a\":1.}", 40_000),
    (b"{\"a\":.5}", 40_000),
    (b"{\"a\":0x1}", 40_000),
    (b"{\"a\":1/**/}", 40_000),
    (b"{\"a\":\"\n\"}", 40_000),
    (b"{\"a\":\"\\x41\"}", 40_000),
    (b"{\"a\":\"\\u00\"}", 40_000),
    (b"{\"a\":\"\xff\"}", 40_000),
    (b"{\"a\":\"\xed\xa0\x80\"}", 40_000),
    (b"{\"a\":\"\xc0\x80\"}", 40_000),
    (b"{\"a\":\"\\ud800\"}", 40_000),
    (b"{\"\\udc00\":1}", 40_000),
    (b"[]", 40_001),
    (b"[{}]", 40_001),
    (b"null", 40_001),
    (b"true", 40_001),
    (b"17", 40_001),
    (b"\"{}\"", 40_001),
    (b"{\"nosuchfield\":1}", 40_002),
    (b"{\"\":1}", 40_002),
    (b"{\"__proto__\":{}}", 40_002),
    (b"{\"nosuchfield\":1e999}", 40_002),
    (b"{\"nosuchfield\":{\"a\":[[[[{}]]]]}}", 40_002),
];

pub(crate) fn bodies(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    for (route, ..) in BODIES {
        let (method, path) = world.target(route);
        for (body, code) in TEXTS {
            let mut sent = request(&method, &path, &world.server.key, Some(&"x".repeat(body.len())));
            sent.truncate(sent.len() - body.len());
            sent.extend_from_slice(body);
            cases.push(Case { sent, code: *code, field: None, is_alone: false });
        }
    }
    cases
}

/// Values of `Content-Type` that no body may have.
const MEDIA: &[&str] = &[
    "",
    "json",
    "text/plain",
    "text/json",
    "application/xml",
    "application/*",
    "*/*",
    "application/jsonp",
    "application/ld+json",
    "application/x-ndjson",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a",
    "application/json, text/plain",
    "application/json; charset=utf-16",
    "application/json; charset=latin1",
];

/// Values of `Authorization` that are no key; `{key}` stands for the key.
const NO_KEYS: &[&str] = &[
    "",
    "{key}",
    "Bearer",
    "Bearer nvk_",
    "Bearer nvk__",
    "Bearer nvk_a_b",
    "Bearer {key}x",
    "Bearer x{key}",
    "Bearer {key} {key}",
    "Bearer {key},{key}",
    "Bearer \"{key}\"",
    "Basic {key}",
    "Token {key}",
    "Bearer: {key}",
    "Digest username=a",
];

/// Values of `If-Match` that name no version of a thing that was never changed.
const NO_VERSIONS: &[&str] = &[
    "\"0\"",
    "\"2\"",
    "1",
    "W/\"1\"",
    "\"1",
    "",
    "*x",
    "\"a\"",
    "\"2\", \"3\"",
    "\"01\"",
    "\"-1\"",
    "\"1\"x",
];

pub(crate) fn heads(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |sent: Vec<u8>, code: u64| cases.push(Case { sent, code, field: None, is_alone: false });
    let key = &world.server.key;
    for (route, base, _) in BODIES {
        let (method, path) = world.target(route);
        let head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\n");
        let length = format!("Content-Length: {}\r\n\r\n{base}", base.len());
        for media in MEDIA {
            let lines = format!("{head}Authorization: Bearer {key}\r\nContent-Type: {media}\r\n{length}");
            add(lines.into_bytes(), 41_500);
        }
        add(format!("{head}Authorization: Bearer {key}\r\n{length}").into_bytes(), 41_500);
        for authorization in NO_KEYS {
            let value = authorization.replace("{key}", key);
            let lines = format!("{head}Authorization: {value}\r\nContent-Type: application/json\r\n{length}");
            add(lines.into_bytes(), 40_101);
        }
        add(format!("{head}Content-Type: application/json\r\n{length}").into_bytes(), 40_100);
    }
    for route in ["PATCH /v1/event-queues/{queue}", "DELETE /v1/event-queues/{queue}", "PATCH /v1/keys/{id}"]
    {
        let (method, path) = world.target(route);
        let body = method.starts_with('P').then_some("{}");
        for version in NO_VERSIONS {
            add(request_with(&method, &path, key, &[("If-Match", version)], body), 41_200);
        }
    }
    cases
}

/// Names that are nobody's, escaped as in a path.
const NO_NAMES: &[&str] = &["none", "%FF", "%00", "NONE", "a%2Fb", "%2e%2e", "%20", "evq_", "{long}"];
/// Ids that are nobody's.
const NO_IDS: &[&str] = &[
    "1",
    "none",
    "evt_",
    "key_",
    "op_",
    "%FF",
    "%00",
    "EVT_00000000000000000000000000",
    "evt_0000000000000000000000000u",
    "evt_000000000000000000000000000",
    "evt_z0000000000000000000000000",
    "evq_00000000000000000000000000",
    "key_00000000000000000000000000",
    "op_00000000000000000000000000",
];

pub(crate) fn paths(world: &World) -> Vec<Case> {
    let mut cases = Vec::new();
    let rest = ["GET /v1/event-queues/{queue}", "GET /v1/event-queues/{queue}/dead-letters"];
    let rest = rest.iter().chain(&["DELETE /v1/event-queues/{queue}", "GET /v1/events/{id}"]);
    let rest = rest.chain(&["GET /v1/events/{id}/timeline", "GET /v1/streams/{name}"]);
    let rest = rest.chain(&["GET /v1/streams/{name}/entries", "GET /v1/streams/{name}/groups"]);
    let rest = rest.chain(&["DELETE /v1/streams/{name}", "DELETE /v1/streams/{name}/groups/{group}"]);
    let rest = rest.chain(&["GET /v1/keys/{id}", "DELETE /v1/keys/{id}", "GET /v1/operations/{id}"]);
    for route in BODIES.iter().map(|(route, ..)| route).chain(rest) {
        let (method, path) = route.split_once(' ').expect("a method and a path");
        for part in ["{queue}", "{name}", "{group}", "{id}"] {
            if !path.contains(part) {
                continue;
            }
            let code = match path.split('/').nth(2) {
                Some("event-queues") => 40_401,
                Some("events") => 40_402,
                Some("streams") => 40_404,
                _ => 40_405,
            };
            let names = if part == "{id}" { NO_IDS } else { NO_NAMES };
            for name in names {
                let named = path.replace(part, &name.replace("{long}", &"x".repeat(600)));
                let (_, target) = world.target(&format!("{method} {named}"));
                let body = if route.contains("/reset") { Some(r#"{"id":"0-0"}"#) } else { base(route) };
                let sent = request(method, &target, &world.server.key, body);
                cases.push(Case { sent, code, field: None, is_alone: false });
            }
        }
    }
    cases
}
