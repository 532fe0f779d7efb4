//! What a publish costs, in rows read and written.
//!
//! Lives here: the proof that it costs the same however many queues read the stream. Not here: time,
//! which depends on the machine.

use std::cell::Cell;
use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::QueueId;
use naven_core::Now;

use super::apply;
use crate::embedded::command::{Command, Recorded};
use crate::embedded::tables::{Before, Journaled, Order, RamTables, Table, Tables, Visit};
use crate::queue::{QueueSettings, StreamChanges};
use crate::reply::OpReply;
use crate::txn::{Append, Body, Due, Form, From, Reading, StreamRef, Target};

/// Tables that count what is asked of them.
#[derive(Default)]
struct Counted {
    rows: RamTables,
    asked: Cell<u64>,
}

impl Counted {
    fn count(&self) {
        self.asked.set(self.asked.get() + 1);
    }
}

impl Tables for Counted {
    fn get(&self, table: Table, key: &[u8]) -> Option<Bytes> {
        self.count();
        self.rows.get(table, key)
    }

    fn put(&mut self, table: Table, key: &[u8], value: Bytes) {
        self.count();
        self.rows.put(table, key, value);
    }

    fn delete(&mut self, table: Table, key: &[u8]) {
        self.count();
        self.rows.delete(table, key);
    }

    fn scan(&self, table: Table, from: &[u8], to: &[u8], order: Order, visit: &mut Visit<'_>) {
        self.count();
        self.rows.scan(table, from, to, order, &mut |key, value| {
            self.count();
            visit(key, value)
        });
    }

    fn before(&self, table: Table, key: &[u8]) -> Before {
        self.rows.before(table, key)
    }

    fn take_back(&mut self, table: Table, key: &[u8], before: Before) {
        self.rows.take_back(table, key, before);
    }
}

fn stream() -> StreamRef {
    StreamRef(Bytes::from_static(b"orders"))
}

fn publish() -> Command {
    Command::Append(Box::new(Append {
        to: Target::Stream(stream()),
        body: Body { form: Form::Json, bytes: Bytes::from_static(b"{}") },
        due: Due::Now,
        headers: Vec::new(),
        max_attempts: None,
        dedupe: None,
        expires_at: None,
        trace: None,
        entry: None,
    }))
}

/// What is asked of the tables of a stream with so many queues for one transaction of `events`.
fn asked(queues: u32, events: usize) -> u64 {
    let mut tables = Journaled::new(Counted::default());
    let create = |n: u32| Command::Create {
        id: QueueId::from_bits(n.into()),
        name: format!("q{n}"),
        settings: Box::new(QueueSettings::default()),
        on: Some(Reading { stream: stream(), from: From::New }),
        stream: StreamChanges::default(),
    };
    let made = Recorded { commands: (0..queues).map(create).collect(), all_or_nothing: true };
    let made = apply(&mut tables, &made, Now::default(), None);
    assert!(made.replies.iter().all(Result::is_ok));
    let before = tables.inner().asked.get();
    let publishes = Recorded { commands: vec![publish(); events], all_or_nothing: false };
    let applied = apply(&mut tables, &publishes, Now::default(), None);
    assert!(applied.replies.iter().all(|reply| matches!(reply, Ok(OpReply::Event(_)))));
    assert_eq!(applied.hints.len(), queues as usize, "each queue is hinted once");
    tables.inner().asked.get() - before
}

#[test]
fn a_publish_costs_the_same_however_many_queues_read_the_stream() {
    let (one, hundred) = (asked(1, 500), asked(100, 500));
    assert!(hundred * 10 <= one * 13, "{hundred} for a hundred queues, {one} for one");
}

#[test]
fn a_claim_looks_at_no_more_than_a_few_rows_however_long_the_stream_is() {
    let claim = || Recorded {
        commands: vec![Command::Claim {
            queue: crate::queue::QueueRef::Name("q0".to_owned()),
            hold: None,
            max: 1,
            max_bytes: 1_000,
            consumer: None,
        }],
        all_or_nothing: false,
    };
    let asked = |events: usize| {
        let mut tables = Journaled::new(Counted::default());
        let create = Command::Create {
            id: QueueId::from_bits(1),
            name: "q0".to_owned(),
            settings: Box::new(QueueSettings::default()),
            on: None,
            stream: StreamChanges::default(),
        };
        let to = Target::Queue(crate::queue::QueueRef::Name("q0".to_owned()));
        let Command::Append(append) = publish() else { unreachable!("it is one") };
        let append = Command::Append(Box::new(Append { to, ..*append }));
        let mut commands = vec![create];
        commands.extend(std::iter::repeat_n(append, events));
        apply(&mut tables, &Recorded { commands, all_or_nothing: false }, Now::default(), None);
        let before = tables.inner().asked.get();
        apply(&mut tables, &claim(), Now::default(), None);
        tables.inner().asked.get() - before
    };
    assert_eq!(asked(10), asked(5_000));
}

#[test]
fn a_scan_is_counted_row_by_row() {
    let mut tables = Counted::default();
    tables.put(Table::Key, b"a", Bytes::new());
    tables.put(Table::Key, b"b", Bytes::new());
    tables.asked.set(0);
    tables.scan(Table::Key, b"a", b"z", Order::Rising, &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(tables.asked.get(), 3);
}
