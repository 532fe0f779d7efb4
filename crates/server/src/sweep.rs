//! Making due things prompt.
//!
//! Lives here: the task that lets the engine tend its rows. Not here: what is due (the engine), and
//! correctness, which does not wait for this.

use std::sync::Arc;
use std::time::Duration;

use naven_store::{Budget, Engine};
use tokio_util::sync::CancellationToken;

/// How often the engine tends its rows when there is no more to do at once.
const TEND_EVERY: Duration = Duration::from_millis(250);
/// Rows that are moved by one call: small, so that callers are not held up.
const TEND_ROWS: usize = 1_000;

/// Lets `engine` tend its rows until `stop`.
pub(crate) async fn sweep(engine: Arc<dyn Engine>, stop: CancellationToken) {
    loop {
        let more = match engine.tend(Budget { rows: TEND_ROWS }).await {
            Ok(tended) => tended.more,
            Err(error) => {
                tracing::debug!(%error, "the engine did not tend its rows");
                false
            }
        };
        // Even with more to do, others get their turn between two calls.
        let pause = if more { Duration::ZERO } else { TEND_EVERY };
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
