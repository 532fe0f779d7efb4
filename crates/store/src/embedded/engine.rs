//! The embedded engine as callers see it.
//!
//! Lives here: opening a folder, starting the threads, and the trait. Not here: the work itself
//! (`sequencer.rs`), the log (`log/`) and what a start begins with (`restore.rs`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use naven_api::limits::WAIT_LOOK_MS;
use naven_core::Now;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, oneshot, watch};

use super::backup::running::{self, Running};
use super::checkpointer::{Ask, Checkpointer};
use super::disk::{Disk, Site};
use super::folder::{Folder, NewStore};
use super::inbox::Inbox;
use super::lock::FolderLock;
use super::log::segment::LOG_FOLDER;
use super::log::wal_thread::Writer;
use super::log::{Commit, Lsn, OnFailure};
use super::meta::{Meta, Secret, StoreId};
use super::pace::{Checkpoints, Pace};
use super::request::{Outlet, Request, Unread, unavailable};
use super::restore::Restored;
use super::sequencer::{BATCH_BYTES_MAX, Clocks, Sequencer};
use super::storage_error::StorageError;
use super::turns::Turns;
use crate::backup::{Backup, BackupRefused};
use crate::clock::{Clock, Random};
use crate::engine::{BoxFuture, Budget, Caps, Durability, Engine, Health, Hint, Hints, Tended, WaitSet};
use crate::feed::{Changes, Feed};
use crate::read::{Page, Read};
use crate::reply::{OpError, TxnReply};
use crate::token::TokenKey;
use crate::txn::{Op, OpKind, Txn};

/// Places for transactions and reads that may wait at once; further callers wait for one.
const WAITING_MAX: u32 = 4_096;
/// A transaction takes a further place for each so many bytes of its events: what waits is not given up when its caller
/// goes, so that it needs a bound of its own, of 32 MiB.
const PLACE_BYTES: usize = 8 * 1024;
/// Wake-ups that a slow listener may fall behind before it is told to look everywhere.
const HINTS_MAX: usize = 4_096;

/// What an operator may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Length of a new store's segments in bytes, a power of two; none: by the disk's free space.
    pub segment_bytes: Option<u64>,
    /// When what changed goes to the cold store; none: as suits the length of its segments.
    pub checkpoint: Option<Pace>,
}

/// The embedded engine: one process, one data folder. Dropping it without [`Engine::close`] makes
/// everything answered durable all the same.
pub struct Embedded {
    requests: mpsc::Sender<Request>,
    places: Arc<Semaphore>,
    /// None once it is closed, so that listeners learn of the end.
    hints: Mutex<Option<broadcast::Sender<Hint>>>,
    /// The same.
    feed: Mutex<Option<Feed>>,
    health: watch::Receiver<Health>,
    disk: Arc<dyn Disk>,
    backups: Running,
    threads: Mutex<Vec<JoinHandle<()>>>,
    _lock: FolderLock,
}

/// What an engine does, to be run by threads or in turns.
pub(super) struct Parts {
    pub(super) sequencer: Sequencer,
    pub(super) writer: Writer,
    pub(super) checkpointer: Checkpointer,
    /// What the checkpointer is asked.
    pub(super) asked: mpsc::Receiver<Ask>,
}

impl std::fmt::Debug for Embedded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Embedded")
    }
}

