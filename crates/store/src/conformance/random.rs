//! Random numbers that come again under the same seed.
//!
//! Lives here: [`SeededRandom`] (splitmix64) for engines under test and for scripts. Not here:
//! anything that nobody may foresee (`naven-server`).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Random;

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence that its seed decides.
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Begins `seed`'s sequence anew, whatever was drawn before: so two engines draw alike even where
    /// one of them drew more while it was made.
    pub fn restart(&self, seed: u64) {
        self.0.store(seed, Ordering::SeqCst);
    }

    /// The next 64 bits.
    pub fn next_u64(&self) -> u64 {
        let mut bits = self.0.fetch_add(GAMMA, Ordering::SeqCst).wrapping_add(GAMMA);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&self, bound: u32) -> u32 {
        (self.next_u64() % u64::from(bound)) as u32
    }

    /// True once in `times` draws.
    pub fn once_in(&self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn one_of<T: Copy>(&self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}
