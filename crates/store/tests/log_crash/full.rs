//! A disk without room: told before it hurts, served from the reserve, and over by itself.
//!
//! Lives here: the log's segments. Not here: which callers are refused meanwhile (the engine).

use std::sync::Arc;

use naven_store::embedded::disk::MemDisk;
use naven_store::embedded::log::pool::RESERVE;
use naven_store::embedded::log::{AppendError, Batch, FIRST_LSN, Log};

use super::script::{SEGMENT, Script, Seen, batch, read};

/// A log on a disk that has no room for another segment.
fn log_on_a_full_disk() -> (Script, Log) {
    let (script, log) = Script::new(MemDisk::recorded(), 9);
    script.disk.set_capacity(SEGMENT * 4 + 1_000);
    (script, log)
}

/// A batch of half a segment.
fn half(log: &Log) -> Batch {
    let payload = vec![3; SEGMENT as usize / 2 - 200];
    Batch {
        lsn: log.next_lsn(),
        kind: naven_store::embedded::log::BatchKind::Data,
        count: 1,
        payload,
        ..batch(1, 0)
    }
}

fn fill(log: &mut Log) -> (Vec<Seen>, Vec<bool>) {
    let (mut written, mut full) = (Vec::new(), Vec::new());
    loop {
        let next = half(log);
        match log.append(std::slice::from_ref(&next)) {
            Ok(()) => written.push(Seen::from(&next)),
            Err(AppendError::NoRoom { durable: 0 }) => return (written, full),
            Err(error) => panic!("{error}"),
        }
        log.refill().unwrap();
        full.push(log.pool().is_full());
    }
}

#[test]
fn a_full_disk_is_told_while_the_reserve_still_serves_and_nothing_is_lost_when_it_ends() {
    let (script, mut log) = log_on_a_full_disk();
    let (mut written, full) = fill(&mut log);
    let served = full.iter().filter(|is_full| **is_full).count();
    assert!(!full[0] && full[full.len() - 1]);
    // Two batches to a segment: what is left when it is told is the reserve, but for one segment.
    assert!(served >= (RESERVE - 1) * 2, "{full:?}");

    script.disk.set_capacity(SEGMENT * 40);
    let next = half(&log);
    log.append(std::slice::from_ref(&next)).unwrap();
    written.push(Seen::from(&next));
    log.refill().unwrap();
    assert!(!log.pool().is_full());
    drop(log);
    assert_eq!(read(&script.disk, &script.meta, FIRST_LSN).unwrap().2, written);
}

#[test]
fn a_full_disk_is_over_when_a_checkpoint_gives_segments_back() {
    let (_script, mut log) = log_on_a_full_disk();
    fill(&mut log);
    assert!(log.pool().is_full());
    let upto = log.closed().upto();
    assert!(log.closed().recycle_below(upto).unwrap() >= RESERVE);
    assert!(!log.pool().is_full());
    log.append(&[half(&log)]).unwrap();
}

#[test]
fn a_batch_longer_than_a_segment_waits_for_room_of_its_own() {
    let (script, mut log) = log_on_a_full_disk();
    let payload = vec![4; SEGMENT as usize * 2];
    let long = Batch { payload, ..half(&log) };
    assert!(matches!(log.append(std::slice::from_ref(&long)), Err(AppendError::NoRoom { durable: 0 })));
    script.disk.set_capacity(SEGMENT * 40);
    log.append(std::slice::from_ref(&long)).unwrap();
    drop(log);
    assert_eq!(read(&script.disk, &script.meta, FIRST_LSN).unwrap().2, [Seen::from(&long)]);
}

#[test]
fn a_store_that_is_there_starts_on_a_full_disk() {
    let (script, mut log) = log_on_a_full_disk();
    let (written, _) = fill(&mut log);
    drop(log);
    let disk = Arc::clone(&script.disk);
    let (log, recovered, seen) = read(&disk, &script.meta, FIRST_LSN).unwrap();
    assert_eq!((seen, recovered.cut_bytes), (written, 0));
    assert!(log.pool().is_full());
}

#[test]
fn closed_segments_are_read_while_the_log_goes_on_and_the_newest_stays() {
    let (mut script, mut log) = Script::new(MemDisk::new(), 10);
    script.run(&mut log, 60, false).unwrap();
    let closed = Arc::clone(log.closed());
    let upto = closed.upto();
    let mut seen = Vec::new();
    let next = closed.read(FIRST_LSN, upto, &mut |header, payload| {
        seen.push((header.lsn, payload.len()));
        Ok(())
    });
    assert_eq!(next.unwrap(), upto + 1);
    let expected: Vec<_> = script.written.iter().take_while(|batch| batch.lsn <= upto).collect();
    assert_eq!(seen.len(), expected.len());

    let middle = expected[expected.len() / 2].lsn;
    let mut later = Vec::new();
    let next = closed.read(middle, upto - 1, &mut |header, _| {
        later.push(header.lsn);
        Ok(())
    });
    assert!(next.unwrap() <= upto && later[0] == middle);

    assert!(closed.recycle_below(upto).unwrap() > 3);
    assert!(closed.bytes_from(upto) > 0, "the newest closed segment stays");
    assert_eq!(closed.recycle_below(upto).unwrap(), 0);
    assert!(closed.read(FIRST_LSN, upto, &mut |_, _| Ok(())).is_err(), "what went cannot be read");
    script.append(&mut log).unwrap();
}
