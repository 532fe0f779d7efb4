//! What decoding costs, counted in looks at bytes.
//!
//! Lives here: the law that no way of sending makes the decoder look at a byte more than a few times. Not
//! here: how long that takes.

use bytes::BytesMut;

use super::pieces::as_array;
use crate::redis::frame::{Bounds, Decoder};

/// Bytes that the decoder looks at when `bytes` come in pieces of `piece_bytes`, whatever becomes of them.
/// After every piece it is asked until it asks for more.
fn looks(bytes: &[u8], piece_bytes: usize) -> usize {
    let mut decoder = Decoder::new(Bounds::AFTER_AUTH);
    let mut buffer = BytesMut::new();
    for piece in bytes.chunks(piece_bytes) {
        buffer.extend_from_slice(piece);
        while let Ok(Some(_)) = decoder.decode(&mut buffer) {}
    }
    decoder.looks
}

#[test]
fn bytes_that_come_one_by_one_are_looked_at_a_few_times_each() {
    let frames = [
        as_array(&["ECHO".to_owned(), "a".repeat(100_000)]),
        as_array(&vec!["a"; 20_000]),
        as_array(&["PING"]).repeat(5_000),
        [&[b'a'; 60_000][..], b"\n"].concat(),
        [b'a'; 65_536].to_vec(),
        b"PING a \"b\\x41\" 'c'\r\n".repeat(3_000),
        b"\r\n".repeat(30_000),
        b"*0\r\n".repeat(15_000),
        b"*1".to_vec(),
    ];
    for frame in frames {
        for piece_bytes in [1, 2, 7, frame.len()] {
            let looks = looks(&frame, piece_bytes);
            let shown = frame.get(..20).unwrap_or(&frame).escape_ascii();
            // One to find the end of a line, one to read it, one more where a line feed is waited for.
            assert!(looks <= 3 * frame.len(), "{looks} looks at {} bytes: {shown}", frame.len());
        }
    }
}

#[test]
fn an_argument_on_its_way_is_not_looked_at() {
    let frame = as_array(&["ECHO".to_owned(), "\r\n".repeat(50_000)]);
    assert!(looks(&frame, 1) < 100);
}

#[test]
fn a_buffer_is_kept_but_where_a_large_command_left_it() {
    let echo = |bytes: usize| as_array(&["ECHO".to_owned(), "a".repeat(bytes)]);
    let kept = naven_api::limits::REDIS_KEPT_BUFFER_BYTES;
    // How much a buffer of so many bytes of room has afterwards, with the first byte of a next command in it.
    let left = |frame: &[u8], room: usize| {
        let mut decoder = Decoder::new(Bounds::AFTER_AUTH);
        let mut buffer = BytesMut::with_capacity(room);
        buffer.extend_from_slice(frame);
        buffer.extend_from_slice(b"*");
        assert!(matches!(decoder.decode(&mut buffer), Ok(Some(_))));
        assert_eq!(&buffer[..], b"*");
        buffer.capacity()
    };
    assert!(left(&echo(100), 8_192) > 4_096, "room for the next is there");
    assert!(left(&echo(2 * kept), 8 * kept) < 64, "an idle connection keeps nothing");
}
