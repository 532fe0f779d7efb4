//! What engines are handed from outside: time and randomness.
//!
//! Lives here: the two traits. Not here: the real clock and randomness (`naven-server`), and those
//! of tests (`conformance`).

use naven_api::Timestamp;

/// The machine's clocks. Both are read together, once for each batch of work.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock, which may step.
    fn wall(&self) -> Timestamp;

    /// Milliseconds since some fixed instant of this process; never steps.
    fn monotonic_ms(&self) -> i64;
}

/// Where unpredictable bits come from.
pub trait Random: Send + Sync + 'static {
    /// Fills `bytes` with bits that nobody can foresee.
    fn fill(&self, bytes: &mut [u8]);

    /// 32 such bits.
    fn draw_u32(&self) -> u32 {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    /// 128 such bits.
    fn draw_u128(&self) -> u128 {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        u128::from_le_bytes(bytes)
    }
}
