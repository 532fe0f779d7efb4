//! Bytes of logged transactions.
//!
//! Lives here: writing and reading them; the numbers are on disk. Not here: what they do (`apply/`).

use bytes::Bytes;
use naven_api::{DelaySeconds, ErrorText, EventId, LeaseSeconds, QueueId, Timestamp};
use naven_core::{DeadReason, Failure};

use super::command::{Claimant, Command, Recorded, Said};
use super::rows::body::{get_body, get_headers, put_body, put_headers};
use super::rows::codec::{Dec, Enc};
use super::rows::delivery::reason_number;
use super::rows::key::QueueNo;
use super::rows::queue::{get_backoff, get_key, get_settings, put_backoff, put_key, put_settings};
use crate::queue::{QueueChanges, QueueRef};
use crate::txn::Due;

/// Appends `txn`. Reads and refusals change nothing and leave no trace.
pub(crate) fn encode(txn: &Recorded) -> Vec<u8> {
    let mut enc = Enc(Vec::with_capacity(256));
    enc.flag(txn.all_or_nothing);
    for command in &txn.commands {
        put_command(&mut enc, command);
    }
    enc.0
}

/// The transaction behind the bytes, or none where they are not one.
pub(crate) fn decode(bytes: Bytes) -> Option<Recorded> {
    let mut dec = Dec(bytes);
    let all_or_nothing = dec.flag()?;
    let mut commands = Vec::new();
    while !dec.0.is_empty() {
        commands.push(get_command(&mut dec)?);
    }
    Some(Recorded { commands, all_or_nothing })
}

fn put_command(enc: &mut Enc, command: &Command) {
    match command {
        Command::Append { queue, body, due, headers, max_attempts } => {
            put_queue(enc.u8(1), queue);
            put_body(enc, body);
            put_due(enc, *due);
            put_headers(enc, headers);
            put_u32(enc, *max_attempts);
        }
        Command::Claim { queue, hold, max, max_bytes, consumer } => {
            put_queue(enc.u8(2), queue);
            put_u32(enc, hold.map(LeaseSeconds::get));
            enc.u32(*max).u64(*max_bytes);
            put_text(enc, consumer.as_ref().map(|consumer| consumer.as_str()));
        }
        Command::Settle { event, claimant, said } => {
            enc.u8(3).u128(event.bits());
            put_claimant(enc, claimant);
            put_said(enc, said);
        }
        Command::Create { id, name, settings } => {
            enc.u8(4).u128(id.bits()).text(name);
            put_settings(enc, settings);
        }
        Command::Patch { queue, changes } => {
            put_queue(enc.u8(5), queue);
            put_changes(enc, changes);
        }
        Command::Pause { queue, reason } => {
            put_queue(enc.u8(6), queue);
            put_text(enc, reason.as_deref());
        }
        Command::Resume { queue } => put_queue(enc.u8(7), queue),
        Command::Delete { queue, force } => {
            put_queue(enc.u8(8), queue);
            enc.flag(*force);
        }
        Command::Redrive { event, queue, reset_attempts } => {
            enc.u8(9).u128(event.bits()).option(queue.as_ref(), put_queue).flag(*reset_attempts);
        }
        Command::Bury { event, queue, reason } => {
            enc.u8(10).u128(event.bits()).option(queue.as_ref(), put_queue).u8(reason_number(*reason));
        }
        Command::PutKey(key) => put_key(enc.u8(11), key),
        Command::Tend { rows } => {
            enc.u8(12).u64(*rows);
        }
        Command::Read(_) | Command::Refused(_) => {}
    }
}

fn get_command(dec: &mut Dec) -> Option<Command> {
    Some(match dec.u8()? {
        1 => Command::Append {
            queue: get_queue(dec)?,
            body: get_body(dec)?,
            due: get_due(dec)?,
            headers: get_headers(dec)?,
            max_attempts: dec.option(Dec::u32)?,
        },
        2 => Command::Claim {
            queue: get_queue(dec)?,
            hold: dec.option(get_lease)?,
            max: dec.u32()?,
            max_bytes: dec.u64()?,
            consumer: dec.option(|dec| dec.text()?.parse().ok())?,
        },
        3 => Command::Settle {
            event: EventId::from_bits(dec.u128()?),
            claimant: get_claimant(dec)?,
            said: get_said(dec)?,
        },
        4 => Command::Create {
            id: QueueId::from_bits(dec.u128()?),
            name: dec.text()?,
            settings: Box::new(get_settings(dec)?),
        },
        5 => Command::Patch { queue: get_queue(dec)?, changes: Box::new(get_changes(dec)?) },
        6 => Command::Pause { queue: get_queue(dec)?, reason: dec.option(Dec::text)? },
        7 => Command::Resume { queue: get_queue(dec)? },
        8 => Command::Delete { queue: get_queue(dec)?, force: dec.flag()? },
        9 => Command::Redrive {
            event: EventId::from_bits(dec.u128()?),
            queue: dec.option(get_queue)?,
            reset_attempts: dec.flag()?,
        },
        10 => Command::Bury {
            event: EventId::from_bits(dec.u128()?),
            queue: dec.option(get_queue)?,
            reason: *DeadReason::ALL.get(usize::from(dec.u8()?))?,
        },
        11 => Command::PutKey(get_key(dec)?),
        12 => Command::Tend { rows: dec.u64()? },
        _ => return None,
    })
}

