//! Whether a row is one that this version writes.
//!
//! Lives here: reading each table's rows as what they are. Not here: what they mean (`rows/`), and whether
//! what they name is there (`link.rs`).

use bytes::Bytes;

use crate::embedded::rows::answer::AnswerRow;
use crate::embedded::rows::audit;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::codec::Dec;
use crate::embedded::rows::consumer::{CLOSING_CONSUMER, ConsumerRow};
use crate::embedded::rows::dedupe::DedupeRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key;
use crate::embedded::rows::operation::OperationRow;
use crate::embedded::rows::queue::{Progress, QueueRow, get_key};
use crate::embedded::rows::stream::{EntryRow, Head, Numbers, StreamRow};
use crate::embedded::tables::Table;

/// Bytes of keys that are a number, two numbers, a number and a counter, and a number, a time and a
/// counter.
const NUMBER: usize = 4;
const PAIR: usize = 8;
const COUNTED: usize = 12;
/// Bytes of a key of two numbers and a counter.
const HOLD: usize = 16;
const TIMED: usize = 20;
/// Bytes of an id, an arrival, and an instant.
const ID: usize = 16;
const ARRIVAL: usize = 8;
/// Bytes of a count.
const COUNT: usize = 8;
const INSTANT: usize = 8;
/// Bytes of a counter, and of a mark.
const COUNTER: usize = 8;
const MARK: usize = 1;

/// True where this can be a row of `table`.
pub(in crate::embedded) fn is_one(table: Table, key: &[u8], row: &Bytes) -> bool {
    let bytes = || row.clone();
    let empty = |len| key.len() == len && row.is_empty();
    match table {
        Table::Numbers => key.is_empty() && Numbers::decode(bytes()).is_some(),
        Table::Stream => key.len() == NUMBER && StreamRow::decode(bytes()).is_some(),
        Table::Head => key.len() == NUMBER && Head::decode(bytes()).is_some(),
        Table::Member => key.len() == PAIR && [0, ID].contains(&row.len()),
        Table::Body => key.len() == COUNTED && BodyRow::decode(bytes()).is_some(),
        Table::Entry => key.len() == COUNTED && EntryRow::decode(bytes()).is_some(),
        Table::Waiting => key.len() == TIMED && [0, NUMBER].contains(&row.len()),
        Table::Queue => key.len() == NUMBER && QueueRow::decode(bytes()).is_some(),
        Table::Progress => key.len() == NUMBER && Progress::decode(bytes()).is_some(),
        Table::Name => matches!(key.first(), Some(b'q' | b's')) && row.len() == NUMBER,
        Table::QueueId => key.len() == ID && row.len() == NUMBER,
        Table::Delivery | Table::Outcome => key.len() == COUNTED && delivery::decode(bytes()).is_some(),
        Table::Retry | Table::Again | Table::Ends | Table::HoldEnds => empty(TIMED),
        Table::Over | Table::Expire => empty(TIMED),
        Table::Key => {
            let mut dec = Dec(bytes());
            get_key(&mut dec).and_then(|key| dec.end(key)).is_some()
        }
        Table::Lane => key.len() == COUNTED && row.len() == ARRIVAL,
        Table::Aside => key.len() == COUNTED && [0, MARK].contains(&row.len()),
        Table::Dedupe => key.len() > NUMBER && DedupeRow::decode(bytes()).is_some(),
        Table::DedupeUntil => key.len() == TIMED && row.len() > NUMBER,
        Table::Idem => AnswerRow::decode(bytes()).is_some(),
        Table::IdemUntil => key.len() >= INSTANT && row.is_empty(),
        Table::Closing => empty(TIMED) && closing_kind(key).is_some(),
        Table::ConsumerName => key.len() >= NUMBER && row.len() == NUMBER,
        Table::Consumer => key.len() == PAIR && ConsumerRow::decode(bytes()).is_some(),
        Table::Held => empty(HOLD),
        Table::Audit if audit::is_start(key) => row.len() == COUNTER,
        Table::Audit => audit::decode(key, bytes()).is_some_and(|entry| entry.is_whole()),
        Table::Dead => key.len() == TIMED && [0, COUNT].contains(&row.len()),
        Table::Operation => key.len() == ID && OperationRow::decode(bytes()).is_some(),
        Table::Running => key.len() == NUMBER + 1 && row.len() == ID,
        Table::Begun => key.len() == NUMBER && row.len() == COUNT,
    }
}

/// The table in which what is closed has its own row, and its key there.
pub(in crate::embedded) fn closing_kind(key: &[u8]) -> Option<(Table, Vec<u8>)> {
    let number = key::time_of(key).1.0;
    let small = || Some(u32::try_from(number).ok()?.to_be_bytes().to_vec());
    match u32::from_be_bytes(key.get(..NUMBER)?.try_into().ok()?) {
        key::CLOSING_QUEUE => Some((Table::Queue, small()?)),
        key::CLOSING_STREAM => Some((Table::Stream, small()?)),
        CLOSING_CONSUMER => Some((Table::Consumer, number.to_be_bytes().to_vec())),
        _ => None,
    }
}
