//! Bytes of commands on queues, streams and keys themselves.
//!
//! Lives here: writing and reading them; the numbers are on disk. Not here: what is done with events
//! (`record.rs`).

use naven_api::{KeyId, QueueId};

use super::put_named;
use super::words::{
    get_changes, get_condition, get_from, get_place, get_queue, get_reason, get_references,
    get_stream_changes, get_trim, put_changes, put_condition, put_from, put_place, put_queue, put_references,
    put_stream_changes, put_text, put_trim,
};
use crate::embedded::command::Command;
use crate::embedded::rows::codec::{Dec, Enc};
use crate::embedded::rows::delivery::reason_number;
use crate::embedded::rows::queue::{get_key, get_settings, put_key, put_settings};
use crate::queue::{QueueChanges, QueueRef, QueueSettings, StreamChanges};
use crate::txn::{DeleteEntries, Reading, StreamRef, Trim};

/// Appends one of these commands; [`put_command`](super) writes all others.
pub(super) fn put_managed(enc: &mut Enc, command: &Command) {
    match command {
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
        Command::PutKey { record, over } => {
            put_key(enc.u8(11), record);
            put_condition(enc, *over);
        }
        Command::DeleteKey { key, revision } => {
            enc.u8(20).u128(key.bits());
            put_revision(enc, *revision);
        }
        Command::Reset { queue, from } => {
            put_queue(enc.u8(13), queue);
            put_from(enc, *from);
        }
        Command::DeleteStream { stream, force } => {
            enc.u8(14).bytes(&stream.0).flag(*force);
        }
        Command::Trim(trim) => put_trim(enc.u8(15).bytes(&trim.stream.0), trim.how),
        Command::DeleteEntries(delete) => {
            enc.u8(16).bytes(&delete.stream.0).list(&delete.places, |enc, place| put_place(enc, *place));
            put_references(enc, delete.references);
        }
        Command::DeleteConsumer { queue, name } => {
            put_named(enc.u8(19), queue, name);
        }
        other => unreachable!("{other:?} is written elsewhere"),
    }
}

/// The command of this number, if it is one of these.
pub(super) fn get_managed(dec: &mut Dec, number: u8) -> Option<Command> {
    Some(match number {
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
        11 => Command::PutKey { record: Box::new(get_key(dec)?), over: get_condition(dec)? },
        13 => Command::Reset { queue: get_queue(dec)?, from: get_from(dec)? },
        14 => Command::DeleteStream { stream: StreamRef(dec.bytes()?), force: dec.flag()? },
        15 => Command::Trim(Trim { stream: StreamRef(dec.bytes()?), how: get_trim(dec)? }),
        16 => Command::DeleteEntries(DeleteEntries {
            stream: StreamRef(dec.bytes()?),
            places: dec.list(get_place)?,
            references: get_references(dec)?,
        }),
        19 => Command::DeleteConsumer { queue: get_queue(dec)?, name: dec.bytes()? },
        20 => Command::DeleteKey { key: KeyId::from_bits(dec.u128()?), revision: dec.option(Dec::u64)? },
        _ => return None,
    })
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
