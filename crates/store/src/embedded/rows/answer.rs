//! Rows of idempotency keys: the answers that are given again.
//!
//! Lives here: the values and their bytes. Not here: when they are given (`apply/once.rs`).

use bytes::Bytes;
use naven_api::{EventId, QueueId, Timestamp};
use naven_core::{DeadReason, View};

use super::body::{get_headers, put_headers};
use super::codec::{Dec, Enc};
use super::delivery::{get_past, put_past, reason_number};
use super::key::QueueNo;
use super::operation::{get_operation, put_operation};
use super::queue::{get_settings, put_settings};
use super::stream::{get_stream_settings, put_stream_settings};
use super::told::{get_reported, get_result, get_trace, put_reported, put_result, put_trace};
use crate::read::{Counts, DeliveryView, EventView, QueueView};
use crate::reply::{Fate, OpReply, Settled};
use crate::txn::Place;

/// What an idempotency key was answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnswerRow {
    /// The digest of the request.
    pub(crate) fingerprint: [u8; 32],
    /// From when on the key is free again.
    pub(crate) until: Timestamp,
    /// The answer.
    pub(crate) answer: Answer,
}

/// An answer that can be given again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// As it was given.
    Reply(Box<OpReply>),
    /// A claim's holds: their tokens are made again, never stored.
    Claimed {
        /// Whose deliveries.
        queue: QueueNo,
        /// Which.
        holds: Vec<HoldRow>,
    },
}

/// One hold that a claim gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HoldRow {
    /// Of which event.
    pub(crate) event: EventId,
    /// Its round.
    pub(crate) round: u32,
    /// Its fencing number.
    pub(crate) fence: u64,
}

impl AnswerRow {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.bytes(&self.fingerprint).i64(self.until.as_ms());
        match &self.answer {
            Answer::Claimed { queue, holds } => {
                enc.u8(0).u32(queue.0).list(holds, |enc, hold| {
                    enc.u128(hold.event.bits()).u32(hold.round).u64(hold.fence);
                });
            }
            Answer::Reply(reply) => put_reply(&mut enc, reply),
        }
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let fingerprint = dec.bytes()?.as_ref().try_into().ok()?;
        let until = get_time(&mut dec)?;
        let answer = match dec.u8()? {
            0 => {
                let queue = QueueNo(dec.u32()?);
                let holds = dec.list(|dec| {
                    let event = EventId::from_bits(dec.u128()?);
                    Some(HoldRow { event, round: dec.u32()?, fence: dec.u64()? })
                })?;
                Answer::Claimed { queue, holds }
            }
            kind => Answer::Reply(Box::new(get_reply(kind, &mut dec)?)),
        };
        dec.end(Self { fingerprint, until, answer })
    }
}

fn put_reply(enc: &mut Enc, reply: &OpReply) {
    match reply {
        OpReply::Event(view) => put_event(enc.u8(1), view),
        OpReply::Deduped(view) => put_event(enc.u8(2), view),
        OpReply::Settled(settled) => put_settled(enc.u8(3), settled),
        OpReply::Queue(view) => put_queue(enc.u8(4), view),
        OpReply::Removed(count) => {
            enc.u8(5).u64(*count);
        }
        OpReply::Operation(view) => put_operation(enc.u8(7), view),
        OpReply::Made(is_new) => {
            enc.u8(8).flag(*is_new);
        }
        OpReply::Fates(fates) => {
            enc.u8(9).list(fates, |enc, fate| {
                enc.u8(*fate as u8);
            });
        }
        // Claims are kept as holds, reads are never kept, and readers have no idempotency keys.
        OpReply::Read(_) | OpReply::Transferred(_) => {
            enc.u8(6);
        }
        OpReply::Done | OpReply::Claimed(_) | OpReply::Page(_) | OpReply::Replayed(_) => {
            enc.u8(6);
        }
    }
}

fn get_reply(kind: u8, dec: &mut Dec) -> Option<OpReply> {
    Some(match kind {
        1 => OpReply::Event(Box::new(get_event(dec)?)),
        2 => OpReply::Deduped(Box::new(get_event(dec)?)),
        3 => OpReply::Settled(get_settled(dec)?),
        4 => OpReply::Queue(Box::new(get_queue(dec)?)),
        5 => OpReply::Removed(dec.u64()?),
        6 => OpReply::Done,
        7 => OpReply::Operation(Box::new(get_operation(dec)?)),
        8 => OpReply::Made(dec.flag()?),
        9 => OpReply::Fates(dec.list(|dec| Fate::ALL.get(usize::from(dec.u8()?)).copied())?),
        _ => return None,
    })
}

fn put_time(enc: &mut Enc, at: Timestamp) {
    enc.i64(at.as_ms());
}

fn get_time(dec: &mut Dec) -> Option<Timestamp> {
    dec.i64().map(Timestamp::from_ms)
}

fn put_text(enc: &mut Enc, text: Option<&str>) {
    enc.option(text, |enc, text| {
        enc.text(text);
    });
}

fn put_view(enc: &mut Enc, view: View) {
    enc.u8(View::ALL.iter().position(|&one| one == view).expect("every view is in the list") as u8);
}

fn get_view(dec: &mut Dec) -> Option<View> {
    View::ALL.get(usize::from(dec.u8()?)).copied()
}

fn put_event(enc: &mut Enc, view: &EventView) {
    enc.u128(view.id.bits()).text(&view.stream).option(view.place, |enc, place| {
        enc.u64(place.ms).u64(place.seq);
    });
    put_headers(enc, &view.headers);
    put_time(enc, view.created_at);
    put_time(enc, view.scheduled_at);
    enc.option(view.expires_at, put_time);
    put_text(enc, view.dedupe_key.as_deref());
    put_trace(enc, view.trace.as_deref());
    enc.list(&view.deliveries, put_delivery);
}

