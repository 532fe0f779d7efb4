//! What is left of streams that were deleted and whose time is over: nothing.
//!
//! Lives here: random commands, which leave every row well and what it leads to in place, then the end of
//! everything, then a look at every table. Not here: what commands answer, which the random scripts compare with the model (`conformance`).

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::{EventId, OperationId, QueueId, Timestamp};
use naven_core::{DeadReason, Failure, LeaseTime, Now, View};

use super::apply;
use crate::embedded::command::{Claimant, Command, Recorded, Said};
use crate::embedded::rows::consumer::ConsumerRow;
use crate::embedded::tables::{Journaled, Order, RamTables, Table, Tables};
use crate::embedded::verify::{link, row};
use crate::queue::{QueueRef, QueueSettings, Retention, StreamChanges};
use crate::read::DeadFilter;
use crate::reply::{Grant, OpReply, QueueRead};
use crate::txn::{
    AckEntries, Append, Body, Bulk, DedupeKey, DedupeSpace, Due, Form, From, GivingUp, GroupFrom,
    IdempotencySlot, Keep, NackEntries, Place, PurgeFilter, ReadGroup, ReaderOp, Reading, References, Rename,
    ScanTransfer, StreamRef, Target, Transfer, Trim, Trimming,
};

const DAY_MS: i64 = 86_400_000;
const STREAMS: [&str; 2] = ["s", "t"];
const QUEUES: [&str; 4] = ["a", "b", "c", "d"];

struct Play {
    tables: Journaled<RamTables>,
    now: Now,
    bits: u64,
    grants: Vec<Grant>,
    events: Vec<EventId>,
    places: Vec<Place>,
    held: Vec<(QueueId, Place)>,
    operations: Vec<OperationId>,
}

