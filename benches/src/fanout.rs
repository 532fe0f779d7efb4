//! One publish, many queues of one stream.
//!
//! Lives here: two servers, one whose stream has one queue and one whose stream has many, measured in
//! turn. Not here: what the queues do with the events.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::arguments::Fanout;
use crate::calls::make_queue_on;
use crate::clock::now;
use crate::connection::{Address, Connection};
use crate::figures::{self, Figures};
use crate::narration::progress;
use crate::publishing::payload;
use crate::random::Random;
use crate::section::Measured;
use crate::server::{Launch, Server};
use crate::table::Table;

/// Connections that publish at the same time, one event after the other.
const CONNECTIONS: u64 = 4;
/// Length of a payload where CPU and time are measured.
const SMALL_BYTES: usize = 256;
/// Length of a payload where bytes on disk are: long enough for what is beside it to matter little.
const LARGE_BYTES: usize = 16 << 10;
/// Different payloads that are used in turn.
const PAYLOADS: usize = 256;
/// CPU is read so long after the last answer: work that was put off belongs to the publishes as well.
const QUIET: Duration = Duration::from_secs(2);

const PATH: &str = "/v1/streams/shared/events";

/// Costs of a publish, in each run: of one queue, of many, and their ratio.
#[derive(Default)]
struct Costs([Figures; 3]);

/// What the publishes of one turn took.
struct Turn {
    /// Microseconds a publish.
    cpu_us: f64,
    /// Milliseconds that a caller waits for an answer, on average.
    call_ms: f64,
    /// Publishes in a second.
    rate: f64,
    /// Bytes that the server wrote for each byte of payload.
    written: f64,
}

pub(crate) async fn measure(launch: &Launch, args: &Fanout, runs: u32) -> anyhow::Result<Measured> {
    let one = with_queues(launch, 1).await?;
    let many = with_queues(launch, args.queues).await?;
    let [mut cpu, mut call, mut rate, mut written, mut grown]: [Costs; 5] = Default::default();
    let before = [one.disk_bytes()? as f64, many.disk_bytes()? as f64];
    for run in 1..=runs {
        let small =
            [turn(&one, args.events, SMALL_BYTES).await?, turn(&many, args.events, SMALL_BYTES).await?];
        let large =
            [turn(&one, args.events, LARGE_BYTES).await?, turn(&many, args.events, LARGE_BYTES).await?];
        progress(&format!("run {run}: CPU {:.0} and {:.0} µs a publish", small[0].cpu_us, small[1].cpu_us));
        cpu.add(small.each_ref().map(|turn| turn.cpu_us));
        call.add(small.each_ref().map(|turn| turn.call_ms));
        rate.add(small.each_ref().map(|turn| turn.rate));
        written.add(large.map(|turn| turn.written));
    }
    let published = f64::from(runs) * args.events as f64 * (SMALL_BYTES + LARGE_BYTES) as f64;
    let grown_by = [one.disk_bytes()? as f64 - before[0], many.disk_bytes()? as f64 - before[1]];
    grown.add(grown_by.map(|bytes| bytes / published));
    let queues = format!("{} queues", args.queues);
    let mut table = Table::new(&["a publish to", "1 queue", &queues, "ratio"]);
    table.row(cpu.row("CPU of the server", figures::us));
    table.row(call.row("time of the call, mean", figures::ms));
    table.row(rate.row("publishes, 4 connections", figures::per_second));
    table.row(written.row("bytes written for a byte of payload", figures::times));
    table.row(grown.row("data folder's growth for a byte of payload, all runs together", figures::times));
    let how = format!(
        "Two servers, measured in turn: a stream with one queue, and one with {}. {} publishes in a turn, one at a time on \
         each of {CONNECTIONS} connections; payloads of {SMALL_BYTES} bytes for CPU and time, of {LARGE_BYTES} bytes for \
         what is stored. Figures on the server are read {} s after the last answer. Bytes written count log, tables and \
         the zeros of new log files; the folder grows by whole log files, which are made ahead. {runs} runs.",
        args.queues,
        figures::grouped(args.events),
        QUIET.as_secs(),
    );
    Ok(Measured { how, tables: vec![table] })
}

/// A fresh server with a stream that so many queues read.
async fn with_queues(launch: &Launch, queues: usize) -> anyhow::Result<Server> {
    let server = launch.start().await?;
    let mut connection = Connection::open(&server.address()).await?;
    for number in 0..queues {
        make_queue_on(&mut connection, &format!("reader-{number}"), "shared").await?;
    }
    Ok(server)
}

/// Publishes, and counts what it took.
async fn turn(server: &Server, events: u64, bytes: usize) -> anyhow::Result<Turn> {
    let mut random = Random::seeded(bytes as u64);
    let body = |_| format!(r#"{{"payload":{}}}"#, payload(&mut random, bytes));
    let bodies: Arc<[String]> = (0..PAYLOADS).map(body).collect();
    let process = server.process();
    let (cpu, written) = (process.cpu()?, process.written_bytes()?);
    let mut publishers = JoinSet::new();
    let began = now();
    for number in 0..CONNECTIONS {
        let share = events / CONNECTIONS + u64::from(number < events % CONNECTIONS);
        publishers.spawn(publish(server.address(), Arc::clone(&bodies), share));
    }
    let mut calls = Duration::ZERO;
    while let Some(took) = publishers.join_next().await {
        calls += took??;
    }
    let took = began.elapsed();
    tokio::time::sleep(QUIET).await;
    let published = (events * bytes as u64) as f64;
    Ok(Turn {
        cpu_us: (process.cpu()? - cpu).as_secs_f64() * 1e6 / events as f64,
        call_ms: figures::in_ms(calls) / events as f64,
        rate: events as f64 / took.as_secs_f64(),
        written: (process.written_bytes()? - written) as f64 / published,
    })
}

/// Publishes one event after the other; how long all of them took together.
async fn publish(address: Address, bodies: Arc<[String]>, events: u64) -> anyhow::Result<Duration> {
    let mut connection = Connection::open(&address).await?;
    let began = now();
    for body in bodies.iter().cycle().take(events as usize) {
        connection.done(PATH, body.as_bytes()).await?;
    }
    Ok(began.elapsed())
}

impl Costs {
    fn add(&mut self, [one, many]: [f64; 2]) {
        self.0[0].add(one);
        self.0[1].add(many);
        // A folder that did not grow at all has no ratio.
        if one > 0.0 {
            self.0[2].add(many / one);
        }
    }

    fn row(&self, what: &str, unit: fn(f64) -> String) -> [String; 4] {
        let [one, many, ratio] = &self.0;
        [what.to_owned(), one.shown(unit), many.shown(unit), ratio.shown(figures::times)]
    }
}
