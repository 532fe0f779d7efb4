//! Rows of queues: what they are and how far they have come. Rows of keys.
//!
//! Lives here: the values and their bytes. Not here: deliveries (`delivery.rs`).

use bytes::Bytes;
use naven_api::limits::OUTCOME_SECONDS_MIN;
use naven_api::{Backoff, KeyId, LeaseSeconds, QueueId, Timestamp};
use naven_core::{DeadReason, Delivery, Policy, View};

use super::body::BodyRow;
use super::codec::{Dec, Enc};
use super::delivery::reason_number;
use super::key::StreamNo;
use crate::key::{KeyRecord, KeySecret};
use crate::queue::QueueSettings;
use crate::read::Counts;
use crate::reply::Refused;
use crate::txn::Place;

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
    /// The round in which its deliveries begin: a reset opens the next.
    pub(crate) round: u32,
    /// The fencing number from which its deliveries go on: after a reset, the highest ever given.
    pub(crate) fence: u64,
    /// Rises with each change of its settings.
    pub(crate) revision: u64,
    /// What its deletion left.
    pub(crate) closed: Option<Closed>,
}

/// What a deleted queue left: all that it had not finished is dead from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    /// When it was deleted.
    pub(crate) at: Timestamp,
    /// Why what it left is dead.
    pub(crate) reason: DeadReason,
    /// The stream's last entry then: what it had not read up to here is dead.
    pub(crate) upto: u64,
    /// The stream's last event then: what waited for its time among these is dead too.
    pub(crate) arrivals: u64,
}

/// How far a queue has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// The last entry that was taken in; all above it is ready.
    pub(crate) cursor: u64,
    /// Entries ever added to the stream that are not ready by the cursor: taken in, passed by, gone.
    pub(crate) read: u64,
    /// Those of them that were trimmed away unread.
    pub(crate) trimmed_unread: u64,
    /// Events of its own lane that are ready.
    pub(crate) lane_ready: u64,
    /// Events of its own lane that wait for their time.
    pub(crate) lane_waiting: u64,
    /// Entries above the cursor that it has dealt with.
    pub(crate) aside: u64,
    /// The highest fencing number that it ever gave.
    pub(crate) fence: u64,
    /// The place of the last event that it took in, or was sent behind; it may be ahead of the stream's last.
    pub(crate) last: Place,
    /// How many entries it has read, as its readers are told (`lag.rs`); none: not known.
    pub(crate) entries_read: Option<u64>,
    /// Deliveries by recorded state; the ready ones are those that are ready again.
    pub(crate) counts: Counts,
}

impl QueueRow {
    /// Whether it is at the revision that a change expects.
    pub(crate) fn check(&self, expected: Option<u64>) -> Result<(), Refused> {
        if expected.is_none_or(|expected| expected == self.revision) { Ok(()) } else { Err(Refused::Stale) }
    }

    /// What the rules are asked to heed for `event`.
    pub(crate) fn policy(&self, event: &BodyRow) -> Policy {
        let settings = &self.settings;
        Policy {
            max_attempts: event.max_attempts.or(settings.max_attempts),
            backoff: settings.backoff,
            max_lease_ms: (settings.max_lease_seconds > 0)
                .then(|| i64::from(settings.max_lease_seconds) * 1_000),
            grace_ms: i64::from(settings.late_ack_grace_seconds) * 1_000,
            redis_lease_ms: settings.redis_lease.map(LeaseSeconds::as_ms),
            expires_at: event.expires_at,
        }
    }

    /// A delivery of this queue that nobody has held in its present round.
    pub(crate) fn fresh(&self, event: &BodyRow) -> Delivery {
        Delivery { round: self.round, fence: self.fence, ..Delivery::fresh(event.due) }
    }

    /// How long a delivery that is over is remembered at least, in ms.
    pub(crate) fn remember_ms(&self) -> i64 {
        i64::from(self.settings.done_retention_seconds.max(OUTCOME_SECONDS_MIN)) * 1_000
    }

    /// How long a dead letter is kept, in ms.
    pub(crate) fn keep_dead_ms(&self) -> i64 {
        i64::from(self.settings.dead_retention_seconds) * 1_000
    }

