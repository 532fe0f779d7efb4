//! A queue's figures over time.
//!
//! Lives here: the handler, and the rules of spans and steps. Not here: the figures (`stats.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::field::Rule;
use naven_api::limits::{
    STATS_FINE_KEPT_SECONDS, STATS_FINE_SECONDS, STATS_KEPT_SECONDS, STATS_POINTS_MAX, STATS_STEP_SECONDS,
};
use naven_api::watch::StatsReply;
use naven_api::{Timestamp, value};

use super::answer::{Reply, ok};
use super::extract::QueueInPath;
use super::query::Query;
use crate::auth::{Caller, Scope};
use crate::node::Node;
use crate::stats::Span;
use crate::watch::sample_of;

/// `GET /v1/event-queues/{queue}/stats`: what happened in it, step by step, as this node has seen it.
pub(super) async fn stats(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    mut query: Query,
) -> Reply {
    node.allow_queue(&caller, Scope::Read, &queue).await?;
    let view = node.queue(queue).await?;
    let span = span(&mut query, view.now);
    query.end()?;
    let recorded = node.watch.recorder().recorded(view.id, span, (view.now, sample_of(&view)));
    ok(&StatsReply {
        from: span.from(),
        to: span.to(),
        step_seconds: u32::try_from(span.step_seconds).unwrap_or(u32::MAX),
        recorded_since: recorded.since,
        complete: recorded.complete,
        points: recorded.points,
    })
}

/// The span that is asked for. Where it breaks a rule, that is noted.
pub(super) fn span(query: &mut Query, now: Timestamp) -> Span {
    let seconds = |at: Timestamp| at.as_ms().div_euclid(1_000);
    let until = instant(query, "to");
    let to = until.unwrap_or(now).min(now);
    let hour = i64::from(STATS_FINE_KEPT_SECONDS);
    let since = instant(query, "from").unwrap_or(to.plus_ms(-hour * 1_000));
    let from = seconds(since);
    let step = i64::from(step(query, from >= seconds(now) - hour));
    let first = from - from.rem_euclid(step);
    let last = seconds(to.plus_ms(999));
    let points = (last - first).div_euclid(step) + i64::from((last - first).rem_euclid(step) > 0);
    if since > to || until == Some(since) {
        query.refuse("from", &Rule::new("a time before to, and before now"));
    } else if points > i64::from(STATS_POINTS_MAX) {
        let rule = format!("no more than {STATS_POINTS_MAX} steps before to: take a longer stepSeconds");
        query.refuse("from", &Rule::new(rule));
    }
    Span { from_seconds: first, points: points.clamp(1, i64::from(STATS_POINTS_MAX)), step_seconds: step }
}

fn instant(query: &mut Query, name: &str) -> Option<Timestamp> {
    let parsed = Timestamp::parse(&query.text(name)?).ok();
    if parsed.is_none() {
        query.refuse(name, &Rule::new(Timestamp::RULE));
    }
    parsed
}

/// The step that is asked for: a short one only where figures of that length are kept.
fn step(query: &mut Query, is_fine: bool) -> u32 {
    let Some(text) = query.text("stepSeconds") else { return STATS_STEP_SECONDS };
    let unit = if is_fine { STATS_FINE_SECONDS } else { STATS_STEP_SECONDS };
    let step = value::integer(&text, unit, STATS_KEPT_SECONDS).filter(|step| step.is_multiple_of(unit));
    step.unwrap_or_else(|| {
        let rule = format!(
            "a multiple of {STATS_STEP_SECONDS} up to {STATS_KEPT_SECONDS}, or of {STATS_FINE_SECONDS} where from \
             is within the last hour"
        );
        query.refuse("stepSeconds", &Rule::new(rule));
        STATS_STEP_SECONDS
    })
}
