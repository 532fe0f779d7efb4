//! Damage of a log at rest: every page of it flipped or zeroed, segments missing or of another
//! length, formats of newer versions.
//!
//! Lives here: what is refused, by file and offset, and what may be cut. Not here: what a crash
//! leaves (`crash.rs`).

use std::sync::Arc;

use naven_api::Timestamp;
use naven_core::LeaseTime;
use naven_store::embedded::disk::{Disk, MemDisk, Site};
use naven_store::embedded::folder::Folder;
use naven_store::embedded::log::{Batch, BatchKind, FIRST_LSN};
use naven_store::embedded::storage_error::StorageError;

use super::script::{Dice, Script, Seen, batch, new_store, read};

/// A batch as it lies in a file: told by the documented format alone.
#[derive(Debug, Clone, Copy)]
struct Laid {
    offset: usize,
    end: usize,
    kind: u16,
    lsn: u64,
    durable_upto: u64,
}

/// Every batch of a segment's bytes, up to its roll or to what was never written.
fn laid_out(bytes: &[u8]) -> Vec<Laid> {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let mut batches: Vec<Laid> = Vec::new();
    let mut offset = 0;
    while offset + 52 <= bytes.len() {
        let len = u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap()) as usize;
        let end = offset + len.next_multiple_of(64);
        let (lsn, durable_upto) = (u64_at(offset + 16), u64_at(offset + 24));
        let goes_on = batches.last().is_none_or(|last| last.kind != 3 && lsn > last.lsn || lsn == last.lsn);
        if len < 52 || end > bytes.len() || !goes_on {
            break;
        }
        let kind = u16::from_le_bytes([bytes[offset + 10], bytes[offset + 11]]);
        batches.push(Laid { offset, end, kind, lsn, durable_upto });
        offset = end;
        if kind == 3 {
            break;
        }
    }
    batches
}

/// A log of many segments; closed on purpose or just left.
fn log_at_rest(is_sealed: bool) -> Script {
    let (mut script, mut log) = Script::new(MemDisk::new(), 3);
    script.run(&mut log, 80, false).unwrap();
    if is_sealed {
        log.seal(Timestamp::from_ms(9), LeaseTime::from_ms(9)).unwrap();
    }
    script
}

fn segments(script: &Script) -> Vec<String> {
    let is_segment = |name: &String| name.ends_with(".seg") || name.ends_with(".big");
    script.disk.names().into_iter().filter(is_segment).collect()
}

fn damaged(script: &Script, name: &str, bytes: &[u8]) -> Result<Vec<Seen>, StorageError> {
    let disk = Arc::new(script.disk.copy());
    disk.plant(name, bytes);
    read(&disk, &script.meta, FIRST_LSN).map(|(_, _, seen)| seen)
}

#[track_caller]
fn assert_refused(opened: Result<Vec<Seen>, StorageError>, name: &str, batch: Laid) {
    match opened {
        Err(StorageError::Damage { file, offset, .. }) => {
            assert_eq!((file.as_str(), offset), (name, batch.offset as u64), "{batch:?}");
        }
        other => panic!("damage of '{name}' in {batch:?} led to {:?}", other.map(|seen| seen.len())),
    }
}

/// Damages every page of every segment in turn, and compares with what later batches prove.
fn damage_every_page(script: &Script, damage: impl Fn(&mut [u8], &mut Dice)) -> (usize, usize) {
    let mut dice = Dice(4);
    let names = segments(script);
    let (mut refused, mut cut) = (0, 0);
    for name in &names {
        let bytes = script.disk.peek(name).unwrap();
        let batches = laid_out(&bytes);
        let used = batches.last().map_or(0, |batch| batch.end);
        for start in (0..used).step_by(4_096) {
            let mut copy = bytes.clone();
            damage(&mut copy[start..used.min(start + 4_096)], &mut dice);
            let first_bad = (0..used).find(|at| copy[*at] != bytes[*at]).expect("something was damaged");
            let batch = *batches.iter().find(|batch| batch.end > first_bad).unwrap();
            // Only what the damage left can prove anything.
            let left = batches
                .iter()
                .filter(|batch| copy[batch.offset..batch.end] == bytes[batch.offset..batch.end]);
            let proved = left.map(|batch| batch.durable_upto).max().unwrap_or(0);
            let opened = damaged(script, name, &copy);
            let is_last = name == names.last().unwrap();
            if !is_last || batch.lsn <= proved {
                assert_refused(opened, name, batch);
                refused += 1;
            } else {
                let seen = opened.unwrap_or_else(|error| panic!("{batch:?} of the tail: {error}"));
                let before = script.written.iter().filter(|written| written.lsn < batch.lsn).cloned();
                assert_eq!(seen, before.collect::<Vec<_>>(), "{batch:?}");
                cut += 1;
            }
        }
    }
    (refused, cut)
}

