//! One command as it came.
//!
//! Lives here: its name and arguments. Not here: how they are cut out of bytes (`decode.rs`), and which
//! commands there are (`command`).

use bytes::Bytes;

/// One command: a name and its arguments, as bytes. Each part is a view of what was read from the socket, so
/// a part that is kept for longer than the command should be copied: a short one may hold megabytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Never empty.
    parts: Vec<Bytes>,
}

impl Request {
    /// The command of these parts; none when there is not even a name.
    pub(crate) fn of(parts: Vec<Bytes>) -> Option<Self> {
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// The command's name, in the case it came in. It may be of no bytes.
    pub(crate) fn name(&self) -> &[u8] {
        self.parts.first().map_or(&[], |name| name)
    }

    /// What follows the name.
    pub(crate) fn arguments(&self) -> &[Bytes] {
        self.parts.get(1..).unwrap_or_default()
    }

    /// How many parts there are, the name included, as arities are counted.
    pub(crate) fn count(&self) -> usize {
        self.parts.len()
    }

    /// Name and arguments, to be taken apart.
    #[cfg(test)]
    pub(crate) fn into_parts(self) -> Vec<Bytes> {
        self.parts
    }
}
