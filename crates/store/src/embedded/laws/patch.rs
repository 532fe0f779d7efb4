//! What an input does to the files of a folder.
//!
//! Lives here: reading changes out of bytes, and making them. Not here: the folder (`scene.rs`), and what must
//! hold of it then (`folder.rs`).
//!
//! A change is a byte that chooses a file, a letter that says what is done, three bytes that say where, one that
//! says how much, and for `r` and `x` that many bytes.

use crate::embedded::disk::{Disk, MemDisk, Site};

/// A file does not grow beyond this.
const FILE_BYTES_MAX: usize = 2 << 20;
/// Bytes of a piece that is zeroed, added or moved, for each of how much.
const PIECE: usize = 64;

/// Makes all changes that `input` says. Files are chosen by their names' order.
pub(super) fn patch(disk: &MemDisk, mut input: &[u8]) {
    while let Some((&[file, what, a, b, c, much], rest)) = input.split_first_chunk::<6>() {
        let names = disk.names();
        let Some(name) = names.get(usize::from(file) % names.len().max(1)) else { return };
        let mut bytes = disk.peek(name).unwrap_or_default();
        let at = u32::from_be_bytes([0, a, b, c]) as usize % (bytes.len() + 1);
        let (given, rest) = match what {
            b'r' | b'x' => rest.split_at(rest.len().min(much.into())),
            _ => (&[][..], rest),
        };
        input = rest;
        match what {
            b'd' => {
                drop(disk.remove(Site("laws"), name));
                continue;
            }
            b's' => {
                let other = &names[usize::from(much) % names.len()];
                disk.plant(name, &disk.peek(other).unwrap_or_default());
                disk.plant(other, &bytes);
                continue;
            }
            other => change(&mut bytes, other, (at, much), given),
        }
        bytes.truncate(FILE_BYTES_MAX);
        disk.plant(name, &bytes);
    }
}

fn change(bytes: &mut Vec<u8>, what: u8, (at, much): (usize, u8), given: &[u8]) {
    let piece = |len: usize| at..len.min(at + PIECE * (1 + usize::from(much)));
    match what {
        b'r' => bytes.iter_mut().skip(at).zip(given).for_each(|(byte, new)| *byte = *new),
        b'x' => bytes.iter_mut().skip(at).zip(given).for_each(|(byte, new)| *byte ^= *new),
        b'c' => bytes.truncate(at),
        b'z' => {
            let piece = piece(bytes.len());
            bytes[piece].fill(0);
        }
        b'e' => bytes.resize(bytes.len() + PIECE * (1 + usize::from(much)), 0),
        // To the front.
        b'm' => {
            let piece = piece(bytes.len());
            bytes.copy_within(piece, at / 2);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (much % 8);
            }
        }
    }
}
