//! The engine's answers in the words of a history.
//!
//! Lives here: that translation. Not here: what a history makes of them (`crate::checker`).

use naven_api::QueueId;
use naven_core::View;
use naven_store::read::Page;
use naven_store::reply::{OpError, OpReply, Refused};

use crate::history::{Answer, Ask, Grant, Reason, Seen};

/// What a call was answered; an error where the engine may never answer so.
pub(super) fn answer_of(
    ask: &Ask,
    queue: QueueId,
    reply: &Result<OpReply, OpError>,
) -> Result<Answer, String> {
    let odd = || Err(format!("{ask:?} was answered {reply:?}"));
    Ok(match reply {
        Ok(OpReply::Event(view) | OpReply::Deduped(view)) => match ask {
            Ask::Publish(_) => Answer::Published { event: view.id },
            Ask::Redrive { .. } | Ask::Cancel { .. } | Ask::Break { .. } | Ask::Reschedule { .. } => {
                Answer::DONE
            }
            _ => return odd(),
        },
        Ok(OpReply::Claimed(claimed)) => Answer::Claimed(
            claimed
                .leases
                .iter()
                .map(|grant| Grant {
                    event: grant.event,
                    fence: grant.fence,
                    attempt: grant.attempts,
                    round: Some(grant.round),
                })
                .collect(),
        ),
        Ok(OpReply::Settled(settled)) => Answer::Done {
            next_at_ms: settled.next_at.map(naven_api::Timestamp::as_ms),
            replayed: settled.replayed,
        },
        Ok(OpReply::Page(page)) => match &**page {
            Page::Event(view) => match view.deliveries.iter().find(|delivery| delivery.queue_id == queue) {
                Some(delivery) => Answer::Saw(seen(delivery.state)),
                None => Answer::NotFound,
            },
            _ => return odd(),
        },
        Ok(OpReply::Done) => Answer::DONE,
        Ok(_) => return odd(),
        Err(OpError::Refused(refused)) => match refused {
            Refused::Expired => Answer::Conflict(Reason::Expired),
            Refused::Lost => Answer::Conflict(Reason::Lost),
            Refused::Settled => Answer::Conflict(Reason::Settled),
            Refused::WrongState | Refused::DueForAll => Answer::Conflict(Reason::WrongState),
            Refused::EventNotFound | Refused::QueueNotFound => Answer::NotFound,
            _ => return odd(),
        },
        Err(OpError::Busy { .. } | OpError::Full | OpError::Unavailable) => Answer::Refused,
        Err(OpError::Unknown) => Answer::Unknown,
        Err(OpError::Undone | OpError::Unsupported) => return odd(),
    })
}

pub(super) const fn seen(view: View) -> Seen {
    match view {
        View::Scheduled | View::Ready | View::Retrying => Seen::Waiting,
        View::Leased | View::Held => Seen::Leased,
        View::Done => Seen::Done,
        View::Dead => Seen::Dead,
        View::Cancelled => Seen::Cancelled,
    }
}
