//! The figures of one queue over time.
//!
//! Lives here: its steps of both lengths, and their points. Not here: which queues are recorded
//! (`recorder.rs`). A step in which nothing happened takes no room.

use std::collections::BTreeMap;

use naven_api::Timestamp;
use naven_api::limits::{
    STATS_FINE_KEPT_SECONDS, STATS_FINE_SECONDS, STATS_KEPT_SECONDS, STATS_STEP_SECONDS,
};
use naven_api::watch::StatsPoint;
use naven_store::Change;

use super::bucket::{Bucket, Sample};
use super::figure::Totals;

/// Steps of one length, by their number since 1970.
#[derive(Debug)]
struct Steps {
    seconds: i64,
    kept: i64,
    buckets: BTreeMap<i64, Bucket>,
}

/// The figures of one queue.
#[derive(Debug)]
pub(super) struct Series {
    /// Since when they are whole.
    pub(super) since: Timestamp,
    /// When something last happened.
    pub(super) last: Timestamp,
    /// About how many bytes they take.
    pub(super) bytes: usize,
    /// Their sums, also of what is not kept step by step any more.
    pub(super) totals: Totals,
    fine: Steps,
    coarse: Steps,
}

/// The span and step of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// When the first point begins: a multiple of the step.
    pub(crate) from_seconds: i64,
    /// How many points.
    pub(crate) points: i64,
    /// A multiple of 10.
    pub(crate) step_seconds: i64,
}

impl Span {
    /// When the last point ends.
    pub(crate) fn to(&self) -> Timestamp {
        Timestamp::from_ms((self.from_seconds + self.points * self.step_seconds) * 1_000)
    }

    pub(crate) fn from(&self) -> Timestamp {
        Timestamp::from_ms(self.from_seconds * 1_000)
    }
}

impl Steps {
    fn new(seconds: u32, kept_seconds: u32) -> Self {
        let (seconds, kept) = (i64::from(seconds), i64::from(kept_seconds / seconds));
        Self { seconds, kept, buckets: BTreeMap::new() }
    }

    fn number(&self, at: Timestamp) -> i64 {
        at.as_ms().div_euclid(self.seconds * 1_000)
    }

    /// Changes the bucket of `at`; answers by how many bytes all of them grew and shrank.
    fn change(&mut self, at: Timestamp, change: impl FnOnce(&mut Bucket)) -> (usize, usize) {
        let number = self.number(at);
        let newest = self.buckets.last_key_value().map_or(number, |(newest, _)| (*newest).max(number));
        let (mut grew, mut shrank) = (0, 0);
        if number > newest - self.kept {
            let known = self.buckets.get(&number).map_or(0, Bucket::bytes);
            let bucket = self.buckets.entry(number).or_default();
            change(bucket);
            grew = bucket.bytes() - known;
        }
        while let Some(first) = self.buckets.first_entry()
            && *first.key() <= newest - self.kept
        {
            shrank += first.remove().bytes();
        }
        (grew, shrank)
    }

    /// What happened in these seconds.
    fn sum(&self, from: i64, to: i64) -> Bucket {
        let mut sum = Bucket::default();
        let numbers = from.div_euclid(self.seconds)..to.div_euclid(self.seconds);
        self.buckets.range(numbers).for_each(|(_, bucket)| sum.merge(bucket));
        sum
    }

    /// How the queue stood at this second: as it was last seen before.
    fn sample(&self, at: i64) -> Option<Sample> {
        self.buckets.range(..at.div_euclid(self.seconds)).rev().find_map(|(_, bucket)| bucket.sample)
    }
}

impl Series {
    pub(super) fn new(since: Timestamp) -> Self {
        Self {
            since,
            last: since,
            bytes: size_of::<Self>() + 64,
            totals: Totals::default(),
            fine: Steps::new(STATS_FINE_SECONDS, STATS_FINE_KEPT_SECONDS),
            coarse: Steps::new(STATS_STEP_SECONDS, STATS_KEPT_SECONDS),
        }
    }

    pub(super) fn add(&mut self, change: &Change) {
        self.last = self.last.max(change.at);
        self.totals.add(change);
        self.change(change.at, |bucket| bucket.add(change));
    }

    /// Notes how the queue stood at the end of the step that `at` is in.
    pub(super) fn note(&mut self, at: Timestamp, sample: Sample) {
        self.change(at, |bucket| bucket.sample = Some(sample));
    }

    fn change(&mut self, at: Timestamp, change: impl Fn(&mut Bucket)) {
        for (grew, shrank) in [self.fine.change(at, &change), self.coarse.change(at, &change)] {
            self.bytes = (self.bytes + grew).saturating_sub(shrank);
        }
    }

    /// The points of a span. Where its end is not reached yet, the queue stands like `now_at` there.
    pub(super) fn points(&self, span: Span, (now, stands): (Timestamp, Sample)) -> Vec<StatsPoint> {
        let coarse = span.step_seconds % self.coarse.seconds == 0;
        let steps = if coarse { &self.coarse } else { &self.fine };
        let point = |nth: i64| {
            let from = span.from_seconds + nth * span.step_seconds;
            let to = from + span.step_seconds;
            let (at, end) = (Timestamp::from_ms(from * 1_000), Timestamp::from_ms(to * 1_000));
            let sample = if end > now { Some(stands) } else { steps.sample(to) };
            steps.sum(from, to).point(at, end.min(now), sample)
        };
        (0..span.points).map(point).collect()
    }
}

/// The points of a queue in which nothing has happened yet.
pub(super) fn still(span: Span, (now, stands): (Timestamp, Sample)) -> Vec<StatsPoint> {
    let mut points = Series::new(Timestamp::default()).points(span, (now, stands));
    // It stood like this all the time: whatever changes it would have been recorded.
    for point in &mut points {
        point.depth = Some(stands.depth);
    }
    points
}
