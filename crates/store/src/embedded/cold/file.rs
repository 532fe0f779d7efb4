//! The file under redb: our own disk.
//!
//! Lives here: redb's storage backend over [`DiskFile`], so that power cuts and faults of tests
//! reach the cold store too. Not here: what is in the file.

use std::fmt;
use std::io;

use redb::StorageBackend;

use crate::embedded::disk::{DiskError, DiskFile, DiskResult, Site};

/// The cold store's file.
pub(super) struct ColdFile(Box<dyn DiskFile>);

impl ColdFile {
    pub(super) fn new(file: Box<dyn DiskFile>) -> Self {
        Self(file)
    }
}

impl fmt::Debug for ColdFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ColdFile")
    }
}

impl StorageBackend for ColdFile {
    fn len(&self) -> io::Result<u64> {
        passed(self.0.len(Site("cold.len")))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        passed(self.0.read_at(Site("cold.read"), offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        passed(self.0.set_len(Site("cold.grow"), len))
    }

    fn sync_data(&self) -> io::Result<()> {
        passed(self.0.sync(Site("cold.sync")))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        passed(self.0.write_at(Site("cold.write"), offset, data))
    }
}

/// Our own error inside of redb's: [`own`] finds it again.
fn passed<T>(result: DiskResult<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.source.kind(), error))
}

/// Our own error that redb passed on, if it is one.
pub(super) fn own(error: io::Error) -> Result<DiskError, io::Error> {
    error.downcast::<DiskError>()
}
