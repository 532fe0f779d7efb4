//! The door to a stream's group: what each step of the runtime is there.
//!
//! Lives here: heartbeats and words at the end of an attempt. Not here: claims (`claims.rs`), and the steps themselves
//! (`scripted.rs`, `commands.rs`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use naven_api::{EntryId, Progress};
use tokio::time::Instant;

use super::builder::{MissingGroup, OnDeleted};
use super::claims::Place;
use super::entry::{Facts, Source};
use super::error::Error;
use super::group::Group;
use super::step::{Found, Handed, Look, Standing, Word};
use crate::consumer::backoff::fraction;
use crate::consumer::door::{Ask, Beaten, Claimed, Door, Failed};
use crate::consumer::{LostReason, Outcome};

/// A group of a stream, as one consumer has it.
pub(crate) struct StreamDoor {
    pub(super) group: Group,
    pub(super) source: Arc<Source>,
    pub(super) max_deliveries: Option<u32>,
    /// Pauses before a retry, where none is asked for: the first, and the longest.
    pub(super) pauses: [Duration; 2],
    pub(super) missing: MissingGroup,
    pub(super) on_deleted: Option<OnDeleted>,
    /// Whether the consumer is removed at its end, where it has nothing.
    pub(super) leaves: bool,
    pub(super) place: RefCell<Place>,
    pub(super) in_work: InWork,
}

/// Entries that this process works on, with how many times: a word that has no answer yet may have been taken, and the
/// entry have come back.
pub(super) type InWork = Rc<RefCell<BTreeMap<EntryId, usize>>>;

/// What proves that an entry is ours.
pub(crate) struct Holding {
    pub(super) of: Handed,
    attempt: u32,
    /// True once a word of its end went out: what is not pending any more was then taken by it.
    was_said: Cell<bool>,
    /// True once it was seen to be deleted: nobody else can get it.
    is_deleted: Cell<bool>,
    in_work: InWork,
}

impl Holding {
    pub(super) fn new(of: Handed, attempt: u32, in_work: &InWork) -> Rc<Self> {
        *in_work.borrow_mut().entry(of.id).or_default() += 1;
        let (was_said, is_deleted) = (Cell::new(false), Cell::new(false));
        Rc::new(Self { of, attempt, was_said, is_deleted, in_work: Rc::clone(in_work) })
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut in_work = self.in_work.borrow_mut();
        if let Some(times) = in_work.get_mut(&self.of.id) {
            *times -= 1;
            if *times == 0 {
                in_work.remove(&self.of.id);
            }
        }
    }
}

impl Door for StreamDoor {
    type Id = EntryId;
    type Facts = Facts;
    type Token = Rc<Holding>;
    type Error = Error;

    /// What a claim without an answer handed out is pending under our name, and found there.
    async fn claim(&self, ask: &Ask) -> Result<Vec<Claimed<Self>>, Failed<Error>> {
        if ask.is_last {
            return self.own(ask.most, ask.length).await.map_err(failed);
        }
        self.claims(ask.most, ask.length, Instant::now() + ask.wait).await
    }

    async fn beat(
        &self,
        _: &EntryId,
        token: &Rc<Holding>,
        length: Duration,
        _: Option<Progress>,
    ) -> Result<Beaten, Failed<Error>> {
        let held = Ok(Beaten::Held { length, cancel_requested: false });
        match self.say(token.of, &Word::Beat).await.map_err(failed_in_hand)? {
            Standing::Taken => held,
            Standing::Deleted => {
                token.is_deleted.set(true);
                held
            }
            Standing::Gone | Standing::Waiting if token.was_said.get() => Ok(Beaten::Settled),
            Standing::Gone if token.is_deleted.get() => held,
            Standing::Gone => Err(Failed::Gone(LostReason::Unknown)),
            Standing::Waiting | Standing::Other => Err(Failed::Gone(LostReason::Reassigned)),
        }
    }

    async fn settle(&self, _: &EntryId, token: &Rc<Holding>, outcome: &Outcome) -> Result<(), Failed<Error>> {
        let word = self.word(token, outcome);
        let shared = self.group.link.shared().await.map_err(failed_in_hand)?;
        // From here on it may arrive, whether or not its answer does.
        let was_said = token.was_said.replace(true);
        let answer = self.group.on(&shared).say(token.of, &word).await;
        if answer.as_ref().is_err_and(|error| !error.may_have_applied()) {
            token.was_said.set(was_said);
        }
        match answer.map_err(failed_in_hand)? {
            Standing::Taken => Ok(()),
            Standing::Deleted | Standing::Gone if was_said || token.is_deleted.get() => Ok(()),
            Standing::Waiting if was_said => Ok(()),
            Standing::Deleted | Standing::Gone => Err(Failed::Gone(LostReason::Unknown)),
            Standing::Waiting | Standing::Other => Err(Failed::Gone(LostReason::Reassigned)),
        }
    }

