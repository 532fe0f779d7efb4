//! Frames that are no commands: what is said of each, cut at every byte.
//!
//! Lives here: a table of bad frames with the replies of Valkey 9.1.2, and of ours where Valkey says nothing.
//! Not here: the sizes at which a bound is met (`bounded.rs`).

use bytes::BytesMut;

use super::pieces::decode;
use crate::redis::frame::{Bounds, Decoder, Protocol, ProtocolError};

const COUNT: &str = "invalid multibulk length";
const LENGTH: &str = "invalid bulk length";
const LINE_END: &str = "invalid CRLF in request";
const QUOTES: &str = "unbalanced quotes in request";

const BAD: [(&[u8], &str); 48] = [
    (b"*5555555555555555555\r\n", COUNT),
    (b"*99999999999999999999999999\r\n", COUNT),
    (b"*2147483648\r\n", COUNT),
    (b"*x\r\n", COUNT),
    (b"*\r\n", COUNT),
    (b"*+1\r\n", COUNT),
    (b"*01\r\n", COUNT),
    (b"* 1\r\n", COUNT),
    (b"*1 \r\n", COUNT),
    (b"*1\n$4\r\n", COUNT),
    (b"*-0\r\n", COUNT),
    // Redis passes over these as over *0.
    (b"*-5\r\n", COUNT),
    (b"*-2\r\n", COUNT),
    (b"*1111111111111111111111", COUNT),
    (b"*1\r\n$-1\r\n", LENGTH),
    (b"*1\r\n$-2\r\n", LENGTH),
    (b"*1\r\n$x\r\n", LENGTH),
    (b"*1\r\n$\r\n", LENGTH),
    (b"*1\r\n$+4\r\n", LENGTH),
    (b"*1\r\n$04\r\n", LENGTH),
    (b"*1\r\n$4 \r\n", LENGTH),
    (b"*1\r\n$9223372036854775807\r\n", LENGTH),
    (b"*1\r\n$9223372036854775808\r\n", LENGTH),
    (b"*1\r\n$536870913\r\n", LENGTH),
    (b"*1\r\n$1111111111111111111111", LENGTH),
    (b"*1\r\n:5\r\n", "expected '$', got ':'"),
    (b"*1\r\n+OK\r\n", "expected '$', got '+'"),
    (b"*1\r\n*1\r\n*1\r\n", "expected '$', got '*'"),
    (b"*1\r\n\r\n", "expected '$', got ' '"),
    (b"*2\r\n$4\r\nPING\r\n\xff", "expected '$', got '?'"),
    (b"*1\r\n\0", "expected '$', got '?'"),
    (b"$5\r\nhello\r\n", "expected '*', got '$'"),
    (b"*1\rX", LINE_END),
    (b"*1\r\r\n", LINE_END),
    (b"*1\r\n$4\rX", LINE_END),
    (b"*1\r\n$4\r\nPINGxx*1\r\n", LINE_END),
    (b"*1\r\n$4\r\nPING\n\r", LINE_END),
    (b"*1\r\n$3\r\nPING\r\n", LINE_END),
    (b"ECHO \"a\r\n", QUOTES),
    (b"ECHO 'a\r\n", QUOTES),
    (b"ECHO a\"b\r\n", QUOTES),
    (b"ECHO \"a\\\"\n", QUOTES),
    (b"ECHO \"a\\\n", QUOTES),
    (b"PING\0\r\n", "zero byte in inline request"),
    (b"\0", "zero byte in inline request"),
    (b"GET / HTTP/1.1\r\n", "HTTP request where a Redis command was expected"),
    (b"  post /\r\n", "HTTP request where a Redis command was expected"),
    (b"Host: x\r\n", "HTTP request where a Redis command was expected"),
];

/// The bytes that an error is answered.
fn reply(error: ProtocolError) -> BytesMut {
    let mut out = BytesMut::new();
    error.reply().write(&mut out, Protocol::Resp2);
    out
}

#[test]
fn bad_frames_are_refused_in_redis_words_however_they_are_cut_in_two() {
    for bounds in [Bounds::AFTER_AUTH, Bounds::BEFORE_AUTH] {
        for (bytes, wanted) in BAD {
            let wanted = format!("-ERR Protocol error: {wanted}\r\n");
            for at in 0..=bytes.len() {
                let (head, tail) = bytes.split_at(at);
                let error = decode(bounds, [head, tail]).error;
                let error = error.unwrap_or_else(|| panic!("{} is taken", bytes.escape_ascii()));
                assert_eq!(reply(error), wanted, "{} cut at {at}", bytes.escape_ascii());
            }
        }
    }
}

#[test]
fn what_came_before_a_bad_frame_is_still_run() {
    let decoded = decode(Bounds::AFTER_AUTH, [&b"PING\r\n*1\r\n$4\r\nPING\r\n*x\r\nPING\r\n"[..]]);
    assert_eq!(decoded.commands.len(), 2);
    assert_eq!(decoded.error, Some(ProtocolError::ArgumentCount));
}

#[test]
fn after_an_error_nothing_is_read_any_more() {
    let mut decoder = Decoder::new(Bounds::AFTER_AUTH);
    let mut buffer = BytesMut::from(&b"*x\r\n"[..]);
    assert_eq!(decoder.decode(&mut buffer), Err(ProtocolError::ArgumentCount));
    for more in [&b""[..], b"PING\r\n", b"*1\r\n$4\r\nPING\r\n"] {
        buffer = BytesMut::from(more);
        assert_eq!(decoder.decode(&mut buffer), Err(ProtocolError::ArgumentCount));
        assert_eq!(buffer, more);
    }
}
