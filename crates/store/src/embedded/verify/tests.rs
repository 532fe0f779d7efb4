//! Tests of links between rows.
//!
//! Lives here: rows that lead nowhere, made by hand, since no engine leaves one. Not here: damage of
//! files (`tests/backup`), and stores that engines left (`tests/embedded.rs`).

use std::sync::Arc;

use bytes::Bytes;
use naven_api::{OperationId, QueueId, Timestamp};
use naven_core::{ConsumerNo, Delivery};

use super::verify;
use crate::embedded::cold::{Applied, Cold};
use crate::embedded::disk::{Disk, MemDisk};
use crate::embedded::folder::{Folder, NewStore};
use crate::embedded::meta::{Meta, Secret, StoreId};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::consumer::{ConsumerRow, consumer, consumer_name, held};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::operation::{self, OperationRow, PurgeAt, running};
use crate::embedded::rows::stream::{EntryRow, StreamRow};
use crate::embedded::tables::Table;
use crate::embedded::window::Window;
use crate::queue::StreamSettings;
use crate::read::DeadFilter;
use crate::txn::{Bulk, OperationKind, OperationState, OperationView, Place};

type Row = (Table, Vec<u8>, Bytes);

/// A new store whose cold store holds these rows.
fn holding(rows: &[Row]) -> Arc<dyn Disk> {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let new = NewStore { store: StoreId([7; 16]), secret: Secret([1; 32]), segment_bytes: Some(64 << 10) };
    drop(Folder::open(&*disk, || new).expect("an empty disk takes a store"));
    let meta = Meta::read(&*disk).expect("it can be read").expect("it is there");
    let mut window = Window::default();
    for (table, key, row) in rows {
        window.set(*table, key, Some(row.clone()));
    }
    let mut cold = Cold::open(Arc::clone(&disk), &meta).expect("it is empty");
    cold.write(&window, Applied::default()).expect("the disk is well");
    drop(cold);
    disk
}

fn timed(table: Table, owner: u32, arrival: u64) -> Row {
    (table, key::timed(owner, 5, Arrival(arrival)).to_vec(), Bytes::new())
}

fn number(number: u32) -> Bytes {
    Bytes::copy_from_slice(&key::number(number))
}

/// An operation that is still under way.
fn under_way() -> OperationRow {
    let at = Timestamp::from_ms(7);
    let view = OperationView {
        id: OperationId::from_bits(8),
        kind: OperationKind::Discard,
        queue: QueueId::from_bits(4),
        queue_name: "mail".to_owned(),
        state: OperationState::Running,
        matched: None,
        done: 1,
        failed: 0,
        error: None,
        created_at: at,
        updated_at: at,
    };
    let bulk = Bulk::Discard { filter: DeadFilter::default() };
    OperationRow {
        view,
        queue: QueueNo(5),
        bulk,
        next: (0, Arrival(0)),
        upto: None,
        number: 1,
        purge: PurgeAt::default(),
    }
}

#[test]
fn an_operation_that_another_one_stands_for_is_found() {
    let rows = [
        (Table::Operation, operation::operation(under_way().view.id).to_vec(), under_way().encode()),
        (Table::Running, running(QueueNo(5), OperationKind::Discard).to_vec(), Bytes::from_static(&[9; 16])),
    ];
    let report = verify(holding(&rows), &mut |_| {}).unwrap();
    let named: Vec<_> = report.findings.iter().map(|finding| finding.table.as_deref()).collect();
    assert_eq!(named, [Some("Operation"), Some("Running")], "{report:?}");
    assert!(report.findings[0].what.contains("lead back"), "{report:?}");
}

#[test]
fn a_row_that_leads_nowhere_is_found() {
    let entry =
        EntryRow { place: Place { ms: 1, seq: 0 }, arrival: Arrival(9), created_at: Timestamp::from_ms(1) };
    let seen = Timestamp::default();
    let c2 = ConsumerRow { name: Bytes::from_static(b"c2"), held: 0, is_deleted: true, seen, active: None };
    let lane = Bytes::copy_from_slice(&8_u64.to_be_bytes());
    let rows = [
        (Table::Member, key::counted(3, 4)[..8].to_vec(), Bytes::new()),
        (Table::Entry, key::counted(3, 1).to_vec(), entry.encode()),
        timed(Table::Waiting, 3, 8),
        (Table::Name, b"qmail".to_vec(), number(4)),
        (Table::QueueId, vec![1; 16], number(4)),
        timed(Table::Retry, 4, 8),
        timed(Table::Again, 4, 8),
        timed(Table::Ends, 4, 8),
        timed(Table::HoldEnds, 4, 8),
        timed(Table::Dead, 4, 8),
        timed(Table::Over, 4, 8),
        (Table::Lane, key::counted(4, 2).to_vec(), lane),
        (Table::Aside, key::counted(4, 2).to_vec(), Bytes::new()),
        timed(Table::Expire, 3, 8),
        (Table::DedupeUntil, key::timed(3, 5, Arrival(8)).to_vec(), Bytes::from_static(b"\0\0\0\x03\0a")),
        (Table::IdemUntil, vec![1; 20], Bytes::new()),
        (Table::Closing, key::closing_stream(StreamNo(9)).to_vec(), Bytes::new()),
        (Table::ConsumerName, consumer_name(QueueNo(4), b"c1"), number(1)),
        (Table::Consumer, consumer(QueueNo(4), ConsumerNo(2)).to_vec(), c2.encode()),
        (Table::Held, held(QueueNo(4), ConsumerNo(3), EntryNo(1)).to_vec(), Bytes::new()),
        (Table::Operation, operation::operation(under_way().view.id).to_vec(), under_way().encode()),
        (Table::Running, running(QueueNo(4), OperationKind::Discard).to_vec(), Bytes::from_static(&[9; 16])),
        (Table::Begun, key::number(4).to_vec(), Bytes::copy_from_slice(&1_u64.to_be_bytes())),
    ];
    let report = verify(holding(&rows), &mut |_| {}).unwrap();
    for (table, _, _) in &rows {
        let name = format!("{table:?}");
        let found = report.findings.iter().find(|finding| finding.table.as_ref() == Some(&name));
        assert!(found.is_some_and(|found| found.what.contains("missing")), "{table:?}: {report:?}");
    }
    assert_eq!(report.found, rows.len() as u64);
}

