//! Bytes of what operators do.
//!
//! Lives here: the commands on single and on many deliveries (9, 10, 21 to 23, 30 to 39). Not here: those on queues,
//! streams and keys (`managed.rs`), all others (`record.rs`), and what they do (`apply/`).

use naven_api::{ErrorText, EventId, OperationId};

use super::words::{get_due, get_queue, get_reason, put_due, put_queue, put_text, put_u32};
use crate::embedded::command::Command;
use crate::embedded::rows::codec::{Dec, Enc};
use crate::embedded::rows::delivery::reason_number;
use crate::embedded::rows::operation::{get_bulk, put_bulk};
use crate::embedded::rows::told::get_error;

/// Appends one of these commands.
pub(super) fn put(enc: &mut Enc, command: &Command) {
    match command {
        Command::Redrive { event, queue, reset_attempts } => {
            enc.u8(9).u128(event.bits()).option(queue.as_ref(), put_queue).flag(*reset_attempts);
        }
        Command::Bury { event, queue, reason } => {
            enc.u8(10).u128(event.bits()).option(queue.as_ref(), put_queue).u8(reason_number(*reason));
        }
        Command::Cancel { event, queue, reason } => {
            enc.u8(21).u128(event.bits()).option(queue.as_ref(), put_queue);
            put_text(enc, reason.as_ref().map(ErrorText::as_str));
        }
        Command::Reschedule { event, queue, due, max_attempts } => {
            enc.u8(22).u128(event.bits()).option(queue.as_ref(), put_queue).option(*due, put_due);
            enc.option(*max_attempts, put_u32);
        }
        Command::RunNow { event, queue } => {
            enc.u8(23).u128(event.bits()).option(queue.as_ref(), put_queue);
        }
        Command::Discard { event, queue } => put_queue(enc.u8(30).u128(event.bits()), queue),
        Command::StartOperation { id, queue, bulk } => {
            put_queue(enc.u8(31).u128(id.bits()), queue);
            put_bulk(enc, bulk);
        }
        Command::MoveDead { event, queue, target } => {
            put_queue(enc.u8(33).u128(event.bits()).option(queue.as_ref(), put_queue), target);
        }
        Command::CancelOperation { id } => {
            enc.u8(32).u128(id.bits());
        }
        other => unreachable!("{other:?} is no operator's"),
    }
}

/// The command of this number, where it is one of these.
pub(super) fn get(number: u8, dec: &mut Dec) -> Option<Command> {
    Some(match number {
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
        21 => Command::Cancel {
            event: EventId::from_bits(dec.u128()?),
            queue: dec.option(get_queue)?,
            reason: dec.option(get_error)?,
        },
        22 => Command::Reschedule {
            event: EventId::from_bits(dec.u128()?),
            queue: dec.option(get_queue)?,
            due: dec.option(get_due)?,
            max_attempts: dec.option(|dec| dec.option(Dec::u32))?,
        },
        23 => Command::RunNow { event: EventId::from_bits(dec.u128()?), queue: dec.option(get_queue)? },
        30 => Command::Discard { event: EventId::from_bits(dec.u128()?), queue: get_queue(dec)? },
        31 => Command::StartOperation {
            id: OperationId::from_bits(dec.u128()?),
            queue: get_queue(dec)?,
            bulk: get_bulk(dec)?,
        },
        33 => Command::MoveDead {
            event: EventId::from_bits(dec.u128()?),
            queue: dec.option(get_queue)?,
            target: get_queue(dec)?,
        },
        32 => Command::CancelOperation { id: OperationId::from_bits(dec.u128()?) },
        _ => return None,
    })
}
