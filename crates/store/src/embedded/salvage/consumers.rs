//! Redis consumers and what they hold.
//!
//! Lives here: holding these tables to deliveries and to each other. Not here: deliveries (`dealings.rs`),
//! which say who holds them.

use std::collections::BTreeMap;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::ConsumerNo;

use super::events::Mend;
use super::rows::Rows;
use super::seen::owner;
use crate::embedded::rows::consumer::{self, ConsumerRow, consumer_of, entry_of, holder};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, EntryNo, QueueNo};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;

/// A queue and one of its consumers.
type Consumer = (u32, u32);

impl Mend<'_> {
    /// Every hold has its consumer, and every consumer its count. One whose row is lost gets a name that
    /// says so: what it held can be taken over by that name.
    pub(super) fn consumers(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        let mut held: BTreeMap<Consumer, u64> = BTreeMap::new();
        rows.for_each(Table::Delivery, &mut |rows, key, row| {
            let Some((_, delivery)) = delivery::decode(row) else { return Ok(()) };
            let Some(by) = holder(&delivery) else { return Ok(()) };
            *held.entry((owner(key), by.0)).or_default() += 1;
            let n = EntryNo(key::count_of(key));
            rows.put(Table::Held, &consumer::held(QueueNo(owner(key)), by, n), Bytes::new())
        })?;
        rows.for_each(Table::Held, &mut |rows, key, _| {
            let own = key::counted(owner(key), entry_of(key).0);
            let found = rows.get(Table::Delivery, &own).and_then(delivery::decode);
            let is_its = found.and_then(|(_, found)| holder(&found)) == Some(consumer_of(key));
            if is_its { Ok(()) } else { rows.remove(Table::Held, key) }
        })?;
        for (&(queue, by), &count) in &held {
            let key = consumer::consumer(QueueNo(queue), ConsumerNo(by));
            if rows.get(Table::Consumer, &key).and_then(ConsumerRow::decode).is_none() {
                let name = Bytes::from(format!("salvaged-{by}"));
                let seen = Timestamp::default();
                let row = ConsumerRow { name, held: count, is_deleted: false, seen, active: None };
                rows.put(Table::Consumer, &key, row.encode())?;
            }
        }
        self.consumer_rows(rows, &held)?;
        rows.for_each(Table::ConsumerName, &mut |rows, key, number| {
            let at = [&key[..4], &number].concat();
            let row = rows.get(Table::Consumer, &at).and_then(ConsumerRow::decode);
            let is_its = row.is_some_and(|row| !row.is_deleted && *row.name == key[4..]);
            if is_its { Ok(()) } else { rows.remove(Table::ConsumerName, key) }
        })
    }

    /// Consumers as their holds say, with what leads to them.
    fn consumer_rows(&self, rows: &mut Rows, held: &BTreeMap<Consumer, u64>) -> Result<(), StorageError> {
        rows.for_each(Table::Consumer, &mut |rows, key, row| {
            let (queue, by) = (QueueNo(owner(key)), consumer_of(key));
            let row = ConsumerRow::decode(row).filter(|_| self.queue(queue.0).is_some());
            let Some(mut row) = row else { return rows.remove(Table::Consumer, key) };
            row.held = held.get(&(queue.0, by.0)).copied().unwrap_or(0);
            if row.is_deleted && row.held == 0 {
                return rows.remove(Table::Consumer, key);
            }
            rows.put(Table::Consumer, key, row.encode())?;
            if row.is_deleted {
                return rows.put(Table::Closing, &consumer::closing_consumer(queue, by), Bytes::new());
            }
            let number = Bytes::copy_from_slice(&key[4..8]);
            rows.put(Table::ConsumerName, &consumer::consumer_name(queue, &row.name), number)
        })
    }
}
