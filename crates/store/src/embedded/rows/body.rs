//! Rows of events: the body and what travels with it.
//!
//! Lives here: the value and its bytes. Not here: how queues deal with it (`delivery.rs`).

use bytes::Bytes;
use naven_api::Timestamp;

use super::codec::{Dec, Enc};
use super::key::EntryNo;
use crate::txn::{Body, Form};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyRow {
    /// When it was published.
    pub(crate) created_at: Timestamp,
    /// Its first due time, as it was asked for.
    pub(crate) scheduled_at: Timestamp,
    /// When it became or becomes due: a past `scheduled_at` is due at its publish.
    pub(crate) due: Timestamp,
    /// Its entry, once it has a place.
    pub(crate) entry: Option<EntryNo>,
    /// Attempts of this event, over its queue's.
    pub(crate) max_attempts: Option<u32>,
    /// Names and values that travel with it.
    pub(crate) headers: Vec<(String, String)>,
    /// The content; none once every queue is done with it.
    pub(crate) body: Option<Body>,
}

impl BodyRow {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc(Vec::with_capacity(64 + self.body.as_ref().map_or(0, |body| body.bytes.len())));
        enc.i64(self.created_at.as_ms()).i64(self.scheduled_at.as_ms()).i64(self.due.as_ms());
        enc.option(self.entry, |enc, entry| {
            enc.u64(entry.0);
        });
        enc.option(self.max_attempts, |enc, max| {
            enc.u32(max);
        });
        put_headers(&mut enc, &self.headers);
        enc.option(self.body.as_ref(), put_body);
        enc.done()
    }

    /// The row behind the bytes; the content shares them.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let row = Self {
            created_at: Timestamp::from_ms(dec.i64()?),
            scheduled_at: Timestamp::from_ms(dec.i64()?),
            due: Timestamp::from_ms(dec.i64()?),
            entry: dec.option(Dec::u64)?.map(EntryNo),
            max_attempts: dec.option(Dec::u32)?,
            headers: get_headers(&mut dec)?,
            body: dec.option(get_body)?,
        };
        dec.end(row)
    }
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
            entry: Some(EntryNo(4)),
            max_attempts: Some(3),
            headers: vec![("k".into(), "v".into())],
            body: Some(Body { form: Form::Json, bytes: Bytes::from_static(b"{}") }),
        };
        assert_eq!(BodyRow::decode(row.encode()), Some(row.clone()));
        (row.entry, row.body) = (None, None);
        assert_eq!(BodyRow::decode(row.encode()), Some(row));
    }
}
