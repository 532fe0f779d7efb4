//! From ops to commands: everything is decided here that replay could not decide again.
//!
//! Lives here: the checking of tokens, the drawing of ids and jitter, the refusal of what this
//! engine cannot do. Not here: what commands do (`apply/`).

use naven_api::id::uuid_v7_bits;
use naven_api::{LeaseToken, OperationId, QueueId, Timestamp};
use naven_core::Failure;

use super::command::{Claimant, Command, Recorded, Said};
use super::rows::delivery;
use super::rows::key::{self, QueueNo, StreamNo};
use super::rows::queue::QueueRow;
use super::rows::stream::Head;
use super::rows::{body::BodyRow, key::from_locator};
use super::tables::{Table, Tables};
use crate::clock::Random;
use crate::reply::{OpError, Refused};
use crate::token::{Held, Parsed, TokenKey};
use crate::txn::{
    AdminOp, Append, Claim, ClaimHold, DeleteOp, GroupOp, Op, OpKind, OperationOp, Proof, ReaderOp, Settle,
    SettleStep, StreamRef, Txn,
};

/// What preparing needs beside the tables.
pub(crate) struct Preparer<'a> {
    /// For ids and jitter.
    pub(crate) random: &'a dyn Random,
    /// For tokens.
    pub(crate) tokens: &'a TokenKey,
    /// True while the disk has no room for more than settling.
    pub(crate) full: bool,
}

