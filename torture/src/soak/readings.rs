//! What Redis readers of one stream were given, and the rules that it has to keep.
//!
//! Lives here: the rules, which know no wire. Not here: the readers (`reader.rs`).
//!
//! A read of `>` gives each entry once, whatever becomes of it. What was acknowledged, and answered so, never comes
//! again. A name is one entry. At the end every entry that was published is acknowledged.

use std::collections::{HashMap, HashSet};

/// How an entry came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By XREADGROUP and `>`.
    Fresh,
    /// By XAUTOCLAIM.
    Taken,
}

/// What all readers of one group saw.
#[derive(Debug, Default)]
pub(super) struct Readings {
    /// Names by place.
    given: HashMap<String, u64>,
    places: HashMap<u64, String>,
    fresh: HashSet<String>,
    /// Places whose XACK was answered, and when that was known, in ms.
    acked: HashMap<String, i64>,
    /// Places whose XACK was sent, answered or not.
    asked: HashSet<String>,
    /// Names whose publish was answered.
    published: HashSet<u64>,
}

impl Readings {
    pub(super) fn publish(&mut self, name: u64) {
        self.published.insert(name);
    }

    /// An entry came with an answer to what was asked at `asked_ms`. What is wrong with that, if anything.
    pub(super) fn give(&mut self, place: &str, name: u64, way: Way, asked_ms: i64) -> Option<String> {
        if self.acked.get(place).is_some_and(|acked_ms| *acked_ms < asked_ms) {
            return Some(format!("entry {place} came again after its XACK was answered"));
        }
        if way == Way::Fresh && !self.fresh.insert(place.to_owned()) {
            return Some(format!("entry {place} came through > twice"));
        }
        let known = self.given.insert(place.to_owned(), name);
        if known.is_some_and(|known| known != name) {
            return Some(format!("entry {place} has another payload the second time"));
        }
        let known = self.places.insert(name, place.to_owned());
        let other = known.filter(|known| known != place);
        other.map(|other| format!("what was published once came as entry {other} and as {place}"))
    }

    /// An XACK of these was sent.
    pub(super) fn ask(&mut self, places: &[String]) {
        self.asked.extend(places.iter().cloned());
    }

    /// An XACK of these was answered by `now_ms`.
    pub(super) fn acknowledge(&mut self, places: &[String], now_ms: i64) {
        for place in places {
            self.acked.entry(place.clone()).or_insert(now_ms);
        }
    }

    /// True where its XACK was answered.
    pub(super) fn is_acknowledged(&self, place: &str) -> bool {
        self.acked.contains_key(place)
    }

    /// How many that were published are not acknowledged for all that is known, and one of them.
    pub(super) fn missing(&self) -> (usize, Option<u64>) {
        let is_done = |name: &u64| self.places.get(name).is_some_and(|place| self.asked.contains(place));
        let mut missing = self.published.iter().filter(|name| !is_done(name));
        let one = missing.next().copied();
        (missing.count() + usize::from(one.is_some()), one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_one(way: Way) -> Readings {
        let mut readings = Readings::default();
        readings.publish(7);
        assert_eq!(readings.give("1-0", 7, way, 10), None);
        readings
    }

    #[test]
    fn what_is_acknowledged_never_comes_again() {
        let mut readings = with_one(Way::Fresh);
        readings.ask(&["1-0".to_owned()]);
        readings.acknowledge(&["1-0".to_owned()], 20);
        assert_eq!(readings.give("1-0", 7, Way::Taken, 20), None, "asked for before that was known");
        assert!(readings.give("1-0", 7, Way::Taken, 21).unwrap().contains("XACK"));
    }

    #[test]
    fn a_fresh_entry_comes_once() {
        let mut readings = with_one(Way::Fresh);
        assert_eq!(readings.give("1-0", 7, Way::Taken, 30), None);
        assert!(readings.give("1-0", 7, Way::Fresh, 30).unwrap().contains("twice"));
    }

    #[test]
    fn a_name_is_one_entry() {
        let mut readings = with_one(Way::Taken);
        assert!(readings.give("2-0", 7, Way::Fresh, 30).unwrap().contains("once"));
        let mut readings = with_one(Way::Taken);
        assert!(readings.give("1-0", 8, Way::Fresh, 30).unwrap().contains("another payload"));
    }

    #[test]
    fn what_nobody_acknowledged_is_missing() {
        let mut readings = with_one(Way::Fresh);
        readings.publish(9);
        assert_eq!(readings.missing().0, 2);
        readings.ask(&["1-0".to_owned()]);
        assert_eq!(readings.missing(), (1, Some(9)));
    }
}
