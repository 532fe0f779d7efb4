//! The two names of a queue that a reader of a stream made: among that stream's queues, and among all.
//!
//! Lives here: how one is made from the other. Not here: finding the queue (the engines).

use std::fmt::Write;

use bytes::Bytes;

/// The name among all queues of what is called `group` on `stream`: both names, percent-encoded but for
/// `A-Z a-z 0-9 . _ - :`, with a slash between.
pub fn group_queue_name(stream: &[u8], group: &[u8]) -> String {
    let mut name = String::with_capacity(stream.len() + group.len() + 1);
    encode(&mut name, stream);
    name.push('/');
    encode(&mut name, group);
    name
}

/// The stream's name and the queue's among those of the stream, where `name` is made of them.
pub fn stream_and_group(name: &str) -> Option<(Bytes, Bytes)> {
    let (stream, group) = name.split_once('/')?;
    Some((decode(stream.as_bytes()).into(), decode(group.as_bytes()).into()))
}

/// The name among the queues of its stream of the queue that is called `name` among all.
pub fn group_name(name: &str) -> Bytes {
    stream_and_group(name).map_or_else(|| Bytes::copy_from_slice(name.as_bytes()), |(_, group)| group)
}

fn encode(out: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b':' => out.push(byte.into()),
            _ => write!(out, "%{byte:02X}").expect("a String takes every text"),
        }
    }
}

fn decode(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = if first == b'%' { behind.get(..2) } else { None };
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_comes_back_from_its_queues_name() {
        for (stream, group, name) in [
            (&b"factory:events"[..], &b"worker-mail"[..], "factory:events/worker-mail"),
            (b"a/b", b"c d%", "a%2Fb/c%20d%25"),
            (b"", b"\xff\0", "/%FF%00"),
        ] {
            assert_eq!(group_queue_name(stream, group), name);
            assert_eq!(group_name(name), group);
            let parts = stream_and_group(name).expect("it has a slash");
            assert_eq!((&parts.0[..], &parts.1[..]), (stream, group));
        }
        assert_eq!((group_name("mail"), stream_and_group("mail")), (Bytes::from_static(b"mail"), None));
    }
}
