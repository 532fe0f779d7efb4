//! Bytes of logged transactions.
//!
//! Lives here: writing and reading them; the numbers are on disk. Not here: the values that commands are
//! made of (`record/words.rs`), what operators do (`record/operators.rs`, `record/managed.rs`), and what commands do (`apply/`).

use bytes::Bytes;
use naven_api::{ConsumerId, EventId, LeaseSeconds};

use super::command::{Command, Recorded};
use super::rows::audit::{get_note, put_note};
use super::rows::codec::{Dec, Enc};
use crate::queue::QueueRef;

mod managed;
mod operators;
mod readers;
mod words;
use managed::{get_managed, put_managed};
use words::{
    get_append, get_claimant, get_lease, get_said, get_slot, put_append, put_claimant, put_said, put_slot,
    put_text, put_u32,
};
pub(crate) use words::{get_queue, put_queue};

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
        Command::Redrive { .. } | Command::Bury { .. } | Command::Discard { .. } | Command::Cancel { .. } => {
            operators::put(enc, command)
        }
        Command::Reschedule { .. } | Command::RunNow { .. } | Command::MoveDead { .. } => {
            operators::put(enc, command)
        }
        Command::StartOperation { .. } | Command::CancelOperation { .. } => operators::put(enc, command),
        Command::Tend { rows } => {
            enc.u8(12).u64(*rows);
        }
        Command::SetId(_)
        | Command::Rename(_)
        | Command::Reader(..)
        | Command::CreateGroup { .. }
        | Command::SetPlace { .. }
        | Command::MakeConsumer { .. } => readers::put(enc, command),
        Command::Create { .. }
        | Command::Patch { .. }
        | Command::Pause { .. }
        | Command::Resume { .. }
        | Command::Delete { .. }
        | Command::PutKey { .. }
        | Command::DeleteKey { .. }
        | Command::Reset { .. }
        | Command::DeleteStream { .. }
        | Command::Trim(_)
        | Command::DeleteEntries(_)
        | Command::DeleteConsumer { .. } => put_managed(enc, command),
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

/// A command, which is in a slot where it may be repeated, and noted around that: in no other order and no deeper.
fn get_command(dec: &mut Dec) -> Option<Command> {
    match dec.u8()? {
        40 => {
            let (note, number) = (get_note(dec)?, dec.u8()?);
            Some(Command::Noted { note, command: Box::new(get_once(number, dec)?) })
        }
        number => get_once(number, dec),
    }
}

fn get_once(number: u8, dec: &mut Dec) -> Option<Command> {
    if number != 17 {
        return get_plain(number, dec);
    }
    let (slot, number) = (get_slot(dec)?, dec.u8()?);
    Some(Command::Once { slot, command: Box::new(get_plain(number, dec)?) })
}

fn get_plain(number: u8, dec: &mut Dec) -> Option<Command> {
    Some(match number {
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
        12 => Command::Tend { rows: dec.u64()? },
        9 | 10 | 21..=23 | 30..=39 => operators::get(number, dec)?,
        24..=29 => readers::get(number, dec)?,
        other => get_managed(dec, other)?,
    })
}

#[cfg(test)]
mod tests {
    use naven_api::{AckResult, ErrorText, NoteText, Percent, Progress, Timestamp, TraceContext};

    use super::*;
    use crate::embedded::command::{Claimant, Said};
    use crate::txn::{Append, Body, Due, Form, IdempotencySlot, StreamRef, Target};

    #[test]
    fn what_operators_do_to_one_event_comes_back_from_its_bytes() {
        let event = EventId::from_bits(7);
        let at = Due::At(Timestamp::from_ms(-5));
        for due in [None, Some(Due::Now), Some(at)] {
            for max_attempts in [None, Some(None), Some(Some(3))] {
                let queue = max_attempts.map(|_| QueueRef::Name("q".to_owned()));
                let now = Command::RunNow { event, queue: queue.clone() };
                let target = QueueRef::Name("t".to_owned());
                let moved = Command::MoveDead { event, queue: queue.clone(), target };
                let commands = vec![Command::Reschedule { event, queue, due, max_attempts }, now, moved];
                let txn = Recorded { commands, all_or_nothing: false };
                assert_eq!(decode(encode(&txn).into()), Some(txn));
            }
        }
    }

    #[test]
    fn a_record_with_a_text_that_was_not_cleaned_is_none() {
        let event = EventId::from_bits(7);
        let commands = vec![Command::Cancel { event, queue: None, reason: Some(ErrorText::new("a|b")) }];
        let mut bytes = encode(&Recorded { commands, all_or_nothing: false });
        assert!(decode(bytes.clone().into()).is_some());
        let at = bytes.iter().position(|byte| *byte == b'|').expect("it is in there");
        bytes[at] = 0;
        assert_eq!(decode(bytes.into()), None);
    }

    #[test]
    fn a_record_of_commands_within_commands_is_none_however_deep() {
        let slot = IdempotencySlot { scope: Bytes::new(), key: Bytes::new(), fingerprint: [0; 32] };
        let nested = |depth: usize| {
            let mut enc = Enc::default();
            enc.flag(false);
            (0..depth).for_each(|_| put_slot(enc.u8(17), &slot));
            put_command(&mut enc, &Command::Tend { rows: 3 });
            decode(enc.done())
        };
        assert!(nested(1).is_some());
        assert_eq!((nested(2), nested(200_000)), (None, None));
    }

    #[test]
    fn a_cancel_comes_back_from_its_bytes() {
        let event = EventId::from_bits(7);
        for (queue, reason) in [(None, None), (Some(QueueRef::Name("q".to_owned())), Some("no use"))] {
            let reason = reason.map(ErrorText::new);
            let commands = vec![Command::Cancel { event, queue, reason }, Command::Tend { rows: 3 }];
            let txn = Recorded { commands, all_or_nothing: true };
            assert_eq!(decode(encode(&txn).into()), Some(txn));
        }
    }

    #[test]
    fn what_is_told_comes_back_from_its_bytes() {
        let event = EventId::from_bits(7);
        let percent = Percent::try_from(100).ok();
        let says = [Progress::new(percent, None), Progress::new(None, Some(NoteText::new("é")))];
        let mut said: Vec<Said> =
            says.into_iter().map(|progress| Said::Extend(None, progress.map(Box::new))).collect();
        said.extend([Said::Extend(None, None), Said::Ack(None), Said::Ack(AckResult::parse("[1, 2]"))]);
        let settle = |said| Command::Settle { event, claimant: Claimant::Nobody, said };
        let mut commands: Vec<Command> = said.into_iter().map(settle).collect();
        let traces = [None, Some(None), Some(Some("a=1".to_owned()))];
        commands.extend(traces.map(|state| {
            let trace = state.map(|state| Box::new(TraceContext::stored("00-1-2-01".to_owned(), state)));
            let (to, due) = (Target::Stream(StreamRef(Bytes::new())), Due::Now);
            let body = Body { form: Form::Json, bytes: Bytes::new() };
            let (headers, max_attempts, dedupe, expires_at) = (Vec::new(), None, None, None);
            Command::Append(Box::new(Append {
                to,
                body,
                due,
                headers,
                max_attempts,
                dedupe,
                expires_at,
                trace,
                entry: None,
            }))
        }));
        let txn = Recorded { commands, all_or_nothing: false };
        assert_eq!(decode(encode(&txn).into()), Some(txn));
    }
}
