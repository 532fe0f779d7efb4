//! What a power cut leaves: crash images, built from a recording at any of its operations.
//!
//! Lives here: which unsynced changes are lost, kept or torn, and the disk that comes of it. Not
//! here: recording (`memory.rs`).
//!
//! The model: a change of a file may or may not have reached the platter until the file was synced,
//! piece by piece and in any order; a change of names may or may not until its folder was synced. A
//! failed sync leaves its changes so for good: no later sync of the file covers them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::folder_of;
use super::memory::MemDisk;
use super::record::{Change, FileNumber, Naming, Op, Recording, Tree};

/// What becomes of unsynced changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All are lost.
    All,
    /// All are kept, as when only the process was killed.
    None,
    /// Of each write, pieces of so many bytes are kept or lost by the toss of a seeded coin; so is
    /// each change of names.
    Torn {
        /// Bytes of a piece: 512 or 4,096.
        piece: usize,
        /// The seed of the tosses.
        seed: u64,
    },
    /// All are kept, and of the next write its first bytes: killed in the middle of it.
    Cut {
        /// How many of its bytes.
        bytes: usize,
    },
}

/// A walk along a recording, from which images are built.
#[derive(Debug)]
pub struct Replay<'a> {
    recording: &'a Recording,
    at: usize,
    /// What no crash can take.
    durable: Tree,
    loose: Vec<Loose>,
    loose_names: Vec<Naming>,
    loose_folders: Vec<String>,
}

#[derive(Debug)]
struct Loose {
    file: FileNumber,
    change: Change,
    /// A sync of it failed, so none will ever cover it.
    given_up: bool,
}

impl<'a> Replay<'a> {
    /// The beginning of `recording`, before its first operation.
    pub fn new(recording: &'a Recording) -> Self {
        let durable = recording.base.clone();
        let (loose, loose_names, loose_folders) = (Vec::new(), Vec::new(), Vec::new());
        Self { recording, at: 0, durable, loose, loose_names, loose_folders }
    }

    /// How many operations lie before this point.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes of the write that comes next, if the next operation is one.
    pub fn next_write(&self) -> Option<usize> {
        match self.recording.ops.get(self.at)? {
            Op::Change(_, Change::Write { bytes, .. }) => Some(bytes.len()),
            Op::Change(..)
            | Op::Sync(_)
            | Op::SyncFailed(_)
            | Op::Name(_)
            | Op::SyncDir(_)
            | Op::Folder(_) => None,
        }
    }

    /// Goes one operation on; false at the end.
    pub fn advance(&mut self) -> bool {
        let Some(op) = self.recording.ops.get(self.at) else { return false };
        self.at += 1;
        match op {
            Op::Change(file, change) => {
                self.loose.push(Loose { file: *file, change: change.clone(), given_up: false });
            }
            Op::Sync(file) => self.sync(*file),
            Op::SyncFailed(file) => {
                let covered = self.loose.iter_mut().filter(|loose| loose.file == *file);
                covered.for_each(|loose| loose.given_up = true);
            }
            Op::Name(naming) => self.loose_names.push(naming.clone()),
            Op::SyncDir(folder) => self.sync_dir(folder),
            Op::Folder(name) => self.loose_folders.push(name.clone()),
        }
        true
    }

    /// What given-up changes leave is decided here for the worst: nothing.
    fn sync(&mut self, file: FileNumber) {
        let content = content(&mut self.durable.files, file);
        for loose in self.loose.extract_if(.., |loose| loose.file == file) {
            if !loose.given_up {
                loose.change.apply(content);
            }
        }
    }

    fn sync_dir(&mut self, folder: &str) {
        for naming in self.loose_names.extract_if(.., |naming| folder_of(naming.name()) == folder) {
            naming.apply(&mut self.durable.names);
        }
        if folder.is_empty() {
            self.durable.folders.extend(self.loose_folders.drain(..));
        }
    }

    /// The disk that a crash at this point leaves, itself recording.
    pub fn image(&self, loss: Loss) -> Arc<MemDisk> {
        let mut tree = self.durable.clone();
        let mut coin = Coin(match loss {
            Loss::Torn { seed, .. } => seed ^ (self.at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            Loss::All | Loss::None | Loss::Cut { .. } => 0,
        });
        let keep = |coin: &mut Coin| match loss {
            Loss::All => false,
            Loss::None | Loss::Cut { .. } => true,
            Loss::Torn { .. } => coin.toss(),
        };
        for loose in &self.loose {
            let content = content(&mut tree.files, loose.file);
            match (&loose.change, loss) {
                (Change::Write { offset, bytes }, Loss::Torn { piece, .. }) => {
                    for part in torn(*offset, bytes, piece).filter(|_| coin.toss()) {
                        part.apply(content);
                    }
                }
                (change, _) if keep(&mut coin) => change.apply(content),
                (Change::Write { .. } | Change::Len(_), _) => {}
            }
        }
        for naming in self.loose_names.iter().filter(|_| keep(&mut coin)) {
            naming.apply(&mut tree.names);
        }
        let folders = self.loose_folders.iter().filter(|_| keep(&mut coin));
        tree.folders.extend(folders.cloned());
        if let Loss::Cut { bytes } = loss {
            self.cut_next_write(&mut tree, bytes);
        }
        let folders = std::mem::take(&mut tree.folders);
        tree.names.retain(|name, _| folder_of(name).is_empty() || folders.contains(folder_of(name)));
        tree.folders = folders;
        Arc::new(MemDisk::holding(compact(tree)))
    }

    fn cut_next_write(&self, tree: &mut Tree, kept: usize) {
        if let Some(Op::Change(file, Change::Write { offset, bytes })) = self.recording.ops.get(self.at) {
            let kept = bytes[..kept.min(bytes.len())].to_vec();
            Change::Write { offset: *offset, bytes: kept }.apply(content(&mut tree.files, *file));
        }
    }
}

fn content(files: &mut Vec<Vec<u8>>, file: FileNumber) -> &mut Vec<u8> {
    if files.len() <= file {
        files.resize(file + 1, Vec::new());
    }
    &mut files[file]
}

/// A write as the pieces in which a disk may have taken it: cut where the file's own pieces meet.
fn torn(offset: usize, bytes: &[u8], piece: usize) -> impl Iterator<Item = Change> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let left = bytes.get(at..).filter(|left| !left.is_empty())?;
        let len = (piece - (offset + at) % piece).min(left.len());
        let part = Change::Write { offset: offset + at, bytes: left[..len].to_vec() };
        at += len;
        Some(part)
    })
}

