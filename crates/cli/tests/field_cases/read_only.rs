//! A file system that turns read-only under a running server, as some do after an error of their disk.
//!
//! Lives here: that every system call that would change a file is answered with EROFS. Not here: how
//! (`support/tracer.rs`), and what the server makes of it (`fc20_full_disk.rs`). A real one cannot be had: the
//! system does not mount a disk anew for reading only while a file on it is open for writing.

use crate::support::{Fault, Naven, Tracer};

/// Calls that change a file, its length, or a folder. Sockets are written with others.
const CHANGES: &str = "pwrite64,pwritev,pwritev2,ftruncate,fallocate,?rename,renameat,renameat2,?unlink,\
                       unlinkat,?mkdir,mkdirat";

/// From when this returns, the server changes no file any more, for as long as the tracer is there.
pub(crate) fn read_only_from_now_on(naven: &Naven) -> Tracer {
    Tracer::from_now_on(naven, &Fault { calls: CHANGES, error: "EROFS", only: None, files: Vec::new() })
}