impl Embedded {
    /// Opens the store on `disk`, or makes a new one, replays its log and starts serving.
    ///
    /// # Errors
    /// See [`StorageError`]; nothing of a folder that is refused was touched.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: Options,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Self, StorageError> {
        let (mut engine, parts) = Self::assemble(disk, options, clock, random)?;
        let Parts { sequencer, writer, checkpointer, asked } = parts;
        sequencer.commit.start_threads(writer).map_err(thread_error)?;
        let checkpointer = checkpointer.start(asked).map_err(thread_error)?;
        let thread = std::thread::Builder::new()
            .name("naven-sequencer".to_owned())
            .spawn(move || sequencer.run())
            .map_err(thread_error)?;
        engine.threads = Mutex::new(vec![thread, checkpointer]);
        Ok(engine)
    }

    /// The engine and its parts, of which none runs.
    pub(super) fn assemble(
        disk: Arc<dyn Disk>,
        options: Options,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<(Self, Parts), StorageError> {
        let folder = Folder::open(&*disk, || new_store(&*random, options))?;
        let pace = options.checkpoint.unwrap_or_else(|| Pace::of_segments(folder.meta.segment_bytes));
        let restored = Restored::open(Arc::clone(&disk), &folder.meta, pace)?;
        let Restored { tables, mut cold, log, recovered, supply } = restored;
        let room = cold.room_found()?;
        supply.begin_with(room);
        let lease = recovered.last.map(|header| header.lease).max(Some(cold.applied().lease));
        let clocks = Clocks::resumed(clock, lease);
        let (health_in, health) = watch::channel(Health::Well);
        let failed = Arc::new(AtomicBool::new(false));
        let (commit, writer) = Commit::of(log, on_failure(Arc::clone(&failed), health_in));
        commit.closed().hold_back(room.is_short());
        let (requests, inbox) = mpsc::channel();
        let (hints, _) = broadcast::channel(HINTS_MAX);
        let feed = Feed::new();
        let (checkpoints, asked) = mpsc::channel();
        let stamp = recovered.last.map_or(cold.applied().wall, |header| header.wall);
        let checkpointer = Checkpointer::new(cold, &commit, Arc::clone(&supply));
        let lease_base = clocks.lease_base;
        let backups = Running::of(folder.meta, Arc::clone(&disk), &commit, checkpoints.clone());
        let sequencer = Sequencer {
            inbox: Inbox::new(inbox),
            tables,
            stamped: Now { wall: stamp, lease: lease_base },
            clocks,
            random,
            tokens: token_key(&folder.meta, &folder.secret),
            commit,
            outlet: Outlet { hints: hints.clone(), feed: feed.clone(), requests: requests.clone() },
            failed,
            next: recovered.next_lsn,
            cut_bytes: recovered.cut_bytes,
            batch_bytes: batch_bytes(&folder.meta),
            checkpoints: Checkpoints::new(checkpoints, supply, pace, lease_base),
        };
        let engine = Self {
            requests,
            places: Arc::new(Semaphore::new(WAITING_MAX as usize)),
            hints: Mutex::new(Some(hints)),
            feed: Mutex::new(Some(feed)),
            health,
            disk,
            backups,
            threads: Mutex::default(),
            _lock: folder.lock,
        };
        Ok((engine, Parts { sequencer, writer, checkpointer, asked }))
    }

    /// Makes a checkpoint of everything that was answered before. Answers the LSN up to which the
    /// cold store holds everything. Blocks for as long as it takes.
    ///
    /// # Errors
    /// `Closed` where the engine is, or where it fails meanwhile, or where the disk is full.
    pub fn make_checkpoint(&self) -> Result<Lsn, StorageError> {
        let (reply, made) = mpsc::channel();
        self.requests.send(Request::Checkpoint { reply }).map_err(|_| StorageError::Closed)?;
        made.recv().ok().flatten().ok_or(StorageError::Closed)
    }

    /// Hands a request over that takes so many places, and waits for its answer; none where the engine takes no work.
    async fn ask<T>(
        &self,
        places: u32,
        request: impl FnOnce(oneshot::Sender<T>, OwnedSemaphorePermit) -> Request,
    ) -> Option<T> {
        let permit = Arc::clone(&self.places).acquire_many_owned(places).await.ok()?;
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply, permit)).ok()?;
        answer.await.ok()
    }

    async fn read_at_once(&self, read: Read) -> Result<Page, OpError> {
        let answer = self.ask(1, |reply, permit| Request::Read { read, reply, permit }).await;
        answer.unwrap_or(Err(OpError::Unavailable))
    }

    async fn read_in_turns(&self, mut turns: Turns) -> Result<Page, OpError> {
        loop {
            let part = match self.read_at_once(Read::Events(turns.next())).await? {
                Page::Events(part) => part,
                other => return Ok(other),
            };
            if let Some(page) = turns.take(part) {
                return Ok(Page::Events(page));
            }
        }
    }

    fn disk_bytes(&self) -> u64 {
        const COUNT: Site = Site("system.count");
        let folder_bytes = |folder: &str| -> u64 {
            let names = self.disk.list(COUNT, folder).unwrap_or_default();
            let path = |name: &String| {
                if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") }
            };
            // Folders and files that go away meanwhile count for nothing.
            names.iter().filter_map(|name| self.disk.open(COUNT, &path(name)).ok()?.len(COUNT).ok()).sum()
        };
        ["", LOG_FOLDER].into_iter().map(folder_bytes).sum()
    }
}

