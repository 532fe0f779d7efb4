//! The audit log: appended to, shown, and bounded.
//!
//! Lives here: its one table. Not here: which changes are noted (the doors).

use std::ops::ControlFlow;

use naven_api::limits::AUDIT_ROWS_MAX;

use super::context::{Context, READABLE};
use crate::audit::{AuditEntry, AuditNote};
use crate::embedded::command::Command;
use crate::embedded::rows::audit;
use crate::embedded::tables::{Order, Table, Tables};
use crate::read::{Cursor, Page};
use crate::reply::{OpError, OpReply, Refused};

/// Past every key of the table.
const PAST: [u8; 9] = [0xff; 9];

impl<T: Tables> Context<'_, T> {
    /// Runs `command`, and notes it where it was done. What only repeats an answer does nothing anew.
    pub(super) fn noted(
        &mut self,
        note: &AuditNote,
        command: &Command,
        tended: &mut (u64, bool),
    ) -> Result<OpReply, OpError> {
        let reply = self.run(command, tended)?;
        if !matches!(reply, OpReply::Replayed(_)) {
            let entry = AuditEntry::after(self.last_entry().as_ref(), self.now.wall, note.clone());
            self.tables.put(Table::Audit, &entry.number.to_be_bytes(), audit::encode(&entry));
            // One leaves for each that comes, so the table stays within its bound.
            if let Some(oldest) = entry.number.checked_sub(AUDIT_ROWS_MAX) {
                self.tables.delete(Table::Audit, &oldest.to_be_bytes());
            }
        }
        Ok(reply)
    }

    fn last_entry(&self) -> Option<AuditEntry> {
        self.entries_below(&PAST, 1).pop()
    }

    /// At most `limit` entries with keys below `to`, newest first.
    fn entries_below(&self, to: &[u8], limit: usize) -> Vec<AuditEntry> {
        let mut entries = Vec::new();
        self.tables.scan(Table::Audit, &1_u64.to_be_bytes(), to, Order::Falling, &mut |key, value| {
            entries.push(audit::decode(key, value.clone()).expect(READABLE));
            if entries.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        entries
    }

    /// A page of the log, newest first.
    pub(super) fn audit_log(&self, cursor: Option<&Cursor>, limit: usize) -> Result<Page, OpError> {
        if cursor.is_some_and(|cursor| cursor.0.len() != 8) {
            return Err(Refused::BadCursor.into());
        }
        let to = cursor.map_or(&PAST[..], |cursor| cursor.0.as_slice());
        let mut entries = self.entries_below(to, limit + 1);
        let more = entries.len() > limit;
        entries.truncate(limit);
        let last = entries.last().map(|entry| Cursor(entry.number.to_be_bytes().to_vec()));
        Ok(Page::Audit(entries, last.filter(|_| more)))
    }
}
