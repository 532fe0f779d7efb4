//! Clients of the Redis door under way: each notes what it asks before it asks, and what it is answered.
//!
//! Lives here: adding, reading, acking, claiming, until the connection breaks. Not here: the kill
//! (`redis_run.rs`).

use std::io::Error;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::chance::Chance;
use crate::redis_books::{Asked, Books, GROUPS, Id, STREAM, entries, text};
use crate::redis_wire::Wire;
use crate::support::Reply;

/// Nobody adds while the slower group is so far behind.
const BACKLOG_MAX: usize = 300;
/// Nobody reads on while a group has so many that are not acked.
const HELD_MAX: usize = 120;

pub(crate) struct Worker<'a> {
    pub(crate) wire: Wire,
    pub(crate) books: &'a Mutex<Books>,
    pub(crate) chance: Chance,
}

impl Worker<'_> {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("a panic ends the whole test")
    }

    /// Adds until the connection breaks.
    pub(crate) fn add_on(mut self) {
        while self.add().is_ok() {}
    }

    /// Reads, acks and claims until the connection breaks.
    pub(crate) fn read_on(mut self, group: usize, consumer: &str) {
        loop {
            let held = self.books().groups[group].held.len();
            let done = match self.chance.below(100) {
                _ if held >= HELD_MAX => self.ack(group, 40),
                0..50 => self.read(group, consumer),
                50..85 => self.ack(group, 12),
                _ => self.claim(group, consumer),
            };
            if done.is_err() {
                return;
            }
        }
    }

    fn add(&mut self) -> Result<(), Error> {
        if self.books().backlog() >= BACKLOG_MAX {
            std::thread::sleep(Duration::from_millis(1));
            return self.wire.call(&["PING"]).map(drop);
        }
        let number = {
            let mut books = self.books();
            let number = books.asked;
            books.asked += 1;
            books.adding.insert(number);
            number
        };
        let words = ["XADD", STREAM, "*", "number", &number.to_string(), "text", &text(number)];
        let reply = self.wire.call(&words)?;
        let mut books = self.books();
        books.count("add");
        books.adding.remove(&number);
        assert_eq!(books.added.insert(Id::of(&reply), number), None, "an id was given twice");
        Ok(())
    }

    fn read(&mut self, group: usize, consumer: &str) -> Result<(), Error> {
        let count = self.chance.between(1, 12);
        let most = usize::try_from(count).expect("it is small");
        self.books().groups[group].reading.insert(consumer.to_owned(), most);
        let count = count.to_string();
        let mut words = vec!["XREADGROUP", "GROUP", GROUPS[group], consumer, "COUNT", &count];
        if self.chance.is(60) {
            words.extend(["BLOCK", "20"]);
        }
        words.extend(["STREAMS", STREAM, ">"]);
        let reply = self.wire.call(&words)?;
        let given = match &reply {
            Reply::Nil => Vec::new(),
            reply => entries(&reply.list()[0].list()[1]),
        };
        assert!(given.len() <= most, "{} entries instead of {most}", given.len());
        let mut books = self.books();
        books.count("read");
        books.groups[group].reading.remove(consumer);
        books.groups[group].given(&given, consumer);
        Ok(())
    }

    /// Some entries of the group, and the words of a call for them.
    fn pick(&mut self, group: usize, most: u64, asked: &Asked) -> Vec<Id> {
        let (count, from) = (self.chance.between(1, most), self.chance.below(20));
        let small = |number: u64| usize::try_from(number).expect("it is small");
        self.books().groups[group].pick(small(count), small(from), asked)
    }

    fn ack(&mut self, group: usize, most: u64) -> Result<(), Error> {
        let ids = self.pick(group, most, &Asked::Ack);
        if ids.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = ids.iter().map(Id::to_string).collect();
        let words: Vec<&str> =
            ["XACK", STREAM, GROUPS[group]].into_iter().chain(texts.iter().map(String::as_str)).collect();
        let reply = self.wire.call(&words)?;
        assert_eq!(reply.text(), ids.len().to_string(), "all of {words:?} were held");
        let mut books = self.books();
        books.count("ack");
        let group = &mut books.groups[group];
        for id in ids {
            group.held.remove(&id);
            group.acked.insert(id);
        }
        Ok(())
    }

    fn claim(&mut self, group: usize, consumer: &str) -> Result<(), Error> {
        let ids = self.pick(group, 5, &Asked::Claim(consumer.to_owned()));
        if ids.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = ids.iter().map(Id::to_string).collect();
        let mut words = vec!["XCLAIM", STREAM, GROUPS[group], consumer, "0"];
        words.extend(texts.iter().map(String::as_str));
        let reply = self.wire.call(&words)?;
        let got: Vec<Id> = entries(&reply).into_iter().map(|(id, _)| id).collect();
        assert_eq!(got, ids, "all of {words:?} were held");
        let mut books = self.books();
        books.count("claim");
        for id in ids {
            let hold = books.groups[group].held.get_mut(&id).expect("one call at a time touches it");
            (hold.owner, hold.asked) = (consumer.to_owned(), None);
        }
        Ok(())
    }
}
