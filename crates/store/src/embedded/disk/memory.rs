//! A disk in memory that records everything done to it, and fails where it is told to.
//!
//! Lives here: [`MemDisk`], which behaves as the page cache does while the process lives. Not here:
//! what is left of it after a power cut (`image.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fault::{Fault, Faults, Flaw};
use super::record::{Change, FileNumber, Naming, Op, Recording, Tree};
use super::{Disk, DiskError, DiskFile, DiskLock, DiskResult, Site, folder_of};

/// Room on a disk that was given no capacity.
const ROOMY: u64 = 1 << 40;

/// A disk in memory. While it lives, what was written can be read, synced or not: opening it again
/// is a killed process that starts anew. What a power cut leaves is built from its recording.
#[derive(Debug)]
pub struct MemDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    tree: Tree,
    recording: Option<Recording>,
    faults: Faults,
    capacity: u64,
    locked: BTreeSet<String>,
    syncs: bool,
}

impl Default for MemDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl MemDisk {
    /// An empty disk that records nothing.
    pub fn new() -> Self {
        Self::with(Tree::default(), false)
    }

    /// An empty disk that records everything.
    pub fn recorded() -> Self {
        Self::with(Tree::default(), true)
    }

    /// A recorded disk that begins with these contents, all durable.
    pub(super) fn holding(tree: Tree) -> Self {
        Self::with(tree, true)
    }

    fn with(tree: Tree, recorded: bool) -> Self {
        let recording = recorded.then(|| Recording { base: tree.clone(), ops: Vec::new() });
        let (faults, capacity, locked, syncs) = (Faults::default(), ROOMY, BTreeSet::new(), true);
        Self { state: Arc::new(Mutex::new(State { tree, recording, faults, capacity, locked, syncs })) }
    }

    /// The same disk lying about syncs: they answer that all is well and make nothing durable.
    #[must_use]
    pub fn without_sync(self) -> Self {
        self.state().syncs = false;
        self
    }

    /// Plans a fault.
    pub fn fail(&self, fault: Fault) {
        self.state().faults.plan(fault);
    }

    /// Forgets all planned faults: a mended disk.
    pub fn mend(&self) {
        self.state().faults.forget();
    }

    /// How often each site was called.
    pub fn sites(&self) -> BTreeMap<Site, u64> {
        self.state().faults.calls()
    }

