//! The guarantees, each as one check.
//!
//! Lives here: what is done and what must come back. Not here: how it is reported (`command.rs`).

use std::time::Duration;

use anyhow::{Context, ensure};
use naven_api::{ErrorCode, LeaseSeconds, LeaseToken};
use naven_client::{Error, Nack};

use super::bench::Bench;
use super::throwaway::Throwaway;

/// A lease long enough not to end during a check, in seconds.
const LONG_LEASE: u32 = 60;
/// Long enough for a clock of milliseconds to go on.
const A_MOMENT: Duration = Duration::from_millis(20);
/// Events of the check that kills the server.
const EVENTS: usize = 12;

/// One event goes through, byte for byte.
pub(crate) async fn main_path(bench: &Bench) -> anyhow::Result<()> {
    let queue = bench.queue().await?;
    let published = queue.publish().await?;
    let claim = queue.claim(LONG_LEASE, 5).await?;
    ensure!(claim.event.id == published.id, "another event came than was published");
    ensure!(claim.event.attempt_count == 1, "the first delivery is attempt {}", claim.event.attempt_count);

    // Of the same length, so that it must be counted from now.
    tokio::time::sleep(A_MOMENT).await;
    let same = LeaseSeconds::try_from(LONG_LEASE)?;
    let beat = bench.client.heartbeat(claim.event.id, &claim.lease_token, Some(same)).await;
    let lease_end = beat.context("heartbeat")?.lease_expires_at.context("a heartbeat without a lease")?;
    ensure!(lease_end > claim.lease_expires_at, "the heartbeat did not extend the lease");

    let forged = bench.client.ack(claim.event.id, &forged(&claim.lease_token)).await;
    refused(forged, ErrorCode::LeaseLost).context("an ack with another last character in its token")?;
    let acked = bench.client.ack(claim.event.id, &claim.lease_token).await.context("ack")?;
    ensure!(acked.state == "done" && !acked.replayed, "the ack answered {acked:?}");
    let state = bench.client.event(claim.event.id).await.context("event")?.state;
    ensure!(state.as_deref() == Some("done"), "after the ack the event is {state:?}");
    queue.remove().await
}

/// A lease that ends hands the event to one other consumer, and the old token is worth nothing; nor is
/// it where nobody else has the event yet. What was acked meanwhile is still known.
pub(crate) async fn expiry(bench: &Bench) -> anyhow::Result<()> {
    let lonely = bench.queue().await?;
    lonely.publish().await?;
    let finished = lonely.claim(LONG_LEASE, 5).await?;
    bench.client.ack(finished.event.id, &finished.lease_token).await.context("ack")?;
    lonely.publish().await?;
    let late = lonely.claim(1, 5).await?;

    let queue = bench.queue().await?;
    queue.publish().await?;
    let first = queue.claim(1, 5).await?;
    let second = queue.claim(LONG_LEASE, 10).await.context("after the lease")?;
    ensure!(second.event.id == first.event.id, "another event came after the lease");
    ensure!(
        (second.event.attempt_count, second.event.expiry_count) == (2, 1),
        "the second delivery is attempt {}, expiries {}",
        second.event.attempt_count,
        second.event.expiry_count
    );
    ensure!(second.event.delivery_count > first.event.delivery_count, "the fencing number did not rise");
    queue.is_empty().await.context("while the second consumer has the event")?;

    let stale = bench.client.ack(first.event.id, &first.lease_token).await;
    refused(stale, ErrorCode::LeaseLost).context("the first consumer's ack")?;
    bench.client.ack(second.event.id, &second.lease_token).await.context("the second consumer's ack")?;
    queue.remove().await?;

    // This lease began before that one, so it is over too.
    let stale = bench.client.ack(late.event.id, &late.lease_token).await;
    refused(stale, ErrorCode::LeaseExpired).context("a late ack while nobody else has the event")?;
    let again = bench.client.ack(finished.event.id, &finished.lease_token).await;
    ensure!(again.context("an ack again after a second")?.replayed, "it was not known to be acked");
    lonely.remove().await
}

