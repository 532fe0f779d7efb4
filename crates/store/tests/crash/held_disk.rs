//! A disk whose log syncs wait for the test, and a clock that says how often it was read.
//!
//! Lives here: both. Not here: what is asked meanwhile (`held.rs`).

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use naven_api::Timestamp;
use naven_store::Clock;
use naven_store::conformance::ManualClock;
use naven_store::embedded::disk::{Disk, DiskFile, DiskLock, DiskResult, MemDisk, Site};

/// Longest wait for the engine's threads: far above what it takes, for crowded machines.
const PATIENCE: Duration = Duration::from_secs(20);

const WHOLE: &str = "nobody panics under the lock";

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().expect(WHOLE)
}

/// Who waits at a gate, and whether it is shut.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(bool, u64)>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn set_shut(&self, is_shut: bool) {
        locked(&self.state).0 = is_shut;
        self.changed.notify_all();
    }

    /// Waits until so many came to it while it was shut.
    pub(crate) fn wait_for(&self, arrivals: u64) {
        let state = locked(&self.state);
        let waits = |state: &mut (bool, u64)| state.1 < arrivals;
        let (_state, timeout) = self.changed.wait_timeout_while(state, PATIENCE, waits).expect(WHOLE);
        assert!(!timeout.timed_out(), "nobody came to the gate");
    }

    fn pass(&self) {
        let mut state = locked(&self.state);
        state.1 += u64::from(state.0);
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.0).expect(WHOLE));
    }
}

/// A disk in memory behind a gate for syncs of the log.
pub(crate) struct HeldDisk {
    pub(crate) disk: Arc<MemDisk>,
    pub(crate) gate: Arc<Gate>,
}

struct HeldFile {
    file: Box<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl HeldDisk {
    fn held(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(HeldFile { file, gate: Arc::clone(&self.gate) })
    }
}

impl Disk for HeldDisk {
    fn list(&self, site: Site, folder: &str) -> DiskResult<Vec<String>> {
        self.disk.list(site, folder)
    }

    fn make_folder(&self, site: Site, folder: &str) -> DiskResult<()> {
        self.disk.make_folder(site, folder)
    }

    fn create(&self, site: Site, name: &str, len: u64) -> DiskResult<Box<dyn DiskFile>> {
        Ok(self.held(self.disk.create(site, name, len)?))
    }

    fn open(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskFile>> {
        Ok(self.held(self.disk.open(site, name)?))
    }

    fn rename(&self, site: Site, from: &str, to: &str) -> DiskResult<()> {
        self.disk.rename(site, from, to)
    }

    fn remove(&self, site: Site, name: &str) -> DiskResult<()> {
        self.disk.remove(site, name)
    }

    fn sync_dir(&self, site: Site, folder: &str) -> DiskResult<()> {
        self.disk.sync_dir(site, folder)
    }

    fn free_bytes(&self, site: Site) -> DiskResult<u64> {
        self.disk.free_bytes(site)
    }

    fn lock(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskLock>> {
        self.disk.lock(site, name)
    }
}

impl DiskFile for HeldFile {
    fn len(&self, site: Site) -> DiskResult<u64> {
        self.file.len(site)
    }

    fn read_at(&self, site: Site, offset: u64, bytes: &mut [u8]) -> DiskResult<()> {
        self.file.read_at(site, offset, bytes)
    }

    fn write_at(&self, site: Site, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        self.file.write_at(site, offset, bytes)
    }

    fn sync(&self, site: Site) -> DiskResult<()> {
        if site == Site("log.sync") {
            self.gate.pass();
        }
        self.file.sync(site)
    }

    fn set_len(&self, site: Site, len: u64) -> DiskResult<()> {
        self.file.set_len(site, len)
    }
}

/// A clock that is read once in each turn of the thread that applies.
#[derive(Default)]
pub(crate) struct CountedClock {
    pub(crate) clock: Arc<ManualClock>,
    reads: Mutex<u64>,
    read: Condvar,
}

impl CountedClock {
    pub(crate) fn reads(&self) -> u64 {
        *locked(&self.reads)
    }

    /// Waits until it was read more often than so many times.
    pub(crate) fn wait_past(&self, reads: u64) {
        let now = locked(&self.reads);
        let (_now, timeout) = self.read.wait_timeout_while(now, PATIENCE, |now| *now <= reads).expect(WHOLE);
        assert!(!timeout.timed_out(), "the thread that applies takes no turn");
    }
}

impl Clock for CountedClock {
    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn monotonic_ms(&self) -> i64 {
        *locked(&self.reads) += 1;
        self.read.notify_all();
        self.clock.monotonic_ms()
    }
}
