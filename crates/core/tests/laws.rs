//! Laws that hold after every step of any script.
//!
//! Lives here: random scripts of steps and pauses over one delivery, and what may never happen.
//! Not here: what one step answers (`table/`) and laws over several deliveries (the engines).

use naven_api::{AckResult, Backoff, DelaySeconds, ErrorText, LeaseSeconds, Percent, Progress, Timestamp};
use naven_core::{
    Bearer, ConsumerNo, DeadReason, Delivery, Ending, Failure, GivenUp, GivingUp, Hold, LeaseTime, Now,
    Policy, State, Step,
};
use proptest::prelude::*;

/// A round and a fence: what a token proves.
type Held = (u32, u64);

/// One line of a script.
#[derive(Debug, Clone)]
enum Line {
    /// Both clocks go on.
    Pause(i64),
    /// The wall clock steps, either way.
    WallStep(i64),
    /// A step that needs no proof.
    Do(Step),
    /// A step under the proof of some earlier hold, or of the present one.
    By { hold: prop::sample::Index, call: Call },
}

#[derive(Debug, Clone)]
enum Call {
    Extend(u32),
    Ack,
    Fail(Option<u32>, u32),
    Fatal,
    Release,
    GiveBack,
}

impl Call {
    fn step(&self, by: Bearer) -> Step {
        let seconds = |s: u32| LeaseSeconds::try_from(s).expect("scripts stay within the bounds of leases");
        match *self {
            Self::Extend(s) => {
                // Every second length says how far it came too.
                let percent = (s % 2 == 0).then(|| Percent::try_from(s % 101).expect("in bounds"));
                let progress = percent.map(|percent| Box::new(Progress::of(percent)));
                Step::Extend { by, hold: seconds(s), progress }
            }
            Self::Ack => Step::Ack { by, result: AckResult::parse("1") },
            Self::Fail(delay, draw) => {
                let delay = delay.map(|s| DelaySeconds::try_from(s).expect("in bounds"));
                Step::Fail { by, failure: Failure { error: Some(ErrorText::new("no")), delay, draw } }
            }
            Self::Fatal => Step::Fatal { by, error: None },
            Self::Release => Step::Release { by, error: None },
            Self::GiveBack => Step::GiveBack { by },
        }
    }
}

/// The delivery, its clock and every hold it ever had.
#[derive(Debug)]
struct World {
    delivery: Delivery,
    policy: Policy,
    now: Now,
    holds: Vec<Held>,
}

impl World {
    fn new(policy: Policy) -> Self {
        let now = Now { wall: Timestamp::from_ms(1_000_000), lease: LeaseTime::from_ms(7) };
        Self { delivery: Delivery::fresh(now.wall), policy, now, holds: Vec::new() }
    }

    fn bearer(&self, held: Held) -> Bearer {
        let present = (self.delivery.round, self.delivery.fence);
        if held == present { Bearer::Last } else { Bearer::Other }
    }

    /// The step that `line` asks for, once the clocks have gone on.
    fn step_of(&mut self, line: &Line) -> Option<Step> {
        match line {
            Line::Pause(ms) => {
                self.now = Now { wall: self.now.wall.plus_ms(*ms), lease: self.now.lease.plus_ms(*ms) };
                None
            }
            Line::WallStep(ms) => {
                self.now.wall = self.now.wall.plus_ms(*ms);
                None
            }
            Line::Do(step) => Some(step.clone()),
            Line::By { .. } if self.holds.is_empty() => None,
            Line::By { hold, call } => {
                // The newest hold is picked as often as all the others together.
                let at = hold.index(self.holds.len() * 2).min(self.holds.len() - 1);
                Some(call.step(self.bearer(self.holds[at])))
            }
        }
    }

    /// Takes `step`; true where it was not refused.
    fn take(&mut self, step: &Step) -> bool {
        let Ok(next) = self.delivery.apply(step, self.now, &self.policy) else { return false };
        if next.fence > self.delivery.fence {
            self.holds.push((next.round, next.fence));
        }
        self.delivery = next;
        true
    }

