//! Queues and their streams: made, changed, paused, resumed.
//!
//! Lives here: these commands. Not here: the closing of queues (`delete.rs`) and where a queue begins
//! (`start.rs`).

use bytes::Bytes;
use naven_api::QueueId;
use naven_api::limits::PLACES_PER_OP_MAX;

use super::context::Context;
use super::start::Start;
use crate::embedded::rows::key::{self, QueueNo, STREAM_NO_MAX, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::{Numbers, StreamRow};
use crate::embedded::tables::{Table, Tables};
use crate::queue::{
    QueueChanges, QueueRef, QueueSettings, Retention, StreamChanges, StreamSettings, group_queue_name,
};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{From, GroupStart, Reading, StreamRef};

impl<T: Tables> Context<'_, T> {
    /// A new queue, on a stream of its own, named alike, or on one that others read too.
    pub(super) fn create_queue(
        &mut self,
        (id, name): (QueueId, &str),
        settings: &QueueSettings,
        on: Option<&Reading>,
        changes: StreamChanges,
    ) -> Result<OpReply, OpError> {
        if self.tables.get(Table::Name, &key::queue_name(name)).is_some() {
            return Err(Refused::NameTaken.into());
        }
        let (stream, stream_row, from) = match on {
            None => {
                let own = StreamRef(Bytes::copy_from_slice(name.as_bytes()));
                if self.open_stream(&own).is_ok() {
                    return Err(Refused::NameTaken.into());
                }
                let (no, row) = self.new_stream(&own, changes.made_to(StreamSettings::default()))?;
                (no, row, From::Start)
            }
            Some(Reading { stream, from }) => {
                // A reader of the stream would not know one from the other.
                if self.group_on(&stream.0, &Bytes::copy_from_slice(name.as_bytes())).is_ok() {
                    return Err(Refused::NameTaken.into());
                }
                let (no, row) = self.shared_stream(stream, changes)?;
                (no, row, *from)
            }
        };
        let start = self.start(stream, from);
        Ok(self.new_queue((id, name.to_owned()), settings.clone(), (stream, stream_row), (start, None)))
    }

    /// A new queue of a stream's readers, named for them.
    pub(super) fn create_group(
        &mut self,
        id: QueueId,
        (stream, group): (&StreamRef, &Bytes),
        make_stream: bool,
        (start, entries_read): (GroupStart, Option<u64>),
    ) -> Result<OpReply, OpError> {
        let name = group_queue_name(&stream.0, group);
        let known = self.open_stream(stream);
        let is_taken = self.group_on(&stream.0, group).is_ok()
            || self.tables.get(Table::Name, &key::queue_name(&name)).is_some();
        let (no, row) = match known {
            Err(error) if !make_stream => return Err(error),
            _ if is_taken => return Err(Refused::NameTaken.into()),
            Ok(_) | Err(_) => self.shared_stream(stream, StreamChanges::default())?,
        };
        let settings =
            QueueSettings { max_attempts: None, protect_unread: false, ..QueueSettings::default() };
        let start = self.group_start(no, start);
        let reply = self.new_queue((id, name), settings, (no, row), (start, entries_read));
        self.go_ahead(no, start.last);
        Ok(reply)
    }

    fn new_queue(
        &mut self,
        (id, name): (QueueId, String),
        settings: QueueSettings,
        (stream, mut stream_row): (StreamNo, StreamRow),
        (start, entries_read): (Start, Option<u64>),
    ) -> OpReply {
        let no = QueueNo(self.next_number(|numbers| &mut numbers.queue));
        stream_row.queues += 1;
        self.put_stream(stream, &stream_row);
        let row = QueueRow {
            id,
            name,
            stream,
            settings,
            paused: None,
            created_at: self.now.wall,
            updated_at: self.now.wall,
            round: 0,
            fence: 0,
            revision: 1,
            closed: None,
        };
        self.put_queue(no, &row);
        let progress = Progress {
            cursor: start.first - 1,
            read: start.read,
            last: start.last,
            entries_read,
            ..Progress::default()
        };
        self.put_progress(no, &progress);
        let bits = Bytes::copy_from_slice(&id.bits().to_be_bytes());
        self.tables.put(Table::Member, &key::member(stream, no), bits);
        self.readers_changed(stream);
        let number = Bytes::copy_from_slice(&key::number(no.0));
        self.tables.put(Table::Name, &key::queue_name(&row.name), number.clone());
        self.tables.put(Table::QueueId, &id.bits().to_be_bytes(), number);
        self.hint(id);
        self.queue_reply(no, &row)
    }

    /// The open stream of this name, or a new one whose entries stay until they are trimmed.
    fn shared_stream(
        &mut self,
        stream: &StreamRef,
        changes: StreamChanges,
    ) -> Result<(StreamNo, StreamRow), OpError> {
        let Ok((no, mut row)) = self.open_stream(stream) else {
            let settings = StreamSettings { retention: Retention::Trim, ..StreamSettings::default() };
            return self.new_stream(stream, changes.made_to(settings));
        };
        self.place_due(no, PLACES_PER_OP_MAX as u64);
        row.settings = changes.made_to(row.settings);
        Ok((no, row))
    }

    /// A new stream whose entries stay until they are trimmed.
    pub(super) fn made_stream(&mut self, stream: &StreamRef) -> Result<(StreamNo, StreamRow), OpError> {
        let settings = StreamSettings { retention: Retention::Trim, ..StreamSettings::default() };
        let (no, row) = self.new_stream(stream, settings)?;
        self.put_stream(no, &row);
        Ok((no, row))
    }

    fn new_stream(
        &mut self,
        stream: &StreamRef,
        settings: StreamSettings,
    ) -> Result<(StreamNo, StreamRow), OpError> {
        let no = self.next_number(|numbers| &mut numbers.stream);
        if no > STREAM_NO_MAX {
            return Err(OpError::Full);
        }
        let number = Bytes::copy_from_slice(&key::number(no));
        self.tables.put(Table::Name, &key::stream_name(&stream.0), number);
        let name = Bytes::copy_from_slice(&stream.0);
        let row = StreamRow { name, settings, created_at: self.now.wall, closed: None, queues: 0 };
        Ok((StreamNo(no), row))
    }

    pub(super) fn patch_queue(
        &mut self,
        queue: &QueueRef,
        changes: &QueueChanges,
        stream: StreamChanges,
        revision: Option<u64>,
    ) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        row.check(revision)?;
        row.revision += 1;
        row.settings = changes.clone().made_to(&row.settings);
        row.updated_at = self.now.wall;
        let mut stream_row = self.stream(row.stream);
        let settings = stream.made_to(stream_row.settings);
        if settings != stream_row.settings {
            stream_row.settings = settings;
            self.put_stream(row.stream, &stream_row);
        }
        Ok(self.changed(no, &row))
    }

    pub(super) fn pause_queue(&mut self, queue: &QueueRef, reason: Option<&str>) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        row.paused = Some(reason.unwrap_or_default().to_owned());
        row.revision += 1;
        Ok(self.changed(no, &row))
    }

    pub(super) fn resume_queue(&mut self, queue: &QueueRef) -> Result<OpReply, OpError> {
        let (no, mut row) = self.open_queue(queue)?;
        if row.paused.take().is_none() {
            return Ok(self.queue_reply(no, &row));
        }
        row.revision += 1;
        Ok(self.changed(no, &row))
    }

    pub(super) fn changed(&mut self, no: QueueNo, row: &QueueRow) -> OpReply {
        self.put_queue(no, row);
        self.hint(row.id);
        self.queue_reply(no, row)
    }

    fn queue_reply(&self, no: QueueNo, row: &QueueRow) -> OpReply {
        OpReply::Queue(Box::new(self.queue_view(no, row)))
    }

    /// The next number of its kind.
    fn next_number(&mut self, of: impl Fn(&mut Numbers) -> &mut u32) -> u32 {
        let mut numbers =
            self.tables.get(Table::Numbers, &[]).map_or(Numbers { stream: 1, queue: 1 }, |bytes| {
                Numbers::decode(bytes).expect("numbers are written by this version")
            });
        let next = *of(&mut numbers);
        *of(&mut numbers) += 1;
        self.tables.put(Table::Numbers, &[], numbers.encode());
        next
    }
}
