//! What was done so far, in figures, and how much of it has to be on disk still.
//!
//! Lives here: counters that every actor adds to, and the live bytes that follow. Not here: what is on disk
//! (`measure.rs`).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::scene::lock;

/// What an event takes beside its payload as long as it is there: its head, its place and its dealing.
pub(super) const HEAD_BYTES: i64 = 200;
/// What is kept of a delivery that is over, for a day: how it ended, some 150 bytes, where that is found by its time, and
/// the head of its event. A backup takes about as much for it.
pub(super) const OUTCOME_BYTES: i64 = 200;
/// What is kept of a call with an `Idempotency-Key`, for a day: its key, its fingerprint and its answer.
pub(super) const ANSWER_BYTES: i64 = 150;

/// Figures of the whole soak.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Events and entries whose publish was answered.
    pub(super) published: AtomicU64,
    /// Deliveries whose ack was answered, on both doors.
    pub(super) finished: AtomicU64,
    /// Calls of both doors that were sent.
    pub(super) calls: AtomicU64,
    /// Calls that were sent and not answered.
    pub(super) silent: AtomicU64,
    /// How late a publish began after its time, in ms: the sum, and the most.
    pub(super) late_sum_ms: AtomicI64,
    pub(super) late_most_ms: AtomicI64,
    pub(super) timed: AtomicU64,
    /// Bytes of what is not over: payloads and heads.
    open_bytes: AtomicI64,
    /// Bytes of what is over and still remembered.
    kept_bytes: AtomicI64,
    faults: Mutex<BTreeMap<&'static str, u64>>,
}

impl Ledger {
    /// An event with so large a payload is there.
    pub(super) fn put(&self, payload_bytes: usize) {
        self.published.fetch_add(1, Ordering::Relaxed);
        self.open_bytes.fetch_add(HEAD_BYTES + payload_bytes as i64, Ordering::Relaxed);
    }

    /// So many events with so large payloads together are there no more.
    pub(super) fn take(&self, events: u64, payload_bytes: u64) {
        let bytes = HEAD_BYTES * events as i64 + payload_bytes as i64;
        self.open_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A delivery over HTTP is over: how it ended is kept.
    pub(super) fn finish(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.kept_bytes.fetch_add(OUTCOME_BYTES, Ordering::Relaxed);
    }

    /// So many entries were acknowledged over Redis, of which nothing is kept but a bit.
    pub(super) fn finish_wire(&self, entries: u64) {
        self.finished.fetch_add(entries, Ordering::Relaxed);
    }

    /// An answer is kept for those who repeat the call.
    pub(super) fn keep_answer(&self) {
        self.kept_bytes.fetch_add(ANSWER_BYTES, Ordering::Relaxed);
    }

    /// What was published and finished before the load does not count as it.
    pub(super) fn begin_load(&self) {
        self.published.store(0, Ordering::Relaxed);
        self.finished.store(0, Ordering::Relaxed);
    }

    pub(super) fn note_late(&self, late_ms: i64) {
        self.timed.fetch_add(1, Ordering::Relaxed);
        self.late_sum_ms.fetch_add(late_ms, Ordering::Relaxed);
        self.late_most_ms.fetch_max(late_ms, Ordering::Relaxed);
    }

    pub(super) fn note_fault(&self, what: &'static str) {
        *lock(&self.faults).entry(what).or_default() += 1;
    }

    pub(super) fn faults(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.faults).clone()
    }

    /// What has to be on disk, by what was published and finished.
    pub(super) fn live_bytes(&self) -> u64 {
        let bytes = self.open_bytes.load(Ordering::Relaxed) + self.kept_bytes.load(Ordering::Relaxed);
        u64::try_from(bytes).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_is_what_is_open_and_what_is_remembered() {
        let ledger = Ledger::default();
        ledger.put(1_000);
        ledger.put(50);
        assert_eq!(ledger.live_bytes(), 1_050 + 2 * 200);
        ledger.finish();
        ledger.take(1, 1_000);
        assert_eq!(ledger.live_bytes(), 250 + 200, "an outcome takes the place of a payload");
        ledger.keep_answer();
        assert_eq!(ledger.live_bytes(), 250 + 200 + 150);
    }
}
