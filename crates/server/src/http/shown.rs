//! How what engines keep looks in JSON.
//!
//! Lives here: views into replies. Not here: the replies' shapes (`naven_api`).

use naven_api::claim::{ClaimReply, ClaimedEvent};
use naven_api::event::{AttemptReply, DeadReply, DeliveryReply, EventReply};
use naven_api::progress::ProgressReply;
use naven_api::queue::{QueueReply, RetentionReply, StateCounts};
use naven_api::{EntryId, Headers, Payload, Percent, Timestamp};
use naven_core::{Past, Reported, View};
use naven_store::queue::Retention;
use naven_store::read::{Counts, DeliveryView, EventView, QueueView};
use naven_store::reply::Grant;
use naven_store::txn::{Body, Form, Place};

use super::shown_fields;
use crate::failure::Failure;

/// When a stream's entries leave.
pub(super) fn retention(retention: Retention) -> String {
    match retention {
        Retention::Consumed => "consumed",
        Retention::Trim => "trim",
    }
    .to_owned()
}

/// A queue.
pub(super) fn queue(view: QueueView) -> QueueReply {
    let settings = view.settings;
    QueueReply {
        id: view.id,
        name: view.name,
        stream: view.stream,
        description: settings.description,
        paused: view.paused.is_some(),
        pause_reason: view.paused.filter(|reason| !reason.is_empty()),
        default_lease_seconds: settings.default_lease.get(),
        max_lease_seconds: settings.max_lease_seconds,
        max_attempts: settings.max_attempts,
        backoff: settings.backoff,
        late_ack_grace_seconds: settings.late_ack_grace_seconds,
        redis_lease_seconds: settings.redis_lease.map(|lease| lease.get()),
        keep_done_payload: settings.keep_done_payload,
        protect_unread: settings.protect_unread,
        retention_seconds: RetentionReply {
            done: settings.done_retention_seconds,
            dead: settings.dead_retention_seconds,
        },
        dedupe_window_seconds: view.stream_settings.dedupe_window_seconds,
        retention: retention(view.stream_settings.retention),
        counts: counts(&view.counts),
        oldest_ready_age_seconds: view.oldest_ready.map(|since| age_seconds(since, view.now)),
        created_at: view.created_at,
        updated_at: view.updated_at,
        first_available: None,
    }
}

/// How long ago `since` was, as `now` sees it.
pub(super) fn age_seconds(since: Timestamp, now: Timestamp) -> u64 {
    u64::try_from((now.as_ms() - since.as_ms()) / 1_000).unwrap_or(0)
}

fn counts(counts: &Counts) -> StateCounts {
    StateCounts {
        scheduled: counts.of(View::Scheduled),
        ready: counts.of(View::Ready),
        leased: counts.of(View::Leased),
        held: counts.of(View::Held),
        retrying: counts.of(View::Retrying),
        done: counts.of(View::Done),
        dead: counts.of(View::Dead),
        cancelled: counts.of(View::Cancelled),
    }
}

/// An entry's place.
pub(super) fn entry_id(place: Place) -> EntryId {
    EntryId { ms: place.ms, seq: place.seq }
}

/// Whether a payload is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PayloadShown {
    /// As text, or null where it is not kept any more.
    Yes,
    /// Not at all.
    No,
}

/// An event.
pub(super) fn event(view: EventView, shown: PayloadShown) -> Result<EventReply, Failure> {
    let payload = match shown {
        PayloadShown::No => None,
        PayloadShown::Yes => Some(view.body.map(payload).transpose()?),
    };
    let deliveries: Vec<DeliveryReply> = view.deliveries.iter().map(delivery).collect();
    let only = if let [only] = deliveries.as_slice() { Some(only.clone()) } else { None };
    Ok(EventReply {
        id: view.id,
        stream: view.stream,
        stream_id: view.place.map(|place| place.to_string()),
        only,
        payload,
        headers: Headers::stored(view.headers),
        schedule_id: None,
        created_at: view.created_at,
        scheduled_at: view.scheduled_at,
        expires_at: view.expires_at,
        dedupe_key: view.dedupe_key,
        trace_context: view.trace.map(|trace| *trace),
        deduped: None,
        deliveries,
        dead: None,
    })
}

/// A dead letter: the event, why it died, and its attempts.
pub(super) fn dead_letter(view: EventView, shown: PayloadShown) -> Result<EventReply, Failure> {
    let dead = view.deliveries.first().map(|delivery| DeadReply {
        dead_at: delivery.settled_at,
        reason: delivery.dead.map_or("", |reason| reason.as_str()).to_owned(),
        attempts: delivery.log.iter().map(attempt).collect(),
    });
    Ok(EventReply { dead, ..event(view, shown)? })
}

fn delivery(view: &DeliveryView) -> DeliveryReply {
    DeliveryReply {
        queue: view.queue.clone(),
        queue_id: view.queue_id,
        state: view.state.as_str().to_owned(),
        next_attempt_at: view.next_attempt_at,
        attempt_count: view.attempts,
        expiry_count: view.expiries,
        delivery_count: view.fence,
        max_attempts: view.max_attempts,
        lease_expires_at: view.lease_expires_at,
        consumer_id: view.consumer.clone(),
        settled_at: view.settled_at,
        last_error: view.last_error.clone(),
        progress: view.progress.as_deref().map(progress),
        result: view.result.clone(),
        cancel_requested: view.cancel_requested && matches!(view.state, View::Leased | View::Held),
        cancel_reason: view.cancel_reason.clone(),
    }
}

fn progress(reported: &Reported) -> ProgressReply {
    let said = &reported.progress;
    ProgressReply {
        percent: said.percent().map(Percent::get),
        note: said.note().map(ToString::to_string),
        at: reported.at,
    }
}

fn attempt(past: &Past) -> AttemptReply {
    let (ended_at, ending) = past.ended.unzip();
    AttemptReply {
        delivery_count: past.fence,
        consumer_id: past.consumer.clone(),
        leased_at: past.leased_at,
        ended_at,
        outcome: ending.map(|ending| ending.as_str().to_owned()),
        error: past.error.clone(),
    }
}

/// How long a lease holds from `now` on, in milliseconds.
pub(super) fn lease_ms(end: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(end.as_ms().saturating_sub(now.as_ms())).unwrap_or(0)
}

/// A lease in its holder's hands, at an instant.
pub(super) fn claim(grant: Grant, now: Timestamp) -> Result<ClaimReply, Failure> {
    let (Some(lease_token), Some(lease_expires_at)) = (grant.token, grant.lease_expires_at) else {
        return Err(Failure::internal(format!("a lease of {} without a token", grant.event)));
    };
    Ok(ClaimReply {
        event: ClaimedEvent {
            id: grant.event,
            queue: grant.queue_name,
            schedule_id: None,
            payload: payload(grant.body)?,
            headers: Headers::stored(grant.headers),
            scheduled_at: grant.scheduled_at,
            attempt_count: grant.attempts,
            expiry_count: grant.expiries,
            delivery_count: grant.fence,
            trace_context: grant.trace.map(|trace| *trace),
        },
        lease_token,
        lease_expires_at,
        lease_ms: lease_ms(lease_expires_at, now),
    })
}

/// A stored body as a payload.
pub(super) fn payload(body: Body) -> Result<Payload, Failure> {
    let text = match body.form {
        Form::Json => String::from_utf8(body.bytes.into()).ok(),
        Form::Fields => body.fields().map(|pairs| shown_fields::object(&pairs)),
    };
    text.and_then(Payload::stored).ok_or_else(|| Failure::internal("a stored payload is not JSON"))
}
