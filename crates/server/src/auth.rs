//! Who calls, and what they may do.
//!
//! Lives here: bearer keys, the ring of stored ones, and the one function that decides for all
//! doors. Not here: where keys are stored (`naven-store`), and reading headers (`http/extract.rs`).

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use naven_api::id::uuid_v7_bits;
use naven_api::{ErrorCode, KeyId, base32};
use naven_store::key::KeyRecord;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, Refused};
use naven_store::txn::{AdminOp, OpKind, Txn};
use naven_store::{Clock, Engine, Random};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::failure::Failure;

/// The name of the key that is installed at start.
const ADMIN: &str = "admin";
const PREFIX_CHARS: usize = 26;
const SECRET_CHARS: usize = 52;

/// A bearer key: `nvk_` + 26 base32 + `_` + 52 base32 (256 bits). A secret: `Debug` hides it.
#[derive(Clone)]
pub struct BearerKey {
    text: String,
}

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key: expected nvk_, 26 base32 characters, _ and 52 base32 characters")]
pub struct ParseKeyError;

impl BearerKey {
    /// A new key.
    pub fn generate(clock: &dyn Clock, random: &dyn Random) -> Self {
        let mut secret = [0; 32];
        random.fill(&mut secret);
        let public = uuid_v7_bits(clock.wall().as_ms(), random.draw_u128());
        Self { text: format!("nvk_{}_{}", base32::encode_u128(public), base32::encode_bytes(&secret)) }
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The public part, by which it is looked up and may be named in logs.
    pub fn prefix(&self) -> &str {
        &self.text["nvk_".len()..][..PREFIX_CHARS]
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    fn shown_prefix(&self) -> String {
        format!("nvk_{}", self.prefix())
    }
}

impl FromStr for BearerKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let (public, secret) =
            text.strip_prefix("nvk_").and_then(|rest| rest.split_once('_')).ok_or(ParseKeyError)?;
        let fits = public.len() == PREFIX_CHARS
            && secret.len() == SECRET_CHARS
            && base32::is_base32(public)
            && base32::is_base32(secret);
        if fits { Ok(Self { text: text.to_owned() }) } else { Err(ParseKeyError) }
    }
}

impl fmt::Debug for BearerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BearerKey({}..)", self.shown_prefix())
    }
}

/// What a key may do with a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Publish.
    Produce,
    /// Claim and settle.
    Consume,
    /// Look.
    Read,
    /// Everything that operators do.
    Admin,
}

impl Scope {
    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Produce => "produce",
            Self::Consume => "consume",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }
}

/// Who calls: a stored key, without its digest's secret.
#[derive(Debug, Clone)]
pub struct Caller {
    key: Arc<KeyRecord>,
}

impl Caller {
    /// The key's id.
    pub fn id(&self) -> KeyId {
        self.key.id
    }

    /// The stored key.
    pub fn key(&self) -> &KeyRecord {
        &self.key
    }

    /// Whether this caller may do to `thing` what needs `scope`. The one function that decides, for all
    /// doors.
    ///
    /// # Errors
    /// What is said of things that are not there, where the key's patterns do not reach `thing`; 40101
    /// where the key lacks the scope.
    pub fn may(&self, scope: Scope, thing: Thing<'_>) -> Result<(), Failure> {
        if !self.reaches(thing) {
            return Err(thing.missing());
        }
        if self.key.scopes.iter().any(|held| held == scope.as_str()) {
            return Ok(());
        }
        Err(Failure::new(ErrorCode::KeyInvalid, format!("the key lacks the scope {}", scope.as_str())))
    }

    /// Whether the key's patterns reach `thing`: what they do not reach is as if it were not there.
    pub fn reaches(&self, thing: Thing<'_>) -> bool {
        let name = match thing {
            Thing::Nothing => return true,
            Thing::Queue(name) => name.as_bytes(),
            Thing::Stream(name) => name,
        };
        self.key.queues.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start.as_bytes()),
            None => name == pattern.as_bytes(),
        })
    }

    /// True where no name needs to be known to say what the key reaches: it reaches everything.
    pub fn reaches_all(&self) -> bool {
        self.key.queues.iter().any(|pattern| pattern == "*")
    }
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
    /// 40101 where the key lacks the scope, or reaches some queues only.
    pub fn may_everywhere(&self, scope: Scope) -> Result<(), Failure> {
        self.may(scope, Thing::Nothing)?;
        if self.reaches_all() {
            return Ok(());
        }
        Err(Failure::new(ErrorCode::KeyInvalid, "the key does not reach every queue"))
    }
}

/// The stored keys, as they were at the start.
#[derive(Debug, Default)]
pub struct KeyRing {
    by_prefix: HashMap<String, Caller>,
}

