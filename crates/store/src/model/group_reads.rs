//! Who has pending deliveries of the model's queues, and what is pending in all queues of a stream.
//!
//! Lives here: these looks. Not here: holders as the HTTP door shows them (`consumer.rs`).

use bytes::Bytes;
use naven_api::EventId;
use naven_core::{ConsumerNo, Now, State};

use super::world::World;
use crate::read::{ConsumerView, FullConsumer, FullGroup, PENDING_HTTP, PENDING_NOBODY, PendingView};

impl World {
    /// What is pending in a queue, by place.
    pub(super) fn pending(&self, queue: usize, now: Now) -> Vec<PendingView> {
        let view = |event: &super::event::Event| {
            let live = event.live(queue).filter(|live| !live.is_over())?;
            let name = match live.state {
                State::Held { consumer, .. } => {
                    let known = self.queues[queue].consumers.iter().find(|one| one.number == consumer);
                    known.expect("a holder is known").name.clone()
                }
                State::Leased(_) => Bytes::from_static(PENDING_HTTP),
                _ => Bytes::from_static(PENDING_NOBODY),
            };
            let (_, place) = event.placed.expect("what is pending has a place");
            Some(PendingView::of((place, event.id), name, live, now))
        };
        let mut found: Vec<_> = self.events.iter().filter_map(view).collect();
        found.sort_by_key(|one| one.place);
        found
    }

    pub(super) fn consumers(&self, queue: usize, now: Now) -> Vec<ConsumerView> {
        let pending = self.pending(queue, now);
        let has = |one: &PendingView| self.holder(queue, one.event);
        let mut views = Vec::new();
        for one in &self.queues[queue].consumers {
            let held = pending.iter().filter(|pending| has(pending) == Some(one.number));
            let (name, pending) = (one.name.clone(), held.count() as u64);
            views.push(ConsumerView {
                name,
                pending,
                seen_at: one.seen,
                active_at: one.active,
                now: now.wall,
            });
        }
        for name in [PENDING_NOBODY, PENDING_HTTP] {
            let is_its = |one: &&PendingView| one.consumer == *name && has(one).is_none();
            let has: Vec<_> = pending.iter().filter(is_its).collect();
            if let Some(latest) = has.iter().map(|one| one.since.min(now.wall)).max() {
                views.push(ConsumerView {
                    name: Bytes::from_static(name),
                    pending: has.len() as u64,
                    seen_at: latest,
                    active_at: Some(latest),
                    now: now.wall,
                });
            }
        }
        ConsumerView::by_name(views)
    }

    /// Which consumer holds an event.
    fn holder(&self, queue: usize, event: EventId) -> Option<ConsumerNo> {
        self.find(event).ok().and_then(|at| self.events[at].live(queue)?.holder())
    }

    /// What each queue of a stream has pending: the first `count` of each and of each consumer, 0 for all.
    pub(super) fn full_groups(&self, stream: usize, count: u64, now: Now) -> Vec<FullGroup> {
        let most = if count == 0 { usize::MAX } else { count as usize };
        let group = |queue: usize| {
            let mut pending = self.pending(queue, now);
            let consumers = self.consumers(queue, now).into_iter().map(|view| {
                let has = pending.iter().filter(|one| one.consumer == view.name).take(most);
                FullConsumer { pending: has.cloned().collect(), view }
            });
            let consumers = consumers.collect();
            pending.truncate(most);
            FullGroup { view: self.group_view(queue, now), pending, consumers }
        };
        let mut groups: Vec<_> = self.readers(stream).into_iter().map(group).collect();
        groups.sort_by(|one, other| one.view.name.cmp(&other.view.name));
        groups
    }
}
