//! The load under which the process is killed: clients that do a seeded mix of all five calls.
//!
//! Lives here: which call a client makes next, until its connection breaks. Not here: the calls
//! themselves (`client.rs`) and the kill (`run.rs`).

use std::sync::atomic::{AtomicBool, Ordering};

use crate::chance::Chance;
use crate::client::{Client, Outcome};
use crate::facts::Wish;
use crate::history::{Held, Kind, Said};
use crate::plan::{BACKLOG_MAX, DELAY_SECONDS_MAX, HAND_MAX, QUEUES};

pub(crate) struct Worker<'a> {
    pub(crate) client: Client<'a>,
    pub(crate) chance: Chance,
    /// The leases that it has, some of them since before the last kill.
    pub(crate) hand: Vec<Held>,
    /// Its last claim found nothing.
    pub(crate) is_dry: bool,
    /// Set just before the process is killed.
    pub(crate) killing: &'a AtomicBool,
}

impl Worker<'_> {
    /// Works until the connection breaks, which only the kill may cause.
    pub(crate) fn run(mut self) {
        let error = loop {
            if let Err(error) = self.turn() {
                break error;
            }
        };
        if !self.killing.load(Ordering::SeqCst) {
            self.client.facts().fault(format!("the server broke off a connection while it lived: {error}"));
        }
    }

    fn turn(&mut self) -> Outcome<()> {
        let is_room = self.client.facts().backlog < BACKLOG_MAX;
        // Where nothing is to be had, there is something to be published.
        let is_dry = std::mem::take(&mut self.is_dry) && is_room;
        match self.chance.below(100) {
            0..3 if is_room => self.publish(1),
            3..5 if is_room => {
                let count = self.chance.between(2, 12);
                self.publish(count)
            }
            5..55 => self.look(),
            _ if is_dry => self.publish(1),
            0..67 if self.hand.len() < HAND_MAX => self.claim(),
            _ if self.hand.is_empty() => self.claim(),
            67..80 => self.say(Kind::Heartbeat),
            0..90 => self.say(Kind::Ack),
            90..92 => self.ack_batch(),
            92..95 => {
                let delay = self.chance.between(0, u64::from(DELAY_SECONDS_MAX)) as u32;
                let delay = self.chance.is(60).then_some(delay);
                self.say(Kind::Fail(delay))
            }
            95..96 => self.say(Kind::Fatal),
            _ => self.say(Kind::Release),
        }
    }

    /// What a look shows has to be durable as well.
    fn look(&mut self) -> Outcome<()> {
        let number = {
            let facts = self.client.facts();
            let number = facts.live.get(self.chance.place(facts.live.len().max(1)));
            number.copied().filter(|number| facts.events[*number].id.is_some())
        };
        let Some(number) = number else { return Ok(()) };
        if let Some(view) = self.client.look(number)?.view {
            self.client.facts().seen(number, &view);
        }
        Ok(())
    }

    fn publish(&mut self, count: u64) -> Outcome<()> {
        let queue = self.chance.place(QUEUES.len());
        let mut wish = || Wish {
            delay_seconds: self
                .chance
                .is(20)
                .then(|| self.chance.between(0, u64::from(DELAY_SECONDS_MAX)) as u32),
            attempts_max: self.chance.is(10).then(|| self.chance.between(1, 3) as u32),
        };
        let wishes: Vec<Wish> = (0..count).map(|_| wish()).collect();
        self.client.publish(queue, &wishes)
    }

    fn claim(&mut self) -> Outcome<()> {
        let queue = self.chance.place(QUEUES.len());
        let most = self.chance.is(30).then(|| self.chance.between(1, 8) as usize);
        let wait_seconds = u32::from(self.chance.is(1));
        let leases = self.client.claim(queue, most, wait_seconds)?;
        self.is_dry = leases.is_empty();
        self.hand.extend(leases);
        Ok(())
    }

    fn say(&mut self, kind: Kind) -> Outcome<()> {
        let place = self.chance.place(self.hand.len());
        let held = self.hand.swap_remove(place);
        let said = self.client.say(&held, kind)?;
        // What a heartbeat has not extended is lost, and whoever hears so lets go of it.
        if matches!(said, Said::Extended { .. }) {
            self.hand.push(held);
        }
        Ok(())
    }

    fn ack_batch(&mut self) -> Outcome<()> {
        let count = self.chance.between(1, 10) as usize;
        let batch = self.chance.take_some(&mut self.hand, count);
        self.client.ack_batch(&batch)
    }
}
