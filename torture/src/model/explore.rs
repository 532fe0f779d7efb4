//! The exploring of a model, and what came of it.
//!
//! Lives here: the sizes, which actions are tried, the properties, the report. Not here: what actions do
//! (`state.rs`).

use std::fmt;
use std::sync::Arc;

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::action::{Action, Fate, Packet};
use super::mark::{Word, Wrong};
use super::sight::{Sight, Sights};
use super::state::{CONSUMERS_MAX, Consumer, LATE_MAX, State};
use super::world::EVENTS_MAX;

/// How large a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Consumers: 1 to 3.
    pub consumers: u8,
    /// Events: 1 to 3.
    pub events: u8,
    /// Ticks of a second; a lease is two of them.
    pub ticks: u8,
    /// Crashes of the server.
    pub crashes: u8,
    /// Answers that are lost, packets that are doubled or late, claims given back, acks without a token,
    /// together.
    pub mishaps: u8,
    /// Threads that explore.
    pub threads: usize,
}

impl Default for Size {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { consumers: 2, events: 2, ticks: 6, crashes: 1, mishaps: 1, threads }
    }
}

/// What came of exploring a model.
#[derive(Debug, Clone)]
pub struct Explored {
    /// States, those alike counted once.
    pub states: usize,
    /// The longest way to one of them, in steps.
    pub depth: usize,
    /// The broken promises, each with the shortest way to it.
    pub broken: Vec<(&'static str, String)>,
    /// How often each thing was seen.
    pub sights: Vec<(Sight, u64)>,
}

impl Size {
    /// Explores every state of a model of this size, or stops at the first broken promise.
    ///
    /// # Panics
    /// Where there are more consumers or events than a model can have.
    pub fn explore(self) -> Explored {
        assert!(usize::from(self.consumers) <= CONSUMERS_MAX, "at most {CONSUMERS_MAX} consumers");
        assert!(usize::from(self.events) <= EVENTS_MAX, "at most {EVENTS_MAX} events");
        let sights = Arc::new(Sights::default());
        let model = Protocol { size: self, orders: orders_of(self.events), sights: Arc::clone(&sights) };
        let checker =
            model.checker().threads(self.threads).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        let discoveries = checker.discoveries().into_iter();
        let broken = discoveries.map(|(name, path)| {
            let last = format!("{:#?}", path.last_state());
            let steps = path.into_actions().into_iter().map(|action| format!("  {action:?}\n"));
            (name, steps.chain([last]).collect::<String>())
        });
        Explored {
            states: checker.unique_state_count(),
            depth: checker.max_depth(),
            broken: broken.collect(),
            sights: Sight::ALL.iter().map(|sight| (*sight, sights.count(*sight))).collect(),
        }
    }
}

impl Explored {
    /// What was never seen.
    pub fn unseen(&self) -> Vec<Sight> {
        self.sights.iter().filter(|(_, count)| *count == 0).map(|(sight, _)| *sight).collect()
    }
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, path) in &self.broken {
            writeln!(f, "{name}:\n{path}")?;
        }
        for (sight, count) in &self.sights {
            writeln!(f, "{count:>12} {sight}")?;
        }
        let (states, depth, broken) = (self.states, self.depth, self.broken.len());
        write!(f, "{states} states, at most {depth} steps deep, {broken} broken promises")
    }
}

