//! The audit of the Redis door after a restart: the books are held against the stream and its groups.
//!
//! Lives here: what the server may say, given what was answered and what was under way. Not here: the load.

use std::collections::BTreeMap;

use crate::redis_books::{Asked, Books, GROUPS, Group, Hold, Id, STREAM, entries};
use crate::redis_wire::Wire;
use crate::support::Reply;

/// Entries that are looked at in one call.
const PAGE: usize = 500;

/// Looks at what was added since `seen`, and at all that is pending. The last entry that is there.
pub(crate) fn audit(wire: &mut Wire, books: &mut Books, seen: Option<Id>) -> Option<Id> {
    let under_way = books.adding.len() + books.groups.iter().map(|group| group.reading.len()).sum::<usize>();
    books.cut_off[0] += books.adding.len();
    let last = stream(wire, books, seen);
    books.adding.clear();
    let length = ask(wire, &["XLEN", STREAM]).text();
    assert_eq!(length, books.added.len().to_string(), "the stream is as long as what was added");
    let mut asked = 0;
    for number in 0..GROUPS.len() {
        asked += books.groups[number].held.values().filter(|hold| hold.asked.is_some()).count();
        group(wire, books, number);
    }
    books.cycles_cut_off += u64::from(under_way + asked > 0);
    last
}

fn ask(wire: &mut Wire, words: &[&str]) -> Reply {
    wire.call(words).expect("a server that lives answers")
}

/// Every answered add is there, and nothing else but adds that were under way.
fn stream(wire: &mut Wire, books: &mut Books, seen: Option<Id>) -> Option<Id> {
    let mut last = seen;
    let mut missing: BTreeMap<Id, u64> = match seen {
        Some(seen) => books.added.iter().filter(|(id, _)| **id > seen).map(|(id, n)| (*id, *n)).collect(),
        None => books.added.clone(),
    };
    loop {
        let from = last.map_or_else(|| "-".to_owned(), |last| format!("({last}"));
        let page = entries(&ask(wire, &["XRANGE", STREAM, &from, "+", "COUNT", &PAGE.to_string()]));
        for (id, number) in &page {
            match missing.remove(id) {
                Some(added) => assert_eq!(added, *number, "{id} has another's content"),
                None => {
                    assert!(books.adding.remove(number), "{id} ({number}) was not under way at the kill");
                    assert_eq!(books.added.insert(*id, *number), None, "{id} is there twice");
                    books.came_true[0] += 1;
                }
            }
        }
        last = page.last().map(|(id, _)| *id).or(last);
        if page.len() < PAGE {
            assert!(missing.is_empty(), "lost: {missing:?}");
            return last;
        }
    }
}

fn group(wire: &mut Wire, books: &mut Books, number: usize) {
    let name = GROUPS[number];
    let groups = ask(wire, &["XINFO", "GROUPS", STREAM]);
    let told = groups.list().iter().find(|told| told.field("name").text() == name);
    let told = told.unwrap_or_else(|| panic!("no group {name} in {groups:?}"));
    let furthest = Id::of(told.field("last-delivered-id"));
    let at_most = (books.added.len() + 1).to_string();
    let pending: BTreeMap<Id, String> =
        ask(wire, &["XPENDING", STREAM, name, "-", "+", &at_most]).list().iter().map(held_by).collect();
    assert_eq!(told.field("pending").text(), pending.len().to_string(), "{name}: XINFO and XPENDING");
    let Books { added, groups, cut_off, came_true, .. } = books;
    let group = &mut groups[number];
    assert!(furthest >= group.furthest, "{name} went back from {} to {furthest}", group.furthest);
    group.furthest = furthest;
    cut_off[1] += group.reading.len();
    settle(group, &pending, cut_off, came_true);
    came_true[1] += hand_over(group, &pending);
    for id in added.keys() {
        let is_known = group.held.contains_key(id) || group.acked.contains(id);
        assert_eq!(is_known, *id <= furthest, "{name}: {id} at last-delivered-id {furthest}");
    }
}

fn held_by(row: &Reply) -> (Id, String) {
    let [id, owner, ..] = row.list() else { panic!("not a row: {row:?}") };
    (Id::of(id), owner.text())
}

/// What was given and not acked is pending with its owner; what was asked of it is done or is not.
fn settle(
    group: &mut Group,
    pending: &BTreeMap<Id, String>,
    cut_off: &mut [usize; 4],
    came_true: &mut [usize; 4],
) {
    let mut acked = Vec::new();
    for (id, hold) in &mut group.held {
        let owner = pending.get(id);
        match hold.asked.take() {
            None => assert_eq!(owner, Some(&hold.owner), "{id} was given and is not acked"),
            Some(Asked::Ack) => {
                cut_off[2] += 1;
                match owner {
                    Some(owner) => assert_eq!(*owner, hold.owner, "{id} changed hands by an ack"),
                    None => acked.push(*id),
                }
            }
            Some(Asked::Claim(by)) => {
                cut_off[3] += 1;
                let owner = owner.unwrap_or_else(|| panic!("{id} was lost by a claim for {by}"));
                came_true[3] += usize::from(*owner == by);
                assert!(*owner == by || *owner == hold.owner, "{id} is held by {owner}, not {by}: {hold:?}");
                hold.owner.clone_from(owner);
            }
        }
    }
    came_true[2] += acked.len();
    for id in acked {
        group.held.remove(&id);
        group.acked.insert(id);
    }
}

/// What is pending beyond that went to reads under way, each of which got no more than it asked for.
fn hand_over(group: &mut Group, pending: &BTreeMap<Id, String>) -> usize {
    let mut came = 0;
    for (id, owner) in pending.iter().filter(|(id, _)| !group.held.contains_key(id)).collect::<Vec<_>>() {
        assert!(!group.acked.contains(id), "{id} is acked and pending with {owner}");
        let left = group.reading.get_mut(owner).filter(|left| **left > 0);
        let left = left.unwrap_or_else(|| panic!("{id} went to {owner}, who did not read it"));
        *left -= 1;
        came += 1;
        group.held.insert(*id, Hold { owner: owner.clone(), asked: None });
    }
    group.reading.clear();
    came
}
