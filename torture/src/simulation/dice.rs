//! What the seed decides.
//!
//! Lives here: draws in the forms that a simulation needs. Not here: what they decide.

use std::ops::RangeInclusive;

use naven_store::conformance::SeededRandom;

/// Draws that come again under the same seed.
#[derive(Debug)]
pub(crate) struct Dice(SeededRandom);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SeededRandom::new(seed))
    }

    pub(crate) fn draw(&self) -> u64 {
        self.0.next_u64()
    }

    /// A number of this range, every one as likely.
    pub(crate) fn between(&self, range: RangeInclusive<i64>) -> i64 {
        let (from, to) = range.into_inner();
        let span = u64::try_from(to - from).expect("ranges rise") + 1;
        from + i64::try_from(self.draw() % span).expect("a span fits")
    }

    /// The same for counts.
    pub(crate) fn count(&self, range: RangeInclusive<usize>) -> usize {
        let (from, to) = range.into_inner();
        from + (self.draw() % (to - from + 1) as u64) as usize
    }

    /// True so often in a hundred.
    pub(crate) fn percent(&self, chance: u32) -> bool {
        self.0.below(100) < chance
    }

    pub(crate) fn one_of<T: Copy>(&self, choices: &[T]) -> T {
        self.0.one_of(choices)
    }
}
