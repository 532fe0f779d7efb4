//! Saying how an attempt ended until the server has answered.
//!
//! Lives here: which answers end it, and which are asked for again. Not here: what the outcome is (`handler.rs`).

use std::time::Duration;

use tokio::time::{sleep, timeout};
use tracing::{debug, error};

use super::backoff::Backoff;
use super::door::{Door, Failed};
use super::lease::{Ending, Lease};
use super::lost::LostReason;
use super::outcome::Outcome;

/// Pauses between tries: a part of the first, up to a part of the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];
/// Longest wait for one answer, before the same is said again.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long an answer is waited for yet, once the lease is known to be over.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// A lease that ended before the server said that it took the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) reason: LostReason,
    /// True where the server may have taken it.
    pub(super) may_be_known: bool,
}

/// Says `outcome` under the lease's token, the same again where no answer comes, for as long as the lease is held: it is
/// kept meanwhile. What was said once is never said otherwise.
pub(super) async fn settle<D: Door>(lease: &mut Lease<D>, outcome: &Outcome) -> Result<(), Unsettled> {
    let mut backoff = Backoff::new(PAUSES[0], PAUSES[1]);
    let mut may_be_known = false;
    loop {
        let door = std::rc::Rc::clone(lease.door());
        let (event, token) = (lease.event().clone(), lease.token().clone());
        let call = timeout(ANSWER_MAX, door.settle(&event, &token, outcome));
        tokio::pin!(call);
        let answer = tokio::select! {
            biased;
            answer = &mut call => answer,
            ending = lease.keep() => match (ending, timeout(LAST_ANSWER, call).await) {
                (Ending::Settled, _) | (_, Ok(Ok(Ok(())))) => return Ok(()),
                (Ending::Lost(reason), _) => return Err(Unsettled { reason, may_be_known: true }),
            }
        };
        let pause = match answer {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(Failed::Gone(reason))) => return Err(Unsettled { reason, may_be_known }),
            Ok(Err(Failed::Never(why))) => {
                error!(%event, error = &why as &dyn std::error::Error, "the outcome of an event is refused");
                return Err(Unsettled { reason: LostReason::Refused, may_be_known });
            }
            Ok(Err(Failed::Later { after, may_have_applied, why })) => {
                may_be_known |= may_have_applied;
                debug!(%event, error = %why, "the outcome of an event has no answer, and is said again");
                backoff.next(after)
            }
            Err(_) => {
                may_be_known = true;
                debug!(%event, "the outcome of an event was not answered in time, and is said again");
                backoff.next(None)
            }
        };
        tokio::select! {
            () = sleep(pause) => {}
            ending = lease.keep() => return match ending {
                Ending::Settled => Ok(()),
                Ending::Lost(reason) => Err(Unsettled { reason, may_be_known }),
            }
        }
    }
}