struct Protocol {
    size: Size,
    /// In which orders events are alike.
    orders: Vec<[u8; EVENTS_MAX]>,
    sights: Arc<Sights>,
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::first(self.size.crashes, self.size.mishaps)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.wrong.is_some() {
            return;
        }
        if state.now < self.size.ticks {
            actions.push(Action::Tick);
        }
        actions.extend((0..self.size.events).map(Action::Sweep));
        if state.mishaps_left > 0 {
            actions.extend((0..self.size.events).map(Action::GiveBack));
            actions.extend((0..self.size.events).map(Action::AckUnfenced));
        }
        for consumer in 0..self.size.consumers {
            match state.consumers[usize::from(consumer)] {
                Consumer::Idle => self.claims(consumer, actions),
                Consumer::Holds(_) => says(consumer, actions),
                Consumer::WaitsForClaim { .. } | Consumer::WaitsForWord { .. } => {}
            }
        }
        for place in 0..LATE_MAX as u8 {
            let events = match state.late[usize::from(place)] {
                Some(Packet::Claim) => self.size.events,
                Some(Packet::Say(..)) => 1,
                None => 0,
            };
            actions.extend((0..events).map(|event| Action::Arrive { place, event }));
        }
        if state.crashes_left > 0 {
            if state.memory != state.disk || state.consumers.iter().any(waits) {
                actions.push(Action::Sync);
            }
            let room = self.size.ticks - state.now;
            actions.extend((0..=room.min(1)).map(|down| Action::Crash { down }));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let next = state.after(action, &self.sights)?;
        self.note(&next);
        Some(next.like_others(&self.orders))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("two live tokens", |_, state: &State| !state.breaks(Wrong::TwoLiveTokens)),
            Property::always("terminal twice", |_, state: &State| !state.breaks(Wrong::TerminalTwice)),
            Property::always("ack undone", |_, state: &State| !state.breaks(Wrong::AckUndone)),
            Property::always("dead delivered", |_, state: &State| !state.breaks(Wrong::DeadDelivered)),
            Property::always("fence not rising", |_, state: &State| !state.breaks(Wrong::FenceNotRising)),
            Property::always("before due", |_, state: &State| !state.breaks(Wrong::BeforeDue)),
            Property::always("late call taken", |_, state: &State| !state.breaks(Wrong::LateTaken)),
            Property::always("stale call taken", |_, state: &State| !state.breaks(Wrong::StaleTaken)),
            Property::always("refused wrongly", |_, state: &State| !state.breaks(Wrong::RefusedWrongly)),
            Property::always("wrong reason", |_, state: &State| !state.breaks(Wrong::OtherReason)),
            Property::always("attempts miscounted", |_, state: &State| {
                !state.breaks(Wrong::AttemptsMiscounted)
            }),
            Property::always("expired early", |_, state: &State| !state.breaks(Wrong::ExpiredEarly)),
            Property::always("expiry missed", |_, state: &State| !state.breaks(Wrong::ExpiryMissed)),
            Property::always("logged otherwise", |_, state: &State| !state.breaks(Wrong::LoggedOtherwise)),
            Property::always("lease of wrong length", |_, state: &State| {
                !state.breaks(Wrong::LeaseOfOtherLength)
            }),
        ]
    }
}

impl Protocol {
    fn claims(&self, consumer: u8, actions: &mut Vec<Action>) {
        for fate in Fate::ALL {
            // One that is late comes to an event when it arrives.
            let events = if fate == Fate::Delayed { 1 } else { self.size.events };
            actions.extend((0..events).map(|event| Action::Claim { consumer, event, fate }));
        }
    }

    fn note(&self, state: &State) {
        let marks = &state.memory.marks[..usize::from(self.size.events)];
        if marks.iter().all(super::mark::Mark::is_acked) {
            self.sights.see(Sight::AllDone);
        }
        if marks.iter().all(super::mark::Mark::is_dead) {
            self.sights.see(Sight::AllDead);
        }
        if marks.iter().any(super::mark::Mark::is_dead) {
            self.sights.see(Sight::Dead);
        }
    }
}

fn says(consumer: u8, actions: &mut Vec<Action>) {
    for word in [Word::Beat, Word::Ack, Word::Nack] {
        actions.extend(Fate::ALL.map(|fate| Action::Say { consumer, word, fate }));
    }
}

const fn waits(consumer: &Consumer) -> bool {
    matches!(consumer, Consumer::WaitsForClaim { .. } | Consumer::WaitsForWord { .. })
}

/// Every order of the first `events` events.
fn orders_of(events: u8) -> Vec<[u8; EVENTS_MAX]> {
    let all = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let keeps_rest =
        |order: &[u8; EVENTS_MAX]| (usize::from(events)..EVENTS_MAX).all(|at| order[at] == at as u8);
    all.into_iter().filter(keeps_rest).collect()
}
