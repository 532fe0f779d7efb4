//! How much a client may send, at each bound and one past it.
//!
//! Lives here: counts and sizes before and after AUTH, and memory for what is only announced. Not here: other
//! faults of a frame (`malformed.rs`).

use bytes::BytesMut;
use naven_api::limits;

use super::pieces::{as_array, decode};
use crate::redis::frame::{Bounds, Decoder, ProtocolError, Stage};

/// How a decoder ends that is given nothing but `bytes`.
fn end(bounds: Bounds, bytes: impl AsRef<[u8]>) -> Option<ProtocolError> {
    decode(bounds, [bytes.as_ref()]).error
}

/// The line that announces `count` arguments.
fn count(count: usize) -> String {
    format!("*{count}\r\n")
}

/// A command's beginning that announces one argument of `bytes`.
fn length(bytes: usize) -> String {
    format!("*1\r\n${bytes}\r\n")
}

#[test]
fn arguments_are_counted_when_they_are_announced() {
    let most = limits::REDIS_ARGUMENTS_MAX;
    assert_eq!(end(Bounds::AFTER_AUTH, count(most)), None);
    assert_eq!(end(Bounds::AFTER_AUTH, count(most + 1)), Some(ProtocolError::ArgumentCount));
    assert_eq!(end(Bounds::BEFORE_AUTH, count(10)), None);
    assert_eq!(end(Bounds::BEFORE_AUTH, count(11)), Some(ProtocolError::ArgumentCountBeforeAuth));
    // Redis has its own bound first, and calls what is past it wrong rather than forbidden.
    assert_eq!(
        end(Bounds::BEFORE_AUTH, count(i32::MAX as usize)),
        Some(ProtocolError::ArgumentCountBeforeAuth)
    );
    assert_eq!(end(Bounds::BEFORE_AUTH, count(i32::MAX as usize + 1)), Some(ProtocolError::ArgumentCount));
}

#[test]
fn as_many_arguments_as_may_be_make_a_command() {
    let most = limits::REDIS_ARGUMENTS_MAX;
    let decoded = decode(Bounds::AFTER_AUTH, as_array(&vec!["a"; most]).chunks(4096));
    assert_eq!(decoded.error, None);
    assert_eq!(decoded.commands.iter().map(Vec::len).collect::<Vec<_>>(), [most]);
}

#[test]
fn an_argument_is_measured_when_it_is_announced() {
    let most = limits::REDIS_ARGUMENT_BYTES_MAX;
    assert_eq!(end(Bounds::AFTER_AUTH, length(most)), None);
    assert_eq!(end(Bounds::AFTER_AUTH, length(most + 1)), Some(ProtocolError::ArgumentLength));
    let most = 16 * 1024;
    assert_eq!(end(Bounds::BEFORE_AUTH, length(most)), None);
    assert_eq!(end(Bounds::BEFORE_AUTH, length(most + 1)), Some(ProtocolError::ArgumentLengthBeforeAuth));
    let most = 512 * 1024 * 1024;
    assert_eq!(end(Bounds::BEFORE_AUTH, length(most)), Some(ProtocolError::ArgumentLengthBeforeAuth));
    assert_eq!(end(Bounds::BEFORE_AUTH, length(most + 1)), Some(ProtocolError::ArgumentLength));
}

#[test]
fn a_command_is_measured_with_its_lengths_and_line_ends() {
    let command = as_array(&["ECHO", "abc", "de"]);
    let bounds = |command_bytes| Bounds { command_bytes, ..Bounds::AFTER_AUTH };
    assert_eq!(end(bounds(command.len()), &command), None);
    assert_eq!(end(bounds(command.len() - 1), &command), Some(ProtocolError::CommandTooBig));
    // Each command by itself: the bound is not used up.
    assert_eq!(end(bounds(command.len()), command.repeat(3)), None);
}

#[test]
fn the_whole_of_a_command_is_bounded_before_and_after_auth() {
    for (bounds, most) in [
        (Bounds::BEFORE_AUTH, limits::REDIS_COMMAND_BYTES_BEFORE_AUTH_MAX),
        (Bounds::AFTER_AUTH, limits::REDIS_COMMAND_BYTES_MAX),
    ] {
        let full = "a".repeat(bounds.argument_bytes);
        let fits = most / (full.len() + 20);
        assert!(fits < bounds.arguments, "the arguments alone would be the bound");
        assert_eq!(end(bounds, as_array(&vec![&full; fits])), None);
        let over = as_array(&vec![&full; fits + 1]);
        assert_eq!(end(bounds, over), Some(ProtocolError::CommandTooBig));
    }
}

