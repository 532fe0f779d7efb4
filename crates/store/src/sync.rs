//! Locks and threads of the log: the system's, or those of a scheduler that tries their orders.
//!
//! Lives here: the choice. The second are for the tests that `ci/shuttle.sh` runs (`log/schedules.rs`), and for
//! nothing else: outside of their scheduler they do not work. Not here: locks of other parts.

#[cfg(not(all(test, shuttle)))]
mod chosen {
    pub(crate) use std::sync::atomic::AtomicU64;
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
    pub(crate) use std::thread;
    use std::time::Duration;

    /// Gives the lock up until it is notified, at most for so long.
    pub(crate) fn wait_at_most<T>(condvar: &Condvar, guard: MutexGuard<'_, T>, time: Duration) {
        drop(condvar.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(all(test, shuttle))]
mod chosen {
    pub(crate) use shuttle::sync::atomic::AtomicU64;
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, PoisonError};
    pub(crate) use shuttle::thread;
    use std::time::Duration;

    /// The time may be over at any moment, however long it is: others have their turn meanwhile.
    pub(crate) fn wait_at_most<T>(_: &Condvar, guard: MutexGuard<'_, T>, _: Duration) {
        drop(guard);
        thread::yield_now();
    }
}

pub(crate) use chosen::{AtomicU64, Condvar, Mutex, MutexGuard, PoisonError, thread, wait_at_most};
