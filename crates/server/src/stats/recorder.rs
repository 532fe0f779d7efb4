//! Which queues are recorded.
//!
//! Lives here: the figures of all queues, their bounds, and what was missed. Not here: one queue's
//! (`series.rs`), and who feeds them (`watch.rs`).

use std::collections::{BTreeSet, HashMap, HashSet};

use naven_api::limits::{STATS_BYTES_MAX, STATS_KEPT_SECONDS, STATS_QUEUES_MAX};
use naven_api::watch::StatsPoint;
use naven_api::{QueueId, Timestamp};
use naven_store::Change;

use super::bucket::Sample;
use super::figure::Totals;
use super::series::{Series, Span, still};

/// The figures of all queues.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Since when a queue is recorded that has no figures.
    since: Timestamp,
    series: HashMap<QueueId, Series>,
    bytes: usize,
    /// Minutes in which changes were missed, as seconds since 1970.
    missed: BTreeSet<i64>,
    /// How often changes were missed.
    gaps: u64,
    /// Queues that have changed since they were last looked at.
    changed: HashSet<QueueId>,
}

/// What is known of one span of one queue.
pub(crate) struct Recorded {
    pub(crate) since: Timestamp,
    pub(crate) complete: bool,
    pub(crate) points: Vec<StatsPoint>,
}

impl Recorder {
    pub(crate) fn new(since: Timestamp) -> Self {
        let (series, missed, changed) = (HashMap::new(), BTreeSet::new(), HashSet::new());
        Self { since, series, bytes: 0, missed, gaps: 0, changed }
    }

    /// Counts one change in each of its queues.
    pub(crate) fn add(&mut self, change: &Change) {
        for &queue in change.queues.as_slice() {
            self.changed.insert(queue);
            self.update(queue, change.at, |series| series.add(change));
        }
    }

    /// Something else became of a queue: it is to be looked at. One that is not recorded does not matter.
    pub(crate) fn touch(&mut self, queue: QueueId) {
        if self.series.contains_key(&queue) {
            self.changed.insert(queue);
        }
    }

    /// Changes were missed at this instant.
    pub(crate) fn miss(&mut self, at: Timestamp) {
        let second = at.as_ms().div_euclid(1_000);
        self.gaps += 1;
        self.missed.insert(second - second.rem_euclid(60));
        let kept = second - i64::from(STATS_KEPT_SECONDS);
        self.missed = self.missed.split_off(&kept);
        self.changed.extend(self.series.keys());
    }

    /// The queues to be looked at.
    pub(crate) fn take_changed(&mut self) -> Vec<QueueId> {
        self.changed.drain().collect()
    }

    /// Notes how a queue stood at the end of the step that `at` is in.
    pub(crate) fn note(&mut self, queue: QueueId, at: Timestamp, sample: Sample) {
        self.update(queue, at, |series| series.note(at, sample));
    }

    /// The queue is gone.
    pub(crate) fn forget(&mut self, queue: QueueId) {
        if let Some(series) = self.series.remove(&queue) {
            self.bytes = self.bytes.saturating_sub(series.bytes);
        }
    }

    /// What is counted of a queue since it is recorded: nothing where it is not.
    pub(crate) fn totals(&self, queue: QueueId) -> Totals {
        self.series.get(&queue).map_or_else(Totals::default, |series| series.totals)
    }

    /// How often changes were missed.
    pub(crate) fn gaps(&self) -> u64 {
        self.gaps
    }

    /// What is known of a span; the queue stands like `now_at` now.
    pub(crate) fn recorded(&self, queue: QueueId, span: Span, now_at: (Timestamp, Sample)) -> Recorded {
        let series = self.series.get(&queue);
        let since = series.map_or(self.since, |series| series.since);
        let (from, to) = (span.from_seconds, span.to().as_ms() / 1_000);
        let missed = self.missed.range(from - from.rem_euclid(60)..to).next().is_some();
        let kept = now_at.0.as_ms() - i64::from(STATS_KEPT_SECONDS) * 1_000;
        let oldest = since.as_ms().max(kept);
        Recorded {
            since: Timestamp::from_ms(oldest),
            complete: !missed && span.from().as_ms() >= oldest,
            points: series.map_or_else(|| still(span, now_at), |series| series.points(span, now_at)),
        }
    }

    fn update(&mut self, queue: QueueId, at: Timestamp, change: impl FnOnce(&mut Series)) {
        if !self.series.contains_key(&queue) && self.series.len() >= STATS_QUEUES_MAX {
            self.let_go(queue, at);
        }
        let since = self.since;
        let is_new = !self.series.contains_key(&queue);
        let series = self.series.entry(queue).or_insert_with(|| Series::new(since));
        let before = if is_new { 0 } else { series.bytes };
        change(series);
        self.bytes = (self.bytes + series.bytes).saturating_sub(before);
        if self.bytes > STATS_BYTES_MAX {
            self.let_go(queue, at);
        }
    }

    /// Lets go of the queue, other than `but`, that did nothing for longest.
    fn let_go(&mut self, but: QueueId, at: Timestamp) {
        let others = self.series.iter().filter(|(queue, _)| **queue != but);
        let quiet = others.min_by_key(|(queue, series)| (series.last, **queue)).map(|(queue, _)| *queue);
        if let Some(quiet) = quiet {
            self.forget(quiet);
            // Where it does something again its figures begin anew.
            self.since = self.since.max(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(n: usize) -> QueueId {
        QueueId::from_bits(n as u128 + 1)
    }

    #[test]
    fn no_more_queues_are_recorded_than_may_be() {
        let mut recorder = Recorder::new(Timestamp::from_ms(0));
        for n in 0..STATS_QUEUES_MAX + 5 {
            recorder.note(queue(n), Timestamp::from_ms(n as i64), Sample::default());
        }
        assert_eq!(recorder.series.len(), STATS_QUEUES_MAX);
        let sum: usize = recorder.series.values().map(|series| series.bytes).sum();
        assert_eq!(recorder.bytes, sum);
        (0..STATS_QUEUES_MAX + 5).for_each(|n| recorder.forget(queue(n)));
        assert_eq!(recorder.bytes, 0);
    }

    #[test]
    fn a_day_of_figures_is_kept_and_no_more() {
        let mut recorder = Recorder::new(Timestamp::from_ms(0));
        let steps = i64::from(STATS_KEPT_SECONDS / 10) * 2;
        for step in 0..steps {
            recorder.note(queue(0), Timestamp::from_ms(step * 10_000), Sample::default());
        }
        let bytes = recorder.bytes;
        assert!((200_000..800_000).contains(&bytes), "{bytes}");
        recorder.note(queue(0), Timestamp::from_ms(steps * 10_000), Sample::default());
        assert!(recorder.bytes <= bytes + 400, "it grows no more");
    }
}
