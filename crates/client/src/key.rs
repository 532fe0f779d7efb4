//! Bearer keys and the audit log.
//!
//! Lives here: the calls. Not here: how a client bears its own key (`client.rs`).

use naven_api::KeyId;
use naven_api::audit::AuditReply;
use naven_api::envelope::List;
use naven_api::key::{KeyCreateRequest, KeyDeletedReply, KeyPatchRequest, KeyReply, KeyRotateRequest};
use reqwest::Method;

use crate::client::{Call, Client};
use crate::error::Error;

impl Client {
    /// Makes a key that may do no more than this client's own. Its secret is in this answer alone.
    ///
    /// Cancel safety: dropped, it may or may not have been made; repeated, it answers `name_taken` where it
    /// had been. Delete it, or rotate it, where its secret was lost.
    ///
    /// # Errors
    /// `name_taken`, `scope_missing`, `invalid_field`, `wrong_state` and what every call may meet.
    pub async fn create_key(&self, key: &KeyCreateRequest) -> Result<KeyReply, Error> {
        self.send(Call::post(&["keys"], key)).await
    }

    /// Keys that may do no more than this client's own, by name, 50 a page: hand the last page's
    /// `next_cursor` in for the next one.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `invalid_cursor` and what every call may meet.
    pub async fn keys(&self, cursor: Option<&str>) -> Result<List<KeyReply>, Error> {
        let query: Vec<_> = cursor.map(|cursor| ("cursor", cursor.to_owned())).into_iter().collect();
        self.send(Call::get(&["keys"], &query)).await
    }

    /// One key.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `other_not_found` and what every call may meet.
    pub async fn key(&self, key: KeyId) -> Result<KeyReply, Error> {
        self.send(Call::get(&["keys", &key.to_string()], &[])).await
    }

    /// Changes what a key may do, from the next call on.
    ///
    /// Cancel safety: dropped, it may or may not have been changed; repeating it does no harm.
    ///
    /// # Errors
    /// `other_not_found`, `scope_missing`, `invalid_field`, `wrong_state` and what every call may meet.
    pub async fn patch_key(&self, key: KeyId, changes: &KeyPatchRequest) -> Result<KeyReply, Error> {
        let key = key.to_string();
        self.send(Call { method: Method::PATCH, ..Call::post(&["keys", &key], changes) }).await
    }

    /// Gives a key a new secret, which is in this answer alone.
    ///
    /// Cancel safety: dropped, it may or may not have been done; repeated, it makes another one, and the
    /// secret of before the first try is not taken any more.
    ///
    /// # Errors
    /// `other_not_found`, `wrong_state` and what every call may meet.
    pub async fn rotate_key(&self, key: KeyId, rotation: &KeyRotateRequest) -> Result<KeyReply, Error> {
        self.send(Call::post(&["keys", &key.to_string(), "rotate"], rotation)).await
    }

    /// Revokes a key, from the next call on.
    ///
    /// Cancel safety: dropped, it may or may not have been revoked; repeated, it answers `other_not_found`
    /// where it had been.
    ///
    /// # Errors
    /// `other_not_found`, `wrong_state` and what every call may meet.
    pub async fn delete_key(&self, key: KeyId) -> Result<KeyDeletedReply, Error> {
        let key = key.to_string();
        self.send(Call { method: Method::DELETE, ..Call::get(&["keys", &key], &[]) }).await
    }

    /// What operators changed, newest first, 50 a page: hand the last page's `next_cursor` in for the next.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `scope_missing`, `invalid_cursor` and what every call may meet.
    pub async fn audit_log(&self, cursor: Option<&str>) -> Result<List<AuditReply>, Error> {
        let query: Vec<_> = cursor.map(|cursor| ("cursor", cursor.to_owned())).into_iter().collect();
        self.send(Call::get(&["audit-log"], &query)).await
    }
}
