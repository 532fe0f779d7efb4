//! What the ops of random scripts came to.
//!
//! Lives here: how often each was asked for and changed something, and how often one event went through both doors.
//! Not here: playing (`play.rs`).

use std::collections::BTreeMap;
use std::fmt;

use naven_api::{EventId, QueueId};
use naven_core::DeadReason;

use crate::queue::QueueRef;
use crate::reply::{Fate, OpError, OpReply};
use crate::txn::{
    AdminOp, Append, Bulk, DeleteOp, GroupOp, OpKind, OperationOp, ReaderOp, References, SettleStep,
};

/// What was counted.
#[derive(Debug, Default)]
pub struct Tally {
    /// By the name of an op: how often it was asked for, and how often it changed something.
    pub ops: BTreeMap<&'static str, (u64, u64)>,
    /// How many scripts there were.
    pub scripts: u64,
    /// In how many of them one queue handed out an event to a claim of HTTP and to a reader of Redis.
    pub handed_over: u64,
    /// By queue and event: whether either door had it. Of the script that is being played.
    held: BTreeMap<(QueueId, EventId), [bool; 2]>,
}

impl Tally {
    pub(super) fn of_a_script() -> Self {
        Self { scripts: 1, ..Self::default() }
    }

    /// Counts an op and its answer.
    pub(super) fn note(&mut self, op: &OpKind, answer: &Result<OpReply, OpError>) {
        let (asked, changed) = self.ops.entry(name(op)).or_default();
        *asked += 1;
        *changed += u64::from(has_changed(answer));
        match answer {
            Ok(OpReply::Claimed(claimed)) => {
                for grant in &claimed.leases {
                    self.held.entry((grant.queue, grant.event)).or_default()[0] = true;
                }
            }
            Ok(OpReply::Read(reads)) => {
                for read in reads {
                    for entry in &read.entries {
                        self.held.entry((read.queue, entry.event)).or_default()[1] = true;
                    }
                }
            }
            Ok(OpReply::Transferred(taken)) => {
                // A queue that is named otherwise is not looked up: enough of them are named by their ids.
                if let Some(QueueRef::Id(queue)) = taken_in(op) {
                    for entry in &taken.entries {
                        self.held.entry((*queue, entry.event)).or_default()[1] = true;
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds what another script came to.
    pub(super) fn add(&mut self, other: Self) {
        for (name, (asked, changed)) in other.ops {
            let sums = self.ops.entry(name).or_default();
            *sums = (sums.0 + asked, sums.1 + changed);
        }
        self.scripts += other.scripts;
        self.handed_over += u64::from(other.held.values().any(|doors| *doors == [true, true]));
    }
}

/// What has to come to something in both doors' scripts, once in so many scripts at the least.
const WANTED: [(&str, u64); 35] = [
    ("publish", 1),
    ("claim", 1),
    ("ack", 4),
    ("nack", 4),
    ("nack for good", 8),
    ("give back", 8),
    ("heartbeat", 4),
    ("cancel", 4),
    ("redrive", 30),
    ("redrive many", 20),
    ("purge", 20),
    ("reset", 2),
    ("pause", 20),
    ("resume", 20),
    ("make queue", 1),
    ("change queue", 60),
    ("delete queue", 200),
    ("XADD", 1),
    ("XREADGROUP >", 2),
    ("XREADGROUP CLAIM", 2),
    ("XREADGROUP NOACK", 8),
    ("XREADGROUP of a history", 8),
    ("XACK", 4),
    ("XACKDEL", 8),
    ("XNACK", 8),
    ("XCLAIM", 2),
    ("XAUTOCLAIM", 20),
    ("XGROUP CREATE", 1),
    ("XGROUP SETID", 1),
    ("XGROUP DESTROY", 20),
    ("XGROUP CREATECONSUMER", 8),
    ("XGROUP DELCONSUMER", 20),
    ("XTRIM", 20),
    ("XDEL", 20),
    ("XDELEX", 20),
];

impl Tally {
    /// What of both doors' work was asked for in vain, or too seldom.
    pub fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for (name, scripts) in WANTED {
            let (asked, changed) = self.ops.get(name).copied().unwrap_or_default();
            if changed * scripts < self.scripts {
                missed.push(format!("{name}: {changed} of {asked} changed something"));
            }
        }
        if self.handed_over * 6 < self.scripts {
            missed.push(format!("{} scripts had an event go through both doors", self.handed_over));
        }
        missed
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} scripts, {} with an event through both doors", self.scripts, self.handed_over)?;
        for (name, (asked, changed)) in &self.ops {
            writeln!(f, "{changed:>8} of {asked:>8} {name}")?;
        }
        Ok(())
    }
}

fn taken_in(op: &OpKind) -> Option<&QueueRef> {
    match op {
        OpKind::Reader(ReaderOp::Transfer(transfer)) => Some(&transfer.queue),
        OpKind::Reader(ReaderOp::ScanTransfer(scan)) => Some(&scan.queue),
        _ => None,
    }
}

fn has_changed(answer: &Result<OpReply, OpError>) -> bool {
    match answer {
        Err(_) | Ok(OpReply::Deduped(_) | OpReply::Replayed(_) | OpReply::Page(_)) => false,
        Ok(OpReply::Claimed(claimed)) => !claimed.leases.is_empty(),
        Ok(OpReply::Settled(settled)) => !settled.replayed,
        Ok(OpReply::Removed(count)) => *count > 0,
        Ok(OpReply::Read(reads)) => reads.iter().any(|read| !read.entries.is_empty()),
        Ok(OpReply::Transferred(taken)) => !taken.entries.is_empty(),
        Ok(OpReply::Fates(fates)) => fates.iter().any(|fate| *fate != Fate::Missing),
        Ok(OpReply::Made(is_new)) => *is_new,
        Ok(OpReply::Operation(view)) => view.matched != Some(0),
        Ok(OpReply::Event(_) | OpReply::Queue(_) | OpReply::Done) => true,
    }
}

/// What an op is called: by the door that asks it, HTTP's in lower case and Redis' in its own words.
fn name(op: &OpKind) -> &'static str {
    match op {
        OpKind::Append(Append { entry: None, .. }) => "publish",
        OpKind::Append(Append { entry: Some(_), .. }) => "XADD",
        OpKind::Claim(_) => "claim",
        OpKind::Settle(settle) => match settle.step {
            SettleStep::Ack | SettleStep::AckWith(_) => "ack",
            SettleStep::Fail { .. } => "nack",
            SettleStep::Fatal { .. } => "nack for good",
            SettleStep::Release { .. } | SettleStep::GiveBack => "give back",
            SettleStep::Extend(_) | SettleStep::Report(..) => "heartbeat",
        },
        OpKind::Trim(_) => "XTRIM",
        OpKind::DeleteEntries(delete) if delete.references == References::Keep => "XDEL",
        OpKind::DeleteEntries(_) => "XDELEX",
        OpKind::SetId(_) => "XSETID",
        OpKind::Rename(_) => "RENAME",
        OpKind::Reader(op) => name_of_reader(op),
        OpKind::Group(op) => match op {
            GroupOp::Create { .. } => "make queue",
            GroupOp::Patch { .. } => "change queue",
            GroupOp::Reset { .. } => "reset",
            GroupOp::CreateGroup { .. } => "XGROUP CREATE",
            GroupOp::SetPlace { .. } => "XGROUP SETID",
            GroupOp::MakeConsumer { .. } => "XGROUP CREATECONSUMER",
            GroupOp::Pause { .. } => "pause",
            GroupOp::Resume { .. } => "resume",
        },
        OpKind::Delete(DeleteOp::Queue { reason: DeadReason::GroupDestroyed, .. }) => "XGROUP DESTROY",
        OpKind::Delete(DeleteOp::Queue { .. }) => "delete queue",
        OpKind::Delete(DeleteOp::Consumer { .. }) => "XGROUP DELCONSUMER",
        OpKind::Delete(DeleteOp::Stream { .. }) => "DEL",
        OpKind::Read(_) => "look",
        OpKind::Admin(op) => match op {
            AdminOp::Redrive { .. } => "redrive",
            AdminOp::Cancel { .. } => "cancel",
            _ => "other work of operators",
        },
        OpKind::Operation(OperationOp::Start { bulk, .. }) => match bulk {
            Bulk::Purge(_) => "purge",
            Bulk::Redrive { .. } => "redrive many",
            Bulk::Discard { .. } => "discard many",
            Bulk::Move { .. } => "move many",
        },
        OpKind::Operation(OperationOp::Cancel { .. }) => "cancel an operation",
    }
}

fn name_of_reader(op: &ReaderOp) -> &'static str {
    match op {
        ReaderOp::Read(read) if read.from.iter().any(|from| from.after.is_some()) => {
            "XREADGROUP of a history"
        }
        ReaderOp::Read(read) if read.no_ack => "XREADGROUP NOACK",
        ReaderOp::Read(read) if read.idle_ms.is_some() => "XREADGROUP CLAIM",
        ReaderOp::Read(_) => "XREADGROUP >",
        ReaderOp::Ack(ack) if ack.delete.is_some() => "XACKDEL",
        ReaderOp::Ack(_) => "XACK",
        ReaderOp::Nack(_) => "XNACK",
        ReaderOp::Transfer(_) => "XCLAIM",
        ReaderOp::ScanTransfer(_) => "XAUTOCLAIM",
    }
}
