//! Rows of queues: what they are and how far they have come. Rows of keys.
//!
//! Lives here: the values and their bytes. Not here: deliveries (`delivery.rs`).

use bytes::Bytes;
use naven_api::{Backoff, KeyId, LeaseSeconds, QueueId, Timestamp};
use naven_core::{Policy, View};

use super::codec::{Dec, Enc};
use super::key::StreamNo;
use crate::key::KeyRecord;
use crate::queue::QueueSettings;
use crate::read::Counts;

/// What a queue is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueRow {
    /// Its id.
    pub(crate) id: QueueId,
    /// Its unique name.
    pub(crate) name: String,
    /// Its stream.
    pub(crate) stream: StreamNo,
    /// What it asks of the rules.
    pub(crate) settings: QueueSettings,
    /// Why it is paused, where it is.
    pub(crate) paused: Option<String>,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When its settings last changed.
    pub(crate) updated_at: Timestamp,
    /// When it was deleted.
    pub(crate) closed: Option<Timestamp>,
}

/// How far a queue has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// The last entry that was taken in; all above it is ready.
    pub(crate) cursor: u64,
    /// Deliveries by recorded state.
    pub(crate) counts: Counts,
}

impl QueueRow {
    /// What the rules are asked to heed for an event with this bound of its own.
    pub(crate) fn policy(&self, max_attempts: Option<u32>) -> Policy {
        let settings = &self.settings;
        Policy {
            max_attempts: max_attempts.or(settings.max_attempts),
            backoff: settings.backoff,
            max_lease_ms: (settings.max_lease_seconds > 0)
                .then(|| i64::from(settings.max_lease_seconds) * 1_000),
            grace_ms: i64::from(settings.late_ack_grace_seconds) * 1_000,
            redis_lease_ms: None,
            expires_at: None,
        }
    }

    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.u128(self.id.bits()).text(&self.name).u32(self.stream.0);
        put_settings(&mut enc, &self.settings);
        enc.option(self.paused.as_deref(), |enc, why| {
            enc.text(why);
        });
        enc.i64(self.created_at.as_ms()).i64(self.updated_at.as_ms());
        enc.option(self.closed, |enc, at| {
            enc.i64(at.as_ms());
        });
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let row = Self {
            id: QueueId::from_bits(dec.u128()?),
            name: dec.text()?,
            stream: StreamNo(dec.u32()?),
            settings: get_settings(&mut dec)?,
            paused: dec.option(Dec::text)?,
            created_at: Timestamp::from_ms(dec.i64()?),
            updated_at: Timestamp::from_ms(dec.i64()?),
            closed: dec.option(Dec::i64)?.map(Timestamp::from_ms),
        };
        dec.end(row)
    }
}

/// Appends a queue's settings.
pub(crate) fn put_settings(enc: &mut Enc, settings: &QueueSettings) {
    enc.text(&settings.description).u32(settings.default_lease.get()).u32(settings.max_lease_seconds);
    enc.option(settings.max_attempts, |enc, max| {
        enc.u32(max);
    });
    put_backoff(enc, settings.backoff);
    enc.u32(settings.late_ack_grace_seconds);
    enc.flag(settings.keep_done_payload).flag(settings.protect_unread);
    enc.u32(settings.done_retention_seconds).u32(settings.dead_retention_seconds);
}

/// Reads a queue's settings.
pub(crate) fn get_settings(dec: &mut Dec) -> Option<QueueSettings> {
    Some(QueueSettings {
        description: dec.text()?,
        default_lease: LeaseSeconds::try_from(dec.u32()?).ok()?,
        max_lease_seconds: dec.u32()?,
        max_attempts: dec.option(Dec::u32)?,
        backoff: get_backoff(dec)?,
        late_ack_grace_seconds: dec.u32()?,
        keep_done_payload: dec.flag()?,
        protect_unread: dec.flag()?,
        done_retention_seconds: dec.u32()?,
        dead_retention_seconds: dec.u32()?,
    })
}

/// Appends a backoff.
pub(crate) fn put_backoff(enc: &mut Enc, backoff: Backoff) {
    enc.u32(backoff.initial_seconds).u32(backoff.factor_milli);
    enc.u32(backoff.max_seconds).u32(backoff.jitter_milli);
}

/// Reads a backoff.
pub(crate) fn get_backoff(dec: &mut Dec) -> Option<Backoff> {
    Some(Backoff {
        initial_seconds: dec.u32()?,
        factor_milli: dec.u32()?,
        max_seconds: dec.u32()?,
        jitter_milli: dec.u32()?,
    })
}

impl Progress {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.u64(self.cursor);
        for view in View::ALL {
            enc.u64(self.counts.of(view));
        }
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let mut row = Self { cursor: dec.u64()?, counts: Counts::default() };
        for view in View::ALL {
            *row.counts.of_mut(view) = dec.u64()?;
        }
        dec.end(row)
    }
}

/// Appends a key's record.
pub(crate) fn put_key(enc: &mut Enc, key: &KeyRecord) {
    enc.u128(key.id.bits()).text(&key.name).text(&key.prefix).bytes(&key.digest);
    enc.list(&key.scopes, |enc, scope| {
        enc.text(scope);
    });
    enc.list(&key.queues, |enc, queue| {
        enc.text(queue);
    });
    enc.i64(key.created_at.as_ms());
}

/// Reads a key's record.
pub(crate) fn get_key(dec: &mut Dec) -> Option<KeyRecord> {
    Some(KeyRecord {
        id: KeyId::from_bits(dec.u128()?),
        name: dec.text()?,
        prefix: dec.text()?,
        digest: dec.bytes()?.as_ref().try_into().ok()?,
        scopes: dec.list(Dec::text)?,
        queues: dec.list(Dec::text)?,
        created_at: Timestamp::from_ms(dec.i64()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_their_bytes() {
        let row = QueueRow {
            id: QueueId::from_bits(7),
            name: "mail".into(),
            stream: StreamNo(3),
            settings: QueueSettings { max_attempts: None, ..QueueSettings::default() },
            paused: Some(String::new()),
            created_at: Timestamp::from_ms(1),
            updated_at: Timestamp::from_ms(2),
            closed: Some(Timestamp::from_ms(3)),
        };
        assert_eq!(QueueRow::decode(row.encode()), Some(row));
        let mut progress = Progress { cursor: 9, counts: Counts::default() };
        *progress.counts.of_mut(View::Dead) = 300;
        assert_eq!(Progress::decode(progress.encode()), Some(progress));
        let key = KeyRecord {
            id: KeyId::from_bits(1),
            name: "admin".into(),
            prefix: "nvk_x".into(),
            digest: [5; 32],
            scopes: vec!["read".into()],
            queues: vec!["*".into()],
            created_at: Timestamp::from_ms(4),
        };
        let mut enc = Enc::default();
        put_key(&mut enc, &key);
        assert_eq!(get_key(&mut Dec(enc.done())), Some(key));
    }
}
