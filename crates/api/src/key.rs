//! Bearer keys as their operators make and see them.
//!
//! Lives here: the requests that make, change and rotate one, and its picture. Not here: what a key may do
//! to what (`naven-server`).

use serde::{Deserialize, Serialize};

use crate::field::{BadRequest, Faults, Rule};
use crate::id::KeyId;
use crate::limits::{
    KEY_OVERLAP_SECONDS_DEFAULT, KEY_OVERLAP_SECONDS_MAX, KEY_PATTERNS_MAX, KEY_RATE_MAX,
    STREAM_NAME_BYTES_MAX,
};
use crate::name::QueueName;
use crate::object::{Object, decode};
use crate::time::Timestamp;
use crate::value;

/// What a key may do with what it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Scope {
    /// Publish.
    Produce,
    /// Claim and settle.
    Consume,
    /// Look.
    Read,
    /// Everything that operators do. It does not imply the others.
    Admin,
}

impl Scope {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Scope; 4] = [Self::Produce, Self::Consume, Self::Read, Self::Admin];

    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Produce => "produce",
            Self::Consume => "consume",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }

    /// The scope of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Makes a key. It may do no more than the key that asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyCreateRequest {
    /// Its unique name, which it keeps: as a queue's.
    pub name: QueueName,
    /// What it may do: one to four of them.
    pub scopes: Vec<Scope>,
    /// Which queues and streams it reaches, 1 to 100: names, `*` at the end for any ending. By default what
    /// the asking key reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<String>>,
    /// From when on it is no key any more; by default that of the asking key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Calls of a second that it may make, 1 to 1,000,000; by default as the asking key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<u32>,
}

/// Changes a key: absent fields stay, null takes a bound away.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyPatchRequest {
    /// What it may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<Scope>>,
    /// Which queues and streams it reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<String>>,
    /// From when on it is no key any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Timestamp>))]
    pub expires_at: Option<Option<Timestamp>>,
    /// Calls of a second that it may make.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>))]
    pub rate_limit: Option<Option<u32>>,
}

/// Gives a key a new secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyRotateRequest {
    /// How long the secret of before is taken too, in seconds: 0 to 2,592,000, by default 3,600.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub overlap_seconds: u32,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyReply {
    /// Its id.
    pub id: KeyId,
    /// Its unique name.
    pub name: String,
    /// The public part of its secret, by which logs name it.
    pub prefix: String,
    /// The secret itself: only in the answer that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// What it may do: `produce`, `consume`, `read`, `admin`.
    pub scopes: Vec<String>,
    /// Which queues and streams it reaches; `*` at the end stands for any ending.
    pub queues: Vec<String>,
    /// From when on it is no key any more; null: there is no such time.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub expires_at: Option<Timestamp>,
    /// Calls of a second that it may make; null: no bound.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub rate_limit: Option<u32>,
    /// Until when the secret of before is taken too; null: it is not.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub overlap_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was last used on this node since the node started; null: not since.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_used_at: Option<Timestamp>,
}

/// What the deletion of a key answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyDeletedReply {
    /// The key that is none any more.
    pub id: KeyId,
    /// Always true.
    pub deleted: bool,
}

impl KeyCreateRequest {
    /// Reads a request's body at `now`.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults, now: Timestamp) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let name =
                object.required("name", Rule::new(QueueName::RULE), |text| value::string(text)?.parse().ok());
            let scopes = object.required("scopes", scopes_rule(), scopes);
            let queues = object.optional("queues", patterns_rule(), patterns);
            let expires_at = object.optional("expiresAt", ahead_rule(), |text| ahead(text, now));
            let rate_limit = object.optional("rateLimit", rate_rule(), rate);
            Some(Self { name: name?, scopes: scopes?, queues, expires_at, rate_limit })
        })
    }
}

impl KeyPatchRequest {
    /// Reads a request's body at `now`.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults, now: Timestamp) -> Result<Self, BadRequest> {
        decode(body, faults, |object| Some(Self::read(object, now)))
    }

    fn read(object: &mut Object<'_>, now: Timestamp) -> Self {
        Self {
            scopes: object.optional("scopes", scopes_rule(), scopes),
            queues: object.optional("queues", patterns_rule(), patterns),
            expires_at: object.changed("expiresAt", None, ahead_rule(), |text| ahead(text, now).map(Some)),
            rate_limit: object.changed("rateLimit", None, rate_rule(), |text| rate(text).map(Some)),
        }
    }
}

impl KeyRotateRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        decode(body, faults, |object| {
            let rule = value::integer_rule(0, KEY_OVERLAP_SECONDS_MAX);
            let read = |text: &str| value::integer(text, 0, KEY_OVERLAP_SECONDS_MAX);
            let overlap_seconds = object.optional("overlapSeconds", rule, read);
            Some(Self { overlap_seconds: overlap_seconds.unwrap_or(KEY_OVERLAP_SECONDS_DEFAULT) })
        })
    }
}

