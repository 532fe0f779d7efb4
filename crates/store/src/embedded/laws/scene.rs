//! Small folders to begin with.
//!
//! Lives here: three folders that are the same in each process, and what is in them. Not here: what is done to
//! them (`patch.rs`).

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use naven_api::{EventId, KeyId};
use tokio::runtime::{Builder, Runtime};

use crate::audit::AuditNote;
use crate::conformance::bench::{append, claim, create, fatal, named, settle};
use crate::conformance::{ManualClock, SeededRandom};
use crate::embedded::cold::Applied;
use crate::embedded::disk::{Disk, MemDisk, Site};
use crate::embedded::meta::Meta;
use crate::embedded::restore::Restored;
use crate::embedded::{Embedded, Options, Pace};
use crate::engine::Engine;
use crate::key::{KeyCondition, KeyRecord, KeySecret};
use crate::queue::QueueSettings;
use crate::reply::OpReply;
use crate::txn::{AdminOp, Due, Op, OpKind, SettleStep, Txn};

/// Small segments, and a cold store that is written when it is asked for: so no two processes differ.
pub(super) const OPTIONS: Options = Options { segment_bytes: Some(64 << 10), checkpoint: Some(Pace::NEVER) };
/// The queues of all folders.
pub(super) const QUEUES: [&str; 2] = ["mail", "orders"];

/// A folder, and what may be read in it.
pub(super) struct Scene {
    files: Vec<(String, Vec<u8>)>,
    pub(super) events: Vec<EventId>,
    pub(super) payloads: BTreeSet<Bytes>,
}

impl Scene {
    /// One of the three: closed with all in the log; the same in the cold store, with more in the log; killed
    /// in that state.
    pub(super) fn nth(number: u8) -> &'static Self {
        static SCENES: OnceLock<[Scene; 3]> = OnceLock::new();
        &SCENES.get_or_init(made)[usize::from(number) % 3]
    }

    /// The folder, on a disk of its own.
    pub(super) fn disk(&self) -> MemDisk {
        let disk = MemDisk::new();
        disk.make_folder(Site("laws"), "log").expect("an empty disk");
        self.files.iter().for_each(|(name, bytes)| disk.plant(name, bytes));
        disk
    }

    /// Bytes of its longest file.
    pub(super) fn longest(&self) -> usize {
        self.files.iter().map(|(_, bytes)| bytes.len()).max().unwrap_or(0)
    }

    fn of(disk: &MemDisk, filled: &Filled) -> Self {
        let file = |name: String| disk.peek(&name).map(|bytes| (name, bytes));
        let files = disk.names().into_iter().filter_map(file).collect();
        Self { files, events: filled.events.clone(), payloads: filled.payloads.clone() }
    }
}

/// What was published.
#[derive(Default)]
struct Filled {
    events: Vec<EventId>,
    payloads: BTreeSet<Bytes>,
}

pub(super) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Builder::new_current_thread().enable_time().build().expect("it needs nothing"))
}

pub(super) fn open(disk: Arc<MemDisk>) -> Result<Embedded, crate::embedded::storage_error::StorageError> {
    Embedded::open(disk, OPTIONS, Arc::new(ManualClock::default()), Arc::new(SeededRandom::new(7)))
}

fn made() -> [Scene; 3] {
    let (disk, mut filled) = (Arc::new(MemDisk::new()), Filled::default());
    let engine = open(Arc::clone(&disk)).expect("an empty disk takes a store");
    make_queues(&engine);
    filled.publish(&engine, 1..=40);
    runtime().block_on(engine.close());
    drop(engine);
    let logged = Scene::of(&disk, &filled);
    lay_down(&disk);
    let engine = open(Arc::clone(&disk)).expect("it is whole");
    filled.publish(&engine, 41..=60);
    let killed = Scene::of(&disk, &filled);
    runtime().block_on(engine.close());
    drop(engine);
    [logged, Scene::of(&disk, &filled), killed]
}

/// Writes the cold store that holds all that the log does.
fn lay_down(disk: &Arc<MemDisk>) {
    let on: Arc<dyn Disk> = disk.clone();
    let meta = Meta::read(&*on).expect("it can be read").expect("it is a store");
    let restored = Restored::open(on, &meta, Pace::NEVER).expect("it is whole");
    let Restored { mut tables, mut cold, recovered, .. } = restored;
    let last = recovered.last.expect("something was written");
    let applied = Applied { lsn: recovered.next_lsn - 1, wall: last.wall, lease: last.lease };
    let window = tables.inner_mut().freeze(applied);
    cold.write(&window, applied).expect("the disk is well");
}

fn ask(engine: &Embedded, op: Op) -> OpReply {
    let txn = Txn { ops: vec![op], ..Txn::each([]) };
    let reply = runtime().block_on(engine.submit(vec![txn])).remove(0).ops.remove(0);
    reply.unwrap_or_else(|error| panic!("{error:?}"))
}

fn make_queues(engine: &Embedded) {
    let note = |action: &str| AuditNote {
        by: "nvk_test".to_owned(),
        action: action.to_owned(),
        target: "mail".to_owned(),
        request_id: "r1".to_owned(),
    };
    for name in QUEUES {
        ask(engine, Op::noted(create(name, QueueSettings::default()), note("queue.create")));
    }
    let secret = KeySecret { prefix: "nvk_test".to_owned(), digest: [7; 32], until: None };
    let record = KeyRecord::new(KeyId::from_bits(5), "worker".to_owned(), secret, Default::default());
    let put = AdminOp::PutKey { record, over: KeyCondition::Any };
    ask(engine, Op::noted(OpKind::Admin(put), note("key.create")));
}

impl Filled {
    /// Publishes events of several lengths; of every five one is acked, one is dead, one is leased.
    fn publish(&mut self, engine: &Embedded, numbers: std::ops::RangeInclusive<usize>) {
        for number in numbers {
            let queue = QUEUES[number % 2];
            let text = format!("{{\"n\":{number},\"text\":\"{}\"}}", "x".repeat(number * number % 700));
            self.payloads.insert(Bytes::from(text.clone()));
            match ask(engine, Op::plain(append(queue, &text, Due::Now))) {
                OpReply::Event(view) => self.events.push(view.id),
                other => panic!("publishing: {other:?}"),
            }
            if number % 5 < 3 {
                self.deal(engine, queue, number % 5);
            }
        }
    }

    fn deal(&self, engine: &Embedded, queue: &str, how: usize) {
        let OpReply::Claimed(claimed) = ask(engine, Op::plain(OpKind::Claim(claim(queue, 1, 30)))) else {
            panic!("claiming from {queue}");
        };
        let Some(grant) = claimed.leases.first() else { return };
        let token = grant.token.as_ref().expect("a lease has a token");
        let step = match how {
            0 => SettleStep::Ack,
            1 => fatal(),
            _ => return,
        };
        ask(engine, Op::plain(settle(grant.event, token, step)));
    }
}

/// All queues by their names.
pub(super) fn queues() -> [crate::queue::QueueRef; 2] {
    QUEUES.map(named)
}
