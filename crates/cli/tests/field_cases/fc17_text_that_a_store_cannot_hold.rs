//! FC-17: text that a store may not be able to hold.
//!
//! Lives here: NUL, very long text, lone surrogates and bytes that are not UTF-8, in errors of attempts
//! and in payloads. Not here: numbers and nesting (`fc18_payload_changed_on_the_way.rs`).

use serde_json::json;

use crate::scene::{Claim, Scene};
use crate::support::Answer;

/// Longest error text that is kept, in bytes.
const KEPT_BYTES: usize = 8 * 1024;

/// A nack whose error is `error`, as it stands between the quotes.
fn nack(scene: &Scene, claim: &Claim, error: &[u8]) -> Answer {
    let token = claim.data["leaseToken"].as_str().expect("a claim has a token");
    let mut body = format!(r#"{{"leaseToken":"{token}","retryDelaySeconds":0,"error":""#).into_bytes();
    body.extend_from_slice(error);
    body.extend_from_slice(b"\"}");
    scene.wire().call("POST", &claim.path("nack"), &body)
}

#[test]
fn fc17_a_failure_with_any_text_can_be_recorded() {
    let scene = Scene::with_queue(json!({ "maxAttempts": 5 }));
    let id = scene.publish("q");
    let letters = "é".repeat(512 * 1024);
    let shifted = format!("x{letters}");
    let nuls = r"\u0000".repeat(174_762);
    let kept_nuls = r"\u0000".repeat(KEPT_BYTES)[..KEPT_BYTES].to_owned();
    let texts: [(&str, String); 4] = [
        (r"a\u0000b", r"a\u0000b".to_owned()),
        (&letters, "é".repeat(KEPT_BYTES / 2)),
        (&shifted, format!("x{}", "é".repeat(KEPT_BYTES / 2 - 1))),
        (&nuls, kept_nuls),
    ];
    for (attempt, (sent, kept)) in (1..).zip(&texts) {
        let claim = scene.claimed("q", 30, 5);
        assert_eq!((claim.id(), claim.attempt()), (id.clone(), attempt), "the event is retried");
        let nacked = nack(&scene, &claim, sent.as_bytes()).success();
        assert_eq!(nacked["state"], "ready", "a retry without a delay is due now");
        assert_eq!(scene.event(&id)["lastError"], json!(kept), "attempt {attempt}");
    }
    let scene = scene.killed_and_restarted();
    let last = &texts.last().expect("there are texts").1;
    assert_eq!(scene.event(&id)["lastError"], json!(last), "it is durable");
    let claim = scene.claimed("q", 30, 5);
    let dead = nack(&scene, &claim, r"a\u0000b".as_bytes()).success();
    assert_eq!(dead["state"], "dead");
    let letter = &scene.dead_letters("q")[0];
    assert_eq!(letter["lastError"], r"a\u0000b");
    assert_eq!(letter["attempts"][0]["error"], r"a\u0000b");
    assert_eq!(letter["attempts"].as_array().map(Vec::len), Some(5));
}

#[test]
fn fc17_text_that_is_none_is_refused_and_the_lease_goes_on() {
    let scene = Scene::with_queue(json!({}));
    let id = scene.publish("q");
    let claim = scene.claimed("q", 30, 5);
    let bad: [&[u8]; 6] = [br"\ud800", br"a\udc00b", b"\xff", b"a\xc3", b"\xed\xa0\x80", b"a\0b"];
    for error in bad {
        let refused = nack(&scene, &claim, error);
        assert_eq!((refused.status, refused.code), (400, 40_000), "{error:?}: {}", refused.body);
        assert_eq!(refused.data["reason"], "malformed_json");
    }
    let event = scene.event(&id);
    assert_eq!((&event["state"], &event["lastError"]), (&json!("leased"), &json!(null)));
    scene.settle("ack", &claim, json!({})).success();
    scene.assert_same_process();
}

#[test]
fn fc17_a_payload_with_nul_comes_back_exactly() {
    let scene = Scene::with_queue(json!({}));
    let payload = r#"{"k\u0000":"\u0000"}"#;
    let id = scene.publish_body("q", &format!(r#"{{"payload":{payload}}}"#));
    let holds = |body: &str| assert!(body.contains(&format!(r#""payload":{payload},"#)), "{body}");
    holds(&scene.http.get(&format!("/v1/events/{id}")).body);
    let scene = scene.killed_and_restarted();
    holds(&scene.claimed("q", 30, 5).body);
    // Bytes that are not UTF-8 have no place in a payload either.
    let refused = scene.wire().call("POST", "/v1/event-queues/q/events", b"{\"payload\":{\"k\":\"\xff\"}}");
    assert_eq!((refused.status, refused.code), (400, 40_000), "{}", refused.body);
}
