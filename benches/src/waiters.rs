//! Claims that wait: what they cost while nothing comes, and how soon an event reaches one.
//!
//! Lives here: the crowd, the idle watch and the paced publishes. Not here: how figures are shown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::arguments::Waiters;
use crate::calls::{LEASE_SECONDS, make_queue};
use crate::clock::now;
use crate::connection::{Address, Connection};
use crate::figures::{self, Figures, in_ms, percentile};
use crate::narration::progress;
use crate::random::Random;
use crate::section::Measured;
use crate::server::{Launch, Server};
use crate::table::Table;

/// A claim waits so many seconds at least, and at most: chosen anew each time.
const WAIT_SECONDS: (u64, u64) = (30, 60);
/// Connections that publish in turn.
const PUBLISHERS: usize = 4;
/// How long every event may take to reach a claim.
const PATIENCE: Duration = Duration::from_secs(60);
/// Looks until everybody waits, half a second apart.
const LOOKS: usize = 240;

/// An event by its number, and when its claim was answered.
type Woken = (usize, Instant);

pub(crate) async fn measure(launch: &Launch, args: &Waiters, runs: u32) -> anyhow::Result<Measured> {
    let server = launch.start().await?;
    let (sender, mut woken) = mpsc::channel(1_024);
    // Dropped at the end, it ends everybody in it.
    let _crowd = gather(&server, args, &sender).await?;
    let (mut idle, mut p50, mut p99, mut longest) =
        (Figures::default(), Figures::default(), Figures::default(), Figures::default());
    for run in 1..=runs {
        until_all_wait(&server, args.claims).await?;
        let percent = idle_percent(&server, args.idle).await?;
        let waits = wake(&server, args, &mut woken).await?;
        let figures = [percentile(&waits, 50), percentile(&waits, 99), percentile(&waits, 100)];
        progress(&format!("run {run}: idle {percent:.2} % of a core, p50, p99 and longest {figures:.2?} ms"));
        idle.add(percent);
        p50.add(figures[0]);
        p99.add(figures[1]);
        longest.add(figures[2]);
    }
    let mut table = Table::new(&["what", "median (smallest to largest)"]);
    table.row(["CPU of the idle server, of one core".to_owned(), idle.shown(figures::percent)]);
    table.row(["publish sent to claim answered, p50".to_owned(), p50.shown(figures::ms)]);
    table.row(["publish sent to claim answered, p99".to_owned(), p99.shown(figures::ms)]);
    table.row(["publish sent to claim answered, longest".to_owned(), longest.shown(figures::ms)]);
    let resident = server.process().resident_bytes()? as f64;
    table.row(["memory of the server at the end".to_owned(), figures::mib(resident)]);
    let how = format!(
        "{} claims wait on {} queues, a connection each, {} to {} s at a time. A run watches the idle server for {} s, \
         then publishes {} events, {} a second. {runs} runs.",
        figures::grouped(args.claims as u64),
        args.queues,
        WAIT_SECONDS.0,
        WAIT_SECONDS.1,
        args.idle,
        figures::grouped(args.events as u64),
        args.rate,
    );
    Ok(Measured { how, tables: vec![table] })
}

async fn gather(
    server: &Server,
    args: &Waiters,
    woken: &mpsc::Sender<Woken>,
) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let mut admin = Connection::open(&server.address()).await?;
    for queue in 0..args.queues {
        make_queue(&mut admin, &queue_name(queue)).await?;
    }
    let mut crowd = JoinSet::new();
    for number in 0..args.claims {
        let connection = Connection::open(&server.address()).await?;
        let queue = queue_name(number % args.queues);
        crowd.spawn(wait_on(connection, queue, Random::seeded(number as u64), woken.clone()));
    }
    Ok(crowd)
}

fn queue_name(number: usize) -> String {
    format!("q{number}")
}

