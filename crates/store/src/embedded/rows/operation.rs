//! Rows of operations: what they are to do and how far they have come.
//!
//! Lives here: the values and their bytes. Not here: their steps (`apply/operation.rs`).

use bytes::Bytes;
use naven_api::{OperationId, QueueId, Timestamp};
use naven_core::{DeadReason, View};

use super::codec::{Dec, Enc};
use super::delivery::reason_number;
use super::key::{Arrival, QueueNo};
use crate::embedded::record::{get_queue, put_queue};
use crate::read::DeadFilter;
use crate::txn::{Bulk, OperationKind, OperationState, OperationView, PurgeFilter};

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperationRow {
    /// How it looks from outside.
    pub(crate) view: OperationView,
    /// The queue's number.
    pub(crate) queue: QueueNo,
    /// What it does.
    pub(crate) bulk: Bulk,
    /// The first death that it has not looked at; of a purge, the first of whatever it goes through.
    pub(crate) next: (i64, Arrival),
    /// The last death that was recorded when it began, and where it ends; none: there was none.
    pub(crate) upto: Option<(i64, Arrival)>,
    /// Its number among the operations of its queue: who died since bears it or a higher one.
    pub(crate) number: u64,
    /// How far a purge has come; of others nothing.
    pub(crate) purge: PurgeAt,
}

/// How far a purge has come, and what was there when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PurgeAt {
    /// Through which of its parts it goes.
    pub(crate) part: u8,
    /// The stream's last entry then.
    pub(crate) entries: u64,
    /// The stream's last event then: what came later is not meant.
    pub(crate) arrivals: u64,
}

impl OperationRow {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        put_operation(&mut enc, &self.view);
        enc.u32(self.queue.0);
        put_bulk(&mut enc, &self.bulk);
        put_death(&mut enc, self.next);
        enc.option(self.upto, put_death).u64(self.number);
        enc.u8(self.purge.part).u64(self.purge.entries).u64(self.purge.arrivals);
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let row = Self {
            view: get_operation(&mut dec)?,
            queue: QueueNo(dec.u32()?),
            bulk: get_bulk(&mut dec)?,
            next: get_death(&mut dec)?,
            upto: dec.option(get_death)?,
            number: dec.u64()?,
            purge: PurgeAt { part: dec.u8()?, entries: dec.u64()?, arrivals: dec.u64()? },
        };
        dec.end(row)
    }
}

/// The key of an operation under way: one of a kind in a queue.
pub(crate) fn running(queue: QueueNo, kind: OperationKind) -> [u8; 5] {
    let mut key = [0; 5];
    key[..4].copy_from_slice(&queue.0.to_be_bytes());
    key[4] = kind as u8;
    key
}

