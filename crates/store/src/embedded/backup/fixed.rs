//! Numbers at fixed places.
//!
//! Lives here: reading them. Not here: what they mean (`format.rs`).

/// So many bytes, holding little-endian numbers.
pub(super) struct Fixed<'a, const LEN: usize>(&'a [u8; LEN]);

impl<'a, const LEN: usize> Fixed<'a, LEN> {
    /// These bytes, where there are just as many.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(super) fn u8(&self, at: usize) -> u8 {
        self.0[at]
    }

    pub(super) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.take(at))
    }

    pub(super) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.take(at))
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.take(at))
    }

    fn take<const WIDTH: usize>(&self, at: usize) -> [u8; WIDTH] {
        std::array::from_fn(|byte| self.0[at + byte])
    }
}
