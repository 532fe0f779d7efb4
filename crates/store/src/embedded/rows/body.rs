//! Rows of events: the body and what travels with it.
//!
//! Lives here: the value and its bytes. Not here: how queues deal with it (`delivery.rs`).

use bytes::Bytes;
use naven_api::{Timestamp, TraceContext};

use super::codec::{Dec, Enc};
use super::key::{EntryNo, QueueNo};
use super::told::{get_trace, put_trace};
use crate::embedded::tables::Kept;
use crate::txn::{Body, Form, Place};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyRow {
    /// When it was published.
    pub(crate) created_at: Timestamp,
    /// Its first due time, as it was asked for.
    pub(crate) scheduled_at: Timestamp,
    /// When it became or becomes due: a past `scheduled_at` is due at its publish.
    pub(crate) due: Timestamp,
    /// Its number and place in the stream's order, once it has them.
    pub(crate) placed: Option<Placed>,
    /// The one queue that it is for, where it was published to that alone.
    pub(crate) only: Option<QueueNo>,
    /// When it is of no use any more.
    pub(crate) expires_at: Option<Timestamp>,
    /// Its domain identity, where it was published with one over HTTP.
    pub(crate) dedupe_key: Option<String>,
    /// Attempts of this event, over its queue's.
    pub(crate) max_attempts: Option<u32>,
    /// Where in its publisher's trace it was published.
    pub(crate) trace: Option<Box<TraceContext>>,
    /// Names and values that travel with it.
    pub(crate) headers: Vec<(String, String)>,
    /// The content; none once every queue is done with it.
    pub(crate) body: Option<Body>,
    /// True where the disk lost the content.
    pub(crate) damaged: bool,
}

/// Where an event stands in its stream's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Its number.
    pub(crate) n: EntryNo,
    /// Its place.
    pub(crate) place: Place,
}

impl BodyRow {
    /// When it is to be looked at because it is of no use any more: not before it can have a place.
    pub(crate) fn expiry(&self) -> Option<Timestamp> {
        self.expires_at.map(|at| at.max(self.due))
    }

    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc(Vec::with_capacity(64 + self.body.as_ref().map_or(0, |body| body.bytes.len())));
        enc.i64(self.created_at.as_ms()).i64(self.scheduled_at.as_ms()).i64(self.due.as_ms());
        enc.option(self.placed, |enc, placed| {
            enc.u64(placed.n.0).u64(placed.place.ms).u64(placed.place.seq);
        });
        enc.option(self.only, |enc, queue| {
            enc.u32(queue.0);
        });
        enc.option(self.expires_at, |enc, at| {
            enc.i64(at.as_ms());
        });
        enc.option(self.dedupe_key.as_deref(), |enc, key| {
            enc.text(key);
        });
        enc.option(self.max_attempts, |enc, max| {
            enc.u32(max);
        });
        put_trace(&mut enc, self.trace.as_deref());
        put_headers(&mut enc, &self.headers);
        enc.option(self.body.as_ref(), put_body).flag(self.damaged);
        enc.done()
    }

    /// The row behind the bytes; the content shares them.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let row = Self::head(&mut dec)?;
        let (headers, body) = (get_headers(&mut dec)?, dec.option(get_body)?);
        let damaged = dec.flag()?;
        dec.end(Self { headers, body, damaged, ..row })
    }

    /// The row that is kept, or what can be told of it.
    pub(crate) fn of(kept: Kept) -> Option<Self> {
        match kept {
            Kept::Whole(bytes) => Self::decode(bytes),
            Kept::Damaged(bytes) => Self::of_damaged(bytes),
        }
    }

    /// What can be told of an event whose row is not what was written: where it stands, if that part is
    /// still there, but nothing of its content.
    pub(crate) fn of_damaged(bytes: Bytes) -> Option<Self> {
        Some(Self { damaged: true, ..Self::head(&mut Dec(bytes))? })
    }

    /// Everything before headers and content.
    fn head(dec: &mut Dec) -> Option<Self> {
        Some(Self {
            created_at: Timestamp::from_ms(dec.i64()?),
            scheduled_at: Timestamp::from_ms(dec.i64()?),
            due: Timestamp::from_ms(dec.i64()?),
            placed: dec.option(get_placed)?,
            only: dec.option(Dec::u32)?.map(QueueNo),
            expires_at: dec.option(Dec::i64)?.map(Timestamp::from_ms),
            dedupe_key: dec.option(Dec::text)?,
            max_attempts: dec.option(Dec::u32)?,
            trace: get_trace(dec)?,
            headers: Vec::new(),
            body: None,
            damaged: false,
        })
    }
}

fn get_placed(dec: &mut Dec) -> Option<Placed> {
    Some(Placed { n: EntryNo(dec.u64()?), place: Place { ms: dec.u64()?, seq: dec.u64()? } })
}

/// Appends an event's headers.
pub(crate) fn put_headers(enc: &mut Enc, headers: &[(String, String)]) {
    enc.list(headers, |enc, (name, value)| {
        enc.text(name).text(value);
    });
}

/// Reads an event's headers.
pub(crate) fn get_headers(dec: &mut Dec) -> Option<Vec<(String, String)>> {
    dec.list(|dec| Some((dec.text()?, dec.text()?)))
}

/// Appends a body.
pub(crate) fn put_body(enc: &mut Enc, body: &Body) {
    enc.u8(match body.form {
        Form::Json => 0,
        Form::Fields => 1,
    });
    enc.bytes(&body.bytes);
}

/// Reads a body.
pub(crate) fn get_body(dec: &mut Dec) -> Option<Body> {
    let form = match dec.u8()? {
        0 => Form::Json,
        1 => Form::Fields,
        _ => return None,
    };
    Some(Body { form, bytes: dec.bytes()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_from_its_bytes() {
        let mut row = BodyRow {
            created_at: Timestamp::from_ms(1),
            scheduled_at: Timestamp::from_ms(-2),
            due: Timestamp::from_ms(1),
            placed: Some(Placed { n: EntryNo(4), place: Place { ms: 9, seq: 1 } }),
            only: Some(QueueNo(2)),
            expires_at: Some(Timestamp::from_ms(8)),
            dedupe_key: Some("order-7".into()),
            max_attempts: Some(3),
            trace: Some(Box::new(TraceContext::stored("00-1-2-01".into(), Some("a=1".into())))),
            headers: vec![("k".into(), "v".into())],
            body: Some(Body { form: Form::Json, bytes: Bytes::from_static(b"{}") }),
            damaged: false,
        };
        assert_eq!(BodyRow::decode(row.encode()), Some(row.clone()));
        let bytes = row.encode();
        let lost = BodyRow { headers: Vec::new(), body: None, damaged: true, ..row.clone() };
        assert_eq!(BodyRow::of_damaged(bytes.slice(..bytes.len() - 4)), Some(lost.clone()));
        assert_eq!(BodyRow::decode(lost.encode()), Some(lost));
        (row.placed, row.body, row.only, row.trace) = (None, None, None, None);
        assert_eq!(BodyRow::decode(row.encode()), Some(row));
    }
}
