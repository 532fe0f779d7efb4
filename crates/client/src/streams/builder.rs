//! A consumer of a stream's group: what it is set to.
//!
//! Lives here: its settings with their bounds. Not here: running it (`consumer/running.rs`), and what each setting does
//! (`door.rs`, `claims.rs`).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use naven_api::limits::{
    LEASE_SECONDS_DEFAULT, MAX_ATTEMPTS_DEFAULT, MAX_ATTEMPTS_MAX, WAIT_SECONDS_DEFAULT,
};
use naven_api::{EntryId, LeaseSeconds, WaitSeconds};

use super::claims::Place;
use super::door::StreamDoor;
use super::entry::{Entry, Facts, LostEntry, Source, handler};
use super::error::{ConsumerError, Error};
use super::fields::FromFields;
use super::group::Group;
use super::link::Link;
use super::server::Server;
use super::step::{Names, WAITING, hash_tag};
use crate::consumer::attempt::OnLost;
use crate::consumer::handler::IntoOutcome;
use crate::consumer::running::{Ended, Settings, run};
use crate::consumer::{Drained, Health, Undecodable};

/// Longest name of a stream, a group or a consumer, in bytes.
const NAME_BYTES_MAX: usize = 512;
/// Longest pause before a retry.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Is told of entries that were deleted while they were pending.
pub(crate) type OnDeleted = Arc<dyn Fn(EntryId) + Send + Sync>;

/// What is done where there is no such stream, or no such group of it: at the start, and where it vanishes in the
/// midst of work (`FLUSHALL`, `DEL`, `XGROUP DESTROY`, a failover that lost it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MissingGroup {
    /// The group is made, with its stream, and reads all that the stream holds: nothing is lost, and what an older group
    /// of that name had finished is delivered again.
    #[default]
    FromStart,
    /// The group is made, with its stream, and reads what comes from then on: nothing is delivered again, and what was
    /// not read is lost to it.
    FromNew,
    /// [`Consumer::run`] ends with an error.
    End,
}

/// A consumer of one group of a stream. See [the module](super).
pub struct Consumer {
    server: Server,
    stream: String,
    group: String,
    name: String,
    concurrency: usize,
    lease: LeaseSeconds,
    wait: WaitSeconds,
    max_deliveries: Option<u32>,
    pauses: [Duration; 2],
    dead_stream: Option<String>,
    missing: MissingGroup,
    leaves: bool,
    drain_limit: Duration,
    grace: Duration,
    undecodable: Undecodable,
    on_lost: Option<OnLost<Facts>>,
    on_deleted: Option<OnDeleted>,
    health: Health,
}

impl Consumer {
    /// The consumer `name` of `group`, which reads `stream`: one entry at a time, under leases of 60 s. Each process has a
    /// name of its own, and the same one after a restart: it then goes on with what it had.
    pub fn new(
        server: Server,
        stream: impl Into<String>,
        group: impl Into<String>,
        name: impl Into<String>,
    ) -> Self {
        let lease = LeaseSeconds::try_from(LEASE_SECONDS_DEFAULT).expect("the default is within its bounds");
        let wait = WaitSeconds::try_from(WAIT_SECONDS_DEFAULT).expect("the default is within its bounds");
        Self {
            server,
            stream: stream.into(),
            group: group.into(),
            name: name.into(),
            concurrency: 1,
            lease,
            wait,
            max_deliveries: Some(MAX_ATTEMPTS_DEFAULT),
            pauses: [Duration::from_secs(5), Duration::from_secs(3_600)],
            dead_stream: None,
            missing: MissingGroup::default(),
            leaves: true,
            drain_limit: Duration::from_secs(30),
            grace: Duration::from_secs(5),
            undecodable: Undecodable::default(),
            on_lost: None,
            on_deleted: None,
            health: Health::new(),
        }
    }

    /// How many entries are worked on at once: 1 to 10,000.
    #[must_use]
    pub fn concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// How long an entry is left with a consumer of which nothing is heard. All consumers of a group should have the same:
    /// whoever has a shorter one takes from those with a longer one.
    #[must_use]
    pub fn lease(self, lease: LeaseSeconds) -> Self {
        Self { lease, ..self }
    }

    /// How long a read waits for entries (20 s).
    #[must_use]
    pub fn wait(self, wait: WaitSeconds) -> Self {
        Self { wait, ..self }
    }

    /// How often an entry is delivered at most, 1 to 1,000 times (10), before it is a dead letter; with none, for ever.
    #[must_use]
    pub fn max_deliveries(self, max_deliveries: Option<u32>) -> Self {
        Self { max_deliveries, ..self }
    }

    /// How long to wait before a retry that names no delay: a random part of `first` (5 s), then of twice as much, and so on
    /// up to `most` (1 h), which is at most a day. A Naven server goes by the backoff of the group's queue in place of it.
    #[must_use]
    pub fn retry_pauses(self, first: Duration, most: Duration) -> Self {
        Self { pauses: [first, most], ..self }
    }

    /// The stream of dead letters (`<stream>:dead`; in a Cluster `{<stream>}:dead`). A Naven server keeps them itself, and has no such stream.
    #[must_use]
    pub fn dead_stream(self, dead_stream: impl Into<String>) -> Self {
        Self { dead_stream: Some(dead_stream.into()), ..self }
    }

    /// What is done where the group is not there.
    #[must_use]
    pub fn missing_group(self, missing: MissingGroup) -> Self {
        Self { missing, ..self }
    }

    /// Whether the consumer is removed from its group at its end (true). That is done only where nothing is pending with
    /// it. On a Naven server none is.
    #[must_use]
    pub fn leave_group(self, leaves: bool) -> Self {
        Self { leaves, ..self }
    }

