//! One server's life through many kills.
//!
//! Lives here: starting it, the load, the kill, the start after it, and what is told of the run. Not
//! here: what clients do (`load.rs`) and what is asked afterwards (`audit.rs`, `drain.rs`).

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::audit::audit;
use crate::chance::Chance;
use crate::client::Client;
use crate::clock::{Clock, instant};
use crate::drain::drain;
use crate::facts::Facts;
use crate::history::Held;
use crate::load::Worker;
use crate::plan::{ATTEMPTS_PLENTY, CONNECTIONS, DELAY_SECONDS_MAX, Plan, QUEUES};
use crate::support::{Naven, Start};

pub(crate) struct Run {
    plan: Plan,
    naven: Option<Naven>,
    clock: Clock,
    facts: Mutex<Facts>,
    starts: Vec<Duration>,
    /// Calls in flight at each kill.
    cut_off: Vec<usize>,
    /// What the audits took.
    looked: Duration,
    /// What the end took.
    emptied: Duration,
    _folder: TempDir,
}

impl Run {
    /// A server on an empty folder, with the queues of the plan.
    pub(crate) fn start(plan: Plan) -> Self {
        // Beside the build, because the folder for temporary files may be in memory only.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
        let clock = Clock::of_first(instant());
        let naven = Start::serve().args(&["--redis", "off"]).folder(folder.path()).ready();
        for queue in &QUEUES {
            let backoff = json!({ "initialSeconds": 1, "factor": 2, "maxSeconds": DELAY_SECONDS_MAX });
            let request = json!({
                "name": queue.name,
                "defaultLeaseSeconds": queue.lease_seconds,
                "maxAttempts": ATTEMPTS_PLENTY,
                "backoff": backoff,
            });
            naven.client().post("/v1/event-queues", &request.to_string()).success();
        }
        Self {
            plan,
            naven: Some(naven),
            clock,
            facts: Mutex::default(),
            starts: Vec::new(),
            cut_off: Vec::new(),
            looked: Duration::ZERO,
            emptied: Duration::ZERO,
            _folder: folder,
        }
    }

    /// Load, kill, start, audit.
    pub(crate) fn cycle(&mut self, cycle: u64) {
        self.load_and_kill(cycle);
        self.start_again();
        let began = instant();
        audit(self.host(), &self.facts, self.clock, self.plan, cycle);
        self.looked += instant() - began;
        self.check(cycle);
    }

    /// Lets everything come out and closes the books.
    pub(crate) fn end(&mut self) {
        let began = instant();
        drain(self.host(), &self.facts, self.clock, self.plan);
        self.emptied = instant() - began;
        self.check(self.plan.cycles);
    }

    /// How many cycles had calls in flight at the kill.
    pub(crate) fn cycles_cut_off(&self) -> u64 {
        self.cut_off.iter().filter(|count| **count > 0).count() as u64
    }

    fn naven(&self) -> &Naven {
        self.naven.as_ref().expect("it runs but while it is started again")
    }

    fn host(&self) -> &str {
        &self.naven().http
    }

    fn load_and_kill(&mut self, cycle: u64) {
        let killing = AtomicBool::new(false);
        let mut naven = self.naven.take().expect("it runs");
        let mut hands = self.deal(cycle);
        let killed = std::thread::scope(|scope| {
            for (client, hand) in hands.drain(..).enumerate() {
                let worker = Worker {
                    client: Client::open(&naven.http, &self.facts, self.clock),
                    chance: self.plan.client(cycle, client),
                    hand,
                    is_dry: false,
                    killing: &killing,
                };
                scope.spawn(move || worker.run());
            }
            std::thread::sleep(self.plan.kill_after(cycle));
            killing.store(true, Ordering::SeqCst);
            let killed = self.clock.now();
            naven.kill();
            killed
        });
        self.naven = Some(naven);
        let mut facts = self.facts.lock().expect("a panic ends the whole test");
        let cut_off = std::mem::take(&mut facts.cut_off);
        self.cut_off.push(cut_off.iter().filter(|sent| sent.up_us < killed.up_us).count());
    }

    /// The leases of earlier cycles, for the clients of this one.
    fn deal(&self, cycle: u64) -> Vec<Vec<Held>> {
        let facts = self.facts.lock().expect("a panic ends the whole test");
        let mut open: Vec<Held> =
            facts.live.iter().filter_map(|number| facts.events[*number].open_lease()).collect();
        let mut chance = Chance::new(self.plan.seed, &[5, cycle]);
        let share = open.len().div_ceil(CONNECTIONS);
        (0..CONNECTIONS).map(|_| chance.take_some(&mut open, share)).collect()
    }

    fn start_again(&mut self) {
        let naven = self.naven.take().expect("it was there to be killed");
        let over = instant();
        let naven = naven.restart();
        let start = instant() - over;
        self.clock = self.clock.next(over, over, start);
        self.starts.push(start);
        self.naven = Some(naven);
    }

    fn check(&self, cycle: u64) {
        let facts = self.facts.lock().expect("a panic ends the whole test");
        if facts.faults.is_empty() {
            return;
        }
        let count = facts.faults.len();
        let first = facts.faults.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("\n\n");
        panic!(
            "seed {}, cycle {cycle}: {count} faults, of which the first are:\n{first}\n\n\
             the last unanswered claims: {:#?}\nthe server's log:\n{}",
            self.plan.seed,
            facts.strays.iter().rev().take(12).collect::<Vec<_>>(),
            self.naven().stderr()
        );
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = self.facts.lock().expect("a panic ends the whole test");
        let total: u64 = facts.answered.values().sum();
        writeln!(f, "cycles: {}, of which {} had calls in flight", self.starts.len(), self.cycles_cut_off())?;
        writeln!(f, "calls answered: {total} {:?}", facts.answered)?;
        let cut_off: usize = self.cut_off.iter().sum();
        let nobody: u64 = facts.events.iter().map(|event| event.fence_seen - event.holds.len() as u64).sum();
        writeln!(f, "calls in flight at kills: {cut_off}; leases that went to nobody: {nobody}")?;
        let there = facts.events.iter().filter(|event| event.id.is_some()).count();
        let unknown = facts.events.iter().filter(|event| event.id.is_some() && !event.answered).count();
        writeln!(f, "events: {there}, of which {unknown} came of a publish that was not answered")?;
        let mut starts = self.starts.clone();
        starts.sort_unstable();
        let at = |share: usize| starts.get((starts.len() * share).div_ceil(100).saturating_sub(1));
        let ms = |start: Option<&Duration>| start.map_or(0, Duration::as_millis);
        writeln!(
            f,
            "start after a kill: p50 {} ms, p99 {} ms (goal: under 2000 ms), longest {} ms",
            ms(at(50)),
            ms(at(99)),
            ms(starts.last())
        )?;
        let (looked, emptied) = (self.looked, self.emptied);
        writeln!(f, "audits took {looked:.1?}, emptying the queues and closing the books {emptied:.1?}")?;
        write!(f, "lost: 0, acked and delivered again: 0")
    }
}
