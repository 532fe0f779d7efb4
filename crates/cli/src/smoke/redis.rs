//! The guarantees of the Redis door, each as one check.
//!
//! Lives here: what is done over both doors and what must come back. Not here: connecting (`door.rs`).

use anyhow::{Context, ensure};
use naven_api::LeaseSeconds;
use naven_client::{ClaimRequest, EventId};

use super::bench::{Bench, TestQueue};
use super::door::{Door, Talk, flat};
use super::throwaway::Throwaway;

/// Fields of an entry, and the object that they are over HTTP.
const FIELDS: &str = "from naven-smoke digits 1.50";
const FIELDS_OVER_HTTP: &str = r#"{"from":"naven-smoke","digits":"1.50"}"#;
/// The bench's payload as fields and values.
const PAYLOAD_OVER_REDIS: &str = "from naven smoke digits 1.50 name a name b";
const LEASE_SECONDS: u32 = 60;
const CONSUMER: &str = "naven-smoke";
/// Entries of the check that kills the server.
const ENTRIES: u32 = 6;

/// What XADD wrote is claimed and acked over HTTP; what HTTP published is read and acked over Redis.
pub(crate) async fn both_doors(bench: &Bench, door: &Door) -> anyhow::Result<()> {
    let queue = bench.queue().await?;
    let mut redis = door.talk().await?;
    // A queue is the group of its own name, on the stream of that name.
    let name = queue.name.clone();
    let place = flat(&redis.ask(&format!("XADD {name} * {FIELDS}")).await?);
    claimed_over_http(bench, &queue, &place).await.context("an XADD")?;
    is_pending(&mut redis, &name, "").await.context("after the ack")?;

    let published = queue.publish().await?;
    let read = format!("XREADGROUP GROUP {name} {CONSUMER} COUNT 1 STREAMS {name} >");
    let entry = flat(&redis.ask(&read).await?);
    ensure!(entry.ends_with(PAYLOAD_OVER_REDIS), "the publish was read as '{entry}'");
    let place = entry.split(' ').nth(1).context("an entry has an id")?.to_owned();
    queue.is_empty().await.context("while a Redis consumer has the event")?;
    is_pending(&mut redis, &name, &format!("{place} {CONSUMER}")).await.context("after the read")?;
    let acked = flat(&redis.ask(&format!("XACK {name} {name} {place}")).await?);
    ensure!(acked == "1", "XACK answered {acked}");
    is_done(bench, published.id).await.context("after XACK")?;
    queue.remove().await
}

/// Entries that were answered are there after `kill -9`, and the group goes on where it was.
pub(crate) async fn survives_a_kill(server: &mut Throwaway) -> anyhow::Result<()> {
    let name = Bench::new(server.client()?).queue().await?.name;
    let mut redis = server.door()?.talk().await?;
    let mut places = Vec::new();
    for n in 0..ENTRIES {
        places.push(flat(&redis.ask(&format!("XADD {name} * n {n}")).await?));
    }
    let read = format!("XREADGROUP GROUP {name} {CONSUMER} COUNT {} STREAMS {name} >", ENTRIES / 2);
    redis.ask(&read).await?;
    let group = flat(&redis.ask(&format!("XINFO GROUPS {name}")).await?);
    let last = places[ENTRIES as usize / 2 - 1].clone();
    ensure!(group.contains(&format!("last-delivered-id {last}")), "XINFO GROUPS says '{group}'");

    server.kill_and_restart().await?;
    let mut redis = server.door()?.talk().await?;
    let after = flat(&redis.ask(&format!("XINFO GROUPS {name}")).await?);
    ensure!(after == group, "XINFO GROUPS says '{after}' after the restart, and '{group}' before");
    let entries = flat(&redis.ask(&format!("XRANGE {name} - +")).await?);
    for place in &places {
        ensure!(entries.contains(place.as_str()), "the entry {place} is gone");
    }
    let rest = flat(&redis.ask(&format!("XREADGROUP GROUP {name} {CONSUMER} STREAMS {name} >")).await?);
    let (first, second) = places.split_at(ENTRIES as usize / 2);
    ensure!(second.iter().all(|place| rest.contains(place.as_str())), "an entry was passed over");
    ensure!(first.iter().all(|place| !rest.contains(place.as_str())), "an entry came through > again");
    Ok(())
}

async fn claimed_over_http(bench: &Bench, queue: &TestQueue<'_>, place: &str) -> anyhow::Result<()> {
    let lease_seconds = Some(LeaseSeconds::try_from(LEASE_SECONDS)?);
    let request = ClaimRequest { lease_seconds, ..ClaimRequest::default() };
    let claim = bench.client.claim(&queue.name, &request).await.context("claim")?;
    let claim = claim.context("no event came")?;
    let payload = claim.event.payload.get();
    ensure!(payload == FIELDS_OVER_HTTP, "the entry {place} was claimed as {payload}");
    bench.client.ack(claim.event.id, &claim.lease_token).await.context("ack")?;
    is_done(bench, claim.event.id).await
}

async fn is_done(bench: &Bench, event: EventId) -> anyhow::Result<()> {
    let state = bench.client.event(event).await.context("event")?.state;
    ensure!(state.as_deref() == Some("done"), "the event is {state:?}");
    Ok(())
}

/// The pending list is one line that begins like this, or nothing where `expected` is nothing.
async fn is_pending(redis: &mut Talk, name: &str, expected: &str) -> anyhow::Result<()> {
    let pending = flat(&redis.ask(&format!("XPENDING {name} {name} - + 10")).await?);
    let is_so = pending.starts_with(expected) && pending.is_empty() == expected.is_empty();
    ensure!(is_so, "XPENDING shows '{pending}' instead of '{expected}'");
    Ok(())
}