fn flip_a_bit(page: &mut [u8], dice: &mut Dice) {
    let at = dice.below(page.len());
    page[at] ^= 1 << dice.below(8);
}

#[test]
fn a_flipped_bit_in_any_page_of_a_sealed_log_is_refused_by_file_and_offset() {
    let (refused, cut) = damage_every_page(&log_at_rest(true), flip_a_bit);
    println!("{refused} refused, {cut} cut");
    // Nothing follows a seal, so damage of it alone looks like a stop without one.
    assert!(refused > 100 && cut <= 1);
}

#[test]
fn a_flipped_bit_in_an_unsealed_log_is_refused_but_in_the_last_group() {
    let (refused, cut) = damage_every_page(&log_at_rest(false), flip_a_bit);
    println!("{refused} refused, {cut} cut");
    assert!(refused > 100 && cut > 0);
}

#[test]
fn a_zeroed_page_of_a_log_is_refused_but_in_the_last_group() {
    let (refused, cut) = damage_every_page(&log_at_rest(false), |page, _| page.fill(0));
    println!("{refused} refused, {cut} cut");
    assert!(refused > 100 && cut > 0);
}

#[test]
fn every_missing_segment_of_a_log_is_refused() {
    let script = log_at_rest(true);
    let names = segments(&script);
    assert!(names.iter().any(|name| name.ends_with(".big")), "the script has a batch of its own segment");
    for name in names {
        let disk = Arc::new(script.disk.copy());
        disk.remove(Site("test"), &name).unwrap();
        let opened = read(&disk, &script.meta, FIRST_LSN);
        assert!(matches!(opened, Err(StorageError::Damage { .. })), "'{name}' went unmissed");
    }
}

#[test]
fn a_segment_of_the_wrong_length_is_refused() {
    let script = log_at_rest(true);
    for name in segments(&script) {
        let bytes = script.disk.peek(&name).unwrap();
        for len in [0, 1, 4_096, bytes.len() - 4_096, bytes.len() - 1, bytes.len() + 1, bytes.len() + 4_096] {
            let mut copy = bytes.clone();
            copy.resize(len, 0);
            let refused = damaged(&script, &name, &copy);
            assert!(
                matches!(&refused, Err(StorageError::Damage { file, .. }) if *file == name),
                "'{name}' with {len} bytes led to {refused:?}"
            );
        }
    }
}

#[test]
fn a_log_that_ends_before_its_checkpoint_is_refused() {
    let script = log_at_rest(true);
    let end = script.written.last().unwrap().lsn + 100;
    let refused = read(&script.disk, &script.meta, end);
    assert!(matches!(refused, Err(StorageError::Damage { .. })));
}

#[test]
fn a_log_of_another_store_is_refused() {
    let script = log_at_rest(true);
    let mut meta = script.meta;
    meta.store.0[0] ^= 1;
    // Its first segment seems empty, and the rest does not follow from it: nothing may be swept away.
    let refused = read(&script.disk, &meta, FIRST_LSN);
    assert!(matches!(refused, Err(StorageError::Damage { .. })));
}