fn get_event(dec: &mut Dec) -> Option<EventView> {
    Some(EventView {
        id: EventId::from_bits(dec.u128()?),
        stream: dec.text()?,
        place: dec.option(|dec| Some(Place { ms: dec.u64()?, seq: dec.u64()? }))?,
        body: None,
        headers: get_headers(dec)?,
        created_at: get_time(dec)?,
        scheduled_at: get_time(dec)?,
        expires_at: dec.option(get_time)?,
        dedupe_key: dec.option(Dec::text)?,
        trace: get_trace(dec)?,
        deliveries: dec.list(get_delivery)?,
    })
}

fn put_delivery(enc: &mut Enc, view: &DeliveryView) {
    enc.text(&view.queue).u128(view.queue_id.bits());
    // A state is a small number: four bits of its byte say whether it was called off and what follows.
    let state = View::ALL.iter().position(|&one| one == view.state).expect("every view is in the list") as u8;
    let reason = view.cancel_reason.as_deref();
    let called_off = u8::from(view.cancel_requested) << 6 | u8::from(reason.is_some()) << 7;
    enc.u8(state
        | u8::from(view.progress.is_some()) << 4
        | u8::from(view.result.is_some()) << 5
        | called_off);
    reason.into_iter().for_each(|reason| {
        enc.text(reason);
    });
    view.progress.iter().for_each(|reported| put_reported(enc, reported));
    view.result.iter().for_each(|result| put_result(enc, result));
    enc.u32(view.attempts).u32(view.expiries).u64(view.fence).option(view.max_attempts, |enc, max| {
        enc.u32(max);
    });
    enc.option(view.next_attempt_at, put_time).option(view.lease_expires_at, put_time);
    put_text(enc, view.consumer.as_deref());
    enc.option(view.settled_at, put_time);
    put_text(enc, view.last_error.as_deref());
    enc.option(view.dead, |enc, reason| {
        enc.u8(reason_number(reason));
    });
    enc.list(&view.log, put_past);
}

fn get_delivery(dec: &mut Dec) -> Option<DeliveryView> {
    let (queue, queue_id) = (dec.text()?, QueueId::from_bits(dec.u128()?));
    let state = dec.u8()?;
    let cancel_reason = if state & 0x80 > 0 { Some(dec.text()?) } else { None };
    let progress = if state & 0x10 > 0 { Some(Box::new(get_reported(dec)?)) } else { None };
    let result = if state & 0x20 > 0 { Some(get_result(dec)?) } else { None };
    Some(DeliveryView {
        queue,
        queue_id,
        state: *View::ALL.get(usize::from(state & 0x0f))?,
        cancel_requested: state & 0x40 > 0,
        cancel_reason,
        attempts: dec.u32()?,
        expiries: dec.u32()?,
        fence: dec.u64()?,
        max_attempts: dec.option(Dec::u32)?,
        next_attempt_at: dec.option(get_time)?,
        lease_expires_at: dec.option(get_time)?,
        consumer: dec.option(Dec::text)?,
        settled_at: dec.option(get_time)?,
        last_error: dec.option(Dec::text)?,
        progress,
        result,
        dead: dec.option(|dec| DeadReason::ALL.get(usize::from(dec.u8()?)).copied())?,
        log: dec.list(get_past)?,
    })
}

fn put_settled(enc: &mut Enc, settled: &Settled) {
    enc.u128(settled.queue.bits());
    put_view(enc, settled.state);
    enc.option(settled.settled_at, put_time).option(settled.next_at, put_time);
    enc.option(settled.lease_expires_at, put_time);
    enc.flag(settled.cancel_requested).flag(settled.replayed);
}

fn get_settled(dec: &mut Dec) -> Option<Settled> {
    Some(Settled {
        queue: QueueId::from_bits(dec.u128()?),
        state: get_view(dec)?,
        settled_at: dec.option(get_time)?,
        next_at: dec.option(get_time)?,
        lease_expires_at: dec.option(get_time)?,
        cancel_requested: dec.flag()?,
        replayed: dec.flag()?,
    })
}

fn put_queue(enc: &mut Enc, view: &QueueView) {
    enc.u128(view.id.bits()).text(&view.name).text(&view.stream);
    put_settings(enc, &view.settings);
    put_stream_settings(enc, view.stream_settings);
    put_text(enc, view.paused.as_deref());
    for state in View::ALL {
        enc.u64(view.counts.of(state));
    }
    enc.option(view.oldest_ready, put_time).u64(view.trimmed_unread);
    for at in [view.now, view.created_at, view.updated_at] {
        put_time(enc, at);
    }
    enc.u64(view.revision);
}

fn get_queue(dec: &mut Dec) -> Option<QueueView> {
    let (id, name, stream) = (QueueId::from_bits(dec.u128()?), dec.text()?, dec.text()?);
    let (settings, stream_settings) = (get_settings(dec)?, get_stream_settings(dec)?);
    let paused = dec.option(Dec::text)?;
    let mut counts = Counts::default();
    for state in View::ALL {
        *counts.of_mut(state) = dec.u64()?;
    }
    Some(QueueView {
        id,
        name,
        stream,
        settings,
        stream_settings,
        paused,
        counts,
        oldest_ready: dec.option(get_time)?,
        trimmed_unread: dec.u64()?,
        now: get_time(dec)?,
        created_at: get_time(dec)?,
        updated_at: get_time(dec)?,
        revision: dec.u64()?,
    })
}
