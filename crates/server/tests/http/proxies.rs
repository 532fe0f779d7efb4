//! Calls through proxies: from which address they come.
//!
//! Lives here: where that address is shown, and whose word is taken for it. Not here: the forms of what
//! proxies say (beside the reading).

use http::StatusCode;
use serde_json::{Value, json};

use crate::Factory;
use crate::raw::request_with;
use crate::test_server::TestServer;
use crate::trace_context::Lines;

const THROUGH_TWO: [(&str, &str); 1] = [("X-Forwarded-For", "6.6.6.6, 203.0.113.7, 10.0.0.9")];
const STANDARD: [(&str, &str); 2] =
    [("X-Forwarded-For", "6.6.6.6"), ("Forwarded", "for=\"[2001:db8::7]:4711\";proto=https")];

/// A server whose connections all come from 127.0.0.1, which trusts these proxies.
async fn trusting(factory: Factory, proxies: &[&str]) -> TestServer {
    let server = TestServer::start_with(factory, |config| {
        config.access.trusted_proxies = proxies.iter().map(|text| text.parse().expect("a proxy")).collect();
    })
    .await;
    server.queue("q", json!({})).await;
    server
}

/// The address that is shown of who claims with these headers.
async fn shown(server: &TestServer, headers: &[(&str, &str)]) -> Value {
    let body = json!({ "consumerId": "w", "waitSeconds": 0 }).to_string();
    let path = "/v1/event-queues/q/claim";
    server.send(&request_with("POST", path, &server.key, headers, Some(&body))).await.data();
    let list = server.get("/v1/event-queues/q/consumers").await.data();
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    list["items"][0]["address"].clone()
}

pub(crate) async fn a_consumers_address_is_what_trusted_proxies_say(factory: Factory) {
    for (proxies, headers, address) in [
        (&["127.0.0.0/8", "10.0.0.0/8"][..], &THROUGH_TWO[..], "203.0.113.7"),
        (&["127.0.0.1"], &THROUGH_TWO, "10.0.0.9"),
        (&["127.0.0.1"], &STANDARD, "2001:db8::7"),
        (&["127.0.0.1"], &[], "127.0.0.1"),
        (&["10.0.0.0/8", "::1"], &THROUGH_TWO, "127.0.0.1"),
        (&[], &STANDARD, "127.0.0.1"),
    ] {
        let server = trusting(factory, proxies).await;
        assert_eq!(shown(&server, headers).await, address, "{proxies:?} {headers:?}");
    }
}

pub(crate) async fn log_lines_name_the_peer_and_who_called_through_it(factory: Factory) {
    let lines = Lines::of_this_process();
    for (id, proxies, client) in
        [("of-a-proxy", &["127.0.0.1"][..], Some(" client=2001:db8::7")), ("of-anybody", &["::1"], None)]
    {
        let server = trusting(factory, proxies).await;
        let headers = [STANDARD[0], STANDARD[1], ("Naven-Request-Id", id)];
        server.send(&request_with("GET", "/v1/me", &server.key, &headers, None)).await;
        let line = lines.line(id);
        assert!(line.contains(" peer=127.0.0.1"), "{line}");
        assert_eq!(line.contains("client="), client.is_some(), "{line}");
        assert!(client.is_none_or(|client| line.contains(client)), "{line}");
    }
}

pub(crate) async fn a_trusted_proxy_names_no_host(factory: Factory) {
    let server = trusting(factory, &["127.0.0.1"]).await;
    for (host, status) in [("t", StatusCode::OK), ("public.example", StatusCode::MISDIRECTED_REQUEST)] {
        let head = format!(
            "GET /healthz HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-Host: t\r\nForwarded: for=192.0.2.1;host=t\r\n\r\n"
        );
        let answer = server.send(head.as_bytes()).await;
        assert_eq!(answer.status, status, "{host}");
    }
}