    /// Limits all files together to so many bytes.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity = bytes;
    }

    /// Leaves so many bytes of it free. No planned fault meets this.
    pub fn leave_free(&self, bytes: u64) {
        let mut state = self.state();
        state.capacity = state.used().saturating_add(bytes);
    }

    /// How many operations were recorded.
    pub fn ops(&self) -> usize {
        self.state().recording.as_ref().map_or(0, Recording::len)
    }

    /// Everything that was done since the disk was made; empty where nothing is recorded.
    pub fn recording(&self) -> Recording {
        self.state().recording.clone().unwrap_or_default()
    }

    /// The content of a file, for tests that look or damage.
    pub fn peek(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        state.tree.names.get(name).map(|file| state.tree.files[*file].clone())
    }

    /// Every name of a file, folders included.
    pub fn names(&self) -> Vec<String> {
        self.state().tree.names.keys().cloned().collect()
    }

    /// Puts a file there as if it had always been, durable and unrecorded: damage.
    pub fn plant(&self, name: &str, content: &[u8]) {
        let mut state = self.state();
        let file = state.tree.names.get(name).copied();
        let file = file.unwrap_or_else(|| state.tree.add(name));
        state.tree.files[file] = content.to_vec();
        let tree = state.tree.clone();
        if let Some(recording) = &mut state.recording {
            *recording = Recording { base: tree, ops: Vec::new() };
        }
    }

    /// A disk of its own with the same contents.
    #[must_use]
    pub fn copy(&self) -> Self {
        let state = self.state();
        Self::with(state.tree.clone(), state.recording.is_some())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the call and does `work`, unless a fault strikes or `work` finds its own reason.
    fn call<T>(
        &self,
        site: Site,
        file: &str,
        work: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> DiskResult<T> {
        let mut state = self.state();
        let struck = state.faults.strike(site);
        let done = struck.map_or_else(|| work(&mut state), |flaw| Err(flaw.error()));
        done.map_err(|source| DiskError { site, file: file.to_owned(), source })
    }

    fn handle(&self, name: &str, file: FileNumber) -> Box<dyn DiskFile> {
        Box::new(MemFile { disk: Self { state: Arc::clone(&self.state) }, name: name.to_owned(), file })
    }
}

impl Tree {
    fn add(&mut self, name: &str) -> FileNumber {
        self.files.push(Vec::new());
        self.names.insert(name.to_owned(), self.files.len() - 1);
        self.files.len() - 1
    }

    fn has_folder(&self, folder: &str) -> bool {
        folder.is_empty() || self.folders.contains(folder)
    }
}

impl State {
    fn record(&mut self, op: Op) {
        if let Some(recording) = &mut self.recording {
            recording.ops.push(op);
        }
    }

    fn find(&self, name: &str) -> io::Result<FileNumber> {
        self.tree.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn used(&self) -> u64 {
        self.tree.names.values().map(|file| self.tree.files[*file].len() as u64).sum()
    }

    fn name(&mut self, naming: Naming) {
        naming.apply(&mut self.tree.names);
        self.record(Op::Name(naming));
    }

    fn change(&mut self, file: FileNumber, change: Change) -> io::Result<()> {
        let new_len = match &change {
            Change::Write { offset, bytes } => offset + bytes.len(),
            Change::Len(len) => *len,
        };
        let grows_by = new_len.saturating_sub(self.tree.files[file].len()) as u64;
        if grows_by > 0 && self.used() + grows_by > self.capacity {
            return Err(Flaw::NoRoom.error());
        }
        change.apply(&mut self.tree.files[file]);
        self.record(Op::Change(file, change));
        Ok(())
    }

    fn sync(&mut self, file: FileNumber) {
        if self.syncs {
            self.record(Op::Sync(file));
        }
    }
}

impl Disk for MemDisk {
    fn list(&self, site: Site, folder: &str) -> DiskResult<Vec<String>> {
        self.call(site, folder, |state| {
            if !state.tree.has_folder(folder) {
                return Err(io::ErrorKind::NotFound.into());
            }
            let names = state.tree.names.keys().filter(|name| folder_of(name) == folder);
            let mut names: Vec<String> =
                names.map(|name| name[folder.len()..].trim_start_matches('/').to_owned()).collect();
            if folder.is_empty() {
                names.extend(state.tree.folders.iter().cloned());
            }
            names.sort();
            Ok(names)
        })
    }

    fn make_folder(&self, site: Site, folder: &str) -> DiskResult<()> {
        self.call(site, folder, |state| {
            if state.tree.folders.insert(folder.to_owned()) {
                state.record(Op::Folder(folder.to_owned()));
            }
            Ok(())
        })
    }

    fn create(&self, site: Site, name: &str, len: u64) -> DiskResult<Box<dyn DiskFile>> {
        let file = self.call(site, name, |state| {
            if state.tree.names.contains_key(name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            if !state.tree.has_folder(folder_of(name)) {
                return Err(io::ErrorKind::NotFound.into());
            }
            if state.used() + len > state.capacity {
                return Err(Flaw::NoRoom.error());
            }
            let file = state.tree.add(name);
            state.name(Naming::Create { name: name.to_owned(), file });
            let zeros = vec![0; usize::try_from(len).map_err(io::Error::other)?];
            state.change(file, Change::Write { offset: 0, bytes: zeros })?;
            state.sync(file);
            Ok(file)
        })?;
        Ok(self.handle(name, file))
    }

    fn open(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskFile>> {
        let file = self.call(site, name, |state| state.find(name))?;
        Ok(self.handle(name, file))
    }

    fn rename(&self, site: Site, from: &str, to: &str) -> DiskResult<()> {
        debug_assert_eq!(folder_of(from), folder_of(to), "files stay in their folder");
        self.call(site, from, |state| {
            let file = state.find(from)?;
            state.name(Naming::Rename { from: from.to_owned(), to: to.to_owned(), file });
            Ok(())
        })
    }

    fn remove(&self, site: Site, name: &str) -> DiskResult<()> {
        self.call(site, name, |state| {
            state.find(name)?;
            state.name(Naming::Remove { name: name.to_owned() });
            Ok(())
        })
    }

    fn sync_dir(&self, site: Site, folder: &str) -> DiskResult<()> {
        self.call(site, folder, |state| {
            if state.syncs {
                state.record(Op::SyncDir(folder.to_owned()));
            }
            Ok(())
        })
    }

    fn free_bytes(&self, site: Site) -> DiskResult<u64> {
        self.call(site, "", |state| Ok(state.capacity.saturating_sub(state.used())))
    }

    fn lock(&self, site: Site, name: &str) -> DiskResult<Box<dyn DiskLock>> {
        self.call(site, name, |state| {
            if !state.locked.insert(name.to_owned()) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            if !state.tree.names.contains_key(name) {
                let file = state.tree.add(name);
                state.name(Naming::Create { name: name.to_owned(), file });
            }
            Ok(())
        })?;
        Ok(Box::new(MemLock { state: Arc::clone(&self.state), name: name.to_owned() }))
    }
}

struct MemLock {
    state: Arc<Mutex<State>>,
    name: String,
}

impl DiskLock for MemLock {}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).locked.remove(&self.name);
    }
}

struct MemFile {
    disk: MemDisk,
    name: String,
    file: FileNumber,
}

impl MemFile {
    fn failed(&self, site: Site, flaw: Flaw) -> DiskError {
        DiskError { site, file: self.name.clone(), source: flaw.error() }
    }
}

impl DiskFile for MemFile {
    fn len(&self, site: Site) -> DiskResult<u64> {
        self.disk.call(site, &self.name, |state| Ok(state.tree.files[self.file].len() as u64))
    }

    fn read_at(&self, site: Site, offset: u64, bytes: &mut [u8]) -> DiskResult<()> {
        self.disk.call(site, &self.name, |state| {
            let start = usize::try_from(offset).map_err(io::Error::other)?;
            let content = state.tree.files[self.file].get(start..).and_then(|rest| rest.get(..bytes.len()));
            bytes.copy_from_slice(content.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn write_at(&self, site: Site, offset: u64, bytes: &[u8]) -> DiskResult<()> {
        let mut state = self.disk.state();
        let struck = state.faults.strike(site);
        let kept = match struck {
            None => bytes,
            Some(Flaw::Short) => &bytes[..bytes.len() / 2],
            Some(Flaw::Io | Flaw::NoRoom) => &[],
        };
        let failed = |source| DiskError { site, file: self.name.clone(), source };
        let offset = usize::try_from(offset).map_err(|error| failed(io::Error::other(error)))?;
        if !kept.is_empty() {
            state.change(self.file, Change::Write { offset, bytes: kept.to_vec() }).map_err(failed)?;
        }
        struck.map_or(Ok(()), |flaw| Err(self.failed(site, flaw)))
    }

    fn sync(&self, site: Site) -> DiskResult<()> {
        let mut state = self.disk.state();
        match state.faults.strike(site) {
            None => {
                state.sync(self.file);
                Ok(())
            }
            Some(flaw) => {
                state.record(Op::SyncFailed(self.file));
                Err(self.failed(site, flaw))
            }
        }
    }

    fn set_len(&self, site: Site, len: u64) -> DiskResult<()> {
        self.disk.call(site, &self.name, |state| {
            state.change(self.file, Change::Len(usize::try_from(len).map_err(io::Error::other)?))
        })
    }
}
