//! Commands and rubbish, cut into any pieces.
//!
//! Lives here: feeding a decoder piece by piece, and the laws that hold however bytes are cut. Not here:
//! tables of frames (`wellformed.rs`, `malformed.rs`, `typed.rs`).

use bytes::BytesMut;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::redis::frame::{Bounds, Decoder, ProtocolError, Stage};

/// What a decoder made of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decoded {
    /// The commands, each as its name and arguments.
    pub(super) commands: Vec<Vec<Vec<u8>>>,
    /// How it ended, if not by asking for more.
    pub(super) error: Option<ProtocolError>,
}

/// Feeds `pieces` one after the other, asking for commands until more bytes are needed.
pub(super) fn decode<'a>(bounds: Bounds, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let mut decoder = Decoder::new(bounds);
    let mut buffer = BytesMut::new();
    let mut commands = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let before = buffer.len();
            match decoder.decode(&mut buffer) {
                Ok(Some(request)) => {
                    assert!(buffer.len() < before, "a command came from no bytes");
                    let parts = request.into_parts();
                    commands.push(parts.iter().map(|part| part.to_vec()).collect());
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(decoder.decode(&mut buffer), Err(error), "an error is the end");
                    return Decoded { commands, error: Some(error) };
                }
            }
        }
        let asked = buffer.clone();
        assert_eq!(decoder.decode(&mut buffer), Ok(None), "more was asked for, and has not come");
        assert_eq!(buffer, asked, "bytes left without a command");
    }
    Decoded { commands, error: None }
}

/// A command as clients send it.
pub(super) fn as_array(parts: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts.iter().map(AsRef::as_ref) {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// A command as a careful person types it: every byte that means something is escaped.
fn as_line(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut line = Vec::new();
    for part in parts {
        line.extend_from_slice(b" \"");
        for byte in part {
            match byte {
                b'a'..=b'z' | b'\'' => line.push(*byte),
                b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
                other => line.extend_from_slice(format!("\\x{other:02x}").as_bytes()),
            }
        }
        line.push(b'"');
    }
    line.extend_from_slice(b"\r\n");
    line
}

/// `bytes` cut at the places that `cuts` point to.
fn cut<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Small ones, so that random bytes meet every one of them.
const TIGHT: Bounds =
    Bounds { stage: Stage::AfterAuth, arguments: 4, argument_bytes: 24, command_bytes: 60, inline_bytes: 24 };

fn any_command() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..12)
}

/// Bytes that look like the protocol for a while.
fn any_rubbish() -> impl Strategy<Value = Vec<u8>> {
    let morsel = prop_oneof![
        4 => Just(b"\r\n".to_vec()),
        3 => (-2_i64..7).prop_map(|count| format!("*{count}\r\n").into_bytes()),
        4 => (-2_i64..27).prop_map(|length| format!("${length}\r\n").into_bytes()),
        2 => "[a-z \"'\\\\x]{0,12}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..8),
        1 => prop::sample::select(vec![b'*', b'$', b'\r', b'\n', 0, b'0', b'9']).prop_map(|byte| vec![byte]),
        2 => prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 1..4)
            .prop_map(|parts| as_array(&parts)),
    ];
    prop::collection::vec(morsel, 0..24).prop_map(|morsels| morsels.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_commands_come_out_as_they_went_in_however_they_are_cut(
        commands in prop::collection::vec((any_command(), any::<bool>()), 0..5),
        cuts in prop::collection::vec(any::<Index>(), 0..20),
    ) {
        let written = commands.iter().map(|(parts, is_typed)| if *is_typed { as_line(parts) } else { as_array(parts) });
        let bytes = written.collect::<Vec<_>>().concat();
        let decoded = decode(Bounds::AFTER_AUTH, cut(&bytes, &cuts));
        prop_assert_eq!(decoded.error, None);
        prop_assert_eq!(decoded.commands, commands.into_iter().map(|(parts, _)| parts).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_end_the_same_however_they_are_cut(
        bytes in any_rubbish(),
        cuts in prop::collection::vec(any::<Index>(), 0..20),
    ) {
        let whole = decode(TIGHT, [&bytes[..]]);
        prop_assert_eq!(&decode(TIGHT, cut(&bytes, &cuts)), &whole);
        prop_assert_eq!(&decode(TIGHT, bytes.chunks(1)), &whole);
        for command in &whole.commands {
            prop_assert!(command.len() <= TIGHT.arguments);
            prop_assert!(command.iter().all(|part| part.len() <= TIGHT.argument_bytes));
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
        let whole = decode(Bounds::BEFORE_AUTH, [&bytes[..]]);
        prop_assert_eq!(decode(Bounds::BEFORE_AUTH, bytes.chunks(1)), whole);
    }
}
