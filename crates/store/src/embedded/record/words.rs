//! Bytes of the values that commands are made of.
//!
//! Lives here: writing and reading them; the numbers are on disk. Not here: commands (`record.rs`).

use naven_api::{DelaySeconds, ErrorText, LeaseSeconds, QueueId, Timestamp};
use naven_core::{DeadReason, Failure};

use crate::embedded::command::{Claimant, Said};
use crate::embedded::rows::body::{get_body, get_headers, put_body, put_headers};
use crate::embedded::rows::codec::{Dec, Enc};
use crate::embedded::rows::key::QueueNo;
use crate::embedded::rows::queue::{get_backoff, put_backoff};
use crate::embedded::rows::told::{
    get_error, get_progress, get_result, get_trace, put_progress, put_result, put_trace,
};
use crate::key::KeyCondition;
use crate::queue::{QueueChanges, QueueRef, Retention, StreamChanges};
use crate::txn::{
    Append, DedupeKey, DedupeSpace, Due, EntryWish, From, IdempotencySlot, Keep, Place, PlaceWish,
    References, StreamRef, Target, Trimming,
};

pub(super) fn put_append(enc: &mut Enc, append: &Append) {
    match &append.to {
        Target::Stream(stream) => {
            enc.u8(0).bytes(&stream.0);
        }
        Target::Queue(queue) => put_queue(enc.u8(1), queue),
    }
    put_body(enc, &append.body);
    put_due(enc, append.due);
    put_headers(enc, &append.headers);
    put_u32(enc, append.max_attempts);
    enc.option(append.dedupe.as_ref(), put_dedupe);
    enc.option(append.expires_at, |enc, at| {
        enc.i64(at.as_ms());
    });
    put_trace(enc, append.trace.as_deref());
    enc.option(append.entry.as_deref(), put_wish);
}

pub(super) fn get_append(dec: &mut Dec) -> Option<Append> {
    let to = match dec.u8()? {
        0 => Target::Stream(StreamRef(dec.bytes()?)),
        1 => Target::Queue(get_queue(dec)?),
        _ => return None,
    };
    Some(Append {
        to,
        body: get_body(dec)?,
        due: get_due(dec)?,
        headers: get_headers(dec)?,
        max_attempts: dec.option(Dec::u32)?,
        dedupe: dec.option(get_dedupe)?,
        expires_at: dec.option(Dec::i64)?.map(Timestamp::from_ms),
        trace: get_trace(dec)?,
        entry: dec.option(get_wish)?.map(Box::new),
    })
}

fn put_dedupe(enc: &mut Enc, dedupe: &DedupeKey) {
    match &dedupe.space {
        DedupeSpace::Http => enc.u8(0),
        DedupeSpace::Producer(name) => enc.u8(1).bytes(name),
    };
    enc.bytes(&dedupe.key);
}

fn get_dedupe(dec: &mut Dec) -> Option<DedupeKey> {
    let space = match dec.u8()? {
        0 => DedupeSpace::Http,
        1 => DedupeSpace::Producer(dec.bytes()?),
        _ => return None,
    };
    Some(DedupeKey { space, key: dec.bytes()? })
}

pub(super) fn put_condition(enc: &mut Enc, condition: KeyCondition) {
    match condition {
        KeyCondition::Any => enc.u8(0),
        KeyCondition::Absent => enc.u8(1),
        KeyCondition::Revision(revision) => enc.u8(2).u64(revision),
    };
}

pub(super) fn get_condition(dec: &mut Dec) -> Option<KeyCondition> {
    Some(match dec.u8()? {
        0 => KeyCondition::Any,
        1 => KeyCondition::Absent,
        2 => KeyCondition::Revision(dec.u64()?),
        _ => return None,
    })
}

pub(super) fn put_from(enc: &mut Enc, from: From) {
    match from {
        From::New => enc.u8(0),
        From::Start => enc.u8(1),
        From::Time(at) => enc.u8(2).i64(at.as_ms()),
        From::After(place) => {
            put_place(enc.u8(3), place);
            enc
        }
    };
}

pub(super) fn put_place(enc: &mut Enc, place: Place) {
    enc.u64(place.ms).u64(place.seq);
}

pub(super) fn get_place(dec: &mut Dec) -> Option<Place> {
    Some(Place { ms: dec.u64()?, seq: dec.u64()? })
}

pub(super) fn put_trim(enc: &mut Enc, trim: Trimming) {
    match trim.keep {
        Keep::Newest(count) => {
            enc.u8(0).u64(count);
        }
        Keep::From(place) => put_place(enc.u8(1), place),
    }
    put_u64(enc.u64(trim.step), trim.limit);
    put_references(enc, trim.references);
}

pub(super) fn get_trim(dec: &mut Dec) -> Option<Trimming> {
    let keep = match dec.u8()? {
        0 => Keep::Newest(dec.u64()?),
        1 => Keep::From(get_place(dec)?),
        _ => return None,
    };
    let (step, limit) = (dec.u64()?, dec.option(Dec::u64)?);
    Some(Trimming { keep, step, limit, references: get_references(dec)? })
}

