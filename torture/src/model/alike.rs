//! Which states are alike.
//!
//! Lives here: the one state that stands for all that differ in the names of events and consumers alone.
//! Not here: what states are (`state.rs`).

use super::action::Packet;
use super::mark::Wrong;
use super::state::{Consumer, State};
use super::world::{EVENTS_MAX, Token, World};

impl State {
    /// The least of the states that this one is like.
    pub(super) fn like_others(&self, orders: &[[u8; EVENTS_MAX]]) -> Self {
        let others = orders.iter().map(|order| self.in_order(order));
        others.min().unwrap_or(*self)
    }

    /// True where the last step broke this promise.
    pub(super) fn breaks(&self, wrong: Wrong) -> bool {
        self.wrong == Some(wrong)
    }

    /// The same, its events in this order, and what has no name sorted.
    fn in_order(&self, order: &[u8; EVENTS_MAX]) -> Self {
        let mut other = *self;
        for (from, to) in order.iter().enumerate() {
            other.told[usize::from(*to)] = self.told[from];
            move_event(&self.memory, &mut other.memory, from, *to);
            move_event(&self.disk, &mut other.disk, from, *to);
        }
        let named = |token: Token| Token { event: order[usize::from(token.event)], ..token };
        other.consumers = self.consumers.map(|consumer| match consumer {
            Consumer::Idle => Consumer::Idle,
            Consumer::Holds(token) => Consumer::Holds(named(token)),
            Consumer::WaitsForClaim { token, at } => Consumer::WaitsForClaim { token: named(token), at },
            Consumer::WaitsForWord { word, token, is_taken, at } => {
                Consumer::WaitsForWord { word, token: named(token), is_taken, at }
            }
        });
        other.late = self.late.map(|late| match late {
            Some(Packet::Say(word, token)) => Some(Packet::Say(word, named(token))),
            Some(Packet::Claim) | None => late,
        });
        // Idle comes last, so that consumers that a smaller model lacks stay behind the others.
        other.consumers.sort_unstable_by(|a, b| b.cmp(a));
        other.late.sort_unstable();
        other
    }
}

fn move_event(from_world: &World, to_world: &mut World, from: usize, to: u8) {
    to_world.rows[usize::from(to)] = from_world.rows[from];
    to_world.marks[usize::from(to)] = from_world.marks[from];
}
