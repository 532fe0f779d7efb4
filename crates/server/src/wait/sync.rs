//! Locks, time and tasks of those who wait: the system's, or those of a scheduler that tries orders.
//!
//! Lives here: the choice. The second are for the tests that `ci/shuttle.sh` runs (`schedules.rs`), and for nothing
//! else: outside of their scheduler they do not work. Not here: notices and answers, which are futures to both.

#[cfg(not(all(test, shuttle)))]
mod chosen {
    pub(in crate::wait) use std::sync::{Mutex, MutexGuard, PoisonError};
    pub(in crate::wait) use tokio::time::sleep_until;

    use std::future::Future;
    use tokio::runtime::Handle;
    use tokio::time::Instant;
    use tokio_util::task::TaskTracker;

    pub(in crate::wait) fn now() -> Instant {
        Instant::now()
    }

    /// Where what was begun here goes on.
    pub(in crate::wait) struct Tasks(TaskTracker, Handle);

    impl Tasks {
        /// Must be called within the runtime that will run them.
        pub(in crate::wait) fn of(tracker: TaskTracker) -> Self {
            Self(tracker, Handle::current())
        }

        /// Begins one, from any thread.
        pub(in crate::wait) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
            self.0.spawn_on(work, &self.1);
        }
    }
}

#[cfg(all(test, shuttle))]
mod chosen {
    pub(in crate::wait) use shuttle::sync::{Mutex, MutexGuard, PoisonError};

    use std::cell::Cell;
    use std::future::Future;
    use tokio::time::Instant;
    use tokio_util::task::TaskTracker;

    thread_local! {
        /// None while time stands still, so that nothing but notices wakes. Else any time may come at any moment.
        static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
        static BEGAN: Instant = Instant::now();
    }

    /// Begins time anew.
    pub(in crate::wait) fn let_time(goes_on: bool) {
        NOW.set(goes_on.then(|| BEGAN.with(|began| *began)));
    }

    pub(in crate::wait) fn now() -> Instant {
        NOW.get().unwrap_or_else(|| BEGAN.with(|began| *began))
    }

    pub(in crate::wait) async fn sleep_until(at: Instant) {
        if NOW.get().is_none() {
            std::future::pending::<()>().await;
        }
        shuttle::future::yield_now().await;
        // Who sleeps no longer finds that it is so late, as does everybody else.
        NOW.set(NOW.get().max(Some(at)));
    }

    pub(in crate::wait) struct Tasks;

    impl Tasks {
        pub(in crate::wait) fn of(_: TaskTracker) -> Self {
            Self
        }

        pub(in crate::wait) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
            drop(shuttle::future::spawn(work));
        }
    }
}

#[cfg(all(test, shuttle))]
pub(super) use chosen::let_time;
pub(super) use chosen::{Mutex, MutexGuard, PoisonError, Tasks, now, sleep_until};
