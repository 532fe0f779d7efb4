//! What a server has answered, and whether the next one stands by it.
//!
//! Lives here: how every event of a case stands by its answers, and the audit that asks a server for all of
//! them. Not here: what is done to the data between the two.
//!
//! An answered event is at its place, or it is a dead letter `damaged`, which says that it is not. Anything
//! else is a fault: an event that is gone, one that comes back though it is done, another payload.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::{Value, json};

use crate::scene::{Claim, text};
use crate::support::{Answer, Http};

/// Of so many events that are done one is looked at by itself; that none comes back is seen for all.
const LOOKED_AT: usize = 10;
/// Most dead letters of one list.
const LETTERS_MAX: usize = 500;

/// How an event stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits for a claim.
    Ready,
    /// Somebody holds it with this token.
    Leased(Value),
    Done,
    /// It was refused for good.
    Dead,
    /// A call on it was not answered as a success or a refusal: it is ready, leased, done or dead.
    Unsure,
}

/// How every event of the queue `q` stands.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    /// Number and standing by id.
    entries: BTreeMap<String, (u64, Standing)>,
    /// Numbers of publishes that were not answered.
    unsure: BTreeSet<u64>,
    /// What the event of a number holds.
    payload: fn(u64) -> Value,
}

/// What an audit found.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub(crate) faults: Vec<String>,
    /// Events that became dead letters `damaged`.
    pub(crate) damaged: BTreeSet<String>,
}

impl Books {
    pub(crate) fn new(payload: fn(u64) -> Value) -> Self {
        Self { entries: BTreeMap::new(), unsure: BTreeSet::new(), payload }
    }

    /// The body that publishes the event of this number.
    pub(crate) fn body(&self, number: u64) -> Value {
        json!({ "payload": (self.payload)(number) })
    }

    pub(crate) fn published(&mut self, number: u64, id: &Value) {
        self.entries.insert(text(id), (number, Standing::Ready));
    }

    /// A publish that may have been applied.
    pub(crate) fn maybe_published(&mut self, number: u64) {
        self.unsure.insert(number);
    }

    pub(crate) fn leased(&mut self, claim: &Claim) {
        self.stands(&claim.id(), Standing::Leased(claim.data["leaseToken"].clone()));
    }

    pub(crate) fn stands(&mut self, id: &str, standing: Standing) {
        self.entries.get_mut(id).unwrap_or_else(|| panic!("{id} was never published")).1 = standing;
    }

    /// How many events stand like this.
    pub(crate) fn count(&self, is_so: impl Fn(&Standing) -> bool) -> usize {
        self.entries.values().filter(|(_, standing)| is_so(standing)).count()
    }

    /// Asks for every event. What is leased is acked, and what is ready is claimed: it is the last that is
    /// asked of a server.
    ///
    /// # Errors
    /// Where the server breaks off.
    pub(crate) fn audit(&self, http: &Http) -> io::Result<Audit> {
        let mut audit = Audit::default();
        self.check_letters(http, &mut audit)?;
        self.check_leases(http, &mut audit)?;
        self.check_done(http, &mut audit)?;
        let claimed = self.drain(http, &mut audit)?;
        // What is found to be damaged as it is read is a dead letter from then on.
        self.check_letters(http, &mut audit)?;
        for (id, (number, standing)) in &self.entries {
            let is_there = claimed.contains(id) || audit.damaged.contains(id);
            if *standing == Standing::Ready && !is_there {
                audit.faults.push(format!("event {number}, {id}, was published and is gone"));
            }
        }
        Ok(audit)
    }

    fn check_letters(&self, http: &Http, audit: &mut Audit) -> io::Result<()> {
        let path = format!("/v1/event-queues/q/dead-letters?limit={LETTERS_MAX}");
        let answer = http.try_call("GET", &path, "")?;
        let Some(letters) = answer.data["items"].as_array() else {
            audit.faults.push(format!("no list of dead letters: {}", answer.body));
            return Ok(());
        };
        assert!(letters.len() < LETTERS_MAX, "more dead letters than one list shows");
        let of_reason = |reason: &str| -> BTreeSet<String> {
            letters
                .iter()
                .filter(|letter| letter["reason"] == reason)
                .map(|letter| text(&letter["id"]))
                .collect()
        };
        audit.damaged = of_reason("damaged");
        let fatal = of_reason("fatal");
        for (id, (number, standing)) in &self.entries {
            let expected = *standing == Standing::Dead;
            let is_excused = audit.damaged.contains(id) || *standing == Standing::Unsure;
            if fatal.contains(id) != expected && !is_excused {
                let fault = format!("event {number}, {id}, is {standing:?}; a dead letter: {}", !expected);
                audit.faults.push(fault);
            }
        }
        Ok(())
    }

