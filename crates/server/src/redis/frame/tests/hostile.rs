//! What a stranger sends to bring a server down (field case FC-22).
//!
//! Lives here: the case's inputs before AUTH, and that each ends the connection. Not here: sockets, closing
//! and the bound on silence, which are the connection's.

use super::pieces::{Decoded, decode};
use crate::redis::frame::Bounds;

fn strangers(bytes: &[u8]) -> Decoded {
    // In pieces of a socket's reads, so that the end is met on the way and not at the end.
    decode(Bounds::BEFORE_AUTH, bytes.chunks(16 * 1024))
}

#[test]
fn fc22_every_hostile_frame_is_a_protocol_error() {
    let announced = [
        &b"*5555555555555555555\r\n"[..],
        b"*-5\r\n",
        b"*1048577\r\n",
        b"*1\r\n$9223372036854775807\r\n",
        b"*1\r\n$-2\r\n",
        b"$5\r\nhello\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ];
    let endless = vec![b'a'; 1024 * 1024];
    let nested = b"*1\r\n".repeat(10_000);
    for bytes in announced.into_iter().chain([&endless[..], &nested]) {
        let decoded = strangers(bytes);
        let shown = bytes.get(..40).unwrap_or(bytes).escape_ascii();
        assert!(decoded.error.is_some(), "{shown} goes on");
        assert_eq!(decoded.commands.len(), 0, "{shown}");
    }
}

#[test]
fn fc22_an_unfinished_command_is_waited_for() {
    let decoded = strangers(b"*2\r\n$4\r\nPING\r\n");
    assert_eq!(decoded, Decoded { commands: Vec::new(), error: None });
}

#[test]
fn fc22_random_bytes_end_in_a_protocol_error() {
    let mut state = 22_u64;
    for _ in 0..200 {
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
        .take(4096)
        .collect();
        // A zero byte, a quote or a star ends it: among 4,096 bytes there is always one.
        assert!(strangers(&bytes).error.is_some(), "{}", bytes.escape_ascii());
    }
}
