//! Payloads made from the caller's own values or text.
//!
//! Lives here: the two ways in, with an error that says why. Not here: the payload itself
//! ([`naven_api::Payload`]), which keeps the text byte for byte.

use naven_api::Payload;
use naven_api::limits::{PAYLOAD_BYTES_MAX, PAYLOAD_DEPTH_MAX};
use serde::Serialize;

use crate::error::Error;

/// The payload with this JSON text, which is sent as it is, white space around it apart.
///
/// # Errors
/// [`Error::Setup`] where it is not a JSON object of at most 4 MiB and 64 levels. A server may be set
/// to take less than 4 MiB (256 KiB by default).
pub fn from_json(text: &str) -> Result<Payload, Error> {
    Payload::parse(text).ok_or_else(|| Error::Setup {
        why: format!(
            "the payload is not a JSON object of at most {PAYLOAD_BYTES_MAX} bytes, nested at most {PAYLOAD_DEPTH_MAX} deep"
        ),
    })
}

/// The payload that `value` becomes: a struct or a map.
///
/// # Errors
/// [`Error::Setup`] where `value` cannot be written as JSON, and as for [`from_json`].
pub fn of(value: &impl Serialize) -> Result<Payload, Error> {
    let text = serde_json::to_string(value)
        .map_err(|error| Error::Setup { why: format!("the payload cannot be written as JSON: {error}") })?;
    from_json(&text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn text_is_kept_byte_for_byte() {
        let text = "{\"b\":1e3, \"a\":12345678901234567890.10,\"a\":\"\\ud800\"}";
        assert_eq!(from_json(text).unwrap().get(), text);
    }

    #[test]
    fn what_is_not_an_object_is_refused_before_it_is_sent() {
        for bad in ["{not", "[]", "7"] {
            assert!(matches!(from_json(bad), Err(Error::Setup { .. })), "{bad}");
        }
        assert!(matches!(of(&7), Err(Error::Setup { .. })));
    }

    #[test]
    fn values_become_json() {
        assert_eq!(of(&BTreeMap::from([("n", 7)])).unwrap().get(), r#"{"n":7}"#);
    }
}
