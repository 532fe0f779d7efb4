//! Tending: everything that time brings is done promptly, in bounded steps.
//!
//! Lives here: the rounds of tending and how they find what is due. Not here: what each does.

use std::ops::ControlFlow;

use naven_api::limits::PLACES_PER_OP_MAX;

use super::context::Context;
use super::moves::has_come;
use crate::embedded::rows::key::{self, QueueNo, StreamNo};
use crate::embedded::tables::{Order, Table, Tables};

impl<T: Tables> Context<'_, T> {
    /// Does what is due in every queue and stream. Answers how many rows moved and whether more may
    /// wait.
    pub(super) fn tend(&mut self, most: u64) -> (u64, bool) {
        let rounds: [fn(&mut Self, u64) -> u64; 10] = [
            Self::run_operation,
            Self::tend_places,
            Self::tend_deliveries,
            Self::tend_expired,
            Self::tend_dead,
            Self::tend_outcomes,
            Self::purge,
            Self::forget_dedupe_keys,
            Self::forget_answers,
            Self::forget_operations,
        ];
        let mut moved = 0;
        for round in rounds {
            moved += round(self, most - moved);
            if moved >= most {
                return (moved, true);
            }
        }
        (moved, self.has_operations())
    }

    fn tend_places(&mut self, most: u64) -> u64 {
        let mut moved = 0;
        for stream in self.owners_due(Table::Waiting) {
            if self.stream(StreamNo(stream)).closed.is_none() {
                moved += self.place_due(StreamNo(stream), (most - moved).min(PLACES_PER_OP_MAX as u64));
            }
        }
        moved
    }

    fn tend_deliveries(&mut self, most: u64) -> u64 {
        let mut moved = 0;
        let mut queues = self.owners_due(Table::Retry);
        queues.extend(self.owners_due(Table::Ends));
        queues.sort_unstable();
        queues.dedup();
        for no in queues.into_iter().map(QueueNo) {
            let Some(queue) = self.queue(no).filter(|queue| queue.closed.is_none()) else { continue };
            let mut progress = self.progress(no);
            let here = self.move_due(no, &queue, &mut progress, most - moved);
            if here > 0 {
                self.put_progress(no, &progress);
                self.hint(queue.id);
            }
            moved += here;
        }
        moved
    }

    /// The numbers that own a row of `table` whose instant has come, in their order. One step for
    /// each owner that has rows at all; one without any costs nothing.
    pub(super) fn owners_due(&self, table: Table) -> Vec<u32> {
        let mut owners = self.owners(table);
        owners.retain(|&(_, instant)| has_come(table, instant, self.now));
        owners.into_iter().map(|(owner, _)| owner).collect()
    }

    /// The numbers that own a row of `table`, each with its first instant.
    pub(super) fn owners(&self, table: Table) -> Vec<(u32, i64)> {
        let mut owners = Vec::new();
        let mut from = key::number(0);
        loop {
            let mut first = None;
            self.tables.scan(table, &from, &[0xff; 20], Order::Rising, &mut |key, _| {
                let owner = u32::from_be_bytes(key[..4].try_into().expect("timed keys have 20 bytes"));
                first = Some((owner, key::time_of(key).0));
                ControlFlow::Break(())
            });
            let Some((owner, instant)) = first else { return owners };
            owners.push((owner, instant));
            from = key::past_number(owner);
        }
    }
}
