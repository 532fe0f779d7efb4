//! What random scripts ask of a stream's entries by their places.
//!
//! Lives here: drawing it, and what it means by now. Not here: other lines (`script.rs`, `known.rs`).

use bytes::Bytes;
use naven_api::Timestamp;

use super::known::{Known, dedupe_key};
use super::random::SeededRandom;
use super::script::{Pick, STREAMS};
use super::streams::to_stream;
use crate::txn::{
    Append, DeleteEntries, Due, EntryWish, Keep, OpKind, Place, PlaceWish, References, Rename, SetId,
    StreamRef, Trim, Trimming,
};

/// One op on entries.
#[derive(Debug, Clone, Copy)]
pub enum EntryAsk {
    /// Publish an entry.
    Add {
        /// To which stream.
        stream: Pick,
        /// True where that is made if it is missing.
        make: bool,
        /// At which place.
        at: PlaceAsk,
        /// In so many ms.
        due_ms: i64,
        /// The number of its dedupe key, where it has one.
        dedupe: Option<u8>,
        /// What is trimmed afterwards.
        trim: Option<TrimAsk>,
    },
    /// Trim a stream.
    Trim(Pick, TrimAsk),
    /// Drop two entries, which may be one.
    Delete(Pick, [Pick; 2], u8),
    /// Set the last place so many ms behind every known one, so many entries ever added, and the highest deleted
    /// place.
    SetId(Pick, i64, Option<u64>, Option<Pick>),
    /// Give a stream another's name.
    Rename(Pick, Pick),
}

/// Which place is wished for.
#[derive(Debug, Clone, Copy)]
pub enum PlaceAsk {
    /// The next.
    Next,
    /// So many ms and numbers behind an event's place.
    Behind(Pick, i64, u64),
    /// In the millisecond of an event's place, and so many more.
    In(Pick, i64),
    /// The last there is.
    Last,
}

/// What is trimmed.
#[derive(Debug, Clone, Copy)]
pub struct TrimAsk {
    newest: Option<u64>,
    from: Pick,
    step: u64,
    limit: Option<u64>,
    references: u8,
}

/// Draws an op.
pub(super) fn ask(random: &SeededRandom) -> EntryAsk {
    let pick = || random.next_u64() as Pick;
    match random.below(16) {
        0..9 => EntryAsk::Add {
            stream: pick(),
            make: random.once_in(2),
            at: place(random),
            due_ms: random.one_of(&[0, 0, 0, 0, -5, 2_000]),
            dedupe: random.once_in(4).then(|| random.below(3) as u8),
            trim: random.once_in(4).then(|| trim(random)),
        },
        9..11 => EntryAsk::Trim(pick(), trim(random)),
        11..13 => EntryAsk::Delete(pick(), [pick(), pick()], random.below(3) as u8),
        13 => EntryAsk::Rename(pick(), pick()),
        _ => {
            let added = random.one_of(&[None, Some(0), Some(2), Some(9)]);
            let behind = random.one_of(&[1, 1, 1_000]);
            EntryAsk::SetId(pick(), behind, added, random.once_in(3).then(pick))
        }
    }
}

fn place(random: &SeededRandom) -> PlaceAsk {
    let pick = random.next_u64() as Pick;
    match random.below(8) {
        0 => PlaceAsk::Behind(pick, random.one_of(&[0, 0, 1, 5_000]), random.below(3).into()),
        1 | 2 => PlaceAsk::In(pick, random.one_of(&[-1, 0, 0, 3, 5_000])),
        3 if random.once_in(12) => PlaceAsk::Last,
        _ => PlaceAsk::Next,
    }
}

fn trim(random: &SeededRandom) -> TrimAsk {
    TrimAsk {
        newest: random.once_in(2).then(|| random.below(4).into()),
        from: random.next_u64() as Pick,
        step: random.one_of(&[1, 1, 2, 3]),
        limit: random.one_of(&[None, None, Some(1), Some(2)]),
        references: random.below(3) as u8,
    }
}

/// What becomes of other queues' dealing, by its number.
pub(super) fn references(number: u8) -> References {
    [References::Keep, References::Drop, References::Acked][usize::from(number) % 3]
}

fn moved(place: Place, ms: i64, seq: u64) -> Place {
    Place { ms: place.ms.saturating_add_signed(ms), seq: place.seq.saturating_add(seq) }
}

impl Known {
    /// The op that `ask` means.
    pub(super) fn entry_op(&self, ask: &EntryAsk, wall: Timestamp) -> OpKind {
        match *ask {
            EntryAsk::Add { stream, make, at, due_ms, dedupe, trim } => {
                let StreamRef(name) = self.stream(stream);
                let place = match at {
                    PlaceAsk::Next => PlaceWish::Next,
                    PlaceAsk::Behind(event, ms, seq) => PlaceWish::Exactly(moved(self.place(event), ms, seq)),
                    PlaceAsk::In(event, ms) => PlaceWish::In(moved(self.place(event), ms, 0).ms),
                    PlaceAsk::Last => PlaceWish::Exactly(Place::LAST),
                };
                let trim = trim.map(|trim| self.trimming(trim));
                OpKind::Append(Append {
                    due: if due_ms == 0 { Due::Now } else { Due::At(wall.plus_ms(due_ms)) },
                    dedupe: dedupe.map(dedupe_key),
                    entry: Some(Box::new(EntryWish { make_stream: make, place, trim })),
                    ..to_stream(&String::from_utf8_lossy(&name), "{}")
                })
            }
            EntryAsk::Trim(stream, trim) => {
                OpKind::Trim(Trim { stream: self.stream(stream), how: self.trimming(trim) })
            }
            EntryAsk::Delete(stream, events, number) => OpKind::DeleteEntries(DeleteEntries {
                stream: self.stream(stream),
                places: events.into_iter().map(|event| self.place(event)).collect(),
                references: references(number),
            }),
            EntryAsk::SetId(stream, ms, added, max_deleted) => OpKind::SetId(SetId {
                stream: self.stream(stream),
                last: moved(self.last_place(wall), ms, 0),
                added,
                max_deleted: max_deleted.map(|event| self.place(event)),
            }),
            EntryAsk::Rename(stream, to) => {
                let to = StreamRef(Bytes::from_static(STREAMS[to as usize % STREAMS.len()].as_bytes()));
                OpKind::Rename(Rename { stream: self.stream(stream), to })
            }
        }
    }

    fn trimming(&self, ask: TrimAsk) -> Trimming {
        let keep = ask.newest.map_or_else(|| Keep::From(self.place(ask.from)), Keep::Newest);
        Trimming { keep, step: ask.step, limit: ask.limit, references: references(ask.references) }
    }
}
