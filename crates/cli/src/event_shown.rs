//! How events look on the command line.
//!
//! Lives here: an event's lines, with where it stands with each queue, and those of one hold. Not here: the
//! commands (`event.rs`), and events in their holders' hands (`claim.rs`).

use naven_client::{DeliveryReply, Event, HoldReply, ProgressReply};

use crate::print::Lines;

/// An event and its deliveries.
pub(crate) fn lines(event: &Event) -> Lines {
    let mut lines = vec![("event", event.id.to_string()), ("stream", event.stream.clone())];
    lines.extend(event.stream_id.map(|place| ("place", place.to_string())));
    lines.push(("published", event.created_at.to_string()));
    lines.push(("due", event.scheduled_at.to_string()));
    lines.extend(event.expires_at.map(|at| ("expires", at.to_string())));
    lines.extend(event.dedupe_key.clone().map(|key| ("dedupe key", key)));
    let headers = serde_json::to_string(&event.headers).unwrap_or_default();
    lines.extend((headers != "{}").then_some(("headers", headers)));
    lines.extend(event.payload.as_ref().map(|payload| ("payload", payload.get().to_owned())));
    lines.extend(event.trace_context.as_ref().map(|trace| ("trace", trace.traceparent().to_owned())));
    lines.extend(event.deliveries.iter().flat_map(delivery_lines));
    lines
}

/// Where an event stands with one queue.
fn delivery_lines(delivery: &DeliveryReply) -> Lines {
    let most = delivery.max_attempts.map(|most| format!(" of {most}")).unwrap_or_default();
    let (attempts, expired) = (delivery.attempt_count, delivery.expiry_count);
    let expired = if expired == 0 { String::new() } else { format!(", {expired} of them expired") };
    let mut lines = vec![
        ("queue", delivery.queue.clone()),
        ("state", delivery.state.clone()),
        ("attempts", format!("{attempts}{most}{expired}")),
        ("deliveries", delivery.delivery_count.to_string()),
    ];
    lines.extend(delivery.next_attempt_at.map(|at| ("next attempt", at.to_string())));
    lines.extend(delivery.consumer_id.clone().map(|consumer| ("consumer", consumer)));
    let until = if delivery.state == "held" { "claimable at" } else { "leased until" };
    lines.extend(delivery.lease_expires_at.map(|at| (until, at.to_string())));
    lines.extend(delivery.progress.as_ref().map(|progress| ("progress", progress_text(progress))));
    lines.extend(delivery.settled_at.map(|at| ("settled", at.to_string())));
    lines.extend(delivery.result.as_ref().map(|result| ("result", result.get().to_owned())));
    lines.extend(delivery.last_error.clone().map(|error| ("error", error)));
    lines.extend(delivery.cancel_requested.then(|| ("cancelling", "its holder is asked to stop".to_owned())));
    lines.extend(delivery.cancel_reason.clone().map(|reason| ("cancelled for", reason)));
    lines
}

fn progress_text(progress: &ProgressReply) -> String {
    let percent = progress.percent.map(|percent| format!("{percent} %"));
    let said: Vec<_> = percent.into_iter().chain(progress.note.clone()).collect();
    format!("{} (at {})", said.join(", "), progress.at)
}

/// One hold of an event.
pub(crate) fn hold_lines(hold: &HoldReply) -> Lines {
    let mut lines = vec![("delivery", hold.delivery_count.to_string())];
    lines.extend(hold.consumer_id.clone().map(|consumer| ("consumer", consumer)));
    lines.extend(hold.wait_ms.map(|wait| ("waited", format!("{wait} ms"))));
    lines.push(("leased", hold.leased_at.to_string()));
    if let Some(last) = hold.heartbeats.last() {
        lines.push(("heartbeats", format!("{} listed, the last one at {last}", hold.heartbeats.len())));
    }
    lines.extend(hold.settled_at.map(|at| ("ended", at.to_string())));
    lines.extend(hold.run_ms.map(|ran| ("ran", format!("{ran} ms"))));
    lines.push(("outcome", hold.outcome.clone().unwrap_or_else(|| "not yet".to_owned())));
    lines.extend(hold.error.clone().map(|error| ("error", error)));
    lines
}
