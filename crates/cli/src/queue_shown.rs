//! How queues look on the command line.
//!
//! Lives here: a queue's lines and columns, what a change would change, and what a deletion would bury. Not
//! here: the commands (`queue.rs`).

use anyhow::Context;
use naven_client::{QueueId, QueuePatchRequest, QueueReply, Tagged};
use serde::Serialize;
use serde_json::Value;

use crate::print::Lines;

/// The columns of a list of queues.
pub(crate) const COLUMNS: &[&str] =
    &["queue", "state", "ready", "oldest", "scheduled", "retrying", "leased", "held", "dead", "done"];

/// A queue and the version of its settings, without the quotes of its tag.
#[derive(Serialize)]
pub(crate) struct Shown {
    #[serde(flatten)]
    queue: QueueReply,
    version: Option<String>,
}

impl From<Tagged<QueueReply>> for Shown {
    fn from(queue: Tagged<QueueReply>) -> Self {
        let version = queue.etag.map(|tag| tag.trim_matches('"').to_owned());
        Self { queue: queue.value, version }
    }
}

impl Shown {
    /// The queue's lines and its version.
    pub(crate) fn lines(&self) -> Lines {
        let mut lines = lines(&self.queue);
        lines.extend(self.version.clone().map(|version| ("version", version)));
        lines
    }
}

/// A queue in a list.
pub(crate) fn row(queue: &QueueReply) -> Vec<String> {
    let counts = &queue.counts;
    let state = if queue.paused { "paused" } else { "open" };
    let oldest = queue.oldest_ready_age_seconds.map_or_else(|| "-".to_owned(), |age| format!("{age} s"));
    let mut row = vec![queue.name.clone(), state.to_owned(), counts.ready.to_string(), oldest];
    let others = [counts.scheduled, counts.retrying, counts.leased, counts.held, counts.dead, counts.done];
    row.extend(others.map(|count| count.to_string()));
    row
}

/// A queue by itself.
pub(crate) fn lines(queue: &QueueReply) -> Lines {
    let mut lines = vec![("queue", queue.name.clone()), ("id", queue.id.to_string())];
    if queue.stream != queue.name {
        lines.push(("stream", queue.stream.clone()));
    }
    if !queue.description.is_empty() {
        lines.push(("description", queue.description.clone()));
    }
    lines.push(("state", state(queue)));
    lines.push(("events", events(queue)));
    lines.extend(queue.oldest_ready_age_seconds.map(|age| ("oldest", format!("ready for {age} s"))));
    lines.extend(queue.first_available.map(|first| {
        ("begins at", first.map_or_else(|| "the end: nothing is kept".to_owned(), |id| id.to_string()))
    }));
    lines.extend(settings(queue));
    lines.push(("created", queue.created_at.to_string()));
    lines.push(("updated", queue.updated_at.to_string()));
    lines
}

fn state(queue: &QueueReply) -> String {
    match (&queue.pause_reason, queue.paused) {
        (Some(reason), true) => format!("paused: {reason}"),
        (None, true) => "paused".to_owned(),
        (_, false) => "open".to_owned(),
    }
}

fn events(queue: &QueueReply) -> String {
    let counts = &queue.counts;
    let all = [
        (counts.ready, "ready"),
        (counts.scheduled, "scheduled"),
        (counts.retrying, "retrying"),
        (counts.leased, "leased"),
        (counts.held, "held"),
        (counts.dead, "dead"),
        (counts.done, "done"),
        (counts.cancelled, "cancelled"),
    ];
    let there: Vec<_> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, state)| format!("{count} {state}")).collect();
    if there.is_empty() { "none".to_owned() } else { there.join(", ") }
}

