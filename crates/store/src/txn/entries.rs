//! What is done with the entries of a stream themselves.
//!
//! Lives here: what a publisher may ask of its entry, trimming, deletion, and the stream's last place. Not
//! here: publishing itself (`txn.rs`), what readers do (`txn/reader.rs`).

use super::{Place, StreamRef};

/// What a publisher asks of the entry that its event becomes. It is for events that go to a whole stream, and
/// are due at once where they ask for a place of their own: else it is refused (`WrongState`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryWish {
    /// True where a stream that is not there is made; its entries stay until they are trimmed.
    pub make_stream: bool,
    /// Which place it gets.
    pub place: PlaceWish,
    /// What leaves the stream afterwards.
    pub trim: Option<Trimming>,
}

/// Which place an entry is to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceWish {
    /// The next one, by the clock.
    Next,
    /// This one, which has to be behind the stream's last.
    Exactly(Place),
    /// The next one in this millisecond, which must not be before the stream's last.
    In(u64),
}

/// Drop a stream's oldest entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trim {
    /// Of which stream.
    pub stream: StreamRef,
    /// What and how.
    pub how: Trimming,
}

/// What a trim drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimming {
    /// What stays.
    pub keep: Keep,
    /// Entries go in groups of so many, from the oldest on, or not at all; the last group is what is left. 1:
    /// each by itself.
    pub step: u64,
    /// Most entries dropped by one call; none: no bound.
    pub limit: Option<u64>,
    /// What becomes of queues' dealing with what is dropped.
    pub references: References,
}

impl Trimming {
    /// All but what `keep` says; queues keep what they have.
    pub fn to(keep: Keep) -> Self {
        Self { keep, step: 1, limit: None, references: References::Keep }
    }
}

/// What a trim leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The newest so many entries.
    Newest(u64),
    /// Entries at or after this place.
    From(Place),
}

/// What becomes of queues' dealing with entries that leave their stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// It stays as it is (`KEEPREF`).
    Keep,
    /// It ends: what Redis consumers hold, or nobody, is forgotten everywhere (`DELREF`), of entries too that
    /// left their stream before. Leases and dead letters stay.
    Drop,
    /// Only entries leave that every queue has handed out and finished (`ACKED`). A trim passes over the others,
    /// 20,000 of them at most.
    Acked,
}

/// Drop single entries of a stream. What became of each is answered, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteEntries {
    /// From which stream.
    pub stream: StreamRef,
    /// Which. A place may come twice: the second one is missing by then.
    pub places: Vec<Place>,
    /// What becomes of queues' dealing with them.
    pub references: References,
}

/// Move a stream's last place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetId {
    /// Of which stream.
    pub stream: StreamRef,
    /// The new last place: not before the highest one ever deleted (`BeforeDeleted`), nor before the last entry
    /// that is there or that a queue has still to do with (`PlaceBehind`).
    pub last: Place,
    /// How many entries were ever added, as its readers are told; at least as many as are there (`FactsWrong`).
    pub added: Option<u64>,
    /// The highest place that was ever deleted; not behind `last` (`FactsWrong`). Zero leaves it as it was.
    pub max_deleted: Option<Place>,
}

/// Give a stream another name. Queues that readers made on it go by the new name as well, unless one of their
/// names is another queue's (`NameTaken`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// Which.
    pub stream: StreamRef,
    /// Its new name. A stream of this name is deleted.
    pub to: StreamRef,
}
