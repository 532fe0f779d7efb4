//! Histories as JSON lines.
//!
//! Lives here: reading and writing them. Not here: what they hold.

use std::io::{self, BufRead, Write};

use naven_api::QueueId;
use serde::{Deserialize, Serialize};

use super::call::{Call, History};
use super::world::{QueueSettings, WorldEvent};

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// A queue's settings.
    Queue {
        /// Which.
        queue: QueueId,
        /// They.
        settings: QueueSettings,
    },
    /// What befell the world.
    World(WorldEvent),
    /// A call.
    Call(Call),
}

/// Why a file is no history.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("the history cannot be read")]
    Io(#[from] io::Error),
    /// A line is not one of ours.
    #[error("line {line} of the history is not a line of a history")]
    Line {
        /// Which, the first is 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl History {
    /// Writes it, a line each.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_to(&self, mut to: impl Write) -> io::Result<()> {
        for (queue, settings) in &self.queues {
            write_line(&mut to, &Line::Queue { queue: *queue, settings: *settings })?;
        }
        for event in &self.world {
            write_line(&mut to, &Line::World(*event))?;
        }
        for call in &self.calls {
            write_line(&mut to, &Line::Call(call.clone()))?;
        }
        to.flush()
    }

    /// Reads one; empty lines are passed over.
    ///
    /// # Errors
    /// [`ReadError`] names the first line that is none of ours.
    pub fn read_from(from: impl BufRead) -> Result<Self, ReadError> {
        let mut history = Self::default();
        for (at, line) in from.lines().enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let parsed = serde_json::from_str(&line);
            history.add(parsed.map_err(|source| ReadError::Line { line: at + 1, source })?);
        }
        history.world.sort_by_key(WorldEvent::at_ms);
        Ok(history)
    }

    /// Adds what one line says.
    pub fn add(&mut self, line: Line) {
        match line {
            Line::Queue { queue, settings } => {
                self.queues.insert(queue, settings);
            }
            Line::World(event) => self.world.push(event),
            Line::Call(call) => self.calls.push(call),
        }
    }
}

fn write_line(to: &mut impl Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *to, line)?;
    to.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use naven_api::EventId;

    use super::super::{Answer, Ask, Grant, Publish, Reason};
    use super::*;

    fn call(begun_ms: i64, ended_ms: Option<i64>, ask: Ask, answer: Answer) -> Call {
        Call { client: 1, begun_ms, ended_ms, queue: QueueId::from_bits(7), ask, answer }
    }

    #[test]
    fn what_was_written_is_read_again() {
        let event = EventId::from_bits(9);
        let grant = Grant { event, fence: 1, attempt: 1, round: None };
        let history = History {
            queues: [(QueueId::from_bits(7), QueueSettings { max_attempts: Some(3), ..Default::default() })]
                .into(),
            world: vec![WorldEvent::WallClock { at_ms: 0, offset_ms: 5 }, WorldEvent::Crash { at_ms: 30 }],
            calls: vec![
                call(0, Some(1), Ask::Publish(Publish::default()), Answer::Published { event }),
                call(2, Some(3), Ask::Claim { lease_ms: 1_000 }, Answer::Claimed(vec![grant])),
                call(4, None, Ask::Ack { event, fence: 1 }, Answer::Unknown),
                call(5, Some(6), Ask::Ack { event, fence: 1 }, Answer::DONE),
                call(7, Some(8), Ask::Ack { event, fence: 2 }, Answer::Conflict(Reason::Lost)),
                call(7, Some(8), Ask::Purge, Answer::NotFound),
            ],
        };
        let mut text = Vec::new();
        history.write_to(&mut text).unwrap();
        assert_eq!(History::read_from(&text[..]).unwrap(), history);
    }

    #[test]
    fn a_line_of_something_else_is_named() {
        let text = "\n{\"world\":{\"crash\":{\"at_ms\":3}}}\n{\"other\":1}\n";
        let error = History::read_from(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "line 3 of the history is not a line of a history");
    }
}