    async fn close(&self) {
        if self.leaves
            && let Err(error) = self.group.leave().await
        {
            tracing::debug!(error = &error as &dyn std::error::Error, "a consumer was not removed");
        }
    }
}

impl StreamDoor {
    async fn say(&self, of: Handed, word: &Word) -> Result<Standing, Error> {
        self.group.on(&self.group.link.shared().await?).say(of, word).await
    }

    pub(super) async fn take(&self, look: &Look) -> Result<Found, Error> {
        self.group.on(&self.group.link.shared().await?).take(look).await
    }

    /// What an outcome is here.
    fn word(&self, token: &Holding, outcome: &Outcome) -> Word {
        match outcome {
            // A stream has no place for what came of it.
            Outcome::Done | Outcome::DoneWith(_) => Word::Ack,
            Outcome::Release => Word::Release,
            Outcome::DeadLetter { error } => Word::Bury { reason: "rejected", error: cut(error) },
            Outcome::Retry { error, .. } if self.max_deliveries.is_some_and(|most| token.attempt >= most) => {
                Word::Bury { reason: "max_deliveries", error: cut(error) }
            }
            Outcome::Retry { delay, .. } => {
                let asked = delay.map(|delay| Duration::from_secs(u64::from(u32::from(delay))));
                Word::Wait { asked, otherwise: self.pause(token.attempt) }
            }
        }
    }

    /// A random part of twice the most of the attempt before.
    fn pause(&self, attempt: u32) -> Duration {
        let [first, most] = self.pauses;
        let doubled = 1_u32 << attempt.saturating_sub(1).min(20);
        first.saturating_mul(doubled).min(most).mul_f64(fraction())
    }
}

/// No more of an error than is kept of it over HTTP.
fn cut(error: &str) -> String {
    let mut end = error.len().min(naven_api::limits::ERROR_BYTES_MAX);
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    error.get(..end).unwrap_or_default().to_owned()
}

/// Of a claim: whoever is not let in, or for another type of key, never will be.
pub(super) fn failed(error: Error) -> Failed<Error> {
    if error.is_refusal() || error.is_for_good() { Failed::Never(error) } else { later(error) }
}

/// Of a word on an entry. Who is not let in may be while the lease lasts.
fn failed_in_hand(error: Error) -> Failed<Error> {
    if error.is_no_group() {
        return Failed::Gone(LostReason::Unknown);
    }
    if error.is_for_good() { Failed::Never(error) } else { later(error) }
}

fn later(error: Error) -> Failed<Error> {
    Failed::Later { after: None, may_have_applied: error.may_have_applied(), why: error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: &str, said: &str) -> Error {
        Error::Answered { at: "here".to_owned(), code: code.to_owned(), said: said.to_owned() }
    }

    #[test]
    fn a_claim_that_is_not_let_in_never_is_and_a_word_may_be_while_the_lease_lasts() {
        for code in ["NOAUTH", "NOPERM", "WRONGPASS"] {
            assert!(matches!(failed(answered(code, "")), Failed::Never(_)), "{code}");
            assert!(matches!(failed_in_hand(answered(code, "")), Failed::Later { .. }), "{code}");
        }
    }

    #[test]
    fn a_group_that_is_gone_ends_the_leases_of_its_entries() {
        // As Redis 6 says it from within a script.
        let within = answered("ERR", "Error running script: @user_script:4: NOGROUP No such key");
        for error in [answered("NOGROUP", "No such key"), within] {
            assert!(error.is_no_group());
            assert!(matches!(failed_in_hand(error), Failed::Gone(LostReason::Unknown)));
        }
    }

    #[test]
    fn what_a_server_says_of_itself_passes() {
        for code in ["LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "OOM", "MISCONF", "BUSY"]
        {
            let later = |answer| matches!(answer, Failed::Later { may_have_applied: false, .. });
            assert!(later(failed(answered(code, ""))), "{code}");
            assert!(later(failed_in_hand(answered(code, ""))), "{code}");
        }
        let silent = failed_in_hand(Error::no_answer("here"));
        assert!(matches!(silent, Failed::Later { may_have_applied: true, .. }));
    }

    #[test]
    fn an_error_is_cut_at_the_border_of_a_character() {
        let long = "ä".repeat(naven_api::limits::ERROR_BYTES_MAX);
        assert_eq!(cut(&long).len(), naven_api::limits::ERROR_BYTES_MAX);
        let odd = format!("x{long}");
        assert_eq!(cut(&odd).len(), naven_api::limits::ERROR_BYTES_MAX - 1);
        assert_eq!(cut("short"), "short");
    }
}
