//! What was saved, and what was not.
//!
//! Lives here: the report. Not here: its JSON (the command line).

use naven_api::limits::FINDINGS_MAX;

use crate::embedded::finding::Finding;

/// What was saved of a folder, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Salvaged {
    /// The id of the damaged store.
    pub store: [u8; 16],
    /// The id of the new one; none where none was to be made.
    pub made: Option<[u8; 16]>,
    /// Rows that were read and are what was written.
    pub rows: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Up to which LSN everything was replayed.
    pub lsn: u64,
    /// The part of the log that is lost.
    pub lost_log: Option<LostLog>,
    /// Records of the log that changed nothing on what was left.
    pub without_effect: u64,
    /// Events that were published behind the lost part of the log: they are there under new ids.
    pub under_new_ids: u64,
    /// Streams by number: at most [`FINDINGS_MAX`] are listed.
    pub streams: Vec<StreamSaved>,
    /// How many streams there are.
    pub streams_found: u64,
    /// Queues by number: at most [`FINDINGS_MAX`] are listed.
    pub queues: Vec<QueueSaved>,
    /// How many queues there are.
    pub queues_found: u64,
    /// What is missing, and what was made anew in its place: at most [`FINDINGS_MAX`] are listed.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub found: u64,
}

/// A part of the log that is lost, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostLog {
    /// The first LSN that cannot be read.
    pub from: u64,
    /// The last LSN of which anything is known.
    pub upto: u64,
}

/// What is left of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamSaved {
    /// Its name; none where that cannot be read.
    pub name: Option<String>,
    /// Events that are there, with their content or, once all is done with them, without.
    pub events: u64,
    /// Events of which only the content is lost: queues that come to them make dead letters of them.
    pub damaged: u64,
    /// Its rows that cannot be read, where that is known.
    pub lost_rows: u64,
}

/// What is left of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueSaved {
    /// Its name; none where that cannot be read.
    pub name: Option<String>,
    /// Deliveries of which something may still become; those that nobody held yet are not among them.
    pub deliveries: u64,
    /// Deliveries that are done with, and remembered.
    pub outcomes: u64,
    /// Deliveries whose rows are lost: their events are delivered again.
    pub again: u64,
    /// Its rows that cannot be read, where that is known.
    pub lost_rows: u64,
}

impl Salvaged {
    pub(super) fn add(&mut self, finding: Finding) {
        self.found += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}
