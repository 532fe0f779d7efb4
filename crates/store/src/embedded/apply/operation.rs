//! Operations: begun, taken on chunk by chunk, ended, forgotten.
//!
//! Lives here: all of that. What a chunk does and how far it came are in one transaction, so nothing is done
//! twice and nothing is left out, whenever the process ends. Not here: what is done to one dead letter
//! (`settle.rs`, `discard.rs`), and who calls for the next chunk (tending).
//!
//! One operation is worked on at a time, the oldest first.

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::OperationId;
use naven_api::id::uuid_v7_bits_above;
use naven_api::limits::{OPERATION_CHUNK_ROWS, OPERATION_SECONDS, OPERATIONS_KEPT_MAX};
use naven_core::Step;

use super::context::{Context, Found, READABLE};
use super::dealing::Dealing;
use super::purging::mark;
use super::read::DeadAt;
use crate::embedded::rows::key::{self, Arrival, QueueNo};
use crate::embedded::rows::operation::{self, OperationRow, PurgeAt};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::queue::QueueRef;
use crate::read::{Cursor, Page};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{Bulk, MOVE_CHUNK_ROWS, OperationState, OperationView, QUEUE_GONE, TARGET_GONE};

impl<T: Tables> Context<'_, T> {
    /// Begins an operation. It means what is dead at this point of the order, and nothing that dies later.
    pub(super) fn start_operation(
        &mut self,
        drawn: OperationId,
        queue: &QueueRef,
        bulk: &Bulk,
    ) -> Result<OpReply, OpError> {
        let (no, queue) = self.open_queue(queue)?;
        let bulk = &self.resolved(no, bulk)?;
        let kind = bulk.kind();
        if self.tables.get(Table::Running, &operation::running(no, kind)).is_some() {
            return Err(Refused::OperationRunning.into());
        }
        let number = self.begun(no) + 1;
        let id = self.above_all(drawn);
        let view = OperationView {
            id,
            kind,
            queue: queue.id,
            queue_name: queue.name.clone(),
            state: OperationState::Pending,
            matched: bulk.counted(&self.counts(no, &queue)),
            done: 0,
            failed: 0,
            error: None,
            created_at: self.now.wall,
            updated_at: self.now.wall,
        };
        let (from, before) = bulk.died();
        let head = self.head(queue.stream);
        let row = OperationRow {
            view: view.clone(),
            queue: no,
            bulk: bulk.clone(),
            next: (from, Arrival(0)),
            upto: self.last_death(no, before),
            number,
            purge: PurgeAt { part: 0, entries: head.entry, arrivals: head.arrival },
        };
        self.make_room_for_one();
        let begun = Bytes::copy_from_slice(&number.to_be_bytes());
        self.tables.put(Table::Begun, &key::number(no.0), begun);
        let id = operation::operation(id);
        self.tables.put(Table::Running, &operation::running(no, kind), Bytes::copy_from_slice(&id));
        self.tables.put(Table::Operation, &id, row.encode());
        Ok(OpReply::Operation(Box::new(view)))
    }

    /// An id by which this operation is the newest, whatever the clock has done since the last one.
    fn above_all(&self, drawn: OperationId) -> OperationId {
        let mut last = 0;
        self.tables.scan(Table::Operation, &[], &[0xff; 17], Order::Falling, &mut |key, _| {
            last = u128::from_be_bytes(key.try_into().expect(READABLE));
            ControlFlow::Break(())
        });
        OperationId::from_bits(uuid_v7_bits_above(last, drawn.bits()))
    }

    /// What is to be done, with a target that is found whatever it is called later. To move something into its own
    /// queue is a new round.
    fn resolved(&self, no: QueueNo, bulk: &Bulk) -> Result<Bulk, OpError> {
        let Bulk::Move { filter, target } = bulk else { return Ok(bulk.clone()) };
        let (to, target) = self.open_queue(target)?;
        let filter = filter.clone();
        Ok(if to == no {
            Bulk::Redrive { filter, reset_attempts: true }
        } else {
            Bulk::Move { filter, target: QueueRef::Id(target.id) }
        })
    }

    /// Ends an operation where it stands.
    pub(super) fn cancel_operation(&mut self, id: OperationId) -> Result<OpReply, OpError> {
        let mut row = self.operation(id).ok_or(Refused::OperationNotFound)?;
        match row.view.state {
            OperationState::Pending | OperationState::Running => {
                self.end_operation(&mut row, OperationState::Cancelled, None);
            }
            OperationState::Cancelled => {}
            OperationState::Done | OperationState::Failed => return Err(Refused::WrongState.into()),
        }
        Ok(OpReply::Operation(Box::new(row.view)))
    }

    /// What a death that is recorded now bears: how many operations its queue has begun.
    pub(super) fn death_mark(&self, no: QueueNo) -> Bytes {
        self.tables.get(Table::Begun, &key::number(no.0)).unwrap_or_default()
    }

    /// Takes the oldest operation on by one chunk. Answers how many rows were looked at.
    pub(super) fn run_operation(&mut self, most: u64) -> u64 {
        let Some(id) = self.oldest_running().filter(|_| most > 0) else { return 0 };
        let missing = || self.tables.miss(Table::Operation, &operation::operation(id));
        let mut row = self.operation(id).unwrap_or_else(missing);
        let no = row.queue;
        let Some(queue) = self.queue(no).filter(|queue| queue.closed.is_none()) else {
            self.end_operation(&mut row, OperationState::Failed, Some(QUEUE_GONE));
            return 1;
        };
        let mut bound = OPERATION_CHUNK_ROWS;
        if let Bulk::Move { target, .. } = &row.bulk {
            if self.open_queue(target).is_err() {
                self.end_operation(&mut row, OperationState::Failed, Some(TARGET_GONE));
                return 1;
            }
            bound = MOVE_CHUNK_ROWS;
        }
        let chunk = most.min(u64::from(bound)) as usize;
        if let Bulk::Purge(filter) = row.bulk.clone() {
            let (looked_at, is_over) = self.run_purge(&mut row, (no, &queue), &filter, chunk);
            self.came_on(&mut row, is_over);
            return looked_at;
        }
        let found = self.chunk(&row, chunk);
        for &(at, mark) in &found {
            if mark < row.number {
                self.operate_on(&mut row, (no, &queue), at);
            }
        }
        let looked_at = (found.len() as u64).max(1);
        if let Some(&((at, Arrival(last)), _)) = found.last() {
            row.next = (at, Arrival(last + 1));
        }
        self.came_on(&mut row, found.len() < chunk);
        looked_at
    }

    /// Saves how far an operation came.
    fn came_on(&mut self, row: &mut OperationRow, is_over: bool) {
        if is_over {
            return self.end_operation(row, OperationState::Done, None);
        }
        (row.view.state, row.view.updated_at) = (OperationState::Running, self.now.wall);
        self.tables.put(Table::Operation, &operation::operation(row.view.id), row.encode());
    }

    /// True while an operation is under way.
    pub(super) fn has_operations(&self) -> bool {
        self.oldest_running().is_some()
    }

    /// Forgets operations that were kept long enough, the oldest first.
    pub(super) fn forget_operations(&mut self, most: u64) -> u64 {
        let mut gone = 0;
        while gone < most
            && let Some(row) = self.first_operation(|_| true)
            && row.view.state.is_over()
            && row.view.updated_at.plus_ms(i64::from(OPERATION_SECONDS) * 1_000) <= self.now.wall
        {
            self.tables.delete(Table::Operation, &operation::operation(row.view.id));
            gone += 1;
        }
        gone
    }

    /// The operation of this id.
    pub(super) fn operation_page(&self, id: OperationId) -> Result<Page, OpError> {
        let row = self.operation(id).ok_or(Refused::OperationNotFound)?;
        Ok(Page::Operation(Box::new(row.view)))
    }

    /// Operations, newest first.
    pub(super) fn operations(&self, cursor: Option<&Cursor>, limit: u32) -> Result<Page, OpError> {
        if cursor.is_some_and(|cursor| cursor.0.len() != 16) {
            return Err(Refused::BadCursor.into());
        }
        let to = cursor.map_or(&[0xff; 17][..], |cursor| cursor.0.as_slice());
        let (mut items, mut more) = (Vec::<OperationView>::new(), false);
        self.tables.scan(Table::Operation, &[], to, Order::Falling, &mut |_, value| {
            more = items.len() >= limit as usize;
            if more {
                return ControlFlow::Break(());
            }
            items.push(OperationRow::decode(value.clone()).expect(READABLE).view);
            ControlFlow::Continue(())
        });
        let next = items.last().filter(|_| more).map(|last| Cursor(operation::operation(last.id).to_vec()));
        Ok(Page::Operations(items, next))
    }

    fn operate_on(&mut self, row: &mut OperationRow, (no, queue): (QueueNo, &QueueRow), at: DeadAt) {
        let died = self.died((no, queue), at);
        let filter = match &row.bulk {
            Bulk::Redrive { filter, .. } | Bulk::Discard { filter } | Bulk::Move { filter, .. } => filter,
            Bulk::Purge(_) => return,
        };
        if !filter.takes(died.reason, died.error()) {
            return;
        }
        let arrival = at.1;
        let found = Found { stream: queue.stream, arrival, row: self.pointed_body(queue.stream, arrival) };
        let was_done = match &row.bulk {
            Bulk::Redrive { reset_attempts, .. } => {
                let step = Step::Redrive { reset_attempts: *reset_attempts };
                self.change(&found, (no, queue), &died.delivery, &step).is_ok()
            }
            Bulk::Discard { .. } => self.put_away(&found, (no, queue), &died.delivery).is_ok(),
            Bulk::Move { target, .. } => {
                self.move_on(found, (no, queue), Dealing::Live(died.delivery), target).is_ok()
            }
            Bulk::Purge(_) => false,
        };
        row.view.count(was_done);
    }

    /// The next deaths to be looked at, each with its mark.
    fn chunk(&self, row: &OperationRow, most: usize) -> Vec<(DeadAt, u64)> {
        let mut found = Vec::new();
        let Some((at, Arrival(last))) = row.upto else { return found };
        let (from, to) =
            (key::timed(row.queue.0, row.next.0, row.next.1), key::timed(row.queue.0, at, Arrival(last + 1)));
        if from >= to {
            return found;
        }
        self.tables.scan(Table::Dead, &from, &to, Order::Rising, &mut |key, value| {
            found.push((key::time_of(key), mark(value)));
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        found
    }

    /// The last recorded death of a queue before this instant.
    pub(super) fn last_death(&self, no: QueueNo, before: i64) -> Option<DeadAt> {
        let mut last = None;
        let span = ((i64::MIN, Arrival(0)), (before, Arrival(0)));
        self.visit_dead(no, span, Order::Falling, &mut |at| {
            last = Some(at);
            ControlFlow::Break(())
        });
        last
    }

    fn begun(&self, no: QueueNo) -> u64 {
        mark(&self.death_mark(no))
    }

    fn end_operation(&mut self, row: &mut OperationRow, state: OperationState, error: Option<&str>) {
        row.view.end(state, error, self.now.wall);
        self.tables.delete(Table::Running, &operation::running(row.queue, row.view.kind));
        self.tables.put(Table::Operation, &operation::operation(row.view.id), row.encode());
    }

    /// Lets go of the oldest that are over, where as many are kept as may be.
    fn make_room_for_one(&mut self) {
        let mut over = 0;
        self.visit_operations(&mut |row| {
            over += usize::from(row.view.state.is_over());
            ControlFlow::Continue(())
        });
        while over >= OPERATIONS_KEPT_MAX
            && let Some(oldest) = self.first_operation(|row| row.view.state.is_over())
        {
            self.tables.delete(Table::Operation, &operation::operation(oldest.view.id));
            over -= 1;
        }
    }

    fn operation(&self, id: OperationId) -> Option<OperationRow> {
        let bytes = self.tables.get(Table::Operation, &operation::operation(id))?;
        Some(OperationRow::decode(bytes).expect(READABLE))
    }

    fn first_operation(&self, is_it: impl Fn(&OperationRow) -> bool) -> Option<OperationRow> {
        let mut first = None;
        self.visit_operations(&mut |row| {
            first = is_it(&row).then_some(row);
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        first
    }

    fn visit_operations(&self, visit: &mut dyn FnMut(OperationRow) -> ControlFlow<()>) {
        self.tables.scan(Table::Operation, &[], &[0xff; 17], Order::Rising, &mut |_, value| {
            visit(OperationRow::decode(value.clone()).expect(READABLE))
        });
    }

    fn oldest_running(&self) -> Option<OperationId> {
        let mut oldest = None;
        self.tables.scan(Table::Running, &[], &[0xff; 6], Order::Rising, &mut |_, value| {
            let bits = u128::from_be_bytes(value.as_ref().try_into().expect(READABLE));
            let id = OperationId::from_bits(bits);
            oldest = Some(oldest.map_or(id, |known: OperationId| known.min(id)));
            ControlFlow::Continue(())
        });
        oldest
    }
}
