//! Frames that are commands, cut at every byte.
//!
//! Lives here: a table of good frames, pipelines, and whose memory an argument is. Not here: typed lines
//! (`typed.rs`).

use bytes::BytesMut;

use super::pieces::{as_array, decode};
use crate::redis::frame::{Bounds, Decoder};

/// Bytes, and the commands in them.
const FRAMES: [(&[u8], &[&[&str]]); 12] = [
    (b"", &[]),
    (b"*1\r\n$4\r\nPING\r\n", &[&["PING"]]),
    (b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", &[&["ECHO", ""]]),
    (b"*1\r\n$0\r\n\r\n", &[&[""]]),
    (b"*2\r\n$4\r\nECHO\r\n$6\r\na\r\n\0*1\r\n", &[&["ECHO", "a\r\n\0*1"]]),
    (b"*2\r\n$4\r\nECHO\r\n$10\r\n$1\r\nx\r\n\0\0\0\r\n", &[&["ECHO", "$1\r\nx\r\n\0\0\0"]]),
    (b"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n", &[&["PING"], &["QUIT"]]),
    // Commands of nothing are passed over.
    (b"*0\r\n", &[]),
    (b"*-1\r\n", &[]),
    (b"*0\r\n\r\n*-1\r\n*1\r\n$4\r\nPING\r\n", &[&["PING"]]),
    // Typed commands and arrays take turns.
    (b"PING\r\n*1\r\n$4\r\nPING\r\nQUIT\n", &[&["PING"], &["PING"], &["QUIT"]]),
    // Arrays do not nest, so an unfinished one is not a command yet.
    (b"*2\r\n$4\r\nECHO\r\n$3\r\nab", &[]),
];

#[test]
fn good_frames_are_commands_however_they_are_cut_in_two() {
    for (bytes, wanted) in FRAMES {
        let wanted: Vec<Vec<Vec<u8>>> = wanted
            .iter()
            .map(|command| command.iter().map(|part| part.as_bytes().to_vec()).collect())
            .collect();
        for at in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(at);
            let decoded = decode(Bounds::AFTER_AUTH, [head, tail]);
            assert_eq!(decoded.error, None, "{} cut at {at}", bytes.escape_ascii());
            assert_eq!(decoded.commands, wanted, "{} cut at {at}", bytes.escape_ascii());
        }
    }
}

#[test]
fn a_command_comes_with_its_last_byte_and_not_before() {
    let bytes = b"*3\r\n$4\r\nXLEN\r\n$1\r\ns\r\n$2\r\n\r\n\r\n";
    for at in 0..bytes.len() {
        assert_eq!(decode(Bounds::AFTER_AUTH, [&bytes[..at]]).commands.len(), 0, "cut at {at}");
    }
    assert_eq!(decode(Bounds::AFTER_AUTH, [&bytes[..]]).commands.len(), 1);
}

#[test]
fn arguments_are_views_of_what_was_read() {
    for bytes in [as_array(&["ECHO", "a long argument"]), b"ECHO alongargument\r\n".to_vec()] {
        let mut buffer = BytesMut::from(&bytes[..]);
        let memory = buffer.as_ptr_range();
        let request = Decoder::new(Bounds::AFTER_AUTH).decode(&mut buffer).expect("good").expect("whole");
        assert_eq!(request.count(), 2);
        for part in request.into_parts() {
            assert!(memory.contains(&part.as_ptr()), "{part:?} was copied");
        }
    }
}

#[test]
fn a_request_is_a_name_and_arguments() {
    let mut buffer = BytesMut::from(&b"*3\r\n$4\r\nXDel\r\n$1\r\ns\r\n$3\r\n1-1\r\n"[..]);
    let request = Decoder::new(Bounds::AFTER_AUTH).decode(&mut buffer).expect("good").expect("whole");
    assert_eq!(request.name(), b"XDel");
    assert_eq!(request.arguments(), [&b"s"[..], b"1-1"]);
    assert_eq!(request.count(), 3);
}
