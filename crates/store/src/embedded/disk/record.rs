//! Everything that was done to a disk, in order.
//!
//! Lives here: the operations and the contents they began with. Not here: doing them (`memory.rs`),
//! and what a power cut leaves of them (`image.rs`).

use std::collections::{BTreeMap, BTreeSet};

/// A file's content apart from its names.
pub(super) type FileNumber = usize;

/// One operation on a disk.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Bytes of a file changed.
    Change(FileNumber, Change),
    /// What was written to a file became durable.
    Sync(FileNumber),
    /// A sync failed: what it covered is never written by a later one, though it can be read.
    SyncFailed(FileNumber),
    /// Names in a folder changed.
    Name(Naming),
    /// Names of a folder became durable.
    SyncDir(String),
    /// A folder was made.
    Folder(String),
}

/// A change of a file's bytes.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Len(usize),
}

/// A change of names in one folder.
#[derive(Debug, Clone)]
pub(super) enum Naming {
    Create { name: String, file: FileNumber },
    Rename { from: String, to: String, file: FileNumber },
    Remove { name: String },
}

impl Change {
    /// Does it, to bytes as the file system holds them.
    pub(super) fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(bytes);
            }
            Self::Len(len) => content.resize(*len, 0),
        }
    }
}

impl Naming {
    pub(super) fn apply(&self, names: &mut BTreeMap<String, FileNumber>) {
        match self {
            Self::Create { name, file } => drop(names.insert(name.clone(), *file)),
            // Bound to the file, not to its old name: that name may not have outlived the cut.
            Self::Rename { from, to, file } => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
            Self::Remove { name } => drop(names.remove(name)),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Create { name, .. } | Self::Remove { name } => name,
            Self::Rename { to, .. } => to,
        }
    }
}

/// Files, their names, and folders.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    pub(super) files: Vec<Vec<u8>>,
    pub(super) names: BTreeMap<String, FileNumber>,
    pub(super) folders: BTreeSet<String>,
}

/// Everything that was done to a disk since it was made.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    pub(super) base: Tree,
    pub(super) ops: Vec<Op>,
}

impl Recording {
    /// How many operations there are. Answers that were given after the n-th must survive every
    /// crash at n or later.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// True where nothing was done.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}
