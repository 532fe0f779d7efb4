//! What must hold of a list, wherever it is told to go on.
//!
//! Lives here: every list of an engine, and the law of its cursors. Not here: their text (`naven-server`).
//!
//! The first byte of an input names the list, the second says how long its pages are; the rest is the cursor.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::scene::{Scene, open, queues, runtime};
use crate::embedded::Embedded;
use crate::engine::Engine;
use crate::read::{Cursor, DeadFilter, DeadRead, EventFilter, EventRead, Page, Read, ScanBound, Wanted};
use crate::reply::{OpError, Refused};

/// More pages than any list of the folder has.
const PAGES_MAX: usize = 500;

/// A running engine, which nobody writes to.
fn engine() -> &'static Embedded {
    static ENGINE: OnceLock<Embedded> = OnceLock::new();
    ENGINE.get_or_init(|| open(Arc::new(Scene::nth(2).disk())).expect("it is whole"))
}

/// Holds one input to the law: a cursor is refused, or a page follows; and pages come to an end.
///
/// # Panics
/// Where it is broken.
pub fn check(input: &[u8]) {
    let (&[list, length], key) = input.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
    let (limit, mut cursor) = (4 + u32::from(length) % 60, Cursor(key.to_vec()));
    for page in 0..PAGES_MAX {
        let next = match runtime().block_on(engine().read(read(list, cursor.clone(), limit))) {
            Ok(page) => next_of(page),
            Err(OpError::Refused(Refused::BadCursor)) if page == 0 => return,
            Err(other) => panic!("{other:?} at page {page} behind {cursor:?}"),
        };
        match next {
            None => return,
            Some(next) => assert_ne!(std::mem::replace(&mut cursor, next.clone()), next, "it stands still"),
        }
    }
    panic!("it never ends");
}

fn read(list: u8, cursor: Cursor, limit: u32) -> Read {
    let [queue, _] = queues();
    let cursor = Some(cursor);
    match list {
        b'q' => Read::Queues { name_prefix: String::new(), cursor, limit },
        b's' => Read::Streams { name_prefix: Bytes::new(), cursor, limit },
        b'd' => Read::DeadLetters { queue, cursor, limit, payload: false },
        b'f' => {
            let filter = DeadFilter { error: Some("helps".to_owned()), ..DeadFilter::default() };
            Read::Dead(DeadRead::List { queue, filter, cursor, limit, payload: false })
        }
        b'o' => Read::Operations { cursor, limit },
        b'a' => Read::Audit { cursor, limit },
        _ => {
            let (wanted, bound) = (Wanted::Items { limit, payload: false }, ScanBound::default());
            Read::Events(EventRead { queue, filter: EventFilter::default(), cursor, wanted, bound })
        }
    }
}

fn next_of(page: Page) -> Option<Cursor> {
    match page {
        Page::Queues(_, next)
        | Page::DeadLetters(_, next)
        | Page::Streams(_, next)
        | Page::Operations(_, next)
        | Page::Audit(_, next) => next,
        Page::Events(page) => page.next,
        other => panic!("not a list: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::laws::saved_inputs;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_lists() {
        saved_inputs("cursors", check);
    }
}