impl KeyRing {
    /// The keys that `engine` holds.
    ///
    /// # Errors
    /// The engine's own.
    pub async fn load(engine: &dyn Engine) -> Result<Self, OpError> {
        let keys = stored(engine).await?;
        let by_prefix =
            keys.into_iter().map(|key| (key.prefix.clone(), Caller { key: Arc::new(key) })).collect();
        Ok(Self { by_prefix })
    }

    /// True where no key is stored, so that nobody can be let in.
    pub fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    /// Whose key `text` is. Right, wrong and unknown secrets take the same work.
    pub fn caller(&self, text: &str) -> Option<Caller> {
        let key: BearerKey = text.parse().ok()?;
        let known = self.by_prefix.get(&key.shown_prefix());
        let expected = known.map_or([0; 32], |caller| caller.key.digest);
        let is_right: bool = key.digest().ct_eq(&expected).into();
        known.filter(|_| is_right).cloned()
    }
}

/// Stores `key` as the one row `admin`: all four scopes, every queue. Replaces another one.
///
/// # Errors
/// The engine's own.
pub async fn install_admin(
    engine: &dyn Engine,
    key: &BearerKey,
    clock: &dyn Clock,
    random: &dyn Random,
) -> Result<(), OpError> {
    let digest = key.digest();
    // A restart with the same key writes nothing.
    if stored(engine).await?.iter().any(|known| known.name == ADMIN && known.digest == digest) {
        return Ok(());
    }
    let now = clock.wall();
    let scopes = [Scope::Produce, Scope::Consume, Scope::Read, Scope::Admin];
    let record = KeyRecord {
        id: KeyId::from_bits(uuid_v7_bits(now.as_ms(), random.draw_u128())),
        name: ADMIN.to_owned(),
        prefix: key.shown_prefix(),
        digest,
        scopes: scopes.into_iter().map(|scope| scope.as_str().to_owned()).collect(),
        queues: vec!["*".to_owned()],
        created_at: now,
    };
    let txn = Txn::one(OpKind::Admin(AdminOp::PutKey(record)));
    let answer = engine.submit(vec![txn]).await.pop().and_then(|mut reply| reply.ops.pop());
    answer.unwrap_or(Err(OpError::Unknown)).map(|_| ())
}

async fn stored(engine: &dyn Engine) -> Result<Vec<KeyRecord>, OpError> {
    match engine.read(Read::Keys).await? {
        Page::Keys(keys) => Ok(keys),
        _ => Err(OpError::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{SystemClock, SystemRandom};

    #[test]
    fn a_generated_key_is_one_and_hides_itself() {
        let key = BearerKey::generate(&SystemClock::new(), &SystemRandom);
        assert_eq!(key.reveal().len(), 4 + 26 + 1 + 52);
        assert!(key.reveal().parse::<BearerKey>().is_ok());
        assert!(!format!("{key:?}").contains(&key.reveal()[31..]));
    }

    #[test]
    fn near_misses_are_not_keys() {
        let key = BearerKey::generate(&SystemClock::new(), &SystemRandom);
        let text = key.reveal();
        for bad in ["", "nvk_", "not-the-key", &text[1..], &text[..text.len() - 1], &text.to_uppercase()] {
            assert!(bad.parse::<BearerKey>().is_err(), "{bad}");
        }
        assert!(format!("{text}0").parse::<BearerKey>().is_err());
    }

    fn caller(scopes: &[&str], queues: &[&str]) -> Caller {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let key = KeyRecord {
            id: KeyId::from_bits(1),
            name: "w".to_owned(),
            prefix: "nvk_".to_owned(),
            digest: [0; 32],
            scopes: owned(scopes),
            queues: owned(queues),
            created_at: naven_api::Timestamp::default(),
        };
        Caller { key: Arc::new(key) }
    }

    #[test]
    fn patterns_reach_names_of_queues_and_streams() {
        let worker = caller(&["consume"], &["mail", "orders.*"]);
        for (thing, reached) in [
            (Thing::Queue("mail"), true),
            (Thing::Stream(b"mail"), true),
            (Thing::Queue("mail2"), false),
            (Thing::Queue("orders.eu"), true),
            (Thing::Stream(b"orders.\xff"), true),
            (Thing::Queue("orders"), false),
            (Thing::Nothing, true),
        ] {
            assert_eq!(worker.reaches(thing), reached, "{thing:?}");
        }
        let code = |scope, thing| worker.may(scope, thing).map_err(|failure| failure.code.code());
        assert_eq!(code(Scope::Consume, Thing::Queue("mail")), Ok(()));
        assert_eq!(code(Scope::Produce, Thing::Queue("mail")), Err(40_101));
        assert_eq!(code(Scope::Produce, Thing::Queue("other")), Err(40_401), "reach comes before scope");
        assert_eq!(code(Scope::Consume, Thing::Stream(b"other")), Err(40_404));
        assert!(!worker.reaches_all() && caller(&[], &["a", "*"]).reaches_all());
    }
}
