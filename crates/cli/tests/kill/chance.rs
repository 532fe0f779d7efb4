//! Random choices that a seed makes again.
//!
//! Lives here: the generator (splitmix64, by Sebastiano Vigna, in the public domain). Not here: what
//! is chosen.

/// A stream of choices.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The stream of `seed` for one purpose, told apart from others by `path`.
    pub(crate) fn new(seed: u64, path: &[u64]) -> Self {
        let mut chance = Self(seed);
        for step in path {
            chance.0 = chance.draw() ^ step;
        }
        chance
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound` - 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }

    /// A place in something of `length` things, at least one.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Up to `count` things of `from`, taken out of it.
    pub(crate) fn take_some<T>(&mut self, from: &mut Vec<T>, count: usize) -> Vec<T> {
        (0..count.min(from.len())).map(|_| from.swap_remove(self.place(from.len()))).collect()
    }
}
