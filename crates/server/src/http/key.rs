//! Bearer keys: made, shown, changed, rotated, revoked.
//!
//! Lives here: the handlers. Not here: what a key may do (`auth.rs`), and where it is kept
//! (`naven-store`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::id::uuid_v7_bits;
use naven_api::key::{KeyCreateRequest, KeyDeletedReply, KeyPatchRequest, KeyReply, KeyRotateRequest};
use naven_api::limits::KEYS_MAX;
use naven_api::{ErrorCode, KeyId, Scope, Timestamp};
use naven_store::audit::AuditNote;
use naven_store::key::{KeyCondition, KeyRecord, KeySecret};
use naven_store::read::Cursor;
use naven_store::reply::{OpError, Refused};
use naven_store::txn::{AdminOp, Op, OpKind};

use super::answer::{Reply, created, ok};
use super::body::Sent;
use super::condition::IfMatch;
use super::extract::KeyInPath;
use super::list::page;
use super::query::Query;
use crate::auth::{ADMIN, BearerKey, Caller, Known, Thing, may_see, may_store};
use crate::failure::Failure;
use crate::node::Node;

/// How often a change is tried again that met another one.
const TRIES: usize = 5;

/// `POST /v1/keys`: makes a key; its secret is in this answer alone.
pub(super) async fn create(State(node): State<Arc<Node>>, caller: Caller, sent: Sent) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    let now = node.clock.wall();
    let request = sent.decode(|body, faults| KeyCreateRequest::decode(body, faults, now))?;
    let secret = BearerKey::generate(&*node.clock, &*node.random);
    let id = KeyId::from_bits(uuid_v7_bits(now.as_ms(), node.random.draw_u128()));
    let own = caller.key();
    let record = KeyRecord {
        scopes: words(&request.scopes),
        queues: request.queues.unwrap_or_else(|| own.queues.clone()),
        expires_at: request.expires_at.or(own.expires_at),
        rate_limit: request.rate_limit.or(own.rate_limit),
        ..KeyRecord::new(id, request.name.as_str().to_owned(), secret.stored(), now)
    };
    may_store(own, &record)?;
    if node.keys.all().len() >= KEYS_MAX {
        let text = format!("there are {KEYS_MAX} keys already, which is the most: revoke some");
        return Err(Failure::new(ErrorCode::WrongState, text));
    }
    match node.put_key(&record, KeyCondition::Absent, caller.note("key.create", id.to_string())).await {
        Ok(()) => {
            let reply = KeyReply { secret: Some(secret.reveal().to_owned()), ..shown(&record, None) };
            Ok(created(&reply)?.located_at(&format!("/v1/keys/{id}")).tagged(record.revision))
        }
        Err(OpError::Refused(Refused::NameTaken)) => {
            Err(Failure::new(ErrorCode::NameTaken, "a key of this name exists"))
        }
        Err(error) => Err(error.into()),
    }
}

/// `GET /v1/keys`: those that may do no more than the caller, by name.
pub(super) async fn list(State(node): State<Arc<Node>>, caller: Caller, mut query: Query) -> Reply {
    caller.may(Scope::Admin, Thing::Nothing)?;
    let filter = b"keys";
    let (cursor, limit) = (query.cursor(filter), query.limit() as usize);
    query.end()?;
    let is_wanted = |known: &Arc<Known>| {
        let is_behind = |cursor: &Cursor| known.record.name.as_bytes() > cursor.0.as_slice();
        may_see(caller.key(), &known.record) && cursor.as_ref().is_none_or(is_behind)
    };
    let mut keys: Vec<_> = node.keys.all().into_iter().filter(is_wanted).take(limit + 1).collect();
    let more = keys.len() > limit;
    keys.truncate(limit);
    let next = keys.last().filter(|_| more).map(|last| Cursor(last.record.name.clone().into_bytes()));
    page(keys.iter().map(|known| shown(&known.record, known.last_used())).collect(), next.as_ref(), filter)
}

/// `GET /v1/keys/{id}`.
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    caller: Caller,
    KeyInPath(id): KeyInPath,
    query: Query,
) -> Reply {
    let known = node.key_of(&caller, id)?;
    query.end()?;
    Ok(ok(&shown(&known.record, known.last_used()))?.tagged(known.record.revision))
}

/// `PATCH /v1/keys/{id}`: what it may do, from the next call on.
pub(super) async fn patch(
    State(node): State<Arc<Node>>,
    caller: Caller,
    KeyInPath(id): KeyInPath,
    condition: IfMatch,
    sent: Sent,
) -> Reply {
    node.key_of(&caller, id)?;
    let now = node.clock.wall();
    let request = sent.decode(|body, faults| KeyPatchRequest::decode(body, faults, now))?;
    let change = |key: KeyRecord| KeyRecord {
        scopes: request.scopes.as_deref().map_or(key.scopes.clone(), words),
        queues: request.queues.clone().unwrap_or(key.queues.clone()),
        expires_at: request.expires_at.unwrap_or(key.expires_at),
        rate_limit: request.rate_limit.unwrap_or(key.rate_limit),
        ..key
    };
    let note = caller.note("key.patch", id.to_string());
    let record = node.change_key(&caller, id, &condition, (change, note)).await?;
    Ok(ok(&shown(&record, None))?.tagged(record.revision))
}