/// The key of an operation.
pub(crate) fn operation(id: OperationId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

fn put_death(enc: &mut Enc, (at, arrival): (i64, Arrival)) {
    enc.i64(at).u64(arrival.0);
}

fn get_death(dec: &mut Dec) -> Option<(i64, Arrival)> {
    Some((dec.i64()?, Arrival(dec.u64()?)))
}

/// Appends how an operation looks.
pub(crate) fn put_operation(enc: &mut Enc, view: &OperationView) {
    enc.u128(view.id.bits()).u8(view.kind as u8).u128(view.queue.bits()).text(&view.queue_name);
    enc.u8(view.state as u8).option(view.matched, |enc, matched| {
        enc.u64(matched);
    });
    enc.u64(view.done).u64(view.failed).option(view.error.as_deref(), |enc, error| {
        enc.text(error);
    });
    enc.i64(view.created_at.as_ms()).i64(view.updated_at.as_ms());
}

/// Reads how an operation looks.
pub(crate) fn get_operation(dec: &mut Dec) -> Option<OperationView> {
    Some(OperationView {
        id: OperationId::from_bits(dec.u128()?),
        kind: *OperationKind::ALL.get(usize::from(dec.u8()?))?,
        queue: QueueId::from_bits(dec.u128()?),
        queue_name: dec.text()?,
        state: *OperationState::ALL.get(usize::from(dec.u8()?))?,
        matched: dec.option(Dec::u64)?,
        done: dec.u64()?,
        failed: dec.u64()?,
        error: dec.option(Dec::text)?,
        created_at: Timestamp::from_ms(dec.i64()?),
        updated_at: Timestamp::from_ms(dec.i64()?),
    })
}

/// Appends what an operation does.
pub(crate) fn put_bulk(enc: &mut Enc, bulk: &Bulk) {
    match bulk {
        Bulk::Redrive { filter, reset_attempts } => {
            put_filter(enc.u8(0).flag(*reset_attempts), filter);
        }
        Bulk::Discard { filter } => put_filter(enc.u8(1), filter),
        Bulk::Move { filter, target } => {
            put_filter(enc.u8(3), filter);
            put_queue(enc, target);
        }
        Bulk::Purge(filter) => {
            let states: Vec<View> = filter.states.iter().copied().collect();
            enc.u8(2).list(&states, |enc, view| {
                enc.u8(*view as u8);
            });
            enc.option(filter.older_than, |enc, at| {
                enc.i64(at.as_ms());
            });
        }
    }
}

/// Reads what an operation does.
pub(crate) fn get_bulk(dec: &mut Dec) -> Option<Bulk> {
    Some(match dec.u8()? {
        0 => {
            let reset_attempts = dec.flag()?;
            Bulk::Redrive { filter: get_filter(dec)?, reset_attempts }
        }
        1 => Bulk::Discard { filter: get_filter(dec)? },
        3 => Bulk::Move { filter: get_filter(dec)?, target: get_queue(dec)? },
        2 => {
            let states = dec.list(|dec| View::ALL.get(usize::from(dec.u8()?)).copied())?;
            // As a set is written; anything else is not ours.
            if !states.is_sorted_by(|one, next| one < next) {
                return None;
            }
            let older_than = dec.option(|dec| dec.i64().map(Timestamp::from_ms))?;
            Bulk::Purge(PurgeFilter { states: states.into_iter().collect(), older_than })
        }
        _ => return None,
    })
}

fn put_filter(enc: &mut Enc, filter: &DeadFilter) {
    enc.option(filter.reason, |enc, reason| {
        enc.u8(reason_number(reason));
    });
    enc.option(filter.error.as_deref(), |enc, error| {
        enc.text(error);
    });
    for at in [filter.died_after, filter.died_before] {
        enc.option(at, |enc, at| {
            enc.i64(at.as_ms());
        });
    }
}

fn get_filter(dec: &mut Dec) -> Option<DeadFilter> {
    let time = |dec: &mut Dec| dec.i64().map(Timestamp::from_ms);
    Some(DeadFilter {
        reason: dec.option(|dec| DeadReason::ALL.get(usize::from(dec.u8()?)).copied())?,
        error: dec.option(Dec::text)?,
        died_after: dec.option(time)?,
        died_before: dec.option(time)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::queue::QueueRef;

    #[test]
    fn an_operation_comes_back_from_its_bytes() {
        let filter = DeadFilter {
            reason: Some(DeadReason::Fatal),
            error: Some("é".to_owned()),
            died_after: Some(Timestamp::from_ms(-1)),
            died_before: None,
        };
        for (state, kind) in OperationState::ALL.into_iter().zip(OperationKind::ALL.into_iter().cycle()) {
            let view = OperationView {
                id: OperationId::from_bits(7),
                kind,
                queue: QueueId::from_bits(8),
                queue_name: "mail".to_owned(),
                state,
                matched: Some(9),
                done: 5,
                failed: 4,
                error: Some("no".to_owned()),
                created_at: Timestamp::from_ms(1),
                updated_at: Timestamp::from_ms(2),
            };
            let filter = filter.clone();
            let bulk = match kind {
                OperationKind::Redrive => Bulk::Redrive { filter, reset_attempts: true },
                OperationKind::Discard => Bulk::Discard { filter },
                OperationKind::Purge => Bulk::Purge(PurgeFilter {
                    states: [View::Scheduled, View::Dead].into(),
                    older_than: Some(Timestamp::from_ms(7)),
                }),
            };
            let moves = Bulk::Move { filter: DeadFilter::default(), target: QueueRef::Name("t".to_owned()) };
            let bulk = if state == OperationState::Failed { moves } else { bulk };
            let row = OperationRow {
                view,
                queue: QueueNo(3),
                bulk,
                next: (-5, Arrival(6)),
                upto: Some((7, Arrival(8))),
                number: 9,
                purge: PurgeAt { part: 2, entries: 3, arrivals: 4 },
            };
            assert_eq!(OperationRow::decode(row.encode()), Some(row));
        }
    }
}
