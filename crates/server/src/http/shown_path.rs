//! Paths as logs may show them.
//!
//! Lives here: hiding a part that may be a secret, which a caller put in the wrong place. Not here: the log
//! line (`door.rs`).

use super::query::decoded;

/// What stands for a hidden part.
const HIDDEN: &str = "[hidden]";
/// Letters and digits in a row, of both cases, from which on a part may be a lease token, which has 43; ids
/// have 30, and are of one case.
const TOKEN_CHARS_MIN: usize = 40;
/// Characters of a key from which on more of it is there than its public part, which has 30.
const KEY_CHARS_MIN: usize = 31;

/// `path` with each part hidden that may hold a lease token or a key, escaped or not.
pub(super) fn shown_path(path: &str) -> String {
    let parts =
        path.split('/').map(|part| if may_be_secret(decoded(part).as_bytes()) { HIDDEN } else { part });
    parts.collect::<Vec<_>>().join("/")
}

fn may_be_secret(part: &[u8]) -> bool {
    let runs = part.split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-'));
    runs.into_iter().any(|run| is_like_a_token(run) || has_a_key(run))
}

fn is_like_a_token(run: &[u8]) -> bool {
    run.len() >= TOKEN_CHARS_MIN
        && run.iter().any(u8::is_ascii_uppercase)
        && run.iter().any(u8::is_ascii_lowercase)
}

fn has_a_key(run: &[u8]) -> bool {
    let start = run.windows(4).position(|bytes| bytes.eq_ignore_ascii_case(b"nvk_"));
    start.is_some_and(|start| run.len() - start > KEY_CHARS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_hidden_and_the_rest_is_not() {
        let token = "AAAAAQAAAAAAAAAAAAAAAJ2VjcmV0LXNlY3JldC1zZQ";
        let key = format!("nvk_{}_{}", "0".repeat(26), "1".repeat(52));
        for secret in [token, &key, &format!("x{token}="), &key.replace('n', "%6E"), &key[..40]] {
            assert_eq!(shown_path(&format!("/v1/events/{secret}/ack")), "/v1/events/[hidden]/ack");
        }
        for path in [
            "/",
            "*",
            "/v1/events/evt_01m8n078np0000400000000001/ack",
            "/v1/event-queues/orders.eu-west-1",
            "/v1/keys/nvk_00000000000000000000000000",
            "/v1/streams/a%2Fb/events",
            "/v1/streams/%",
        ] {
            assert_eq!(shown_path(path), path);
        }
    }
}
