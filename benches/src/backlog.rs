//! Claim and ack on a deep backlog, beside a shallow one.
//!
//! Lives here: two servers that are measured in turn, and what the deep one takes of memory and disk. Not
//! here: how the backlog is published (`publishing.rs`).

use std::time::Duration;

use anyhow::ensure;

use crate::arguments::Backlog;
use crate::calls::{claim_and_ack, make_queue};
use crate::connection::Connection;
use crate::figures::{self, Figures, in_ms, median};
use crate::narration::progress;
use crate::publishing::{Due, Wanted, publish};
use crate::section::Measured;
use crate::server::{Launch, Server};
use crate::table::Table;

/// Depth of the shallow backlog.
const SHALLOW: u64 = 1_000;
/// Events of one claim, and of the batch of acks after it.
const BATCH: usize = 16;
/// Claims of one turn: fewer events than are in the shallow backlog.
const CLAIMS: usize = 50;
/// Turns that each server has in a run.
const TURNS: usize = 8;
/// Until a server has done what it does after publishes.
const QUIET: Duration = Duration::from_secs(5);

/// One server and its backlog.
struct Depth {
    server: Server,
    wanted: Wanted,
    published: Duration,
}

/// What the turns of one run took.
#[derive(Default)]
struct Turns {
    pairs_ms: Vec<f64>,
    cpu: Duration,
}

pub(crate) async fn measure(launch: &Launch, args: &Backlog, runs: u32) -> anyhow::Result<Measured> {
    let bytes = args.bytes as usize;
    let shallow = Depth::fill(launch, SHALLOW, bytes).await?;
    let mut deep = Depth::fill(launch, args.events, bytes).await?;
    tokio::time::sleep(QUIET).await;
    let sizes = deep.sizes()?;
    let mut pairs = [Figures::default(), Figures::default(), Figures::default()];
    let mut cpus = [Figures::default(), Figures::default(), Figures::default()];
    for run in 1..=runs {
        let [mut of_shallow, mut of_deep] = [Turns::default(), Turns::default()];
        for _ in 0..TURNS {
            shallow.turn(&mut of_shallow).await?;
            deep.turn(&mut of_deep).await?;
        }
        let (times, cpu) =
            ([of_shallow.pair_ms(), of_deep.pair_ms()], [of_shallow.cpu_us(), of_deep.cpu_us()]);
        progress(&format!("run {run}: a pair takes {times:.3?} ms, CPU {cpu:.0?} µs"));
        for (figures, [shallow, deep]) in [(&mut pairs, times), (&mut cpus, cpu)] {
            figures[0].add(shallow);
            figures[1].add(deep);
            figures[2].add(deep / shallow);
        }
    }
    let depth = figures::grouped(args.events);
    let mut calls =
        Table::new(&["claim and ack of 16 events", "backlog 1,000", &format!("backlog {depth}"), "ratio"]);
    let columns = |what: &str, figures: &[Figures; 3], unit| {
        let [shallow, deep, ratio] = figures;
        [what.to_owned(), shallow.shown(unit), deep.shown(unit), ratio.shown(figures::times)]
    };
    calls.row(columns("time of the two calls, median", &pairs, figures::ms));
    calls.row(columns(
        "CPU of the server meanwhile, work in the background included, mean",
        &cpus,
        figures::us,
    ));
    let mut sizes = deep.size_table(args, sizes);
    if args.reopen {
        sizes.row(["kill -9 to ready".to_owned(), figures::seconds(deep.reopen().await?)]);
    }
    let how = format!(
        "Payloads of {bytes} bytes. Two servers, one for each depth, are measured in turn over a connection for each turn: {CLAIMS} \
         times claim-batch of {BATCH}, then a batch of acks; the backlog is filled up between turns. {TURNS} turns each \
         in a run; {runs} runs."
    );
    Ok(Measured { how, tables: vec![calls, sizes] })
}

impl Depth {
    async fn fill(launch: &Launch, events: u64, bytes: usize) -> anyhow::Result<Self> {
        let server = launch.start().await?;
        let mut connection = Connection::open(&server.address()).await?;
        make_queue(&mut connection, "deep").await?;
        let wanted = Wanted { queue: "deep".to_owned(), events, bytes, due: Due::Now };
        let published = publish(&server.address(), &wanted).await?;
        progress(&format!("a backlog of {events} events was published in {published:.1?}"));
        Ok(Self { server, wanted, published })
    }

    /// Claims and acks, and fills the backlog up again, which is not measured.
    async fn turn(&self, turns: &mut Turns) -> anyhow::Result<()> {
        // A connection of its own: one that was kept may have been idle for longer than the server waits.
        let mut connection = Connection::open(&self.server.address()).await?;
        let before = self.server.process().cpu()?;
        for _ in 0..CLAIMS {
            let (events, took) = claim_and_ack(&mut connection, &self.wanted.queue, BATCH).await?;
            ensure!(events == BATCH, "a claim found {events} events");
            turns.pairs_ms.push(in_ms(took));
        }
        turns.cpu += self.server.process().cpu()? - before;
        let refill = Wanted { events: (CLAIMS * BATCH) as u64, ..self.wanted.clone() };
        publish(&self.server.address(), &refill).await?;
        Ok(())
    }

    /// Bytes in RAM now and at most, and on the disk.
    fn sizes(&self) -> anyhow::Result<[f64; 3]> {
        let process = self.server.process();
        let bytes = [process.resident_bytes()?, process.resident_bytes_max()?, self.server.disk_bytes()?];
        Ok(bytes.map(|bytes| bytes as f64))
    }

    fn size_table(&self, args: &Backlog, [resident, most, disk]: [f64; 3]) -> Table {
        let events = args.events as f64;
        let each = |bytes: f64| format!("{}, {} each", figures::mib(bytes), figures::bytes(bytes / events));
        let mut table = Table::new(&["the deep backlog", "once"]);
        let rate = figures::per_second(events / self.published.as_secs_f64());
        table.row(["publish in batches of 500, 4 connections".to_owned(), rate]);
        table.row([format!("memory of the server {} s after", QUIET.as_secs()), each(resident)]);
        table.row(["memory of the server at most".to_owned(), each(most)]);
        table.row(["data folder on disk, log files made ahead included".to_owned(), each(disk)]);
        table
    }

    /// Seconds from a start after `kill -9` to the ready line.
    async fn reopen(&mut self) -> anyhow::Result<f64> {
        let took = self.server.kill_and_restart().await?;
        // It has to be a server with that backlog.
        let mut connection = Connection::open(&self.server.address()).await?;
        let (events, _) = claim_and_ack(&mut connection, &self.wanted.queue, BATCH).await?;
        ensure!(events == BATCH, "after the start a claim found {events} events");
        Ok(took.as_secs_f64())
    }
}

impl Turns {
    fn pair_ms(&self) -> f64 {
        median(&self.pairs_ms)
    }

    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.pairs_ms.len() as f64
    }
}
