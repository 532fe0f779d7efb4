//! A consumer under test, and what its handler saw.
//!
//! Lives here: running it until told to stop. Not here: the servers (`servers.rs`).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use naven_client::consumer::{Drained, IntoOutcome};
use naven_client::streams::{Consumer, ConsumerError, Entry, Envelope, LostEntry, Server};
use naven_client::{EntryId, LeaseSeconds, WaitSeconds};
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::wire::{GROUP, STREAM};

#[derive(Debug, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) n: u32,
}

pub(crate) type Event = Entry<Envelope<Numbered>>;

/// What was handed to a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) n: u32,
    pub(crate) id: EntryId,
    pub(crate) attempt: u32,
    pub(crate) fence: u64,
}

/// What became known of a consumer, or of several.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    runs: Arc<Mutex<Vec<Run>>>,
    lost: Arc<Mutex<Vec<LostEntry>>>,
    deleted: Arc<Mutex<Vec<EntryId>>>,
}

impl Seen {
    pub(crate) fn note(&self, entry: &Event) -> Run {
        let (n, id) = (entry.payload().payload.n, entry.id());
        let run = Run { n, id, attempt: entry.attempt(), fence: entry.fence() };
        self.runs.lock().expect("unpoisoned").push(run);
        run
    }

    pub(crate) fn runs(&self) -> Vec<Run> {
        self.runs.lock().expect("unpoisoned").clone()
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.runs().iter().map(|run| run.n).collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) fn lost(&self) -> Vec<LostEntry> {
        self.lost.lock().expect("unpoisoned").clone()
    }

    pub(crate) fn deleted(&self) -> Vec<EntryId> {
        self.deleted.lock().expect("unpoisoned").clone()
    }

    /// Waits until a handler was begun so often.
    pub(crate) async fn until_runs(&self, count: usize) {
        let mut tries = 0;
        while self.runs().len() < count {
            tries += 1;
            assert!(tries < 3_000, "only {:?} ran, and {:?} were lost", self.runs(), self.lost());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A consumer that runs.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<Drained, ConsumerError>>,
}

impl Running {
    pub(crate) async fn stop(self) -> Drained {
        // It may have ended by itself, which its answer says.
        let _ = self.stop.send(());
        self.ended.await.expect("no panic").expect("it was told to stop")
    }

    /// Ends it without a word, as far as that can be done within a process.
    pub(crate) fn abandon(self) {
        self.ended.abort();
    }

    pub(crate) async fn ends(self) -> Result<Drained, ConsumerError> {
        let ended = self.ended.await.expect("no panic");
        drop(self.stop);
        ended
    }
}

pub(crate) fn lease(seconds: u32) -> LeaseSeconds {
    LeaseSeconds::try_from(seconds).expect("a lease")
}

/// A consumer with a lease of a second, four slots, and short pauses.
pub(crate) fn consumer(server: Server, name: &str, seen: &Seen) -> Consumer {
    let (lost, deleted) = (Arc::clone(&seen.lost), Arc::clone(&seen.deleted));
    Consumer::new(server, STREAM, GROUP, name)
        .concurrency(4)
        .lease(lease(1))
        .wait(WaitSeconds::try_from(20).expect("a wait"))
        .retry_pauses(Duration::from_millis(50), Duration::from_millis(200))
        .on_lost(move |entry| lost.lock().expect("unpoisoned").push(entry))
        .on_deleted(move |id| deleted.lock().expect("unpoisoned").push(id))
}

pub(crate) fn run<F, R>(
    consumer: Consumer,
    seen: &Seen,
    handle: impl Fn(Event, Run) -> F + Send + Sync + 'static,
) -> Running
where
    F: Future<Output = R> + Send + 'static,
    R: IntoOutcome + 'static,
{
    let (stop, told) = oneshot::channel();
    let seen = seen.clone();
    let handle = move |entry: Event| {
        let run = seen.note(&entry);
        handle(entry, run)
    };
    let ended = tokio::spawn(consumer.run(async { drop(told.await) }, handle));
    Running { stop, ended }
}