#[test]
fn a_folder_of_a_newer_format_is_refused_and_left_untouched() {
    let script = log_at_rest(true);
    let mut meta = script.disk.peek("meta").unwrap();
    meta[8] = 3;
    let disk = MemDisk::recorded();
    for name in script.disk.names() {
        disk.plant(&name, &script.disk.peek(&name).unwrap());
    }
    disk.plant("meta", &meta);
    let refused = Folder::open(&disk, new_store);
    assert!(matches!(refused, Err(StorageError::Newer { found: 3, known: 2, .. })), "{refused:?}");
    meta[8] = 1;
    disk.plant("meta", &meta);
    let refused = Folder::open(&disk, new_store);
    assert!(matches!(refused, Err(StorageError::Older { found: 1, known: 2, .. })), "{refused:?}");
    assert_eq!(disk.ops(), 0, "it was written to");
}

/// Writes a batch from the documentation alone, so that the documentation is held to it.
fn batch_of_format(script: &Script, segment: u64, format: u16, lsn: u64) -> Vec<u8> {
    let seed = crc32c::crc32c_append(crc32c::crc32c(&script.meta.store.0), &segment.to_le_bytes());
    let mut said = format.to_le_bytes().to_vec();
    said.extend_from_slice(&1_u16.to_le_bytes());
    said.extend_from_slice(&1_u32.to_le_bytes());
    said.extend_from_slice(&lsn.to_le_bytes());
    said.extend_from_slice(&(lsn - 1).to_le_bytes());
    said.extend_from_slice(&5_i64.to_le_bytes());
    said.extend_from_slice(&6_i64.to_le_bytes());
    said.extend_from_slice(&1_u32.to_le_bytes());
    said.extend_from_slice(b"payload");
    let crc = crc32c::crc32c_append(seed, &said);
    let mut bytes = (said.len() as u32 + 8).to_le_bytes().to_vec();
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(&said);
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes
}

#[test]
fn a_batch_of_the_documented_format_is_read_and_one_of_a_newer_format_is_refused() {
    let script = log_at_rest(false);
    let name = segments(&script).pop().unwrap();
    let number: u64 = name[4..name.len() - 4].parse().unwrap();
    let bytes = script.disk.peek(&name).unwrap();
    let end = laid_out(&bytes).last().unwrap().end;
    let (_, recovered, _) = read(&Arc::new(script.disk.copy()), &script.meta, FIRST_LSN).unwrap();
    for format in [1, 2] {
        let mut copy = bytes.clone();
        let batch = batch_of_format(&script, number, format, recovered.next_lsn);
        copy[end..end + batch.len()].copy_from_slice(&batch);
        let opened = damaged(&script, &name, &copy);
        match format {
            1 => assert_eq!(opened.unwrap().last().unwrap().lsn, recovered.next_lsn),
            _ => assert!(matches!(opened, Err(StorageError::Newer { found: 2, .. })), "{opened:?}"),
        }
    }
}

#[test]
fn a_batch_of_the_log_beyond_a_cut_never_comes_back_behind_what_takes_the_cut_ones_place() {
    let (script, mut log) = Script::new(MemDisk::new(), 11);
    let data =
        |lsn, byte| Batch { lsn, count: 1, kind: BatchKind::Data, payload: vec![byte; 300], ..batch(1, 0) };
    log.append(&[data(1, 1)]).unwrap();
    // One group: that its second batch is there says nothing of its first.
    log.append(&[data(2, 2), data(3, 3)]).unwrap();
    drop(log);
    let name = segments(&script).pop().unwrap();
    let mut bytes = script.disk.peek(&name).unwrap();
    let group = &laid_out(&bytes)[1..];
    bytes[group[0].offset + 60] ^= 1;
    script.disk.plant(&name, &bytes);

    let (mut log, recovered, seen) = read(&script.disk, &script.meta, FIRST_LSN).unwrap();
    assert_eq!((seen.len(), recovered.next_lsn), (1, 2));
    assert_eq!(recovered.cut_bytes, (group[1].end - group[0].offset) as u64);
    // It takes just the room of what was cut, so the batch after that would follow it again.
    log.append(&[data(2, 9)]).unwrap();
    drop(log);
    let (_, recovered, seen) = read(&script.disk, &script.meta, FIRST_LSN).unwrap();
    assert_eq!(seen, [data(1, 1), data(2, 9)].each_ref().map(Seen::from));
    assert_eq!(recovered.cut_bytes, 0);
}