fn put_u32(enc: &mut Enc, value: Option<u32>) {
    enc.option(value, |enc, value| {
        enc.u32(value);
    });
}

fn put_flag(enc: &mut Enc, value: Option<bool>) {
    enc.option(value, |enc, value| {
        enc.flag(value);
    });
}

fn put_text(enc: &mut Enc, value: Option<&str>) {
    enc.option(value, |enc, value| {
        enc.text(value);
    });
}

fn put_error(enc: &mut Enc, error: Option<&ErrorText>) {
    put_text(enc, error.map(ErrorText::as_str));
}

fn get_error(dec: &mut Dec) -> Option<Option<ErrorText>> {
    Some(dec.option(Dec::text)?.map(|text| ErrorText::new(&text)))
}

fn get_lease(dec: &mut Dec) -> Option<LeaseSeconds> {
    LeaseSeconds::try_from(dec.u32()?).ok()
}

fn put_queue(enc: &mut Enc, queue: &QueueRef) {
    match queue {
        QueueRef::Id(id) => enc.u8(0).u128(id.bits()),
        QueueRef::Name(name) => enc.u8(1).text(name),
    };
}

fn get_queue(dec: &mut Dec) -> Option<QueueRef> {
    match dec.u8()? {
        0 => Some(QueueRef::Id(QueueId::from_bits(dec.u128()?))),
        1 => Some(QueueRef::Name(dec.text()?)),
        _ => None,
    }
}

fn put_due(enc: &mut Enc, due: Due) {
    match due {
        Due::Now => enc.u8(0),
        Due::In(delay) => enc.u8(1).u32(delay.get()),
        Due::At(at) => enc.u8(2).i64(at.as_ms()),
    };
}

fn get_due(dec: &mut Dec) -> Option<Due> {
    match dec.u8()? {
        0 => Some(Due::Now),
        1 => Some(Due::In(DelaySeconds::try_from(dec.u32()?).ok()?)),
        2 => Some(Due::At(Timestamp::from_ms(dec.i64()?))),
        _ => None,
    }
}

fn put_claimant(enc: &mut Enc, claimant: &Claimant) {
    match claimant {
        Claimant::Nobody => enc.u8(0),
        Claimant::Holder { queue, round, fence } => enc.u8(1).u32(queue.0).u32(*round).u64(*fence),
        Claimant::Fence { queue, round, fence } => enc.u8(2).u128(queue.bits()).u32(*round).u64(*fence),
        Claimant::Operator(queue) => enc.u8(3).option(queue.as_ref(), put_queue),
    };
}

fn get_claimant(dec: &mut Dec) -> Option<Claimant> {
    Some(match dec.u8()? {
        0 => Claimant::Nobody,
        1 => Claimant::Holder { queue: QueueNo(dec.u32()?), round: dec.u32()?, fence: dec.u64()? },
        2 => Claimant::Fence { queue: QueueId::from_bits(dec.u128()?), round: dec.u32()?, fence: dec.u64()? },
        3 => Claimant::Operator(dec.option(get_queue)?),
        _ => return None,
    })
}

fn put_said(enc: &mut Enc, said: &Said) {
    match said {
        Said::Ack => {
            enc.u8(0);
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
        Said::Extend(hold) => put_u32(enc.u8(5), hold.map(LeaseSeconds::get)),
    }
}

fn get_said(dec: &mut Dec) -> Option<Said> {
    Some(match dec.u8()? {
        0 => Said::Ack,
        1 => Said::Fail(Failure {
            error: get_error(dec)?,
            delay: dec.option(|dec| DelaySeconds::try_from(dec.u32()?).ok())?,
            draw: dec.u32()?,
        }),
        2 => Said::Fatal(get_error(dec)?),
        3 => Said::Release(get_error(dec)?),
        4 => Said::GiveBack,
        5 => Said::Extend(dec.option(get_lease)?),
        _ => return None,
    })
}

fn put_changes(enc: &mut Enc, changes: &QueueChanges) {
    put_text(enc, changes.description.as_deref());
    put_u32(enc, changes.default_lease.map(LeaseSeconds::get));
    put_u32(enc, changes.max_lease_seconds);
    enc.option(changes.max_attempts, put_u32);
    enc.option(changes.backoff, put_backoff);
    put_u32(enc, changes.late_ack_grace_seconds);
    put_flag(enc, changes.keep_done_payload);
    put_flag(enc, changes.protect_unread);
    put_u32(enc, changes.done_retention_seconds);
    put_u32(enc, changes.dead_retention_seconds);
}

fn get_changes(dec: &mut Dec) -> Option<QueueChanges> {
    Some(QueueChanges {
        description: dec.option(Dec::text)?,
        default_lease: dec.option(get_lease)?,
        max_lease_seconds: dec.option(Dec::u32)?,
        max_attempts: dec.option(|dec| dec.option(Dec::u32))?,
        backoff: dec.option(get_backoff)?,
        late_ack_grace_seconds: dec.option(Dec::u32)?,
        keep_done_payload: dec.option(Dec::flag)?,
        protect_unread: dec.option(Dec::flag)?,
        done_retention_seconds: dec.option(Dec::u32)?,
        dead_retention_seconds: dec.option(Dec::u32)?,
    })
}