/// Only files that bear a name outlive a crash.
fn compact(tree: Tree) -> Tree {
    let mut kept = BTreeMap::new();
    let mut files = Vec::new();
    for (name, file) in tree.names {
        // Two names of one file can only be left by a rename of which the cut took one half.
        files.push(tree.files.get(file).cloned().unwrap_or_default());
        kept.insert(name, files.len() - 1);
    }
    Tree { files, names: kept, folders: tree.folders }
}

/// Seeded tosses (splitmix64), so that a failing image can be built again.
struct Coin(u64);

impl Coin {
    fn toss(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::disk::{Disk, Fault, Flaw, Lasts, Site};

    const SITE: Site = Site("test");

    /// The content of `name` after everything in `disk`, at each of these losses.
    fn after(disk: &MemDisk, name: &str, losses: &[Loss]) -> Vec<Option<Vec<u8>>> {
        let recording = disk.recording();
        let mut replay = Replay::new(&recording);
        while replay.advance() {}
        losses.iter().map(|loss| replay.image(*loss).peek(name)).collect()
    }

    #[test]
    fn a_log_disk_keeps_what_was_synced_and_only_that_for_sure() {
        let disk = MemDisk::recorded();
        let file = disk.create(SITE, "a", 4).unwrap();
        assert_eq!(after(&disk, "a", &[Loss::All, Loss::None]), [None, Some(vec![0; 4])]);
        disk.sync_dir(SITE, "").unwrap();
        file.write_at(SITE, 0, b"one").unwrap();
        assert_eq!(after(&disk, "a", &[Loss::All]), [Some(vec![0; 4])]);
        file.sync(SITE).unwrap();
        file.write_at(SITE, 0, b"two").unwrap();
        assert_eq!(
            after(&disk, "a", &[Loss::All, Loss::None]),
            [Some(b"one\0".to_vec()), Some(b"two\0".to_vec())]
        );
    }

    #[test]
    fn a_log_disk_never_keeps_by_a_later_sync_what_a_failed_one_gave_up() {
        let disk = MemDisk::recorded();
        let file = disk.create(SITE, "a", 4).unwrap();
        disk.sync_dir(SITE, "").unwrap();
        file.write_at(SITE, 0, b"x").unwrap();
        disk.fail(Fault { site: Site("sync"), nth: 1, lasts: Lasts::Once, flaw: Flaw::Io });
        assert!(file.sync(Site("sync")).is_err());
        file.write_at(SITE, 1, b"y").unwrap();
        file.sync(Site("sync")).unwrap();
        assert_eq!(after(&disk, "a", &[Loss::All]), [Some(b"\0y\0\0".to_vec())]);
        assert_eq!(disk.peek("a").unwrap(), b"xy\0\0", "the page cache shows it all the same");
    }

    #[test]
    fn a_log_disk_tears_writes_where_its_own_pieces_meet() {
        let disk = MemDisk::recorded();
        let file = disk.create(SITE, "a", 2_048).unwrap();
        disk.sync_dir(SITE, "").unwrap();
        file.write_at(SITE, 100, &[1; 1_000]).unwrap();
        let torn: Vec<Loss> = (0..64).map(|seed| Loss::Torn { piece: 512, seed }).collect();
        let mut images = after(&disk, "a", &torn);
        images.sort();
        images.dedup();
        // Three pieces, each kept or lost.
        assert_eq!(images.len(), 8);
        for image in images.into_iter().flatten() {
            for piece in [100..512, 512..1_024, 1_024..1_100] {
                assert!(image[piece.clone()].iter().all(|byte| *byte == image[piece.start]));
            }
        }
    }

    #[test]
    fn a_log_disk_undoes_a_renaming_until_its_folder_is_synced() {
        let disk = MemDisk::recorded();
        drop(disk.create(SITE, "a", 1).unwrap());
        disk.sync_dir(SITE, "").unwrap();
        disk.rename(SITE, "a", "b").unwrap();
        assert_eq!(after(&disk, "b", &[Loss::All, Loss::None]), [None, Some(vec![0])]);
        disk.sync_dir(SITE, "").unwrap();
        assert_eq!(after(&disk, "a", &[Loss::All]), [None]);
        disk.remove(SITE, "b").unwrap();
        assert_eq!(after(&disk, "b", &[Loss::All, Loss::None]), [Some(vec![0]), None]);
    }
}