impl Preparer<'_> {
    /// The commands of `txn`. Draws come in the order of its ops, refused or not.
    pub(crate) fn prepare(&self, tables: &impl Tables, txn: Txn, wall: Timestamp) -> Recorded {
        let has_changed = txn.watch.iter().any(|(stream, version)| version_of(tables, stream) != *version);
        let commands = txn
            .ops
            .into_iter()
            .map(|op| {
                let command = self.command(tables, op, wall);
                if has_changed { Command::Refused(Refused::Changed.into()) } else { command }
            })
            .collect();
        Recorded { commands, all_or_nothing: txn.all_or_nothing }
    }

    fn command(&self, tables: &impl Tables, op: Op, wall: Timestamp) -> Command {
        let command = match op.kind {
            OpKind::Append(append) => self.append(append),
            OpKind::Claim(claim) => claimed(claim),
            OpKind::Settle(settle) => self.settle(tables, settle),
            OpKind::Group(op) => self.grouped(op, wall),
            OpKind::Delete(DeleteOp::Queue { queue, force, reason, revision }) => {
                Command::Delete { queue, force, reason, revision }
            }
            OpKind::Delete(DeleteOp::Stream { stream, force }) => Command::DeleteStream { stream, force },
            OpKind::Delete(DeleteOp::Consumer { queue, name }) => Command::DeleteConsumer { queue, name },
            OpKind::Read(read) => Command::Read(read),
            OpKind::Admin(op) => self.operated(op),
            OpKind::Operation(OperationOp::Start { queue, bulk }) => {
                let id = OperationId::from_bits(uuid_v7_bits(wall.as_ms(), self.random.draw_u128()));
                Command::StartOperation { id, queue, bulk }
            }
            OpKind::Operation(OperationOp::Cancel { operation }) => {
                Command::CancelOperation { id: operation }
            }
            OpKind::Trim(trim) => Command::Trim(trim),
            OpKind::DeleteEntries(delete) => Command::DeleteEntries(delete),
            OpKind::SetId(set) => Command::SetId(set),
            OpKind::Rename(rename) => Command::Rename(rename),
            OpKind::Reader(op) => {
                let draw = if matches!(op, ReaderOp::Nack(_)) { self.random.draw_u32() } else { 0 };
                Command::Reader(Box::new(op), draw)
            }
        };
        let command = match op.idempotency {
            Some(slot) => Command::Once { slot, command: Box::new(command) },
            None => command,
        };
        match op.audit {
            Some(note) => Command::Noted { note, command: Box::new(command) },
            None => command,
        }
    }

    /// What makes and changes queues.
    fn grouped(&self, op: GroupOp, wall: Timestamp) -> Command {
        match op {
            GroupOp::Create { name, settings, on, stream } => {
                let id = QueueId::from_bits(uuid_v7_bits(wall.as_ms(), self.random.draw_u128()));
                if self.full {
                    Command::Refused(OpError::Full)
                } else {
                    Command::Create { id, name, settings, on, stream }
                }
            }
            GroupOp::Patch { queue, changes, stream, revision } => {
                Command::Patch { queue, changes, stream, revision }
            }
            GroupOp::CreateGroup { stream, group, make_stream, start, entries_read } => {
                let id = QueueId::from_bits(uuid_v7_bits(wall.as_ms(), self.random.draw_u128()));
                if self.full {
                    Command::Refused(OpError::Full)
                } else {
                    Command::CreateGroup { id, stream, group, make_stream, start, entries_read }
                }
            }
            GroupOp::SetPlace { queue, start, entries_read } => {
                Command::SetPlace { queue, start, entries_read }
            }
            GroupOp::MakeConsumer { queue, name } => Command::MakeConsumer { queue, name },
            GroupOp::Reset { queue, from } => Command::Reset { queue, from },
            GroupOp::Pause { queue, reason } => Command::Pause { queue, reason },
            GroupOp::Resume { queue } => Command::Resume { queue },
        }
    }

    /// What operators do to single events, and to keys.
    fn operated(&self, op: AdminOp) -> Command {
        match op {
            AdminOp::Redrive { event, queue, reset_attempts } => {
                Command::Redrive { event, queue, reset_attempts }
            }
            AdminOp::Bury { event, queue, reason } => Command::Bury { event, queue, reason },
            AdminOp::Cancel { event, queue, reason } => Command::Cancel { event, queue, reason },
            AdminOp::Reschedule { event, queue, due, max_attempts } => {
                Command::Reschedule { event, queue, due, max_attempts }
            }
            AdminOp::RunNow { event, queue } => Command::RunNow { event, queue },
            AdminOp::PutKey { record, over } => Command::PutKey { record: Box::new(record), over },
            AdminOp::DeleteKey { key, revision } => Command::DeleteKey { key, revision },
            // It publishes.
            AdminOp::MoveDead { .. } if self.full => Command::Refused(OpError::Full),
            AdminOp::MoveDead { event, queue, target } => Command::MoveDead { event, queue, target },
            AdminOp::Discard { event, queue } => Command::Discard { event, queue },
        }
    }

    fn append(&self, append: Append) -> Command {
        if self.full { Command::Refused(OpError::Full) } else { Command::Append(Box::new(append)) }
    }

    fn settle(&self, tables: &impl Tables, settle: Settle) -> Command {
        let said = match settle.step {
            SettleStep::Ack => Said::Ack(None),
            SettleStep::AckWith(result) => Said::Ack(Some(result)),
            SettleStep::Fail { error, delay } => {
                Said::Fail(Failure { error, delay, draw: self.random.draw_u32() })
            }
            SettleStep::Fatal { error } => Said::Fatal(error),
            SettleStep::Release { error } => Said::Release(error),
            SettleStep::GiveBack => Said::GiveBack,
            SettleStep::Extend(hold) => Said::Extend(hold, None),
            SettleStep::Report(hold, progress) => Said::Extend(hold, Some(progress)),
        };
        let claimant = match settle.proof {
            Proof::Token(token) => {
                self.proven(tables, settle.event, &token, None).unwrap_or(Claimant::Nobody)
            }
            Proof::TokenAmong { token, queues } => {
                self.proven(tables, settle.event, &token, Some(&queues)).unwrap_or(Claimant::Nobody)
            }
            Proof::Fence { queue, round, fence } => Claimant::Fence { queue, round, fence },
            Proof::Operator { queue } => Claimant::Operator(queue),
            Proof::Group { queue } => Claimant::Group(queue),
        };
        Command::Settle { event: settle.event, claimant, said }
    }

    /// The hold that `token` proves, if it is the delivery's present one, in one of the queues `among`.
    fn proven(
        &self,
        tables: &impl Tables,
        event: naven_api::EventId,
        token: &LeaseToken,
        among: Option<&[QueueId]>,
    ) -> Option<Claimant> {
        let parsed = Parsed::of(token)?;
        if parsed.route.locator != event.locator() {
            return None;
        }
        let no = QueueNo(parsed.route.queue_no);
        let queue = QueueRow::decode(tables.get(Table::Queue, &key::number(no.0))?)?;
        if among.is_some_and(|queues| !queues.contains(&queue.id)) {
            return None;
        }
        let (stream, arrival) = from_locator(event.locator());
        let event_row = BodyRow::of(tables.find(Table::Body, &key::counted(stream.0, arrival.0))?)?;
        let key = key::counted(no.0, event_row.placed?.n.0);
        let row = tables.get(Table::Delivery, &key).or_else(|| tables.get(Table::Outcome, &key))?;
        let (_, held) = delivery::decode(row)?;
        let (round, fence) = (held.round, held.fence);
        let present = Held { queue: queue.id, event, round, fence };
        let proves = self.tokens.proves(&parsed, &present);
        proves.then_some(Claimant::Holder { queue: no, round, fence })
    }
}

/// The version of the open stream of this name; 0 where there is none.
fn version_of(tables: &impl Tables, stream: &StreamRef) -> u64 {
    let Some(number) = tables.get(Table::Name, &key::stream_name(&stream.0)) else { return 0 };
    let head = tables.get(Table::Head, &number).and_then(Head::decode);
    let of_new =
        || number.as_ref().try_into().map_or(0, |no| Head::new(StreamNo(u32::from_be_bytes(no))).version);
    head.map_or_else(of_new, |head| head.version)
}

fn claimed(claim: Claim) -> Command {
    let Claim { queue, hold, max, max_bytes, consumer } = claim;
    let max_bytes = max_bytes as u64;
    let ClaimHold::Lease(hold) = hold;
    Command::Claim { queue, hold, max, max_bytes, consumer }
}
