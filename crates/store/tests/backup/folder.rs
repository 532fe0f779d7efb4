//! Backups taken whole, and folders made of them.
//!
//! Lives here: what every theme does with them. Not here: what is expected of them.

use std::sync::Arc;

use naven_api::EventId;
use naven_store::Engine;
use naven_store::backup::Backup;
use naven_store::conformance::bench::{append, create};
use naven_store::conformance::{Bench, ManualClock, SeededRandom};
use naven_store::embedded::Embedded;
use naven_store::embedded::backup::{BackupError, Restoring, Summary};
use naven_store::embedded::disk::{Disk, MemDisk};
use naven_store::queue::QueueSettings;
use naven_store::reply::OpReply;
use naven_store::txn::Due;

use crate::script::{open_with, play};

/// A small store with a little of everything, in the cold store and behind it.
pub(crate) struct Store {
    pub(crate) bench: Bench,
    pub(crate) engine: Arc<Embedded>,
    pub(crate) ids: Vec<EventId>,
}

/// The store that a script of so many operations leaves on `disk`.
pub(crate) fn scripted(disk: &Arc<MemDisk>, steps: usize) -> Store {
    let played = play(Arc::clone(disk), 20_261_129, steps);
    let clock = Arc::new(ManualClock::default());
    clock.set(played.points[steps].wall, 0);
    let (bench, engine) = open_with(disk, &clock, naven_store::embedded::Pace::NEVER);
    for queue in ["mail", "import"] {
        // The script may have made it, and may have deleted it again.
        let _ = bench.ask(create(queue, QueueSettings::default()));
    }
    Store { bench, engine, ids: played.ids }
}

impl Store {
    /// Publishes one event of so many bytes.
    pub(crate) fn publish(&mut self, bytes: usize) -> EventId {
        let payload = format!("{{\"x\":\"{}\"}}", "y".repeat(bytes));
        match self.bench.ask(append("mail", &payload, Due::Now)) {
            Ok(OpReply::Event(view)) => {
                self.ids.push(view.id);
                view.id
            }
            other => panic!("not published: {other:?}"),
        }
    }

    pub(crate) fn backup(&self) -> Box<dyn Backup> {
        self.bench.block_on(self.engine.backup()).expect("a backup begins")
    }

    /// The bench of what `bytes` make, its clock where this one's stands.
    pub(crate) fn restored(&self, bytes: &[u8]) -> Bench {
        let disk = Arc::new(MemDisk::new());
        restore(&disk, bytes).expect("a whole backup is taken");
        let clock = Arc::new(ManualClock::default());
        clock.set(self.bench.wall(), 0);
        crate::script::open(&disk, &clock)
    }
}

/// All pieces of a backup.
pub(crate) fn whole(mut backup: Box<dyn Backup>) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(piece) = backup.next_piece().expect("the backup goes on") {
        assert!(piece.len() <= naven_api::limits::BACKUP_PIECE_BYTES, "{} bytes at once", piece.len());
        bytes.extend_from_slice(&piece);
    }
    bytes
}

/// Makes a store of `bytes`, which come in odd pieces.
pub(crate) fn restore(disk: &Arc<MemDisk>, bytes: &[u8]) -> Result<Summary, BackupError> {
    let on: Arc<dyn Disk> = disk.clone();
    let mut restoring = Restoring::begin(on)?;
    for piece in bytes.chunks(70_001) {
        restoring.feed(piece)?;
    }
    restoring.finish(&SeededRandom::new(5))
}

/// Everything on a disk, by name.
pub(crate) fn contents(disk: &MemDisk) -> Vec<(String, Vec<u8>)> {
    let names = disk.names();
    names.into_iter().map(|name| (name.clone(), disk.peek(&name).expect("it has a name"))).collect()
}

/// Changes every place of a file that holds `text`. Answers how many there were.
pub(crate) fn spoil(disk: &MemDisk, file: &str, text: &str) -> usize {
    let mut bytes = disk.peek(file).expect("it is there");
    let text = text.as_bytes();
    let places: Vec<usize> =
        (0..bytes.len() - text.len()).filter(|at| bytes[*at..].starts_with(text)).collect();
    for place in &places {
        bytes[*place] ^= 1;
    }
    disk.plant(file, &bytes);
    places.len()
}
