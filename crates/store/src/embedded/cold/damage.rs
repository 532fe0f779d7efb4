//! redb's errors, and its panics, as ours.
//!
//! Lives here: the translation. Not here: what follows from an error (`checkpointer.rs`,
//! `layered.rs`).
//!
//! redb trusts the pages that it reads: where bytes of the file were changed from outside it may
//! panic instead of answering. That is damage like any other, and is said so.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;

use super::COLD_FILE;
use super::file::own;
use crate::embedded::disk::{DiskError, Site};
use crate::embedded::storage_error::StorageError;

thread_local! {
    /// How many calls deep this thread is in what answers its panics itself.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// A panic that is caught here is an answer, and says nothing on stderr. All others do as before.
fn be_quiet_where_guarded() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |panic| {
            if GUARDED.get() == 0 {
                loud(panic);
            }
        }));
    });
}

/// The answer of `work`; a panic of redb's is damage of its file.
pub(crate) fn guarded<T, E: From<StorageError>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    be_quiet_where_guarded();
    GUARDED.set(GUARDED.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(GUARDED.get() - 1);
    done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(StorageError::damage(COLD_FILE, 0, format!("its pages do not fit together: {text}")).into())
    })
}

/// Leaves what redb is doing, as its own panics do: damage, for which `why` is said. Does nothing where
/// nobody would catch it.
pub(super) fn leave(why: &str) {
    if GUARDED.get() > 0 {
        resume_unwind(Box::new(why.to_owned()));
    }
}

/// One of redb's errors as ours.
pub(super) fn storage_error(error: impl Into<redb::Error>) -> StorageError {
    match error.into() {
        redb::Error::Io(error) => match own(error) {
            Ok(error) => StorageError::Disk(error),
            // redb's own word on a file that is none of its: only our disk fails otherwise.
            Err(error) => StorageError::damage(COLD_FILE, 0, error.to_string()),
        },
        redb::Error::Corrupted(what) => StorageError::damage(COLD_FILE, 0, what),
        redb::Error::PreviousIo | redb::Error::DatabaseClosed => StorageError::Disk(DiskError {
            site: Site("cold.stale"),
            file: COLD_FILE.to_owned(),
            source: io::Error::other("an earlier call on it failed"),
        }),
        other => StorageError::damage(COLD_FILE, 0, other.to_string()),
    }
}

/// True where a reader is of no use any more because another call failed: a new one may be.
pub(super) fn is_stale(error: &StorageError) -> bool {
    matches!(error, StorageError::Disk(error) if error.site == Site("cold.stale"))
}
