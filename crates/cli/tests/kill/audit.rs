//! The audit after a restart: every event that is not over is looked at, and every promise that a
//! client was given is called in.
//!
//! Lives here: what is asked of the new process. Not here: what the answers may be (`judge.rs`).

use std::sync::Mutex;

use crate::chance::Chance;
use crate::client::{Client, ack_items, list};
use crate::clock::Clock;
use crate::facts::Facts;
use crate::history::{Event, Held, Kind, Over, Said, Stray};
use crate::judge::{after, agree, judge};
use crate::plan::{CONNECTIONS, Plan, QUEUES, payload};
use crate::possible::{Possible, Stand, World};

/// Events that were over long ago and are looked at again, in each audit.
const OVER_AGAIN: usize = 40;
/// Acks that are repeated in one call.
const ACKS_AT_ONCE: usize = 500;
/// Acks of long ago that are repeated, in each audit.
const ACKS_AGAIN: usize = 1_000;

/// Looks at everything that is not over and some of the rest.
pub(crate) fn audit(host: &str, facts: &Mutex<Facts>, clock: Clock, plan: Plan, cycle: u64) {
    let mut chance = plan.auditor(cycle, CONNECTIONS);
    let (mut numbers, over_before, strays) = {
        let mut facts = facts.lock().expect("a panic ends the whole test");
        facts.check_strays();
        (facts.live.clone(), facts.over.clone(), facts.strays_by_queue())
    };
    let mut over = over_before.clone();
    numbers.extend(chance.take_some(&mut over, OVER_AGAIN));
    std::thread::scope(|scope| {
        for auditor in 0..CONNECTIONS {
            let (numbers, strays) = (&numbers, &strays);
            let chance = plan.auditor(cycle, auditor);
            scope.spawn(move || {
                let client = Client::open(host, facts, clock);
                let mut auditor_at_work = Auditor { client, chance, strays };
                for number in numbers.iter().skip(auditor).step_by(CONNECTIONS) {
                    auditor_at_work.look_at(*number);
                }
            });
        }
    });
    let mut again = over_before;
    let mut acked = chance.take_some(&mut again, ACKS_AGAIN);
    let mut client = Client::open(host, facts, clock);
    {
        let mut facts = client.facts();
        facts.check_strays();
        let newly: Vec<usize> =
            facts.live.iter().copied().filter(|number| facts.events[*number].over.is_some()).collect();
        acked.extend(newly);
        facts.sort_out();
    }
    repeat_acks(&mut client, &acked);
    sweep(&mut client);
}

/// Every answered ack is answered again, as a replay that names the same instant.
pub(crate) fn repeat_acks(client: &mut Client<'_>, numbers: &[usize]) {
    let acks: Vec<(Held, i64)> = {
        let facts = client.facts();
        numbers.iter().filter_map(|number| facts.events[*number].answered_ack()).collect()
    };
    for some in acks.chunks(ACKS_AT_ONCE) {
        let batch: Vec<Held> = some.iter().map(|(held, _)| held.clone()).collect();
        let answer = client.connection.call("POST", "/v1/leases/ack", &ack_items(&batch));
        let answer = answer.expect("a server that lives answers");
        let items = list(&answer.data["items"]);
        let mut facts = client.facts();
        if items.len() != batch.len() {
            facts.fault(format!("a batch of acks was answered {} {}", answer.status, answer.body));
        }
        for ((held, at_ms), item) in some.iter().zip(&items) {
            let code = item["code"].as_u64().unwrap_or(u64::MAX);
            let said = Said::of(Kind::Ack, code, &item["data"]);
            if said != Some(Said::Acked { replayed: true, at_ms: *at_ms }) {
                let event = &facts.events[held.number];
                let text = format!("an answered ack was answered otherwise when repeated: {item}\n{event}");
                facts.fault(text);
            }
        }
    }
}

/// Claims what is there now: nothing of it may be somebody's, done, dead, or not due yet.
fn sweep(client: &mut Client<'_>) {
    for queue in 0..QUEUES.len() {
        client.claim(queue, Some(20), 0).expect("a server that lives answers");
    }
}

