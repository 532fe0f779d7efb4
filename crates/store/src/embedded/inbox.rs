//! What callers have handed in and nobody has applied yet.
//!
//! Lives here: taking it in. Not here: applying it (`sequencer.rs`).
//!
//! A batch has one reading of the clocks, and that must not be older than what is in it: a lease that began before its
//! claim came would end before its holder, who counts from when the claim was sent, believes. So what has come is taken
//! in first, and then the clocks are read; what comes meanwhile is of the next batch.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::request::Request;

/// The receiving end of the callers' channel.
pub(super) struct Inbox {
    requests: Receiver<Request>,
    /// What was taken in, in the order in which it came.
    waiting: VecDeque<Request>,
}

/// Nobody can hand in anything any more, and nothing waits.
#[derive(Debug)]
pub(super) struct AllGone;

impl Inbox {
    pub(super) fn new(requests: Receiver<Request>) -> Self {
        Self { requests, waiting: VecDeque::new() }
    }

    /// Waits until something is there, at most so long.
    pub(super) fn wait(&mut self, time: Duration) -> Result<(), AllGone> {
        if !self.waiting.is_empty() {
            return Ok(());
        }
        match self.requests.recv_timeout(time) {
            Ok(request) => self.waiting.push_back(request),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(AllGone),
        }
        Ok(())
    }

    /// Takes in what has come, until `most` requests wait.
    pub(super) fn take_in(&mut self, most: usize) -> Result<(), AllGone> {
        while self.waiting.len() < most {
            match self.requests.try_recv() {
                Ok(request) => self.waiting.push_back(request),
                Err(TryRecvError::Disconnected) if self.waiting.is_empty() => return Err(AllGone),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        Ok(())
    }

    /// The first of what was taken in.
    pub(super) fn next(&mut self) -> Option<Request> {
        self.waiting.pop_front()
    }

    #[cfg(feature = "conformance")]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll, Waker};

    use naven_api::Timestamp;

    use crate::clock::Clock;
    use crate::conformance::bench::{append, claim, create, settle, token};
    use crate::conformance::{ManualClock, SeededRandom};
    use crate::embedded::disk::MemDisk;
    use crate::embedded::stepped::{Part, Stepped};
    use crate::embedded::{Embedded, Options};
    use crate::engine::Engine;
    use crate::queue::QueueSettings;
    use crate::reply::{OpReply, TxnReply};
    use crate::txn::{Due, OpKind, SettleStep, Txn};

    /// A clock that is read once, and then much happens.
    #[derive(Default)]
    struct Eventful {
        clock: ManualClock,
        then: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    }

    impl Clock for Eventful {
        fn wall(&self) -> Timestamp {
            self.clock.wall()
        }

        fn monotonic_ms(&self) -> i64 {
            let read = self.clock.monotonic_ms();
            let then = self.then.lock().expect("nobody panics with it").take();
            if let Some(then) = then {
                self.clock.advance_ms(1_000);
                then();
            }
            read
        }
    }

    type Answer = Pin<Box<dyn Future<Output = Vec<TxnReply>> + Send>>;

    /// Hands an op in.
    fn ask(engine: &Arc<Embedded>, kind: OpKind) -> Answer {
        let engine = Arc::clone(engine);
        let mut answer: Answer = Box::pin(async move { engine.submit(vec![Txn::one(kind)]).await });
        assert!(poll(&mut answer).is_none());
        answer
    }

    fn poll(answer: &mut Answer) -> Option<Vec<TxnReply>> {
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(replies) => Some(replies),
            Poll::Pending => None,
        }
    }

    /// Lets the engine work until this is answered.
    fn answered(stepped: &mut Stepped, mut answer: Answer) -> OpReply {
        for _ in 0..100 {
            stepped.turn(Part::Sequencer);
            stepped.turn(Part::Log);
            if let Some(replies) = poll(&mut answer) {
                return replies[0].ops[0].clone().expect("it is taken");
            }
        }
        panic!("it is not answered");
    }

    #[test]
    fn a_lease_begins_no_sooner_than_its_claim_came() {
        let clock = Arc::new(Eventful::default());
        let disk = Arc::new(MemDisk::new());
        let options = Options { segment_bytes: Some(64 << 10), checkpoint: None };
        let opened = Stepped::open(disk, options, clock.clone(), Arc::new(SeededRandom::new(1)));
        let (engine, mut stepped) = opened.expect("an empty disk");
        let engine = Arc::new(engine);
        for kind in [create("mail", QueueSettings::default()), append("mail", "{}", Due::Now)] {
            let answer = ask(&engine, kind);
            answered(&mut stepped, answer);
        }
        // While this is being applied, a second later by the clock, a claim comes.
        let other = ask(&engine, append("mail", "{}", Due::Now));
        let came = Arc::new(Mutex::new(None));
        let (coming, asking) = (Arc::clone(&came), Arc::clone(&engine));
        *clock.then.lock().expect("nobody panics with it") = Some(Box::new(move || {
            *coming.lock().expect("nobody panics with it") =
                Some(ask(&asking, OpKind::Claim(claim("mail", 1, 30))));
        }));
        answered(&mut stepped, other);
        let claimed = came.lock().expect("nobody panics with it").take().expect("the clock was read");
        let OpReply::Claimed(claimed) = answered(&mut stepped, claimed) else { panic!("it is a claim") };
        let lease = &claimed.leases[0];
        clock.clock.advance_ms(29_999);
        let ack = ask(&engine, settle(lease.event, token(lease), SettleStep::Ack));
        assert!(matches!(answered(&mut stepped, ack), OpReply::Settled(_)), "it held for all of its 30 s");
    }

    #[test]
    fn what_an_answer_took_that_came_and_was_not_read_goes_back() {
        let (clock, disk) = (Arc::new(Eventful::default()), Arc::new(MemDisk::new()));
        let options = Options { segment_bytes: Some(64 << 10), checkpoint: None };
        let opened = Stepped::open(disk, options, clock, Arc::new(SeededRandom::new(1)));
        let (engine, mut stepped) = opened.expect("an empty disk");
        let engine = Arc::new(engine);
        for kind in [create("mail", QueueSettings::default()), append("mail", "{}", Due::Now)] {
            let answer = ask(&engine, kind);
            answered(&mut stepped, answer);
        }
        let unread = ask(&engine, OpKind::Claim(claim("mail", 1, 30)));
        for _ in 0..10 {
            stepped.turn(Part::Sequencer);
            stepped.turn(Part::Log);
        }
        drop(unread);
        let again = ask(&engine, OpKind::Claim(claim("mail", 1, 30)));
        let OpReply::Claimed(claimed) = answered(&mut stepped, again) else { panic!("it is a claim") };
        assert_eq!(claimed.leases.len(), 1);
        assert_eq!(claimed.leases[0].attempts, 1, "no attempt was counted");
    }
}
