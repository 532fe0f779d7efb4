//! A stream's other name in the model.
//!
//! Lives here: renaming. Not here: a stream's last place (`set_id.rs`).

use naven_core::Now;

use super::world::{Answer, World};
use crate::queue::{QueueRef, group_name, group_queue_name};
use crate::reply::{OpReply, Refused};
use crate::txn::Rename;

impl World {
    pub(super) fn rename(&mut self, rename: &Rename, now: Now) -> Answer {
        let stream = self.open_stream(&rename.stream)?;
        if rename.stream == rename.to {
            return Ok(OpReply::Done);
        }
        let over = self.open_stream(&rename.to).ok();
        let mut groups = Vec::new();
        for queue in self.readers(stream) {
            let name = &self.queues[queue].name;
            let group = group_name(name);
            if *name == group_queue_name(&rename.stream.0, &group) {
                groups.push((queue, group_queue_name(&rename.to.0, &group)));
            }
        }
        for (_, name) in &groups {
            let taken = self.open(&QueueRef::Name(name.clone()));
            if taken.is_ok_and(|other| Some(self.queues[other].stream) != over) {
                return Err(Refused::NameTaken.into());
            }
        }
        if over.is_some() {
            self.delete_stream(&rename.to, true, now)?;
        }
        for (queue, name) in groups {
            let row = &mut self.queues[queue];
            (row.name, row.updated_at) = (name, now.wall);
            row.revision += 1;
        }
        self.streams[stream].name = rename.to.0.clone();
        self.streams[stream].version += 1;
        let readers = self.readers(stream).into_iter().map(|queue| self.queues[queue].id);
        let readers: Vec<_> = readers.collect();
        self.woken.extend(readers);
        Ok(OpReply::Done)
    }
}
