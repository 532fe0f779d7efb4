//! Who has claimed on this node lately, and who waits.
//!
//! Lives here: the memory of claimers, bounded and short. Not here: what they hold (the engine), and
//! their waiting (`wait.rs`).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use naven_api::limits::{CLAIMER_CLIENT_BYTES_MAX, CLAIMER_SEEN_SECONDS, CLAIMERS_SEEN_MAX};
use naven_api::{ConsumerId, Timestamp};
use naven_store::Clock;
use naven_store::queue::QueueRef;

/// Who claims: by its name, or by its address where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// As it names itself.
    Named(ConsumerId),
    /// From here; none where not even that is known.
    At(Option<IpAddr>),
}

/// What is known of a claimer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claimer {
    pub(crate) address: Option<IpAddr>,
    pub(crate) client: Option<Arc<str>>,
    /// Its claims that wait.
    pub(crate) waiting: u64,
    pub(crate) last_seen: Timestamp,
    pub(crate) last_claim: Option<Timestamp>,
}

type Known = HashMap<(QueueRef, Who), Claimer>;

/// Everybody who has claimed lately. A queue is known here as its claimers call it.
pub(crate) struct Claimers {
    clock: Arc<dyn Clock>,
    known: Arc<Mutex<Known>>,
}

/// A claim under way. Dropping it ends its waiting.
pub(crate) struct Claiming {
    clock: Arc<dyn Clock>,
    known: Arc<Mutex<Known>>,
    key: (QueueRef, Who),
    waits: bool,
}

impl Claimers {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, known: Arc::default() }
    }

    /// A claim begins, and may wait.
    pub(crate) fn begin(
        &self,
        queue: &QueueRef,
        consumer: Option<&ConsumerId>,
        (address, client): (Option<IpAddr>, Option<&str>),
        waits: bool,
    ) -> Claiming {
        let now = self.clock.wall();
        let who = consumer.map_or(Who::At(address), |name| Who::Named(name.clone()));
        let key = (queue.clone(), who);
        let mut known = lock(&self.known);
        if known.len() >= CLAIMERS_SEEN_MAX && !known.contains_key(&key) {
            known.retain(|_, claimer| !is_forgotten(claimer, now));
        }
        if known.len() < CLAIMERS_SEEN_MAX || known.contains_key(&key) {
            let claimer = known.entry(key.clone()).or_insert_with(|| Claimer {
                address,
                client: None,
                waiting: 0,
                last_seen: now,
                last_claim: None,
            });
            (claimer.address, claimer.last_seen) = (address, now);
            if claimer.client.as_deref() != client.map(cut) {
                claimer.client = client.map(|client| Arc::from(cut(client)));
            }
            claimer.waiting += u64::from(waits);
        }
        drop(known);
        Claiming { clock: Arc::clone(&self.clock), known: Arc::clone(&self.known), key, waits }
    }

    /// Who has claimed lately from the queue that goes by any of these.
    pub(crate) fn of(&self, names: &[QueueRef]) -> Vec<(Who, Claimer)> {
        let now = self.clock.wall();
        let known = lock(&self.known);
        let of_queue =
            known.iter().filter(|((queue, _), one)| names.contains(queue) && !is_forgotten(one, now));
        let seen = |one: &Claimer| if one.waiting > 0 { now } else { one.last_seen };
        of_queue
            .map(|((_, who), one)| (who.clone(), Claimer { last_seen: seen(one), ..one.clone() }))
            .collect()
    }
}

impl Claiming {
    /// The claim was given something.
    pub(crate) fn claimed(&self) {
        let now = self.clock.wall();
        if let Some(claimer) = lock(&self.known).get_mut(&self.key) {
            claimer.last_claim = Some(now);
        }
    }

    /// There is no such queue to claim from.
    pub(crate) fn refused(mut self) {
        lock(&self.known).remove(&self.key);
        self.waits = false;
    }
}

impl Drop for Claiming {
    fn drop(&mut self) {
        let now = self.clock.wall();
        if let Some(claimer) = lock(&self.known).get_mut(&self.key) {
            claimer.waiting = claimer.waiting.saturating_sub(u64::from(self.waits));
            claimer.last_seen = now;
        }
    }
}

fn is_forgotten(claimer: &Claimer, now: Timestamp) -> bool {
    claimer.waiting == 0 && claimer.last_seen.plus_ms(i64::from(CLAIMER_SEEN_SECONDS) * 1_000) <= now
}

/// The name of a program, cut on a character's border.
fn cut(client: &str) -> &str {
    let mut end = client.len().min(CLAIMER_CLIENT_BYTES_MAX);
    while !client.is_char_boundary(end) {
        end -= 1;
    }
    &client[..end]
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    // No code panics while it holds the lock.
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use naven_store::conformance::ManualClock;

    use super::*;

    #[test]
    fn claimers_are_bounded_and_forgotten_after_a_while() {
        let clock = Arc::new(ManualClock::default());
        let claimers = Claimers::new(clock.clone());
        let queue = QueueRef::Name("q".to_owned());
        let begin = |n: usize| {
            let name = format!("w{n}").parse().expect("a name");
            claimers.begin(&queue, Some(&name), (None, None), n == 0)
        };
        let waits = begin(0);
        (1..CLAIMERS_SEEN_MAX).for_each(|n| drop(begin(n)));
        let seen = || claimers.of(std::slice::from_ref(&queue)).len();
        assert_eq!(seen(), CLAIMERS_SEEN_MAX);
        drop(begin(CLAIMERS_SEEN_MAX));
        assert_eq!(seen(), CLAIMERS_SEEN_MAX, "one too many is not remembered");
        clock.advance_ms(i64::from(CLAIMER_SEEN_SECONDS) * 1_000);
        assert_eq!(seen(), 1, "who waits is there");
        drop(begin(CLAIMERS_SEEN_MAX));
        assert_eq!(seen(), 2, "there is room again");
        drop(waits);
        assert_eq!(claimers.of(&[queue])[0].1.waiting, 0);
    }

    #[test]
    fn a_program_s_name_is_cut_on_a_character_s_border() {
        let long = format!("{}é", "x".repeat(CLAIMER_CLIENT_BYTES_MAX - 1));
        assert_eq!(cut(&long).len(), CLAIMER_CLIENT_BYTES_MAX - 1);
        assert_eq!(cut("short"), "short");
    }
}