impl Play {
    fn below(&mut self, bound: u64) -> u64 {
        self.bits = self.bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.bits >> 33) % bound
    }

    fn stream(&mut self) -> StreamRef {
        StreamRef(Bytes::from_static(STREAMS[self.below(2) as usize].as_bytes()))
    }

    fn queue(&mut self) -> QueueRef {
        QueueRef::Name(QUEUES[self.below(4) as usize].to_owned())
    }

    fn consumer(&mut self) -> Bytes {
        Bytes::from_static([&b"c"[..], b"cc"][self.below(2) as usize])
    }

    fn from(&mut self) -> From {
        match self.below(3) {
            0 => From::New,
            1 => From::Time(self.now.wall.plus_ms(-2_000)),
            _ => From::Start,
        }
    }

    fn create(&mut self) -> Command {
        let on = Reading { stream: self.stream(), from: self.from() };
        let retention = if self.below(2) == 0 { Retention::Consumed } else { Retention::Trim };
        let settings = QueueSettings {
            max_attempts: Some(2),
            protect_unread: self.below(2) == 0,
            redis_lease: (self.below(2) == 0).then(|| 2.try_into().expect("a lease within its bounds")),
            keep_done_payload: self.below(3) == 0,
            ..QueueSettings::default()
        };
        Command::Create {
            id: QueueId::from_bits(self.bits.into()),
            name: QUEUES[self.below(4) as usize].to_owned(),
            settings: Box::new(settings),
            on: (self.below(4) > 0).then_some(on),
            stream: StreamChanges { retention: Some(retention), ..StreamChanges::default() },
        }
    }

    fn append(&mut self) -> Command {
        let to = if self.below(3) == 0 { Target::Queue(self.queue()) } else { Target::Stream(self.stream()) };
        let key = DedupeKey { space: DedupeSpace::Http, key: vec![self.below(9) as u8].into() };
        let append = Append {
            to,
            body: Body { form: Form::Json, bytes: Bytes::from_static(b"{}") },
            due: if self.below(3) == 0 { Due::At(self.now.wall.plus_ms(3_000)) } else { Due::Now },
            headers: Vec::new(),
            max_attempts: None,
            dedupe: (self.below(4) == 0).then_some(key),
            expires_at: (self.below(3) == 0).then(|| self.now.wall.plus_ms(2_000)),
            trace: None,
            entry: None,
        };
        let slot = IdempotencySlot {
            scope: Bytes::new(),
            key: vec![self.below(200) as u8].into(),
            fingerprint: [0; 32],
        };
        let command = Box::new(Command::Append(Box::new(append)));
        if self.below(4) == 0 { Command::Once { slot, command } } else { *command }
    }

    fn settle(&mut self) -> Command {
        if self.below(2) == 0
            && let Some((queue, place)) = self.held.pop()
        {
            return self.unproven(QueueRef::Id(queue), vec![place]);
        }
        let Some(grant) = self.grants.pop() else { return self.append() };
        let said = match self.below(5) {
            0..3 => Said::Ack(None),
            3 => Said::Fail(Failure::default()),
            _ => Said::Fatal(None),
        };
        let claimant = Claimant::Fence { queue: grant.queue, round: grant.round, fence: grant.fence };
        Command::Settle { event: grant.event, claimant, said }
    }

    fn unproven(&mut self, queue: QueueRef, places: Vec<Place>) -> Command {
        let delete = [None, None, Some(References::Keep), Some(References::Acked)][self.below(4) as usize];
        let op = if self.below(3) > 0 {
            ReaderOp::Ack(AckEntries { queue, places, delete })
        } else {
            let how = [GivingUp::Release, GivingUp::Fail, GivingUp::Fatal][self.below(3) as usize];
            ReaderOp::Nack(NackEntries { queue, places, how, delay_ms: None, error: None, redis_count: None })
        };
        Command::Reader(Box::new(op), 0)
    }

    fn command(&mut self) -> Command {
        match self.below(31) {
            0 | 1 => self.create(),
            2..9 => self.append(),
            9..14 => {
                let max = 1 + self.below(3) as u32;
                Command::Claim { queue: self.queue(), hold: None, max, max_bytes: 1_000, consumer: None }
            }
            14..18 => self.settle(),
            22 => {
                let (queue, name) = (self.queue(), self.consumer());
                self.reading(queue, name)
            }
            23 if self.below(3) == 0 => {
                Command::DeleteConsumer { queue: self.queue(), name: self.consumer() }
            }
            24 => self.operation(),
            25 if !self.operations.is_empty() && self.below(3) == 0 => {
                let at = self.below(self.operations.len() as u64) as usize;
                Command::CancelOperation { id: self.operations[at] }
            }
            18 => {
                let keep = Keep::Newest(self.below(3));
                let references =
                    [References::Keep, References::Drop, References::Acked][self.below(3) as usize];
                let how = Trimming { references, step: 1 + self.below(2), ..Trimming::to(keep) };
                Command::Trim(Trim { stream: self.stream(), how })
            }
            19 => Command::Reset { queue: self.queue(), from: self.from() },
            20 if self.below(2) == 0 => {
                let reason = DeadReason::QueueDeleted;
                Command::Delete { queue: self.queue(), force: true, reason, revision: None }
            }
            20 if self.below(3) == 0 => Command::Rename(Rename { stream: self.stream(), to: self.stream() }),
            20 if self.below(3) == 0 => Command::DeleteStream { stream: self.stream(), force: true },
            21 | 26..31 if !self.events.is_empty() => self.operator(),
            _ => Command::Tend { rows: 3 },
        }
    }

    /// What readers do, at most of the first entries of a stream.
    fn reading(&mut self, queue: QueueRef, consumer: Bytes) -> Command {
        let (count, start) = (1 + self.below(3), Place::default());
        let op = match self.below(4) {
            0 => ReaderOp::ScanTransfer(ScanTransfer {
                queue,
                consumer,
                min_idle_ms: 0,
                start,
                count,
                max_bytes: 1_000,
                just_id: count == 1,
            }),
            1 if !self.places.is_empty() => {
                let at = self.below(self.places.len() as u64) as usize;
                ReaderOp::Transfer(Transfer {
                    queue,
                    consumer,
                    min_idle_ms: 0,
                    places: vec![self.places[at]],
                    just_id: false,
                    force: true,
                    since: None,
                    redis_count: None,
                    last: (count == 3).then_some(self.places[at]),
                })
            }
            _ => ReaderOp::Read(ReadGroup {
                consumer,
                count: Some(count),
                max_bytes: 1_000,
                no_ack: self.below(5) == 0,
                idle_ms: (self.below(3) == 0).then_some(0),
                from: vec![GroupFrom { queue, after: (self.below(4) == 0).then_some(start) }],
            }),
        };
        Command::Reader(Box::new(op), 0)
    }

    fn operation(&mut self) -> Command {
        let filter = DeadFilter::default();
        let bulk = match self.below(5) {
            3 => Bulk::Move { filter, target: self.queue() },
            2 => {
                let older_than = (self.below(2) == 0).then_some(self.now.wall);
                let all = [View::Scheduled, View::Ready, View::Retrying, View::Dead];
                let states = all.into_iter().filter(|_| self.below(3) > 0).collect();
                Bulk::Purge(PurgeFilter { states, older_than })
            }
            0 => Bulk::Discard { filter },
            _ => Bulk::Redrive { filter, reset_attempts: true },
        };
        let id = OperationId::from_bits(self.bits.into());
        Command::StartOperation { id, queue: self.queue(), bulk }
    }

    /// What operators do to one event.
    fn operator(&mut self) -> Command {
        let at = self.below(self.events.len() as u64) as usize;
        let (event, queue) = (self.events[at], self.queue());
        let named = (self.below(4) > 0).then(|| queue.clone());
        match self.below(6) {
            0 => Command::Discard { event, queue },
            1 => Command::Redrive { event, queue: named, reset_attempts: true },
            2 => {
                let due = Some(Due::At(self.now.wall.plus_ms(self.below(9_000) as i64 - 1_000)));
                Command::Reschedule { event, queue: named, due, max_attempts: None }
            }
            3 => Command::MoveDead { event, queue: named, target: self.queue() },
            4 => Command::RunNow { event, queue: named },
            _ => Command::Cancel { event, queue: named, reason: None },
        }
    }

    fn run(&mut self, command: Command) -> (u64, bool) {
        let txn = Recorded { commands: vec![command], all_or_nothing: false };
        let applied = apply(&mut self.tables, &txn, self.now, None);
        match applied.replies.into_iter().next() {
            Some(Ok(OpReply::Claimed(claimed))) => self.grants.extend(claimed.leases),
            Some(Ok(OpReply::Event(view))) => {
                self.events.push(view.id);
                self.places.extend(view.place);
            }
            Some(Ok(OpReply::Read(reads))) => {
                let held = |read: &QueueRead| {
                    read.entries.iter().map(|one| (read.queue, one.place)).collect::<Vec<_>>()
                };
                self.held.extend(reads.iter().flat_map(held));
            }
            Some(Ok(OpReply::Operation(view))) => self.operations.push(view.id),
            _ => {}
        }
        applied.tended
    }

    fn pass_ms(&mut self, ms: i64) {
        self.now = Now { wall: self.now.wall.plus_ms(ms), lease: self.now.lease.plus_ms(ms) };
    }

    /// Deletes every stream and lets all retention pass.
    fn end(&mut self) {
        for name in STREAMS.into_iter().chain(QUEUES) {
            let stream = StreamRef(Bytes::from_static(name.as_bytes()));
            self.run(Command::DeleteStream { stream, force: true });
        }
        let mut steps = 0;
        // An operation ends with its queue, and is shown for a while from then on.
        for days in [400, 8] {
            self.pass_ms(days * DAY_MS);
            while self.run(Command::Tend { rows: 5 }).1 {
                steps += 1;
                assert!(steps < 10_000, "tending has an end");
            }
        }
    }

    /// What a check of these rows would find.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let get = |table: Table, key: &[u8]| Ok(self.tables.get(table, key));
        for table in Table::ALL {
            self.tables.scan(table, &[], &[0xff; 64], Order::Rising, &mut |key, value| {
                if !row::is_one(table, key, value) {
                    wrong.push(format!("{table:?} {key:?} is none"));
                } else if let Some(what) = link::wrong(table, key, value, &get) {
                    wrong.push(format!("{table:?} {key:?}: {what}"));
                }
                ControlFlow::Continue(())
            });
        }
        self.tables.scan(Table::Consumer, &[], &[0xff; 64], Order::Rising, &mut |key, value| {
            let said = ConsumerRow::decode(value.clone()).map(|row| row.held);
            let (mut held, to) = (0, [key, &[0xff; 8]].concat());
            self.tables.scan(Table::Held, key, &to, Order::Rising, &mut |_, _| {
                held += 1;
                ControlFlow::Continue(())
            });
            if said != Some(held) {
                wrong.push(format!("consumer {key:?} holds {held}, and says {said:?}"));
            }
            ControlFlow::Continue(())
        });
        wrong
    }

    fn left(&self) -> Vec<(Table, Vec<u8>)> {
        let mut left = Vec::new();
        for table in Table::ALL.into_iter().filter(|&table| table != Table::Numbers) {
            self.tables.scan(table, &[], &[0xff; 64], Order::Rising, &mut |key, _| {
                left.push((table, key.to_vec()));
                ControlFlow::Continue(())
            });
        }
        left
    }
}

#[test]
fn nothing_is_left_of_what_was_deleted_and_forgotten() {
    for seed in 0..2_000 {
        let now = Now { wall: Timestamp::from_ms(1_000 * DAY_MS), lease: LeaseTime::from_ms(7) };
        let tables = Journaled::new(RamTables::default());
        let mut play = Play {
            tables,
            now,
            bits: seed,
            grants: Vec::new(),
            events: Vec::new(),
            operations: Vec::new(),
            places: Vec::new(),
            held: Vec::new(),
        };
        for _ in 0..120 {
            let command = play.command();
            play.run(command);
            if play.below(4) == 0 {
                let ms = [1_000, 5_000, 60_000, 2 * DAY_MS][play.below(4) as usize];
                play.pass_ms(ms);
                assert_eq!(play.wrong(), Vec::<String>::new(), "seed {seed}");
            }
        }
        play.end();
        assert_eq!(play.left(), [], "seed {seed}");
    }
}
