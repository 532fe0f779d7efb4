//! Changes under a condition: the headers `ETag` and `If-Match`.
//!
//! Lives here: reading the condition and judging it. Not here: that nothing changes in between, which the
//! engine sees to.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::HeaderValue;
use http::header::IF_MATCH;
use http::request::Parts;
use naven_api::ErrorCode;

use crate::failure::Failure;
use crate::node::Node;

/// At which version the thing has to be that is to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IfMatch {
    /// At any.
    Any,
    /// At one of these.
    One(Vec<String>),
}

impl IfMatch {
    fn read<'a>(values: impl Iterator<Item = &'a HeaderValue>) -> Self {
        let mut tags = Vec::new();
        for value in values {
            // What is no text is the tag of nothing.
            let text = value.to_str().unwrap_or_default();
            tags.extend(text.split(',').map(|tag| tag.trim().to_owned()));
        }
        if tags.is_empty() || tags == ["*"] { Self::Any } else { Self::One(tags) }
    }

    /// True where a version is named.
    pub(super) fn is_named(&self) -> bool {
        *self != Self::Any
    }

    /// Lets a change of what is at `revision` pass.
    ///
    /// # Errors
    /// 41200.
    pub(super) fn check(&self, revision: u64) -> Result<(), Failure> {
        match self {
            Self::One(tags) if !tags.contains(&tag(revision)) => Err(Self::mismatch()),
            _ => Ok(()),
        }
    }

    /// What is said where the thing is at another version.
    pub(super) fn mismatch() -> Failure {
        Failure::new(
            ErrorCode::VersionMismatch,
            "it has changed since: read it again, and send its ETag as If-Match",
        )
    }
}

/// The `ETag` of this revision.
pub(super) fn tag(revision: u64) -> String {
    format!("\"{revision}\"")
}

impl FromRequestParts<Arc<Node>> for IfMatch {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Node>) -> Result<Self, Infallible> {
        Ok(Self::read(parts.headers.get_all(IF_MATCH).iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_passes_at_a_version_that_is_named() {
        let passes = |headers: &[&'static str], revision| {
            let values: Vec<_> = headers.iter().map(|text| HeaderValue::from_static(text)).collect();
            IfMatch::read(values.iter()).check(revision).is_ok()
        };
        assert!(passes(&[], 3) && passes(&["*"], 3) && passes(&["\"3\""], 3));
        assert!(passes(&["\"1\", \"3\""], 3) && passes(&["\"1\"", "\"3\""], 3));
        assert!(
            !passes(&["\"2\""], 3) && !passes(&["3"], 3) && !passes(&["W/\"3\""], 3) && !passes(&[""], 3)
        );
    }
}