fn scopes_rule() -> Rule {
    Rule::new("one or more of produce, consume, read, admin, each once")
}

fn scopes(text: &str) -> Option<Vec<Scope>> {
    let words: Vec<String> = serde_json::from_str(text).ok()?;
    let mut scopes = words.iter().map(|word| Scope::from_word(word)).collect::<Option<Vec<_>>>()?;
    scopes.sort_unstable();
    let count = scopes.len();
    scopes.dedup();
    (count > 0 && count == scopes.len()).then_some(scopes)
}

fn patterns_rule() -> Rule {
    Rule::new("1 to 100 names of queues or streams, each of 1 to 512 bytes, with * at its end or nowhere")
}

fn patterns(text: &str) -> Option<Vec<String>> {
    let patterns: Vec<String> = serde_json::from_str(text).ok()?;
    let is_one = |pattern: &String| {
        let start = pattern.strip_suffix('*').unwrap_or(pattern);
        (1..=STREAM_NAME_BYTES_MAX).contains(&pattern.len())
            && !start.contains('*')
            && !start.chars().any(char::is_control)
    };
    ((1..=KEY_PATTERNS_MAX).contains(&patterns.len()) && patterns.iter().all(is_one)).then_some(patterns)
}

fn ahead_rule() -> Rule {
    Rule::new("an RFC 3339 time that lies ahead, at most 10 years")
}

fn ahead(text: &str, now: Timestamp) -> Option<Timestamp> {
    value::instant(text, now).filter(|at| *at > now)
}

fn rate_rule() -> Rule {
    value::integer_rule(1, KEY_RATE_MAX)
}

fn rate(text: &str) -> Option<u32> {
    value::integer(text, 1, KEY_RATE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults<T: std::fmt::Debug>(read: Result<T, BadRequest>) -> Vec<String> {
        match read {
            Err(BadRequest::Invalid(faults)) => faults.into_iter().map(|fault| fault.path).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_key_names_what_it_may_do() {
        let now = Timestamp::from_ms(0);
        let read = |body: &str| KeyCreateRequest::decode(body.as_bytes(), Faults::default(), now);
        let key = read(r#"{"name":"w","scopes":["read","consume"],"queues":["mail","a.*","*"]}"#).unwrap();
        assert_eq!(key.scopes, [Scope::Consume, Scope::Read]);
        assert_eq!(key.queues.as_ref().map(Vec::len), Some(3));
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(read(&text).unwrap(), key, "{text}");
        for (body, path) in [
            (r#"{"scopes":["read"]}"#, "name"),
            (r#"{"name":"w","scopes":[]}"#, "scopes"),
            (r#"{"name":"w","scopes":["read","read"]}"#, "scopes"),
            (r#"{"name":"w","scopes":["write"]}"#, "scopes"),
            (r#"{"name":"w","scopes":["read"],"queues":[]}"#, "queues"),
            (r#"{"name":"w","scopes":["read"],"queues":["a*b"]}"#, "queues"),
            (r#"{"name":"w","scopes":["read"],"queues":[""]}"#, "queues"),
            (r#"{"name":"w","scopes":["read"],"expiresAt":"1970-01-01T00:00:00Z"}"#, "expiresAt"),
            (r#"{"name":"w","scopes":["read"],"expiresAt":null}"#, "expiresAt"),
            (r#"{"name":"w","scopes":["read"],"rateLimit":0}"#, "rateLimit"),
        ] {
            assert_eq!(faults(read(body)), [path], "{body}");
        }
    }

    #[test]
    fn in_a_change_null_takes_a_bound_away() {
        let now = Timestamp::from_ms(0);
        let read = |body: &str| KeyPatchRequest::decode(body.as_bytes(), Faults::default(), now);
        let patch = read(r#"{"expiresAt":null,"rateLimit":5}"#).unwrap();
        assert_eq!((patch.expires_at, patch.rate_limit), (Some(None), Some(Some(5))));
        assert_eq!(read("{}").unwrap(), KeyPatchRequest::default());
        assert_eq!(faults(read(r#"{"scopes":null}"#)), ["scopes"]);
        assert!(matches!(read(r#"{"name":"x"}"#), Err(BadRequest::Unknown(_))), "it keeps its name");
    }

    #[test]
    fn an_overlap_has_a_default_and_a_bound() {
        let read = |body: &str| KeyRotateRequest::decode(body.as_bytes(), Faults::default());
        assert_eq!(read("{}").unwrap().overlap_seconds, KEY_OVERLAP_SECONDS_DEFAULT);
        assert_eq!(read(r#"{"overlapSeconds":0}"#).unwrap().overlap_seconds, 0);
        assert_eq!(faults(read(r#"{"overlapSeconds":2592001}"#)), ["overlapSeconds"]);
    }
}
