//! The laws of what the log holds, whatever bytes it is.
//!
//! Lives here: what one input of a fuzzer stands for, and the laws of batches and records. They are checked
//! where fuzz targets are built (`fuzz/` at the root), and by a test on the saved inputs. Not here: whole
//! folders (`laws.rs` of the engine).
//!
//! The first byte of an input says what it is: `r` one record; `s` a segment as it is; anything else a segment
//! of which the checksums are put right, so that what they guard is reached. Its second and third byte say
//! where one byte of each batch is changed.

use bytes::Bytes;

use super::batch::{BATCH_ALIGN, Batch, BatchHeader, HEADER_BYTES, Parsed, Proof, Seed, UNCHECKED_BYTES};
use super::scan::look_beyond;
use super::segment::SegmentNumber;
use super::window::{Found, Window};
use crate::embedded::disk::{Disk, DiskFile, MemDisk, Site};
use crate::embedded::meta::StoreId;
use crate::embedded::record;
use crate::embedded::replay::records;

const SITE: Site = Site("laws");
const ALIGN: usize = BATCH_ALIGN as usize;

/// Holds one input to all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check(input: &[u8]) {
    let Some((way, rest)) = input.split_first() else { return };
    if *way == b'r' {
        return check_record(rest);
    }
    let (change, rest) = rest.split_at(rest.len().min(2));
    let mut bytes = rest.to_vec();
    bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
    let seed = Seed::of(StoreId([3; 16]), SegmentNumber(5));
    if *way != b's' {
        put_right(&mut bytes, seed);
    }
    check_segment(&bytes, seed, change);
}

/// What is taken for a record is written as it was read.
fn check_record(bytes: &[u8]) {
    if let Some(txn) = record::decode(Bytes::copy_from_slice(bytes)) {
        assert_eq!(record::encode(&txn), bytes, "{txn:?}");
    }
}

/// Gives each place that may be a batch the checksum, and the padding, that it must have. From the last one on:
/// what a checksum covers lies behind it.
fn put_right(bytes: &mut [u8], seed: Seed) {
    for at in (0..bytes.len()).step_by(ALIGN).rev() {
        let Some(header) = header_at(bytes, at) else { continue };
        let end = at + header.len;
        let Some(batch) = bytes.get_mut(at..end.next_multiple_of(ALIGN)) else { continue };
        batch[header.len..].fill(0);
        let crc = seed.checksum(&batch[UNCHECKED_BYTES..header.len]);
        batch[4..8].copy_from_slice(&crc.to_le_bytes());
    }
}

fn header_at(bytes: &[u8], at: usize) -> Option<BatchHeader> {
    match BatchHeader::parse(bytes.get(at..)?.first_chunk::<HEADER_BYTES>()?) {
        Parsed::Header(header) => Some(header),
        Parsed::Not | Parsed::Newer { .. } => None,
    }
}

fn file_of(bytes: &[u8]) -> Box<dyn DiskFile> {
    let disk = MemDisk::new();
    let file = disk.create(SITE, "segment", 0).expect("an empty disk");
    file.write_at(SITE, 0, bytes).expect("it has room");
    file
}

/// The search finds what reading each place finds; each batch is written as it was read, its records too, and
/// with one byte changed it is none.
fn check_segment(bytes: &[u8], seed: Seed, change: &[u8]) {
    let (file, len) = (file_of(bytes), bytes.len() as u64);
    let mut window = Window::new(&*file, len);
    let mut found = Vec::new();
    for at in (0..bytes.len()).step_by(ALIGN) {
        if let Found::Batch(header, payload) = window.batch(at as u64, seed).expect("the disk is well") {
            check_batch(bytes, (at, &header), payload, seed);
            found.push((at, header));
        }
    }
    let beyond = look_beyond(&mut window, len, seed, 0, 1).expect("the disk is well");
    let searched: Vec<usize> = beyond.valid.iter().map(|stray| stray.offset as usize).collect();
    assert_eq!(searched, found.iter().map(|(at, _)| *at).collect::<Vec<_>>());
    for (at, header) in found {
        check_change(bytes, (at, &header), seed, change);
    }
}

fn check_batch(bytes: &[u8], (at, header): (usize, &BatchHeader), payload: &[u8], seed: Seed) {
    let &BatchHeader { kind, lsn, count, wall, lease, durable_upto, key_epoch, .. } = header;
    let batch = Batch { kind, lsn, count, wall, lease, payload: payload.to_vec() };
    let mut again = Vec::new();
    batch.encode(seed, Proof { durable_upto, key_epoch }, &mut again);
    assert_eq!(bytes[at..].get(..again.len()), Some(&again[..]), "{header:?}");
    if let Some(txns) = records(payload) {
        let mut again = Vec::new();
        for txn in &txns {
            let record = record::encode(txn);
            again.extend_from_slice(&u32::try_from(record.len()).expect("it is short").to_le_bytes());
            again.extend_from_slice(&record);
        }
        assert_eq!(again, payload, "{txns:?}");
    }
}

fn check_change(bytes: &[u8], (at, header): (usize, &BatchHeader), seed: Seed, change: &[u8]) {
    let mut number = [0; 2];
    number[..change.len()].copy_from_slice(change);
    let end = at + usize::try_from(header.padded_bytes()).expect("it is short");
    let place = at + usize::from(u16::from_be_bytes(number)) % (end - at);
    let mut changed = bytes.to_vec();
    changed[place] ^= 1 << (number[1] % 8);
    let file = file_of(&changed);
    let mut window = Window::new(&*file, changed.len() as u64);
    let read = window.batch(at as u64, seed).expect("the disk is well");
    assert!(matches!(read, Found::Nothing), "{header:?} with another byte {}", place - at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_the_log() {
        crate::embedded::laws::saved_inputs("log_record", check);
    }
}
