//! A consumer that keeps its leases, repeats lost acks, and stops where a lease is lost.
//!
//! Lives here: the loop of `docs/consumers.md`. Not here: concurrency (start several).
//! `NAVEN_API_KEY=nvk_… cargo run -p naven-client --example consumer -- http://127.0.0.1:7480 demo`

use std::time::Duration;

use naven_client::{ClaimReply, ClaimRequest, ClaimedEvent, Client, Error, LeaseSeconds, Nack};
use tokio::time::{Instant, sleep, timeout};

const LEASE_SECONDS: u32 = 60;
const SETTLE_TRIES: u32 = 8;

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "an example reads its settings where it needs them")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (url, queue) = (args.next().ok_or("which server?")?, args.next().ok_or("which queue?")?);
    let client = Client::new(&url, &std::env::var("NAVEN_API_KEY")?)?;
    let lease_seconds = Some(LeaseSeconds::try_from(LEASE_SECONDS)?);
    let request = ClaimRequest { lease_seconds, ..ClaimRequest::default() };
    let mut failures = 0;
    loop {
        match client.claim(&queue, &request).await {
            Ok(claim) => {
                failures = 0;
                if let Some(claim) = claim {
                    process(&client, &claim).await;
                }
            }
            Err(error) => {
                failures += 1;
                tell(format!("claim: {error}"));
                sleep(pause(failures, &error)).await;
            }
        }
    }
}

/// The work. It is dropped at an `.await` when the lease is lost; the next delivery finds out by the
/// event's id what was done, and its higher `delivery_count` outranks what this one still has under way.
async fn handle(event: &ClaimedEvent) -> Result<(), String> {
    tell(format!("{} {} {}", event.id, event.delivery_count, event.payload.get()));
    Ok(())
}

async fn process(client: &Client, claim: &ClaimReply) {
    let outcome = tokio::select! {
        outcome = handle(&claim.event) => outcome,
        why = lease_lost(client, claim) => {
            return tell(format!("{}: the lease is lost: {why}", claim.event.id));
        }
    };
    // The same word until it is answered: repeated with the same token it is taken once. Never the
    // other word: after an ack whose answer was lost, a nack is wrong.
    for failures in 1..=SETTLE_TRIES {
        let reply = match &outcome {
            Ok(()) => client.ack(claim.event.id, &claim.lease_token).await.map(drop),
            Err(why) => {
                let nack = Nack::failed(why.as_str());
                client.nack(claim.event.id, &claim.lease_token, &nack).await.map(drop)
            }
        };
        let Err(error) = reply else { return };
        tell(format!("{}: {error}", claim.event.id));
        if error.is_lease_gone() {
            return;
        }
        sleep(pause(failures, &error)).await;
    }
}

/// Sends one heartbeat after the other, every third of the lease; returns when the lease is gone, or
/// may be by this machine's clock.
async fn lease_lost(client: &Client, claim: &ClaimReply) -> String {
    let lease = Duration::from_secs(u64::from(LEASE_SECONDS));
    // A tenth is left for the way of the answer.
    let safe = lease.mul_f64(0.9);
    let lease_seconds = LeaseSeconds::try_from(LEASE_SECONDS).ok();
    let mut lease_ends = Instant::now() + safe;
    let mut wait = lease / 3;
    loop {
        sleep(wait).await;
        let sent = Instant::now();
        let beat = client.heartbeat(claim.event.id, &claim.lease_token, lease_seconds);
        wait = match timeout(lease_ends.saturating_duration_since(sent), beat).await {
            Ok(Ok(_)) => {
                lease_ends = sent + safe;
                lease / 3
            }
            Ok(Err(error)) if error.is_lease_gone() => return error.to_string(),
            Ok(Err(_)) if Instant::now() + Duration::from_secs(1) < lease_ends => Duration::from_secs(1),
            Ok(Err(error)) => return format!("no heartbeat got through: {error}"),
            Err(_) => return "no heartbeat was answered in time".to_owned(),
        };
    }
}

/// Grows from 1 s to about 1 min, and is never below what the server asks for. Many consumers that
/// start together should add some jitter of their own.
fn pause(failures: u32, error: &Error) -> Duration {
    let grown = Duration::from_secs(1 << (failures - 1).min(6));
    grown.max(error.retry_after().unwrap_or_default())
}

#[expect(clippy::print_stderr, reason = "an example has no log")]
fn tell(text: String) {
    eprintln!("{text}");
}
