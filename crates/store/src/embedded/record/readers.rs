//! Bytes of what readers of a stream do, and of what the Redis door does to streams.
//!
//! Lives here: these commands (24 to 29). Not here: those that other doors share (`managed.rs`,
//! `record.rs`), and what they do (`apply/`).

use naven_api::{ErrorText, QueueId, Timestamp};

use super::put_named;
use super::words::{
    get_place, get_queue, get_references, put_place, put_queue, put_references, put_text, put_u64,
};
use crate::embedded::command::Command;
use crate::embedded::rows::codec::{Dec, Enc};
use crate::embedded::rows::told::get_error;
use crate::txn::{
    AckEntries, GivingUp, GroupFrom, GroupStart, NackEntries, Place, ReadGroup, ReaderOp, Rename,
    ScanTransfer, SetId, Since, StreamRef, Transfer,
};

/// Appends one of these commands.
pub(super) fn put(enc: &mut Enc, command: &Command) {
    match command {
        Command::Reader(op, draw) => put_reader(enc.u8(24).u32(*draw), op),
        Command::SetId(set) => {
            put_place(enc.u8(25).bytes(&set.stream.0), set.last);
            put_u64(enc, set.added);
            enc.option(set.max_deleted, put_place);
        }
        Command::Rename(rename) => {
            enc.u8(26).bytes(&rename.stream.0).bytes(&rename.to.0);
        }
        Command::CreateGroup { id, stream, group, make_stream, start, entries_read } => {
            enc.u8(27).u128(id.bits()).bytes(&stream.0).bytes(group).flag(*make_stream);
            put_start(enc, *start);
            put_u64(enc, *entries_read);
        }
        Command::SetPlace { queue, start, entries_read } => {
            put_queue(enc.u8(28), queue);
            put_start(enc, *start);
            put_u64(enc, *entries_read);
        }
        Command::MakeConsumer { queue, name } => {
            put_named(enc.u8(29), queue, name);
        }
        other => unreachable!("{other:?} is written elsewhere"),
    }
}

/// The command of this number, where it is one of these.
pub(super) fn get(number: u8, dec: &mut Dec) -> Option<Command> {
    Some(match number {
        24 => {
            let draw = dec.u32()?;
            Command::Reader(Box::new(get_reader(dec)?), draw)
        }
        25 => Command::SetId(SetId {
            stream: StreamRef(dec.bytes()?),
            last: get_place(dec)?,
            added: dec.option(Dec::u64)?,
            max_deleted: dec.option(get_place)?,
        }),
        26 => Command::Rename(Rename { stream: StreamRef(dec.bytes()?), to: StreamRef(dec.bytes()?) }),
        27 => Command::CreateGroup {
            id: QueueId::from_bits(dec.u128()?),
            stream: StreamRef(dec.bytes()?),
            group: dec.bytes()?,
            make_stream: dec.flag()?,
            start: get_start(dec)?,
            entries_read: dec.option(Dec::u64)?,
        },
        28 => Command::SetPlace {
            queue: get_queue(dec)?,
            start: get_start(dec)?,
            entries_read: dec.option(Dec::u64)?,
        },
        29 => Command::MakeConsumer { queue: get_queue(dec)?, name: dec.bytes()? },
        _ => return None,
    })
}

fn put_start(enc: &mut Enc, start: GroupStart) {
    let place = match start {
        GroupStart::Last => None,
        GroupStart::At(place) => Some(place),
    };
    enc.option(place, put_place);
}

fn get_start(dec: &mut Dec) -> Option<GroupStart> {
    Some(dec.option(get_place)?.map_or(GroupStart::Last, GroupStart::At))
}

fn put_places(enc: &mut Enc, places: &[Place]) {
    enc.list(places, |enc, place| put_place(enc, *place));
}