    /// Whether this hold's proof could change the delivery now.
    fn is_live(&self, held: Held) -> bool {
        let by = self.bearer(held);
        let calls = [Call::Ack, Call::Fatal, Call::Release, Call::Fail(None, 0), Call::GiveBack];
        calls.iter().map(|call| call.step(by)).any(|step| {
            self.delivery.apply(&step, self.now, &self.policy).is_ok_and(|next| next != self.delivery)
        })
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let seconds = |s: u32| LeaseSeconds::try_from(s).expect("scripts stay within the bounds of leases");
    let take = move |hold| Step::Take { hold, consumer: None };
    prop_oneof![
        4 => (1u32..40).prop_map(move |s| take(Hold::Lease(seconds(s)))),
        2 => (0u32..3).prop_map(move |no| take(Hold::Consumer(ConsumerNo(no)))),
        1 => Just(take(Hold::NoAck)),
        3 => any_take_over(),
        1 => Just(Step::Reread),
        2 => any_giving_up(),
        4 => Just(Step::Expire),
        4 => Just(Step::FallDue),
        1 => Just(Step::AckUnfenced),
        1 => Just(Step::Cancel { reason: None }),
        1 => Just(Step::Break),
        1 => Just(Step::Bury(DeadReason::ConsumerDeleted)),
        1 => Just(Step::Discard),
        1 => Just(Step::Purge),
        2 => (0i64..60_000).prop_map(|ms| Step::Reschedule { due: Timestamp::from_ms(ms) }),
        3 => any::<bool>().prop_map(|reset_attempts| Step::Redrive { reset_attempts }),
    ]
}

fn any_take_over() -> impl Strategy<Value = Step> {
    let since = prop::option::of((0i64..60_000).prop_map(LeaseTime::from_ms));
    (0u32..3, any::<bool>(), since, prop::option::of(0u64..9)).prop_map(
        |(no, just_id, since, redis_count)| {
            let (to, consumer) = (ConsumerNo(no), no.to_string());
            Step::TakeOver { to, consumer, just_id, since, redis_count }
        },
    )
}

fn any_giving_up() -> impl Strategy<Value = Step> {
    let how = prop_oneof![Just(GivingUp::Release), Just(GivingUp::Fail), Just(GivingUp::Fatal)];
    (how, prop::option::of(0u64..20_000), prop::option::of(0u64..9), any::<u32>()).prop_map(
        |(how, delay_ms, redis_count, draw)| {
            let error = (draw % 2 == 0).then(|| ErrorText::new("no"));
            Step::GiveUp(GivenUp { how, delay_ms, error, redis_count, draw })
        },
    )
}

fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => (1u32..40).prop_map(Call::Extend),
        1 => Just(Call::Ack),
        3 => (prop::option::of(0u32..20), any::<u32>()).prop_map(|(delay, draw)| Call::Fail(delay, draw)),
        1 => Just(Call::Fatal),
        1 => Just(Call::Release),
        1 => Just(Call::GiveBack),
    ]
}

fn any_script() -> impl Strategy<Value = Vec<Line>> {
    let line = prop_oneof![
        3 => (0i64..30_000).prop_map(Line::Pause),
        1 => (-60_000i64..60_000).prop_map(Line::WallStep),
        6 => any_step().prop_map(Line::Do),
        6 => (any::<prop::sample::Index>(), any_call()).prop_map(|(hold, call)| Line::By { hold, call }),
    ];
    prop::collection::vec(line, 0..60)
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let grace = prop_oneof![Just(0i64), 1i64..20_000];
    (prop::option::of(1u32..4), prop::option::of(1i64..60_000), grace, prop::option::of(1i64..30_000))
        .prop_map(|(max_attempts, max_lease_ms, grace_ms, redis_lease_ms)| Policy {
            max_attempts,
            max_lease_ms,
            grace_ms,
            redis_lease_ms,
            backoff: Backoff { initial_seconds: 2, ..Backoff::default() },
            expires_at: None,
        })
}

/// True where `step`, taken, begins a hold.
fn begins_a_hold(before: &Delivery, step: &Step, after: &Delivery) -> bool {
    match step {
        Step::Take { .. } => true,
        Step::TakeOver { to, just_id, .. } => {
            let only_renews =
                *just_id && matches!(before.state, State::Held { consumer, .. } if consumer == *to);
            after.is_held() && !only_renews
        }
        _ => false,
    }
}

fn check_change(before: &Delivery, step: &Step, after: &Delivery) -> Result<(), TestCaseError> {
    let rose = u64::from(begins_a_hold(before, step, after));
    prop_assert_eq!(after.fence, before.fence + rose, "the fence rises by one at each hold only");
    match step {
        Step::Redrive { .. } => {
            prop_assert!(matches!(before.state, State::Dead(_)), "only the dead are redriven");
            prop_assert_eq!(after.round, before.round + 1);
            prop_assert_eq!(after.state, State::Ready);
        }
        Step::Discard => {
            prop_assert!(matches!(before.state, State::Dead(_)), "only the dead are discarded");
            prop_assert_eq!(after.round, before.round + 1);
            prop_assert_eq!(after.state, before.state);
        }
        Step::Purge => {
            prop_assert!(!before.is_held(), "nobody's hold is purged");
            prop_assert_eq!((after.round, after.state), (before.round + 1, State::Cancelled));
        }
        _ => {
            prop_assert_eq!(after.round, before.round, "only a redrive or a discard opens a round");
            prop_assert!(!before.is_over() || after == before, "what is over changed by {:?}", step);
        }
    }
    Ok(())
}

