//! Records that a script's ops bear: keys, and notes of the audit log.
//!
//! Lives here: making them. Not here: drawing which (`draw.rs`).

use naven_api::{KeyId, Timestamp};

use super::script::NAMES;
use crate::audit::AuditNote;
use crate::key::{KeyCondition, KeyRecord, KeySecret};
use crate::txn::OpKind;

/// What operators do is noted.
pub(super) fn note(kind: &OpKind) -> Option<AuditNote> {
    let action = match kind {
        OpKind::Group(_) => "group",
        OpKind::Delete(_) => "delete",
        OpKind::Admin(_) => "admin",
        _ => return None,
    };
    let text = |text: &str| text.to_owned();
    Some(AuditNote { by: text("nvk_x"), action: text(action), target: text("t"), request_id: text("r") })
}

pub(super) fn key_id(name: usize) -> KeyId {
    KeyId::from_bits(name as u128)
}

pub(super) fn key(name: usize, over: KeyCondition, wall: Timestamp) -> KeyRecord {
    let revision = match over {
        KeyCondition::Any | KeyCondition::Absent => 1,
        KeyCondition::Revision(revision) => revision + 1,
    };
    let secret = KeySecret { prefix: "nvk_x".to_owned(), digest: [name as u8; 32], until: None };
    KeyRecord {
        scopes: vec!["read".to_owned()],
        queues: vec!["*".to_owned()],
        revision,
        ..KeyRecord::new(key_id(name), NAMES[name % NAMES.len()].to_owned(), secret, wall)
    }
}