    /// Every lease lives on, with its token.
    fn check_leases(&self, http: &Http, audit: &mut Audit) -> io::Result<()> {
        for (id, (number, standing)) in &self.entries {
            let Standing::Leased(token) = standing else { continue };
            let body = json!({ "leaseToken": token }).to_string();
            let ack = http.try_call("POST", &format!("/v1/events/{id}/ack"), &body)?;
            let is_taken = ack.code == 0 && ack.data["replayed"] == false;
            if !is_taken && !self.is_damaged_now(http, id)? {
                audit.faults.push(format!("event {number}, {id}, is leased, but its ack says {}", ack.body));
            }
        }
        Ok(())
    }

    fn check_done(&self, http: &Http, audit: &mut Audit) -> io::Result<()> {
        let done = self.entries.iter().filter(|(_, (_, standing))| *standing == Standing::Done);
        for (id, (number, _)) in done.step_by(LOOKED_AT) {
            let event = http.try_call("GET", &format!("/v1/events/{id}"), "")?;
            if event.data["state"] != "done" && !self.is_damaged_now(http, id)? {
                audit.faults.push(format!("event {number}, {id}, was acked, but is {}", event.body));
            }
        }
        Ok(())
    }

    /// A damaged row is found when it is read.
    fn is_damaged_now(&self, http: &Http, id: &str) -> io::Result<bool> {
        let path = format!("/v1/event-queues/q/dead-letters?limit={LETTERS_MAX}");
        let answer = http.try_call("GET", &path, "")?;
        let mut letters = answer.data["items"].as_array().into_iter().flatten();
        Ok(letters.any(|letter| letter["id"] == id && letter["reason"] == "damaged"))
    }

    /// Claims until nothing comes any more; which events came.
    fn drain(&self, http: &Http, audit: &mut Audit) -> io::Result<BTreeSet<String>> {
        let mut claimed = BTreeSet::new();
        // Waiting is for a queue that has to be read from the disk first.
        let mut wait = 0;
        loop {
            let ask = json!({ "maxEvents": 100, "leaseSeconds": 600, "waitSeconds": wait }).to_string();
            let answer = http.try_call("POST", "/v1/event-queues/q/claim-batch", &ask)?;
            let claims = self.claims_of(&answer, audit);
            if claims.is_empty() && (wait > 0 || claimed.len() >= self.count(|one| *one == Standing::Ready)) {
                return Ok(claimed);
            }
            wait = u32::from(claims.is_empty());
            for claim in claims {
                self.check_claim(&claim, audit);
                if !claimed.insert(claim.id()) {
                    audit.faults.push(format!("{} was delivered twice", claim.id()));
                }
            }
        }
    }

    fn claims_of(&self, answer: &Answer, audit: &mut Audit) -> Vec<Claim> {
        let Some(claims) = answer.data["claims"].as_array() else {
            audit.faults.push(format!("no claims: {}", answer.body));
            return Vec::new();
        };
        claims.iter().map(|data| Claim { data: data.clone(), body: String::new() }).collect()
    }

    /// A delivery is one of an event that waits, and with its own payload.
    fn check_claim(&self, claim: &Claim, audit: &mut Audit) {
        let (id, payload) = (claim.id(), &claim.data["event"]["payload"]);
        let number = match self.entries.get(&id) {
            Some((number, Standing::Ready | Standing::Unsure)) => *number,
            Some((number, standing)) => {
                return audit.faults.push(format!("event {number}, {id}, is {standing:?} and was delivered"));
            }
            None => match payload["n"].as_u64().filter(|number| self.unsure.contains(number)) {
                Some(number) => number,
                None => return audit.faults.push(format!("nobody published {}", claim.data)),
            },
        };
        if *payload != (self.payload)(number) {
            audit.faults.push(format!("event {number}, {id}, has another payload: {payload}"));
        }
    }
}

impl Audit {
    /// Nothing is lost, and nothing is damaged either.
    pub(crate) fn assert_whole(&self) {
        assert!(self.faults.is_empty(), "{} faults: {:#?}", self.faults.len(), self.faults);
        assert!(self.damaged.is_empty(), "dead letters of reason damaged: {:?}", self.damaged);
    }
}
