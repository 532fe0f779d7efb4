//! What a connection has been answered and has not read yet.
//!
//! Lives here: the replies in order, as bytes, and the account from which the connection knows when to run no
//! further command. Not here: the socket that takes the bytes.

use bytes::{Buf, BytesMut};
use naven_api::limits;

use super::reply::{Protocol, Reply};
use crate::room::Taken;

/// Replies on their way out.
///
/// A client that does not read is not answered without end: past `unread_max` bytes the connection is to
/// hold back, and to go on when half of them are gone, so that it does not stop and go at every byte.
#[derive(Debug)]
pub(crate) struct Output {
    bytes: BytesMut,
    protocol: Protocol,
    unread_max: usize,
    is_holding_back: bool,
    /// Most bytes that waited since none did: about what the buffer has grown to.
    peak_bytes: usize,
    /// The room that large replies among them take.
    room: Option<Taken>,
}

impl Output {
    /// Nothing to read yet, in RESP2.
    pub(crate) fn new(unread_max: usize) -> Self {
        Self {
            bytes: BytesMut::new(),
            protocol: Protocol::default(),
            unread_max,
            is_holding_back: false,
            peak_bytes: 0,
            room: None,
        }
    }

    /// The protocol of the replies to come.
    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Writes the replies to come in `protocol`. What is waiting stays as it was written.
    pub(crate) fn speak(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Appends a reply. It is never refused: who pushes has asked [`Output::is_holding_back`] before it ran
    /// the command, so the account is over by one reply at most.
    pub(crate) fn push(&mut self, reply: &Reply) {
        reply.write(&mut self.bytes, self.protocol);
        self.peak_bytes = self.peak_bytes.max(self.pending_bytes());
        self.is_holding_back |= self.pending_bytes() >= self.unread_max;
    }

    /// Appends a reply that may be large, and for which this room was taken: what it needs of it is held until all has
    /// been sent.
    pub(crate) fn push_large(&mut self, reply: &Reply, mut room: Taken) {
        let bytes = reply.about_bytes();
        // Else the buffer would double until the reply fits.
        self.bytes.reserve(bytes);
        self.push(reply);
        room.shrink_to(bytes);
        match &mut self.room {
            Some(held) => held.and(room),
            None => self.room = Some(room),
        }
    }

    /// True where replies that wait take room which others may need.
    pub(crate) fn has_room(&self) -> bool {
        self.room.as_ref().is_some_and(Taken::is_counted)
    }

    /// Bytes that the client has not been sent.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no further command should be read or run until the client has read.
    pub(crate) fn is_holding_back(&self) -> bool {
        self.is_holding_back
    }

    /// What is to be sent next.
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.bytes
    }

    /// Strikes off the first `bytes` of [`Output::unsent`], which the socket has taken; more than there are
    /// count as all.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes.advance(bytes.min(self.bytes.len()));
        if self.pending_bytes() <= self.unread_max / 2 {
            self.is_holding_back = false;
        }
        // One large reply must not leave its buffer to an idle connection.
        if self.bytes.is_empty() {
            if self.peak_bytes > limits::REDIS_KEPT_BUFFER_BYTES {
                self.bytes = BytesMut::new();
            }
            self.peak_bytes = 0;
            self.room = None;
        }
    }

    /// Bytes that the buffer holds room for, used or not.
    #[cfg(test)]
    pub(super) fn buffer_bytes(&mut self) -> usize {
        self.bytes.reserve(1);
        self.bytes.capacity()
    }
}
