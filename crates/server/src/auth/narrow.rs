//! That a key makes only keys that may do no more than itself.
//!
//! Lives here: comparing two keys' rights. Not here: making them (`http/key.rs`).

use naven_api::field::Rule;
use naven_api::{ErrorCode, FieldFault};
use naven_store::key::KeyRecord;

use crate::failure::Failure;

/// Whether whatever `inner` reaches, `outer` reaches.
fn is_within(inner: &str, outer: &str) -> bool {
    match outer.strip_suffix('*') {
        Some(start) => inner.strip_suffix('*').unwrap_or(inner).starts_with(start),
        None => inner == outer,
    }
}

/// In which of its fields `key` goes beyond `of`.
fn beyond(key: &KeyRecord, of: &KeyRecord) -> Vec<FieldFault> {
    let fault = |field: &str| Rule::new("no more than the asking key's own").broken_at(field.to_owned());
    let mut faults = Vec::new();
    if !key.scopes.iter().all(|scope| of.scopes.contains(scope)) {
        faults.push(fault("scopes"));
    }
    let is_covered = |pattern: &String| of.queues.iter().any(|outer| is_within(pattern, outer));
    if !key.queues.iter().all(is_covered) {
        faults.push(fault("queues"));
    }
    let outlives = |mine: Option<_>, theirs| mine.is_none_or(|mine| mine > theirs);
    if of.expires_at.is_some_and(|theirs| outlives(key.expires_at, theirs)) {
        faults.push(fault("expiresAt"));
    }
    if of.rate_limit.is_some_and(|theirs| key.rate_limit.is_none_or(|mine| mine > theirs)) {
        faults.push(fault("rateLimit"));
    }
    faults
}

/// Whether a caller with the key `of` may know of `key`: it may do no more than the caller.
pub(crate) fn may_see(of: &KeyRecord, key: &KeyRecord) -> bool {
    key.id == of.id || beyond(key, of).is_empty()
}

/// Lets `key` be stored by a caller with the key `of`.
///
/// # Errors
/// 40300, with the fields that go too far.
pub(crate) fn may_store(of: &KeyRecord, key: &KeyRecord) -> Result<(), Failure> {
    let fields = beyond(key, of);
    if fields.is_empty() {
        return Ok(());
    }
    let failure =
        Failure::new(ErrorCode::ScopeMissing, "a key makes only keys that may do no more than itself");
    Err(Failure { fields, ..failure })
}

#[cfg(test)]
mod tests {
    use naven_api::{KeyId, Timestamp};
    use naven_store::key::KeySecret;

    use super::*;

    fn key(id: u128, scopes: &[&str], queues: &[&str]) -> KeyRecord {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let secret = KeySecret { prefix: "nvk_".to_owned(), digest: [0; 32], until: None };
        let key = KeyRecord::new(KeyId::from_bits(id), "w".to_owned(), secret, Timestamp::default());
        KeyRecord { scopes: owned(scopes), queues: owned(queues), ..key }
    }

    #[test]
    fn a_pattern_is_within_one_that_covers_it() {
        for (inner, outer, expected) in [
            ("mail", "mail", true),
            ("mail", "*", true),
            ("*", "*", true),
            ("a.*", "*", true),
            ("a.b", "a.*", true),
            ("a.b.*", "a.*", true),
            ("a.*", "a.*", true),
            ("*", "a.*", false),
            ("a*", "a.*", false),
            ("a.*", "a.b", false),
            ("mail*", "mail", false),
            ("b", "a.*", false),
        ] {
            assert_eq!(is_within(inner, outer), expected, "{inner} in {outer}");
        }
    }

    #[test]
    fn each_field_has_its_bound() {
        let at = |ms| Some(Timestamp::from_ms(ms));
        let of = KeyRecord {
            expires_at: at(10),
            rate_limit: Some(5),
            ..key(1, &["admin", "read"], &["a.*", "mail"])
        };
        let faults =
            |key: &KeyRecord| beyond(key, &of).into_iter().map(|fault| fault.path).collect::<Vec<_>>();
        let narrower = KeyRecord { expires_at: at(10), rate_limit: Some(5), ..key(2, &["read"], &["a.b*"]) };
        assert!(faults(&narrower).is_empty() && may_see(&of, &narrower) && may_store(&of, &narrower).is_ok());
        let wider = KeyRecord { rate_limit: None, ..key(2, &["read", "consume"], &["a.b", "b"]) };
        assert_eq!(faults(&wider), ["scopes", "queues", "expiresAt", "rateLimit"]);
        assert_eq!(faults(&KeyRecord { expires_at: at(11), ..narrower.clone() }), ["expiresAt"]);
        assert_eq!(faults(&KeyRecord { rate_limit: Some(6), ..narrower.clone() }), ["rateLimit"]);
        assert!(!may_see(&of, &wider) && may_see(&of, &KeyRecord { id: of.id, ..wider.clone() }), "itself");
        assert_eq!(may_store(&of, &wider).unwrap_err().fields.len(), 4);
    }
}