fn put_reader(enc: &mut Enc, op: &ReaderOp) {
    match op {
        ReaderOp::Read(read) => put_read(enc.u8(0), read),
        ReaderOp::Ack(ack) => {
            put_queue(enc.u8(1), &ack.queue);
            put_places(enc, &ack.places);
            enc.option(ack.delete, put_references);
        }
        ReaderOp::Nack(nack) => put_nack(enc.u8(2), nack),
        ReaderOp::Transfer(transfer) => put_transfer(enc.u8(3), transfer),
        ReaderOp::ScanTransfer(scan) => {
            put_named(enc.u8(4), &scan.queue, &scan.consumer).u64(scan.min_idle_ms);
            put_place(enc, scan.start);
            enc.u64(scan.count).u64(scan.max_bytes).flag(scan.just_id);
        }
    }
}

fn get_reader(dec: &mut Dec) -> Option<ReaderOp> {
    Some(match dec.u8()? {
        0 => ReaderOp::Read(get_read(dec)?),
        1 => ReaderOp::Ack(AckEntries {
            queue: get_queue(dec)?,
            places: dec.list(get_place)?,
            delete: dec.option(get_references)?,
        }),
        2 => ReaderOp::Nack(get_nack(dec)?),
        3 => ReaderOp::Transfer(get_transfer(dec)?),
        4 => ReaderOp::ScanTransfer(ScanTransfer {
            queue: get_queue(dec)?,
            consumer: dec.bytes()?,
            min_idle_ms: dec.u64()?,
            start: get_place(dec)?,
            count: dec.u64()?,
            max_bytes: dec.u64()?,
            just_id: dec.flag()?,
        }),
        _ => return None,
    })
}

fn put_read(enc: &mut Enc, read: &ReadGroup) {
    put_u64(enc.bytes(&read.consumer), read.count);
    put_u64(enc.u64(read.max_bytes).flag(read.no_ack), read.idle_ms);
    enc.list(&read.from, |enc, from| {
        put_queue(enc, &from.queue);
        enc.option(from.after, put_place);
    });
}

fn get_read(dec: &mut Dec) -> Option<ReadGroup> {
    Some(ReadGroup {
        consumer: dec.bytes()?,
        count: dec.option(Dec::u64)?,
        max_bytes: dec.u64()?,
        no_ack: dec.flag()?,
        idle_ms: dec.option(Dec::u64)?,
        from: dec.list(|dec| Some(GroupFrom { queue: get_queue(dec)?, after: dec.option(get_place)? }))?,
    })
}

fn put_nack(enc: &mut Enc, nack: &NackEntries) {
    put_queue(enc, &nack.queue);
    put_places(enc, &nack.places);
    enc.u8(match nack.how {
        GivingUp::Release => 0,
        GivingUp::Fail => 1,
        GivingUp::Fatal => 2,
    });
    put_u64(enc, nack.delay_ms);
    put_text(enc, nack.error.as_ref().map(ErrorText::as_str));
    put_u64(enc, nack.redis_count);
}

fn get_nack(dec: &mut Dec) -> Option<NackEntries> {
    Some(NackEntries {
        queue: get_queue(dec)?,
        places: dec.list(get_place)?,
        how: match dec.u8()? {
            0 => GivingUp::Release,
            1 => GivingUp::Fail,
            2 => GivingUp::Fatal,
            _ => return None,
        },
        delay_ms: dec.option(Dec::u64)?,
        error: dec.option(get_error)?,
        redis_count: dec.option(Dec::u64)?,
    })
}

fn put_transfer(enc: &mut Enc, transfer: &Transfer) {
    put_named(enc, &transfer.queue, &transfer.consumer).u64(transfer.min_idle_ms);
    put_places(enc, &transfer.places);
    enc.flag(transfer.just_id).flag(transfer.force);
    enc.option(transfer.since, |enc, since| {
        match since {
            Since::Idle(ms) => enc.u8(0).u64(ms),
            Since::At(at) => enc.u8(1).i64(at.as_ms()),
        };
    });
    put_u64(enc, transfer.redis_count);
    enc.option(transfer.last, put_place);
}

