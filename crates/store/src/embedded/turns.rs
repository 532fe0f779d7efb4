//! Long reads in turns, so that the thread that applies serves others between them.
//!
//! Lives here: cutting a question on a queue's events into pieces, and putting their answers together.
//! Not here: one piece (`apply/events.rs`).
//!
//! A question may look at 20,000 events, each of which takes several rows. In one go that would hold up
//! every publish and claim for as long. A cursor is a place in the order of events, which does not move, so
//! a page may as well be found piece by piece; each piece shows what was so when its turn came.

use crate::read::{EventPage, EventRead, Looked, ScanBound, Wanted};

/// One turn looks at so many events at most.
const TURN_ROWS: u32 = 1_000;
/// One turn looks at payloads of so many bytes at most.
const TURN_PAYLOAD_BYTES: u64 = 4 * 1024 * 1024;

/// A question that is answered in turns.
#[derive(Debug)]
pub(super) struct Turns {
    read: EventRead,
    page: EventPage,
}

impl Turns {
    /// The question, of which nothing is answered yet.
    pub(super) fn of(read: EventRead) -> Self {
        Self { read, page: EventPage::default() }
    }

    /// What the next turn asks.
    pub(super) fn next(&self) -> EventRead {
        let (bound, looked) = (self.read.bound, self.page.looked);
        let rows = bound.rows.saturating_sub(looked.rows).min(TURN_ROWS);
        let payload_bytes = bound.payload_bytes.saturating_sub(looked.payload_bytes).min(TURN_PAYLOAD_BYTES);
        let wanted = match self.read.wanted {
            Wanted::Items { limit, payload } => {
                Wanted::Items { limit: limit.saturating_sub(self.page.items.len() as u32), payload }
            }
            Wanted::Count => Wanted::Count,
        };
        let cursor = self.page.next.clone().or_else(|| self.read.cursor.clone());
        EventRead { cursor, wanted, bound: ScanBound { rows, payload_bytes, ..bound }, ..self.read.clone() }
    }

    /// Takes the answer of a turn. The page, once that was the last.
    pub(super) fn take(&mut self, part: EventPage) -> Option<EventPage> {
        let (bound, page) = (self.read.bound, &mut self.page);
        page.items.extend(part.items);
        page.found += part.found;
        page.looked = Looked {
            rows: page.looked.rows + part.looked.rows,
            payload_bytes: page.looked.payload_bytes + part.looked.payload_bytes,
        };
        page.next = part.next;
        let is_far = page.looked.rows >= bound.rows || page.looked.payload_bytes >= bound.payload_bytes;
        page.truncated = part.truncated && is_far;
        (page.truncated || !part.truncated).then(|| std::mem::take(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueRef;
    use crate::read::{Cursor, EventFilter};

    fn read(rows: u32, payload_bytes: u64) -> EventRead {
        EventRead {
            queue: QueueRef::Name("mail".to_owned()),
            filter: EventFilter::default(),
            cursor: None,
            wanted: Wanted::Count,
            bound: ScanBound { rows, payload_bytes, by_state: 7 },
        }
    }

    fn part(rows: u32, payload_bytes: u64, truncated: bool, next: Option<u8>) -> EventPage {
        let next = next.map(|at| Cursor(vec![at]));
        let looked = Looked { rows, payload_bytes };
        EventPage { items: Vec::new(), found: 1, next, truncated, looked }
    }

    #[test]
    fn turns_go_on_from_where_the_last_one_ended_until_the_whole_bound() {
        let mut turns = Turns::of(read(2_500, u64::MAX));
        let first = turns.next();
        assert_eq!((first.bound.rows, first.bound.by_state, first.cursor), (TURN_ROWS, 7, None));
        assert_eq!(first.bound.payload_bytes, TURN_PAYLOAD_BYTES);
        assert_eq!(turns.take(part(1_000, 5, true, Some(9))), None);
        assert_eq!(turns.next().cursor, Some(Cursor(vec![9])));
        assert_eq!(turns.take(part(1_000, 5, true, Some(8))), None);
        assert_eq!(turns.next().bound.rows, 500);
        let whole = turns.take(part(500, 5, true, Some(7))).expect("it has looked far enough");
        assert_eq!((whole.found, whole.truncated, whole.next), (3, true, Some(Cursor(vec![7]))));
        assert_eq!(whole.looked, Looked { rows: 2_500, payload_bytes: 15 });
    }

    #[test]
    fn a_turn_that_ends_for_its_bytes_is_not_the_last_one() {
        let mut turns = Turns::of(read(10, 10_000_000));
        assert_eq!(turns.take(part(1, 4_300_000, true, Some(9))), None);
        assert_eq!(turns.take(part(1, 4_300_000, true, Some(8))), None);
        assert_eq!(turns.next().bound.payload_bytes, 1_400_000);
        let whole = turns.take(part(3, 1_000, false, None)).expect("there is no more");
        assert_eq!((whole.truncated, whole.next, whole.looked.rows), (false, None, 5));
    }
}