fn settings(queue: &QueueReply) -> Lines {
    let bound = match queue.max_lease_seconds {
        0 => String::new(),
        most => format!(", {most} s at most in all"),
    };
    let backoff = &queue.backoff;
    let milli = |thousandths: u32| f64::from(thousandths) / 1_000.0;
    let (factor, jitter) = (milli(backoff.factor_milli), milli(backoff.jitter_milli));
    let (first, most) = (backoff.initial_seconds, backoff.max_seconds);
    let kept = &queue.retention_seconds;
    let payload = if queue.keep_done_payload { "with" } else { "without" };
    let mut lines = vec![
        ("lease", format!("{} s{bound}", queue.default_lease_seconds)),
        (
            "attempts",
            queue.max_attempts.map_or_else(|| "without a bound".to_owned(), |most| most.to_string()),
        ),
        ("backoff", format!("from {first} s, times {factor}, up to {most} s, jitter {jitter}")),
    ];
    if queue.late_ack_grace_seconds > 0 {
        lines.push(("grace", format!("{} s for late acks", queue.late_ack_grace_seconds)));
    }
    lines.extend(queue.redis_lease_seconds.map(|lease| ("redis lease", format!("{lease} s"))));
    lines.push(("done kept", format!("{} s, {payload} payload", kept.done)));
    lines.push(("dead kept", format!("{} s", kept.dead)));
    lines.push(("dedupe", format!("{} s", queue.dedupe_window_seconds)));
    lines.push(("entries", entries(queue)));
    lines
}

fn entries(queue: &QueueReply) -> String {
    let leave = match queue.retention.as_str() {
        "consumed" => "leave once all queues are done with them".to_owned(),
        "trim" => "leave when they are trimmed".to_owned(),
        other => other.to_owned(),
    };
    if queue.protect_unread { format!("{leave}, unread ones are kept") } else { leave }
}

/// What a change would change of one setting.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Change {
    setting: String,
    from: Value,
    to: Value,
}

impl Change {
    /// The columns of a list of changes.
    pub(crate) const COLUMNS: &[&str] = &["setting", "from", "to"];

    /// Each setting of `queue` that `changes` names with another value.
    ///
    /// # Errors
    /// Where either is no JSON object, which does not happen.
    pub(crate) fn all(queue: &QueueReply, changes: &QueuePatchRequest) -> anyhow::Result<Vec<Self>> {
        let (queue, changes) = (serde_json::to_value(queue)?, serde_json::to_value(changes)?);
        let mut all = Vec::new();
        differing("", &queue, &changes, &mut all).context("a queue is a JSON object")?;
        Ok(all)
    }

    /// A change in a list.
    pub(crate) fn row(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        vec![self.setting.clone(), text(&self.from), text(&self.to)]
    }
}

/// The parts of `to` that are otherwise in `from`; none where `to` is no object.
fn differing(prefix: &str, from: &Value, to: &Value, all: &mut Vec<Change>) -> Option<()> {
    for (name, to) in to.as_object()? {
        let (from, setting) = (from.get(name).unwrap_or(&Value::Null), format!("{prefix}{name}"));
        if to.is_object() {
            differing(&format!("{setting}."), from, to, all)?;
        } else if from != to {
            all.push(Change { setting, from: from.clone(), to: to.clone() });
        }
    }
    Some(())
}

/// What the deletion of a queue would do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deletion {
    queue: String,
    id: QueueId,
    /// Unfinished events, which would become dead letters.
    would_die: u64,
    scheduled: u64,
    ready: u64,
    leased: u64,
    held: u64,
    retrying: u64,
    /// Dead letters that are there already, and stay.
    dead: u64,
    needs_force: bool,
}

impl Deletion {
    /// What the deletion of `queue` would do.
    pub(crate) fn of(queue: &QueueReply) -> Self {
        let counts = queue.counts;
        let would_die = counts.scheduled + counts.ready + counts.leased + counts.held + counts.retrying;
        Self {
            queue: queue.name.clone(),
            id: queue.id,
            would_die,
            scheduled: counts.scheduled,
            ready: counts.ready,
            leased: counts.leased,
            held: counts.held,
            retrying: counts.retrying,
            dead: counts.dead,
            needs_force: would_die + counts.dead > 0,
        }
    }

    /// For people.
    pub(crate) fn lines(&self) -> Lines {
        let states = [
            (self.ready, "ready"),
            (self.scheduled, "scheduled"),
            (self.retrying, "retrying"),
            (self.leased, "leased"),
            (self.held, "held"),
        ];
        let of: Vec<_> = states
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, state)| format!("{count} {state}"))
            .collect();
        let of = if of.is_empty() { String::new() } else { format!(": {}", of.join(", ")) };
        vec![
            ("queue", self.queue.clone()),
            ("id", self.id.to_string()),
            ("would die", format!("{}{of}", self.would_die)),
            ("dead already", self.dead.to_string()),
            ("needs --force", if self.needs_force { "yes" } else { "no" }.to_owned()),
        ]
    }
}
