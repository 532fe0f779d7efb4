//! `naven consume`: any program, or any web server, as a reliable consumer.
//!
//! Lives here: its arguments, and what an exit code of the program means. Not here: running it (`consume/program.rs`),
//! a web server's part (`consume/forward.rs`), and what a consumer does (`naven_client::consumer`).

mod forward;
mod program;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgGroup, Args};
use naven_api::{ConsumerId, DelaySeconds, LeaseSeconds, Payload, WaitSeconds};
use naven_client::consumer::{Consumer, ConsumerError, Delivery, Outcome, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::connection::Access;
use crate::consume::forward::Forward;
use crate::consume::program::{Ended, Program};
use crate::exit::Failure;
use crate::print::note;
use crate::settle::seconds;
use crate::signals::Signals;

/// Exit codes of the program that have a meaning of their own, after `sysexits.h`.
const RETRY: i32 = 75;
const DEAD_LETTER: i32 = 65;

/// How often, and how far apart, it is seen whether all is given back, after a second signal.
const GIVE_BACK_LOOKS: u32 = 100;
const GIVE_BACK_PAUSE: Duration = Duration::from_millis(20);
/// How long a slot rests where the program cannot be started.
const START_PAUSE: Duration = Duration::from_secs(1);
/// Longest time that a program may have to end, in seconds.
const GRACE_SECONDS_MAX: u64 = 3_600;
/// Longest time that a request may take, in seconds.
const TIMEOUT_SECONDS_MAX: u64 = 43_200;
/// Longest time to drain, in seconds.
const DRAIN_SECONDS_MAX: u64 = 43_200;

/// Arguments of `naven consume`.
#[derive(Debug, Args)]
#[command(
    override_usage = "naven consume [OPTIONS] <QUEUE> --exec <CMD>...\n       naven consume [OPTIONS] <QUEUE> --forward-to <URL>",
    group(ArgGroup::new("worker").required(true).args(["exec", "forward_to"]))
)]
pub(crate) struct ConsumeArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    /// The program, with its arguments: everything behind this.
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true)]
    exec: Vec<String>,

    /// The web server: each event is a POST of its payload to this address.
    #[arg(long, value_name = "URL")]
    forward_to: Option<String>,

    /// How long a request to it may take (1 to 43200).
    #[arg(long, value_name = "N", default_value_t = 30, conflicts_with = "exec", value_parser = clap::value_parser!(u64).range(1..=TIMEOUT_SECONDS_MAX))]
    timeout_seconds: u64,

    /// A file with the secret that signs requests to it: whsec_ and 24 to 64 bytes in base64.
    #[arg(long, value_name = "FILE", conflicts_with = "exec")]
    secret_file: Option<PathBuf>,

    /// How many events are worked on at once (1 to 1000).
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    concurrency: u64,

    /// How long the lease holds without a heartbeat (1 to 43200).
    #[arg(long, value_name = "N", default_value = "60", value_parser = seconds::<LeaseSeconds>)]
    lease_seconds: LeaseSeconds,

    /// How long a claim waits for an event (0 to 60).
    #[arg(long, value_name = "N", default_value = "20", value_parser = seconds::<WaitSeconds>)]
    wait_seconds: WaitSeconds,

    /// When to try again after exit code 75 (0 to 315360000); by the queue's backoff where it is not given.
    #[arg(long, value_name = "N", value_parser = seconds::<DelaySeconds>)]
    retry_seconds: Option<DelaySeconds>,

    /// How long a program that was sent SIGTERM may take, before SIGKILL, and an answer that is waited for at the end.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=GRACE_SECONDS_MAX))]
    grace_seconds: u64,

    /// How long to wait at the end for what runs.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=DRAIN_SECONDS_MAX))]
    drain_seconds: u64,

    /// Who claims, for people.
    #[arg(long, value_name = "NAME")]
    consumer_id: Option<ConsumerId>,

    #[command(flatten)]
    access: Access,
}

