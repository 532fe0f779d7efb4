//! A queue's settings as flags.
//!
//! Lives here: the flags that `naven queue create` and `naven queue set` share, and what they make of them.
//! Not here: the commands (`queue.rs`), and the bounds, which the server judges.

use clap::{Args, ValueEnum};
use naven_api::{Backoff, LeaseSeconds};
use naven_client::{QueueFields, Retention, RetentionFields};

use crate::settle::seconds;

/// Thousandths in one.
const MILLI: f64 = 1_000.0;

/// Settings of a queue; those that are not given have their defaults, or stay.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FieldArgs {
    /// What it is for, for people: at most 1 KiB.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,

    /// The lease of a claim or heartbeat that names none, in seconds (1 to 43200; new queues: 60).
    #[arg(long, value_name = "N", value_parser = seconds::<LeaseSeconds>)]
    default_lease_seconds: Option<LeaseSeconds>,

    /// Longest total hold of one lease, in seconds (0, no bound, to 2592000; new queues: 0).
    #[arg(long, value_name = "N")]
    max_lease_seconds: Option<u32>,

    /// Attempts of an event before it is a dead letter (1 to 1000; new queues: 10).
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,

    /// Pause after the first failed attempt, in seconds (0 to 86400; new queues: 5).
    #[arg(long, value_name = "N")]
    backoff_initial_seconds: Option<u32>,

    /// By how much the pause grows with each further failure (1 to 10; new queues: 2).
    #[arg(long, value_name = "FACTOR", value_parser = milli)]
    backoff_factor: Option<u32>,

    /// Longest pause, in seconds (0 to 86400; new queues: 3600).
    #[arg(long, value_name = "N")]
    backoff_max_seconds: Option<u32>,

    /// Which share of the pause is drawn at random (0 to 1; new queues: 1).
    #[arg(long, value_name = "SHARE", value_parser = milli)]
    backoff_jitter: Option<u32>,

    /// How long after its lease's end the last holder may still settle, in seconds (0 to 3600; new queues: 0).
    #[arg(long, value_name = "N")]
    late_ack_grace_seconds: Option<u32>,

    /// How long a consumer of the Redis door has what it was handed before a claim may take it, in seconds
    /// (1 to 43200, or none; new queues: none)
    #[arg(long, value_name = "N", value_parser = redis_lease)]
    redis_lease_seconds: Option<RedisLease>,

    /// Keep the payloads of done events for as long as these are remembered (new queues: false)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_done_payload: Option<bool>,

    /// Keep entries that this queue has not read when its stream is trimmed (new queues: true)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    protect_unread: Option<bool>,

    /// How long done events are remembered, in seconds (0 to 315360000; new queues: 86400).
    #[arg(long, value_name = "N")]
    done_retention_seconds: Option<u32>,

    /// How long dead letters are kept, in seconds (0 to 315360000; new queues: 1209600).
    #[arg(long, value_name = "N")]
    dead_retention_seconds: Option<u32>,

    /// How long a dedupe key is remembered, in seconds (0 to 2592000; new streams: 300). It is the stream's:
    /// all its queues share it.
    #[arg(long, value_name = "N")]
    dedupe_window_seconds: Option<u32>,

    /// When entries leave the stream. It is the stream's: all its queues share it.
    #[arg(long, value_enum, value_name = "WHEN")]
    stream_retention: Option<StreamRetention>,
}

/// How long a Redis consumer holds; none: without an end.
#[derive(Debug, Clone, Copy)]
struct RedisLease(Option<LeaseSeconds>);

/// When entries leave a stream.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum StreamRetention {
    /// Once every queue of the stream has settled them.
    Consumed,
    /// When they are trimmed.
    Trim,
}

impl FieldArgs {
    /// True where a part of the backoff is named, which the server takes as a whole alone.
    pub(crate) fn names_backoff(&self) -> bool {
        let seconds = self.backoff_initial_seconds.is_some() || self.backoff_max_seconds.is_some();
        seconds || self.backoff_factor.is_some() || self.backoff_jitter.is_some()
    }

    /// The settings that are named. Those of the backoff that are not are taken from `backoff`.
    pub(crate) fn fields(self, backoff: Backoff) -> QueueFields {
        let has_backoff = self.names_backoff();
        let backoff = Backoff {
            initial_seconds: self.backoff_initial_seconds.unwrap_or(backoff.initial_seconds),
            factor_milli: self.backoff_factor.unwrap_or(backoff.factor_milli),
            max_seconds: self.backoff_max_seconds.unwrap_or(backoff.max_seconds),
            jitter_milli: self.backoff_jitter.unwrap_or(backoff.jitter_milli),
        };
        let kept = RetentionFields { done: self.done_retention_seconds, dead: self.dead_retention_seconds };
        QueueFields {
            description: self.description,
            default_lease_seconds: self.default_lease_seconds,
            max_lease_seconds: self.max_lease_seconds,
            max_attempts: self.max_attempts,
            backoff: has_backoff.then_some(backoff),
            late_ack_grace_seconds: self.late_ack_grace_seconds,
            redis_lease_seconds: self.redis_lease_seconds.map(|RedisLease(seconds)| seconds),
            keep_done_payload: self.keep_done_payload,
            protect_unread: self.protect_unread,
            retention_seconds: (kept != RetentionFields::default()).then_some(kept),
            dedupe_window_seconds: self.dedupe_window_seconds,
            retention: self.stream_retention.map(|retention| match retention {
                StreamRetention::Consumed => Retention::Consumed,
                StreamRetention::Trim => Retention::Trim,
            }),
        }
    }
}

fn redis_lease(text: &str) -> Result<RedisLease, String> {
    if text == "none" {
        return Ok(RedisLease(None));
    }
    seconds(text).map(|seconds| RedisLease(Some(seconds))).map_err(|error| format!("{error}, or none"))
}

/// A number in thousandths, which is what the server keeps of it.
fn milli(text: &str) -> Result<u32, String> {
    let rule = || "expected a number of at most three decimals, such as 1.5".to_owned();
    let digits = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = text.parse().map_err(|_| rule())?;
    if !is_plain || digits > 3 || number > f64::from(u32::MAX) / MILLI {
        return Err(rule());
    }
    Ok((number * MILLI).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousandths_are_read_and_nothing_finer() {
        for (text, thousandths) in [
            ("2", Some(2_000)),
            ("1.5", Some(1_500)),
            ("0.333", Some(333)),
            (".5", Some(500)),
            ("0", Some(0)),
        ] {
            assert_eq!(milli(text).ok(), thousandths, "{text}");
        }
        for bad in ["", "-1", "1.2345", "1e3", "inf", "NaN", "+1", "1.2.3", "99999999999"] {
            assert!(milli(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_part_of_the_backoff_leaves_its_other_parts() {
        let before = Backoff { initial_seconds: 7, factor_milli: 3_000, max_seconds: 70, jitter_milli: 0 };
        let args = FieldArgs { backoff_max_seconds: Some(9), ..FieldArgs::default() };
        assert!(args.names_backoff());
        assert_eq!(args.fields(before).backoff, Some(Backoff { max_seconds: 9, ..before }));
        assert_eq!(FieldArgs::default().fields(before), QueueFields::default());
    }
}
