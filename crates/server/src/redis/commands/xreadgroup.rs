//! `XREADGROUP`: read streams for a consumer of a group.
//!
//! Lives here: its ids, and what a try asks and finds. Not here: the options (`read_options.rs`), waiting.

use bytes::Bytes;
use naven_api::Scope;
use naven_api::limits::REDIS_READ_ENTRIES_MAX;
use naven_store::reply::{HeldEntry, OpReply, QueueRead};
use naven_store::txn::{GroupFrom, OpKind, Place, ReadGroup, ReaderOp};

use super::names::{self, GroupName};
use super::number::shown;
use super::read_options::{ReadOptions, Reader};
use super::{entries, ids, words};
use crate::redis::frame::{Protocol, Reply, Request};
use crate::redis::plan::{Answer, Ask, BlockFor, Need, Plan, Setting, Touched, Tried, Waiting, Wake};

/// One stream that is read, and from where.
struct From {
    group: GroupName,
    /// Behind this place of what the consumer holds; none: what is new.
    after: Option<Place>,
}

/// A call.
struct XReadGroup {
    from: Vec<From>,
    consumer: Bytes,
    count: u64,
    max_bytes: u64,
    no_ack: bool,
    idle_ms: Option<u64>,
    patience: Option<BlockFor>,
}

/// `XREADGROUP GROUP group consumer [COUNT count] [BLOCK ms] [CLAIM min-idle-ms] [NOACK] STREAMS key [key ...]
/// id|> [id ...]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let options = ReadOptions::parse(call.arguments(), Reader::Group)?;
    let Some((group, consumer)) = &options.group else { return Err(words::syntax()) };
    let consumer = names::consumer(consumer)?;
    let mut from = Vec::new();
    for (key, id) in &options.streams {
        let group = GroupName::of(key, group);
        match after(id) {
            Ok(after) => from.push(From { group, after }),
            Err(error) => {
                let mut groups: Vec<GroupName> = from.into_iter().map(|from| from.group).collect();
                groups.push(group);
                return Ok(once_all_found(groups, error));
            }
        }
    }
    Ok(Plan::Wait(Box::new(XReadGroup {
        from,
        consumer,
        count: options.count.unwrap_or(u64::MAX).min(REDIS_READ_ENTRIES_MAX),
        max_bytes: options.max_bytes(),
        no_ack: options.no_ack,
        idle_ms: options.idle_ms,
        patience: options.patience,
    })))
}

fn after(id: &[u8]) -> Result<Option<Place>, Reply> {
    match id {
        b">" => Ok(None),
        b"$" => Err(meaningless("$")),
        b"+" => Err(meaningless("+")),
        id => ids::place(id).map(Some),
    }
}

fn meaningless(id: &str) -> Reply {
    Reply::error(format!(
        "ERR The {id} ID is meaningless in the context of XREADGROUP: you want to read the history of this \
         consumer by specifying a proper ID, or use the > ID to get new messages. The {id} ID would just return \
         an empty result set."
    ))
}

/// An id is judged once its own group and those before it are known to be there.
fn once_all_found(groups: Vec<GroupName>, error: Reply) -> Plan {
    let asks = groups.iter().map(|group| group.look(Scope::Consume)).collect();
    Plan::asks(asks, move |answers, _| first_missing(groups.iter(), &answers).unwrap_or(error))
}

fn first_missing<'a>(mut groups: impl Iterator<Item = &'a GroupName>, answers: &[Answer]) -> Option<Reply> {
    answers.iter().find_map(|answer| {
        let group = groups.next()?;
        words::missing(answer).map(|_| words::no_key_or_group_to_read(group))
    })
}

impl XReadGroup {
    fn read(&self) -> Ask {
        let from = self.from.iter().map(|from| GroupFrom { queue: from.group.queue(), after: from.after });
        let op = ReadGroup {
            consumer: self.consumer.clone(),
            count: Some(self.count),
            max_bytes: self.max_bytes,
            no_ack: self.no_ack,
            idle_ms: self.idle_ms,
            from: from.collect(),
        };
        let needs = self.from.iter().map(|from| Need {
            scope: Scope::Consume,
            on: Touched::Group { stream: from.group.stream.clone(), group: from.group.group.clone() },
        });
        Ask { kind: OpKind::Reader(ReaderOp::Read(op)), needs: needs.collect(), note: None }
    }

    /// The entries, each with what CLAIM tells of it where it was asked for.
    fn listed(&self, from: &From, read: &QueueRead) -> Reply {
        let mut list = entries::held(&read.entries);
        if self.idle_ms.is_some() && from.after.is_none() {
            for (entry, held) in list.iter_mut().zip(&read.entries) {
                tell_of_claim(entry, held);
            }
        }
        Reply::Array(list)
    }
}

fn tell_of_claim(entry: &mut Reply, held: &HeldEntry) {
    if let Reply::Array(parts) = entry {
        let (idle_ms, count) = held.was_idle.unwrap_or_default();
        parts.extend([shown(idle_ms), shown(count)]);
    }
}

impl Waiting for XReadGroup {
    fn asks(&self) -> Vec<Ask> {
        // Of several groups, the read alone would not say which is missing.
        let looks = self.from.iter().map(|from| from.group.look(Scope::Consume));
        let looks = looks.filter(|_| self.from.len() > 1);
        looks.chain([self.read()]).collect()
    }

    fn tried(&mut self, mut answers: Vec<Answer>, protocol: Protocol) -> Tried {
        let Some(answer) = answers.pop() else { return Tried::Over(words::syntax()) };
        let groups = || self.from.iter().map(|from| &from.group);
        if let Some(missing) = first_missing(groups(), &answers) {
            return Tried::Over(missing);
        }
        if words::missing(&answer).is_some() {
            let first = groups().next().map(words::no_key_or_group_to_read);
            return Tried::Over(first.unwrap_or_else(words::syntax));
        }
        let reads = match answer {
            Ok(OpReply::Read(reads)) => reads,
            answer => return Tried::Over(words::unexpected(answer)),
        };
        let mut shown = Vec::new();
        for (from, read) in self.from.iter().zip(&reads) {
            if from.after.is_some() || !read.entries.is_empty() {
                shown.push((from.group.stream.clone(), self.listed(from, read)));
            }
        }
        if shown.is_empty() {
            let queues = reads.iter().map(|read| read.queue).collect();
            let due_in = reads.iter().filter_map(|read| read.due_in).min();
            return Tried::Nothing(Wake { queues, due_in, ..Wake::default() });
        }
        Tried::Over(entries::by_key(shown, protocol))
    }

    fn patience(&self) -> Option<BlockFor> {
        self.patience
    }
}
