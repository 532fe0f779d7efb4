//! A delivery, its queue's settings and a clock, moved on step by step.
//!
//! Lives here: how tests tell a delivery's story. Not here: what they expect of it.

use naven_api::{Backoff, DelaySeconds, ErrorText, LeaseSeconds, Timestamp};
use naven_core::{Bearer, ConsumerNo, Delivery, Failure, Hold, LeaseTime, Now, Policy, Refusal, State, Step};

/// The two clocks begin far apart, so that a rule that mixes them up is caught.
const WALL0_MS: i64 = 1_764_426_154_000;
const LEASE0_MS: i64 = 77_000;
/// The lease of every claim and heartbeat that names none.
pub(crate) const LEASE_S: i64 = 30;

/// One delivery and the world around it.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) delivery: Delivery,
    pub(crate) policy: Policy,
    pub(crate) now: Now,
}

pub(crate) fn wall(ms: i64) -> Timestamp {
    Timestamp::from_ms(WALL0_MS + ms)
}

pub(crate) fn seconds(seconds: i64) -> LeaseSeconds {
    LeaseSeconds::try_from(seconds as u32).expect("tests stay within the bounds of leases")
}

pub(crate) fn error(text: &str) -> Option<ErrorText> {
    Some(ErrorText::new(text))
}

pub(crate) fn failing(error: Option<ErrorText>, delay_s: Option<u32>) -> Failure {
    let seconds = |s| DelaySeconds::try_from(s).expect("tests stay within the bounds of delays");
    let delay = delay_s.map(seconds);
    Failure { error, delay, draw: u32::MAX }
}

/// What each call on a delivery is named by: the last holder makes it.
pub(crate) fn heartbeat(by: Bearer) -> Step {
    Step::Extend { by, hold: seconds(LEASE_S), progress: None }
}

pub(crate) fn fail(by: Bearer) -> Step {
    Step::Fail { by, failure: failing(None, None) }
}

pub(crate) fn fatal(by: Bearer) -> Step {
    Step::Fatal { by, error: None }
}

pub(crate) fn release(by: Bearer) -> Step {
    Step::Release { by, error: None }
}

pub(crate) fn take_over(to: u32, just_id: bool) -> Step {
    let consumer = format!("c{to}");
    Step::TakeOver { to: ConsumerNo(to), consumer, just_id, since: None, redis_count: None }
}

impl Scene {
    /// A delivery due now, three attempts, retries after 5, 10, 20 s without jitter.
    pub(crate) fn new() -> Self {
        let backoff = Backoff { jitter_milli: 0, ..Backoff::default() };
        let policy = Policy { max_attempts: Some(3), backoff, ..Policy::default() };
        let now = Now { wall: wall(0), lease: LeaseTime::from_ms(LEASE0_MS) };
        Self { delivery: Delivery::fresh(now.wall), policy, now }
    }

    /// The same with other settings.
    pub(crate) fn with(set: impl FnOnce(&mut Policy)) -> Self {
        let mut scene = Self::new();
        set(&mut scene.policy);
        scene
    }

    /// What `step` would leave.
    pub(crate) fn would(&self, step: &Step) -> Result<Delivery, Refusal> {
        self.delivery.apply(step, self.now, &self.policy)
    }

    /// The same scene after `step`, which must be taken.
    #[track_caller]
    pub(crate) fn step(mut self, step: Step) -> Self {
        match self.would(&step) {
            Ok(next) => self.delivery = next,
            Err(refusal) => panic!("{step:?} was refused as {refusal:?} on {:#?}", self.delivery),
        }
        self
    }

    /// The same scene `ms` later on both clocks.
    pub(crate) fn after_ms(mut self, ms: i64) -> Self {
        self.now.wall = self.now.wall.plus_ms(ms);
        self.now.lease = self.now.lease.plus_ms(ms);
        self
    }

    /// The same scene `seconds` later on both clocks.
    pub(crate) fn after(self, seconds: i64) -> Self {
        self.after_ms(seconds * 1_000)
    }

    #[track_caller]
    pub(crate) fn leased(self) -> Self {
        self.step(Step::Take { hold: Hold::Lease(seconds(LEASE_S)), consumer: Some("w1".to_owned()) })
    }

    #[track_caller]
    pub(crate) fn held(self, consumer: u32) -> Self {
        let hold = Hold::Consumer(ConsumerNo(consumer));
        self.step(Step::Take { hold, consumer: Some(format!("c{consumer}")) })
    }

    #[track_caller]
    pub(crate) fn acked(self) -> Self {
        self.step(Step::Ack { by: Bearer::Last, result: None })
    }

    #[track_caller]
    pub(crate) fn failed(self) -> Self {
        self.step(fail(Bearer::Last))
    }

    /// Leased, and its time over without anybody recording that.
    #[track_caller]
    pub(crate) fn overdue(self) -> Self {
        self.leased().after(LEASE_S)
    }

    /// Leased, its time over, and that recorded.
    #[track_caller]
    pub(crate) fn expired(self) -> Self {
        self.overdue().step(Step::Expire)
    }

    /// Failed until no attempt is left.
    #[track_caller]
    pub(crate) fn failed_to_death(self) -> Self {
        let mut scene = self;
        for wait in [5, 10] {
            scene = scene.leased().failed().after(wait).step(Step::FallDue);
        }
        scene.leased().failed()
    }

    /// When the present lease ends, in ms from now.
    #[track_caller]
    pub(crate) fn lease_left_ms(&self) -> i64 {
        match self.delivery.state {
            State::Leased(lease) => lease.until.as_ms() - self.now.lease.as_ms(),
            other => panic!("not leased: {other:?}"),
        }
    }
}