/// The same ack again is a success; a nack after it brings nothing back.
pub(crate) async fn repeated_ack(bench: &Bench) -> anyhow::Result<()> {
    let queue = bench.queue().await?;
    queue.publish().await?;
    let claim = queue.claim(LONG_LEASE, 5).await?;
    let (event, token) = (claim.event.id, &claim.lease_token);
    bench.client.ack(event, token).await.context("the first ack")?;
    let again = bench.client.ack(event, token).await.context("the second ack")?;
    ensure!(again.state == "done" && again.replayed, "the second ack answered {again:?}");
    let nack = bench.client.nack(event, token, &Nack::failed("the answer was lost")).await;
    refused(nack, ErrorCode::LeaseSettled).context("a nack after the ack")?;
    let done = bench.client.queue(&queue.name).await.context("the queue")?.counts.done;
    ensure!(done == 1, "after two acks of one event {done} are done");
    queue.is_empty().await.context("after the ack")?;
    queue.remove().await
}

/// The last attempt's failure is a dead letter; a redrive begins anew, without the old token.
pub(crate) async fn last_attempt(bench: &Bench) -> anyhow::Result<()> {
    let queue = bench.queue_of_attempts(Some(1)).await?;
    queue.publish().await?;
    let claim = queue.claim(LONG_LEASE, 5).await?;
    let (event, token) = (claim.event.id, &claim.lease_token);
    let failed = bench.client.nack(event, token, &Nack::failed("on purpose")).await.context("nack")?;
    ensure!(failed.state == "dead", "after its only attempt the event is {}", failed.state);
    bench.client.redrive(event).await.context("redrive")?;
    let old = bench.client.nack(event, token, &Nack::failed("once more")).await;
    refused(old, ErrorCode::LeaseLost).context("the token from before the redrive")?;
    let again = queue.claim(LONG_LEASE, 5).await.context("after the redrive")?;
    ensure!(again.event.id == event, "another event came than was redriven");
    bench.client.ack(event, &again.lease_token).await.context("ack")?;
    queue.remove().await
}

/// Everything answered before `kill -9` still holds after it: acks are final, leases live on with
/// their tokens, what waited still waits.
pub(crate) async fn survives_a_kill(server: &mut Throwaway) -> anyhow::Result<()> {
    let bench = Bench::new(server.client()?);
    let queue = bench.queue().await?;
    let mut unclaimed = Vec::new();
    for _ in 0..EVENTS {
        unclaimed.push(queue.publish().await?.id);
    }
    let mut claims = Vec::new();
    for _ in 0..EVENTS * 2 / 3 {
        claims.push(queue.claim(LONG_LEASE, 5).await?);
    }
    unclaimed.retain(|id| claims.iter().all(|claim| claim.event.id != *id));
    let leased = claims.split_off(EVENTS / 3);
    for claim in &claims {
        bench.client.ack(claim.event.id, &claim.lease_token).await.context("ack")?;
    }
    let name = queue.name;

    server.kill_and_restart().await?;
    let bench = Bench::new(server.client()?);
    let queue = super::bench::TestQueue { client: &bench.client, name };
    for claim in &claims {
        let state = bench.client.event(claim.event.id).await.context("an acked event")?.state;
        ensure!(state.as_deref() == Some("done"), "an acked event is {state:?} after the restart");
    }
    for claim in &leased {
        let acked = bench.client.ack(claim.event.id, &claim.lease_token).await;
        let acked = acked.context("the ack of a lease from before the kill")?;
        ensure!(!acked.replayed, "an event that nobody acked was done");
    }
    while !unclaimed.is_empty() {
        let claim = queue.claim(LONG_LEASE, 5).await.context("events that waited")?;
        let at = unclaimed.iter().position(|id| *id == claim.event.id);
        unclaimed.swap_remove(at.context("an event came twice, or one that was done")?);
    }
    queue.is_empty().await.context("after every event was delivered")
}

/// A token of the right form that nobody was handed.
fn forged(token: &LeaseToken) -> LeaseToken {
    let (rest, last) = token.reveal().split_at(token.reveal().len().saturating_sub(1));
    LeaseToken::new(format!("{rest}{}", if last == "A" { 'Q' } else { 'A' }))
}

fn refused<T: std::fmt::Debug>(reply: Result<T, Error>, expected: ErrorCode) -> anyhow::Result<()> {
    match reply {
        Ok(reply) => anyhow::bail!("expected {expected}, and it was taken: {reply:?}"),
        Err(error) if error.code() == Some(expected) => Ok(()),
        Err(error) => Err(anyhow::Error::new(error).context(format!("expected {expected}"))),
    }
}
