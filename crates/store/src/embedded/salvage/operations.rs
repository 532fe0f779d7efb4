//! Operations on many dead letters.
//!
//! Lives here: holding their tables to each other and to queues. Not here: dead letters (`dealings.rs`).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::events::Mend;
use super::rows::Rows;
use super::seen::owner;
use crate::embedded::rows::key;
use crate::embedded::rows::operation::{OperationRow, running};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::txn::OperationState;

impl Mend<'_> {
    /// An operation under way goes on where its queue is there, and has failed where it is not.
    pub(super) fn operations(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        let mut begun: BTreeMap<u32, u64> = BTreeMap::new();
        rows.for_each(Table::Operation, &mut |rows, key, row| {
            let Some(mut row) = OperationRow::decode(row) else { return rows.remove(Table::Operation, key) };
            let highest = begun.entry(row.queue.0).or_default();
            *highest = row.number.max(*highest);
            if row.view.state.is_over() {
                return Ok(());
            }
            if self.queue(row.queue.0).is_some() {
                let at = running(row.queue, row.view.kind);
                return rows.put(Table::Running, &at, Bytes::copy_from_slice(key));
            }
            row.view.state = OperationState::Failed;
            row.view.error = Some("its queue was lost".to_owned());
            rows.put(Table::Operation, key, row.encode())
        })?;
        rows.for_each(Table::Running, &mut |rows, key, row| {
            let found = rows.get(Table::Operation, &row).and_then(OperationRow::decode);
            let is_its = found.is_some_and(|found| {
                !found.view.state.is_over() && running(found.queue, found.view.kind) == key
            });
            if is_its { Ok(()) } else { rows.remove(Table::Running, key) }
        })?;
        rows.for_each(Table::Begun, &mut |rows, key, _| {
            if self.queue(owner(key)).is_some() { Ok(()) } else { rows.remove(Table::Begun, key) }
        })?;
        if self.copied.lost.has_none(Table::Begun) {
            return Ok(());
        }
        // Whoever dies from now on must not be taken for one that was dead before.
        for (queue, number) in begun.into_iter().filter(|(queue, _)| self.queue(*queue).is_some()) {
            let key = key::number(queue);
            let known = rows.get(Table::Begun, &key).and_then(|row| row[..].try_into().ok());
            if known.map_or(0, u64::from_be_bytes) < number {
                rows.put(Table::Begun, &key, Bytes::copy_from_slice(&number.to_be_bytes()))?;
            }
        }
        Ok(())
    }
}
