//! A consumer of a stream of a Redis, which works on 16 entries at once until it is told to stop.
//!
//! Lives here: the Rust of `docs/redis-consumers.md`. Not here: what the runtime does (`naven_client::streams`).
//! `cargo run -p naven-client --features redis --example redis_worker -- redis://127.0.0.1:6379 factory:events worker-mail w1`

use std::time::Duration;

use naven_client::consumer::Outcome;
use naven_client::streams::{Consumer, Entry, Envelope, LostEntry, Server};
use tokio::time::sleep;

#[derive(serde::Deserialize)]
struct Order {
    #[serde(default)]
    items: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, stream, group, name] = args.as_slice() else { return Err("URL STREAM GROUP NAME".into()) };
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let consumer = Consumer::new(Server::new(url)?, stream, group, name).concurrency(16).on_lost(reconcile);
    let drained = consumer.run(stop, handle).await?;
    tell(format!("{drained:?}"));
    Ok(())
}

/// The work. An error is a retry after a pause that grows.
async fn handle(entry: Entry<Envelope<Order>>) -> Result<Outcome, Box<dyn std::error::Error + Send + Sync>> {
    let Envelope { event, payload, .. } = entry.payload();
    tell(format!("{} {event} attempt {}: {} items", entry.id(), entry.attempt(), payload.items));
    if event != "order.paid" {
        return Ok(Outcome::Done);
    }
    for _ in 0..payload.items {
        // No side effect of a handler that is to stop: another may have the entry.
        if entry.is_cancelled() {
            return Ok(Outcome::Release);
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(Outcome::Done)
}

/// The entry is, or will be, in other hands: here is the place to look at what was done of it.
fn reconcile(lost: LostEntry) {
    tell(format!("{lost:?}"));
}

#[expect(clippy::print_stderr, reason = "an example has no log")]
fn tell(text: String) {
    eprintln!("{text}");
}