#[test]
fn a_typed_line_is_bounded_with_and_without_its_end() {
    for (bounds, most) in [
        (Bounds::BEFORE_AUTH, limits::REDIS_ARGUMENT_BYTES_BEFORE_AUTH_MAX),
        (Bounds::AFTER_AUTH, limits::REDIS_INLINE_BYTES_MAX),
    ] {
        for line_end in ["", "\n"] {
            assert_eq!(end(bounds, "a".repeat(most) + line_end), None, "{most} and {line_end:?}");
            let over = "a".repeat(most + 1) + line_end;
            assert_eq!(end(bounds, over), Some(ProtocolError::InlineTooBig), "{most} and {line_end:?}");
        }
        assert!(bounds.inline_bytes <= bounds.argument_bytes.min(bounds.command_bytes));
    }
}

#[test]
fn words_of_a_typed_line_are_counted_like_arguments() {
    assert_eq!(end(Bounds::BEFORE_AUTH, "a ".repeat(10) + "\n"), None);
    assert_eq!(
        end(Bounds::BEFORE_AUTH, "a ".repeat(11) + "\n"),
        Some(ProtocolError::ArgumentCountBeforeAuth)
    );
    let bounds = Bounds { stage: Stage::AfterAuth, ..Bounds::BEFORE_AUTH };
    assert_eq!(end(bounds, "a ".repeat(11) + "\n"), Some(ProtocolError::ArgumentCount));
}

#[test]
fn wider_bounds_hold_from_the_next_command_on() {
    let mut decoder = Decoder::new(Bounds::BEFORE_AUTH);
    let mut bytes = as_array(&["AUTH", "key"]);
    bytes.extend_from_slice(&as_array(&["a"; 11]));
    let mut buffer = BytesMut::from(&bytes[..]);
    let auth = decoder.decode(&mut buffer).expect("small").expect("whole");
    assert_eq!(auth.name(), b"AUTH");
    decoder.set_bounds(Bounds::AFTER_AUTH);
    let large = decoder.decode(&mut buffer).expect("within the new bounds").expect("whole");
    assert_eq!(large.count(), 11);
    decoder.set_bounds(Bounds::BEFORE_AUTH);
    buffer.extend_from_slice(b"*11\r\n");
    assert_eq!(decoder.decode(&mut buffer), Err(ProtocolError::ArgumentCountBeforeAuth));
}

#[test]
fn nothing_is_allocated_for_what_is_only_announced() {
    let mut decoder = Decoder::new(Bounds::AFTER_AUTH);
    let announced =
        [count(limits::REDIS_ARGUMENTS_MAX), format!("${}\r\n", limits::REDIS_ARGUMENT_BYTES_MAX)];
    let mut buffer = BytesMut::from(announced.concat().as_bytes());
    assert_eq!(decoder.decode(&mut buffer), Ok(None));
    assert!(buffer.capacity() < 128, "{} bytes for an announced argument", buffer.capacity());
    assert!(decoder.parts_capacity() < 128, "room for {} announced arguments", decoder.parts_capacity());
}

#[test]
fn a_large_command_leaves_no_large_buffer_behind() {
    let large = as_array(&["ECHO".to_owned(), "a".repeat(1024 * 1024)]);
    for after in [&b""[..], b"*1\r\n"] {
        let mut buffer = BytesMut::with_capacity(4 * large.len());
        buffer.extend_from_slice(&large);
        buffer.extend_from_slice(after);
        let request = Decoder::new(Bounds::AFTER_AUTH).decode(&mut buffer).expect("good");
        drop(request.expect("whole"));
        // Asking for room shows what memory the buffer still holds: what it shared comes back to it.
        buffer.reserve(1024);
        let kept = buffer.capacity();
        assert!(kept <= limits::REDIS_KEPT_BUFFER_BYTES, "{kept} bytes are kept");
        assert_eq!(buffer, after);
    }
}
