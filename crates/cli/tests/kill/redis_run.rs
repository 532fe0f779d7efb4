//! The Redis door through many kills: the load, the kill, the start after it, the audit.
//!
//! Lives here: one server's life, and what is told of it. Not here: what clients do (`redis_load.rs`) and
//! what is asked afterwards (`redis_audit.rs`).

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use tempfile::TempDir;

use crate::chance::Chance;
use crate::clock::instant;
use crate::plan::Plan;
use crate::redis_audit::audit;
use crate::redis_books::{Books, GROUPS, Id, STREAM, entries};
use crate::redis_load::Worker;
use crate::redis_wire::Wire;
use crate::support::{Naven, Reply, Start};

/// Connections that add.
const ADDERS: usize = 2;
/// Connections that read, for each group.
const READERS: usize = 2;

pub(crate) struct RedisRun {
    plan: Plan,
    naven: Option<Naven>,
    books: Mutex<Books>,
    seen: Option<Id>,
    starts: Vec<Duration>,
    looked: Duration,
    _folder: TempDir,
}

impl RedisRun {
    /// A server on an empty folder, with a stream and its groups.
    pub(crate) fn start(plan: Plan) -> Self {
        // Beside the build, because the folder for temporary files may be in memory only.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk");
        let naven = Start::serve().folder(folder.path()).ready();
        let mut wire = Wire::open(&place(&naven)).expect("a server that is ready takes connections");
        for group in GROUPS {
            wire.call(&["XGROUP", "CREATE", STREAM, group, "0", "MKSTREAM"]).expect("it lives");
        }
        Self {
            plan,
            naven: Some(naven),
            books: Mutex::default(),
            seen: None,
            starts: Vec::new(),
            looked: Duration::ZERO,
            _folder: folder,
        }
    }

    /// Load, kill, start, audit.
    pub(crate) fn cycle(&mut self, cycle: u64) {
        let mut naven = self.naven.take().expect("it runs");
        self.load_and_kill(cycle, &mut naven);
        let over = instant();
        let naven = naven.restart();
        let started = instant();
        self.starts.push(started - over);
        let books = self.books.get_mut().expect("a panic ends the whole test");
        self.seen = audit(&mut open(&naven), books, self.seen);
        self.looked += instant() - started;
        self.naven = Some(naven);
    }

    fn load_and_kill(&self, cycle: u64, naven: &mut Naven) {
        let place = place(naven);
        let worker = |number: usize| Worker {
            wire: Wire::open(&place).expect("a server that is ready takes connections"),
            books: &self.books,
            chance: self.plan.client(cycle, number),
        };
        std::thread::scope(|scope| {
            for adder in 0..ADDERS {
                let worker = worker(adder);
                scope.spawn(move || worker.add_on());
            }
            for reader in 0..READERS * GROUPS.len() {
                let worker = worker(ADDERS + reader);
                scope.spawn(move || worker.read_on(reader % GROUPS.len(), &format!("reader{reader}")));
            }
            let pause = Chance::new(self.plan.seed, &[6, cycle]).between(10, 250);
            std::thread::sleep(Duration::from_millis(pause));
            naven.kill();
        });
    }

    /// Everything is looked at once more, read and acked: then nothing is left.
    pub(crate) fn end(&mut self) {
        let naven = self.naven.as_ref().expect("it runs");
        let books = self.books.get_mut().expect("a panic ends the whole test");
        let mut wire = open(naven);
        audit(&mut wire, books, None);
        for (group, name) in books.groups.iter_mut().zip(GROUPS) {
            loop {
                let words = ["XREADGROUP", "GROUP", name, "last", "COUNT", "500", "STREAMS", STREAM, ">"];
                let reply = wire.call(&words).expect("a server that lives answers");
                let Reply::List(streams) = &reply else { break };
                group.given(&entries(&streams[0].list()[1]), "last");
            }
            let ids: Vec<Id> = group.held.keys().copied().collect();
            for id in ids {
                let acked = wire.call(&["XACK", STREAM, name, &id.to_string()]).expect("it lives");
                assert_eq!(acked, Reply::Number(1), "{id} of {name}");
                group.held.remove(&id);
                group.acked.insert(id);
            }
            assert!(group.acked.iter().eq(books.added.keys()), "{name} was given every entry");
            let left = wire.call(&["XPENDING", STREAM, name]).expect("it lives");
            assert_eq!(left.list()[0], Reply::Number(0), "{name}: {left:?}");
        }
    }

    /// How many cycles had calls under way at the kill.
    pub(crate) fn cycles_cut_off(&self) -> u64 {
        self.books.lock().expect("a panic ends the whole test").cycles_cut_off
    }
}

fn place(naven: &Naven) -> String {
    let place = naven.ready.split(' ').find_map(|part| part.strip_prefix("redis="));
    place.expect("the ready line names the Redis door").to_owned()
}

fn open(naven: &Naven) -> Wire {
    Wire::open(&place(naven)).expect("a server that is ready takes connections")
}

impl fmt::Display for RedisRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let books = self.books.lock().expect("a panic ends the whole test");
        writeln!(f, "cycles: {}, {} with calls under way", self.starts.len(), books.cycles_cut_off)?;
        writeln!(f, "calls answered: {:?}; entries: {}", books.answered, books.added.len())?;
        writeln!(
            f,
            "under way at kills [adds, reads, entries to ack, entries to claim]: {:?}; of them came true \
             [entries added, handed out, acked, claimed]: {:?}",
            books.cut_off, books.came_true
        )?;
        let mut starts = self.starts.clone();
        starts.sort_unstable();
        let middle = starts.get(starts.len() / 2).map_or(0, Duration::as_millis);
        let longest = starts.last().map_or(0, Duration::as_millis);
        write!(
            f,
            "start after a kill: p50 {middle} ms, longest {longest} ms; audits took {:.1?}",
            self.looked
        )
    }
}
