//! The calls that measurements make.
//!
//! Lives here: queues, claims and acks in a line each. Not here: publishing many events (`publishing.rs`).

use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use crate::clock::now;
use crate::connection::Connection;

/// A lease that does not end during a measurement, in seconds.
pub(crate) const LEASE_SECONDS: u32 = 3_600;

/// Makes a queue of its own stream.
pub(crate) async fn make_queue(connection: &mut Connection, name: &str) -> anyhow::Result<()> {
    make(connection, json!({ "name": name })).await
}

/// Makes a queue that reads all events of a stream from now on.
pub(crate) async fn make_queue_on(
    connection: &mut Connection,
    name: &str,
    stream: &str,
) -> anyhow::Result<()> {
    make(connection, json!({ "name": name, "stream": stream, "from": "new" })).await
}

async fn make(connection: &mut Connection, request: Value) -> anyhow::Result<()> {
    connection.done("/v1/event-queues", request.to_string().as_bytes()).await
}

/// Leases some events and acks them; how many, and how long the two calls took together.
pub(crate) async fn claim_and_ack(
    connection: &mut Connection,
    queue: &str,
    most: usize,
) -> anyhow::Result<(usize, Duration)> {
    let claim = json!({ "maxEvents": most, "leaseSeconds": LEASE_SECONDS, "waitSeconds": 0 }).to_string();
    let path = format!("/v1/event-queues/{queue}/claim-batch");
    let began = now();
    let answer = connection.call("POST", &path, claim.as_bytes()).await?;
    let claimed = began.elapsed();
    let data = answer.data()?;
    let claims = data["claims"].as_array().context("a batch has claims")?;
    let item = |claim: &Value| json!({ "eventId": claim["event"]["id"], "leaseToken": claim["leaseToken"] });
    let items: Vec<Value> = claims.iter().map(item).collect();
    let acks = json!({ "items": items }).to_string();
    let began = now();
    connection.done("/v1/leases/ack", acks.as_bytes()).await?;
    Ok((items.len(), claimed + began.elapsed()))
}
