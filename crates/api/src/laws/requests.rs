//! What must hold of a request's body, whatever is in it.
//!
//! Lives here: what an input stands for, every request there is, and the laws. Not here: what single fields
//! may be (`bounds.rs`).
//!
//! The first line of an input names the request, as its schema is named; the rest is the body. A line that
//! names none stands for all of them.

use std::fmt::Debug;

use serde::Serialize;

use super::bounds::check_bounds;
use crate::bulk::{DeadDiscardRequest, DeadRedriveRequest};
use crate::claim::{ClaimBatchRequest, ClaimRequest};
use crate::event::RedriveRequest;
use crate::field::{BadRequest, Faults, FieldFault};
use crate::key::{KeyCreateRequest, KeyPatchRequest, KeyRotateRequest};
use crate::lease_batch::LeaseBatchRequest;
use crate::operate::{CancelRequest, RescheduleRequest, RunNowRequest};
use crate::publish::{PublishBatchRequest, PublishRequest, PublishRules};
use crate::purge::PurgeRequest;
use crate::queue::{PauseRequest, QueueCreateRequest, QueuePatchRequest, decode_nothing};
use crate::settle::{AckRequest, HeartbeatRequest, NackRequest};
use crate::stream::{ResetRequest, TrimRequest};
use crate::time::Timestamp;

/// The wall clock of all requests.
const NOW: Timestamp = Timestamp::from_ms(1_795_000_000_000);
/// Most faults that one answer names.
const FAULTS_MAX: usize = 100;
/// Longest path of a fault: a caller's own text is cut at 128 bytes, of which each may be shown as three.
const PATH_BYTES_MAX: usize = 1_024;

/// A request, and the check of a body for it.
type Kind = (&'static str, fn(&[u8]));

/// Every request that has a body.
const KINDS: [Kind; 26] = [
    ("QueueCreateRequest", |body| kept(body, QueueCreateRequest::decode)),
    ("QueuePatchRequest", |body| kept(body, QueuePatchRequest::decode)),
    ("PauseRequest", |body| kept(body, PauseRequest::decode)),
    ("ResumeRequest", |body| judged(decode_nothing(body, Faults::default()))),
    ("PublishRequest", |body| kept(body, |body, faults| PublishRequest::decode(body, faults, rules()))),
    ("PublishBatchRequest", |body| {
        kept(body, |body, faults| PublishBatchRequest::decode(body, faults, rules()));
    }),
    ("ClaimRequest", |body| kept(body, ClaimRequest::decode)),
    ("ClaimBatchRequest", |body| kept(body, ClaimBatchRequest::decode)),
    ("HeartbeatRequest", |body| kept(body, HeartbeatRequest::decode)),
    ("AckRequest", |body| kept(body, AckRequest::decode)),
    ("NackRequest", |body| kept(body, NackRequest::decode)),
    ("HeartbeatBatchRequest", |body| kept(body, LeaseBatchRequest::<HeartbeatRequest>::decode)),
    ("AckBatchRequest", |body| kept(body, LeaseBatchRequest::<AckRequest>::decode)),
    ("NackBatchRequest", |body| kept(body, LeaseBatchRequest::<NackRequest>::decode)),
    ("CancelRequest", |body| kept(body, |body, faults| CancelRequest::decode(body, faults, None))),
    ("RescheduleRequest", |body| {
        kept(body, |body, faults| RescheduleRequest::decode(body, faults, None, NOW));
    }),
    ("RunNowRequest", |body| kept(body, |body, faults| RunNowRequest::decode(body, faults, None))),
    ("PurgeRequest", |body| kept(body, PurgeRequest::decode)),
    ("RedriveRequest", |body| kept(body, |body, faults| RedriveRequest::decode(body, faults, None))),
    ("DeadRedriveRequest", |body| kept(body, DeadRedriveRequest::decode)),
    ("DeadDiscardRequest", |body| kept(body, DeadDiscardRequest::decode)),
    ("ResetRequest", |body| kept(body, ResetRequest::decode)),
    ("TrimRequest", |body| kept(body, TrimRequest::decode)),
    ("KeyCreateRequest", |body| kept(body, |body, faults| KeyCreateRequest::decode(body, faults, NOW))),
    ("KeyPatchRequest", |body| kept(body, |body, faults| KeyPatchRequest::decode(body, faults, NOW))),
    ("KeyRotateRequest", |body| kept(body, KeyRotateRequest::decode)),
];

fn rules() -> PublishRules {
    PublishRules::at(NOW)
}

/// Holds one input to all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (name, body) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    match KINDS.iter().find(|(kind, _)| kind.as_bytes() == name) {
        Some((_, check)) => check(body),
        None => KINDS.iter().for_each(|(_, check)| check(body)),
    }
}

/// A body is refused with a reason, or taken, and then its fields are within their bounds, and it is taken
/// again, as the same, in our own words.
fn kept<T: Serialize + PartialEq + Debug>(
    body: &[u8],
    decode: impl Fn(&[u8], Faults) -> Result<T, BadRequest>,
) {
    let request = match decode(body, Faults::default()) {
        Ok(request) => request,
        Err(refusal) => return check_refusal(&refusal),
    };
    let text = serde_json::to_string(&request).expect("a request can be written");
    check_bounds(&text);
    let again = decode(text.as_bytes(), Faults::default());
    assert_eq!(again.as_ref(), Ok(&request), "it was written as {text}");
}

fn judged(read: Result<(), BadRequest>) {
    if let Err(refusal) = read {
        check_refusal(&refusal);
    }
}

/// A refusal names the fields, and the rules that they break.
fn check_refusal(refusal: &BadRequest) {
    assert!(!refusal.to_string().is_empty());
    let faults = match refusal {
        BadRequest::Malformed(why) => return assert!(!why.is_empty()),
        BadRequest::Unknown(faults) | BadRequest::Invalid(faults) => faults,
    };
    assert!((1..=FAULTS_MAX).contains(&faults.len()), "{} faults", faults.len());
    for FieldFault { path, rule, min, max } in faults {
        assert!(!rule.is_empty(), "a fault of '{path}' without a rule");
        assert!(path.len() <= PATH_BYTES_MAX && !path.chars().any(char::is_control), "{path:?}");
        assert!(min.is_none() == max.is_none() && min <= max, "{path}: {rule}: {min:?} to {max:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_requests() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/json_requests");
        let files: Vec<_> = fs::read_dir(folder).expect("the saved inputs are there").collect();
        assert!((1..=200).contains(&files.len()), "{} saved inputs", files.len());
        for file in files {
            let path = file.expect("listed").path();
            // What fails shows the last name that was printed.
            println!("{}", path.display());
            check(&fs::read(path).expect("it can be read"));
        }
    }
}
