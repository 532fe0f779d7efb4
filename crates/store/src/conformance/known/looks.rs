//! What a script reads, of what it has made so far.
//!
//! Lives here: single looks, and all of them at once. Not here: comparing what they show (`compare.rs`).

use bytes::Bytes;

use super::{Known, NAMES, STREAMS};
use crate::conformance::event_looks;
use crate::conformance::script::Look;
use crate::queue::QueueRef;
use crate::read::{Cursor, Read};
use crate::txn::{Place, StreamRef};

impl Known {
    /// The read that `look` means, from `cursor` on where it is a list.
    pub(in crate::conformance) fn read(&self, look: &Look, cursor: Option<Cursor>) -> Read {
        match *look {
            Look::Queue(queue) => Read::Queue(self.queue(queue)),
            Look::Queues(prefix, limit) => {
                Read::Queues { name_prefix: ["", "a", "zz"][prefix % 3].to_owned(), cursor, limit }
            }
            Look::Event(event, payload) => Read::Event { event: self.event(event), payload },
            Look::DeadLetters(queue, limit) => {
                Read::DeadLetters { queue: self.queue(queue), cursor, limit, payload: limit > 1 }
            }
            Look::Dead(look) => self.dead_read(look, cursor),
            Look::Events(look) => self.event_read(look, cursor),
            Look::Pending(look) => self.pending_read(look),
            Look::BadCursor(queue) => {
                let cursor = Some(Cursor(vec![1, 2, 3]));
                Read::DeadLetters { queue: self.queue(queue), cursor, limit: 5, payload: false }
            }
            Look::Stream(stream) => Read::Stream(self.stream(stream)),
            Look::Streams(prefix, limit) => {
                let name_prefix = Bytes::from_static([&b""[..], b"s", b"a"][prefix % 3]);
                Read::Streams { name_prefix, cursor, limit }
            }
            Look::Entries { stream, start, end, reverse, limit } => Read::Entries {
                stream: self.stream(stream),
                start: start.map_or(Place::default(), |event| self.place(event)),
                end: end.map_or(Place { ms: u64::MAX, seq: u64::MAX }, |event| self.place(event)),
                reverse,
                limit,
                max_bytes: u64::MAX,
                payload: limit > 1,
            },
            Look::Groups(stream) => Read::Groups(self.stream(stream)),
            Look::Keys => Read::Keys,
            Look::System => Read::System,
        }
    }

    /// Everything that can be read of what the script made.
    pub(in crate::conformance) fn everything(&self) -> Vec<Read> {
        let queues = self.queues.iter().map(|(id, _)| QueueRef::Id(*id));
        let letters = |queue| Read::DeadLetters { queue, cursor: None, limit: 3, payload: true };
        let mut all = vec![Read::Keys, Read::System];
        all.push(Read::Audit { cursor: None, limit: 7 });
        all.push(Read::Operations { cursor: None, limit: 2 });
        all.push(Read::Queues { name_prefix: String::new(), cursor: None, limit: 2 });
        all.extend(queues.clone().map(Read::Queue));
        all.extend(queues.clone().map(Read::Holders));
        all.extend(queues.clone().map(Read::Consumers));
        all.extend(queues.clone().map(letters));
        all.extend(queues.flat_map(event_looks::all_of));
        all.push(Read::Streams { name_prefix: Bytes::new(), cursor: None, limit: 2 });
        for name in NAMES.into_iter().chain(STREAMS) {
            let stream = || StreamRef(Bytes::from_static(name.as_bytes()));
            let (start, end) = (Place::default(), Place { ms: u64::MAX, seq: u64::MAX });
            let (reverse, limit, payload) = (false, 500, true);
            all.push(Read::Groups(stream()));
            all.push(Read::StreamDetail { stream: stream(), full: Some(0) });
            all.push(Read::Entries {
                stream: stream(),
                start,
                end,
                reverse,
                limit,
                max_bytes: u64::MAX,
                payload,
            });
        }
        all.extend(self.events.iter().map(|&event| Read::Event { event, payload: true }));
        all
    }
}
