//! The search for an order of a life's steps that explains every answer (after Wing and Gong).
//!
//! Lives here: which step may come next, and what is blamed where none can. Not here: what a step does
//! (`step.rs`).

use std::collections::HashSet;

use super::life::{Entry, Life};
use super::state::{Bound, Frame, Phase, Span, State};
use super::step::Step;
use super::violation::Kind;

/// Steps that may overlap in time.
const WINDOW: usize = 128;
/// Steps that may have been taken or not.
const MAYBE_MAX: usize = 64;

/// What came of a search.
#[derive(Debug)]
pub(super) enum Found {
    /// An order explains everything.
    Order,
    /// None does.
    Nothing(Box<Blame>),
    /// Too many to try.
    GivenUp,
}

/// What cannot be explained.
#[derive(Debug, Clone)]
pub(super) struct Blame {
    pub(super) kind: Kind,
    /// The step that cannot be taken.
    pub(super) entry: Entry,
    /// How it stood.
    pub(super) state: State,
    /// The calls before, in their order.
    pub(super) trail: Vec<usize>,
    depth: usize,
    /// True where it stood as held by a lease that was over: what it is after that says more.
    is_weak: bool,
}

/// So many holds that nobody saw, one after the other, may be what an event died of.
const FEW_ATTEMPTS: u32 = 16;

/// Where a search has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    /// All steps before this one are taken.
    first: usize,
    /// Those from there on that are taken.
    taken: u128,
    /// Those that may have been, and were.
    maybe: u64,
    /// Holds that nobody saw since the last step that is a call.
    unseen: u32,
    state: State,
}

pub(super) struct Search<'a> {
    life: &'a Life<'a>,
    frame: Frame<'a>,
    tries_left: u32,
    failed: HashSet<Node>,
    trail: Vec<usize>,
    blame: Option<Blame>,
}

/// Whether the search is over, and an order was found or given up.
type Over = Option<bool>;

impl<'a> Search<'a> {
    pub(super) fn new(life: &'a Life<'a>, frame: Frame<'a>, tries_max: u32) -> Self {
        Self { life, frame, tries_left: tries_max, failed: HashSet::new(), trail: Vec::new(), blame: None }
    }

    /// Looks for an order that begins with `state`.
    pub(super) fn run(mut self, state: State) -> Found {
        if self.life.maybe.len() > MAYBE_MAX {
            return Found::GivenUp;
        }
        match (self.explain(Node { first: 0, taken: 0, maybe: 0, unseen: 0, state }, 0), self.blame) {
            (Some(true), _) => Found::Order,
            (None, Some(blame)) => Found::Nothing(Box::new(blame)),
            (Some(false) | None, _) => Found::GivenUp,
        }
    }

    fn explain(&mut self, node: Node, depth: usize) -> Over {
        if node.first == self.life.steps.len() {
            return Some(true);
        }
        if self.tries_left == 0 {
            return Some(false);
        }
        self.tries_left -= 1;
        if !self.failed.is_empty() && self.failed.contains(&node) {
            return None;
        }
        let (candidates, limit) = self.candidates(&node)?;
        if candidates > WINDOW {
            return Some(false);
        }
        if node.state.now > limit {
            return None;
        }
        let over = self
            .take_answered(node, candidates, limit, depth)
            .or_else(|| self.lapse(node, limit, depth))
            .or_else(|| self.take_maybe(node, limit, depth))
            .or_else(|| self.take_unseen(node, limit, depth));
        if over.is_none() {
            self.failed.insert(node);
        }
        over
    }

    /// How many steps from `first` on may come next, and by when one of them has to.
    fn candidates(&self, node: &Node) -> Option<(usize, i64)> {
        let mut limit = i64::MAX;
        let mut count = 0;
        for (at, entry) in self.life.steps[node.first..].iter().enumerate() {
            if entry.begun > limit {
                break;
            }
            count = at + 1;
            if at >= WINDOW {
                break;
            }
            if node.taken & (1 << at) == 0 {
                limit = limit.min(entry.ended);
            }
        }
        (count > 0).then_some((count, limit))
    }

    fn take_answered(&mut self, node: Node, candidates: usize, limit: i64, depth: usize) -> Over {
        let mut refused: Option<(Kind, Entry)> = None;
        for at in 0..candidates {
            if node.taken & (1 << at) != 0 {
                continue;
            }
            let entry = self.life.steps[node.first + at];
            let span = Span { first: node.state.now.max(entry.begun), last: limit };
            match node.state.after(entry.step, span, &self.frame) {
                Ok((one, other)) => {
                    for state in [Some(one), other].into_iter().flatten() {
                        let over = self.go_on(node.with(at, state), entry.call, depth + 1);
                        if over.is_some() {
                            return over;
                        }
                    }
                }
                Err(kind) if refused.is_none_or(|(_, other)| entry.ended < other.ended) => {
                    refused = Some((kind, entry));
                }
                Err(_) => {}
            }
        }
        if let Some((kind, entry)) = refused {
            self.blame(kind, entry, &node, depth);
        }
        None
    }

