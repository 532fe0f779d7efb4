//! The stored keys as a node knows them.
//!
//! Lives here: finding a caller by its secret, and reading the keys again after a change. Not here: where
//! keys are stored (`naven-store`), and what they may do (`auth.rs`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use naven_api::id::uuid_v7_bits;
use naven_api::{KeyId, Scope, Timestamp};
use naven_store::key::{KeyCondition, KeyRecord, KeySecret};
use naven_store::read::{Page, Read};
use naven_store::reply::OpError;
use naven_store::txn::{AdminOp, OpKind, Txn};
use naven_store::{Clock, Engine, Random};
use subtle::ConstantTimeEq;
use tokio::sync::Mutex;

use super::bearer::BearerKey;
use super::pace::Pace;
use super::{ADMIN, Caller};

/// A stored key, and what this node knows of its use.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) record: KeyRecord,
    /// None: it may call as often as it likes.
    pub(crate) pace: Option<Pace>,
    /// In ms since 1970; 0: not since the start.
    last_used: AtomicI64,
}

/// Why nobody is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// It is no key of ours.
    Unknown,
    /// It was one, and its time is over.
    Expired,
}

/// The stored keys.
#[derive(Debug, Default)]
pub struct KeyRing {
    keys: RwLock<Arc<Keys>>,
    /// One change at a time, so that an older reading never replaces a newer one.
    changing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Keys {
    by_prefix: HashMap<String, (Arc<Known>, KeySecret)>,
    /// By name.
    all: Vec<Arc<Known>>,
}

impl Known {
    /// `record`, not used yet.
    pub(crate) fn of(record: KeyRecord) -> Arc<Self> {
        Arc::new(Self { record, pace: None, last_used: AtomicI64::new(0) })
    }

    /// When it was last used on this node, where it was.
    pub(crate) fn last_used(&self) -> Option<Timestamp> {
        match self.last_used.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(Timestamp::from_ms(ms)),
        }
    }
}

impl KeyRing {
    /// The keys that `engine` holds.
    ///
    /// # Errors
    /// The engine's own.
    pub async fn load(engine: &dyn Engine) -> Result<Self, OpError> {
        let ring = Self::default();
        ring.reload(engine).await?;
        Ok(ring)
    }

    /// Reads the keys again: after a change of them.
    ///
    /// # Errors
    /// The engine's own; what was known stays.
    pub async fn reload(&self, engine: &dyn Engine) -> Result<(), OpError> {
        let _changing = self.changing.lock().await;
        let records = stored(engine).await?;
        let before = self.now();
        let known = |record: KeyRecord| {
            let old = before.all.iter().find(|old| old.record.id == record.id);
            // A change of something else does not give a new burst of calls.
            let pace = old.filter(|old| old.record.rate_limit == record.rate_limit);
            let pace = pace.map_or_else(|| record.rate_limit.and_then(Pace::new), |old| old.pace.clone());
            let last_used = old.map_or(0, |old| old.last_used.load(Ordering::Relaxed));
            Arc::new(Known { record, pace, last_used: AtomicI64::new(last_used) })
        };
        let all: Vec<Arc<Known>> = records.into_iter().map(known).collect();
        let secrets = all.iter().flat_map(|known| {
            let secrets = known.record.secrets.iter().cloned();
            secrets.map(|secret| (secret.prefix.clone(), (Arc::clone(known), secret)))
        });
        let by_prefix = secrets.collect();
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Keys { by_prefix, all });
        Ok(())
    }

    fn now(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// True where no key is stored, so that nobody can be let in.
    pub fn is_empty(&self) -> bool {
        self.now().all.is_empty()
    }

    /// Every key, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Known>> {
        self.now().all.clone()
    }

    /// The key of this id.
    pub(crate) fn find(&self, id: KeyId) -> Option<Arc<Known>> {
        self.now().all.iter().find(|known| known.record.id == id).cloned()
    }

    /// A caller as its key stands now; none where the secret that it sent is worth nothing any more.
    pub(crate) fn still(&self, caller: &Caller, now: Timestamp) -> Option<Caller> {
        let keys = self.now();
        let (known, secret) = keys.by_prefix.get(caller.prefix())?;
        let is_over = |until: Option<Timestamp>| until.is_some_and(|until| until <= now);
        let is_it = known.record.id == caller.id() && !is_over(secret.until);
        (is_it && !is_over(known.record.expires_at))
            .then(|| Caller::new(Arc::clone(known), secret.prefix.clone()))
    }

    /// Whose key `text` is at `now`. Right, wrong and unknown secrets take the same work.
    ///
    /// # Errors
    /// [`Stranger`].
    pub fn caller(&self, text: &str, now: Timestamp) -> Result<Caller, Stranger> {
        let key: BearerKey = text.parse().map_err(|_| Stranger::Unknown)?;
        let keys = self.now();
        let found = keys.by_prefix.get(&key.shown_prefix());
        let expected = found.map_or([0; 32], |(_, secret)| secret.digest);
        let is_right: bool = key.digest().ct_eq(&expected).into();
        let (known, secret) = found.filter(|_| is_right).ok_or(Stranger::Unknown)?;
        let is_over = |until: Option<Timestamp>| until.is_some_and(|until| until <= now);
        // A secret that was rotated out is none of ours any more; a key whose time is over was one.
        if is_over(secret.until) {
            return Err(Stranger::Unknown);
        }
        if is_over(known.record.expires_at) {
            return Err(Stranger::Expired);
        }
        known.last_used.store(now.as_ms(), Ordering::Relaxed);
        Ok(Caller::new(Arc::clone(known), secret.prefix.clone()))
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
    let secret = key.stored();
    // A restart with the same key writes nothing.
    let is_it = |known: &KeyRecord| known.name == ADMIN && known.secrets == [secret.clone()];
    if stored(engine).await?.iter().any(is_it) {
        return Ok(());
    }
    let now = clock.wall();
    let id = KeyId::from_bits(uuid_v7_bits(now.as_ms(), random.draw_u128()));
    let record = KeyRecord {
        scopes: Scope::ALL.into_iter().map(|scope| scope.as_str().to_owned()).collect(),
        queues: vec!["*".to_owned()],
        ..KeyRecord::new(id, ADMIN.to_owned(), secret, now)
    };
    let txn = Txn::one(OpKind::Admin(AdminOp::PutKey { record, over: KeyCondition::Any }));
    let answer = engine.submit(vec![txn]).await.pop().and_then(|mut reply| reply.ops.pop());
    answer.unwrap_or(Err(OpError::Unknown)).map(|_| ())
}

async fn stored(engine: &dyn Engine) -> Result<Vec<KeyRecord>, OpError> {
    match engine.read(Read::Keys).await? {
        Page::Keys(keys) => Ok(keys),
        _ => Err(OpError::Unknown),
    }
}