pub(super) fn put_references(enc: &mut Enc, references: References) {
    enc.u8(match references {
        References::Keep => 0,
        References::Drop => 1,
        References::Acked => 2,
    });
}

pub(super) fn get_references(dec: &mut Dec) -> Option<References> {
    Some(match dec.u8()? {
        0 => References::Keep,
        1 => References::Drop,
        2 => References::Acked,
        _ => return None,
    })
}

fn put_wish(enc: &mut Enc, wish: &EntryWish) {
    enc.flag(wish.make_stream);
    match wish.place {
        PlaceWish::Next => {
            enc.u8(0);
        }
        PlaceWish::Exactly(place) => put_place(enc.u8(1), place),
        PlaceWish::In(ms) => {
            enc.u8(2).u64(ms);
        }
    }
    enc.option(wish.trim, put_trim);
}

fn get_wish(dec: &mut Dec) -> Option<EntryWish> {
    let make_stream = dec.flag()?;
    let place = match dec.u8()? {
        0 => PlaceWish::Next,
        1 => PlaceWish::Exactly(get_place(dec)?),
        2 => PlaceWish::In(dec.u64()?),
        _ => return None,
    };
    Some(EntryWish { make_stream, place, trim: dec.option(get_trim)? })
}

pub(super) fn put_slot(enc: &mut Enc, slot: &IdempotencySlot) {
    enc.bytes(&slot.scope).bytes(&slot.key).bytes(&slot.fingerprint);
}

pub(super) fn get_slot(dec: &mut Dec) -> Option<IdempotencySlot> {
    let (scope, key) = (dec.bytes()?, dec.bytes()?);
    Some(IdempotencySlot { scope, key, fingerprint: dec.bytes()?.as_ref().try_into().ok()? })
}

pub(super) fn get_from(dec: &mut Dec) -> Option<From> {
    Some(match dec.u8()? {
        0 => From::New,
        1 => From::Start,
        2 => From::Time(Timestamp::from_ms(dec.i64()?)),
        3 => From::After(get_place(dec)?),
        _ => return None,
    })
}

pub(super) fn put_stream_changes(enc: &mut Enc, changes: StreamChanges) {
    enc.option(changes.retention, |enc, retention| {
        enc.flag(retention == Retention::Trim);
    });
    put_u32(enc, changes.dedupe_window_seconds);
}

pub(super) fn get_stream_changes(dec: &mut Dec) -> Option<StreamChanges> {
    let trims = dec.option(Dec::flag)?;
    let retention = trims.map(|trims| if trims { Retention::Trim } else { Retention::Consumed });
    Some(StreamChanges { retention, dedupe_window_seconds: dec.option(Dec::u32)? })
}

pub(super) fn get_reason(dec: &mut Dec) -> Option<DeadReason> {
    DeadReason::ALL.get(usize::from(dec.u8()?)).copied()
}

pub(super) fn put_u64(enc: &mut Enc, value: Option<u64>) {
    enc.option(value, |enc, value| {
        enc.u64(value);
    });
}

pub(super) fn put_u32(enc: &mut Enc, value: Option<u32>) {
    enc.option(value, |enc, value| {
        enc.u32(value);
    });
}

fn put_flag(enc: &mut Enc, value: Option<bool>) {
    enc.option(value, |enc, value| {
        enc.flag(value);
    });
}

pub(super) fn put_text(enc: &mut Enc, value: Option<&str>) {
    enc.option(value, |enc, value| {
        enc.text(value);
    });
}

fn put_error(enc: &mut Enc, error: Option<&ErrorText>) {
    put_text(enc, error.map(ErrorText::as_str));
}

pub(super) fn get_lease(dec: &mut Dec) -> Option<LeaseSeconds> {
    LeaseSeconds::try_from(dec.u32()?).ok()
}

/// Appends a queue as it is named.
pub(crate) fn put_queue(enc: &mut Enc, queue: &QueueRef) {
    match queue {
        QueueRef::Id(id) => enc.u8(0).u128(id.bits()),
        QueueRef::Name(name) => enc.u8(1).text(name),
        QueueRef::Group { stream, group } => enc.u8(2).bytes(stream).bytes(group),
    };
}

/// Reads a queue as it is named.
pub(crate) fn get_queue(dec: &mut Dec) -> Option<QueueRef> {
    match dec.u8()? {
        0 => Some(QueueRef::Id(QueueId::from_bits(dec.u128()?))),
        1 => Some(QueueRef::Name(dec.text()?)),
        2 => Some(QueueRef::Group { stream: dec.bytes()?, group: dec.bytes()? }),
        _ => None,
    }
}

pub(super) fn put_due(enc: &mut Enc, due: Due) {
    match due {
        Due::Now => enc.u8(0),
        Due::In(delay) => enc.u8(1).u32(delay.get()),
        Due::At(at) => enc.u8(2).i64(at.as_ms()),
    };
}

