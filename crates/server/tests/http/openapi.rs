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

const BYTES: &str = "application/octet-stream";

/// Each documented route is one for the router, and no method beside the documented ones is.
pub(crate) async fn every_documented_route_is_one(factory: Factory) {
    let server = TestServer::start(factory).await;
    let answer = server.send(b"GET /openapi.json HTTP/1.1\r\nHost: t\r\n\r\n").await;
    let document: Value = serde_json::from_slice(&answer.body).expect("the document is JSON");
    let paths = document["paths"].as_object().expect("the document has paths");
    assert_eq!(paths.len(), 35, "a new path is one more");
    for (path, item) in paths {
        let named = path.replace(['{', '}'], "");
        for method in ["GET", "POST", "PATCH", "DELETE", "PUT"] {
            let answer = server.call(method, &named, None).await;
            let is_documented = item.get(method.to_lowercase()).is_some();
            // Two answers are no envelope: the document, and a backup where the engine has one.
            let is_other = named == "/openapi.json" || answer.header("content-type") == Some(BYTES);
            if is_other && method == "GET" {
                continue;
            }
            let is_route = !matches!(answer.code(), 40_400 | 40_500);
            assert_eq!(is_route, is_documented, "{method} {path}: {}", answer.code());
        }
    }
}
