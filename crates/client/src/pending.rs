//! What is pending in a queue of a stream.
//!
//! Lives here: the call, and which deliveries it asks for. Not here: the words (`naven-api`), and who holds how
//! much (`watch.rs`).

use naven_api::pending::PendingListReply;

use crate::client::{Call, Client};
use crate::error::Error;

/// Which pending deliveries are asked for; by default all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pending {
    /// The first place: an entry's id or an RFC 3339 time.
    pub start: Option<String>,
    /// The last place: an entry's id or an RFC 3339 time.
    pub end: Option<String>,
    /// Only what stands under this name: a Redis consumer's, `@http` for leases, empty for what nobody has.
    pub consumer: Option<String>,
    /// Only what nothing was heard of for so long, in seconds.
    pub min_idle_seconds: Option<u32>,
    /// Most deliveries of one page: 1 to 500, 50 where it is none.
    pub limit: Option<u32>,
    /// Where the page before ended: its `next_cursor`.
    pub cursor: Option<String>,
}

impl Client {
    /// What somebody has of the queue `group` (its name or id) of `stream`, and what waits to be taken again, in
    /// the order of the places. A page looks at 20,000 deliveries at most, see
    /// [`PendingListReply::scan_truncated`].
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `stream_or_group_not_found`, `invalid_field`, `invalid_cursor` and what every call may meet.
    pub async fn pending(
        &self,
        stream: &str,
        group: &str,
        pending: &Pending,
    ) -> Result<PendingListReply, Error> {
        let Pending { start, end, consumer, min_idle_seconds, limit, cursor } = pending.clone();
        let named = [("start", start), ("end", end), ("consumer", consumer), ("cursor", cursor)];
        let numbers = [("minIdleSeconds", min_idle_seconds), ("limit", limit)];
        let numbers = numbers.map(|(name, number)| (name, number.map(|number| number.to_string())));
        let given = named.into_iter().chain(numbers);
        let query: Vec<_> = given.filter_map(|(name, value)| Some((name, value?))).collect();
        self.send(Call::get(&["streams", stream, "groups", group, "pending"], &query)).await
    }
}
