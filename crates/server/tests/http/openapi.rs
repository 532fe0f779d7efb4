//! The OpenAPI document, held to a golden file and to the router.
//!
//! After a wanted change: `NAVEN_BLESS=1 cargo test -p naven-server --test http golden`.

use std::path::Path;

use serde_json::Value;

use crate::Factory;
use crate::test_server::TestServer;

#[test]
fn the_document_is_the_golden_one() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi.json");
    let document = naven_server::openapi_document();
    if std::env::var_os("NAVEN_BLESS").is_some() {
        std::fs::write(&golden, &document).expect("the golden file can be written");
    }
    let kept = std::fs::read_to_string(&golden).expect("there is a golden file");
    assert!(kept == document, "the document changed: look at the difference, then bless it (see this file)");
}

#[test]
fn every_error_is_listed() {
    let document = naven_server::openapi_document();
    for code in naven_api::ErrorCode::ALL {
        assert!(document.contains(&format!("{} {}", code.code(), code.reason())), "{code}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document: Value =
        serde_json::from_str(&naven_server::openapi_document()).expect("the document is JSON");
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            let pointer = target.strip_prefix('#').expect("references stay in the document");
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
        match value {
            Value::Object(fields) => open.extend(fields.values()),
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The protocol document tells of each path, whole or as the end of the one named before it.
#[test]
fn every_path_is_in_the_protocol_document() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http.md");
    let page = std::fs::read_to_string(page).expect("there is a page");
    let document: Value =
        serde_json::from_str(&naven_server::openapi_document()).expect("the document is JSON");
    for path in document["paths"].as_object().expect("the document has paths").keys() {
        let (_, end) = path.rsplit_once('/').expect("a path has a slash");
        let is_named = page.contains(&format!("{path}`")) || page.contains(&format!("`/{end}`"));
        assert!(is_named || page.contains(&format!("…/{end}`")), "docs/http.md does not name {path}");
    }
}

const BYTES: &str = "application/octet-stream";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Each documented route is one for the router, and no method beside the documented ones is.
pub(crate) async fn every_documented_route_is_one(factory: Factory) {
    let server = TestServer::start(factory).await;
    let answer = server.send(b"GET /openapi.json HTTP/1.1\r\nHost: t\r\n\r\n").await;
    let document: Value = serde_json::from_slice(&answer.body).expect("the document is JSON");
    let paths = document["paths"].as_object().expect("the document has paths");
    assert_eq!(paths.len(), 54, "a new path is one more");
    for (path, item) in paths {
        let named = path.replace(['{', '}'], "");
        for method in ["GET", "POST", "PATCH", "DELETE", "PUT"] {
            let answer = server.call(method, &named, None).await;
            let is_documented = item.get(method.to_lowercase()).is_some();
            // Three answers are no envelope: the document, metrics, and a backup where the engine has one.
            let is_other = named == "/openapi.json"
                || answer.header("content-type").is_some_and(|kind| [BYTES, TEXT].contains(&kind));
            if is_other && method == "GET" {
                continue;
            }
            let is_route = !matches!(answer.code(), 40_400 | 40_500);
            assert_eq!(is_route, is_documented, "{method} {path}: {}", answer.code());
        }
    }
}

/// Every example of a body is one that its route reads: whatever else is wrong with the call, that is not.
pub(crate) async fn every_example_is_taken(factory: Factory) {
    let server = TestServer::start(factory).await;
    server.queue("mail", serde_json::json!({})).await;
    let event = server.publish("mail", 1).await;
    let own = server.get("/v1/me").await.data()["keyId"].as_str().expect("an id").to_owned();
    let answer = server.send(b"GET /openapi.json HTTP/1.1\r\nHost: t\r\n\r\n").await;
    let document: Value = serde_json::from_slice(&answer.body).expect("the document is JSON");
    let mut played = 0;
    for (path, item) in document["paths"].as_object().expect("the document has paths") {
        for (method, operation) in item.as_object().expect("a path has methods") {
            let content = &operation["requestBody"]["content"]["application/json"];
            if content.is_null() {
                continue;
            }
            let mut body = content["example"].clone();
            assert!(body.is_object(), "{method} {path} has no example");
            if body["waitSeconds"].is_u64() {
                body["waitSeconds"] = 0.into();
            }
            let id = if path.contains("/keys/") { &own } else { &event };
            let names = [("{queue}", "mail"), ("{group}", "mail"), ("{name}", "mail"), ("{id}", id)];
            let path = names.iter().fold(path.clone(), |path, (part, name)| path.replace(part, name));
            let code = server.call(&method.to_uppercase(), &path, body).await.code();
            assert!(!(40_000..=40_099).contains(&code) && code < 50_000, "{method} {path}: {code}");
            played += 1;
        }
    }
    assert!(played >= 20, "{played}");
}

pub(crate) async fn the_pages_are_there_offline(factory: Factory) {
    let server = TestServer::start(factory).await;
    let page = async |path: &str| {
        let answer = server.send(format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n").as_bytes()).await;
        (answer.status, String::from_utf8_lossy(&answer.body).into_owned(), answer)
    };
    for (path, holds) in [
        ("/docs", "POST /v1/event-queues/{queue}/claim"),
        ("/docs/errors", "40901 lease_lost"),
        ("/docs/errors/40901", "40901 lease_lost"),
    ] {
        let (status, text, answer) = page(path).await;
        assert_eq!(
            (status, answer.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert!(text.starts_with("<!doctype html>") && text.contains(holds), "{path}");
        assert!(!text.contains("<script") && !text.contains("src=") && !text.contains("@import"), "{path}");
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
    }
    let (_, one, _) = page("/docs/errors/40901").await;
    assert!(!one.contains("40902 lease_settled"), "one section alone");
    for path in ["/docs/errors/40999", "/docs/errors/x", "/docs/none"] {
        let (status, _, answer) = page(path).await;
        assert_eq!((status, answer.code()), (404, 40_400), "{path}");
    }
}
