//! What rows of Redis consumers lead to.
//!
//! Lives here: the links between a consumer, its name and what it holds. Not here: all other links
//! (`link.rs`).

use bytes::Bytes;

use super::link::{Broken, Linked, Links, owner};
use crate::embedded::rows::consumer::{self, ConsumerRow, holder};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, QueueNo};
use crate::embedded::tables::Table;

impl Links<'_> {
    /// A name leads to the consumer that bears it.
    pub(super) fn consumer_name(&self, key: &[u8], number: &Bytes) -> Linked {
        let at = [&key[..4], number].concat();
        let row = ConsumerRow::decode(self.row(Table::Consumer, &at)?).ok_or(Broken::Unknown)?;
        let is_its = !row.is_deleted && *row.name == key[4..];
        if is_its { Ok(()) } else { Err(Broken::Other(Table::Consumer, at)) }
    }

    /// A consumer has its queue, and its name until it is deleted.
    pub(super) fn consumer(&self, key: &[u8], row: &Bytes) -> Linked {
        let row = ConsumerRow::decode(row.clone()).ok_or(Broken::Unknown)?;
        self.needs(Table::Queue, &key[..4])?;
        if row.is_deleted {
            return Ok(());
        }
        let name = consumer::consumer_name(QueueNo(owner(key)), &row.name);
        let number = self.row(Table::ConsumerName, &name)?;
        if number == key[4..8] { Ok(()) } else { Err(Broken::Other(Table::ConsumerName, name)) }
    }

    /// What is held has its holder, and a delivery that names it.
    pub(super) fn held(&self, key: &[u8]) -> Linked {
        self.needs(Table::Consumer, &key[..8])?;
        let at = key::counted(owner(key), consumer::entry_of(key).0);
        let (_, held) = delivery::decode(self.row(Table::Delivery, &at)?).ok_or(Broken::Unknown)?;
        let is_its = holder(&held) == Some(consumer::consumer_of(key));
        if is_its { Ok(()) } else { Err(Broken::Other(Table::Delivery, at.to_vec())) }
    }
}
