//! Bytes of logged transactions.
//!
//! Lives here: writing and reading them; the numbers are on disk. Not here: the values that commands are
//! made of (`record/words.rs`), and what commands do (`apply/`).

use bytes::Bytes;
use naven_api::{ConsumerId, EventId, KeyId, LeaseSeconds, QueueId};

use super::command::{Command, Recorded};
use super::rows::audit::{get_note, put_note};
use super::rows::codec::{Dec, Enc};
use super::rows::delivery::reason_number;
use super::rows::queue::{get_key, get_settings, put_key, put_settings};
use crate::queue::{QueueChanges, QueueRef, QueueSettings, StreamChanges};
use crate::txn::{Reading, StreamRef};

mod words;
use words::{
    get_append, get_changes, get_claimant, get_condition, get_from, get_lease, get_place, get_queue,
    get_reason, get_said, get_slot, get_stream_changes, get_trim, put_append, put_changes, put_claimant,
    put_condition, put_from, put_place, put_queue, put_said, put_slot, put_stream_changes, put_text,
    put_trim, put_u32,
};

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
        Command::Append(append) => put_append(enc.u8(1), append),
        Command::Claim { queue, hold, max, max_bytes, consumer } => {
            put_claim(enc.u8(2), (queue, *hold), (*max, *max_bytes), consumer.as_ref());
        }
        Command::Settle { event, claimant, said } => {
            enc.u8(3).u128(event.bits());
            put_claimant(enc, claimant);
            put_said(enc, said);
        }
        Command::Create { id, name, settings, on, stream } => {
            put_create(enc.u8(4), (*id, name), settings, on.as_ref(), *stream);
        }
        Command::Patch { queue, changes, stream, revision } => {
            put_patch(enc.u8(5), queue, changes, *stream);
            put_revision(enc, *revision);
        }
        Command::Pause { queue, reason } => {
            put_queue(enc.u8(6), queue);
            put_text(enc, reason.as_deref());
        }
        Command::Resume { queue } => put_queue(enc.u8(7), queue),
        Command::Delete { queue, force, reason, revision } => {
            put_queue(enc.u8(8), queue);
            enc.flag(*force).u8(reason_number(*reason));
            put_revision(enc, *revision);
        }
        Command::Redrive { event, queue, reset_attempts } => {
            enc.u8(9).u128(event.bits()).option(queue.as_ref(), put_queue).flag(*reset_attempts);
        }
        Command::Bury { event, queue, reason } => {
            enc.u8(10).u128(event.bits()).option(queue.as_ref(), put_queue).u8(reason_number(*reason));
        }
        Command::PutKey { record, over } => {
            put_key(enc.u8(11), record);
            put_condition(enc, *over);
        }
        Command::DeleteKey { key, revision } => {
            enc.u8(20).u128(key.bits());
            put_revision(enc, *revision);
        }
        Command::Tend { rows } => {
            enc.u8(12).u64(*rows);
        }
        Command::Reset { queue, from } => {
            put_queue(enc.u8(13), queue);
            put_from(enc, *from);
        }
        Command::DeleteStream { stream, force } => {
            enc.u8(14).bytes(&stream.0).flag(*force);
        }
        Command::Trim(trim) => put_trim(enc.u8(15), trim),
        Command::DeleteEntries { stream, places } => {
            enc.u8(16).bytes(&stream.0).list(places, |enc, place| put_place(enc, *place));
        }
        Command::ClaimAs { queue, name, max, max_bytes } => {
            put_named(enc.u8(18), queue, name).u32(*max).u64(*max_bytes);
        }
        Command::DeleteConsumer { queue, name } => {
            put_named(enc.u8(19), queue, name);
        }
        Command::Once { slot, command } if command.changes_rows() => {
            put_slot(enc.u8(17), slot);
            put_command(enc, command);
        }
        Command::Noted { note, command } if command.changes_rows() => {
            put_note(enc.u8(40), note);
            put_command(enc, command);
        }
        Command::Once { .. } | Command::Noted { .. } | Command::Read(_) | Command::Refused(_) => {}
    }
}