impl Engine for Embedded {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        Box::pin(async move {
            let refused = unavailable(&txns);
            let Ok(permit) = Arc::clone(&self.places).acquire_many_owned(places(&txns)).await else {
                return refused;
            };
            let (reply, answer) = oneshot::channel();
            let request = Request::Submit { txns, reply, permit: Some(permit) };
            if self.requests.send(request).is_err() {
                return refused;
            }
            Unread { answer, requests: self.requests.clone() }.read().await.unwrap_or(refused)
        })
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        Box::pin(async move {
            if let Read::Events(read) = read {
                return self.read_in_turns(Turns::of(read)).await;
            }
            let mut page = self.read_at_once(read).await?;
            if let Page::System(system) = &mut page {
                system.disk_bytes = self.disk_bytes();
            }
            Ok(page)
        })
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        let open = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        let from = open.as_ref().map_or_else(|| broadcast::channel(1).1, broadcast::Sender::subscribe);
        Hints::new(from, waits)
    }

    fn changes(&self) -> Changes {
        let feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        feed.as_ref().map_or_else(Changes::none, Feed::listen)
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        Box::pin(async move {
            self.ask(1, |reply, permit| Request::Tend { budget, reply, permit })
                .await
                .unwrap_or(Err(OpError::Unavailable))
        })
    }

    fn backup(&self) -> BoxFuture<'_, Result<Box<dyn Backup>, BackupRefused>> {
        Box::pin(running::begin(&self.backups))
    }

    fn caps(&self) -> Caps {
        Caps {
            name: "embedded",
            durability: Durability::Synced,
            multi_writer: false,
            transactional_publish: false,
            look_every: Duration::from_millis(WAIT_LOOK_MS),
        }
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (reply, closed) = oneshot::channel();
            if self.requests.send(Request::Close { reply }).is_ok() {
                // An engine that is gone already has nothing to close.
                drop(closed.await);
            }
            drop(self.hints.lock().unwrap_or_else(PoisonError::into_inner).take());
            drop(self.feed.lock().unwrap_or_else(PoisonError::into_inner).take());
        })
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let (reply, _) = oneshot::channel();
        drop(self.requests.send(Request::Close { reply }));
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            drop(thread.join());
        }
    }
}

/// The places that transactions take.
fn places(txns: &[Txn]) -> u32 {
    let bytes = |op: &Op| if let OpKind::Append(append) = &op.kind { append.body.bytes.len() } else { 0 };
    let all: usize = txns.iter().flat_map(|txn| &txn.ops).map(bytes).sum();
    u32::try_from(all / PLACE_BYTES).unwrap_or(u32::MAX).saturating_add(1).min(WAITING_MAX)
}

fn new_store(random: &dyn Random, options: Options) -> NewStore {
    let (mut store, mut secret) = ([0; 16], [0; 32]);
    random.fill(&mut store);
    random.fill(&mut secret);
    NewStore { store: StoreId(store), secret: Secret(secret), segment_bytes: options.segment_bytes }
}

/// Where a batch closes: it should fit into a segment.
fn batch_bytes(meta: &Meta) -> usize {
    usize::try_from(meta.segment_bytes / 4).unwrap_or(usize::MAX).min(BATCH_BYTES_MAX)
}

fn token_key(meta: &Meta, secret: &Secret) -> TokenKey {
    TokenKey::new(secret.0, meta.store.0, meta.key_epoch)
}

fn on_failure(failed: Arc<AtomicBool>, health: watch::Sender<Health>) -> OnFailure {
    Box::new(move |failure| {
        failed.store(true, Ordering::Release);
        drop(health.send(Health::Failed { why: failure.why.clone() }));
    })
}

fn thread_error(source: std::io::Error) -> StorageError {
    StorageError::Disk(super::disk::DiskError { site: Site("thread.start"), file: String::new(), source })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::txn::{Append, Body, Due, Form, StreamRef, Target};

    fn append(bytes: usize) -> OpKind {
        OpKind::Append(Append {
            to: Target::Stream(StreamRef(Bytes::from_static(b"s"))),
            body: Body { form: Form::Json, bytes: vec![b'x'; bytes].into() },
            due: Due::Now,
            headers: Vec::new(),
            max_attempts: None,
            dedupe: None,
            expires_at: None,
            trace: None,
            entry: None,
        })
    }

    #[test]
    fn a_transaction_takes_places_by_the_bytes_of_its_events() {
        assert_eq!(places(&[]), 1);
        assert_eq!(places(&[Txn::one(append(PLACE_BYTES - 1))]), 1);
        assert_eq!(places(&[Txn::one(append(PLACE_BYTES))]), 2);
        let large = Txn::all([append(20 * PLACE_BYTES), append(10 * PLACE_BYTES)]);
        assert_eq!(places(&[large.clone(), large]), 61);
        assert_eq!(places(&[Txn::one(append(64 << 20))]), WAITING_MAX, "never more than there are");
    }
}
