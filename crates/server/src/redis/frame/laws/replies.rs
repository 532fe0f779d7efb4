//! What must hold of replies, whatever they carry.
//!
//! Lives here: that a client reads what was written, and not one reply more. Not here: which reply a command
//! gives.

use bytes::{Bytes, BytesMut};

use super::reader::{Seen, read_all};
use super::requests::{Told, parts};
use crate::redis::frame::{Protocol, Reply};

/// Whatever a client sends may come back in a reply of any kind: it is read as the one reply that it is.
pub(super) fn check_replies(told: &Told) {
    for request in &told.requests {
        let (replies, [old, new]) = carrying(parts(request));
        for (protocol, wanted) in [(Protocol::Resp2, old), (Protocol::Resp3, new)] {
            assert_eq!(
                read(&Reply::Array(replies.clone()), protocol),
                Seen::List('*', wanted),
                "{protocol:?}"
            );
        }
    }
    if let Some(error) = told.error {
        let text = format!("ERR Protocol error: {error}").into_bytes();
        assert_eq!(read(&error.reply(), Protocol::Resp2), Seen::Error(text));
    }
}

/// Replies that carry these parts, and what a client sees of them in RESP2 and in RESP3.
fn carrying<'a>(parts: impl Iterator<Item = &'a [u8]>) -> (Vec<Reply>, [Vec<Seen>; 2]) {
    let (mut replies, mut old, mut new) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let (bytes, value, line) = (Bytes::copy_from_slice(part), part.to_vec(), line_of(part));
        let length = i64::try_from(part.len()).expect("inputs are short");
        let (number, bulk) = (Seen::Integer(-length), Seen::Bulk(value.clone()));
        for (reply, in_old, in_new) in [
            (Reply::Simple(bytes.clone()), Seen::Simple(line.clone()), Seen::Simple(line.clone())),
            (Reply::Error(bytes.clone()), Seen::Error(line.clone()), Seen::Error(line.clone())),
            (Reply::Bulk(bytes.clone()), bulk.clone(), bulk.clone()),
            (Reply::Integer(-length), number.clone(), number.clone()),
            (Reply::BigNumber(bytes.clone()), bulk.clone(), Seen::BigNumber(line)),
            (
                Reply::Verbatim { format: *b"txt", text: bytes.clone() },
                bulk.clone(),
                Seen::Verbatim([b"txt:", part].concat()),
            ),
            (
                Reply::Map(vec![(Reply::Bulk(bytes), Reply::Integer(-length))]),
                Seen::List('*', vec![bulk.clone(), number.clone()]),
                Seen::Map(vec![(bulk, number)]),
            ),
        ] {
            replies.push(reply);
            old.push(in_old);
            new.push(in_new);
        }
    }
    (replies, [old, new])
}

/// A text as it stands in a line.
fn line_of(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }).collect()
}

/// The one reply that its bytes are.
fn read(reply: &Reply, protocol: Protocol) -> Seen {
    let mut out = BytesMut::new();
    reply.write(&mut out, protocol);
    let mut seen = read_all(&out);
    assert_eq!(seen.len(), 1, "replies that one was written as");
    seen.remove(0)
}
