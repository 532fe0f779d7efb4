//! Replies as bytes, in both protocols.
//!
//! Lives here: a table of bytes as Valkey 9.1.2 sends them, and any reply read back. Not here: the reader
//! (`laws/reader.rs`).

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use crate::redis::frame::laws::{Seen, read_all};
use crate::redis::frame::{Protocol, Reply};

fn written(reply: &Reply, protocol: Protocol) -> Vec<u8> {
    let mut out = BytesMut::new();
    reply.write(&mut out, protocol);
    out.to_vec()
}

fn simple(text: &'static str) -> Reply {
    Reply::Simple(Bytes::from_static(text.as_bytes()))
}

#[test]
fn every_kind_of_reply_is_written_as_valkey_writes_it() {
    let numbers = || vec![Reply::Integer(0), Reply::Integer(1)];
    let digits = "1234567999999999999999999999999999999";
    for (reply, old, new) in [
        (Reply::OK, "+OK\r\n", "+OK\r\n"),
        (simple("a\r\nb"), "+a  b\r\n", "+a  b\r\n"),
        (Reply::error("ERR no\nway\r"), "-ERR no way \r\n", "-ERR no way \r\n"),
        (Reply::Integer(12345), ":12345\r\n", ":12345\r\n"),
        (Reply::Integer(0), ":0\r\n", ":0\r\n"),
        (Reply::Integer(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"),
        (Reply::Integer(i64::MAX), ":9223372036854775807\r\n", ":9223372036854775807\r\n"),
        (Reply::bulk("Hello World"), "$11\r\nHello World\r\n", "$11\r\nHello World\r\n"),
        (Reply::bulk("a\r\nb"), "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"),
        (Reply::bulk(""), "$0\r\n\r\n", "$0\r\n\r\n"),
        (Reply::Null, "$-1\r\n", "_\r\n"),
        (Reply::NullArray, "*-1\r\n", "_\r\n"),
        (Reply::Array(Vec::new()), "*0\r\n", "*0\r\n"),
        (Reply::Array(numbers()), "*2\r\n:0\r\n:1\r\n", "*2\r\n:0\r\n:1\r\n"),
        (Reply::Set(numbers()), "*2\r\n:0\r\n:1\r\n", "~2\r\n:0\r\n:1\r\n"),
        (Reply::Push(numbers()), "*2\r\n:0\r\n:1\r\n", ">2\r\n:0\r\n:1\r\n"),
        (Reply::Map(Vec::new()), "*0\r\n", "%0\r\n"),
        (
            Reply::Map(vec![(Reply::bulk("a"), Reply::Null), (Reply::bulk("b"), Reply::Boolean(true))]),
            "*4\r\n$1\r\na\r\n$-1\r\n$1\r\nb\r\n:1\r\n",
            "%2\r\n$1\r\na\r\n_\r\n$1\r\nb\r\n#t\r\n",
        ),
        (Reply::Boolean(true), ":1\r\n", "#t\r\n"),
        (Reply::Boolean(false), ":0\r\n", "#f\r\n"),
        (Reply::Double(2.125), "$5\r\n2.125\r\n", ",2.125\r\n"),
        (
            Reply::BigNumber(Bytes::from_static(digits.as_bytes())),
            &format!("$37\r\n{digits}\r\n"),
            &format!("({digits}\r\n"),
        ),
        (
            Reply::Verbatim { format: *b"txt", text: Bytes::from_static(b"a\nb") },
            "$3\r\na\nb\r\n",
            "=7\r\ntxt:a\nb\r\n",
        ),
    ] {
        assert_eq!(written(&reply, Protocol::Resp2), old.as_bytes(), "{reply:?}");
        assert_eq!(written(&reply, Protocol::Resp3), new.as_bytes(), "{reply:?}");
    }
}

#[test]
fn doubles_are_written_as_valkey_writes_them() {
    for (value, wanted) in [
        (1.0, "1"),
        (1.5, "1.5"),
        (-100.0, "-100"),
        (0.0, "0"),
        (1e17, "100000000000000000"),
        (1e20, "1e+20"),
        (1e300, "1e+300"),
        (0.000_001, "0.000001"),
        (1e-7, "1e-7"),
        (-3e-10, "-3e-10"),
        (0.300_000_000_000_000_04, "0.30000000000000004"),
        (123_456_789_012_345_680.0, "123456789012345680"),
        (1_234_567.125, "1234567.125"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN, "nan"),
    ] {
        let text = String::from_utf8(written(&Reply::Double(value), Protocol::Resp3)).expect("text");
        assert_eq!(text, format!(",{wanted}\r\n"));
    }
}

/// What a client sees of `reply`.
fn seen(reply: &Reply, protocol: Protocol) -> Seen {
    let is_old = protocol == Protocol::Resp2;
    let line =
        |text: &Bytes| text.iter().map(|byte| if b"\r\n".contains(byte) { b' ' } else { *byte }).collect();
    let all = |items: &[Reply]| items.iter().map(|item| seen(item, protocol)).collect::<Vec<_>>();
    match reply {
        Reply::Simple(text) => Seen::Simple(line(text)),
        Reply::Error(text) => Seen::Error(line(text)),
        Reply::Integer(value) => Seen::Integer(*value),
        Reply::Bulk(value) => Seen::Bulk(value.to_vec()),
        Reply::Null => Seen::Null(if is_old { "$-1" } else { "_" }),
        Reply::NullArray => Seen::Null(if is_old { "*-1" } else { "_" }),
        Reply::Array(items) => Seen::List('*', all(items)),
        Reply::Set(items) => Seen::List(if is_old { '*' } else { '~' }, all(items)),
        Reply::Push(items) => Seen::List(if is_old { '*' } else { '>' }, all(items)),
        Reply::Map(pairs) if is_old => {
            let flat = pairs.iter().flat_map(|(name, value)| [seen(name, protocol), seen(value, protocol)]);
            Seen::List('*', flat.collect())
        }
        Reply::Map(pairs) => Seen::Map(
            pairs.iter().map(|(name, value)| (seen(name, protocol), seen(value, protocol))).collect(),
        ),
        Reply::Double(value) if is_old => Seen::Bulk(value.to_string().into_bytes()),
        Reply::Double(value) => Seen::Double(value.to_string()),
        Reply::Boolean(value) if is_old => Seen::Integer(i64::from(*value)),
        Reply::Boolean(value) => Seen::Boolean(*value),
        Reply::BigNumber(digits) if is_old => Seen::Bulk(digits.to_vec()),
        Reply::BigNumber(digits) => Seen::BigNumber(digits.to_vec()),
        Reply::Verbatim { text, .. } if is_old => Seen::Bulk(text.to_vec()),
        Reply::Verbatim { format, text } => Seen::Verbatim([&format[..], b":", text].concat()),
    }
}

fn any_bytes() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..12).prop_map(Bytes::from)
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let leaf = prop_oneof![
        any_bytes().prop_map(Reply::Simple),
        any_bytes().prop_map(Reply::Error),
        any::<i64>().prop_map(Reply::Integer),
        any_bytes().prop_map(Reply::Bulk),
        Just(Reply::Null),
        Just(Reply::NullArray),
        // Those whose shortest text has no exponent: the others are in the table.
        (-1_000_000_i32..1_000_000).prop_map(|value| Reply::Double(f64::from(value) / 64.0)),
        any::<bool>().prop_map(Reply::Boolean),
        "-?[1-9][0-9]{0,40}".prop_map(|digits| Reply::BigNumber(Bytes::from(digits))),
        any_bytes().prop_map(|text| Reply::Verbatim { format: *b"txt", text }),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let items = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            items().prop_map(Reply::Array),
            items().prop_map(Reply::Set),
            items().prop_map(Reply::Push),
            prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Reply::Map),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_replies_are_read_back_as_they_were_written(replies in prop::collection::vec(any_reply(), 0..5)) {
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let mut out = BytesMut::new();
            for reply in &replies {
                reply.write(&mut out, protocol);
            }
            let wanted: Vec<Seen> = replies.iter().map(|reply| seen(reply, protocol)).collect();
            prop_assert_eq!(read_all(&out), wanted);
        }
    }

    #[test]
    fn what_a_reply_is_said_to_need_is_near_what_it_is_written_in(reply in any_reply()) {
        let mut out = BytesMut::new();
        reply.write(&mut out, Protocol::Resp3);
        let (about, bytes) = (reply.about_bytes(), out.len());
        prop_assert!((1..=24 * bytes).contains(&about), "{} for {} bytes", about, bytes);
        // What there is for its texts is there.
        prop_assert!(bytes <= about + about / 2 + 24, "{} for {} bytes", about, bytes);
    }
}

#[test]
fn what_a_reply_is_said_to_need_counts_all_that_is_in_it() {
    let value = || Reply::bulk("a".repeat(100));
    assert_eq!(value().about_bytes(), 124);
    assert_eq!(Reply::Integer(1).about_bytes(), 24);
    assert_eq!(Reply::Array(vec![value(), value()]).about_bytes(), 24 + 2 * 124);
    let pairs = Reply::Map(vec![(Reply::Integer(1), value()), (value(), Reply::Null)]);
    assert_eq!(pairs.about_bytes(), 24 + 2 * (24 + 124));
}
