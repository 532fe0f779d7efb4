//! What one input of a fuzzer stands for: bounds, pieces, and bytes.
//!
//! Lives here: taking an input apart, and holding it to every law. Not here: the laws (`requests.rs`,
//! `replies.rs`).
//!
//! An input is text where it can be. The first byte of its first line chooses the bounds: `b` those before
//! AUTH, `a` those after it, `t` tight ones that short inputs meet too, and anything else those of a connection:
//! AUTH widens them, RESET takes that back. Each further byte of the line is the length of a piece, `1` to `9`
//! as they read. The rest are the bytes that the client sends.

use std::iter;

use super::replies::check_replies;
use super::requests::{check_requests, told};
use crate::redis::frame::{Bounds, Stage};

/// Bounds so small that short inputs meet every one of them.
const TIGHT: Bounds =
    Bounds { stage: Stage::AfterAuth, arguments: 4, argument_bytes: 24, command_bytes: 60, inline_bytes: 24 };

/// Whose bounds a connection is held to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held {
    /// These, whatever it says.
    To(Bounds),
    /// Those of what it has shown so far.
    AsItSpeaks,
}

/// Holds one input to all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check(input: &[u8]) {
    let line_end = input.iter().position(|byte| *byte == b'\n');
    let (first, bytes) = match line_end {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (&[][..], input),
    };
    let held = match first.first() {
        Some(b'a') => Held::To(Bounds::AFTER_AUTH),
        Some(b'b') => Held::To(Bounds::BEFORE_AUTH),
        Some(b't') => Held::To(TIGHT),
        _ => Held::AsItSpeaks,
    };
    let whole = told(held, iter::once(bytes));
    let lengths = first.get(1..).unwrap_or_default();
    for (how, cut) in [
        ("byte by byte", told(held, bytes.chunks(1))),
        ("cut as the input says", told(held, pieces(bytes, lengths).into_iter())),
    ] {
        assert_eq!(cut, whole, "{how}");
    }
    check_requests(&whole);
    check_replies(&whole);
}

/// `bytes` in pieces of these lengths, again and again.
fn pieces<'a>(mut bytes: &'a [u8], lengths: &[u8]) -> Vec<&'a [u8]> {
    let mut lengths = lengths.iter().map(|byte| 1 + usize::from(byte.wrapping_sub(b'1'))).cycle();
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let length = lengths.next().unwrap_or(bytes.len()).min(bytes.len());
        let (piece, rest) = bytes.split_at(length);
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
