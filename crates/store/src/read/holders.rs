//! Who has deliveries of a queue.
//!
//! Lives here: the answer, and its making from single holds. Not here: finding these (the engines).

use std::collections::BTreeMap;

use naven_api::Timestamp;

/// By which door a holder came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HolderKind {
    /// It holds leases.
    Http,
    /// It is a consumer of the Redis door, whether it holds anything now or not.
    Redis,
}

impl HolderKind {
    /// The word for it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Redis => "redis",
        }
    }
}

/// Everybody who holds something under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// By which door.
    pub kind: HolderKind,
    /// As it named itself; none for all those who did not. What is not UTF-8 is shown as U+FFFD.
    pub name: Option<String>,
    /// How many deliveries it has.
    pub held: u64,
    /// When the oldest of its holds that were looked at began; none where it has none.
    pub oldest: Option<Timestamp>,
}

/// Who has deliveries of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holders {
    /// By door and name.
    pub items: Vec<Holder>,
    /// True where there are more holds than may be looked at.
    pub truncated: bool,
}

/// Holders in the making.
#[derive(Debug, Default)]
pub(crate) struct Holding(BTreeMap<(HolderKind, Option<String>), (u64, Option<Timestamp>)>);

impl Holding {
    /// Counts `held` deliveries of a holder, one of them held since `since`.
    pub(crate) fn add(
        &mut self,
        kind: HolderKind,
        name: Option<String>,
        held: u64,
        since: Option<Timestamp>,
    ) {
        let (count, oldest) = self.0.entry((kind, name)).or_default();
        *count += held;
        *oldest = (*oldest).into_iter().chain(since).min();
    }

    pub(crate) fn into_holders(self, truncated: bool) -> Holders {
        let holder = |((kind, name), (held, oldest))| Holder { kind, name, held, oldest };
        Holders { items: self.0.into_iter().map(holder).collect(), truncated }
    }
}