/// Claims again and again, and tells of each event.
async fn wait_on(
    mut connection: Connection,
    queue: String,
    mut random: Random,
    woken: mpsc::Sender<Woken>,
) -> anyhow::Result<()> {
    let path = format!("/v1/event-queues/{queue}/claim");
    loop {
        let wait = WAIT_SECONDS.0 + random.below(WAIT_SECONDS.1 - WAIT_SECONDS.0 + 1);
        let body = json!({ "leaseSeconds": LEASE_SECONDS, "waitSeconds": wait }).to_string();
        let answer = connection.call("POST", &path, body.as_bytes()).await?;
        let at = now();
        let data = answer.data()?;
        if !data.is_null() {
            let number = data["event"]["payload"]["n"].as_u64().context("a number in the payload")?;
            woken.send((number as usize, at)).await?;
        }
    }
}

/// Some are always between two claims.
async fn until_all_wait(server: &Server, claims: usize) -> anyhow::Result<()> {
    let mut connection = Connection::open(&server.address()).await?;
    let mut waiting = 0;
    for _ in 0..LOOKS {
        let system = connection.call("GET", "/v1/system", b"").await?.data()?;
        waiting = system["waiters"]["claims"].as_u64().context("the system counts its waiters")?;
        if waiting as usize >= claims - claims / 100 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    anyhow::bail!("{waiting} of {claims} claims wait")
}

/// CPU that the server uses while nothing is published, in percent of one core.
async fn idle_percent(server: &Server, seconds: u64) -> anyhow::Result<f64> {
    let (began, before) = (now(), server.process().cpu()?);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let used = server.process().cpu()? - before;
    Ok(100.0 * used.as_secs_f64() / began.elapsed().as_secs_f64())
}

/// Publishes at the pace that was asked for; milliseconds until each event's claim was answered.
async fn wake(
    server: &Server,
    args: &Waiters,
    woken: &mut mpsc::Receiver<Woken>,
) -> anyhow::Result<Vec<f64>> {
    let mut publishers = JoinSet::new();
    for number in 0..PUBLISHERS {
        let numbers = (number..args.events).step_by(PUBLISHERS).collect();
        let begin = Duration::from_secs_f64(number as f64 / args.rate as f64);
        let pace = Duration::from_secs_f64(PUBLISHERS as f64 / args.rate as f64);
        let queues = args.queues;
        publishers.spawn(publish(server.address(), numbers, queues, begin, pace));
    }
    let mut answered: Vec<Option<Instant>> = vec![None; args.events];
    for _ in 0..args.events {
        let (number, at) = tokio::time::timeout(PATIENCE, woken.recv())
            .await
            .context("an event did not reach any claim")?
            .context("the crowd has ended")?;
        let place = answered.get_mut(number).context("a number that nobody published")?;
        ensure!(place.replace(at).is_none(), "event {number} was delivered twice");
    }
    let mut waits = Vec::new();
    while let Some(sent) = publishers.join_next().await {
        for (number, sent) in sent?? {
            let at = answered[number].context("every event was answered")?;
            waits.push(in_ms(at.saturating_duration_since(sent)));
        }
    }
    Ok(waits)
}

/// Publishes these events one after the other; when each was sent.
async fn publish(
    address: Address,
    numbers: Vec<usize>,
    queues: usize,
    begin: Duration,
    pace: Duration,
) -> anyhow::Result<Vec<Woken>> {
    let mut connection = Connection::open(&address).await?;
    tokio::time::sleep(begin).await;
    let mut beat = tokio::time::interval(pace);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let paths: Arc<[String]> =
        (0..queues).map(|queue| format!("/v1/event-queues/{}/events", queue_name(queue))).collect();
    let mut sent = Vec::with_capacity(numbers.len());
    for number in numbers {
        beat.tick().await;
        let body = format!(r#"{{"payload":{{"n":{number}}}}}"#);
        sent.push((number, now()));
        connection.done(&paths[number % queues], body.as_bytes()).await?;
    }
    Ok(sent)
}
