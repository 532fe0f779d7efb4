//! The model's audit log.
//!
//! Lives here: noting and showing. Not here: the chain (`audit.rs` of the crate).

use naven_api::limits::AUDIT_ROWS_MAX;
use naven_core::Now;

use super::views::page;
use super::world::{Answer, World};
use crate::audit::{AuditEntry, AuditNote};
use crate::read::{Cursor, Page};
use crate::reply::{OpError, OpReply};

impl World {
    /// Notes what was done, where it was.
    pub(super) fn noted(&mut self, note: Option<&AuditNote>, answer: Answer, now: Now) -> Answer {
        let reply = answer?;
        if let Some(note) = note
            && !matches!(reply, OpReply::Replayed(_))
        {
            let entry = AuditEntry::after(self.audit.last(), now.wall, note.clone());
            self.audit.push(entry);
            let most = usize::try_from(AUDIT_ROWS_MAX).unwrap_or(usize::MAX);
            let over = self.audit.len().saturating_sub(most);
            self.audit.drain(..over);
        }
        Ok(reply)
    }

    pub(super) fn audit_log(&self, cursor: Option<&Cursor>, limit: u32) -> Result<Page, OpError> {
        let found = self.audit.iter().map(|entry| (u128::from(entry.number), entry)).collect();
        let (page, next) = page(found, cursor, limit)?;
        Ok(Page::Audit(page.into_iter().cloned().collect(), next))
    }
}
