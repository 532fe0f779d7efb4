//! Random points in time.
//!
//! Lives here: a small generator whose seed is printed. Not here: anything that has to be secret.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// A generator (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// With a fresh seed, which is printed.
    pub(crate) fn fresh(what: &str) -> Self {
        let seed = RandomState::new().hash_one(what);
        println!("{what}: seed {seed}");
        Self(seed)
    }

    /// Another one, which goes its own way.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A time from `from` to before `to`.
    pub(crate) fn time(&mut self, from: Duration, to: Duration) -> Duration {
        let micros = u64::try_from((to - from).as_micros()).expect("test times are short");
        from + Duration::from_micros(self.next() % micros.max(1))
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.next().to_le_bytes()).flatten().take(count).collect()
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }
}
