//! What must hold of commands, whatever a client sends.
//!
//! Lives here: bounds, memory, cost, the end after a breach, and that a command written anew is read as itself.
//! Not here: the decoder (`decode.rs`), and inputs (`case.rs`).

use bytes::BytesMut;

use super::case::Held;
use crate::redis::frame::{Bounds, Decoder, ProtocolError, Request};

/// Room that a buffer may have beyond twice what has come, in bytes.
const SPARE_BYTES: usize = 1024;
/// Fewest bytes of an argument on the wire: `$0`, and two line ends.
const ARGUMENT_BYTES_MIN: usize = 6;
/// Arguments that there may be room for at first.
const SPARE_PARTS: usize = 4;
/// Most looks at a byte: to find the end of a line, to read it, and where a line feed is waited for.
const LOOKS_MAX: usize = 3;

/// What a decoder made of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) requests: Vec<Request>,
    /// How it ended, if not by asking for more.
    pub(super) error: Option<ProtocolError>,
    /// Bytes that wait for more of their command; none after an error.
    waiting: Vec<u8>,
}

/// Gives `pieces` to a decoder one by one, which is asked for commands until it asks for more.
pub(super) fn told<'a>(held: Held, pieces: impl Iterator<Item = &'a [u8]>) -> Told {
    let mut bounds = match held {
        Held::To(bounds) => bounds,
        Held::AsItSpeaks => Bounds::BEFORE_AUTH,
    };
    let (mut decoder, mut buffer) = (Decoder::new(bounds), BytesMut::new());
    let (mut requests, mut come) = (Vec::new(), 0);
    for piece in pieces {
        buffer.extend_from_slice(piece);
        come += piece.len();
        loop {
            let before = buffer.len();
            let decoded = decoder.decode(&mut buffer);
            check_memory(&mut decoder, &buffer, come);
            match decoded {
                Ok(Some(request)) => {
                    assert!(buffer.len() < before, "a command of no bytes");
                    check_bounds(&request, bounds);
                    bounds = bounds_after(held, bounds, &request);
                    decoder.set_bounds(bounds);
                    requests.push(request);
                }
                Ok(None) => break,
                Err(error) => {
                    check_end(&mut decoder, &mut buffer, error);
                    return Told { requests, error: Some(error), waiting: Vec::new() };
                }
            }
        }
    }
    Told { requests, error: None, waiting: buffer.to_vec() }
}

/// Written anew as an array, every command is read as itself.
pub(super) fn check_requests(told: &Told) {
    let mut written = BytesMut::new();
    for request in &told.requests {
        write(request, &mut written);
    }
    let again = self::told(Held::To(Bounds::AFTER_AUTH), std::iter::once(&written[..]));
    assert_eq!(again.requests, told.requests, "written anew");
    assert_eq!((again.error, again.waiting), (None, Vec::new()), "written anew");
}

fn write(request: &Request, out: &mut BytesMut) {
    out.extend_from_slice(format!("*{}\r\n", request.count()).as_bytes());
    for part in parts(request) {
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

/// Name and arguments.
pub(super) fn parts(request: &Request) -> impl Iterator<Item = &[u8]> {
    std::iter::once(request.name()).chain(request.arguments().iter().map(|part| &part[..]))
}

/// What a connection holds its client to after this command.
fn bounds_after(held: Held, bounds: Bounds, request: &Request) -> Bounds {
    match (held, request.name()) {
        (Held::AsItSpeaks, b"AUTH") => Bounds::AFTER_AUTH,
        (Held::AsItSpeaks, b"RESET") => Bounds::BEFORE_AUTH,
        (Held::AsItSpeaks | Held::To(_), _) => bounds,
    }
}

/// Nothing is set aside for what is only announced, and no byte is looked at again and again.
fn check_memory(decoder: &mut Decoder, buffer: &BytesMut, come: usize) {
    let room = buffer.capacity();
    assert!(room <= 2 * come + SPARE_BYTES, "room for {room} bytes when {come} have come");
    let room = decoder.parts_capacity();
    let most = 2 * (come / ARGUMENT_BYTES_MIN) + SPARE_PARTS;
    assert!(room <= most, "room for {room} arguments when {come} bytes have come");
    let looks = decoder.looks;
    assert!(looks <= LOOKS_MAX * come, "{looks} looks at {come} bytes");
}

fn check_bounds(request: &Request, bounds: Bounds) {
    assert!(request.count() <= bounds.arguments, "{} arguments", request.count());
    let longest = parts(request).map(<[u8]>::len).max().unwrap_or_default();
    assert!(longest <= bounds.argument_bytes, "an argument of {longest} bytes");
    let total: usize = parts(request).map(<[u8]>::len).sum();
    assert!(total <= bounds.command_bytes, "a command of {total} bytes");
}

/// After a breach nothing is read any more, not even a good command.
fn check_end(decoder: &mut Decoder, buffer: &mut BytesMut, error: ProtocolError) {
    assert_eq!(decoder.decode(buffer), Err(error), "an error is the end");
    buffer.extend_from_slice(b"\r\n*1\r\n$4\r\nPING\r\n");
    let left = buffer.len();
    decoder.set_bounds(Bounds::AFTER_AUTH);
    assert_eq!(decoder.decode(buffer), Err(error), "an error is the end");
    assert_eq!(buffer.len(), left, "bytes were read after an error");
    assert_eq!(decoder.parts_capacity(), 0, "arguments are kept after an error");
}