    /// How long what a deletion left is kept, in ms.
    pub(crate) fn keep_closed_ms(&self) -> i64 {
        i64::from(self.settings.dead_retention_seconds.max(OUTCOME_SECONDS_MIN)) * 1_000
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
        enc.u32(self.round).u64(self.fence).u64(self.revision);
        enc.option(self.closed, |enc, closed| {
            enc.i64(closed.at.as_ms()).u8(reason_number(closed.reason)).u64(closed.upto).u64(closed.arrivals);
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
            round: dec.u32()?,
            fence: dec.u64()?,
            revision: dec.u64()?,
            closed: dec.option(get_closed)?,
        };
        dec.end(row)
    }
}

fn get_closed(dec: &mut Dec) -> Option<Closed> {
    Some(Closed {
        at: Timestamp::from_ms(dec.i64()?),
        reason: *DeadReason::ALL.get(usize::from(dec.u8()?))?,
        upto: dec.u64()?,
        arrivals: dec.u64()?,
    })
}

/// Appends a queue's settings.
pub(crate) fn put_settings(enc: &mut Enc, settings: &QueueSettings) {
    enc.text(&settings.description).u32(settings.default_lease.get()).u32(settings.max_lease_seconds);
    enc.option(settings.max_attempts, |enc, max| {
        enc.u32(max);
    });
    put_backoff(enc, settings.backoff);
    enc.u32(settings.late_ack_grace_seconds);
    enc.option(settings.redis_lease, |enc, lease| {
        enc.u32(lease.get());
    });
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
        redis_lease: dec.option(|dec| LeaseSeconds::try_from(dec.u32()?).ok())?,
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
        enc.u64(self.cursor).u64(self.read).u64(self.trimmed_unread);
        enc.u64(self.lane_ready).u64(self.lane_waiting).u64(self.aside);
        enc.u64(self.fence).u64(self.last.ms).u64(self.last.seq);
        for view in View::ALL {
            enc.u64(self.counts.of(view));
        }
        enc.option(self.entries_read, |enc, read| {
            enc.u64(read);
        });
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let mut row = Self {
            cursor: dec.u64()?,
            read: dec.u64()?,
            trimmed_unread: dec.u64()?,
            lane_ready: dec.u64()?,
            lane_waiting: dec.u64()?,
            aside: dec.u64()?,
            fence: dec.u64()?,
            last: Place { ms: dec.u64()?, seq: dec.u64()? },
            entries_read: None,
            counts: Counts::default(),
        };
        for view in View::ALL {
            *row.counts.of_mut(view) = dec.u64()?;
        }
        row.entries_read = dec.option(Dec::u64)?;
        dec.end(row)
    }
}

/// Appends a key's record.
pub(crate) fn put_key(enc: &mut Enc, key: &KeyRecord) {
    enc.u128(key.id.bits()).text(&key.name);
    enc.list(&key.secrets, |enc, secret| {
        enc.text(&secret.prefix).bytes(&secret.digest);
        put_time(enc, secret.until);
    });
    enc.list(&key.scopes, |enc, scope| {
        enc.text(scope);
    });
    enc.list(&key.queues, |enc, queue| {
        enc.text(queue);
    });
    put_time(enc, key.expires_at);
    enc.option(key.rate_limit, |enc, limit| {
        enc.u32(limit);
    });
    enc.u64(key.revision).i64(key.created_at.as_ms()).i64(key.updated_at.as_ms());
}

fn put_time(enc: &mut Enc, at: Option<Timestamp>) {
    enc.option(at, |enc, at| {
        enc.i64(at.as_ms());
    });
}

fn get_time(dec: &mut Dec) -> Option<Timestamp> {
    dec.i64().map(Timestamp::from_ms)
}

/// Reads a key's record.
pub(crate) fn get_key(dec: &mut Dec) -> Option<KeyRecord> {
    Some(KeyRecord {
        id: KeyId::from_bits(dec.u128()?),
        name: dec.text()?,
        secrets: dec.list(|dec| {
            Some(KeySecret {
                prefix: dec.text()?,
                digest: dec.bytes()?.as_ref().try_into().ok()?,
                until: dec.option(get_time)?,
            })
        })?,
        scopes: dec.list(Dec::text)?,
        queues: dec.list(Dec::text)?,
        expires_at: dec.option(get_time)?,
        rate_limit: dec.option(Dec::u32)?,
        revision: dec.u64()?,
        created_at: Timestamp::from_ms(dec.i64()?),
        updated_at: Timestamp::from_ms(dec.i64()?),
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
            round: 1,
            fence: 12,
            revision: 3,
            closed: Some(Closed {
                at: Timestamp::from_ms(3),
                reason: DeadReason::GroupDestroyed,
                upto: 4,
                arrivals: 5,
            }),
        };
        assert_eq!(QueueRow::decode(row.encode()), Some(row));
        let mut progress = Progress { cursor: 9, read: 8, aside: 1, fence: 3, ..Progress::default() };
        *progress.counts.of_mut(View::Dead) = 300;
        progress.entries_read = Some(7);
        assert_eq!(Progress::decode(progress.encode()), Some(progress));
        let secret =
            KeySecret { prefix: "nvk_x".to_owned(), digest: [9; 32], until: Some(Timestamp::from_ms(5)) };
        let key = KeyRecord {
            scopes: vec!["read".to_owned()],
            queues: vec!["*".to_owned()],
            expires_at: Some(Timestamp::from_ms(9)),
            rate_limit: Some(7),
            revision: 3,
            ..KeyRecord::new(KeyId::from_bits(1), "w".to_owned(), secret, Timestamp::from_ms(3))
        };
        let mut enc = Enc::default();
        put_key(&mut enc, &key);
        assert_eq!(get_key(&mut Dec(enc.done())), Some(key));
    }
}
