//! What is pending in the model, as it is asked for.
//!
//! Lives here: listing and summing it. Not here: finding it (`group_reads.rs`), changing it (`reader.rs`,
//! `transfer.rs`).

use std::collections::BTreeMap;

use naven_core::Now;

use super::world::World;
use crate::read::{Page, PendingRead, PendingSummary, PendingView};

impl World {
    pub(super) fn pending_page(&self, queue: usize, read: &PendingRead, now: Now) -> Page {
        let is_asked = |view: &PendingView| {
            (read.start..=read.end).contains(&view.place)
                && view.idle_ms >= read.min_idle_ms
                && read.consumer.as_ref().is_none_or(|name| *name == view.consumer)
        };
        let mut found: Vec<_> = self.pending(queue, now).into_iter().filter(is_asked).collect();
        let next = found.get(read.limit as usize).map(|view| view.place);
        found.truncate(read.limit as usize);
        Page::Pending(found, next)
    }

    pub(super) fn pending_summary(&self, queue: usize, now: Now) -> Page {
        let pending = self.pending(queue, now);
        let mut consumers = BTreeMap::new();
        for view in &pending {
            *consumers.entry(view.consumer.clone()).or_insert(0) += 1;
        }
        let range = pending.first().zip(pending.last()).map(|(first, last)| (first.place, last.place));
        let consumers = consumers.into_iter().collect();
        Page::PendingSummary(Box::new(PendingSummary { count: pending.len() as u64, range, consumers }))
    }
}