    /// Keeps what stopped the order that explains most.
    fn blame(&mut self, kind: Kind, entry: Entry, node: &Node, depth: usize) {
        let says_more = |blame: &Blame| depth > blame.depth || (depth == blame.depth && blame.is_weak);
        if !self.blame.as_ref().is_none_or(says_more) {
            return;
        }
        let is_weak = match node.state.phase {
            Phase::Held { lease, .. } => {
                !self.frame.clock.may_be_live(lease.since.first, lease.end.last, entry.begun)
            }
            Phase::Absent | Phase::Free | Phase::Done | Phase::Dead | Phase::Gone => false,
        };
        let (state, trail) = (node.state, self.trail.clone());
        self.blame = Some(Blame { kind, entry, state, trail, depth, is_weak });
    }

    fn go_on(&mut self, node: Node, call: Option<usize>, depth: usize) -> Over {
        self.trail.extend(call);
        let over = self.explain(node, depth);
        if call.is_some() {
            self.trail.pop();
        }
        over
    }

    /// Time goes by: a lease ends, or the event's use does.
    fn lapse(&mut self, node: Node, limit: i64, depth: usize) -> Over {
        if let Some((one, other)) = node.state.expired(limit, &self.frame) {
            for state in [Some(one), other].into_iter().flatten() {
                let over = self.explain(Node { state, ..node }, depth);
                if over.is_some() {
                    return over;
                }
            }
        }
        if let Some(state) = node.state.brought_back(limit, &self.frame) {
            let over = self.explain(Node { state, ..node }, depth);
            if over.is_some() {
                return over;
            }
        }
        let is_reached = |end| self.frame.clock.may_have_reached(end, node.state.now, limit);
        let may_end = match self.frame.expires_at_ms {
            Some(end) => is_reached(end),
            None => self.frame.attempts == Bound::Unknown,
        };
        if node.state.phase != Phase::Free || !may_end {
            return None;
        }
        let state = node.state.over(Phase::Dead, node.state.last);
        self.explain(Node { state, ..node }, depth)
    }

    /// A call that was never answered had its effect.
    fn take_maybe(&mut self, node: Node, limit: i64, depth: usize) -> Over {
        let life = self.life;
        for (at, entry) in life.maybe.iter().enumerate() {
            let is_open = |at: usize| node.maybe & (1 << at) == 0;
            let is_same = |other: &Entry| other.step == entry.step && other.ended == entry.ended;
            let has_twin = (0..at).any(|earlier| is_open(earlier) && is_same(&life.maybe[earlier]));
            let span = Span { first: node.state.now.max(entry.begun), last: limit.min(entry.ended) };
            if !is_open(at) || has_twin || span.first > span.last {
                continue;
            }
            let Ok((one, other)) = node.state.after(entry.step, span, &self.frame) else { continue };
            for state in [Some(one), other].into_iter().flatten() {
                if (State { now: node.state.now, ..state }) == node.state {
                    continue;
                }
                let next = Node { maybe: node.maybe | (1 << at), unseen: 0, state, ..node };
                let over = self.go_on(next, entry.call, depth);
                if over.is_some() {
                    return over;
                }
            }
        }
        None
    }

    /// A claim that was never answered took it, or what such a claim took is given back.
    fn take_unseen(&mut self, node: Node, limit: i64, depth: usize) -> Over {
        if let Phase::Held { is_seen: false, .. } = node.state.phase {
            return self.explain(Node { state: node.state.given_back(), ..node }, depth);
        }
        let begun = *self.life.shared.claims.get(node.state.unseen as usize)?;
        let span = Span { first: node.state.now.max(begun), last: limit };
        if span.first > limit || !self.has_room_for_unseen(&node) {
            return None;
        }
        let state = node.state.taken_unseen(span, self.life.shared.longest_ms, &self.frame)?;
        self.explain(Node { state, unseen: node.unseen + 1, ..node }, depth)
    }

    /// False where one more would explain nothing: the next fence is one that an answered claim got; or none
    /// is left that has to be come to, and the last one that nobody saw can stand for this one too.
    fn has_room_for_unseen(&self, node: &Node) -> bool {
        let steps = self.life.steps[node.first..].iter().enumerate();
        let is_open = |at: usize| at >= WINDOW || node.taken & (1 << at) == 0;
        let fences = steps.filter(|(at, _)| is_open(*at)).filter_map(|(_, entry)| match entry.step {
            Step::Grant { fence, .. } => Some(fence),
            Step::Publish { .. } | Step::Say { .. } | Step::Do(_) | Step::Look(_) | Step::End => None,
        });
        match (fences.min(), self.frame.attempts) {
            (Some(least), _) => least > node.state.fence + 1,
            // Each of them may count an attempt, and so lead to its death.
            (None, Bound::After(max)) if max <= FEW_ATTEMPTS => node.unseen <= max,
            (None, Bound::After(_) | Bound::Never | Bound::Unknown) => node.unseen == 0,
        }
    }
}

impl Node {
    /// With the step `at` taken.
    fn with(self, at: usize, state: State) -> Self {
        let mut next = Self { taken: self.taken | (1 << at), unseen: 0, state, ..self };
        let gone = next.taken.trailing_ones();
        next.first += gone as usize;
        next.taken = next.taken.checked_shr(gone).unwrap_or(0);
        next
    }
}
