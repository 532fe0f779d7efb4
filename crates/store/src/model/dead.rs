//! The model's dead letters of an open queue, by what they died of.
//!
//! Lives here: questions on them. Not here: what is done to them (`settle.rs`).

use naven_api::Timestamp;
use naven_core::{DeadReason, Delivery, Now, State};

use super::views::page;
use super::world::World;
use crate::queue::QueueRef;
use crate::read::{DeadFilter, DeadRead, Grouping, Matched, Page, SCANS_MAX};
use crate::reply::OpError;

/// One that is dead: when it died, its number, why and what it said, and where its event stands.
struct Died {
    at: Timestamp,
    arrival: u64,
    reason: DeadReason,
    error: Option<String>,
    event: usize,
}

impl World {
    pub(super) fn dead_page(&self, read: &DeadRead, now: Now) -> Result<Page, OpError> {
        match read {
            DeadRead::List { queue, filter, cursor, limit, payload } => {
                let id = self.queues[self.open(queue)?].id;
                let (found, _) = self.meant(queue, filter)?;
                let key =
                    |died: Died| (((died.at.as_ms() as u128) << 64) | u128::from(died.arrival), died.event);
                let (items, next) = page(found.into_iter().map(key).collect(), cursor.as_ref(), *limit)?;
                let view = |event: usize| {
                    let mut view = self.event_view(&self.events[event], *payload, now);
                    view.deliveries.retain(|delivery| delivery.queue_id == id);
                    view
                };
                Ok(Page::DeadLetters(items.into_iter().map(view).collect(), next))
            }
            DeadRead::Groups { queue, filter, limit } => {
                let (found, truncated) = self.meant(queue, filter)?;
                let mut groups = Grouping::default();
                for died in found {
                    groups.add(self.events[died.event].id, died.reason, died.error.as_deref(), died.at);
                }
                Ok(Page::DeadGroups(groups.into_groups(*limit, truncated)))
            }
            DeadRead::Among { queue, events } => {
                let queue = self.open(queue)?;
                let is_dead = |event: &&super::event::Event| {
                    events.contains(&event.id) && event.live(queue).is_some_and(Delivery::is_over)
                };
                let count = self.events.iter().filter(is_dead).count() as u64;
                Ok(Page::Matched(Matched { count, truncated: false }))
            }
            DeadRead::Count { queue, filter } => {
                let (found, truncated) = self.meant(queue, filter)?;
                Ok(Page::Matched(Matched { count: found.len() as u64, truncated }))
            }
        }
    }

    /// Those that are meant, newest death first, and whether more than may be looked at are there.
    fn meant(&self, queue: &QueueRef, filter: &DeadFilter) -> Result<(Vec<Died>, bool), OpError> {
        let queue = self.open(queue)?;
        let (from, before) = filter.died();
        let died = |(at, event): (usize, &super::event::Event)| {
            let live: &Delivery = event.live(queue)?;
            let State::Dead(reason) = live.state else { return None };
            let error = live.last_error.as_ref().map(ToString::to_string);
            Some(Died { at: live.over_at?, arrival: event.arrival, reason, error, event: at })
        };
        let mut found: Vec<Died> = self.events.iter().enumerate().filter_map(died).collect();
        found.retain(|died| (from..before).contains(&died.at.as_ms()));
        found.sort_by_key(|died| std::cmp::Reverse((died.at, died.arrival)));
        let truncated = found.len() > SCANS_MAX;
        found.truncate(SCANS_MAX);
        found.retain(|died| filter.takes(died.reason, died.error.as_deref()));
        Ok((found, truncated))
    }
}