fn check_state(world: &World, extra_attempts: u32) -> Result<(), TestCaseError> {
    let Delivery { state, attempts, expiries, last, over_at, log, .. } = &world.delivery;
    let live = world.holds.iter().filter(|&&held| world.is_live(held)).count();
    prop_assert!(live <= 1, "{} live bearers", live);
    if matches!(state, State::Held { .. }) {
        prop_assert_eq!(live, 0, "a token beside a Redis hold");
    }
    prop_assert!(expiries <= attempts, "{} expiries of {} attempts", expiries, attempts);
    if let Some(max) = world.policy.max_attempts {
        let bound = max + extra_attempts;
        prop_assert!(*attempts <= bound, "{} attempts of {}", attempts, bound);
    }
    if world.delivery.is_held() {
        prop_assert!(*attempts >= 1, "a live hold is counted");
    }
    prop_assert_eq!(over_at.is_some(), world.delivery.is_over());
    prop_assert!(world.delivery.result.is_none() || *state == State::Done, "a result of what is not done");
    prop_assert!(world.delivery.progress.is_none() || !log.is_empty(), "progress that no hold made");
    prop_assert!(!world.delivery.is_held() || last.is_none(), "an outcome beside a live hold");
    prop_assert!(log.len() <= 20 && log.iter().all(|past| past.heartbeats.len() <= 10));
    prop_assert!(log.windows(2).all(|pair| pair[0].fence < pair[1].fence && pair[0].ended.is_some()));
    let open = log.last().is_some_and(|past| past.ended.is_none());
    prop_assert_eq!(open, world.delivery.is_held(), "exactly the live hold's record is open");
    Ok(())
}

/// Runs `script` with both checks after each step.
fn play(policy: Policy, script: &[Line]) -> Result<World, TestCaseError> {
    let mut world = World::new(policy);
    let mut extra_attempts = 0;
    for line in script {
        let Some(step) = world.step_of(line) else { continue };
        let before = world.delivery.clone();
        if world.take(&step) {
            check_change(&before, &step, &world.delivery)?;
            match step {
                Step::Redrive { reset_attempts: true } => extra_attempts = 0,
                // It grants one hold more than the bound.
                Step::Redrive { reset_attempts: false } => extra_attempts += 1,
                _ => {}
            }
        }
        check_state(&world, extra_attempts)?;
    }
    Ok(world)
}

/// Runs out what is held and falls due what is retried: afterwards it is ready or over.
fn heal(world: &mut World) {
    let long = 40 * 1_000 + 1;
    world.now.lease = world.now.lease.plus_ms(long);
    world.now.wall = world.now.wall.max(world.delivery.due).plus_ms(long);
    if matches!(world.delivery.state, State::Held { .. }) && world.policy.redis_lease_ms.is_none() {
        assert!(world.take(&Step::AckUnfenced), "what a Redis consumer holds it can always finish");
    }
    if world.delivery.is_held() {
        assert!(world.take(&Step::Expire), "every lease ends");
    }
    if world.delivery.state == State::Retrying {
        assert!(world.take(&Step::FallDue), "every retry falls due");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn at_most_one_bearer_is_live_and_what_is_over_stays_over(policy in any_policy(), script in any_script()) {
        play(policy, &script)?;
    }

    #[test]
    fn every_script_ends_settled_or_claimable(policy in any_policy(), script in any_script()) {
        let mut world = play(policy, &script)?;
        heal(&mut world);
        if world.delivery.is_over() {
            return Ok(());
        }
        let hold = Hold::Lease(LeaseSeconds::try_from(30).unwrap());
        let was_taken = world.take(&Step::Take { hold, consumer: None });
        prop_assert!(was_taken, "nothing due is lost: {:?}", world.delivery);
        prop_assert!(world.take(&Step::Ack { by: Bearer::Last, result: None }), "its holder can finish it");
        prop_assert_eq!(world.delivery.state, State::Done);
    }

    #[test]
    fn what_is_ready_can_always_be_taken(policy in any_policy(), script in any_script()) {
        let mut world = play(policy, &script)?;
        let is_ready = world.delivery.state == State::Ready;
        prop_assert_eq!(world.take(&Step::Take { hold: Hold::NoAck, consumer: None }), is_ready);
    }

    #[test]
    fn no_holder_s_answer_depends_on_whether_its_lease_s_end_was_recorded(
        policy in any_policy(), script in any_script(), late_ms in 0i64..30_000, call in any_call(),
    ) {
        let mut world = play(policy, &script)?;
        // A give-back is the server's own word, sent within ms of the claim: the law is not for it.
        prop_assume!(!matches!(call, Call::GiveBack));
        let hold = Hold::Lease(LeaseSeconds::try_from(5).unwrap());
        world.take(&Step::Take { hold, consumer: None });
        let State::Leased(lease) = world.delivery.state else { return Ok(()) };
        let over = lease.until.as_ms() - world.now.lease.as_ms();
        world.step_of(&Line::Pause(over.max(0) + late_ms));
        let answer = |delivery: &Delivery| {
            let left = delivery.apply(&call.step(Bearer::Last), world.now, &world.policy)?;
            // The due time of what cannot be claimed is nobody's to see.
            let is_claimable = matches!(left.state, State::Ready | State::Retrying);
            let due = if is_claimable { left.due } else { Timestamp::default() };
            Ok::<_, naven_core::Refusal>(Delivery { due, ..left })
        };
        let recorded = world.delivery.apply(&Step::Expire, world.now, &world.policy).unwrap();
        prop_assert_eq!(recorded.last.map(|last| last.ending), Some(Ending::Expired));
        prop_assert_eq!(answer(&world.delivery), answer(&recorded));
    }
}
