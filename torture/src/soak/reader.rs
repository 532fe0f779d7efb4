//! A consumer of the Redis door.
//!
//! Lives here: reading, taking over and acknowledging, and what it does wrong. Not here: the rules (`readings.rs`).

use std::io;
use std::sync::Arc;

use super::book::{Book, GROUP, Stream, fill_of};
use super::readings::Way;
use super::scene::{lock, pause};
use super::wire::Wire;
use crate::node::resp::Value;
use crate::simulation::Dice;

/// After how long another reader takes over what was not acknowledged, in ms.
const IDLE_MS: &str = "2000";
const COUNT: &str = "20";
const BLOCK_MS: &str = "1000";

struct Reader {
    book: Arc<Book>,
    stream: Arc<Stream>,
    me: String,
    dice: Dice,
}

/// Reads until the generation is over.
pub(super) async fn read(book: Arc<Book>, stream: Arc<Stream>) {
    let client = book.new_client();
    let seed = book.scene.plan.seed ^ (book.number as u64) << 32 ^ u64::from(client) << 16;
    let reader = Reader { book, stream, me: format!("r{client}"), dice: Dice::new(seed) };
    while !reader.book.is_over() {
        if let Some(mut wire) = Wire::connect(&reader.book.scene).await {
            while !reader.book.is_over() {
                match reader.turn(wire).await {
                    Ok(Some(kept)) => wire = kept,
                    // It went away on purpose, or the connection broke.
                    Ok(None) | Err(_) => break,
                }
            }
        }
        pause(50).await;
    }
}

impl Reader {
    fn has_fault(&self) -> bool {
        self.dice.percent(self.book.scene.plan.faults) && !self.book.is_closing()
    }

    async fn turn(&self, mut wire: Wire) -> io::Result<Option<Wire>> {
        let takes = self.dice.percent(if self.book.is_closing() { 50 } else { 10 });
        let name = self.stream.name.as_str();
        let words: &[&str] = if takes {
            &["XAUTOCLAIM", name, GROUP, &self.me, IDLE_MS, "0", "COUNT", COUNT]
        } else {
            &["XREADGROUP", "GROUP", GROUP, &self.me, "COUNT", COUNT, "BLOCK", BLOCK_MS, "STREAMS", name, ">"]
        };
        if self.has_fault() && self.dice.percent(30) {
            let cuts = self.dice.percent(50);
            if cuts {
                wire.cut(words, &self.dice).await
            } else {
                wire.unread(words, &self.dice).await
            }
            return Ok(None);
        }
        let asked_ms = self.book.scene.clock.now_ms();
        let reply = wire.call(words).await?;
        let entries = match &reply {
            Value::Error(_) => return Err(io::ErrorKind::ConnectionAborted.into()),
            reply if takes => reply.many().get(1),
            reply => reply.many().first().and_then(|stream| stream.many().get(1)),
        };
        let way = if takes { Way::Taken } else { Way::Fresh };
        let places = entries.map_or_else(Vec::new, |entries| self.take(entries, way, asked_ms));
        if places.is_empty() {
            return Ok(Some(wire));
        }
        self.acknowledge(wire, &places).await
    }

    /// Takes entries in.
    fn take(&self, entries: &Value, way: Way, asked_ms: i64) -> Vec<String> {
        let mut places = Vec::new();
        for entry in entries.many() {
            let [place, fields] = entry.many() else { continue };
            let fields: Vec<_> = fields.many().iter().map(Value::text).collect();
            let name = match fields[..] {
                ["n", name, "fill", fill] | ["fill", fill, "n", name] => {
                    name.parse::<u64>().ok().filter(|name| fill_of(*name) == fill)
                }
                _ => None,
            };
            let wrong = match name {
                Some(name) => lock(&self.stream.readings).give(place.text(), name, way, asked_ms),
                None => Some(format!("entry {} has a payload that nobody published", place.text())),
            };
            if let Some(wrong) = wrong {
                self.book.scene.is_wrong(format!("{} of {}: {wrong}", GROUP, self.stream.name));
            }
            places.push(place.text().to_owned());
        }
        places
    }

    async fn acknowledge(&self, mut wire: Wire, places: &[String]) -> io::Result<Option<Wire>> {
        let mut words = vec!["XACK", &self.stream.name, GROUP];
        words.extend(places.iter().map(String::as_str));
        let ledger = &self.book.scene.ledger;
        // As many dice as there are entries, as for events over HTTP.
        let has_fault = places.iter().any(|_| self.has_fault());
        let kind = if has_fault { self.dice.between(0..=3) } else { -1 };
        if kind == 0 {
            ledger.note_fault("entries forgotten");
            return Ok(Some(wire));
        }
        lock(&self.stream.readings).ask(places);
        if kind == 1 {
            wire.unread(&words, &self.dice).await;
            return Ok(None);
        }
        if kind == 2 {
            // What is cut was never asked, but it does no harm to think so.
            wire.cut(&words, &self.dice).await;
            return Ok(None);
        }
        let is_first = |place: &String| !lock(&self.stream.readings).is_acknowledged(place);
        let first = places.iter().filter(|place| is_first(place)).count() as u64;
        let Value::Number(_) = wire.call(&words).await? else {
            return Err(io::ErrorKind::ConnectionAborted.into());
        };
        lock(&self.stream.readings).acknowledge(places, self.book.scene.clock.by_now_ms());
        ledger.finish_wire(first);
        if kind == 3 {
            ledger.note_fault("entries acknowledged again");
            if let Value::Number(again @ 1..) = wire.call(&words).await? {
                let what = format!("{again} entries of {} were acknowledged twice", self.stream.name);
                self.book.scene.is_wrong(what);
            }
        }
        Ok(Some(wire))
    }
}