pub(super) fn get_due(dec: &mut Dec) -> Option<Due> {
    match dec.u8()? {
        0 => Some(Due::Now),
        1 => Some(Due::In(DelaySeconds::try_from(dec.u32()?).ok()?)),
        2 => Some(Due::At(Timestamp::from_ms(dec.i64()?))),
        _ => None,
    }
}

pub(super) fn put_claimant(enc: &mut Enc, claimant: &Claimant) {
    match claimant {
        Claimant::Nobody => enc.u8(0),
        Claimant::Holder { queue, round, fence } => enc.u8(1).u32(queue.0).u32(*round).u64(*fence),
        Claimant::Fence { queue, round, fence } => enc.u8(2).u128(queue.bits()).u32(*round).u64(*fence),
        Claimant::Operator(queue) => enc.u8(3).option(queue.as_ref(), put_queue),
        Claimant::Group(queue) => {
            put_queue(enc.u8(4), queue);
            enc
        }
    };
}

pub(super) fn get_claimant(dec: &mut Dec) -> Option<Claimant> {
    Some(match dec.u8()? {
        0 => Claimant::Nobody,
        1 => Claimant::Holder { queue: QueueNo(dec.u32()?), round: dec.u32()?, fence: dec.u64()? },
        2 => Claimant::Fence { queue: QueueId::from_bits(dec.u128()?), round: dec.u32()?, fence: dec.u64()? },
        3 => Claimant::Operator(dec.option(get_queue)?),
        4 => Claimant::Group(get_queue(dec)?),
        _ => return None,
    })
}

pub(super) fn put_said(enc: &mut Enc, said: &Said) {
    match said {
        Said::Ack(None) => {
            enc.u8(0);
        }
        Said::Ack(Some(result)) => {
            put_result(enc.u8(6), result);
        }
        Said::Fail(failure) => {
            put_error(enc.u8(1), failure.error.as_ref());
            put_u32(enc, failure.delay.map(DelaySeconds::get));
            enc.u32(failure.draw);
        }
        Said::Fatal(error) => put_error(enc.u8(2), error.as_ref()),
        Said::Release(error) => put_error(enc.u8(3), error.as_ref()),
        Said::GiveBack => {
            enc.u8(4);
        }
        Said::Extend(hold, None) => put_u32(enc.u8(5), hold.map(LeaseSeconds::get)),
        Said::Extend(hold, Some(progress)) => {
            put_u32(enc.u8(7), hold.map(LeaseSeconds::get));
            put_progress(enc, progress);
        }
    }
}

pub(super) fn get_said(dec: &mut Dec) -> Option<Said> {
    Some(match dec.u8()? {
        0 => Said::Ack(None),
        1 => Said::Fail(Failure {
            error: dec.option(get_error)?,
            delay: dec.option(|dec| DelaySeconds::try_from(dec.u32()?).ok())?,
            draw: dec.u32()?,
        }),
        2 => Said::Fatal(dec.option(get_error)?),
        3 => Said::Release(dec.option(get_error)?),
        4 => Said::GiveBack,
        5 => Said::Extend(dec.option(get_lease)?, None),
        6 => Said::Ack(Some(get_result(dec)?)),
        7 => Said::Extend(dec.option(get_lease)?, Some(Box::new(get_progress(dec)?))),
        _ => return None,
    })
}

pub(super) fn put_changes(enc: &mut Enc, changes: &QueueChanges) {
    put_text(enc, changes.description.as_deref());
    put_u32(enc, changes.default_lease.map(LeaseSeconds::get));
    put_u32(enc, changes.max_lease_seconds);
    enc.option(changes.max_attempts, put_u32);
    enc.option(changes.backoff, put_backoff);
    put_u32(enc, changes.late_ack_grace_seconds);
    enc.option(changes.redis_lease, |enc, lease| put_u32(enc, lease.map(LeaseSeconds::get)));
    put_flag(enc, changes.keep_done_payload);
    put_flag(enc, changes.protect_unread);
    put_u32(enc, changes.done_retention_seconds);
    put_u32(enc, changes.dead_retention_seconds);
}

pub(super) fn get_changes(dec: &mut Dec) -> Option<QueueChanges> {
    Some(QueueChanges {
        description: dec.option(Dec::text)?,
        default_lease: dec.option(get_lease)?,
        max_lease_seconds: dec.option(Dec::u32)?,
        max_attempts: dec.option(|dec| dec.option(Dec::u32))?,
        backoff: dec.option(get_backoff)?,
        late_ack_grace_seconds: dec.option(Dec::u32)?,
        redis_lease: dec.option(|dec| dec.option(get_lease))?,
        keep_done_payload: dec.option(Dec::flag)?,
        protect_unread: dec.option(Dec::flag)?,
        done_retention_seconds: dec.option(Dec::u32)?,
        dead_retention_seconds: dec.option(Dec::u32)?,
    })
}
