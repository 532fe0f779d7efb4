//! What clients of the Redis door asked and were answered, as the audits need it.
//!
//! Lives here: entries, and what each group was given of them. Not here: asking (`redis_load.rs`), and what
//! the server may say after a kill (`redis_audit.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::support::Reply;

pub(crate) const STREAM: &str = "parcels";
pub(crate) const GROUPS: [&str; 2] = ["weigh", "send"];

/// An entry's id; they compare as the door orders them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Id(u64, u64);

impl Id {
    pub(crate) fn of(reply: &Reply) -> Self {
        let text = reply.text();
        let (time, sequence) = text.split_once('-').expect("an id has two parts");
        let number = |text: &str| text.parse().expect("an id is made of numbers");
        Self(number(time), number(sequence))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

/// The ids and numbers of a list of entries, in its order.
pub(crate) fn entries(list: &Reply) -> Vec<(Id, u64)> {
    let entry = |entry: &Reply| {
        let [id, fields] = entry.list() else { panic!("not an entry: {entry:?}") };
        let number = fields.field("number").text().parse().expect("a number");
        assert_eq!(fields.field("text").text(), text(number), "not what was added: {entry:?}");
        (Id::of(id), number)
    };
    list.list().iter().map(entry).collect()
}

/// The further field of an entry.
pub(crate) fn text(number: u64) -> String {
    let lengths = [0, 3, 40, 1_000];
    let pick = usize::try_from(number % 97).expect("it is small");
    format!("{number:x}").repeat(lengths[if pick < 3 { pick } else { 2 + usize::from(pick == 3) }])
}

/// Who has an entry, as answers told it.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) owner: String,
    /// What was asked and is not answered yet. One call at a time touches an entry.
    pub(crate) asked: Option<Asked>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    Ack,
    /// By this consumer.
    Claim(String),
}

/// One group's.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Delivered and not acked.
    pub(crate) held: BTreeMap<Id, Hold>,
    pub(crate) acked: BTreeSet<Id>,
    /// The furthest that any answer showed.
    pub(crate) furthest: Id,
    /// Reads under way: most entries, by consumer.
    pub(crate) reading: BTreeMap<String, usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) asked: u64,
    /// Numbers of adds that are not answered.
    pub(crate) adding: BTreeSet<u64>,
    /// Answered, or seen after a kill.
    pub(crate) added: BTreeMap<Id, u64>,
    pub(crate) groups: [Group; GROUPS.len()],
    pub(crate) answered: BTreeMap<&'static str, u64>,
    /// At kills: adds, reads, acks, claims that were under way.
    pub(crate) cut_off: [usize; 4],
    /// Of them: entries that were there, entries that were handed out, acks and claims that were done.
    pub(crate) came_true: [usize; 4],
    pub(crate) cycles_cut_off: u64,
}

impl Books {
    pub(crate) fn count(&mut self, what: &'static str) {
        *self.answered.entry(what).or_default() += 1;
    }

    /// Entries that the slower group has not been given.
    pub(crate) fn backlog(&self) -> usize {
        let given = self.groups.iter().map(|group| group.held.len() + group.acked.len()).min();
        self.added.len().saturating_sub(given.unwrap_or_default())
    }
}

impl Group {
    /// A read was answered with these.
    pub(crate) fn given(&mut self, entries: &[(Id, u64)], consumer: &str) {
        for (id, _) in entries {
            let is_new = !self.held.contains_key(id) && !self.acked.contains(id);
            assert!(is_new, "{id} was handed out again to {consumer}: {:?}", self.held.get(id));
            self.held.insert(*id, Hold { owner: consumer.to_owned(), asked: None });
            self.furthest = self.furthest.max(*id);
        }
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "not in order: {entries:?}");
    }

    /// Up to `count` entries that nobody asks for just now, which are asked for from now on.
    pub(crate) fn pick(&mut self, count: usize, from: usize, asked: &Asked) -> Vec<Id> {
        let free = |(_, hold): &(&Id, &mut Hold)| hold.asked.is_none();
        let some = self.held.iter_mut().filter(free).skip(from).take(count);
        some.map(|(id, hold)| {
            hold.asked = Some(asked.clone());
            *id
        })
        .collect()
    }
}
