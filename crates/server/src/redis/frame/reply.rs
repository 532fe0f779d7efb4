//! Replies, and their bytes in either protocol.
//!
//! Lives here: every kind of reply of RESP3, and what stands for it in RESP2. Not here: who waits for the
//! bytes (`output.rs`), and which reply a command gives.

use bytes::{BufMut, Bytes, BytesMut};

/// The protocol that a connection has agreed on with HELLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Protocol {
    /// What every connection begins with.
    #[default]
    Resp2,
    Resp3,
}

/// One reply. What RESP2 has no word for falls back as in Redis: a map to a flat array, a set and a push to
/// an array, a double, a big number and a verbatim text to a bulk, a boolean to 1 or 0.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(test), expect(dead_code, reason = "replies of RESP3 that no command gives yet"))]
pub(crate) enum Reply {
    /// A short text. Line ends in it are written as spaces.
    Simple(Bytes),
    /// An error: its code word and its text. Line ends in it are written as spaces.
    Error(Bytes),
    Integer(i64),
    Bulk(Bytes),
    /// Nothing, where there would have been a single value.
    Null,
    /// Nothing, where there would have been a list.
    NullArray,
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
    Set(Vec<Reply>),
    /// What was not asked for: it stands between replies, never inside one.
    Push(Vec<Reply>),
    Double(f64),
    Boolean(bool),
    /// The decimal digits of a whole number of any size.
    BigNumber(Bytes),
    /// A text for people, which says what it is written in.
    Verbatim {
        format: [u8; 3],
        text: Bytes,
    },
}

impl Reply {
    /// `+OK`.
    pub(crate) const OK: Self = Self::Simple(Bytes::from_static(b"OK"));

    /// An error of this text, which begins with its code word.
    pub(crate) fn error(text: impl Into<Bytes>) -> Self {
        Self::Error(text.into())
    }

    /// A single value.
    pub(crate) fn bulk(value: impl Into<Bytes>) -> Self {
        Self::Bulk(value.into())
    }

    /// About as many bytes as it is written in, and no fewer where texts are long.
    pub(crate) fn about_bytes(&self) -> usize {
        /// What stands around a value.
        const AROUND: usize = 24;
        let all = |items: &[Self]| items.iter().map(Self::about_bytes).sum::<usize>();
        AROUND
            + match self {
                Self::Simple(text) | Self::Error(text) | Self::Bulk(text) | Self::BigNumber(text) => {
                    text.len()
                }
                Self::Verbatim { text, .. } => text.len(),
                Self::Array(items) | Self::Set(items) | Self::Push(items) => all(items),
                Self::Map(pairs) => {
                    pairs.iter().map(|(key, value)| key.about_bytes() + value.about_bytes()).sum()
                }
                Self::Integer(_) | Self::Null | Self::NullArray | Self::Double(_) | Self::Boolean(_) => 0,
            }
    }

    /// Appends the reply's bytes to `out`.
    pub(crate) fn write(&self, out: &mut BytesMut, protocol: Protocol) {
        let is_old = protocol == Protocol::Resp2;
        match self {
            Self::Simple(text) => write_line(out, b'+', text),
            Self::Error(text) => write_line(out, b'-', text),
            Self::Integer(value) => write_number(out, b':', *value),
            Self::Bulk(value) => write_blob(out, b'$', &[value]),
            Self::Null if is_old => out.put_slice(b"$-1\r\n"),
            Self::NullArray if is_old => out.put_slice(b"*-1\r\n"),
            Self::Null | Self::NullArray => out.put_slice(b"_\r\n"),
            Self::Array(items) => write_all(out, b'*', items, protocol),
            Self::Set(items) => write_all(out, if is_old { b'*' } else { b'~' }, items, protocol),
            Self::Push(items) => write_all(out, if is_old { b'*' } else { b'>' }, items, protocol),
            Self::Map(pairs) => write_pairs(out, pairs, protocol),
            Self::Double(value) => write_text(out, b',', number_text(*value).as_bytes(), is_old),
            Self::BigNumber(digits) => write_text(out, b'(', digits, is_old),
            Self::Boolean(value) if is_old => write_number(out, b':', i64::from(*value)),
            Self::Boolean(true) => out.put_slice(b"#t\r\n"),
            Self::Boolean(false) => out.put_slice(b"#f\r\n"),
            Self::Verbatim { text, .. } if is_old => write_blob(out, b'$', &[text]),
            Self::Verbatim { format, text } => write_blob(out, b'=', &[format, b":", text]),
        }
    }
}

/// A line that is a value itself: a line end inside it would begin another reply.
fn write_line(out: &mut BytesMut, kind: u8, text: &[u8]) {
    out.put_u8(kind);
    out.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
    out.put_slice(b"\r\n");
}

/// A line of RESP3, a bulk in RESP2.
fn write_text(out: &mut BytesMut, kind: u8, text: &[u8], is_old: bool) {
    if is_old { write_blob(out, b'$', &[text]) } else { write_line(out, kind, text) }
}

/// A value of any bytes, given in pieces.
fn write_blob(out: &mut BytesMut, kind: u8, pieces: &[&[u8]]) {
    write_count(out, kind, pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        out.put_slice(piece);
    }
    out.put_slice(b"\r\n");
}

fn write_all(out: &mut BytesMut, kind: u8, items: &[Reply], protocol: Protocol) {
    write_count(out, kind, items.len());
    for item in items {
        item.write(out, protocol);
    }
}

fn write_pairs(out: &mut BytesMut, pairs: &[(Reply, Reply)], protocol: Protocol) {
    match protocol {
        Protocol::Resp2 => write_count(out, b'*', pairs.len() * 2),
        Protocol::Resp3 => write_count(out, b'%', pairs.len()),
    }
    for (name, value) in pairs {
        name.write(out, protocol);
        value.write(out, protocol);
    }
}

fn write_count(out: &mut BytesMut, kind: u8, count: usize) {
    write_number(out, kind, i64::try_from(count).expect("memory holds fewer than 2^63 bytes"));
}

fn write_number(out: &mut BytesMut, kind: u8, value: i64) {
    out.put_u8(kind);
    if value < 0 {
        out.put_u8(b'-');
    }
    // Decimal digits from the last on: 2^64 has twenty.
    let mut digits = [0_u8; 20];
    let mut rest = value.unsigned_abs();
    let mut length = 0;
    for (slot, count) in digits.iter_mut().rev().zip(1..) {
        *slot = b'0' + u8::try_from(rest % 10).expect("a digit is below ten");
        rest /= 10;
        length = count;
        if rest == 0 {
            break;
        }
    }
    out.put_slice(digits.get(digits.len() - length..).unwrap_or_default());
    out.put_slice(b"\r\n");
}

/// The shortest text that reads back as `value`, with an exponent where Valkey 9 writes one.
fn number_text(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() || size == 0.0 || (1e-6..1e20).contains(&size) {
        value.to_string()
    } else if size > 1.0 {
        format!("{value:e}").replace('e', "e+")
    } else {
        format!("{value:e}")
    }
}