fn get_transfer(dec: &mut Dec) -> Option<Transfer> {
    Some(Transfer {
        queue: get_queue(dec)?,
        consumer: dec.bytes()?,
        min_idle_ms: dec.u64()?,
        places: dec.list(get_place)?,
        just_id: dec.flag()?,
        force: dec.flag()?,
        since: dec.option(|dec| {
            Some(match dec.u8()? {
                0 => Since::Idle(dec.u64()?),
                1 => Since::At(Timestamp::from_ms(dec.i64()?)),
                _ => return None,
            })
        })?,
        redis_count: dec.option(Dec::u64)?,
        last: dec.option(get_place)?,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::{decode, encode};
    use super::*;
    use crate::embedded::command::Recorded;
    use crate::queue::QueueRef;
    use crate::txn::References;

    fn place(ms: u64) -> Place {
        Place { ms, seq: u64::MAX }
    }

    fn readers(queue: &QueueRef, some: Option<u64>) -> Vec<ReaderOp> {
        let (queue, consumer) = (queue.clone(), Bytes::from_static(b"c\xff"));
        let from = vec![GroupFrom { queue: queue.clone(), after: some.map(place) }];
        let places = vec![place(1), place(2)];
        vec![
            ReaderOp::Read(ReadGroup {
                consumer: consumer.clone(),
                count: some,
                max_bytes: 9,
                no_ack: some.is_some(),
                idle_ms: some,
                from,
            }),
            ReaderOp::Ack(AckEntries {
                queue: queue.clone(),
                places: places.clone(),
                delete: some.map(|_| References::Acked),
            }),
            ReaderOp::Nack(NackEntries {
                queue: queue.clone(),
                places: places.clone(),
                how: if some.is_some() { GivingUp::Fatal } else { GivingUp::Fail },
                delay_ms: some,
                error: some.map(|_| ErrorText::new("no")),
                redis_count: some,
            }),
            ReaderOp::Transfer(Transfer {
                queue: queue.clone(),
                consumer: consumer.clone(),
                min_idle_ms: 4,
                places,
                just_id: some.is_some(),
                force: some.is_none(),
                since: some.map(Since::Idle),
                redis_count: some,
                last: some.map(place),
            }),
            ReaderOp::ScanTransfer(ScanTransfer {
                queue,
                consumer,
                min_idle_ms: 5,
                start: place(3),
                count: 6,
                max_bytes: 7,
                just_id: some.is_some(),
            }),
        ]
    }

    #[test]
    fn what_readers_do_comes_back_from_its_bytes() {
        let (stream, group) = (Bytes::from_static(b"s"), Bytes::from_static(b"\xff"));
        for some in [None, Some(u64::MAX)] {
            let queue = QueueRef::Group { stream: stream.clone(), group: group.clone() };
            let start = some.map_or(GroupStart::Last, |ms| GroupStart::At(place(ms)));
            let on = StreamRef(stream.clone());
            let mut commands = vec![
                Command::SetId(SetId {
                    stream: on.clone(),
                    last: place(4),
                    added: some,
                    max_deleted: some.map(place),
                }),
                Command::Rename(Rename { stream: on.clone(), to: StreamRef(group.clone()) }),
                Command::CreateGroup {
                    id: QueueId::from_bits(7),
                    stream: on,
                    group: group.clone(),
                    make_stream: some.is_some(),
                    start,
                    entries_read: some,
                },
                Command::SetPlace { queue: queue.clone(), start, entries_read: some },
                Command::MakeConsumer { queue: queue.clone(), name: group.clone() },
            ];
            let reading = readers(&queue, some).into_iter();
            commands.extend(reading.map(|op| Command::Reader(Box::new(op), 8)));
            let txn = Recorded { commands, all_or_nothing: true };
            assert_eq!(decode(encode(&txn).into()), Some(txn));
        }
    }
}
