//! Bodies to begin with, one for each request.
//!
//! Lives here: the examples of `/openapi.json` and `/docs`. A test sends every one of them. Not here: what
//! their fields mean (`naven_api`).

/// A body of this schema; none where there is no such request.
pub(in crate::http) fn body(schema: &str) -> Option<&'static str> {
    Some(match schema {
        "QueueCreateRequest" => r#"{"name": "mail", "defaultLeaseSeconds": 60, "maxAttempts": 10}"#,
        "QueuePatchRequest" => r#"{"maxAttempts": 5, "backoff": {"initialSeconds": 10}}"#,
        "PauseRequest" => r#"{"reason": "moving the database"}"#,
        "ResumeRequest" => "{}",
        "PublishRequest" => {
            r#"{"payload": {"to": "ada@example.com"}, "dedupeKey": "order-17", "delaySeconds": 30}"#
        }
        "PublishBatchRequest" => r#"{"events": [{"payload": {"n": 1}}, {"payload": {"n": 2}}]}"#,
        "ClaimRequest" => r#"{"leaseSeconds": 60, "waitSeconds": 20, "consumerId": "worker-1"}"#,
        "ClaimBatchRequest" => r#"{"maxEvents": 16, "leaseSeconds": 60, "waitSeconds": 20}"#,
        "HeartbeatRequest" => {
            r#"{"leaseToken": "TOKEN", "leaseSeconds": 60, "progress": {"percent": 40, "note": "page 2 of 5"}}"#
        }
        "AckRequest" => r#"{"leaseToken": "TOKEN", "result": {"delivered": 3}}"#,
        "NackRequest" => {
            r#"{"leaseToken": "TOKEN", "error": "the mail server is away", "retryDelaySeconds": 30}"#
        }
        "HeartbeatBatchRequest" | "AckBatchRequest" | "NackBatchRequest" => {
            r#"{"items": [{"eventId": "evt_06e0h8k2r4s6t8v0w2x4y6z8a0", "leaseToken": "TOKEN"}]}"#
        }
        "CancelRequest" => r#"{"reason": "the order was withdrawn"}"#,
        "RescheduleRequest" => r#"{"scheduledAt": "2026-12-24T18:00:00Z", "maxAttempts": 3}"#,
        "RunNowRequest" => "{}",
        "PurgeRequest" => r#"{"states": ["scheduled", "ready"], "dryRun": true}"#,
        "RedriveRequest" => r#"{"resetAttempts": true}"#,
        "DeadRedriveRequest" => r#"{"filter": {"reason": "attempts_used_up"}, "dryRun": true}"#,
        "DeadDiscardRequest" => r#"{"ids": ["evt_06e0h8k2r4s6t8v0w2x4y6z8a0"]}"#,
        "ResetRequest" => r#"{"id": "0-0"}"#,
        "TrimRequest" => r#"{"maxLength": 100000}"#,
        "KeyCreateRequest" => {
            r#"{"name": "mail-worker", "scopes": ["consume", "read"], "queues": ["mail", "orders.*"]}"#
        }
        "KeyPatchRequest" => r#"{"scopes": ["consume"], "rateLimit": 200}"#,
        "KeyRotateRequest" => r#"{"overlapSeconds": 3600}"#,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::every;
    use super::*;

    #[test]
    fn every_request_has_its_example() {
        for route in every() {
            if let Some(schema) = route.body {
                let text = body(schema).unwrap_or_else(|| panic!("{} has no example: {schema}", route.path));
                let value: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
                assert!(value.is_object(), "{schema}");
            }
        }
    }
}
