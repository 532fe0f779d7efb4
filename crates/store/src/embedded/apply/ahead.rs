//! Queues that were sent ahead of their stream.
//!
//! Lives here: a stand-in that notes nothing, until the giving of places heeds such queues (`place.rs`).

use super::context::Context;
use crate::embedded::rows::key::StreamNo;
use crate::embedded::tables::Tables;
use crate::txn::Place;

impl<T: Tables> Context<'_, T> {
    /// A queue of this stream counts everything up to `place` as handed out.
    pub(super) fn go_ahead(&mut self, _stream: StreamNo, _place: Place) {}
}
