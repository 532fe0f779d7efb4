//! A stream's other name.
//!
//! Lives here: `RENAME`. Not here: the end of a stream that is written over (`delete.rs`), a stream's last place
//! (`set_id.rs`).

use bytes::Bytes;

use super::context::Context;
use crate::embedded::rows::key::{self, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Table, Tables};
use crate::queue::{QueueRef, group_name, group_queue_name};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::Rename;

impl<T: Tables> Context<'_, T> {
    /// Gives a stream another name, and with it the queues whose names are made of its own. A stream that has
    /// the name is deleted.
    pub(super) fn rename(&mut self, rename: &Rename) -> Result<OpReply, OpError> {
        let (no, _) = self.open_stream(&rename.stream)?;
        if rename.stream == rename.to {
            return Ok(OpReply::Done);
        }
        let over = self.open_stream(&rename.to).ok().map(|(over, _)| over);
        let groups = self.renamed_groups(no, rename, over)?;
        if over.is_some() {
            self.delete_stream(&rename.to, true)?;
        }
        let mut row = self.stream(no);
        self.tables.delete(Table::Name, &key::stream_name(&row.name));
        row.name = Bytes::copy_from_slice(&rename.to.0);
        self.tables.put(
            Table::Name,
            &key::stream_name(&row.name),
            Bytes::copy_from_slice(&key::number(no.0)),
        );
        self.put_stream(no, &row);
        for (queue, row, name) in groups {
            self.tables.delete(Table::Name, &key::queue_name(&row.name));
            let number = Bytes::copy_from_slice(&key::number(queue.0));
            self.tables.put(Table::Name, &key::queue_name(&name), number);
            let (revision, updated_at) = (row.revision + 1, self.now.wall);
            self.put_queue(queue, &QueueRow { name, revision, updated_at, ..row });
        }
        self.raise_version(no);
        self.hint_stream(no);
        Ok(OpReply::Done)
    }

    /// The queues of a stream whose names go with its own, and what they become. None of these may be another
    /// queue's, unless that goes with the stream that is written over.
    fn renamed_groups(
        &self,
        no: StreamNo,
        rename: &Rename,
        over: Option<StreamNo>,
    ) -> Result<Vec<(QueueNo, QueueRow, String)>, OpError> {
        let mut groups = Vec::new();
        for queue in self.open_members(no) {
            let Some(row) = self.queue(queue) else { continue };
            let group = group_name(&row.name);
            if row.name != group_queue_name(&rename.stream.0, &group) {
                continue;
            }
            let name = group_queue_name(&rename.to.0, &group);
            if let Ok((_, other)) = self.open_queue(&QueueRef::Name(name.clone()))
                && Some(other.stream) != over
            {
                return Err(Refused::NameTaken.into());
            }
            groups.push((queue, row, name));
        }
        Ok(groups)
    }
}
