//! A backup of a running engine.
//!
//! Lives here: one at a time, and what it begins with. Not here: making it (`pieces.rs`).
//!
//! The sequencer is not asked: the cold store's newest state and the log behind it are all there is. So
//! no checkpoint is made for a backup either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::pieces::{Pieces, Source};
use crate::backup::{Backup, BackupFailed, BackupRefused};
use crate::embedded::checkpointer::Ask;
use crate::embedded::disk::Disk;
use crate::embedded::log::{ClosedSegments, Commit, DurableUpto};
use crate::embedded::meta::Meta;

/// What an engine keeps for its backups.
pub(in crate::embedded) struct Running {
    meta: Meta,
    disk: Arc<dyn Disk>,
    closed: Arc<ClosedSegments>,
    durable: DurableUpto,
    /// To the thread that has the cold store.
    checkpoints: mpsc::Sender<Ask>,
    /// True while a backup is under way.
    is_taken: Arc<AtomicBool>,
}

impl Running {
    /// For the engine whose log `commit` writes, and whose cold store the thread behind `checkpoints` has.
    pub(in crate::embedded) fn of(
        meta: Meta,
        disk: Arc<dyn Disk>,
        commit: &Commit,
        checkpoints: mpsc::Sender<Ask>,
    ) -> Self {
        let (closed, durable) = (Arc::clone(commit.closed()), commit.durable_upto());
        Self { meta, disk, closed, durable, checkpoints, is_taken: Arc::default() }
    }
}

/// Begins a backup.
pub(in crate::embedded) async fn begin(running: &Running) -> Result<Box<dyn Backup>, BackupRefused> {
    if running.is_taken.swap(true, Ordering::AcqRel) {
        return Err(BackupRefused::Running);
    }
    let turn = Turn(Arc::clone(&running.is_taken));
    let unavailable = |why: &str| BackupRefused::Unavailable(why.to_owned());
    // Before the reader: what it is of must not leave the log in between.
    let pin = running.closed.pin();
    let (reply, answer) = oneshot::channel();
    running.checkpoints.send(Ask::Read { reply }).map_err(|_| unavailable("it is closed"))?;
    let (reader, applied) = answer.await.map_err(|_| unavailable("it is closed"))?;
    pin.raise_to(applied.lsn);
    let durable = running.durable.clone();
    let source = Source {
        disk: Arc::clone(&running.disk),
        meta: running.meta,
        reader,
        applied,
        closed: Arc::clone(&running.closed),
        pin,
        durable: Box::new(move || durable.lsn()),
    };
    Ok(Box::new(Turned { pieces: Pieces::new(source), _turn: turn }))
}

/// The right to make a backup, given up when it is dropped.
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

struct Turned {
    pieces: Pieces,
    _turn: Turn,
}

impl Backup for Turned {
    fn next_piece(&mut self) -> Result<Option<Bytes>, BackupFailed> {
        self.pieces.next_piece()
    }
}
