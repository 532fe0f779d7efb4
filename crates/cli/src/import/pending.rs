//! Pending lists: what a group has delivered and nobody has acknowledged.
//!
//! Lives here: reading both sides' lists in step, and making the target's like the source's. Not here: the
//! group and its consumers (`groups.rs`).

use std::collections::{BTreeMap, VecDeque};

use redis::{Cmd, cmd};

use super::limits::PENDING_ROWS;
use super::place::Place;
use super::reply::{Row, list, rows};
use super::side::Side;
use super::trouble::Trouble;

/// Which lines of a list are made, and which are not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// A line through here that the target lacks was there before and somebody has finished it since.
    pub(super) floor: Place,
    /// Entries behind here were not copied.
    pub(super) until: Place,
}

/// What became of the lines of one consumer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) claimed: u64,
    pub(super) gone: u64,
    pub(super) newer: u64,
    pub(super) left_out: u64,
}

/// What became of a group's list.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Of each consumer on the source.
    pub(super) of: BTreeMap<Vec<u8>, Lines>,
    pub(super) acknowledged: u64,
}

impl Outcome {
    pub(super) fn sum(&self, of: fn(&Lines) -> u64) -> u64 {
        self.of.values().map(of).sum()
    }
}

/// A group's list on one side, in order.
struct Pages<'a> {
    side: &'a Side,
    names: Names<'a>,
    /// None: all have been read.
    from: Option<Place>,
    read: VecDeque<Row>,
}

/// Which list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) stream: &'a [u8],
    pub(super) group: &'a [u8],
}

impl Pages<'_> {
    /// The next line, which stays the next one.
    async fn peek(&mut self) -> Result<Option<&Row>, Trouble> {
        if self.read.is_empty()
            && let Some(from) = self.from
        {
            let mut command = cmd("XPENDING");
            command.arg(self.names.stream).arg(self.names.group);
            command.arg(from.to_string()).arg("+").arg(PENDING_ROWS);
            let answer = self.side.ask(&command).await?;
            let page = rows(answer).ok_or_else(|| self.side.refused(&command, "not an answer to it"))?;
            let last = page.last().filter(|_| page.len() >= PENDING_ROWS);
            self.from = last.and_then(|row| row.place.next());
            self.read = page.into();
        }
        Ok(self.read.front())
    }

    fn take(&mut self) -> Option<Row> {
        self.read.pop_front()
    }
}

/// What to do about the next lines.
enum Step {
    /// The source's, which the target is to have as it is.
    Claim,
    /// The source's, which the target has, or has further.
    Keep,
    /// The source's, which the target lacks and is not to have.
    LeaveOut,
    /// The source's, of an entry that was not copied.
    Newer,
    /// The target's alone.
    Acknowledge,
}

/// Makes the target's list like the source's. In a dry run nothing is written, and lines without an entry count
/// as claimed. `target` is none where it has no such group.
///
/// # Errors
/// What a side says.
pub(super) async fn copy(
    source: &Side,
    target: &Side,
    names: Names<'_>,
    bounds: Bounds,
    has_list: bool,
    is_dry: bool,
) -> Result<Outcome, Trouble> {
    let pages = |side, from| Pages { side, names, from, read: VecDeque::new() };
    let mut theirs = pages(source, Some(Place::ZERO));
    let mut ours = pages(target, has_list.then_some(Place::ZERO));
    let mut outcome = Outcome::default();
    let (mut claims, mut acks) = (Vec::new(), Vec::new());
    loop {
        let (their, our) = (theirs.peek().await?, ours.peek().await?);
        let Some(step) = step(their, our, bounds) else { break };
        let is_shared = their.zip(our).is_some_and(|(their, our)| their.place == our.place);
        if matches!(step, Step::Acknowledge) {
            acks.extend(ours.take().map(|row| row.place));
            outcome.acknowledged += 1;
        } else if let Some(row) = theirs.take() {
            if is_shared {
                ours.take();
            }
            let lines = outcome.of.entry(row.consumer.clone()).or_default();
            match step {
                Step::Claim => claims.push(row),
                Step::LeaveOut => lines.left_out += 1,
                Step::Newer => lines.newer += 1,
                Step::Keep | Step::Acknowledge => {}
            }
        }
        if claims.len() >= PENDING_ROWS || acks.len() >= PENDING_ROWS {
            let (claims, acks) = (std::mem::take(&mut claims), std::mem::take(&mut acks));
            write(target, names, claims, acks, is_dry, &mut outcome).await?;
        }
    }
    write(target, names, claims, acks, is_dry, &mut outcome).await?;
    Ok(outcome)
}

fn step(their: Option<&Row>, our: Option<&Row>, bounds: Bounds) -> Option<Step> {
    let (their, our) = match (their, our) {
        (None, None) => return None,
        (None, Some(_)) => return Some(Step::Acknowledge),
        (Some(their), our) => (their, our),
    };
    Some(match our {
        Some(our) if our.place < their.place => Step::Acknowledge,
        // Somebody who works on the target has had it more often: it is theirs.
        Some(our) if our.place == their.place && our.deliveries > their.deliveries => Step::Keep,
        Some(our)
            if our.place == their.place
                && our.deliveries == their.deliveries
                && our.consumer == their.consumer =>
        {
            Step::Keep
        }
        Some(our) if our.place == their.place => Step::Claim,
        _ if their.place > bounds.until => Step::Newer,
        _ if their.place <= bounds.floor => Step::LeaveOut,
        _ => Step::Claim,
    })
}

async fn write(
    target: &Side,
    names: Names<'_>,
    claims: Vec<Row>,
    acks: Vec<Place>,
    is_dry: bool,
    outcome: &mut Outcome,
) -> Result<(), Trouble> {
    if !acks.is_empty() && !is_dry {
        let mut command = cmd("XACK");
        command.arg(names.stream).arg(names.group);
        for place in acks {
            command.arg(place.to_string());
        }
        target.ask(&command).await?;
    }
    let commands = if is_dry { Vec::new() } else { claims.iter().map(|row| claim(names, row)).collect() };
    let replies = target.ask_all(commands).await?;
    let mut replies = replies.into_iter();
    for row in claims {
        let is_gone = replies.next().is_some_and(|reply| list(reply).is_none_or(|ids| ids.is_empty()));
        let lines = outcome.of.entry(row.consumer).or_default();
        if is_gone { lines.gone += 1 } else { lines.claimed += 1 }
    }
    Ok(())
}

fn claim(names: Names<'_>, row: &Row) -> Cmd {
    let mut command = cmd("XCLAIM");
    command.arg(names.stream).arg(names.group).arg(row.consumer.as_slice()).arg(0);
    command.arg(row.place.to_string()).arg("IDLE").arg(row.idle_ms);
    command.arg("RETRYCOUNT").arg(row.deliveries).arg("FORCE").arg("JUSTID");
    command
}