    /// How long, once told to stop, it waits for what is in flight (30 s, at most 12 h):
    /// [as over HTTP](crate::consumer::Consumer::drain_limit).
    #[must_use]
    pub fn drain_limit(self, drain_limit: Duration) -> Self {
        Self { drain_limit, ..self }
    }

    /// How long a handler that is told to stop may take for it (5 s), before it is dropped where it awaits something.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// What becomes of an entry whose fields are not what the handler takes.
    #[must_use]
    pub fn undecodable(self, undecodable: Undecodable) -> Self {
        Self { undecodable, ..self }
    }

    /// Is called once for each lease that was lost, on the executor of the handlers, to reconcile what may already have
    /// happened. The slot is free once it has returned, or after 5 s.
    #[must_use]
    pub fn on_lost(self, on_lost: impl Fn(LostEntry) + Send + Sync + 'static) -> Self {
        let on_lost = move |facts: &Facts, reason, phase| on_lost(LostEntry::new(facts, reason, phase));
        Self { on_lost: Some(Arc::new(on_lost)), ..self }
    }

    /// Is called for each entry that was found deleted, or trimmed away, while it was pending: it was acked, for nobody can
    /// read it any more. It runs on the thread that keeps the leases, and must not block.
    #[must_use]
    pub fn on_deleted(self, on_deleted: impl Fn(EntryId) + Send + Sync + 'static) -> Self {
        Self { on_deleted: Some(Arc::new(on_deleted)), ..self }
    }

    /// How it is, to be asked while it runs.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Works until `stop` comes true, then drains. Handlers run on the tokio runtime that this is called on, each as a
    /// task of its own. A server that cannot be reached is tried again for ever.
    ///
    /// Cancel safety: dropped, it ends at once. Handlers are dropped where they await something, and their entries are
    /// given back, as far as the server can still be told; nobody waits for that.
    ///
    /// # Errors
    /// [`ConsumerError::Setup`] where a setting is out of its bounds; [`ConsumerError::Refused`] where entries are refused
    /// for good, after what was in flight has drained.
    pub async fn run<T, F, R>(
        self,
        stop: impl Future<Output = ()>,
        handle: impl Fn(Entry<T>) -> F + Send + Sync + 'static,
    ) -> Result<Drained, ConsumerError>
    where
        T: FromFields + Send + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutcome,
    {
        self.check().map_err(|why| ConsumerError::Setup { why })?;
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        let (stream, group) = (self.stream.clone(), self.group.clone());
        let settings = Settings {
            concurrency: self.concurrency,
            lease: seconds(self.lease.get()),
            wait: seconds(self.wait.get()),
            drain_limit: self.drain_limit,
            grace: self.grace,
            handler: handler(handle, self.undecodable),
            on_lost: self.on_lost.clone(),
            health: self.health.clone(),
        };
        run(move || self.door(), settings, stop).await.map_err(|ended| match ended {
            Ended::Setup { why } | Ended::Refused { source: Error::Setup { why } } => {
                ConsumerError::Setup { why }
            }
            Ended::Refused { source } => ConsumerError::Refused { stream, group, source },
            Ended::Panicked { why } => ConsumerError::Panicked { why },
        })
    }

    fn dead(&self) -> String {
        let usual = || Names::dead_of(&self.stream, self.server.is_cluster());
        self.dead_stream.clone().unwrap_or_else(usual)
    }

    fn door(self) -> StreamDoor {
        let dead = self.dead();
        let names = Names::new(&self.stream, &self.group, &self.name, &dead);
        let shown = format!("{}/{}", self.stream, self.group);
        StreamDoor {
            group: Group {
                link: Link::new(self.server, &self.stream, Duration::from_secs(u64::from(self.lease.get()))),
                names,
            },
            source: Arc::new(Source { stream: self.stream, group: self.group, shown }),
            max_deliveries: self.max_deliveries,
            pauses: self.pauses,
            missing: self.missing,
            on_deleted: self.on_deleted,
            leaves: self.leaves,
            place: RefCell::new(Place::new()),
            in_work: Rc::default(),
        }
    }

    fn check(&self) -> Result<(), String> {
        let dead = self.dead_stream.as_ref().map(|name| ("stream of dead letters", name));
        let names = [("stream", &self.stream), ("group", &self.group), ("consumer", &self.name)];
        for (what, name) in names.into_iter().chain(dead) {
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
                return Err(format!(
                    "the name of a {what} has 1 to {NAME_BYTES_MAX} bytes, and not {}",
                    name.len()
                ));
            }
        }
        if self.name == WAITING {
            return Err(format!("'{WAITING}' is the name of what waits for a retry, and of no consumer"));
        }
        if self.dead_stream.as_ref() == Some(&self.stream) {
            return Err("dead letters of a stream cannot go to that stream".to_owned());
        }
        let is_beside = |name: &str| hash_tag(name) == hash_tag(&self.stream);
        if self.server.is_cluster() && !is_beside(&self.dead()) {
            return Err(format!(
                "in a Cluster the stream of dead letters has the hash tag of '{}'",
                self.stream
            ));
        }
        if self.max_deliveries.is_some_and(|most| !(1..=MAX_ATTEMPTS_MAX).contains(&most)) {
            return Err(format!("an entry is delivered 1 to {MAX_ATTEMPTS_MAX} times at most"));
        }
        if self.pauses[1] > PAUSE_MAX || self.pauses[0] > self.pauses[1] {
            return Err(
                "a pause before a retry is at most a day, and the first one is not the longest".to_owned()
            );
        }
        Ok(())
    }
}
