//! The file under redb: our own disk.
//!
//! Lives here: redb's storage backend over [`DiskFile`], so that power cuts and faults of tests
//! reach the cold store too. Not here: what is in the file.

use std::fmt;
use std::io;

use redb::StorageBackend;

use super::damage::leave;
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
        let read = self.0.read_at(Site("cold.read"), offset, out);
        if read.as_ref().is_err_and(|error| error.source.kind() == io::ErrorKind::UnexpectedEof) {
            // The disk is well: what led here was changed, or the file was cut. redb answers nothing more
            // after a read that failed, so that one wrong number would cost every other page.
            leave("a page lies beyond the end of the file");
        }
        passed(read)
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

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use super::*;
    use crate::embedded::cold::{COLD_FILE, guarded};
    use crate::embedded::disk::{Disk, MemDisk};
    use crate::embedded::storage_error::StorageError;

    #[test]
    fn a_read_beyond_the_end_is_damage_where_redb_would_take_it_for_a_failure() {
        let disk = MemDisk::new();
        disk.plant(COLD_FILE, &[7; 10]);
        let file = ColdFile::new(disk.open(Site("test"), COLD_FILE).expect("it is there"));
        let read = |offset| guarded(|| file.read(offset, &mut [0; 4]).map_err(|_| StorageError::Closed));
        assert!(read(6).is_ok());
        let failed = read(7).expect_err("it ends before").to_string();
        assert!(failed.contains("a page lies beyond the end of the file"), "{failed}");
    }
}
