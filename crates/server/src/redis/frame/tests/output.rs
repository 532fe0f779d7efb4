//! The account of what a client has not read.
//!
//! Lives here: when a connection is held back, and what it keeps when it rests. Not here: the bytes of replies
//! (`replies.rs`).

use std::time::Duration;

use bytes::Bytes;
use naven_api::limits;

use crate::redis::frame::{Output, Protocol, Reply};
use crate::room::Room;

/// A reply of `bytes` on the wire.
fn reply_of(bytes: usize) -> Reply {
    Reply::Simple(Bytes::from(vec![b'a'; bytes - 3]))
}

#[test]
fn what_is_pushed_is_pending_in_order_until_it_is_sent() {
    let mut output = Output::new(1_000);
    assert_eq!((output.pending_bytes(), output.unsent()), (0, &b""[..]));
    output.push(&Reply::OK);
    output.push(&Reply::Integer(7));
    assert_eq!((output.pending_bytes(), output.unsent()), (9, &b"+OK\r\n:7\r\n"[..]));
    output.sent(3);
    output.push(&Reply::Null);
    assert_eq!((output.pending_bytes(), output.unsent()), (11, &b"\r\n:7\r\n$-1\r\n"[..]));
    output.sent(11);
    assert_eq!(output.pending_bytes(), 0);
}

#[test]
fn a_change_of_protocol_holds_for_the_replies_after_it() {
    let mut output = Output::new(1_000);
    assert_eq!(output.protocol(), Protocol::Resp2);
    output.push(&Reply::Null);
    output.speak(Protocol::Resp3);
    output.push(&Reply::Null);
    assert_eq!(output.protocol(), Protocol::Resp3);
    assert_eq!(output.unsent(), b"$-1\r\n_\r\n");
}

#[test]
fn a_connection_is_held_back_at_the_bound_and_goes_on_at_half_of_it() {
    let mut output = Output::new(100);
    output.push(&reply_of(99));
    assert!(!output.is_holding_back());
    output.sent(89);
    output.push(&reply_of(90));
    assert_eq!(output.pending_bytes(), 100);
    assert!(output.is_holding_back());
    output.sent(49);
    assert!(output.is_holding_back(), "51 are left");
    // A reply that was under way when the bound was met.
    output.push(&reply_of(10));
    assert!(output.is_holding_back(), "61 are left");
    output.sent(10);
    assert!(output.is_holding_back(), "51 are left");
    output.sent(1);
    assert!(!output.is_holding_back(), "50 are left");
    output.push(&reply_of(49));
    assert!(!output.is_holding_back(), "99 are pending again");
}

#[test]
fn one_reply_past_the_bound_is_kept_whole() {
    let mut output = Output::new(100);
    output.push(&reply_of(5_000));
    assert_eq!(output.pending_bytes(), 5_000);
    assert!(output.is_holding_back());
    output.sent(5_000);
    assert!(!output.is_holding_back());
}

#[test]
fn a_large_reply_leaves_no_large_buffer_behind() {
    let kept = limits::REDIS_KEPT_BUFFER_BYTES;
    let mut output = Output::new(limits::REDIS_UNREAD_BYTES_MAX);
    for bytes in [kept / 2, kept * 16, kept / 2, kept * 16] {
        output.push(&reply_of(bytes));
        output.sent(bytes / 2);
        output.sent(bytes - bytes / 2);
        // A next reply shows what the buffer has room for without asking for more.
        output.push(&Reply::OK);
        assert!(output.buffer_bytes() <= kept, "{} bytes are kept", output.buffer_bytes());
        output.sent(5);
    }
}

#[tokio::test]
async fn room_of_large_replies_is_held_until_all_has_been_sent() {
    let kept = limits::REDIS_KEPT_BUFFER_BYTES;
    let room = Room::of(16 * kept);
    let mut output = Output::new(limits::REDIS_UNREAD_BYTES_MAX);
    for bytes in [4 * kept, 2 * kept] {
        // More than it turns out to need.
        let taken = room.take(8 * kept, Duration::ZERO).await.expect("nobody else takes any");
        output.push_large(&reply_of(bytes), taken);
        assert!(output.has_room());
    }
    assert_eq!(output.pending_bytes(), 6 * kept);
    assert!(room.take(11 * kept, Duration::ZERO).await.is_none(), "six of sixteen are held");
    assert!(room.take(9 * kept, Duration::ZERO).await.is_some(), "and no more");
    output.sent(6 * kept - 1);
    assert!(output.has_room());
    output.sent(1);
    assert!(!output.has_room());
    assert!(room.take(16 * kept, Duration::ZERO).await.is_some());
    output.push(&reply_of(4 * kept));
    assert!(!output.has_room(), "nothing was taken for it");
}