/// Any payload: what is in it is the program's affair.
#[derive(Deserialize)]
struct Anything(#[expect(dead_code, reason = "it is handed on as it was published")] Box<RawValue>);

/// Who works on events.
enum Worker {
    Program { exec: Vec<String>, retry: Option<DelaySeconds> },
    WebServer(Forward),
}

impl Worker {
    /// The one that is asked for.
    ///
    /// # Errors
    /// Says what cannot be run, or reached by such an address: it cannot for any event.
    fn of(args: &ConsumeArgs) -> Result<Self, String> {
        if let Some(url) = &args.forward_to {
            let limit = Duration::from_secs(args.timeout_seconds);
            return Forward::new(url, args.secret_file.as_deref(), limit).map(Self::WebServer);
        }
        Program::find(&args.exec[0])?;
        Ok(Self::Program { exec: args.exec.clone(), retry: args.retry_seconds })
    }

    async fn handle(&self, delivery: &Delivery<Anything>, grace: Duration) -> Outcome {
        match self {
            Self::Program { exec, retry } => handle(delivery, exec, grace, *retry).await,
            Self::WebServer(forward) => forward.handle(delivery, grace).await,
        }
    }
}

/// Has each event worked on, until told to stop.
pub(crate) async fn run(args: ConsumeArgs) -> Result<(), Failure> {
    let client = args.access.client()?;
    let mut signals = Signals::listen()?;
    let grace = Duration::from_secs(args.grace_seconds);
    let worker = Arc::new(Worker::of(&args).map_err(Failure::usage)?);
    let mut consumer = Consumer::new(client, &args.queue)
        .concurrency(usize::try_from(args.concurrency).unwrap_or(usize::MAX))
        .lease(args.lease_seconds)
        .wait(args.wait_seconds)
        // The program is killed first, and what it says then still counts.
        .grace(grace + Duration::from_secs(1))
        .drain_limit(Duration::from_secs(args.drain_seconds));
    if let Some(name) = args.consumer_id {
        consumer = consumer.name(name);
    }
    let handle = move |delivery: Delivery<Anything>| {
        let worker = Arc::clone(&worker);
        async move { worker.handle(&delivery, grace).await }
    };
    let health = consumer.health();
    // A first signal begins the drain, and a second one ends it.
    let (drain, draining) = oneshot::channel::<()>();
    let ended = async {
        let name = signals.any().await;
        note(&format!("{name}: no further claim; waiting for what runs"));
        drop(drain);
        let name = signals.any().await;
        note(&format!("{name}: what runs is ended, and its events are given back"));
    };
    let run = consumer.run(async { drop(draining.await) }, handle);
    let drained = tokio::select! {
        drained = run => drained.map_err(|error| match error {
            ConsumerError::Setup { why } => Failure::usage(why),
            other => other.into(),
        })?,
        () = ended => {
            // Its runtime is told to by being dropped.
            for _ in 0..GIVE_BACK_LOOKS {
                if health.in_flight() == 0 {
                    break;
                }
                tokio::time::sleep(GIVE_BACK_PAUSE).await;
            }
            health.so_far()
        }
    };
    note(&format!(
        "{} done, {} not done, {} leases lost, {} left to their leases",
        drained.done, drained.not_done, drained.lost, drained.abandoned
    ));
    Ok(())
}

async fn handle(
    delivery: &Delivery<Anything>,
    exec: &[String],
    grace: Duration,
    retry: Option<DelaySeconds>,
) -> Outcome {
    let mut program = match Program::start(exec, input(delivery.raw()), &environment(delivery)) {
        Ok(program) => program,
        Err(why) => {
            // That is no fault of the event, and may be over in a moment.
            note(&format!("{} cannot be started: {why}", exec[0]));
            tokio::select! {
                () = tokio::time::sleep(START_PAUSE) => {}
                _ = delivery.cancelled() => {}
            }
            return Outcome::Release;
        }
    };
    let (ended, stopped) = tokio::select! {
        ended = program.ended() => (ended, None),
        reason = delivery.cancelled() => (program.stop(grace).await, Some(reason)),
    };
    match (ended.code, stopped) {
        (Some(0), _) => Outcome::Done,
        (Some(DEAD_LETTER), _) => Outcome::DeadLetter { error: said(&ended) },
        (Some(RETRY), _) => Outcome::Retry { error: said(&ended), delay: retry },
        // It was cut short, which is no failure of its own.
        (_, Some(StopReason::Draining | StopReason::LeaseLost)) => Outcome::Release,
        (_, _) => Outcome::Retry { error: said(&ended), delay: None },
    }
}

fn input(payload: &Payload) -> Vec<u8> {
    payload.get().as_bytes().to_vec()
}

/// What the program is told beside the payload.
fn environment(delivery: &Delivery<Anything>) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("NAVEN_EVENT_ID", delivery.event().to_string()),
        ("NAVEN_QUEUE", delivery.queue().to_owned()),
        ("NAVEN_ATTEMPT", delivery.attempt().to_string()),
        ("NAVEN_FENCE", delivery.fence().to_string()),
        ("NAVEN_SCHEDULED_AT", delivery.scheduled_at().to_string()),
        ("NAVEN_HEADERS", serde_json::to_string(delivery.headers()).unwrap_or_default()),
    ];
    if let Some(trace) = delivery.trace_context() {
        all.push(("TRACEPARENT", trace.traceparent().to_owned()));
        all.extend(trace.tracestate().map(|state| ("TRACESTATE", state.to_owned())));
    }
    all
}

/// How it ended, and what it said last.
fn said(ended: &Ended) -> String {
    let how = match ended.code {
        Some(code) => format!("exit code {code}"),
        None => format!("ended by signal {}", ended.signal.unwrap_or_default()),
    };
    let last = ended.last_words.trim_end();
    if last.is_empty() { how } else { format!("{how}: {last}") }
}