fn put_claim(
    enc: &mut Enc,
    (queue, hold): (&QueueRef, Option<LeaseSeconds>),
    (max, max_bytes): (u32, u64),
    consumer: Option<&ConsumerId>,
) {
    put_queue(enc, queue);
    put_u32(enc, hold.map(LeaseSeconds::get));
    enc.u32(max).u64(max_bytes);
    put_text(enc, consumer.map(ConsumerId::as_str));
}

/// Appends a queue and the name of one of its consumers.
fn put_named<'a>(enc: &'a mut Enc, queue: &QueueRef, name: &Bytes) -> &'a mut Enc {
    put_queue(enc, queue);
    enc.bytes(name)
}

fn put_patch(enc: &mut Enc, queue: &QueueRef, changes: &QueueChanges, stream: StreamChanges) {
    put_queue(enc, queue);
    put_changes(enc, changes);
    put_stream_changes(enc, stream);
}

fn put_revision(enc: &mut Enc, revision: Option<u64>) {
    enc.option(revision, |enc, revision| {
        enc.u64(revision);
    });
}

fn put_create(
    enc: &mut Enc,
    (id, name): (QueueId, &str),
    settings: &QueueSettings,
    on: Option<&Reading>,
    stream: StreamChanges,
) {
    enc.u128(id.bits()).text(name);
    put_settings(enc, settings);
    enc.option(on, |enc, on| {
        enc.bytes(&on.stream.0);
        put_from(enc, on.from);
    });
    put_stream_changes(enc, stream);
}

fn get_command(dec: &mut Dec) -> Option<Command> {
    Some(match dec.u8()? {
        1 => Command::Append(Box::new(get_append(dec)?)),
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
            on: dec.option(|dec| Some(Reading { stream: StreamRef(dec.bytes()?), from: get_from(dec)? }))?,
            stream: get_stream_changes(dec)?,
        },
        5 => Command::Patch {
            queue: get_queue(dec)?,
            changes: Box::new(get_changes(dec)?),
            stream: get_stream_changes(dec)?,
            revision: dec.option(Dec::u64)?,
        },
        6 => Command::Pause { queue: get_queue(dec)?, reason: dec.option(Dec::text)? },
        7 => Command::Resume { queue: get_queue(dec)? },
        8 => Command::Delete {
            queue: get_queue(dec)?,
            force: dec.flag()?,
            reason: get_reason(dec)?,
            revision: dec.option(Dec::u64)?,
        },
        9 => Command::Redrive {
            event: EventId::from_bits(dec.u128()?),
            queue: dec.option(get_queue)?,
            reset_attempts: dec.flag()?,
        },
        10 => Command::Bury {
            event: EventId::from_bits(dec.u128()?),
            queue: dec.option(get_queue)?,
            reason: get_reason(dec)?,
        },
        11 => Command::PutKey { record: Box::new(get_key(dec)?), over: get_condition(dec)? },
        12 => Command::Tend { rows: dec.u64()? },
        13 => Command::Reset { queue: get_queue(dec)?, from: get_from(dec)? },
        14 => Command::DeleteStream { stream: StreamRef(dec.bytes()?), force: dec.flag()? },
        15 => Command::Trim(get_trim(dec)?),
        16 => Command::DeleteEntries { stream: StreamRef(dec.bytes()?), places: dec.list(get_place)? },
        17 => Command::Once { slot: get_slot(dec)?, command: Box::new(get_command(dec)?) },
        18 => Command::ClaimAs {
            queue: get_queue(dec)?,
            name: dec.bytes()?,
            max: dec.u32()?,
            max_bytes: dec.u64()?,
        },
        19 => Command::DeleteConsumer { queue: get_queue(dec)?, name: dec.bytes()? },
        20 => Command::DeleteKey { key: KeyId::from_bits(dec.u128()?), revision: dec.option(Dec::u64)? },
        40 => Command::Noted { note: get_note(dec)?, command: Box::new(get_command(dec)?) },
        _ => return None,
    })
}
