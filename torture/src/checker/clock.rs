//! What the world did to clocks: how long a lease may last, and what the wall clock may have shown.
//!
//! Lives here: crashes and steps, read from a history. Not here: leases themselves (`state.rs`).

use crate::history::WorldEvent;

use super::rules::Rules;

/// What is known of the clocks of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    /// Spans in which the server was down, by time.
    down: Vec<(i64, i64)>,
    /// From when on the wall clock is ahead by how much, by time.
    steps: Vec<(i64, i64)>,
    slack_ms: i64,
    crash_ms: i64,
}

impl Clock {
    pub(super) fn new(world: &[WorldEvent], rules: &Rules) -> Self {
        let mut clock = Self { slack_ms: rules.slack_ms, crash_ms: rules.crash_ms, ..Self::default() };
        for event in world {
            match *event {
                WorldEvent::Crash { at_ms } => clock.down.push((at_ms, i64::MAX)),
                WorldEvent::Restart { at_ms } => {
                    if let Some(last) = clock.down.last_mut().filter(|(_, until)| *until == i64::MAX) {
                        last.1 = at_ms;
                    }
                }
                WorldEvent::WallClock { at_ms, offset_ms } => clock.steps.push((at_ms, offset_ms)),
                WorldEvent::Healed { .. } => {}
            }
        }
        clock
    }

    /// True where a lease that began at `since` or later and ends at `end` or earlier may still be
    /// live at `at`. A crash may bring one back that was over before it, where nobody recorded that:
    /// the lease clock goes on from what was last recorded.
    pub(super) fn may_be_live(&self, since: i64, end: i64, at: i64) -> bool {
        let mut end = end.saturating_add(self.slack_ms);
        for &(from, until) in &self.down {
            if until >= since && from <= end.saturating_add(self.crash_ms) {
                end = end.saturating_add(until.saturating_sub(from)).saturating_add(self.crash_ms);
            }
        }
        at < end
    }

    /// The first crash, by number, from `number` on that may lie between `end` and `at`, and when it was.
    pub(super) fn crash_between(&self, number: usize, end: i64, at: i64) -> Option<(usize, i64)> {
        let mut crashes = self.down.iter().enumerate().skip(number);
        let (number, (from, _)) = crashes.find(|(_, (from, until))| *until >= end && *from <= at)?;
        Some((number, *from))
    }

    /// The earliest instant at which a lease whose end is `end` or later may be over.
    pub(super) const fn over_from(&self, end: i64) -> i64 {
        end.saturating_sub(self.slack_ms)
    }

    /// True where the wall clock may have shown `due` at some instant of this span.
    pub(super) fn may_have_reached(&self, due: i64, from: i64, until: i64) -> bool {
        due == i64::MIN || self.walls(from, until).any(|(_, last)| last >= due.saturating_sub(self.slack_ms))
    }

    /// True where the wall clock surely shows `instant` or later all through this span.
    pub(super) fn has_surely_reached(&self, instant: i64, from: i64, until: i64) -> bool {
        self.walls(from, until).all(|(first, _)| first >= instant.saturating_add(self.slack_ms))
    }

    /// The earliest that the wall clock may have shown in this span.
    pub(super) fn earliest_wall(&self, from: i64, until: i64) -> i64 {
        self.walls(from, until).map(|(first, _)| first).min().unwrap_or(from)
    }

    /// What the wall clock showed at both ends of each part of this span between two steps.
    fn walls(&self, from: i64, until: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let parts = std::iter::once((i64::MIN, 0)).chain(self.steps.iter().copied()).enumerate();
        parts.filter_map(move |(number, (begins, offset))| {
            let ends = self.steps.get(number).map_or(i64::MAX, |step| step.0);
            let (first, last) = (from.max(begins), until.min(ends));
            // The parts of an instant are those that begin with it, and the one that goes on through it.
            let is_met = first < last || (first == last && (last < ends || first == begins));
            is_met.then(|| (first.saturating_add(offset), last.saturating_add(offset)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(world: &[WorldEvent]) -> Clock {
        Clock::new(world, &Rules::exact())
    }

    #[test]
    fn a_lease_ends_at_its_end_and_a_crash_lengthens_it() {
        let plain = clock(&[]);
        assert!(plain.may_be_live(0, 100, 99) && !plain.may_be_live(0, 100, 100));
        let crashed = clock(&[WorldEvent::Crash { at_ms: 50 }, WorldEvent::Restart { at_ms: 90 }]);
        assert!(crashed.may_be_live(0, 100, 1_139) && !crashed.may_be_live(0, 100, 1_140));
        assert!(!crashed.may_be_live(91, 200, 200), "it began after the restart");
        assert!(crashed.may_be_live(0, 49, 89), "the lease clock may have gone back a second");
        let late = clock(&[WorldEvent::Crash { at_ms: 1_050 }, WorldEvent::Restart { at_ms: 1_090 }]);
        assert!(!late.may_be_live(0, 49, 49) && late.may_be_live(0, 50, 50), "over for more than that");
        assert!(clock(&[WorldEvent::Crash { at_ms: 50 }]).may_be_live(0, 100, 1_000_000), "never restarted");
    }

    #[test]
    fn the_wall_clock_goes_by_its_steps() {
        let steps = [
            WorldEvent::WallClock { at_ms: 10, offset_ms: 100 },
            WorldEvent::WallClock { at_ms: 20, offset_ms: -100 },
        ];
        let clock = clock(&steps);
        assert!(clock.may_have_reached(9, 0, 9) && !clock.may_have_reached(10, 0, 9));
        assert!(clock.may_have_reached(110, 0, 10) && !clock.may_have_reached(111, 0, 10));
        assert!(clock.may_have_reached(120, 0, 30), "it was so before the second step");
        assert!(!clock.may_have_reached(0, 20, 30) && clock.may_have_reached(-70, 20, 30));
        assert_eq!(clock.earliest_wall(15, 30), -80);
        assert!(clock.has_surely_reached(112, 12, 19) && !clock.has_surely_reached(112, 12, 21));
    }
}
