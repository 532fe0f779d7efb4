//! A consumer that works on 16 events at once until it is told to stop.
//!
//! Lives here: the Rust of `docs/consumers.md`. Not here: what the runtime does (`naven_client::consumer`).
//! `NAVEN_API_KEY=nvk_… cargo run -p naven-client --example consumer -- http://127.0.0.1:7480 demo`

use std::time::Duration;

use naven_client::Client;
use naven_client::consumer::{Consumer, Delivery, Lost, Outcome};
use tokio::time::sleep;

#[derive(serde::Deserialize)]
struct Order {
    #[serde(default)]
    items: u64,
}

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "an example reads its settings where it needs them")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (url, queue) = (args.next().ok_or("which server?")?, args.next().ok_or("which queue?")?);
    let client = Client::new(&url, &std::env::var("NAVEN_API_KEY")?)?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let drained = Consumer::new(client, queue).concurrency(16).on_lost(reconcile).run(stop, handle).await?;
    tell(format!("{drained:?}"));
    Ok(())
}

/// The work. An error is a retry by the queue's backoff.
async fn handle(delivery: Delivery<Order>) -> Result<Outcome, Box<dyn std::error::Error + Send + Sync>> {
    tell(format!("{} attempt {}: {} items", delivery.event(), delivery.attempt(), delivery.payload().items));
    for _ in 0..delivery.payload().items {
        // No side effect of a handler that is to stop: another may have the event.
        if delivery.is_cancelled() {
            return Ok(Outcome::Release);
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(Outcome::Done)
}

/// The event is, or will be, in other hands: here is the place to look at what was done of it.
fn reconcile(lost: Lost) {
    tell(format!("{lost:?}"));
}

#[expect(clippy::print_stderr, reason = "an example has no log")]
fn tell(text: String) {
    eprintln!("{text}");
}
