//! Queues: made, changed, paused, resumed. Keys: stored.
//!
//! Lives here: these commands. Not here: the closing of queues (`delete.rs`).

use bytes::Bytes;
use naven_api::QueueId;

use super::context::Context;
use crate::embedded::rows::codec::Enc;
use crate::embedded::rows::key::{self, QueueNo, STREAM_NO_MAX, StreamNo};
use crate::embedded::rows::queue::{QueueRow, put_key};
use crate::embedded::rows::stream::{Numbers, Retention, StreamRow};
use crate::embedded::tables::{Table, Tables};
use crate::key::KeyRecord;
use crate::queue::{QueueChanges, QueueRef, QueueSettings};
use crate::reply::{OpError, OpReply, Refused};

impl<T: Tables> Context<'_, T> {
    /// A new queue on a stream of its own, named alike.
    pub(super) fn create_queue(
        &mut self,
        id: QueueId,
        name: &str,
        settings: &QueueSettings,
    ) -> Result<OpReply, OpError> {
        if self.tables.get(Table::Name, name.as_bytes()).is_some() {
            return Err(Refused::NameTaken.into());
        }
        let (stream, no) = self.next_numbers()?;
        self.put_stream(
            stream,
            &StreamRow {
                name: Bytes::copy_from_slice(name.as_bytes()),
                retention: Retention::Consumed,
                closed: None,
            },
        );
        let row = QueueRow {
            id,
            name: name.to_owned(),
            stream,
            settings: settings.clone(),
            paused: None,
            created_at: self.now.wall,
            updated_at: self.now.wall,
            closed: None,
        };
        self.put_queue(no, &row);
        self.tables.put(Table::Member, &key::member(stream, no), Bytes::new());
        let number = Bytes::copy_from_slice(&key::number(no.0));
        self.tables.put(Table::Name, name.as_bytes(), number.clone());
        self.tables.put(Table::QueueId, &id.bits().to_be_bytes(), number);
        Ok(self.queue_reply(no, &row))
    }

    pub(super) fn patch_queue(
        &mut self,
        queue: &QueueRef,
        changes: &QueueChanges,
    ) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        row.settings = changes.clone().made_to(&row.settings);
        row.updated_at = self.now.wall;
        Ok(self.changed(no, &row))
    }

    pub(super) fn pause_queue(&mut self, queue: &QueueRef, reason: Option<&str>) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        row.paused = Some(reason.unwrap_or_default().to_owned());
        Ok(self.changed(no, &row))
    }

    pub(super) fn resume_queue(&mut self, queue: &QueueRef) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        if row.paused.take().is_none() {
            return Ok(self.queue_reply(no, &row));
        }
        Ok(self.changed(no, &row))
    }

    pub(super) fn store_key(&mut self, record: &KeyRecord) -> Result<OpReply, OpError> {
        let mut enc = Enc::default();
        put_key(&mut enc, record);
        self.tables.put(Table::Key, record.name.as_bytes(), enc.done());
        Ok(OpReply::Done)
    }

    fn changed(&mut self, no: QueueNo, row: &QueueRow) -> OpReply {
        self.put_queue(no, row);
        self.hints.push(row.id);
        self.queue_reply(no, row)
    }

    fn queue_reply(&self, no: QueueNo, row: &QueueRow) -> OpReply {
        OpReply::Queue(Box::new(self.queue_view(no, row)))
    }

    fn next_numbers(&mut self) -> Result<(StreamNo, QueueNo), OpError> {
        let numbers = self.tables.get(Table::Numbers, &[]).map_or(Numbers { stream: 1, queue: 1 }, |bytes| {
            Numbers::decode(bytes).expect("numbers are written by this version")
        });
        if numbers.stream > STREAM_NO_MAX {
            return Err(OpError::Full);
        }
        let next = Numbers { stream: numbers.stream + 1, queue: numbers.queue + 1 };
        self.tables.put(Table::Numbers, &[], next.encode());
        Ok((StreamNo(numbers.stream), QueueNo(numbers.queue)))
    }
}
