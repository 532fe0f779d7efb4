//! Dedupe keys: an event that was published before is not published again within its stream's window.
//!
//! Lives here: finding, storing and forgetting them. Not here: idempotency keys, which repeat answers
//! (`once.rs`).

use bytes::Bytes;
use naven_api::Timestamp;

use super::context::{Context, READABLE};
use super::view::name_of;
use crate::embedded::rows::dedupe::DedupeRow;
use crate::embedded::rows::key::{self, StreamNo};
use crate::embedded::rows::stream::StreamRow;
use crate::embedded::tables::{Table, Tables};
use crate::read::EventView;
use crate::txn::{DedupeKey, DedupeSpace};

impl<T: Tables> Context<'_, T> {
    /// How the first event of this key stands, where the key is remembered.
    pub(super) fn first_of_key(
        &self,
        stream: StreamNo,
        of: &StreamRow,
        key: &DedupeKey,
    ) -> Option<EventView> {
        let row = self.dedupe_row(&key::dedupe(stream, key))?;
        if of.settings.dedupe_window_seconds == 0 || row.until <= self.now.wall {
            return None;
        }
        match self.event(row.event) {
            Ok(found) => Some(self.event_view(stream, found.arrival, &found.row, false)),
            // Its key outlives it where the window is longer than outcomes are kept.
            Err(_) => Some(EventView {
                id: row.event,
                stream: name_of(of),
                place: row.place,
                body: None,
                headers: Vec::new(),
                created_at: Timestamp::from_ms(row.event.published_ms()),
                scheduled_at: row.scheduled_at,
                expires_at: None,
                dedupe_key: shown(key),
                trace: None,
                deliveries: Vec::new(),
            }),
        }
    }

    /// Remembers the key of an event that was published now.
    pub(super) fn remember_key(
        &mut self,
        stream: StreamNo,
        of: &StreamRow,
        key: &DedupeKey,
        first: &EventView,
    ) {
        let window_ms = i64::from(of.settings.dedupe_window_seconds) * 1_000;
        if window_ms == 0 {
            return;
        }
        let key = key::dedupe(stream, key);
        if let Some(old) = self.dedupe_row(&key) {
            self.tables.delete(Table::DedupeUntil, &old.until_key());
        }
        let until = self.now.wall.plus_ms(window_ms);
        let row = DedupeRow { event: first.id, scheduled_at: first.scheduled_at, place: first.place, until };
        self.tables.put(Table::DedupeUntil, &row.until_key(), Bytes::copy_from_slice(&key));
        self.tables.put(Table::Dedupe, &key, row.encode());
    }

    /// Forgets at most `most` keys whose window is over.
    pub(super) fn forget_dedupe_keys(&mut self, most: u64) -> u64 {
        let mut gone = 0;
        for stream in self.owners_due(Table::DedupeUntil) {
            while gone < most
                && let Some((until, arrival)) = self.first(Table::DedupeUntil, stream)
                && until <= self.now.wall.as_ms()
            {
                self.forget_key(&key::timed(stream, until, arrival));
                gone += 1;
            }
        }
        gone
    }

    /// Forgets all keys of a stream that is removed.
    pub(super) fn forget_keys_of(&mut self, stream: StreamNo) {
        while let Some((until, arrival)) = self.first(Table::DedupeUntil, stream.0) {
            self.forget_key(&key::timed(stream.0, until, arrival));
        }
    }

    fn forget_key(&mut self, until: &[u8]) {
        let missing = || self.tables.miss(Table::DedupeUntil, until);
        let key = self.tables.get(Table::DedupeUntil, until).unwrap_or_else(missing);
        self.tables.delete(Table::Dedupe, &key);
        self.tables.delete(Table::DedupeUntil, until);
    }

    fn dedupe_row(&self, key: &[u8]) -> Option<DedupeRow> {
        Some(DedupeRow::decode(self.tables.get(Table::Dedupe, key)?).expect(READABLE))
    }
}

/// The key as events show it: only those of the HTTP door are texts.
pub(super) fn shown(key: &DedupeKey) -> Option<String> {
    let is_text = key.space == DedupeSpace::Http;
    is_text.then(|| String::from_utf8_lossy(&key.key).into_owned())
}
