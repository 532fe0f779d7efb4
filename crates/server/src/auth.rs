//! Who calls, and what they may do.
//!
//! Lives here: callers, and the one function that decides for all doors. Not here: bearer keys
//! (`auth/bearer.rs`), the stored ones (`auth/ring.rs`), reading headers (`http/extract.rs`).

use std::sync::Arc;

pub use naven_api::Scope;
use naven_api::{ErrorCode, KeyId};
use naven_store::audit::AuditNote;
use naven_store::key::KeyRecord;
use naven_store::queue::stream_and_group;
use naven_store::reply::Refused;

use crate::failure::Failure;

mod bearer;
mod narrow;
mod pace;
mod ring;

pub use bearer::{BearerKey, ParseKeyError};
pub(crate) use narrow::{may_see, may_store};
pub(crate) use pace::{Pace, Standing};
pub(crate) use ring::Known;
pub use ring::{KeyRing, Stranger, install_admin};

/// The name of the key that is installed at start.
pub(crate) const ADMIN: &str = "admin";

/// Who calls: a stored key.
#[derive(Debug, Clone)]
pub struct Caller {
    known: Arc<Known>,
    /// The public part of the secret that was sent.
    prefix: String,
    /// The request that is made.
    request_id: String,
}

impl Caller {
    pub(crate) fn new(known: Arc<Known>, prefix: String) -> Self {
        Self { known, prefix, request_id: String::new() }
    }

    /// The caller of this request.
    pub(crate) fn in_request(self, id: &str) -> Self {
        Self { request_id: id.to_owned(), ..self }
    }

    /// What the audit log says of `action` on `target`.
    pub(crate) fn note(&self, action: &str, target: impl Into<String>) -> AuditNote {
        AuditNote {
            by: self.prefix.clone(),
            action: action.to_owned(),
            target: target.into(),
            request_id: self.request_id.clone(),
        }
    }

    /// The key's id.
    pub fn id(&self) -> KeyId {
        self.known.record.id
    }

    /// The stored key.
    pub fn key(&self) -> &KeyRecord {
        &self.known.record
    }

    /// The public part of the secret that was sent: that by which logs name the caller.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The bound on how often it may call, where it has one.
    pub(crate) fn pace(&self) -> Option<&Pace> {
        self.known.pace.as_ref()
    }

    /// Whether this caller may do to `thing` what needs `scope`. The one function that decides, for all
    /// doors.
    ///
    /// # Errors
    /// What is said of things that are not there, where the key's patterns do not reach `thing`; 40300
    /// where the key lacks the scope.
    pub fn may(&self, scope: Scope, thing: Thing<'_>) -> Result<(), Failure> {
        if !self.reaches(thing) {
            return Err(thing.missing());
        }
        if self.key().scopes.iter().any(|held| held == scope.as_str()) {
            return Ok(());
        }
        Err(Failure::new(ErrorCode::ScopeMissing, format!("the key lacks the scope {}", scope.as_str())))
    }

    /// Whether the key's patterns reach `thing`: what they do not reach is as if it were not there.
    pub fn reaches(&self, thing: Thing<'_>) -> bool {
        let name = match thing {
            Thing::Nothing => return true,
            Thing::Queue(name) => name.as_bytes(),
            Thing::Stream(name) => name,
        };
        let reaches = |name: &[u8]| {
            self.key().queues.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => name.starts_with(start.as_bytes()),
                None => name == pattern.as_bytes(),
            })
        };
        reaches(name)
            || matches!(thing, Thing::Queue(name) if plain_name(name).is_some_and(|name| reaches(&name)))
    }

    /// True where no name needs to be known to say what the key reaches: it reaches everything.
    pub fn reaches_all(&self) -> bool {
        self.key().queues.iter().any(|pattern| pattern == "*")
    }
}

/// A queue's name without escapes, where it has some: patterns are written as streams are called.
fn plain_name(name: &str) -> Option<Vec<u8>> {
    let (stream, group) = stream_and_group(name).filter(|_| name.contains('%'))?;
    Some([&stream[..], b"/", &group[..]].concat())
}

/// What a call touches, by the name that keys' patterns are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing<'a> {
    /// Nothing of its own: a list, whose items are judged one by one, or the server itself.
    Nothing,
    /// The queue of this name.
    Queue(&'a str),
    /// The stream of this name.
    Stream(&'a [u8]),
}

impl Thing<'_> {
    /// What is said where it is not there.
    fn missing(self) -> Failure {
        match self {
            Self::Nothing => Failure::internal("a key always reaches what has no name"),
            Self::Queue(_) => Refused::QueueNotFound.into(),
            Self::Stream(_) => Refused::StreamNotFound.into(),
        }
    }
}

impl Caller {
    /// Lets through who may do this to everything.
    ///
    /// # Errors
    /// 40300 where the key lacks the scope, or reaches some queues only.
    pub fn may_everywhere(&self, scope: Scope) -> Result<(), Failure> {
        self.may(scope, Thing::Nothing)?;
        if self.reaches_all() {
            return Ok(());
        }
        Err(Failure::new(ErrorCode::ScopeMissing, "the key does not reach every queue"))
    }
}

#[cfg(test)]
mod tests {
    use naven_api::Timestamp;
    use naven_store::key::KeySecret;

    use super::*;

    fn caller(scopes: &[&str], queues: &[&str]) -> Caller {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let secret = KeySecret { prefix: "nvk_".to_owned(), digest: [0; 32], until: None };
        let key = KeyRecord::new(KeyId::from_bits(1), "w".to_owned(), secret, Timestamp::default());
        Caller::new(
            Known::of(KeyRecord { scopes: owned(scopes), queues: owned(queues), ..key }),
            String::new(),
        )
    }

    #[test]
    fn patterns_reach_names_of_queues_and_streams() {
        let worker = caller(&["consume"], &["mail", "orders.*", "factory:*", "näh s*"]);
        for (thing, reached) in [
            (Thing::Queue("mail"), true),
            (Thing::Stream(b"mail"), true),
            (Thing::Queue("mail2"), false),
            (Thing::Queue("orders.eu"), true),
            (Thing::Stream(b"orders.\xff"), true),
            (Thing::Queue("orders"), false),
            // As readers of a stream make them.
            (Thing::Queue("factory:events/worker-mail"), true),
            (Thing::Queue("n%C3%A4h%20stube/g"), true),
            (Thing::Queue("n%C3%A4h/s"), false),
            (Thing::Queue("mail/g"), false),
            (Thing::Nothing, true),
        ] {
            assert_eq!(worker.reaches(thing), reached, "{thing:?}");
        }
        let code = |scope, thing| worker.may(scope, thing).map_err(|failure| failure.code.code());
        assert_eq!(code(Scope::Consume, Thing::Queue("mail")), Ok(()));
        assert_eq!(code(Scope::Produce, Thing::Queue("mail")), Err(40_300));
        assert_eq!(code(Scope::Produce, Thing::Queue("other")), Err(40_401), "reach comes before scope");
        assert_eq!(code(Scope::Consume, Thing::Stream(b"other")), Err(40_404));
        assert!(!worker.reaches_all() && caller(&[], &["a", "*"]).reaches_all());
    }
}
