//! The audit log: as much of it as is bound together.
//!
//! Lives here: its one table. Not here: the chain (`audit.rs` of the crate).

use super::events::Mend;
use super::rows::Rows;
use crate::audit::AuditEntry;
use crate::embedded::rows::audit;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;

impl Mend<'_> {
    /// The newest entries of the audit log that follow each other without a gap; what is before a gap cannot
    /// be bound to them any more.
    pub(super) fn audit_log(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        let (mut first, mut last) = (0, None::<AuditEntry>);
        rows.for_each(Table::Audit, &mut |rows, key, row| {
            let Some(entry) = audit::decode(key, row).filter(AuditEntry::is_whole) else {
                return if audit::is_start(key) { Ok(()) } else { rows.remove(Table::Audit, key) };
            };
            let follows = |last: &AuditEntry| last.number + 1 == entry.number && last.hash == entry.previous;
            if !last.as_ref().is_some_and(follows) {
                first = entry.number;
            }
            last = Some(entry);
            Ok(())
        })?;
        let whole = self.copied.lost.has_none(Table::Audit);
        if whole || last.is_none() {
            return Ok(());
        }
        rows.for_each(Table::Audit, &mut |rows, key, _| {
            let is_before = !audit::is_start(key) && audit::number_of(key) < first;
            if is_before { rows.remove(Table::Audit, key) } else { Ok(()) }
        })?;
        if first > 1 { rows.put(Table::Audit, &audit::START, audit::start(first)) } else { Ok(()) }
    }
}
