//! What an import says of each stream.
//!
//! Lives here: the report, as JSON and as rows. Not here: printing (`print.rs`), and what is found out.

use serde::Serialize;

/// What came of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    /// Both sides were counted and are alike, but for what is told.
    Whole,
    /// It was copied, and the counts are not alike.
    Differs,
    /// A side refused, or the target holds something else.
    Failed,
    /// Nothing was done: it is a dry run, and nothing stands in the way.
    Possible,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Differs => "differs",
            Self::Failed => "failed",
            Self::Possible => "possible",
        }
    }
}

/// One stream.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamReport {
    pub(super) stream: String,
    pub(super) state: State,
    /// Entries on the source when it began.
    pub(super) entries: u64,
    /// Of those, how many the target had before.
    pub(super) found: u64,
    /// Of those, how many were copied; in a dry run, would be.
    pub(super) copied: u64,
    /// Entries that came to the source since it began, and were not copied; null: some, the source does not
    /// say how many.
    pub(super) newer: Option<u64>,
    pub(super) groups: Vec<GroupReport>,
    /// What stands in the way of `whole`.
    pub(super) problems: Vec<String>,
}

/// One group of a stream.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupReport {
    pub(super) group: String,
    pub(super) last_delivered_id: String,
    pub(super) consumers: u64,
    /// Lines of the source's pending list.
    pub(super) pending: u64,
    /// Of those, how many were copied; in a dry run, would be.
    pub(super) claimed: u64,
    /// Of those, how many have an entry that is not there any more: no server takes them.
    pub(super) gone: u64,
    /// Of those, how many are of entries that were not copied, since they came later.
    pub(super) newer: u64,
    /// Of those, how many an earlier import could not make, or somebody has finished on the target since.
    pub(super) left_out: u64,
    /// Lines that an earlier import wrote to the target and that somebody has acknowledged on the source since:
    /// now they are on the target as well.
    pub(super) acknowledged: u64,
    /// The target's group is further than the source's, so it was left alone.
    pub(super) moved_on: bool,
}

/// The whole, as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) dry_run: bool,
    pub(super) streams: Vec<StreamReport>,
}

impl StreamReport {
    /// Nothing is known of it yet.
    pub(super) fn of(stream: String) -> Self {
        Self {
            stream,
            state: State::Failed,
            entries: 0,
            found: 0,
            copied: 0,
            newer: Some(0),
            groups: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub(super) const HEADINGS: [&'static str; 10] =
        ["stream", "state", "entries", "found", "copied", "newer", "groups", "consumers", "pending", "gone"];

    pub(super) fn row(&self) -> Vec<String> {
        let sum = |of: fn(&GroupReport) -> u64| self.groups.iter().map(of).sum::<u64>().to_string();
        vec![
            self.stream.clone(),
            self.state.word().to_owned(),
            self.entries.to_string(),
            self.found.to_string(),
            self.copied.to_string(),
            self.newer.map_or_else(|| "some".to_owned(), |newer| newer.to_string()),
            self.groups.len().to_string(),
            sum(|group| group.consumers),
            sum(|group| group.pending),
            sum(|group| group.gone),
        ]
    }

    /// What people should know and a count does not say, or not loudly.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match self.newer {
            Some(0) => {}
            Some(newer) => {
                notes.push(format!("{newer} entries came to the source since and were not copied"))
            }
            None => notes.push("entries came to the source since and were not copied".to_owned()),
        }
        for group in &self.groups {
            let mut say = |count: u64, what: &str| {
                if count > 0 {
                    notes.push(format!("group {}: {count} pending {what}", group.group));
                }
            };
            say(group.gone, "without an entry: no server takes them");
            say(group.newer, "of entries that came later were not copied");
            say(
                group.left_out,
                "were finished on the target since the last import, or have no entry: they were left out",
            );
            say(
                group.acknowledged,
                "were acknowledged on the source since the last import, now on the target too",
            );
        }
        notes.extend(self.problems.iter().cloned());
        notes.iter().map(|note| format!("stream {}: {note}", self.stream)).collect()
    }
}
