//! The end of a run: everything that was published comes out and is settled.
//!
//! Lives here: emptying the queues, and the books that can only be closed once they are empty. Not
//! here: the audit of single events (`audit.rs`).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use crate::audit::{audit, repeat_acks, world};
use crate::client::{Client, list};
use crate::clock::{Clock, instant};
use crate::facts::Facts;
use crate::history::{Over, View};
use crate::judge::judge;
use crate::plan::{Plan, QUEUES};

/// Longest time until everything has come out: the longest lease that went to nobody, what crashes
/// may add to it, and the work, three times over.
const PATIENCE: Duration = Duration::from_secs(100);
/// States of events that are not over.
const LIVE: [&str; 5] = ["scheduled", "ready", "leased", "held", "retrying"];

/// Settles everything that is there and closes the books.
pub(crate) fn drain(host: &str, facts: &Mutex<Facts>, clock: Clock, plan: Plan) {
    let mut client = Client::open(host, facts, clock);
    let began = instant();
    ack_all_in_hands(&mut client);
    while !pass(&mut client) {
        if instant() - began > PATIENCE {
            let counts: Vec<Value> = (0..QUEUES.len()).map(|queue| counts(&mut client, queue)).collect();
            return client.facts().fault(format!("not everything came out in {PATIENCE:?}: {counts:?}"));
        }
    }
    for queue in 0..QUEUES.len() {
        list_dead_letters(&mut client, queue);
    }
    audit(host, facts, clock, plan, plan.cycles);
    let over = client.facts().over.clone();
    repeat_acks(&mut client, &over);
    let counts: Vec<Value> = (0..QUEUES.len()).map(|queue| counts(&mut client, queue)).collect();
    close_books(&mut client.facts(), &counts);
}

fn ack_all_in_hands(client: &mut Client<'_>) {
    let open: Vec<_> = {
        let facts = client.facts();
        facts.live.iter().filter_map(|number| facts.events[*number].open_lease()).collect()
    };
    for batch in open.chunks(100) {
        client.ack_batch(batch).expect("a server that lives answers");
    }
}

/// Claims and acks what there is; true once nothing is left that could still come.
fn pass(client: &mut Client<'_>) -> bool {
    let mut found = false;
    for queue in 0..QUEUES.len() {
        let leases = client.claim(queue, Some(100), 0).expect("a server that lives answers");
        if !leases.is_empty() {
            found = true;
            client.ack_batch(&leases).expect("a server that lives answers");
        }
    }
    if found {
        return false;
    }
    let is_live = |counts: Value| LIVE.iter().any(|state| counts[state] != 0);
    let left = (0..QUEUES.len()).find(|queue| is_live(counts(client, *queue)));
    if let Some(queue) = left {
        let leases = client.claim(queue, Some(100), 1).expect("a server that lives answers");
        if !leases.is_empty() {
            client.ack_batch(&leases).expect("a server that lives answers");
        }
    }
    left.is_none()
}

fn counts(client: &mut Client<'_>, queue: usize) -> Value {
    let path = format!("/v1/event-queues/{}", QUEUES[queue].name);
    let answer = client.connection.call("GET", &path, "").expect("a server that lives answers");
    answer.success()["counts"].clone()
}

/// Events may die without a client ever having seen them, so the list shows them to the books.
fn list_dead_letters(client: &mut Client<'_>, queue: usize) {
    let mut cursor = String::new();
    loop {
        let path = format!(
            "/v1/event-queues/{}/dead-letters?limit=500&includePayload=true{cursor}",
            QUEUES[queue].name
        );
        let answer = client.connection.call("GET", &path, "").expect("a server that lives answers");
        let page = answer.data.clone();
        let mut facts = client.facts();
        for item in list(&page["items"]) {
            let Some(number) = facts.shown(queue, &item, &answer.body) else { continue };
            if let Some(view) = View::of(&item) {
                facts.seen(number, &view);
            }
            if item["state"] != "dead" {
                facts.fault(format!("a dead letter that is not dead: {item}"));
            }
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return,
        }
    }
}

fn close_books(facts: &mut Facts, counts: &[Value]) {
    let strays = facts.strays_by_queue();
    let mut faults = Vec::new();
    let mut batches: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let (mut done, mut dead) = ([0; QUEUES.len()], [0; QUEUES.len()]);
    for event in &facts.events {
        if let Some(batch) = event.batch {
            let (there, all) = batches.entry(batch).or_default();
            *there += usize::from(event.id.is_some());
            *all += 1;
        }
        if event.id.is_none() {
            continue;
        }
        let world = world(event.queue, event.attempts_max, &strays);
        if let Err(why) = judge(event, world) {
            faults.push(format!("{why}\n{event}"));
        }
        match event.over {
            Some(Over::Done) => done[event.queue] += 1,
            Some(Over::Dead) => dead[event.queue] += 1,
            None => faults.push(format!("it never came out\n{event}")),
        }
    }
    for (batch, (there, all)) in batches {
        if there != 0 && there != all {
            faults.push(format!("of batch {batch}, {there} of {all} events are there"));
        }
    }
    for (queue, counts) in counts.iter().enumerate() {
        if (&counts["done"], &counts["dead"]) != (&done[queue].into(), &dead[queue].into()) {
            let (done, dead) = (done[queue], dead[queue]);
            let name = QUEUES[queue].name;
            faults.push(format!("{name} counts {counts}, and clients know of {done} done, {dead} dead"));
        }
    }
    faults.into_iter().for_each(|fault| facts.fault(fault));
}