#[test]
fn a_row_that_leads_to_what_is_anothers_is_found() {
    let at = Timestamp::from_ms(7);
    let body = BodyRow {
        created_at: at,
        scheduled_at: at,
        due: at,
        placed: None,
        only: None,
        expires_at: None,
        dedupe_key: None,
        trace: None,
        max_attempts: None,
        headers: Vec::new(),
        body: None,
        damaged: false,
    };
    let stream = StreamRow {
        name: Bytes::from_static(b"mail"),
        settings: StreamSettings::default(),
        created_at: at,
        closed: None,
        queues: 0,
    };
    let entry =
        EntryRow { place: Place { ms: 1, seq: 0 }, arrival: Arrival(8), created_at: Timestamp::from_ms(1) };
    let rows = [
        (Table::Stream, key::number(3).to_vec(), stream.encode()),
        (Table::Body, key::counted(3, 8).to_vec(), body.encode()),
        (Table::Entry, key::counted(3, 1).to_vec(), entry.encode()),
        // Its event is due later.
        timed(Table::Waiting, 3, 8),
        timed(Table::Expire, 3, 8),
    ];
    let report = verify(holding(&rows), &mut |_| {}).unwrap();
    let named: Vec<_> = report.findings.iter().map(|finding| finding.table.as_deref()).collect();
    assert_eq!(named, [Some("Entry"), Some("Waiting"), Some("Expire")], "{report:?}");
    assert!(report.findings.iter().all(|finding| finding.what.contains("lead back")), "{report:?}");
}

#[test]
fn a_name_or_a_hold_that_leads_to_another_s_is_found() {
    let queue = QueueNo(4);
    let seen = Timestamp::default();
    let c1 = ConsumerRow { name: Bytes::from_static(b"c1"), held: 1, is_deleted: false, seen, active: None };
    let ready = Delivery::fresh(Timestamp::from_ms(1));
    let rows = [
        (Table::Delivery, key::counted(4, 1).to_vec(), delivery::encode(Arrival(8), &ready)),
        (Table::ConsumerName, consumer_name(queue, b"c2"), number(1)),
        (Table::Consumer, consumer(queue, ConsumerNo(1)).to_vec(), c1.encode()),
        (Table::Held, held(queue, ConsumerNo(1), EntryNo(1)).to_vec(), Bytes::new()),
    ];
    let report = verify(holding(&rows), &mut |_| {}).unwrap();
    let others = report.findings.iter().filter(|finding| finding.what.contains("lead back"));
    let named: Vec<_> = others.map(|finding| finding.table.as_deref()).collect();
    assert_eq!(named, [Some("ConsumerName"), Some("Held")], "{report:?}");
}

#[test]
fn a_row_of_another_form_is_found() {
    let rows = [
        (Table::Head, key::number(1).to_vec(), Bytes::from_static(b"no head")),
        (Table::Member, b"short".to_vec(), Bytes::new()),
        (Table::Over, b"short".to_vec(), Bytes::new()),
        (Table::Closing, key::timed(7, 1, Arrival(1)).to_vec(), Bytes::new()),
        (Table::Consumer, consumer(QueueNo(1), ConsumerNo(1)).to_vec(), Bytes::from_static(b"none")),
        (Table::Held, b"short".to_vec(), Bytes::new()),
        (Table::Running, running(QueueNo(1), OperationKind::Redrive).to_vec(), Bytes::new()),
    ];
    let report = verify(holding(&rows), &mut |_| {}).unwrap();
    let named: Vec<_> = report.findings.iter().map(|finding| finding.table.as_deref()).collect();
    assert_eq!(
        named,
        [
            Some("Head"),
            Some("Member"),
            Some("Over"),
            Some("Closing"),
            Some("Consumer"),
            Some("Held"),
            Some("Running")
        ],
        "{report:?}"
    );
}