/// `POST /v1/keys/{id}/rotate`: a new secret, in this answer alone; the one of before is taken for a while.
pub(super) async fn rotate(
    State(node): State<Arc<Node>>,
    caller: Caller,
    KeyInPath(id): KeyInPath,
    condition: IfMatch,
    sent: Sent,
) -> Reply {
    node.key_of(&caller, id)?;
    let request = sent.decode(KeyRotateRequest::decode)?;
    let secret = BearerKey::generate(&*node.clock, &*node.random);
    let until = node.clock.wall().plus_ms(i64::from(request.overlap_seconds) * 1_000);
    let change = |key: KeyRecord| {
        // Only the newest of before lives on: two are taken at any time.
        let before = key.secrets.first().filter(|_| request.overlap_seconds > 0);
        let before = before.map(|old| KeySecret { until: Some(until), ..old.clone() });
        KeyRecord { secrets: std::iter::once(secret.stored()).chain(before).collect(), ..key }
    };
    let note = caller.note("key.rotate", id.to_string());
    let record = node.change_key(&caller, id, &condition, (change, note)).await?;
    let reply = KeyReply { secret: Some(secret.reveal().to_owned()), ..shown(&record, None) };
    Ok(ok(&reply)?.tagged(record.revision))
}

/// `DELETE /v1/keys/{id}`: from the next call on it is no key.
pub(super) async fn delete(
    State(node): State<Arc<Node>>,
    caller: Caller,
    KeyInPath(id): KeyInPath,
    condition: IfMatch,
    query: Query,
) -> Reply {
    let known = node.key_of(&caller, id)?;
    query.end()?;
    node.check_changeable(&known.record)?;
    condition.check(known.record.revision)?;
    let revision = condition.is_named().then_some(known.record.revision);
    let op = OpKind::Admin(AdminOp::DeleteKey { key: id, revision });
    match node.ask(Op::noted(op, caller.note("key.delete", id.to_string()))).await {
        // Whoever was faster did the same.
        Ok(_) | Err(OpError::Refused(Refused::KeyNotFound)) => {}
        Err(OpError::Refused(Refused::Stale)) => return Err(IfMatch::mismatch()),
        Err(error) => return Err(error.into()),
    }
    node.reload_keys().await?;
    ok(&KeyDeletedReply { id, deleted: true })
}

impl Node {
    /// The key of this id, where `caller` may know of it.
    ///
    /// # Errors
    /// 40405, and 40300 where the caller may see no keys at all.
    fn key_of(&self, caller: &Caller, id: KeyId) -> Result<Arc<Known>, Failure> {
        let found = self.keys.find(id).filter(|known| may_see(caller.key(), &known.record));
        let found = found.ok_or_else(|| Failure::new(ErrorCode::OtherNotFound, "no such key"))?;
        caller.may(Scope::Admin, Thing::Nothing)?;
        Ok(found)
    }

    /// The key that the server's settings name is changed there.
    fn check_changeable(&self, key: &KeyRecord) -> Result<(), Failure> {
        if self.has_admin_key && key.name == ADMIN {
            let text = "the key admin comes from NAVEN_ADMIN_KEY: change it there, and restart";
            return Err(Failure::new(ErrorCode::WrongState, text));
        }
        Ok(())
    }

    /// Stores what `change` makes of the key of this id, and tries again where another change was faster.
    async fn change_key(
        &self,
        caller: &Caller,
        id: KeyId,
        condition: &IfMatch,
        (change, note): (impl Fn(KeyRecord) -> KeyRecord, AuditNote),
    ) -> Result<KeyRecord, Failure> {
        for _ in 0..TRIES {
            let known = self.key_of(caller, id)?;
            self.check_changeable(&known.record)?;
            condition.check(known.record.revision)?;
            let (revision, now) = (known.record.revision, self.clock.wall());
            let is_over = |secret: &KeySecret| secret.until.is_some_and(|until| until <= now);
            let mut record = change(known.record.clone());
            record.secrets.retain(|secret| !is_over(secret));
            (record.revision, record.updated_at) = (revision + 1, now);
            may_store(caller.key(), &record)?;
            match self.put_key(&record, KeyCondition::Revision(revision), note.clone()).await {
                Ok(()) => return Ok(record),
                Err(OpError::Refused(Refused::Stale)) => self.reload_keys().await?,
                Err(OpError::Refused(Refused::KeyNotFound)) => {
                    return Err(Failure::new(ErrorCode::OtherNotFound, "no such key"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::new(ErrorCode::StorageUnavailable, "the key changes all the time: try again"))
    }

    async fn put_key(&self, record: &KeyRecord, over: KeyCondition, note: AuditNote) -> Result<(), OpError> {
        let op = OpKind::Admin(AdminOp::PutKey { record: record.clone(), over });
        self.ask(Op::noted(op, note)).await?;
        // It is stored: whoever is not told so must not take it that it is not.
        self.keys.reload(&*self.engine).await.map_err(|_| OpError::Unknown)
    }

    async fn reload_keys(&self) -> Result<(), Failure> {
        self.keys.reload(&*self.engine).await.map_err(|_| OpError::Unknown.into())
    }
}

fn words(scopes: &[Scope]) -> Vec<String> {
    scopes.iter().map(|scope| scope.as_str().to_owned()).collect()
}

fn shown(key: &KeyRecord, last_used_at: Option<Timestamp>) -> KeyReply {
    let prefix = key.secrets.first().map(|secret| secret.prefix.clone()).unwrap_or_default();
    KeyReply {
        id: key.id,
        name: key.name.clone(),
        prefix,
        secret: None,
        scopes: key.scopes.clone(),
        queues: key.queues.clone(),
        expires_at: key.expires_at,
        rate_limit: key.rate_limit,
        overlap_until: key.secrets.iter().find_map(|secret| secret.until),
        created_at: key.created_at,
        updated_at: key.updated_at,
        last_used_at,
    }
}