struct Auditor<'a> {
    client: Client<'a>,
    chance: Chance,
    strays: &'a [Vec<Stray>],
}

impl Auditor<'_> {
    /// Looks at one event, repeats what is in doubt, and uses what is in hands.
    fn look_at(&mut self, number: usize) {
        let event = self.client.facts().events[number].clone();
        if event.id.is_none() {
            return;
        }
        let world = world(event.queue, event.attempts_max, self.strays);
        let outcome = judge(&event, world).and_then(|possible| self.compare(&event, &possible, world));
        let possible = match outcome {
            Ok(possible) => possible,
            Err(why) => return self.client.facts().fault(format!("{why}\n{event}")),
        };
        if let Some((held, kind)) = event.in_doubt() {
            self.say(&held, kind, possible, world);
        } else if let Some(held) = event.open_lease() {
            self.use_lease(&held, possible, world);
        } else if let Some((held, kind)) = event.last_nack().filter(|_| self.chance.is(50)) {
            self.say(&held, kind, possible, world);
        }
    }

    fn compare(
        &mut self,
        event: &Event,
        possible: &[Possible],
        world: World<'_>,
    ) -> Result<Vec<Possible>, String> {
        let seen = self.client.look(event.number).expect("a server that lives answers");
        // A fault was noted where there is none.
        let Some(view) = seen.view else { return Ok(possible.to_vec()) };
        let left = agree(possible, &view, (seen.sent, seen.got), world)?;
        if view.fence < event.fence_seen || (event.over_seen && !view.is_over()) {
            return Err(format!("what an answer showed is undone: {view:?}"));
        }
        let payload_fits = match view.state.as_str() {
            "done" => seen.answer.data["payload"].is_null(),
            _ => seen.answer.body.contains(&payload(event.number)),
        };
        if !payload_fits {
            return Err(format!("not the payload that it has to have: {}", seen.answer.body));
        }
        let mut facts = self.client.facts();
        facts.seen(event.number, &view);
        facts.events[event.number].over = match left.as_slice() {
            [Possible { stand: Stand::Done { .. }, .. }] => Some(Over::Done),
            [Possible { stand: Stand::Dead { .. }, .. }] => Some(Over::Dead),
            _ => None,
        };
        Ok(left)
    }

    /// A lease that was live at the kill lives on with its token. Some are acked, some are kept for
    /// the next cycle, some are not even extended.
    fn use_lease(&mut self, held: &Held, possible: Vec<Possible>, world: World<'_>) {
        match self.chance.below(4) {
            0 => {}
            1 => drop(self.say(held, Kind::Heartbeat, possible, world)),
            2 => drop(self.say(held, Kind::Ack, possible, world)),
            _ => {
                if let Some(possible) = self.say(held, Kind::Heartbeat, possible, world)
                    && possible.iter().any(|state| state.fence == held.fence)
                {
                    self.say(held, Kind::Ack, possible, world);
                }
            }
        }
    }

    /// A call whose answer has to fit what is left of the event's states.
    fn say(
        &mut self,
        held: &Held,
        kind: Kind,
        possible: Vec<Possible>,
        world: World<'_>,
    ) -> Option<Vec<Possible>> {
        self.client.say(held, kind).expect("a server that lives answers");
        let mut facts = self.client.facts();
        let mut event = facts.events[held.number].clone();
        let hold = event.hold_mut(held.fence).expect("it was claimed");
        let call = hold.calls.last().expect("it was just made").clone();
        match after(&possible, held.fence, &call, None, world) {
            Ok(possible) => Some(possible),
            Err(why) => {
                facts.fault(format!("{why}\n{event}"));
                None
            }
        }
    }
}

pub(crate) fn world(queue: usize, attempts_max: u32, strays: &[Vec<Stray>]) -> World<'_> {
    let lease_us = i64::from(QUEUES[queue].lease_seconds) * 1_000_000;
    World { strays: &strays[queue], lease_us, attempts_max }
}
