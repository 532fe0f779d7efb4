//! A reader of the Redis door, as its clients are written.
//!
//! Lives here: reading, taking over, acknowledging, and what may never come again. Not here: the wire (`resp.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::actors::{GROUP, STREAM, rest};
use super::machine::Shared;
use super::resp::{Client, Value};

/// What all readers of the group were given, and what they were told.
#[derive(Debug, Default)]
pub(super) struct Readings {
    /// Payloads' names by place.
    given: BTreeMap<String, String>,
    /// Places whose XACK was answered.
    acked: BTreeSet<String>,
    /// Places whose XACK was sent, answered or not.
    asked: BTreeSet<String>,
}

impl Readings {
    /// The names of everything that was given and may be finished.
    pub(super) fn finished(&self) -> BTreeSet<&str> {
        self.given.iter().filter(|(place, _)| self.asked.contains(*place)).map(|(_, name)| &**name).collect()
    }
}

/// Reads until the world is over.
pub(super) async fn read(world: Shared, no: u32) {
    let key = world.borrow().key.reveal().to_owned();
    let me = format!("r{no}");
    while !world.borrow().is_over {
        let patience = Duration::from_millis(world.borrow().dice.between(1_500..=5_000) as u64);
        let client = Client::connect("naven:6379", &key, patience).await;
        if let Ok(mut client) = client {
            // An error ends the connection, as it does in most clients.
            drop(talk(&world, &mut client, &me).await);
        }
        rest(&world, 50, 900).await;
    }
}

async fn talk(world: &Shared, client: &mut Client, me: &str) -> std::io::Result<()> {
    // Made again where it is there: that is an error which does not matter.
    client.call(&["XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM"]).await?;
    while !world.borrow().is_over {
        let acked = world.borrow().readings.acked.clone();
        let entries = if world.borrow().dice.percent(30) {
            let taken = client.call(&["XAUTOCLAIM", STREAM, GROUP, me, "2000", "0", "COUNT", "5"]).await?;
            taken.many().get(1).cloned().unwrap_or(Value::Nothing)
        } else {
            let words =
                ["XREADGROUP", "GROUP", GROUP, me, "COUNT", "3", "BLOCK", "1000", "STREAMS", STREAM, ">"];
            let read = client.call(&words).await?;
            read.many().first().and_then(|stream| stream.many().get(1)).cloned().unwrap_or(Value::Nothing)
        };
        let places = note(world, &entries, &acked);
        rest(world, 0, 400).await;
        let forgets = !world.borrow().is_healed && world.borrow().dice.percent(15);
        if places.is_empty() || forgets {
            continue;
        }
        world.borrow_mut().readings.asked.extend(places.iter().cloned());
        let mut words = vec!["XACK", STREAM, GROUP];
        words.extend(places.iter().map(String::as_str));
        if let Value::Number(_) = client.call(&words).await? {
            let mut world = world.borrow_mut();
            world.readings.acked.extend(places);
        }
    }
    Ok(())
}

/// Takes entries in. `acked` is what was finished for sure when they were asked for.
fn note(world: &Shared, entries: &Value, acked: &BTreeSet<String>) -> Vec<String> {
    let mut world = world.borrow_mut();
    let mut places = Vec::new();
    for entry in entries.many() {
        let [place, fields] = entry.many() else { continue };
        let place = place.text().to_owned();
        if acked.contains(&place) {
            world.wrong.push(format!("entry {place} came again after its XACK was answered"));
        }
        let name = match fields.many() {
            [field, Value::Text(name)] if field.text() == "n" => Some(name.clone()),
            _ => None,
        };
        match name {
            Some(name) => {
                world.readings.given.insert(place.clone(), name);
            }
            None => world.wrong.push(format!("entry {place} has no payload of ours: {fields:?}")),
        }
        places.push(place);
    }
    places
}

/// True where nothing of the group is pending; false also where nobody says so.
pub(super) async fn is_nothing_pending(world: &Shared) -> bool {
    let key = world.borrow().key.reveal().to_owned();
    let Ok(mut client) = Client::connect("naven:6379", &key, Duration::from_secs(5)).await else {
        return false;
    };
    let pending = client.call(&["XPENDING", STREAM, GROUP]).await;
    pending.is_ok_and(|pending| pending.many().first() == Some(&Value::Number(0)))
}
